"""Spline calibration."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from calibstat._logistic import expit, fisher_information, inverse_roots, natural_spline, roughness
from calibstat._progress import track
from calibstat.calibrators.base import Calibrator, simplest
from calibstat.calibrators.scaling import SMALLEST_OF_A_LINE, fit_finite, from_log_odds, logits
from calibstat.data.arrays import Floats, Ints
from calibstat.data.parameters import Knots, check_kind
from calibstat.data.rounding import SAME


@final
class Spline(Calibrator):
    """Calibrated log-odds are a natural cubic spline of the log-odds, unpenalised (Lucena 2018; Harrell 2015, 2.4.5).

    Beyond the outer knots it is linear, as `Platt` is everywhere. It need not increase.

    Parameters
    ----------
    n_knots : int, optional
        Knots at equally spaced quantiles from 5 to 95 %; those that nearly touch are one. By default none, which leaves
        predictions as they are; or 2, a line; or up to 5, and at most one for ten rows of the rarer class (Peduzzi et
        al. 1996): the least number whose log loss of rows left out is within one standard error of the least.
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
        most = number_of_knots(self.n_knots, 5, targets, weights)
        tried = [(2, np.inf), *((k, 0.0) for k in range(2, most + 1))] if self.n_knots is None else [(most, 0.0)]
        models = [(quantiles(scores, weights, np.linspace(0.05, 0.95, k)), penalty) for k, penalty in tried]
        self.knots_, _penalty, self.values_ = first_good(models, scores, probabilities[:, 1], targets, weights)

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
        Knots at equally spaced quantiles; those that nearly touch are one. By default 15, but at most one for ten rows
        of the rarer class.
    penalty : float, optional
        By default the largest power of ten, or infinity, which leaves predictions as they are, whose log loss of rows
        left out is within one standard error of the least.
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
        if self.penalty is not None and not 0 <= self.penalty < np.inf:
            raise ValueError(f"penalty is {self.penalty}, but it must be at least 0 and finite")
        scores = logits(probabilities, self.smallest)
        n_knots = number_of_knots(self.n_knots, 15, targets, weights)
        knots = quantiles(scores, weights, np.linspace(0, 1, n_knots))
        models = [(knots, float(each)) for each in ([np.inf, *PENALTIES] if self.penalty is None else [self.penalty])]
        self.knots_, self.penalty_, self.values_ = first_good(models, scores, probabilities[:, 1], targets, weights)

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return from_log_odds(natural_spline(logits(probabilities, self.smallest), self.knots_) @ self.values_)


def number_of_knots(asked: int | None, most: int, targets: Ints, weights: Floats) -> int:
    """Return the number that is asked for; else one for ten rows of the rarer class, from 2 to `most`."""
    if asked is not None:
        check_kind("n_knots", asked, Knots)
        return int(asked)
    events = float(weights @ targets)
    return int(np.clip(min(events, weights.sum() - events) // 10, 2, most))


def quantiles(values: Floats, weights: Floats, levels: Floats) -> Floats:
    """Return values at which the weighted distribution reaches the levels, but none that nearly touches the one before.

    Between knots that nearly touch, a spline may jump, and what it costs can no longer be computed.
    """
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weights[order])
    reached = np.searchsorted(mass, levels * mass[-1] * (1 - 1e-12))
    knots = np.unique(values[order][reached])
    return knots[np.append(True, np.diff(knots) > 1e-3 * np.ptp(knots))]


# 10 to 1e-6, the strongest first.
PENALTIES = 10.0 ** np.arange(1, -7, -1)


def first_good(
    models: list[tuple[Floats, float]], scores: Floats, event: Floats, targets: Ints, weights: Floats
) -> tuple[Floats, float, Floats]:
    """Return the first of models, from the simplest on, that predicts rows left out nearly as well as the best.

    A model is its knots and its penalty of bends; its values at the knots are fitted. With an infinite penalty nothing
    is: predictions stay as they are.
    """
    found, left_out, start, goals = [], [], None, targets.astype(np.float64)
    for knots, penalty in track(models, len(models)):
        if penalty == np.inf:
            found.append((knots, penalty, knots))
            left_out.append(log_losses(scores, targets))
            continue
        design, matrix = natural_spline(scores, knots), penalty * roughness(knots)
        start = start if start is not None and len(start) == len(knots) else None
        start = fit_finite(design, goals, weights, event, matrix, start).coefficients[0]
        if found and ((design @ start > 0) == targets)[weights > 0].all():
            # Separated rows have no maximum, and one step of Newton says nothing of a row left out.
            continue
        found.append((knots, penalty, start))
        left_out.append(losses_of_rows_left_out(design, start, matrix, targets, weights))
    return found[simplest(np.array(left_out), weights)]


def losses_of_rows_left_out(
    design: Floats, coefficients: Floats, penalty: Floats, targets: Ints, weights: Floats
) -> Floats:
    """Return the log loss (n,) of each row by a fit without it: one step of Newton away (Pregibon 1981, Section 5)."""
    linear = design @ coefficients
    chance = expit(linear)
    curvature = fisher_information(design, linear[None], weights)[0] + weights.sum() * penalty
    leverage = ((design @ inverse_roots(curvature[None], 1e-13)[0][0]) ** 2).sum(axis=1)
    own = np.maximum(1 - leverage * chance * (1 - chance), SAME)
    return log_losses(np.clip(linear + leverage * (chance - targets) / own, -700, 700), targets)


def log_losses(linear: Floats, targets: Ints) -> Floats:
    """Return the log loss (n,) of log-odds (n,)."""
    found: Floats = np.logaddexp(0.0, linear) - targets * linear
    return found
