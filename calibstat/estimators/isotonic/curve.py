"""The isotonic recalibration curve: the chance of the event as an increasing function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.isotonic.pooling import isotonic, one_by_one, sums_of_blocks
from calibstat.estimators.walks.ordered import Ordered
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class RecalibrationCurve:
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
    >>> from calibstat.estimators.isotonic.curve import IsotonicCurve
    >>> IsotonicCurve()(cs.Sample([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9])).recalibrated
    array([0. , 0.5, 0.5, 1. ])
    """

    quantity: ClassVar[str] = "chance of the event at each prediction (isotonic regression)"

    @property
    def estimand(self) -> IsotonicCurve:
        """The same, of a population: the best increasing calibration function."""
        return self

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort."""
        return _CurveEvaluator(Ordered(self, predictions))


class _CurveEvaluator(Evaluator):
    def __init__(self, ordered: Ordered) -> None:
        self.ordered = ordered
        self.shape = (len(ordered.values),)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        mass, events = sums_of_blocks(self.ordered, outcomes, weights)
        replicates = zip(one_by_one(mass), one_by_one(events), strict=True)
        return np.reshape([self._curve(*each) for each in replicates], events.shape)

    def _curve(self, mass: Floats, events: Floats) -> Floats:
        """Fit where there is weight, and draw straight lines between."""
        filled = mass > 0
        if not filled.any():
            return np.full(len(mass), np.nan)
        fit = isotonic(events[filled] / mass[filled], mass[filled])
        return fit if filled.all() else np.interp(self.ordered.values, self.ordered.values[filled], fit)

    def present(self, value: Floats) -> RecalibrationCurve:
        """Put the curve beside its predictions."""
        weight = np.diff(self.ordered.cumulate(self.ordered.weights(None)))
        return RecalibrationCurve(self.ordered.values, value, weight)
