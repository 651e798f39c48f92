"""Rows of a cell with nearly equal chances, pooled: what a Taylor expansion needs of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.binnings.base import Cells

# Rows of a cell that lie in the same of 2048 steps of [0, 1] share an expansion about their mean; groups of up to 8
# rows are not pooled. The expansion is in distance times |exp(i angle) - 1|, so steps are wider where that is small.
_STEPS = 2048
_POOL_ABOVE = 8
# Rows that are added up at once, so that they stay in the cache.
_ROWS = 2**14


@final
@dataclass(frozen=True, eq=False)
class Points:
    """Groups of rows, and single rows, of one cell.

    Parameters
    ----------
    centre, count : (m,) floats
        The mean chance of the event, and the number of rows.
    moments : (m, 3) floats
        Sums of second, third and fourth powers of the distances to the centre.
    """

    centre: Floats
    count: Floats
    moments: Floats


def pool(chances: Floats, cells: Cells, largest: Array) -> list[Points]:
    """Pool nearly equal rows of each cell.

    Parameters
    ----------
    chances : (n,) floats in [0, 1]
        Chance of the event in each row.
    cells : Cells
    largest : (L,) floats in (0, 2]
        The largest abs(exp(i angle) - 1) that the expansion is for.
    """
    steps = np.ceil(_STEPS * largest / 2).astype(np.intp)
    keys, group, sums = _power_sums(chances, cells.index, steps)
    kept = sums[0] > _POOL_ABOVE
    alone = np.flatnonzero(~kept[group])
    keys, sums = keys[kept], sums[:, kept]
    cell = np.repeat(np.arange(cells.size), steps + 1)[keys]
    mean, moments = _central(sums)
    width = 1 / steps[cell]
    centre = (keys - _first(steps)[cell] + 0.5 + mean) * width
    order = np.argsort(np.concatenate([cell, cells.index[alone]]), kind="stable")
    columns = (
        np.concatenate([centre, chances[alone]]),
        np.concatenate([sums[0], np.ones(len(alone))]),
        np.concatenate([moments * width[:, None] ** np.arange(2, 5), np.zeros((len(alone), 3))]),
    )
    n_points = np.bincount(cell, minlength=cells.size) + np.bincount(cells.index[alone], minlength=cells.size)
    ends = np.cumsum(n_points)
    return [
        Points(*(column[order[end - n : end]] for column in columns)) for n, end in zip(n_points, ends, strict=True)
    ]


def _power_sums(chances: Floats, index: Ints, steps: Ints) -> tuple[Ints, Ints, Floats]:
    """Return keys of groups, the group of each row, and sums of powers 0 to 4 of distances to the middle of a step.

    Distances are counted in steps. A chance of one has a step of its own.
    """
    n_keys = int((steps + 1).sum())
    if n_keys > 2**17 + 2 * len(chances):  # most groups would be empty
        key, distance = _located(chances, index, steps)
        keys, group = np.unique(key, return_inverse=True)
        return keys, group, _added(group, distance, len(keys))
    group, sums = np.empty(len(chances), dtype=np.intp), np.zeros((5, n_keys))
    n_rows = max(_ROWS, n_keys)
    for start in range(0, len(chances), n_rows):
        rows = slice(start, start + n_rows)
        group[rows], distance = _located(chances[rows], index[rows], steps)
        sums += _added(group[rows], distance, n_keys)
    return np.arange(n_keys), group, sums


def _first(steps: Ints) -> Ints:
    """Return the first key of each cell."""
    return np.cumsum(steps + 1) - (steps + 1)


def _located(chances: Floats, index: Ints, steps: Ints) -> tuple[Ints, Floats]:
    """Return the key of the step of each row, and its distance to the middle of the step."""
    distance = chances * steps.take(index)
    key = distance.astype(np.intp)
    distance -= key
    distance -= 0.5
    key += _first(steps).take(index)
    return key, distance


def _added(group: Ints, distance: Floats, n_groups: int) -> Floats:
    """Add up powers 0 to 4 of the distances in each group: (5, n_groups)."""
    power = distance
    sums = [np.bincount(group, minlength=n_groups), np.bincount(group, power, n_groups)]
    for _ in range(3):
        power = power * distance
        sums.append(np.bincount(group, power, n_groups))
    return np.array(sums, dtype=float)


def _central(sums: Floats) -> tuple[Floats, Floats]:
    """Turn sums of powers 0 to 4 into the mean (m,), and sums of powers 2 to 4 of distances to it (m, 3)."""
    count, first, second, third, fourth = sums
    mean = first / count
    moments = [
        second - mean * first,
        third - mean * (3 * second - 2 * mean * first),
        fourth - mean * (4 * third - mean * (6 * second - 3 * mean * first)),
    ]
    return mean, np.stack(moments, axis=1)
