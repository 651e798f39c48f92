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
from calibstat.data.arrays import ROWS_IN_CACHE, Array, Floats, Ints, Variable, two_columns
from calibstat.data.sample import Predictions
from calibstat.draws.poisson_binomial import CellCounts
from calibstat.estimators.base import (
    NUMBERS_IN_A_SMALL_BATCH,
    Capabilities,
    Estimator,
    Evaluator,
    in_batches,
    is_chances,
)
from calibstat.estimators.tally import TallyPlan

# With fewer rows than this nothing is pooled.
ROWS = 20_000
# One cell for so many rows, but at least and at most so many cells, whose borders are found among so many rows of each.
_ROWS_IN_A_CELL, _FEWEST, _MOST, _LOOKED_AT = 400, 256, 1024, 64


def most_cells(n: int) -> int:
    """Return how many cells there are for n different predictions."""
    return min(max(n // _ROWS_IN_A_CELL, _FEWEST), _MOST)


def pool_rows(estimator: Estimator, predictions: Predictions) -> PooledEvaluator | None:
    """Prepare an estimator on pooled rows; None where rows are few, have weights, or no single column orders them."""
    if not estimator.takes_counts or len(predictions) < ROWS or predictions.weights is not None:
        return None
    if predictions.n_classes != 2 or len(predictions.keys) != 1 or predictions.counts is not None:
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
        rows = _RowsInOrder(predictions)
        self.order, self.exact, self.starts = predictions.order, rows.exact, rows.starts
        self.counts = np.diff(self.starts, append=len(predictions))
        cells = rows.pooled(predictions, self.counts)
        self.inner = estimator.prepare(cells)
        self.shape = self.inner.shape
        index = np.arange(len(self.counts))
        self.plan = TallyPlan(replace(cells, weights=None), Cells(len(index), index, "data"), ())
        self.plan.label_law = CellCounts(rows.chances, self.starts)

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return len(self.counts)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Evaluate replicates of the outcomes of all rows: (..., *shape)."""
        if weights is not None:
            raise ValueError("pooled rows have no weights of their own: evaluate all rows, with the estimator itself.")
        events = outcomes[..., 1] if is_chances(outcomes) else outcomes.astype(np.int8, copy=False)
        placed = np.take(events, self.order, axis=-1)
        return self._of_counts(np.add.reduceat(placed, self.starts, axis=-1, dtype=float)[..., None])

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


class _RowsInOrder:
    """The rows of two classes in the order of their column, and where the cells begin among them."""

    def __init__(self, predictions: Predictions) -> None:
        self.column, ties = predictions.increasing, first_of_ties(predictions.increasing)
        most = most_cells(len(self.column))
        self.event = self.column if predictions.keys == (1,) else predictions.event[predictions.order]
        self.chances, self.other = self.event, 1 - self.event
        if not _is_law(predictions):
            self.other = predictions.probabilities[predictions.order, 0]
            self.chances = predictions.chances[predictions.order, 1]
        self.exact = len(ties) <= most
        self.starts = ties if self.exact else _joined(self.column, ties, self.chances, most)

    def pooled(self, predictions: Predictions, counts: Ints) -> Predictions:
        """Return one row for each cell: the mean of its predictions, its number of rows as its weight."""
        weights, key, columns = counts.astype(float), predictions.keys[0], (self.column, self.other, self.event)
        column, *law = (np.add.reduceat(each, self.starts) / weights for each in columns)
        variables = {key: Variable(column)} if isinstance(key, str) else {}
        rows = np.column_stack(law)
        return replace(predictions, rows=rows, weights=weights, counts=weights, variables=variables, groups=None)


def _is_law(predictions: Predictions) -> bool:
    """Whether events have probabilities in [0, 1] and the other outcome one minus these, as they mostly have."""
    for start in range(0, len(predictions), ROWS_IN_CACHE):
        other, event = two_columns(predictions.rows[start : start + ROWS_IN_CACHE]).T
        if event.min() < 0 or event.max() > 1 or (other != 1 - event).any():
            return False
    return True


def _joined(column: Floats, ties: Ints, chances: Floats, n_cells: int) -> Ints:
    """Return where each cell begins: the first tie in each equal share of rows and variance, taken by halves.

    Shares are those of about 64 rows for each cell, evenly spaced. Ties that are larger than a cell count as one cell
    only, so that many remain for the other rows.
    """
    some = slice(None, None, max(1, len(chances) // (_LOOKED_AT * n_cells)))
    first = first_of_ties(column[some])
    variance = chances[some] * (1 - chances[some])
    variance += variance.mean() or 1.0
    large = np.add.reduceat(variance, first)
    share = np.minimum(large, large.sum() / n_cells).cumsum()
    reached = first[np.searchsorted(share, np.arange(n_cells) * (share[-1] / n_cells)).clip(0, len(first) - 1)]
    return ties[np.unique(np.searchsorted(ties, reached * (some.step), side="right") - 1)]
