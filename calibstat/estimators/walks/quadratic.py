"""Squared cumulative errors: how far the walk of residuals strays on average, with even or with greater care."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator, Evaluator, ResidualForm
from calibstat.estimators.large_sample import LargeSampleLaw, scaled_law
from calibstat.estimators.replicates import NUMBERS_IN_CACHE, in_batches
from calibstat.estimators.tally import ratio
from calibstat.estimators.walks.ordered import Ordered
from calibstat.estimators.walks.quadratic_laws import (
    ANDERSON_DARLING_MEAN,
    CRAMER_VON_MISES_MEAN,
    anderson_darling_sf,
    cramer_von_mises_sf,
)
from calibstat.predictions import Predictions

Clock: TypeAlias = tuple[Floats, Floats]


@final
@dataclass(frozen=True)
class CramerVonMises(Estimator):
    r"""Mean square of the walk of residuals: the statistic of Cramer (1928) and von Mises (1931).

    .. math:: \int_0^1 C(t)^2\, dt, \qquad C_k = \frac1n \sum_{i \le k} (y_{(i)} - p_{(i)}), \quad
              t_k = \sum_{i \le k} v_i \Big/ \sum_i v_i, \quad v = p (1 - p)

    with rows in the order of the prediction, and the walk read at the ends of ties only (the order inside a tie is
    arbitrary), by the trapezoid rule for its squares; in squared probability units. `KolmogorovSmirnov` is the largest
    height of the same walk. Divided by :math:`\sum v_i / n^2` it has the mean 1/2 under calibration, exactly and for
    every n, and follows the integral of a squared Brownian motion in large samples
    (`quadratic_laws.cramer_von_mises_sf`). With weights the mean is weighted and v becomes w v; the law in large
    samples is given for unweighted rows only, and redrawn labels serve for all. Where all predictions are 0 or 1 the
    clock t counts rows.

    No bins and no bandwidth; O(n log n) once, then O(n). It loses errors that change sign often, and sees little of
    those at the highest predictions, where the walk ends: `AndersonDarling` treats both ends alike. Two classes; any
    weights.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.estimators.walks.quadratic import CramerVonMises
    >>> round(CramerVonMises()(cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])), 6)
    0.022756
    """

    quantity: ClassVar[str] = "mean squared residual over lower ranges of predictions (Cramer-von Mises)"

    @property
    def estimand(self) -> CramerVonMises:
        """The same, of a population."""
        return self

    @property
    def residual_form(self) -> ResidualForm:
        """A function of the residuals, quadratic."""
        return "function"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort, and measure the stretches of the clock."""
        law = ("integral of a squared Brownian motion", cramer_von_mises_sf, CRAMER_VON_MISES_MEAN)
        return _QuadraticEvaluator(Ordered(self, predictions), _stretches, _height, law)


