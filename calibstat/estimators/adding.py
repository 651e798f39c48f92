"""The inner loops of tallies: rows are counted and added up over cells, replicate by replicate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.binnings.base import Cells
from calibstat.compiled import has_twin

# Rows that are counted at once, so that they stay in the cache; replicates of few rows are taken together.
_ROWS, _FEW = 2**15, 2**10
# Rows that are added up one after the other; their sums are then added up. Equal numbers, a million of them in a row,
# would be off by so much that values which are ties are none.
_SUMMED = 2**12


@has_twin("calibstat.accel.cells:count_codes")
def count_codes(index: Ints, codes: Array, size: int, n_codes: int) -> Floats:
    """Count how often each code, 0..n_codes-1, occurs in each cell: codes (R, n) -> (R, L, n_codes)."""
    length = size * n_codes
    counts = np.zeros((len(codes), length))
    for rows in _some_rows(len(index), length):
        cell = index[rows] * n_codes
        for some in _some_replicates(len(codes), len(index), length):
            spots = _apart(cell + codes[some, rows], length)
            counts[some] += np.bincount(spots, minlength=counts[some].size).reshape(-1, length)
    return counts.reshape(len(codes), size, n_codes)


@has_twin("calibstat.accel.cells:weigh_codes")
def weigh_codes(index: Ints, codes: Array, weights: Array, size: int, n_codes: int) -> Floats:
    """Add up the weights of each code in each cell: codes and weights (R, n) -> (R, L, n_codes)."""
    length = size * n_codes
    sums = np.zeros((len(codes), length))
    for rows in _some_rows(len(index), length):
        cell = index[rows] * n_codes
        for some in _some_replicates(len(codes), len(index), length):
            spots = _apart(cell + codes[some, rows], length)
            _add_to(sums[some].reshape(-1), spots, weights[some, rows].ravel(), len(index))
    return sums.reshape(len(codes), size, n_codes)


@has_twin("calibstat.accel.cells:add_up")
def add_up(index: Ints, values: Array, size: int) -> Floats:
    """Add up values over cells: (R, n) -> (R, L)."""
    sums = np.zeros((len(values), size))
    for rows in _some_rows(len(index), size):
        for some in _some_replicates(len(values), len(index), size):
            part = values[some, rows].astype(float, copy=False)
            spots = _apart(np.broadcast_to(index[rows], part.shape), size)
            _add_to(sums[some].reshape(-1), spots, part.ravel(), len(index))
    return sums


@has_twin("calibstat.accel.both_sums:count_and_add_found")
def count_and_add_found(cells: Cells, codes: Array, values: Floats) -> tuple[Floats, Floats]:
    """Count and add up as `count_and_add` does; the twin finds cells on the way, if nobody asked for `index` yet."""
    return count_and_add(cells.index, codes, values, cells.size)


@has_twin("calibstat.accel.both_sums:count_and_add")
def count_and_add(index: Ints, codes: Array, values: Floats, size: int) -> tuple[Floats, Floats]:
    """Do both in one pass, for one replicate of two codes: codes and values (n,) -> (L, 2) and (L,)."""
    counts, sums = np.zeros(2 * size), np.zeros(size)
    for rows in _some_rows(len(index), 2 * size):
        cell = index[rows]
        spots = cell + cell
        spots += codes[rows]
        counts += np.bincount(spots, minlength=2 * size)
        _add_to(sums, cell, values[rows], len(index))
    return counts.reshape(size, 2), sums


def _add_to(sums: Floats, spots: Ints, values: Array, n: int) -> None:
    """Add values to the sums at these spots; of many rows n, some at a time in a table of theirs."""
    step = _SUMMED if n > _FEW and len(sums) < _SUMMED else max(len(spots), 1)
    for rows in _slices(len(spots), step):
        table = np.zeros(len(sums))
        np.add.at(table, spots[rows], values[rows])
        sums += table


def _some_rows(n: int, length: int) -> Iterator[slice]:
    """Yield some rows at a time, or all where tables are large."""
    yield from _slices(n, _ROWS if length <= _ROWS else max(n, 1))


def _some_replicates(n_replicates: int, n: int, length: int) -> Iterator[slice]:
    """Yield several replicates of few rows at a time, or one of many."""
    yield from _slices(n_replicates, max(1, _ROWS // max(n, length, 1)) if n <= _FEW else 1)


def _slices(n: int, step: int) -> Iterator[slice]:
    for start in range(0, n, step):
        yield slice(start, start + step)


def _apart(spots: Ints, length: int) -> Ints:
    """Give each replicate (r, m) its own stretch of a table: (r m,)."""
    if len(spots) > 1:
        spots = spots + length * np.arange(len(spots))[:, None]
    return spots.ravel()
