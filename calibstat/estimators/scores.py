"""Scores: mean losses of probabilities, proper ones among them, and the AUC."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted
from calibstat.binnings.base import first_of_ties
from calibstat.data.arrays import Array, Floats, increasing_order
from calibstat.data.parameters import Finite, Tail
from calibstat.data.sample import Predictions
from calibstat.estimators.base import (
    Bounds,
    Capabilities,
    Estimator,
    Evaluator,
    Expansion,
    Extreme,
    all_weights,
    between,
    happened,
    is_chances,
    two_classes,
)
from calibstat.estimators.tally import ratio


class Score(Estimator):
    """A mean loss (subclasses write `losses`); smaller is better. It mixes calibration and discrimination."""

    in_messages: ClassVar[str] = "a score, such as BrierScore()"
    is_error: ClassVar[bool] = False
    bounds = between(0.0)

    @abstractmethod
    def losses(self, rows: Floats) -> Floats:
        """Return the loss (n, K) of each row of probabilities (n, K), for each class that may occur."""

    def remark(self, chances: Floats) -> str:  # noqa: ARG002
        """Say whether the probabilities (n,) of what happened were changed, and how; results print it."""
        return ""

    def reads_counts(self, n_classes: int) -> bool:  # noqa: ARG002
        """Whether it does: a mean is that of all rows."""
        return True

    @final
    def prepare(self, predictions: Predictions) -> Evaluator:
        """Compute the loss of every row for every outcome."""
        return _MeanLoss(self, predictions)


@final
@dataclass(frozen=True)
class BrierScore(Score):
    r"""Brier score (Brier 1950): squared distance of outcome and prediction.

    .. math:: \frac1n \sum_i (y_i - p_i)^2 \;\text{(two classes)}, \qquad
              \frac1n \sum_i \sum_k (1[y_i = k] - p_{ik})^2 \;\text{(more)}

    One-sided for two classes: half of the sum over both columns, which is Brier's own convention. In squared
    probability units; 0 is best, at most 1 for two classes and 2 for more. Strictly proper. It mixes calibration with
    discrimination, and is not zero under calibration. O(nK).

    Examples
    --------
    >>> import calibstat as cs
    >>> round(cs.BrierScore()(cs.Sample([0, 1], [0.2, 0.7])), 6)
    0.065
    """

    quantity: ClassVar[str] = "Brier score (mean squared distance of outcome and prediction)"
    bounds = between(0.0, 1.0, 2.0)
    unconditional: ClassVar[bool] = True

    def losses(self, rows: Floats) -> Floats:
        """Return squared distances."""
        if rows.shape[1] == 2:
            return np.column_stack([rows[:, 1] ** 2, (1 - rows[:, 1]) ** 2])
        return (rows**2).sum(axis=1, keepdims=True) + 1 - 2 * rows


@final
@dataclass(frozen=True)
class LogScore(Score):
    r"""Logarithmic score, log loss, cross-entropy (Good 1952).

    .. math:: -\frac1n \sum_i \ln p_{i, y_i}

    in nats. Strictly proper, and unbounded: the smallest probabilities decide it. It mixes calibration with
    discrimination, and is not zero under calibration. O(nK).

    Probabilities below `smallest` count as `smallest`, so that an event that was called impossible costs 34.5 nats by
    default instead of infinity. Results name this choice, and a test also says how many rows it affects.

    Parameters
    ----------
    smallest : float
        Probabilities below it count as this much; with 0, an event that was called impossible gives infinity.

    Raises
    ------
    ValueError
        If `smallest` is negative, or 0.5 or more.

    Examples
    --------
    >>> import calibstat as cs
    >>> round(cs.LogScore()(cs.Sample([0, 1], [0.2, 0.7])), 6)
    0.289909
    """

    smallest: Tail = 1e-15
    unconditional: ClassVar[bool] = True

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words, and which probabilities it does not take as they are."""
        clipped = f"; probabilities below {self.smallest:g} count as {self.smallest:g}" if self.smallest else ""
        return f"mean negative logarithm of the probability of what happened (log loss{clipped})"

    @property
    def bounds(self) -> Bounds:  # type: ignore[override]
        """Zero and what `smallest` costs."""
        return between(0.0, -math.log(self.smallest) if self.smallest else math.inf)

    def losses(self, rows: Floats) -> Floats:
        """Return negative logarithms."""
        with np.errstate(divide="ignore"):
            return -np.log(np.clip(rows, self.smallest, 1.0))

    def remark(self, chances: Floats) -> str:
        """Count the rows whose outcome had a smaller probability than `smallest`."""
        clipped = int((chances < self.smallest).sum())
        if not clipped:
            return ""
        return (
            f"in {clipped} of {counted(len(chances), 'row')} what happened had a probability below {self.smallest:g}, "
            f"which counts as {self.smallest:g}: {-np.log(self.smallest):.4g} nats each, a choice of `smallest`"
        )


