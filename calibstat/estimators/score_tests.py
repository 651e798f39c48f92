"""Scores in units of their exact standard deviation under calibration: one-degree-of-freedom tests."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat.data.arrays import ROWS_IN_CACHE, Array, Floats
from calibstat.data.rounding import ROUNDING, SMALLEST_PROBABILITY
from calibstat.data.sample import Predictions
from calibstat.estimators.base import (
    Capabilities,
    Estimator,
    Evaluator,
    Expansion,
    Extreme,
    ResidualForm,
    all_weights,
    between,
    in_batches,
    is_chances,
    two_classes,
)
from calibstat.estimators.large_sample import normal_law
from calibstat.estimators.tally import ratio

Score: TypeAlias = Literal["brier", "log"]


class _ScoreTest(Estimator):
    """The excess of a mean score over its expectation under the predictions, in standard deviations."""

    test_statistic: ClassVar[bool] = True
    score: ClassVar[Score]
    unconditional: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"
    extreme: ClassVar[Extreme] = "either"
    takes_counts: ClassVar[bool] = True

    @property
    def no_interval(self) -> str:  # type: ignore[override]
        """Name what it is in units of the score."""
        return f"{self.estimand!r}, the same excess in units of the score, has one"

    @property
    def estimand(self) -> ScoreExcess:
        """The excess of the mean score, whose size decides how large this grows, with the same sign."""
        return ScoreExcess(self.score)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Score all labels of each row."""
        if self.two_outcomes:
            two_classes(self, predictions)
        return TableEvaluator(predictions, excess(predictions, self.score), standardize=True)


@final
@dataclass(frozen=True)
class Spiegelhalter(_ScoreTest):
    r"""Spiegelhalter's Z (1986): the Brier score minus its expectation under the predictions, for two classes.

    .. math:: Z = \frac{\sum_i (y_i - p_i)(1 - 2 p_i)}{\sqrt{\sum_i (1 - 2 p_i)^2 p_i (1 - p_i)}}

    Under calibration Z has mean 0 and variance 1 given the predictions, and is asymptotically normal. It is positive
    for over-confidence and negative for under-confidence. The test is two-sided (one-sided versions have no power
    against under-confidence). With weights, w multiplies the terms of the first sum and w^2 those of the second.

    Weaknesses: it sees one direction only, and is blind to errors symmetric about 1/2 (5 % power at level 5 % for a
    shift of the logits of symmetric predictions) and to oscillation. O(n). For the size see `ScoreExcess`.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cs.Spiegelhalter()(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 6)
    0.085555
    """

    quantity: ClassVar[str] = "Brier score minus what the predictions promise, in standard errors (signed)"
    two_outcomes: ClassVar[bool] = True
    score: ClassVar[Score] = "brier"


@final
@dataclass(frozen=True)
class BrierZ(_ScoreTest):
    r"""Spiegelhalter's Z (1986) for any number of classes: the Brier score minus its expectation under the predictions.

    .. math:: Z = \frac{2 \sum_i \big(\sum_k p_{ik}^2 - p_{i y_i}\big)}
              {\sqrt{4 \sum_i \big(\sum_k p_{ik}^3 - (\sum_k p_{ik}^2)^2\big)}}

    Equal to `Spiegelhalter` for two classes. Canonical: labels are those of all classes. Two-sided; positive for
    over-confidence. Under calibration mean 0 and variance 1 given the predictions. O(n K). Weaknesses: one direction
    only; blind to swaps of probability between classes. A test statistic, not a size.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]]
    >>> round(cs.BrierZ()(cs.Sample([0, 1, 0, 2, 0, 1], p)), 5)
    0.38062
    """

    quantity: ClassVar[str] = "Brier score minus what the predictions promise, in standard errors (signed)"
    score: ClassVar[Score] = "brier"


@final
@dataclass(frozen=True)
class LogLossZ(_ScoreTest):
    r"""The score test of temperature scaling: the log loss minus its expectation under the predictions.

    .. math:: Z = \frac{\sum_i \big(\sum_k p_{ik} \log p_{ik} - \log p_{i y_i}\big)}
              {\sqrt{\sum_i \mathrm{Var}_{p_i}(\log p_{iK})}}

    The derivative of the log-likelihood of :math:`q_k \propto p_k^{1/T}` in T at T = 1, so the efficient test of over-
    and under-confidence with one degree of freedom (Rao's score test; the temperature of Guo et al. 2017). Two-sided;
    positive for over-confidence, as `BrierZ`. Any number of classes. Under calibration mean 0 and variance 1 given the
    predictions; the normal p-value is slightly liberal (8 % at level 5 % for n = 250), redrawn labels give an exact
    one. Probabilities are clipped to [1e-9, 1 - 1e-9]. O(n K). Weaknesses: one direction only; dominated by rows that
    gave the observed label a very small probability. A test statistic, not a size.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]]
    >>> round(cs.LogLossZ()(cs.Sample([0, 1, 0, 2, 0, 1], p)), 5)
    0.21429
    """

    quantity: ClassVar[str] = "log loss minus what the predictions promise, in standard errors (signed)"
    score: ClassVar[Score] = "log"


