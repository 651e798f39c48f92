"""Observed over expected number of events."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.replicates import in_batches
from calibstat.estimators.rows import all_weights, happened, two_classes
from calibstat.estimators.tally import ratio
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class Ratio:
    """Observed over expected number of events, with an interval.

    Parameters
    ----------
    ratio : float
    confidence_interval : (float, float)
    """

    ratio: float
    confidence_interval: tuple[float, float]

    def __float__(self) -> float:
        return self.ratio


@final
@dataclass(frozen=True)
class ObservedToExpected(Estimator):
    r"""Observed over expected number of events, O/E, for two classes.

    .. math:: \frac{\sum_i y_i}{\sum_i p_i}, \qquad \text{interval}\quad \frac{O}{E}
              \exp\Big(\pm z \sqrt{\tfrac{1 - O/n}{O}}\Big)

    with the interval of Debray et al. (2017). Above 1 the event is more frequent than predicted. A test is two-sided
    in |O/E - 1|. Unbiased under calibration; with weights sums are weighted and the standard error of log O is
    :math:`\sqrt{\sum w^2\, \bar y (1 - \bar y)} / (W \bar y)`. O(n). Blind to all errors that cancel in the mean;
    without any event the interval is (0, inf).

    Parameters
    ----------
    confidence_level : float

    Examples
    --------
    >>> import calibstat as cs
    >>> found = cs.ObservedToExpected()(cs.Sample([0, 1, 1, 0], [0.2, 0.5, 0.6, 0.3]))
    >>> round(found.ratio, 4), [round(end, 4) for end in found.confidence_interval]
    (1.25, [0.4691, 3.3305])
    """

    confidence_level: float = 0.95
    quantity: ClassVar[str] = "observed over expected number of events"

    def __post_init__(self) -> None:
        if not 0 < self.confidence_level < 1:
            raise ValueError(f"confidence_level is {self.confidence_level!r}; it must lie between 0 and 1.")

    @property
    def estimand(self) -> ObservedToExpected:
        """The ratio of the population."""
        return self

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Keep the predictions."""
        two_classes(self, predictions)
        return _RatioEvaluator(self, predictions)

    def headline(self, values: Floats) -> Floats:
        """Return the ratio."""
        return values[..., 0]

    def evidence(self, values: Floats) -> Floats:
        """Either side of one is evidence."""
        return np.abs(values - 1)


class _RatioEvaluator(Evaluator):
    shape = (2,)

    def __init__(self, estimator: ObservedToExpected, predictions: Predictions) -> None:
        self.estimator = estimator
        self.predictions = predictions

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return in_batches(self._batch, outcomes, weights, 2)

    def present(self, value: Floats) -> Any:
        found, error = float(value[0]), float(value[1])
        if found == 0 or not np.isfinite(error):
            return Ratio(found, (0.0, np.inf) if found == 0 else (np.nan, np.nan))
        reach = float(np.exp(NormalDist().inv_cdf((1 + self.estimator.confidence_level) / 2) * error))
        return Ratio(found, (found / reach, found * reach))

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        event = happened(outcomes)
        masses = np.broadcast_to(all_weights(self.predictions, weights), event.shape)
        total = masses.sum(axis=-1)
        observed, expected = (masses * event).sum(axis=-1), (masses * self.predictions.event).sum(axis=-1)
        rate = ratio(observed, total)
        # nothing expected and nothing seen is as expected
        value = np.where(expected > 0, ratio(observed, expected), 1.0 + observed)
        error = np.sqrt(ratio((masses**2).sum(axis=-1) * np.maximum(rate * (1 - rate), 0.0), observed**2, empty=np.inf))
        return np.where((total > 0)[:, None], np.stack([value, error], axis=-1), np.nan)
