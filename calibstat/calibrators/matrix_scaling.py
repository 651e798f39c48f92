"""Matrix scaling."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np
from scipy.special import softmax

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.logits import logarithms
from calibstat.calibrators.softmax import Matrix, fit_softmax


@final
class MatrixScaling(Calibrator):
    """softmax(log p @ W + b), unpenalised multinomial logistic regression (Guo et al. 2017).

    It has K (K + 1) parameters; with many classes take `Dirichlet`, which penalises them.

    Attributes
    ----------
    coef_ : (K, K) floats
        W; row j says what log p_j does.
    intercept_ : (K,) floats
    """

    needs_every_class: ClassVar[bool] = True

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        logs = logarithms(probabilities)
        n_classes = logs.shape[1]
        centre = weights @ logs / weights.sum()
        whitening = _whitening(logs - centre, weights / weights.sum())
        design = Matrix((logs - centre) @ whitening, n_classes)
        n_parameters = (whitening.shape[1] + 1) * n_classes
        table = fit_softmax(design, n_parameters, targets, weights).reshape(-1, n_classes)
        self.coef_ = whitening @ table[:-1]
        self.intercept_ = table[-1] - centre @ self.coef_

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(logarithms(probabilities) @ self.coef_ + self.intercept_, axis=1)


def _whitening(centred: Floats, mass: Floats) -> Floats:
    """(K, r) what makes the columns uncorrelated: the fit is the same, the equations are easier to solve."""
    values, vectors = np.linalg.eigh((centred * mass[:, None]).T @ centred)
    kept = values > 1e-12 * max(values.max(), 1e-300)
    return vectors[:, kept] / np.sqrt(values[kept])