@final
@dataclass(frozen=True)
class MeanCalibration(Estimator):
    r"""Mean outcome minus mean prediction: calibration in the large, in probability units, signed.

    .. math:: \frac{1}{n} \sum_i (y_i - p_i)

    Positive where the event is more frequent than predicted (Van Calster et al. 2016). For two classes. Unbiased: under
    calibration its mean is zero, and its standard deviation is known from the predictions alone, :math:`\sqrt{\sum v_i}
    / n` with v = p (1 - p); the test's result shows the standardised value, and the test is two-sided. With weights
    :math:`\sum w r / W` and :math:`\sqrt{\sum w^2 v} / W`. O(n). Blind to all errors that cancel in the mean. On the
    logit scale it is the ``intercept_in_the_large`` of `Cox`.

    Examples
    --------
    >>> import calibstat as cs
    >>> round(cs.MeanCalibration()(cs.Sample([0, 1, 1], [0.2, 0.5, 0.6])), 6)
    0.233333
    """

    quantity: ClassVar[str] = "mean outcome minus mean prediction (signed, probability units)"
    bounds = between(-1.0, 1.0)
    two_outcomes: ClassVar[bool] = True
    reads_buckets = True
    takes_counts: ClassVar[bool] = True
    unconditional: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"
    extreme: ClassVar[Extreme] = "either"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Keep the residual of each label."""
        two_classes(self, predictions)
        return TableEvaluator(predictions, np.array([[0.0], [1.0]]) - predictions.event, standardize=False)


@final
@dataclass(frozen=True)
class ScoreExcess(Estimator):
    r"""Mean score minus its expectation under the predictions, signed: positive for over-confidence.

    .. math:: \frac{1}{n} \sum_i \Big[S(p_i, y_i) - \sum_k p_{ik} S(p_i, k)\Big]

    with the Brier score of the whole vector (for two classes twice :math:`(y - p)^2`) or the logarithmic score
    :math:`-\log p_y`. It is what `Spiegelhalter` (1986), `BrierZ` and `LogLossZ` put into units of its standard
    deviation. Zero under calibration, but also wherever over- and under-confidence cancel. Any
    number of classes; in units of the score; O(n K).

    Parameters
    ----------
    score : {"brier", "log"}
        The score; it gives the units.

    Raises
    ------
    ValueError
        If `score` is neither.

    Examples
    --------
    >>> import calibstat as cs
    >>> round(cs.ScoreExcess("brier")(cs.Sample([0, 1, 1], [0.2, 0.5, 0.6])), 6)
    -0.133333
    """

    score: Score = "brier"
    quantity: ClassVar[str] = "mean score minus the mean that the predictions promise (signed)"
    takes_counts: ClassVar[bool] = True
    unconditional: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"
    extreme: ClassVar[Extreme] = "either"

    def value_range(self, n_classes: int) -> tuple[float, float]:
        r"""Return the extremes of one row, which has the probability a for its label and (1 - a) / (K - 1) for others.

        The excess is smallest at a = (K + 1) / (2 K) for the Brier score. For the logarithmic score it is
        -(1 - a) ln(a (K - 1) / (1 - a)), at its smallest -x where x exp(x) = (K - 1) / e.
        """
        if self.score == "brier":
            return -(n_classes - 1) / (2 * n_classes), 2.0
        return -float(special.lambertw((n_classes - 1) / math.e).real), -math.log(SMALLEST_PROBABILITY)

    def __post_init__(self) -> None:
        if self.score not in ("brier", "log"):
            raise ValueError(f"score is {self.score!r}; it must be 'brier' or 'log'.")

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Score each label of each row."""
        return TableEvaluator(predictions, excess(predictions, self.score), standardize=False)


