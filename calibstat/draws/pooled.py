"""Rows of nearly equal predictions, pooled to fine cells, so that redrawn labels cost the same however many there are.

``pool_rows(estimator, predictions)`` returns a `PooledEvaluator`, or None where rows are few or cannot be pooled. It is
an evaluator of labels, as the one that the estimator prepares itself, and has a tally: `redraw_labels` draws the number
of events of each cell from its exact law, at once. Which estimators know how to read pooled rows they say themselves,
by `Estimator.takes_counts`: a family does if its members do.

What pooling changes. Values are those of cells, data and draws alike, so that a test is exact for the statistic of the
pooled rows. That of all rows differs by little: of L cells (256 up to 100 000 rows, 1024 from 400 000 on) none holds
more than 2 / L of the rows and of the variance of events, but for ties, which stay together. So predictions move by
less than 1 / L of their range on average, and a walk of residuals, which is read at the ends of cells only, misses of
each of its extremes about 0.58 / sqrt(L) standard deviations of the mean residual (Siegmund 1985). Where there are no
more different predictions than cells, a cell holds one, and nothing is changed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import final

import numpy as np

from calibstat.binnings.base import Cells, first_of_ties
from calibstat.data.arrays import Array, Floats, Ints, Variable
from calibstat.data.sample import Predictions
from calibstat.estimators.base import NUMBERS_IN_A_SMALL_BATCH, Capabilities, Estimator, Evaluator, in_batches
from calibstat.estimators.tally import TallyPlan

# With fewer rows than this nothing is pooled.
ROWS = 20_000
# One cell for so many rows, but at least and at most so many cells.
_ROWS_IN_A_CELL, _FEWEST, _MOST = 400, 256, 1024


def most_cells(n: int) -> int:
    """Return how many cells there are for n different predictions."""
    return min(max(n // _ROWS_IN_A_CELL, _FEWEST), _MOST)


def pool_rows(estimator: Estimator, predictions: Predictions) -> PooledEvaluator | None:
    """Prepare an estimator on pooled rows; None where rows are few, have weights, or no single column orders them."""
    if not estimator.takes_counts or len(predictions) < ROWS or predictions.weights is not None:
        return None
    if predictions.n_classes != 2 or len(predictions.keys) != 1:
        return None
    if predictions.column(predictions.keys[0]).categorical:
        return None
    return PooledEvaluator(estimator, predictions)


@final
class PooledEvaluator(Evaluator):
    """An estimator prepared on pooled rows; it takes the outcomes of all rows, or counts of events in `n_cells` cells.

    `exact` says that a cell holds equal predictions only, so that values are those of all rows.
    """

    def __init__(self, estimator: Estimator, predictions: Predictions) -> None:
        order = predictions.order
        column = predictions.column(predictions.keys[0]).values[order]
        ties = first_of_ties(column)
        most = most_cells(len(order))
        self.exact = len(ties) <= most
        event = column if predictions.keys == (1,) else predictions.event[order]
        starts = ties if self.exact else _joined(ties, np.clip(event, 0.0, 1.0), most)
        self.counts = np.diff(starts, append=len(order))
        index = np.empty(len(order), dtype=np.intp)
        index[order] = np.repeat(np.arange(len(starts)), self.counts)
        self.plan = TallyPlan(predictions, Cells(len(starts), index, "data"), ("complement",))
        self.inner = estimator.prepare(_pooled(predictions, self.plan, self.counts, column, starts))
        self.shape = self.inner.shape

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return len(self.counts)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Evaluate replicates of the outcomes of all rows: (..., *shape)."""
        if weights is not None:
            raise ValueError("pooled rows have no weights of their own: evaluate all rows, with the estimator itself.")
        return self._of_counts(self.plan(outcomes).outcome)

    @property
    def capabilities(self) -> Capabilities:
        """The tally; all else is asked of the evaluator of rows."""
        return Capabilities(tally=self.plan, from_tally=self._of_counts)

    def _of_counts(self, counts: Array) -> Floats:
        """Evaluate the numbers of events (..., L, 1)."""
        return in_batches(self._batch, counts[..., 0], None, width=2, numbers=NUMBERS_IN_A_SMALL_BATCH)

    def _batch(self, counts: Array, _: Array | None) -> Floats:
        chances = np.empty((*counts.shape, 2))
        np.divide(counts, self.counts, out=chances[..., 1])
        np.subtract(1, chances[..., 1], out=chances[..., 0])
        return self.inner(chances)


def _joined(ties: Ints, chances: Floats, n_cells: int) -> Ints:
    """Return where each cell begins: the first tie in each equal share of rows and variance, taken by halves.

    Ties that are larger than a cell count as one cell only, so that many remain for the other rows.
    """
    variance = chances * (1 - chances)
    variance += variance.mean() or 1.0
    large = np.add.reduceat(variance, ties)
    factor = np.minimum(1, large.sum() / n_cells / large)
    share = (variance * np.repeat(factor, np.diff(ties, append=len(chances)))).cumsum()
    reached = np.searchsorted(share, np.arange(n_cells) * (share[-1] / n_cells))
    return ties[np.unique(np.searchsorted(ties, reached).clip(0, len(ties) - 1))]


def _pooled(predictions: Predictions, plan: TallyPlan, counts: Ints, column: Floats, starts: Ints) -> Predictions:
    """Return one row for each cell: the mean of its predictions, its number of rows as its weight."""
    weights, key = counts.astype(float), predictions.keys[0]
    rows = np.column_stack([plan.complement / weights, plan.prediction[:, 0] / weights])
    variables = {key: Variable(np.add.reduceat(column, starts) / weights)} if isinstance(key, str) else {}
    return replace(predictions, rows=rows, weights=weights, counts=weights, variables=variables)
