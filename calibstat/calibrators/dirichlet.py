"""Dirichlet calibration."""

from __future__ import annotations

from typing import final

import numpy as np
from scipy.special import softmax

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.logits import logarithms
from calibstat.calibrators.softmax import Matrix, fit_softmax


@final
class Dirichlet(Calibrator):
    """softmax(log p @ W + b) with off-diagonal and intercept regularisation, ODIR (Kull et al. 2019).

    The mean log loss plus ``off_diagonal`` times the mean square of the K (K - 1) off-diagonal entries of W plus
    ``intercept`` times the mean square of b is minimised.

    Parameters
    ----------
    off_diagonal, intercept : float
        The paper's lambda and mu, at least 0.

    Attributes
    ----------
    coef_ : (K, K) floats
        W; row j says what log p_j does.
    intercept_ : (K,) floats
    """

    def __init__(self, off_diagonal: float = 1e-3, intercept: float = 1e-3) -> None:
        self.off_diagonal = off_diagonal
        self.intercept = intercept

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        if min(self.off_diagonal, self.intercept) < 0:
            raise ValueError(f"off_diagonal is {self.off_diagonal} and intercept {self.intercept}: pass at least 0")
        n_classes = probabilities.shape[1]
        design = Matrix(logarithms(probabilities), n_classes)
        ridge = self._ridge(n_classes)
        table = fit_softmax(design, len(ridge), targets, weights, ridge).reshape(-1, n_classes)
        self.coef_, self.intercept_ = table[:-1], table[-1]

    def _ridge(self, n_classes: int) -> Floats:
        across = self.off_diagonal / (n_classes * (n_classes - 1)) * (1 - np.eye(n_classes))
        return np.vstack([across, np.full(n_classes, self.intercept / n_classes)]).ravel()

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(logarithms(probabilities) @ self.coef_ + self.intercept_, axis=1)
