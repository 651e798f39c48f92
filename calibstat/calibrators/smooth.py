"""A smooth map, as smooth as the data allow."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np
from scipy.special import expit

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator, both
from calibstat.calibrators.logistic import fit_logistic
from calibstat.calibrators.logits import logits
from calibstat.calibrators.natural_spline import basis, quantiles, roughness
from calibstat.checks import at_least_one

PENALTIES = 10.0 ** np.arange(1, -7, -1)


@final
class Smooth(Calibrator):
    """A logistic additive model of one term: a penalised natural cubic spline of the log-odds (Wood 2017, Section 4).

    The mean log loss plus half the penalty times the integral of the squared second derivative is minimised; straight
    lines cost nothing, so that much penalty gives `Platt` without smoothed targets.

    Parameters
    ----------
    n_knots : int
        Knots at equally spaced quantiles; equal ones are one.
    penalty : float, optional
        By default the power of ten with the least deviance plus twice the effective degrees of freedom.

    Attributes
    ----------
    knots_, values_ : (k,) floats
        As for `Spline`.
    penalty_ : float
    """

    binary: ClassVar[bool] = True

    def __init__(self, n_knots: int = 15, penalty: float | None = None) -> None:
        self.n_knots = n_knots
        self.penalty = penalty

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        if self.penalty is not None and self.penalty < 0:
            raise ValueError(f"penalty is {self.penalty}, but it must be at least 0")
        scores, goals = logits(probabilities), targets.astype(np.float64)
        self.knots_ = quantiles(scores, weights, np.linspace(0, 1, at_least_one("n_knots", self.n_knots)))
        features, matrix = basis(scores, self.knots_), roughness(self.knots_)
        best, start = np.inf, None
        for penalty in PENALTIES if self.penalty is None else [self.penalty]:
            start = fit_logistic(features, goals, weights, penalty * matrix, start)
            criterion = _criterion(features, goals, weights, penalty * matrix, start)
            if criterion < best:
                best, self.values_, self.penalty_ = criterion, start, float(penalty)

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(expit(basis(logits(probabilities), self.knots_) @ self.values_))


def _criterion(features: Floats, goals: Floats, weights: Floats, matrix: Floats, theta: Floats) -> float:
    """Return deviance plus twice the effective degrees of freedom."""
    scores = features @ theta
    chances = expit(scores)
    deviance = 2 * float(weights @ (np.logaddexp(0, scores) - goals * scores))
    curvature = weights / weights.sum() * chances * (1 - chances)
    hessian = (features * curvature[:, None]).T @ features
    return deviance + 2 * float(np.trace(np.linalg.lstsq(hessian + matrix, hessian, rcond=1e-13)[0]))
