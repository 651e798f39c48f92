"""Spline calibration."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import expit

from calibstat.calibrators.base import Calibrator, both
from calibstat.calibrators.scaling import fit_logistic, logits
from calibstat.data.arrays import Floats, Ints
from calibstat.data.parameters import at_least_one


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


# A smooth map, as smooth as the data allow.

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


# Natural cubic splines, given by their values at the knots: cubic between, linear beyond.


def quantiles(values: Floats, weights: Floats, levels: Floats) -> Floats:
    """Distinct values at which the weighted distribution reaches the levels."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weights[order])
    reached = np.searchsorted(mass, levels * mass[-1] * (1 - 1e-12))
    return np.unique(values[order][reached])


def basis(values: Floats, knots: Floats) -> Floats:
    """(n, k) column j is the spline that is 1 at knot j and 0 at the others; a single knot gives a constant."""
    if len(knots) == 1:
        return np.ones((len(values), 1))
    spline = _cardinal(knots)
    inside = np.clip(values, knots[0], knots[-1])
    rows = spline(inside)
    low, high = values < knots[0], values > knots[-1]
    rows[low] += np.outer(values[low] - knots[0], spline(knots[0], 1))
    rows[high] += np.outer(values[high] - knots[-1], spline(knots[-1], 1))
    return rows


def roughness(knots: Floats) -> Floats:
    """(k, k) matrix of the integral of the squared second derivative; straight lines have none."""
    if len(knots) < 3:
        return np.zeros((len(knots),) * 2)
    # The second derivative is linear between knots, so the integral is that of products of hat functions.
    bends, widths = _cardinal(knots)(knots, 2), np.diff(knots)
    hats = np.diag((np.append(widths, 0) + np.append(0, widths)) / 3)
    hats += np.diag(widths / 6, 1) + np.diag(widths / 6, -1)
    return bends.T @ hats @ bends


def _cardinal(knots: Floats) -> CubicSpline:
    return CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