@final
@dataclass(frozen=True)
class SphericalScore(Score):
    r"""Spherical score, as a loss: the negated agreement of prediction and outcome.

    .. math:: -\frac1n \sum_i \frac{p_{i, y_i}}{\lVert p_i \rVert_2}

    over all columns, also for two classes; between -1 (best) and 0. Strictly proper (Gneiting & Raftery 2007). It mixes
    calibration with discrimination. O(nK).

    Examples
    --------
    >>> import calibstat as cs
    >>> round(cs.SphericalScore()(cs.Sample([0, 1], [0.2, 0.7])), 6)
    -0.944644
    """

    quantity: ClassVar[str] = "mean of minus the probability of what happened over the norm of the row (spherical)"
    bounds = between(-1.0, 0.0)
    unconditional: ClassVar[bool] = True

    def losses(self, rows: Floats) -> Floats:
        """Return minus the normalised probabilities."""
        return -rows / np.linalg.norm(rows, axis=1, keepdims=True)


@final
@dataclass(frozen=True)
class ZeroOneLoss(Score):
    r"""Share of wrong decisions.

    .. math:: \frac1n \sum_i 1\big[1[p_i \ge \theta] \ne y_i\big] \;\text{(two classes)}, \qquad
              \frac1n \sum_i 1[\arg\max_k p_{ik} \ne y_i] \;\text{(more)}

    The zero-one score of Gneiting & Raftery (2007). The first of equal maxima decides. Proper at a threshold of 1/2,
    but not strictly: it sees only on which side of the threshold a prediction lies. O(nK).

    Parameters
    ----------
    threshold : float
        With two classes, the smallest prediction that is a decision for the event.

    Examples
    --------
    >>> import calibstat as cs
    >>> cs.ZeroOneLoss()(cs.Sample([0, 1, 1, 1], [0.2, 0.7, 0.5, 0.4]))
    0.25
    """

    threshold: Finite = 0.5
    quantity: ClassVar[str] = "share of wrong decisions"
    bounds = between(0.0, 1.0)
    unconditional: ClassVar[bool] = True

    def losses(self, rows: Floats) -> Floats:
        """Return zero for the class decided for, and one for all others."""
        decided = (rows[:, 1] >= self.threshold).astype(np.intp) if rows.shape[1] == 2 else rows.argmax(axis=1)
        return (decided[:, None] != np.arange(rows.shape[1])).astype(float)


class _MeanLoss(Evaluator):
    def __init__(self, score: Score, predictions: Predictions) -> None:
        self.score = score
        self.predictions = predictions
        self.losses = score.losses(predictions.probabilities)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        if is_chances(outcomes):
            # A class of probability zero adds nothing to the mean, even if its loss is infinite.
            found = np.where(outcomes > 0, self.losses, 0.0)
            loss = (outcomes * found).sum(axis=-1)
        else:
            loss = _of_outcomes(self.losses, outcomes)
        mass = all_weights(self.predictions, weights)
        # So does a row without weight.
        sums = (np.where(mass > 0, loss, 0.0) * mass).sum(axis=-1)
        return ratio(np.asarray(sums), np.asarray(mass.sum(axis=-1)), empty=np.nan)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            linear=self._linear,
            remark=lambda outcomes: self.score.remark(_happened(self.predictions.probabilities, outcomes)),
            expansion=lambda outcomes: Expansion.of_mean(
                self(outcomes), _of_outcomes(self.losses, outcomes), all_weights(self.predictions, None), self.losses
            ),
        )

    def _linear(self) -> Floats:
        masses = all_weights(self.predictions, None)
        return self.losses.T * (masses / masses.sum())


def _happened(rows: Floats, outcomes: Array) -> Floats:
    """Return the probabilities of what happened, or may have, in each row (n, K)."""
    return rows[outcomes > 0] if is_chances(outcomes) else _of_outcomes(rows, outcomes)


def _of_outcomes(table: Floats, outcomes: Array) -> Floats:
    """Look up the number of each row's outcome (..., n) in a table (n, K)."""
    return table[np.arange(len(table)), outcomes]


