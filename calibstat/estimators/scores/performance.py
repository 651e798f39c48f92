"""Measures of performance that are no mean of losses: RMSE and the area under the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.binnings.ties import first_of_ties
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.rows import all_weights, happened, two_classes
from calibstat.estimators.scores.means import BrierScore
from calibstat.estimators.tally import ratio
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class RMSE(Estimator):
    r"""Root mean squared distance of outcome and prediction: the root of `BrierScore`, one-sided for two classes.

    .. math:: \Big( \frac1n \sum_i (y_i - p_i)^2 \Big)^{1/2}

    (Brier 1950). Not zero under calibration: labels are not chances. It mixes calibration with discrimination. O(nK).

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.estimators.scores.performance import RMSE
    >>> round(RMSE()(cs.Sample([0, 1], [0.2, 0.7])), 6)
    0.254951
    """

    quantity: ClassVar[str] = "root mean squared distance of outcome and prediction"

    @property
    def estimand(self) -> RMSE:
        """The same, of a population."""
        return self

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Work out the squared distances."""
        return _RootEvaluator(BrierScore().prepare(predictions))


class _RootEvaluator(Evaluator):
    def __init__(self, inner: Evaluator) -> None:
        self.inner = inner

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return np.sqrt(self.inner(outcomes, weights))


@final
@dataclass(frozen=True)
class AUC(Estimator):
    r"""Area under the ROC curve: how well predictions rank events above others.

    .. math:: P(p_i > p_j \mid y_i = 1, y_j = 0) + \tfrac12 P(p_i = p_j \mid y_i = 1, y_j = 0)

    over independent rows i and j (so on known chances a row may stand for both). It says nothing about calibration: any
    increasing map of the predictions keeps it. NaN when only one class occurs. A test asks whether the predictions rank
    worse than they would if they were chances. O(n log n) once, then O(n). Two classes; any weights. (Hanley & McNeil
    1982.)

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.estimators.scores.performance import AUC
    >>> AUC()(cs.Sample([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]))
    0.875
    """

    quantity: ClassVar[str] = "area under the ROC curve (ties count one half)"

    @property
    def estimand(self) -> AUC:
        """The same, of a population."""
        return self

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort by the prediction, whatever is conditioned on."""
        two_classes(self, predictions)
        return _AreaEvaluator(predictions)

    def evidence(self, values: Floats) -> Floats:
        """Order from good to bad ranking."""
        return -values


class _AreaEvaluator(Evaluator):
    def __init__(self, predictions: Predictions) -> None:
        self.predictions = predictions
        self.order = np.argsort(predictions.event, kind="stable")
        self.starts = first_of_ties(predictions.event[self.order])

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        event, mass = happened(outcomes), all_weights(self.predictions, weights)
        if not len(self.starts):
            return np.full(event.shape[:-1], np.nan)
        events, others = (self._in_blocks(each) for each in (event * mass, (1 - event) * mass))
        below = np.cumsum(others, axis=-1) - others / 2
        pairs = np.asarray(events.sum(axis=-1) * others.sum(axis=-1))
        return ratio(np.asarray((events * below).sum(axis=-1)), pairs, empty=np.nan)

    def _in_blocks(self, values: Floats) -> Floats:
        return np.add.reduceat(np.take(values, self.order, axis=-1), self.starts, axis=-1)
