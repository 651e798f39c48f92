"""Beta calibration with a polynomial of a variable."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np
from scipy.special import expit

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator, both
from calibstat.calibrators.beta import beta_features
from calibstat.calibrators.columns import split_columns
from calibstat.calibrators.logistic import fit_logistic, with_intercept
from calibstat.calibrators.logits import SMALLEST_OF_A_LINE
from calibstat.checks import at_least_one


@final
class AugmentedBeta(Calibrator):
    """Calibrated log-odds are c + a ln p - b ln(1 - p) + w_1 v + w_2 v**2 + ... (Kelly and Smyth 2023, Appendix C).

    Unpenalised; a and b may be negative, as in the paper.

    Parameters
    ----------
    variable : int or str
        The column of X that holds v; the others are probabilities.
    degree : int
        The highest power of v.
    smallest : float
        A probability below it counts as this one. A few rows that are wrongly almost certain pull the whole line
        towards them: the default limits that, and 1e-4 limits it more, at a price where predictions that extreme are
        right in kind.

    Attributes
    ----------
    coef_ : (2 + degree,) floats
        a, b, and the weights of the powers of the standardised variable (v - centre_) / scale_.
    intercept_, centre_, scale_ : float
    """

    binary: ClassVar[bool] = True

    def __init__(self, variable: int | str = -1, degree: int = 2, smallest: float = SMALLEST_OF_A_LINE) -> None:
        self.variable = variable
        self.degree = degree
        self.smallest = smallest

    def _split(self, X: Floats) -> tuple[Floats, Floats]:
        return split_columns(self, X, [self.variable])

    def _fit(self, probabilities: Floats, variables: Floats, targets: Ints, weights: Floats) -> None:
        at_least_one("degree", self.degree)
        values = variables[:, 0]
        self.centre_ = float(np.average(values, weights=weights))
        spread = float(np.sqrt(np.average((values - self.centre_) ** 2, weights=weights)))
        self.scale_ = spread if spread > 0 else 1.0
        features = with_intercept(self._features(probabilities, variables))
        fitted = fit_logistic(features, targets.astype(np.float64), weights)
        self.intercept_, self.coef_ = float(fitted[0]), fitted[1:]

    def _features(self, probabilities: Floats, variables: Floats) -> Floats:
        standard = (variables[:, :1] - self.centre_) / self.scale_
        return np.hstack([beta_features(probabilities, self.smallest), standard ** np.arange(1, self.degree + 1)])

    def _calibrate(self, probabilities: Floats, variables: Floats) -> Floats:
        return both(expit(self._features(probabilities, variables) @ self.coef_ + self.intercept_))
