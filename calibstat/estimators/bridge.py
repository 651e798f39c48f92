"""The Brownian bridge test: the mean residual and the shape of the walk, apart and combined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from scipy.special import chdtrc

from calibstat.data.arrays import Array, Floats
from calibstat.data.sample import Predictions
from calibstat.estimators._ordered import Ordered
from calibstat.estimators.base import NUMBERS_IN_CACHE, Capabilities, Estimator, Evaluator, ResidualForm, in_batches
from calibstat.estimators.cumulative import log_bridge_sf, log_two_sided
from calibstat.estimators.large_sample import chi_square_law
from calibstat.estimators.tally import ratio


@final
@dataclass(frozen=True)
class BridgeComponents:
    """The two parts of the Brownian bridge test, and their combination.

    ``float`` gives the statistic, which a test is about.

    Parameters
    ----------
    mean : float
        Mean residual, in probability units: calibration in the large.
    bridge : float
        Largest distance of the walk from the line to its end, in probability units: the shape.
    statistic : float
        Fisher's combination of both p-values, chi-squared with 4 degrees of freedom in large samples.
    standardized_mean, standardized_bridge : float
        S_n and B*: mean and bridge divided by their scale.
    pvalue_mean, pvalue_bridge, pvalue : float
        What large samples would say of each part and of both (`calibration_test` gives the exact one of both).
    """

    mean: float
    bridge: float
    statistic: float
    standardized_mean: float
    standardized_bridge: float
    pvalue_mean: float
    pvalue_bridge: float
    pvalue: float

    def __float__(self) -> float:
        return self.statistic


@final
@dataclass(frozen=True)
class BrownianBridge(Estimator):
    r"""Brownian bridge test: mean calibration and the shape of the walk (Sadatsafavi & Petkau 2024).

    With rows in the order of the prediction, v = p (1 - p), :math:`V = \sum_i v_i` and
    :math:`S_k = \sum_{i \le k} (y_i - p_i) / \sqrt V`, :math:`t_k = \sum_{i \le k} v_i / V` (at the ends of ties),

    .. math:: S_n, \qquad B^* = \max_k |S_k - t_k S_n|, \qquad
              F = -2 \big[ \ln P(|Z| > |S_n|) + \ln P(\max |B| > B^*) \big]

    In large samples S_n and B* are independent under calibration, and F is chi-squared with 4 degrees of freedom. The
    value has the numbers mean and bridge (:math:`S_n` and :math:`B^*` times :math:`\sqrt V / n`, so in probability
    units) and F; a test is about F. It presents itself as a record with all of them. With weights v becomes w^2 v.
    Where all predictions are 0 or 1 there is no V, and F is 0 (nothing wrong) or infinite; predictions that
    rounding has carried out of [0, 1] are taken for 0 or 1.

    O(n log n) once, then O(n). Loses errors that change sign often. Two classes.

    Examples
    --------
    >>> import calibstat as cs
    >>> found = cs.BrownianBridge()(cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9]))
    >>> round(found.mean, 6), round(found.bridge, 6), round(found.statistic, 6)
    (0.25, 0.059091, 3.043277)
    """

    quantity: ClassVar[str] = "mean residual, distance of the walk from its line, and Fisher's combination of both"
    headline_place: ClassVar[int | None] = 2
    two_outcomes: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"

    @property
    def estimand(self) -> MeanAndBridge:
        """Mean and bridge of a population."""
        return MeanAndBridge()

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort."""
        return _BridgeEvaluator(Ordered(self, predictions).clipped())