def excess(predictions: Predictions, score: Score) -> Floats:
    """Return each label's score minus the expected score of its row under the predictions: (K, n)."""
    found = np.empty(predictions.chances.T.shape)
    for start in range(0, len(predictions), ROWS_IN_CACHE):
        rows = slice(start, start + ROWS_IN_CACHE)
        found[:, rows] = _gaps(np.ascontiguousarray(predictions.chances[rows].T), score)
    return found


def _gaps(rows: Floats, score: Score) -> Floats:
    # |onehot(k) - p|^2 = 1 - 2 p_k + sum p^2, of which only -2 p_k depends on the label
    scores = -2 * rows if score == "brier" else -np.log(np.clip(rows, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY))
    # Where all labels score alike, rounding must not look like a variance.
    if len(rows) == 2:
        step = scores[1] - scores[0]
        step[np.abs(step) <= ROUNDING * np.abs(scores, out=scores).max(axis=0)] = 0.0
        gaps = rows[::-1] * step
        gaps[np.abs(gaps) < np.finfo(float).tiny] = 0.0  # numbers with few digits, of which equal sums may differ
        np.negative(gaps[0], out=gaps[0])
        return gaps
    gaps = scores - np.einsum("kn,kn->n", rows, scores)
    gaps[np.abs(gaps) <= ROUNDING * np.abs(scores, out=scores).max(axis=0)] = 0.0
    return gaps


class TableEvaluator(Evaluator):
    """Weighted means of a table of numbers (K, n), one for each label and row, or these in standard deviations.

    Each row has mean zero under calibration; the standard deviation is the exact one, given the predictions.
    """

    def __init__(self, predictions: Predictions, table: Floats, *, standardize: bool) -> None:
        self.predictions = predictions
        self.table = table
        rows = predictions.chances.T
        if len(table) == 2:
            step = table[1] - table[0]
            self.variance = np.multiply(step, step, out=step)
            for each in rows if predictions.powers is None else [predictions.label_variance]:
                self.variance *= each
        else:
            means = (rows * table).sum(axis=0)
            self.variance = np.maximum((rows * table**2).sum(axis=0) - means**2, 0.0)
        self.standardize = standardize
        if predictions.counts is not None:
            self.variance = self.variance / predictions.counts
        own = predictions.weights
        self.total = float(len(predictions) if own is None else own.sum())
        self.deviation = float(np.sqrt(self.variance.sum() if own is None else (own**2 * self.variance).sum()))
        self.scale = self.deviation / self.total if self.deviation else None

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Evaluate replicates: (...,) means or z-scores."""
        return in_batches(self._batch, outcomes, weights, len(self.table) if is_chances(outcomes) else 2)

    @property
    def capabilities(self) -> Capabilities:
        """The two-sided normal law, with the exact standard deviation."""
        scale = 1.0 if self.standardize and self.deviation else self.scale
        return Capabilities(
            large_sample=lambda _: normal_law(scale or 0.0, two_sided=True),
            standard_deviation=None if self.standardize else lambda: self.scale,
            linear=self._linear,
            expansion=None if self.standardize else self._expanded,
        )

    def _linear(self) -> Floats:
        below = self.deviation if self.standardize and self.deviation else self.total
        own = self.predictions.weights
        return self.table / below if own is None else self.table * (own / below)

    def _expanded(self, outcomes: Array) -> Expansion:
        masses = all_weights(self.predictions, None)
        return Expansion.of_mean(self(outcomes), self._numbers(outcomes), masses, self.table.T)

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        numbers = self._numbers(outcomes)
        if weights is None and self.predictions.weights is None:
            masses, total, sums = np.ones(1), np.asarray(self.total), numbers.sum(axis=-1)
        else:
            masses = all_weights(self.predictions, weights)
            total, sums = masses.sum(axis=-1), (numbers * masses).sum(axis=-1)
        if not self.standardize:
            return ratio(sums, np.broadcast_to(total, sums.shape), empty=np.nan)
        # Without variance there is no excess either, unless an outcome of probability zero occurred.
        spread = self.deviation if weights is None else np.sqrt((masses**2 * self.variance).sum(axis=-1))
        return ratio(sums, np.where(spread > 0, spread, total), empty=np.nan)

    def _numbers(self, outcomes: Array) -> Floats:
        """Look up each row's number (R, n)."""
        if is_chances(outcomes):
            columns = (outcomes[..., k] * column for k, column in enumerate(self.table))
            return np.sum(list(columns), axis=0)
        if len(self.table) == 2:
            return np.where(outcomes == 1, self.table[1], self.table[0])
        return self.table[outcomes, np.arange(outcomes.shape[-1])]
