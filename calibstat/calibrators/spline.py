"""Spline calibration."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from calibstat._logistic import fisher_information, natural_spline, roughness
from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.scaling import SMALLEST_OF_A_LINE, fit_finite, from_log_odds, logits
from calibstat.data.arrays import Floats, Ints
from calibstat.data.parameters import at_least_one


@final
class Spline(Calibrator):
    """Calibrated log-odds are a natural cubic spline of the log-odds, unpenalised (Lucena 2018; Harrell 2015, 2.4.5).

    Beyond the outer knots it is linear, as `Platt` is everywhere. It need not increase.

    Parameters
    ----------
    n_knots : int, optional
        Knots at equally spaced quantiles from 5 to 95 %; equal ones are one. By default 5, but at most one for ten rows
        of the rarer class (Peduzzi et al. 1996), and 2 at least: two give a line.
    smallest : float
        A probability below it counts as this one, as for `Platt`.

    Attributes
    ----------
    knots_ : (k,) floats
        On the scale of log-odds.
    values_ : (k,) floats
        Calibrated log-odds at the knots.
    """

    binary: ClassVar[bool] = True

    def __init__(self, n_knots: int | None = None, smallest: float = SMALLEST_OF_A_LINE) -> None:
        self.n_knots = n_knots
        self.smallest = smallest

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        scores = logits(probabilities, self.smallest)
        n_knots = allowed(5, targets, weights) if self.n_knots is None else at_least_one("n_knots", self.n_knots)
        self.knots_ = quantiles(scores, weights, np.linspace(0.05, 0.95, n_knots))
        features, goals = natural_spline(scores, self.knots_), targets.astype(np.float64)
        self.values_ = fit_finite(features, goals, weights, probabilities[:, 1]).coefficients[0]

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return from_log_odds(natural_spline(logits(probabilities, self.smallest), self.knots_) @ self.values_)


@final
class Smooth(Calibrator):
    """A logistic additive model of one term: a penalised natural cubic spline of the log-odds (Wood 2017, Section 4).

    The mean log loss plus half the penalty times the integral of the squared second derivative is minimised; straight
    lines cost nothing, so that much penalty gives `Platt` without smoothed targets.

    Parameters
    ----------
    n_knots : int, optional
        Knots at equally spaced quantiles; equal ones are one. By default 15, or fewer as for `Spline`.
    penalty : float, optional
        By default the power of ten with the least deviance plus twice the effective degrees of freedom.
    smallest : float
        A probability below it counts as this one, as for `Platt`.

    Attributes
    ----------
    knots_, values_ : (k,) floats
        As for `Spline`.
    penalty_ : float
    """

    binary: ClassVar[bool] = True

    def __init__(
        self, n_knots: int | None = None, penalty: float | None = None, smallest: float = SMALLEST_OF_A_LINE
    ) -> None:
        self.n_knots = n_knots
        self.penalty = penalty
        self.smallest = smallest

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        if self.penalty is not None and self.penalty < 0:
            raise ValueError(f"penalty is {self.penalty}, but it must be at least 0")
        scores, mass = logits(probabilities, self.smallest), weights / weights.sum()
        n_knots = allowed(15, targets, weights) if self.n_knots is None else at_least_one("n_knots", self.n_knots)
        self.knots_ = quantiles(scores, weights, np.linspace(0, 1, n_knots))
        features, matrix = natural_spline(scores, self.knots_), roughness(self.knots_)
        best, start, goals = np.inf, None, targets.astype(np.float64)
        for penalty in 10.0 ** np.arange(1, -7, -1) if self.penalty is None else [self.penalty]:
            fits = fit_finite(features, goals, weights, probabilities[:, 1], penalty * matrix, start)
            start = fits.coefficients[0]
            deviance = -2 * weights.sum() * (fits.value[0] + start @ (penalty * matrix) @ start / 2)
            curvature = fisher_information(features, (features @ start)[None], mass[None])[0]
            # The trace of the second is the effective number of degrees of freedom.
            shrunk = np.linalg.lstsq(curvature + penalty * matrix, curvature, rcond=1e-13)[0]
            criterion = deviance + 2 * float(np.trace(shrunk))
            if criterion < best:
                best, self.values_, self.penalty_ = criterion, start, float(penalty)

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return from_log_odds(natural_spline(logits(probabilities, self.smallest), self.knots_) @ self.values_)


def allowed(most: int, targets: Ints, weights: Floats) -> int:
    """Return a number of knots: one for ten rows of the rarer class."""
    events = float(weights @ targets)
    return int(np.clip(min(events, weights.sum() - events) // 10, 2, most))


def quantiles(values: Floats, weights: Floats, levels: Floats) -> Floats:
    """Return distinct values at which the weighted distribution reaches the levels."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weights[order])
    reached = np.searchsorted(mass, levels * mass[-1] * (1 - 1e-12))
    return np.unique(values[order][reached])
