"""Isotonic recalibration (CORP): how much a score improves under the best increasing map of the predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, final

import numpy as np
from scipy.optimize import isotonic_regression

from calibstat._dataclass import dataclass
from calibstat.data.arrays import Array, Floats
from calibstat.data.sample import Predictions
from calibstat.estimators._curves import CurveRecord, picked
from calibstat.estimators.base import Bounds, Capabilities, Estimator, Evaluator, between
from calibstat.estimators.loess import Gaps
from calibstat.estimators.logistic_spline import over_the_prediction
from calibstat.estimators.scores import BrierScore, Score
from calibstat.estimators.walks import Ordered


@final
@dataclass(frozen=True)
class CORPParts:
    """The parts of a score: score = miscalibration - discrimination + uncertainty.

    ``float`` gives the miscalibration, which is the part that is tested.

    Parameters
    ----------
    score : float
        The mean score of the predictions.
    miscalibration : float
        How much the best increasing map of the predictions lowers the score; at least 0.
    discrimination : float
        How much lower the score of the mapped predictions is than that of the best constant; at least 0.
    uncertainty : float
        The score of the best constant prediction.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float

    words: ClassVar[Mapping[str, str]] = {
        "score": "score",
        "miscalibration": "  miscalibration",
        "discrimination": "  discrimination",
        "uncertainty": "  uncertainty",
    }

    def __float__(self) -> float:
        return self.miscalibration


@final
@dataclass(frozen=True)
class CORP(Estimator):
    r"""Miscalibration, discrimination and uncertainty of a score (Dimitriadis, Gneiting & Jordan 2021).

    .. math:: \bar S(p) = \underbrace{\bar S(p) - \bar S(\hat q)}_{\text{miscalibration}}
              - \underbrace{\big( \bar S(\bar y) - \bar S(\hat q) \big)}_{\text{discrimination}}
              + \underbrace{\bar S(\bar y)}_{\text{uncertainty}}

    with :math:`\hat q` the isotonic regression of outcomes on predictions (pool-adjacent-violators; tied predictions
    are pooled first), which is the best increasing map for every proper score at once. No bins and no bandwidth. In the
    units of the score. Miscalibration is biased upward, because the map is fitted to the same rows; show it beside its
    null mean. The value is a record with the fields score, miscalibration, discrimination and uncertainty; a test is
    about miscalibration. `IsotonicCurve` is the map.

    It estimates the unbinned miscalibration if chances rise with the prediction, and less than that otherwise. O(n log
    n) once, then O(n). Two classes; the prediction itself (not a variable) must be conditioned on; any weights.

    Parameters
    ----------
    score : Score
        Proper: BrierScore(), LogScore(), SphericalScore().

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], [i / 10 + 0.05 for i in range(10)])
    >>> parts = cs.CORP()(sample)
    >>> round(parts.miscalibration, 6), round(parts.discrimination, 6), round(parts.uncertainty, 6)
    (0.055833, 0.123333, 0.24)
    """

    score: Score = BrierScore()
    quantity: ClassVar[str] = "miscalibration part of the score (isotonic)"
    headline_place: ClassVar[int | None] = 1
    two_outcomes: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    no_interval: ClassVar[str] = (
        ": percentile bootstrap intervals held the truth in 0 to 2 % of simulated samples, basic ones in 46 to 98 %"
    )

    @property
    def numbers(self) -> dict[str, Estimator]:
        """The score, and the miscalibration."""
        return {"score": self.score, "miscalibration": self}

    @property
    def bounds(self) -> Bounds:  # type: ignore[override]
        """Zero and how far two values of the score can lie apart."""
        low, high = self.score.value_range(2)
        return between(0.0, high - low)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort the rows, and compute the loss of each prediction."""
        ordered = Ordered(self, predictions)
        if predictions.keys != (1,):
            raise ValueError(
                f"{self!r} maps the prediction itself, but {predictions.condition} is conditioned on; leave out Given, "
                "or use IsotonicCurve() for the outcome as an increasing function of a variable."
            )
        return _CORPEvaluator(self.score, ordered, self.score.prepare(predictions))


class _CORPEvaluator(Evaluator):
    shape = (4,)

    def __init__(self, score: Score, ordered: Ordered, given: Evaluator) -> None:
        self.score = score
        self.ordered = ordered
        self.given = given

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        score = self.given(outcomes, weights)
        mass, events = sums_of_blocks(self.ordered, outcomes, weights)
        replicates = zip(score.ravel(), one_by_one(mass), one_by_one(events), strict=True)
        return np.reshape([self._parts(*each) for each in replicates], (*score.shape, 4))

    def _parts(self, score: float, mass: Floats, events: Floats) -> list[float]:
        total = mass.sum()
        if not total > 0:
            return [np.nan] * 4
        filled = mass > 0
        mass, events = mass[filled], events[filled]
        best = self._mean(isotonic(events / mass, mass), mass, events) / total
        constant = np.clip(events.sum() / total, 0.0, 1.0)
        uncertainty = self._mean(np.array([constant]), np.array([total]), np.array([events.sum()])) / total
        return [score, max(score - best, 0.0), max(uncertainty - best, 0.0), uncertainty]

    def _mean(self, predicted: Floats, mass: Floats, events: Floats) -> float:
        """Return the sum of losses of predictions (m,) made for masses in which events have some share."""
        losses = self.score.losses(np.column_stack([1 - predicted, predicted]))
        chances = np.column_stack([np.clip(mass - events, 0.0, None), events])
        return float((np.where(chances > 0, losses, 0.0) * chances).sum())

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(remark=self.given.capabilities.remark)

    def present(self, value: Floats) -> CORPParts:
        return CORPParts(*value.tolist())


@final
@dataclass(frozen=True)
class RecalibrationCurve(CurveRecord):
    """A recalibration curve.

    Parameters
    ----------
    prediction : (L,) floats
        The distinct values of what is conditioned on, in increasing order.
    recalibrated : (L,) floats
        The estimated chance of the event at each of them.
    weight : (L,) floats
        Number of rows (sum of weights) of each.
    """

    prediction: Floats
    recalibrated: Floats
    weight: Floats

    def _columns(self) -> dict[str, Any]:
        return picked(self, "prediction recalibrated weight")


@final
@dataclass(frozen=True)
class IsotonicCurve(Estimator):
    r"""The chance of the event as an increasing function of the prediction (or of a variable), by isotonic regression.

    .. math:: \hat q = \operatorname{arg\,min}_{q_1 \le \dots \le q_L} \sum_k n_k (\bar y_k - q_k)^2

    at the L distinct values (Ayer et al. 1955): the curve of the CORP reliability diagram. The value is a record with
    arrays prediction, recalibrated and weight; under redraws of the labels the evaluator gives the curves (..., L),
    whose quantiles are consistency bands. It has steps, and follows noise at both ends. O(n log n) once, then O(n).
    Two classes; any weights.

    Examples
    --------
    >>> import calibstat as cs
    >>> cs.IsotonicCurve()(cs.Sample([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])).recalibrated
    array([0. , 0.5, 0.5, 1. ])
    """

    quantity: ClassVar[str] = "chance of the event at each prediction (isotonic regression)"
    two_outcomes: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    has_headline: ClassVar[bool] = False

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort the rows."""
        return _IsotonicEvaluator(Ordered(self, predictions))

    def gaps(self, predictions: Predictions) -> Gaps:
        """Prepare the absolute difference of curve and prediction in each tie, which `ICI` averages."""
        over_the_prediction(self, predictions)
        return _IsotonicEvaluator(Ordered(self, predictions)).gaps