@final
@dataclass(frozen=True)
class RMSE(Estimator):
    r"""Root mean squared distance of outcome and prediction: the root of `BrierScore`, one-sided for two classes.

    .. math:: \Big( \frac1n \sum_i (y_i - p_i)^2 \Big)^{1/2}

    (Brier 1950). Not zero under calibration: labels are not chances. It mixes calibration with discrimination. O(nK).

    Examples
    --------
    >>> import calibstat as cs
    >>> round(cs.RMSE()(cs.Sample([0, 1], [0.2, 0.7])), 6)
    0.254951
    """

    quantity: ClassVar[str] = "root mean squared distance of outcome and prediction"
    is_error: ClassVar[bool] = False
    bounds = between(0.0, 1.0, math.sqrt(2))
    unconditional: ClassVar[bool] = True

    def reads_counts(self, n_classes: int) -> bool:  # noqa: ARG002
        """Whether it does: a mean is that of all rows."""
        return True

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Compute the squared distances."""
        return _RootMeanLoss(BrierScore().prepare(predictions))


class _RootMeanLoss(Evaluator):
    def __init__(self, inner: Evaluator) -> None:
        self.inner = inner

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return np.sqrt(self.inner(outcomes, weights))

    @property
    def capabilities(self) -> Capabilities:
        squared = self.inner.capabilities.expansion
        return Capabilities(expansion=squared and (lambda outcomes: squared(outcomes).root()))


@final
@dataclass(frozen=True)
class AUC(Estimator):
    r"""Area under the ROC curve: how well predictions rank events above others.

    .. math:: P(p_i > p_j \mid y_i = 1, y_j = 0) + \tfrac12 P(p_i = p_j \mid y_i = 1, y_j = 0)

    over independent rows i and j (so on known chances a row may stand for both). It says nothing about calibration: any
    strictly increasing map of the predictions leaves it unchanged. NaN when only one class occurs. A test asks whether
    the predictions rank worse than they would if they were the true chances. O(n log n) once, then O(n). Two classes;
    any weights. (Hanley & McNeil 1982; its variance: DeLong, DeLong & Clarke-Pearson 1988.)

    Examples
    --------
    >>> import calibstat as cs
    >>> cs.AUC()(cs.Sample([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]))
    0.875
    """

    quantity: ClassVar[str] = "area under the ROC curve (AUC)"
    undefined: ClassVar[str] = "it needs outcomes of both classes, and all are of one"
    bounds = between(0.0, 1.0)
    two_outcomes: ClassVar[bool] = True
    unconditional: ClassVar[bool] = True
    extreme: ClassVar[Extreme] = "small"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort by the prediction, whatever is conditioned on."""
        two_classes(self, predictions)
        return _AreaEvaluator(predictions)


class _AreaEvaluator(Evaluator):
    def __init__(self, predictions: Predictions) -> None:
        self.predictions = predictions
        self.order = increasing_order(predictions.event)
        self.starts = first_of_ties(predictions.event[self.order])

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        event, mass = happened(outcomes), all_weights(self.predictions, weights)
        if not len(self.starts):
            return np.full(event.shape[:-1], np.nan)
        events, others = (self._in_blocks(each) for each in (event * mass, (1 - event) * mass))
        below = np.cumsum(others, axis=-1) - others / 2
        pairs = np.asarray(events.sum(axis=-1) * others.sum(axis=-1))
        return ratio(np.asarray((events * below).sum(axis=-1)), pairs, empty=np.nan)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(expansion=self._placements)

    def _placements(self, outcomes: Array) -> Expansion:
        """Expand by the share of rows of the other class that each row outranks (DeLong et al. 1988)."""
        event, mass, value = happened(outcomes), all_weights(self.predictions, None), float(self(outcomes))
        if np.isnan(value):
            return Expansion.known(value, np.full(len(event), np.nan), np.full((len(event), 1), np.nan))
        block = np.empty(len(event), dtype=np.intp)
        block[self.order] = np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(event)))
        events, others = (self._in_blocks(each) for each in (event * mass, (1 - event) * mass))
        below = (np.cumsum(others) - others / 2) / others.sum()
        above = (np.cumsum(events[::-1])[::-1] - events / 2) / events.sum()
        as_event, as_other = (below[block] - value) / events.sum(), (above[block] - value) / others.sum()
        placed = np.where(event == 1, as_event, as_other)
        return Expansion.known(value, mass * placed, (mass * (as_event - as_other))[:, None])

    def _in_blocks(self, values: Floats) -> Floats:
        return np.add.reduceat(np.take(values, self.order, axis=-1), self.starts, axis=-1)