@final
@dataclass(frozen=True)
class MeanAndBridge(Estimator):
    r"""Mean residual and largest distance of the walk from its line: the estimand of `BrownianBridge`.

    .. math:: E[Y - p], \qquad \sup_q |C(q) - t(q)\, C(1)|, \quad C(q) = E[(Y - p) 1(p \le q)],
              \quad t(q) = E[v\, 1(p \le q)] / E[v]

    Two numbers in probability units, mean and bridge, as an array (Sadatsafavi & Petkau 2024); a test is about the
    larger one in size. Weights are masses here, so that populations are served. Errors that change sign often are lost
    in the walk. O(n log n) once, then O(n).

    Examples
    --------
    >>> import calibstat as cs
    >>> cs.MeanAndBridge()(cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])).round(6)
    array([0.25    , 0.059091])
    """

    quantity: ClassVar[str] = "mean residual, and distance of the walk from its line"
    two_outcomes: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "seminorm"

    def largest_value(self, n_classes: int) -> float:  # noqa: ARG002
        """Return one."""
        return 1.0

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort."""
        return _MassEvaluator(Ordered(self, predictions))

    def headline(self, values: Floats) -> Floats:
        """Return the larger of the two, in size."""
        return np.abs(values).max(axis=-1)


class _MassEvaluator(Evaluator):
    shape = (2,)

    def __init__(self, ordered: Ordered) -> None:
        self.ordered = ordered
        self.clock = self._clock(None)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return in_batches(self._batch, outcomes, weights, numbers=NUMBERS_IN_CACHE)

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        clock = self.clock if weights is None else self._clock(weights)
        return _mean_and_bridge(self.ordered.walk(outcomes, weights), clock)

    def _clock(self, weights: Array | None) -> Floats:
        return _clock(self.ordered, self.ordered.weights(weights) * self.ordered.variances)


class _BridgeEvaluator(Evaluator):
    shape = (3,)

    def __init__(self, ordered: Ordered) -> None:
        self.ordered = ordered
        self.fixed = self._clock_and_scale(None)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return in_batches(self._batch, outcomes, weights, numbers=NUMBERS_IN_CACHE)

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        clock, scale = self.fixed if weights is None else self._clock_and_scale(weights)
        both = _mean_and_bridge(self.ordered.walk(outcomes, weights), clock)
        fisher = _fisher(_standardise(both, np.broadcast_to(scale, both.shape[:-1])))
        return np.concatenate([both, fisher[..., None]], axis=-1)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(large_sample=lambda _: chi_square_law(4))

    def present(self, value: Floats) -> BridgeComponents:
        """Name the numbers."""
        z = _standardise(value[:2], self.fixed[1])
        parts = np.exp([log_two_sided(z[0]), log_bridge_sf(z[1])])
        return BridgeComponents(*map(float, [*value, *z, *parts, chdtrc(4, value[2])]))

    def _clock_and_scale(self, weights: Array | None) -> tuple[Floats, Floats]:
        mass = self.ordered.weights(weights)
        return _clock(self.ordered, mass**2 * self.ordered.variances), self.ordered.standard_deviation(mass)


def _clock(ordered: Ordered, spread: Floats) -> Floats:
    """Return the share of the first 0, 1, ..., L blocks in `spread` (..., n), given in order: (..., L + 1)."""
    sums = ordered.cumulate(spread)
    return ratio(sums, sums[..., -1:])


def _mean_and_bridge(walk: Floats, clock: Floats) -> Floats:
    """Return mean and bridge (..., 2) of walks (..., L + 1)."""
    line = clock * walk[..., -1:]
    np.subtract(walk, line, out=line)
    bridge = np.abs(line).max(axis=-1)
    return np.stack([walk[..., -1], bridge], axis=-1)


def _standardise(values: Floats, scale: Floats) -> Floats:
    """Divide by the scale; where that is zero, anything but zero is infinitely far."""
    without = np.where(np.isnan(values), np.nan, np.where(np.abs(values) > 1e-15, np.inf, 0.0))
    return np.divide(values, scale[..., None], out=without, where=np.asarray(scale)[..., None] > 0)


def _fisher(standardised: Floats) -> Floats:
    return np.abs(2 * (log_two_sided(standardised[..., 0]) + log_bridge_sf(standardised[..., 1])))