class _IsotonicEvaluator(Evaluator):
    def __init__(self, ordered: Ordered) -> None:
        self.ordered = ordered
        self.shape = (len(ordered.values),)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        mass, events = sums_of_blocks(self.ordered, outcomes, weights)
        replicates = zip(one_by_one(mass), one_by_one(events), strict=True)
        return np.reshape([self._curve(*each) for each in replicates], events.shape)

    def gaps(self, outcomes: Array, weights: Array | None = None) -> tuple[Floats, Floats]:
        """Return absolute differences of the curves and the predictions (..., L), and the weights of ties (..., L)."""
        mass, _ = sums_of_blocks(self.ordered, outcomes, weights)
        return np.abs(self(outcomes, weights) - self.ordered.values), mass

    def _curve(self, mass: Floats, events: Floats) -> Floats:
        """Fit where there is weight, and interpolate linearly between."""
        filled = mass > 0
        if not filled.any():
            return np.full(len(mass), np.nan)
        fit = isotonic(events[filled] / mass[filled], mass[filled])
        return fit if filled.all() else np.interp(self.ordered.values, self.ordered.values[filled], fit)

    def present(self, value: Floats) -> RecalibrationCurve:
        weight = np.diff(self.ordered.cumulate(self.ordered.weights(None)))
        return RecalibrationCurve(self.ordered.values, value, weight)


def sums_of_blocks(ordered: Ordered, outcomes: Array, weights: Array | None) -> tuple[Floats, Floats]:
    """Return weight and weight of events of each block of tied predictions, (..., L) both."""
    mass = ordered.weights(weights)
    events = ordered.happened(outcomes) * mass
    mass = np.broadcast_to(mass, events.shape)
    starts = ordered.stops[:-1]
    if len(starts) == events.shape[-1]:
        return mass, events
    return np.add.reduceat(mass, starts, axis=-1), np.add.reduceat(events, starts, axis=-1)


def isotonic(means: Floats, weights: Floats) -> Floats:
    """Return the isotonic regression (m,) of means with positive weights, in [0, 1]: adjacent violators are pooled."""
    fitted: Floats = isotonic_regression(means, weights=weights).x
    return np.clip(fitted, 0.0, 1.0)


def one_by_one(values: Floats) -> Iterator[Floats]:
    """Yield replicates (..., L) one after the other."""
    return (values[index] for index in np.ndindex(values.shape[:-1]))
