"""Spline calibration."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np
from scipy.special import expit

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator, both
from calibstat.calibrators.logistic import fit_logistic
from calibstat.calibrators.logits import logits
from calibstat.calibrators.natural_spline import basis, quantiles
from calibstat.checks import at_least_one


@final
class Spline(Calibrator):
    """Calibrated log-odds are a natural cubic spline of the log-odds, unpenalised (Lucena 2018; Harrell 2015, 2.4.5).

    Beyond the outer knots it is linear, as `Platt` is everywhere. It need not increase.

    Parameters
    ----------
    n_knots : int
        Knots at equally spaced quantiles from 5 to 95 %; equal ones are one.

    Attributes
    ----------
    knots_ : (k,) floats
        On the scale of log-odds.
    values_ : (k,) floats
        Calibrated log-odds at the knots.
    """

    binary: ClassVar[bool] = True

    def __init__(self, n_knots: int = 5) -> None:
        self.n_knots = n_knots

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        scores = logits(probabilities)
        self.knots_ = quantiles(scores, weights, np.linspace(0.05, 0.95, at_least_one("n_knots", self.n_knots)))
        self.values_ = fit_logistic(basis(scores, self.knots_), targets.astype(np.float64), weights)

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(expit(basis(logits(probabilities), self.knots_) @ self.values_))