@final
@dataclass(frozen=True)
class AndersonDarling(Estimator):
    r"""Squared mean residual, and mean square of the walk around its line in units of its variance at each place.

    .. math:: C_n^2 + \int_0^1 \frac{(C(t) - t\, C_n)^2}{t (1 - t)}\, dt

    with the walk C and the clock t of `CramerVonMises`; in squared probability units. The integral is the statistic of
    Anderson & Darling (1952): errors near the lowest and the highest predictions count as much as those between. Each
    point of the walk stands for the stretch of the clock that is nearer to it than to others, over which
    :math:`1 / (t (1 - t))` is integrated exactly, so that an unexpected outcome of a row that is almost certain does
    not outweigh all others. Divided by :math:`\sum v_i / n^2` it follows in large samples the sum of a squared normal
    variable and, independent of it, the law of Anderson and Darling, the mean of which is 2
    (`quadratic_laws.anderson_darling_sf`). With weights the mean is weighted and v becomes w v; the law in large
    samples is given for unweighted rows only, and redrawn labels serve for all.

    No bins and no bandwidth; O(n log n) once, then O(n). It loses errors that change sign often. `BrownianBridge`
    looks at the largest distance instead, and gives mean and shape apart. With 400 rows of uniform predictions we
    measured, at level 5 %, a power of 49 % against shifted logits, 43 % against stretched ones and 46 % against errors
    beyond 0.1 and 0.9 only, where `Kuiper` has 50, 17 and 12 and `BrownianBridge` 42, 45 and 24 % (300 runs, standard
    error 3). Two classes; any weights.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.estimators.walks.quadratic import AndersonDarling
    >>> round(AndersonDarling()(cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])), 6)
    0.069123
    """

    quantity: ClassVar[str] = "squared mean residual and weighted mean square of the walk around its line"

    @property
    def estimand(self) -> AndersonDarling:
        """The same, of a population."""
        return self

    @property
    def residual_form(self) -> ResidualForm:
        """A function of the residuals, quadratic."""
        return "function"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort, and measure the stretches of the clock."""
        law = ("squared normal variable and Anderson-Darling law", anderson_darling_sf, ANDERSON_DARLING_MEAN)
        return _QuadraticEvaluator(Ordered(self, predictions), _logit_stretches, _mean_and_bridge, law)


class _QuadraticEvaluator(Evaluator):
    def __init__(
        self,
        ordered: Ordered,
        measure: Callable[[Clock], Floats],
        functional: Callable[[Floats, Clock, Floats], Floats],
        law: tuple[str, Callable[[float], Floats], float],
    ) -> None:
        self.ordered, self.measure, self.functional, self.law = ordered, measure, functional, law
        self.scale = None if ordered.own is not None or ordered.scale is None else ordered.scale**2
        self.clock = _clock(ordered, None)
        self.stretches = measure(self.clock)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return in_batches(self._batch, outcomes, weights, numbers=NUMBERS_IN_CACHE)

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        walk = self.ordered.walk(outcomes, weights)
        if weights is None:
            return self.functional(walk, self.clock, self.stretches)
        clock = _clock(self.ordered, weights)
        return self.functional(walk, clock, self.measure(clock))

    def large_sample(self, rng: np.random.Generator) -> LargeSampleLaw | None:  # noqa: ARG002
        return scaled_law(*self.law, self.scale or 0.0) if self.ordered.own is None else None

    def signed(self, outcomes: Array, signs: Array) -> Floats:
        return self.functional(self.ordered.walk(outcomes, signs=signs), self.clock, self.stretches)


def _clock(ordered: Ordered, weights: Array | None) -> Clock:
    """Return the shares of the first 0, 1, ..., L blocks and of the others: twice (..., L + 1).

    Both are sums of their own: differences from one would lose the variances of rows that are almost certain.
    """
    mass = ordered.weights(weights)
    spread = mass * ordered.variances
    spread = np.where(spread.sum(axis=-1, keepdims=True) > 0, spread, mass)
    before, after = ordered.cumulate(spread), np.zeros((*spread.shape[:-1], spread.shape[-1] + 1))
    np.cumsum(spread[..., ::-1], axis=-1, out=after[..., 1:])
    after = np.take(after, spread.shape[-1] - ordered.stops, axis=-1)
    return ratio(before, before[..., -1:]), ratio(after, after[..., :1])


def _middles(share: Floats) -> Floats:
    return (share[..., 1:] + share[..., :-1]) / 2


def _stretches(clock: Clock) -> Floats:
    """Return how much of the clock is nearest to each point: (..., L + 1)."""
    return np.diff(_middles(clock[0]), axis=-1, prepend=0.0, append=1.0)


def _logit_stretches(clock: Clock) -> Floats:
    """Return the integral of 1 / (t (1 - t)) over the stretch of each point: (..., L + 1); zero at both ends."""
    before, after = clock
    found = np.zeros_like(before)
    inside = (before > 0) & (after > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        places = np.log(_middles(before)) - np.log(_middles(after))
        found[..., 1:-1] = np.where(inside[..., 1:-1], np.diff(places, axis=-1), 0.0)
    return found


def _height(walk: Floats, clock: Clock, stretches: Floats) -> Floats:  # noqa: ARG001
    return (walk**2 * stretches).sum(axis=-1)


def _mean_and_bridge(walk: Floats, clock: Clock, stretches: Floats) -> Floats:
    mean = walk[..., -1]
    line = clock[0] * mean[..., None]
    np.subtract(walk, line, out=line)
    line *= line
    line *= stretches
    return line.sum(axis=-1) + mean**2
