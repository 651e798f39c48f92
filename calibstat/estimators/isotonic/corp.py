"""Isotonic recalibration (CORP): what a score would be after the best increasing map of the predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.isotonic.pooling import isotonic, one_by_one, sums_of_blocks
from calibstat.estimators.scores.means import BrierScore, Score
from calibstat.estimators.walks.ordered import Ordered
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class CORPParts:
    """The parts of a score: score = miscalibration - discrimination + uncertainty.

    ``float`` gives the miscalibration, which a test is about.

    Parameters
    ----------
    score : float
        Of the predictions.
    miscalibration : float
        What the best increasing map of the predictions takes off; at least 0.
    discrimination : float
        What the mapped predictions are better than the best constant; at least 0.
    uncertainty : float
        Score of the best constant prediction.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float

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
    are pooled first), which is best for every proper score at once. No bins and no bandwidth. In the units of the
    score. Miscalibration is biased upward: the map is fitted to the same rows, and it may exceed the observed value
    of a calibrated model; show it beside its null mean. The value is a record with the fields score, miscalibration,
    discrimination and uncertainty; a test is about miscalibration. `IsotonicCurve` is the map.

    It estimates the unbinned miscalibration where chances rise with the prediction, and less where they do not: a map
    that falls somewhere is not among those it fits. O(n log n) once, then O(n). Two classes, the prediction itself
    (not a variable) conditioned on; any weights.

    Parameters
    ----------
    score : Score
        Proper: BrierScore(), LogScore(), SphericalScore().

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.estimators.isotonic.corp import CORP
    >>> sample = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], [i / 10 + 0.05 for i in range(10)])
    >>> parts = CORP()(sample)
    >>> round(parts.miscalibration, 6), round(parts.discrimination, 6), round(parts.uncertainty, 6)
    (0.055833, 0.123333, 0.24)
    """

    score: Score = BrierScore()
    quantity: ClassVar[str] = "score and its parts: miscalibration (isotonic), discrimination, uncertainty"

    @property
    def estimand(self) -> CORP:
        """The same, of a population."""
        return self

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort, and work out the loss of each prediction."""
        ordered = Ordered(self, predictions)
        if predictions.keys != (1,):
            raise ValueError(
                f"{self!r} maps the prediction itself, but {predictions.condition} is conditioned on; leave out Given, "
                "or use IsotonicCurve() for the outcome as an increasing function of a variable."
            )
        return _PartsEvaluator(self.score, ordered, self.score.prepare(predictions))

    def headline(self, values: Floats) -> Floats:
        """Return miscalibration."""
        return values[..., 1]


class _PartsEvaluator(Evaluator):
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

    def remark(self, outcomes: Array) -> str:
        return self.given.remark(outcomes)

    def present(self, value: Floats) -> CORPParts:
        """Name the parts."""
        return CORPParts(*value.tolist())
