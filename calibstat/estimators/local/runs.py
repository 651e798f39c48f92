"""Numbers of cells along x: values, runs of equally many rows, or nearly so without a sort."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.predictions import Predictions

# From so many rows on, cells are unions of narrow intervals of equal width, which need no sort.
_MANY_ROWS = 2**15
_INTERVALS = 2**16
# Rows that are placed at once, so that they stay in the cache.
_ROWS = 2**15


def numbered(values: Floats, predictions: Predictions, n_cells: int | None) -> tuple[Array, int]:
    """Number the cells: different values, or runs of ranks where these are more than asked for; ties stay together."""
    if n_cells is not None and len(values) >= _MANY_ROWS:
        found = _from_intervals(values, n_cells)
        if found is not None:
            return found
    return runs(values, predictions.order, n_cells)


def runs(values: Floats, order: Ints, n_cells: int | None) -> tuple[Array, int]:
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
    return index, int(new.sum()) + 1


def _from_intervals(values: Floats, n_cells: int) -> tuple[Array, int] | None:
    """Join intervals of equal width to cells of about equally many rows; None where the intervals are too wide.

    They are where some interval holds as many rows as half a cell: a heavy tie, or a very uneven law. Then a sort
    tells values apart.
    """
    low, high = float(values.min()), float(values.max())
    if not high > low or n_cells > _INTERVALS // 8:
        return None
    index = np.empty(len(values), dtype=np.intp)
    for start in range(0, len(values), _ROWS):
        index[start : start + _ROWS] = (values[start : start + _ROWS] - low) * ((_INTERVALS - 1) / (high - low))
    counts = np.bincount(index, minlength=_INTERVALS)
    if counts.max() > len(values) / (2 * n_cells):
        return None
    before = np.cumsum(counts) - counts
    cell = before * n_cells // len(values)
    _, cell = np.unique(cell, return_inverse=True)
    for start in range(0, len(values), _ROWS):
        index[start : start + _ROWS] = cell[index[start : start + _ROWS]]
    return index, int(cell[-1]) + 1
