"""Whether sums of predictions in cells may be drawn from the normal law: where none is so skewed that it would be seen.

Given how many rows of a cell are events, the normal law moves their sum of predictions by at most the range of these
predictions, on average in the best pairing (Goldstein 2010). That is nothing beside the noise of the cell, unless a
cell joins predictions near 0 and near 1 whose outcomes are almost certain: a rare surprise then moves the sum by a
whole row, and a normal law would spread it over all draws.
"""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Array, Bools, Floats
from calibstat.binnings.base import Cells

# The largest range of predictions in a cell, in standard deviations of its sum of outcome - prediction.
_WIDEST = 0.75


def sums_are_near_normal(
    cells: Cells, rows: Floats, events: Floats, prediction: Floats, chance: Array, *, by_prediction: bool
) -> bool:
    """Say whether the predictions of each cell range over less than the noise of the cell.

    Parameters
    ----------
    cells : Cells
    rows, events : (L,) floats
        Of each cell: number of rows, and sum of chances.
    prediction : (n,) floats
    chance : (n,) floats or ints
        Of the event in each row; ints are labels, 0 or 1, and then rows of one label are a group of their own.
    by_prediction : bool
        Whether cells are cut by the prediction, so that their edges bound its range.
    """
    ends = np.array([0.0, 1.0]) if cells.edges is None or not by_prediction else np.clip(cells.edges, 0, 1)
    low, high = np.broadcast_to(ends[:-1], rows.shape), np.broadcast_to(ends[1:], rows.shape)
    least = events * (1 - high) ** 2 + (rows - events) * low**2
    doubtful = (high - low > _WIDEST * np.sqrt(np.maximum(least, 0))) & (rows > 0)
    return not doubtful.any() or _are_narrow(cells, doubtful, prediction, chance)


def _are_narrow(cells: Cells, doubtful: Bools, prediction: Floats, chance: Array) -> bool:
    """Look at the rows of doubtful cells themselves."""
    seen = np.flatnonzero(doubtful[cells.index])
    cell, p, c = cells.index[seen], prediction[seen], chance[seen]
    group = 2 * cell + (c if chance.dtype.kind in "biu" else 0)
    lowest, highest = np.full(2 * cells.size, np.inf), np.full(2 * cells.size, -np.inf)
    np.minimum.at(lowest, group, p)
    np.maximum.at(highest, group, p)
    noise = np.bincount(cell, c * (1 - p) ** 2 + (1 - c) * p**2, minlength=cells.size)
    width = np.maximum(highest - lowest, 0).reshape(-1, 2).max(axis=1)
    return bool((width <= _WIDEST * np.sqrt(noise)).all())
