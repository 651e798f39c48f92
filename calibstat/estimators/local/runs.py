"""Numbers of cells along x: values, runs of equally many rows, or nearly so without a sort."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.predictions import Predictions

# From so many rows on, cells are unions of narrow intervals of equal width, which need no sort.
_MANY_ROWS = 2**15
_INTERVALS = 2**16
# Rows that are placed at once, so that they stay in the cache.
_ROWS = 2**15


def numbered(values: Floats, predictions: Predictions, n_cells: int | None) -> tuple[Ints, Ints]:
    """Return the cell of each row, and the number of rows of each cell; ties stay together.

    Cells are different values, or runs of ranks where there are more of these than asked for.
    """
    if n_cells is not None and len(values) >= _MANY_ROWS:
        found = _from_intervals(values, n_cells)
        if found is not None:
            return found
    return runs(values, predictions.order, n_cells)


def runs(values: Floats, order: Ints, n_cells: int | None) -> tuple[Ints, Ints]:
    """Number the cells from the rows in increasing order."""
    ordered = values[order]
    new = np.concatenate([[False], ordered[1:] > ordered[:-1]])
    if n_cells is not None and new.sum() >= n_cells:
        cuts = -(-np.arange(1, n_cells) * len(values) // n_cells)
        later = np.searchsorted(ordered, ordered[cuts], side="left")
        new[:] = False
        new[later[later > 0]] = True
    index = np.empty(len(values), dtype=np.intp)
    index[order] = np.cumsum(new)
    return index, np.diff(np.flatnonzero(new), prepend=0, append=len(values))


def _from_intervals(values: Floats, n_cells: int) -> tuple[Ints, Ints] | None:
    """Join intervals of equal width to cells of about equally many rows; None where the intervals are too wide.

    They are where some interval holds as many rows as half a cell: a heavy tie, or a very uneven law. Then a sort
    tells values apart.
    """
    low, high = float(values.min()), float(values.max())
    if not high > low or n_cells > _INTERVALS // 8:
        return None
    index, scale = np.empty(len(values), dtype=np.intp), (_INTERVALS - 1) / (high - low)
    parts = [slice(start, start + _ROWS) for start in range(0, len(values), _ROWS)]
    for rows in parts:
        index[rows] = (values[rows] - low) * scale
    counts = np.bincount(index, minlength=_INTERVALS)
    if counts.max() > len(values) / (2 * n_cells):
        return None
    begun = (np.cumsum(counts) - counts) * n_cells // len(values)
    first = np.flatnonzero(np.diff(begun, prepend=-1))
    cell = np.repeat(np.arange(len(first)), np.diff(first, append=_INTERVALS))
    for rows in parts:
        index[rows] = cell.take(index[rows], mode="clip")  # nothing lies outside; it is the fastest mode
    return index, np.add.reduceat(counts, first)
