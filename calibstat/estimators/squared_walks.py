"""Squared cumulative errors: how far the walk of residuals strays on average, with even or with greater care."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, TypeAlias, final

import numpy as np

from calibstat.data.arrays import Array, Floats
from calibstat.data.sample import Predictions
from calibstat.estimators._ordered import Ordered
from calibstat.estimators.base import NUMBERS_IN_CACHE, Capabilities, Estimator, Evaluator, ResidualForm, in_batches
from calibstat.estimators.large_sample import scaled_law
from calibstat.estimators.tally import ratio

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
    >>> round(cs.CramerVonMises()(cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])), 6)
    0.022756
    """

    quantity: ClassVar[str] = "mean squared residual over lower ranges of predictions (Cramer-von Mises)"
    two_outcomes: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"

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
    >>> round(cs.AndersonDarling()(cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])), 6)
    0.069123
    """

    quantity: ClassVar[str] = "squared mean residual and weighted mean square of the walk around its line"
    two_outcomes: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"

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

    @property
    def capabilities(self) -> Capabilities:
        unweighted = self.ordered.own is None
        return Capabilities(
            signed=self._signed,
            large_sample=(lambda _: scaled_law(*self.law, self.scale or 0.0)) if unweighted else None,
            standard_deviation=lambda: self.scale,
        )

    def _signed(self, outcomes: Array, signs: Array) -> Floats:
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


# The laws of squared walks in large samples: integrals of squared Brownian motions and bridges.
#
# Each is a sum of independent squared normal variables, :math:`Q = \sum_j Z_j^2 / \mu_j` with :math:`\mu_1 < \mu_2 <
# \dots`, and for such sums (Smirnov 1937)
#
# .. math:: P(Q > x) = \frac1\pi \sum_{k \ge 1} (-1)^{k+1} \int_{\mu_{2k-1}}^{\mu_{2k}}
#           \frac{e^{-x u / 2}}{u \sqrt{|D(u)|}}\, du, \qquad D(u) = \prod_j (1 - u / \mu_j)
#
# The integrands are infinite at both ends like inverse roots, which the rule of Gauss and Chebyshev takes into
# account. All terms but the first are small in the tail, so small probabilities keep their digits.

# Means of the two laws: the integral of t, and that of 1 with a squared normal variable.
CRAMER_VON_MISES_MEAN = 0.5
ANDERSON_DARLING_MEAN = 2.0
_INTERVALS = 30
_POINTS = 256
# Below, the laws have less than 1e-14 of their mass, and the series would need more terms.
_SMALLEST_HEIGHT, _SMALLEST_BRIDGE = 0.004, 0.025


def cramer_von_mises_sf(x: float | Floats) -> Floats:
    r"""Return P(:math:`\int_0^1 W(t)^2 dt` > x) for a Brownian motion W (Cameron & Martin 1944).

    The law of the standardised `CramerVonMises` statistic of a calibrated model in large samples: the sum of
    :math:`Z_j^2 / ((j - 1/2)^2 \pi^2)`, whose mean is 1/2. Absolute error below 1e-13.

    Parameters
    ----------
    x : float or array

    Examples
    --------
    >>> print(f"{cramer_von_mises_sf(1.0):.6f}")
    0.136102
    """
    return survival_of(x, *_height_rule(), _SMALLEST_HEIGHT)


def anderson_darling_sf(x: float | Floats) -> Floats:
    r"""Return P(:math:`\int_0^1 B(t)^2 / (t (1 - t)) dt + Z^2` > x), B a Brownian bridge, Z normal, independent.

    The law of the standardised `AndersonDarling` statistic of a calibrated model in large samples: the sum of
    :math:`Z_j^2 / (j (j + 1))` (Anderson & Darling 1952) and one more :math:`Z^2`; its mean is 2. Absolute error
    below 1e-13.

    Parameters
    ----------
    x : float or array

    Examples
    --------
    >>> print(f"{anderson_darling_sf(2.0):.6f}")
    0.365112
    """
    return survival_of(x, *_bridge_rule(), _SMALLEST_BRIDGE)


@cache
def _height_rule() -> tuple[Floats, Floats]:
    """Of a Brownian motion: D(u) = cos(sqrt u)."""
    j = np.arange(1, 2 * _INTERVALS + 1, dtype=float)
    return quadratic_rule(np.square((j - 0.5) * np.pi), lambda u: np.cos(np.sqrt(u)))


@cache
def _bridge_rule() -> tuple[Floats, Floats]:
    """Of a weighted bridge and one more variable: D(u) = (u - 1) cos(sqrt(1 + 4 u) pi / 2) / (pi u)."""
    j = np.arange(1, 2 * _INTERVALS)
    roots = np.append(1.0, j * (j + 1.0))
    return quadratic_rule(roots, lambda u: (u - 1) * np.cos(np.pi / 2 * np.sqrt(1 + 4 * u)) / (np.pi * u))


def quadratic_rule(roots: Floats, determinant: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Return points u and weights with which P(Q > x) is the sum of weights times exp(-x u / 2).

    Parameters
    ----------
    roots : (2 m,) floats
        The smallest of the numbers mu, all different, in increasing order.
    determinant : callable
        D.
    """
    low, high = roots[::2, None], roots[1::2, None]
    half = (high - low) / 2
    angle = (np.arange(_POINTS) + 0.5) * np.pi / _POINTS
    points = low + half * (1 - np.cos(angle))
    smooth = half * np.sin(angle) / np.sqrt(np.abs(determinant(points))) / points
    sign = (-1.0) ** np.arange(len(low))[:, None]
    return points.ravel(), (sign * smooth / _POINTS).ravel()


def survival_of(x: float | Floats, points: Floats, weights: Floats, smallest: float) -> Floats:
    """Return P(Q > x) by the points and weights of `quadratic_rule`; one below `smallest`."""
    values = np.asarray(x, dtype=float)
    flat = np.maximum(np.ravel(values), smallest)
    found = np.array([weights @ np.exp(-0.5 * each * points) for each in flat])
    found = np.where(np.ravel(values) < smallest, 1.0, np.clip(found, 0.0, 1.0))
    return np.reshape(found, values.shape)[()]
