"""Where Kuiper's statistic is attained: the interval of predictions whose mean residual is worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.data.arrays import Array, Floats
from calibstat.data.sample import Predictions
from calibstat.estimators._ordered import Ordered
from calibstat.estimators.base import Capabilities, Estimator, Evaluator, Extreme, ResidualForm


@final
@dataclass(frozen=True)
class IntervalDeviation:
    """An interval of predictions, ends included, and how outcomes deviate there.

    ``float`` gives the deviation, which a test is about.

    Parameters
    ----------
    deviation : float
        Sum of residuals in the interval over the total weight; positive where more happens than predicted. Its size
        is `Kuiper`.
    low, high : float
        The smallest and the largest conditioned value in the interval; NaN if the walk never leaves the origin.
    share : float
        Share of the rows (of the weight) in the interval: deviation / share is the mean residual there.
    """

    deviation: float
    low: float
    high: float
    share: float

    def __float__(self) -> float:
        return self.deviation


@final
@dataclass(frozen=True)
class WorstInterval(Estimator):
    r"""The interval of predictions where `Kuiper` is attained: from the lowest to the highest point of the walk.

    .. math:: \operatorname{arg\,max}_I \Big| \frac1n \sum_{p_i \in I} (y_i - p_i) \Big|

    The value is a record with the fields deviation (signed), low, high and share; a test is about its size, which is
    `Kuiper`. The ends are rough: read them with the deviation of the same interval on other rows. O(n log n) once.
    Two classes; any weights. (Arrieta-Ibarra et al. 2022; Rossellini et al. 2025.)

    Examples
    --------
    >>> import calibstat as cs
    >>> worst = cs.WorstInterval()(cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9]))
    >>> round(worst.deviation, 6), worst.low, worst.high, worst.share
    (0.275, 0.4, 0.9, 0.75)
    """

    quantity: ClassVar[str] = "signed mean residual of the worst interval of predictions, its ends and its share"
    headline_place: ClassVar[int | None] = 0
    two_outcomes: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"
    extreme: ClassVar[Extreme] = "either"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort."""
        return _IntervalEvaluator(Ordered(self, predictions))


class _IntervalEvaluator(Evaluator):
    shape = (4,)

    def __init__(self, ordered: Ordered) -> None:
        self.ordered = ordered

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(standard_deviation=lambda: self.ordered.scale)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        ordered = self.ordered
        walk = ordered.walk(outcomes, weights)
        top, bottom = walk.argmax(axis=-1), walk.argmin(axis=-1)
        deviation = np.where(top > bottom, 1.0, -1.0) * (walk.max(axis=-1) - walk.min(axis=-1))
        first, last = np.minimum(top, bottom), np.maximum(top, bottom)
        mass = ordered.cumulate(ordered.weights(weights))
        mass = np.broadcast_to(mass, (*walk.shape[:-1], mass.shape[-1]))
        inside = _at(mass, last) - _at(mass, first)
        share = np.divide(inside, mass[..., -1], out=np.full(inside.shape, np.nan), where=mass[..., -1] > 0)
        values = np.append(ordered.values, np.nan)
        nowhere = (first == last) | np.isnan(deviation)
        low = np.where(nowhere, np.nan, values[first])
        high = np.where(nowhere, np.nan, values[last - 1])
        return np.stack([deviation, low, high, share], axis=-1)

    def present(self, value: Floats) -> IntervalDeviation:
        """Name the numbers."""
        return IntervalDeviation(*value.tolist())


def describe_worst(ordered: Ordered, outcomes: Array) -> str:
    """Say in words where the walk of these outcomes is worst; nothing if it never leaves the origin."""
    evaluator = _IntervalEvaluator(ordered)
    worst = evaluator.present(evaluator(outcomes))
    if np.isnan(worst.low):
        return ""
    sign = "more" if worst.deviation > 0 else "less"
    return (
        f"worst from {worst.low:.4g} to {worst.high:.4g} ({100 * worst.share:.3g} % of the rows), where "
        f"{abs(worst.deviation) / worst.share:.4g} {sign} happens than is predicted, on average"
    )


def _at(rows: Floats, index: Array) -> Floats:
    return np.take_along_axis(rows, index[..., None], axis=-1)[..., 0]
