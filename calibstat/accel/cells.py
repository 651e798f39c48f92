"""Compiled loops over the rows of cells: the cell of each row at equal widths, and sums of rows over cells.

Neighbouring rows are added to eight tables in turn, so that no addition waits for the one before it. Rows are cut into
pieces that depend on their number only, and pieces are added up in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from calibstat.accel.pieces import ROWS_IN_A_PIECE, in_threads, pieces, shares
from calibstat.arrays import Array, Floats, Ints

# Rows for which vector instructions find first where they belong, and rows after which tables are added up and emptied,
# so that sums of equal numbers stay right.
BLOCK, SUMMED = 128, 2**15
TABLES = 8
# With more sums than this, or with more than one for so many rows, the tables would cost more than the rows.
_MANY_SUMS, _ROWS_FOR_A_SUM, _FEW_SUMS = 2**15, 4, 64


def by_arithmetic(values: Floats, edges: Floats, bits: int) -> Ints:
    """Twin of the function of `calibstat.binnings.equal_width`."""
    values, index, rule = np.ascontiguousarray(values), np.empty(len(values), dtype=np.intp), equal_steps(edges, bits)

    def write(start: int, stop: int) -> None:
        _place(values[start:stop], *rule, index[start:stop])

    in_threads(write, shares(len(values)))
    return index


def equal_steps(edges: Floats, bits: int) -> tuple[Floats, float, float, int]:
    """Return what `place` needs: the inner edges, the first edge, how many steps are in one unit, and `bits`."""
    scale = float(((len(edges) - 1) << bits) / (edges[-1] - edges[0]))
    return np.ascontiguousarray(edges[1:-1]), float(edges[0]), scale, bits


def count_codes(index: Ints, codes: Array, size: int, n_codes: int) -> Any:
    """Twin of the function of `calibstat.estimators.adding`."""
    counts = _over_rows(_count, index, (_distinct(codes), n_codes), len(codes), size * n_codes)
    return counts if counts is NotImplemented else counts.reshape(len(codes), size, n_codes)


def weigh_codes(index: Ints, codes: Array, weights: Array, size: int, n_codes: int) -> Any:
    """Twin of the function of `calibstat.estimators.adding`."""
    rows = (_distinct(codes), _distinct(weights, float), n_codes)
    sums = _over_rows(_weigh, index, rows, len(codes), size * n_codes)
    return sums if sums is NotImplemented else sums.reshape(len(codes), size, n_codes)


def add_up(index: Ints, values: Array, size: int) -> Any:
    """Twin of the function of `calibstat.estimators.adding`."""
    return _over_rows(_add, index, (_distinct(values, float),), len(values), size)


def _distinct(rows: Array, dtype: type | None = None) -> Array:
    """Return the rows (R, n) side by side in memory, or the one row that all are; codes in one of two types."""
    rows = np.ascontiguousarray(rows[:1] if len(rows) > 1 and rows.strides[0] == 0 else rows)
    if dtype is None and rows.itemsize == 1:
        return rows.view(np.uint8)
    return rows.astype(dtype or np.intp, copy=False)


def too_many(length: int, n: int) -> bool:
    """Whether there are more sums than n rows are worth."""
    return length > min(_MANY_SUMS, max(_FEW_SUMS, n // _ROWS_FOR_A_SUM))


def _over_rows(kernel: Callable[..., bool], index: Ints, rows: tuple[Any, ...], n_replicates: int, length: int) -> Any:
    """Add up the pieces of all replicates: (R, length); NotImplemented for too many sums, or a row in no cell."""
    n, index = len(index), np.ascontiguousarray(index)
    if too_many(length, n):
        return NotImplemented
    cuts, blocks = pieces(n), pieces(n_replicates, max(1, ROWS_IN_A_PIECE // max(n, 1)))
    sums = np.zeros((len(cuts), n_replicates, length))

    def add(piece: int, start: int, stop: int, first: int, last: int) -> bool:
        return bool(kernel(index, *rows, start, stop, first, last, sums[piece]))

    tasks = [(piece, *cut, *block) for piece, cut in enumerate(cuts) for block in blocks]
    return sums.sum(axis=0) if all(in_threads(add, tasks)) else NotImplemented


@njit(nogil=True, cache=True)
def _place(values, inner, low, scale, bits, index):  # type: ignore[no-untyped-def]
    for start in range(0, len(values), BLOCK):
        place(values[start : start + BLOCK], inner, low, scale, bits, index[start : start + BLOCK])


@njit(nogil=True, cache=True, inline="always")
def place(values, inner, low, scale, bits, found):  # type: ignore[no-untyped-def]
    """Write the cells of equal width of at most so many values as make a block."""
    last, mask, shift = np.int32(((len(inner) + 1) << bits) - 1), np.int32((1 << bits) - 1), np.int32(bits)
    near = np.int32(0)
    for i in range(len(values)):
        step = np.int32((values[i] - low) * scale)
        near |= np.int32(((step + np.int32(1)) & mask) <= 1)
        found[i] = min(max(step, np.int32(0)), last) >> shift
    if near != 0:
        for i in range(len(values)):
            step = np.int32((values[i] - low) * scale)
            if ((step + 1) & mask) <= 1 and step > 1:
                found[i] = np.searchsorted(inner, values[i], side="right")


@njit(nogil=True, cache=True)
def _spots(index, length, spots):  # type: ignore[no-untyped-def]
    """Write where rows are added to, by vector instructions; return whether all have such a cell."""
    outside = np.uint32(0)
    for i in range(len(index)):
        cell = np.uint32(index[i])
        spots[i] = cell * np.uint32(TABLES) + np.uint32(i & (TABLES - 1))
        outside |= np.uint32(cell >= np.uint32(length))
    return outside == 0


@njit(nogil=True, cache=True)
def _spots_of_codes(index, codes, n_codes, length, spots):  # type: ignore[no-untyped-def]
    outside = np.uint32(0)
    for i in range(len(index)):
        cell = np.uint32(index[i]) * np.uint32(n_codes) + np.uint32(codes[i])
        spots[i] = cell * np.uint32(TABLES) + np.uint32(i & (TABLES - 1))
        outside |= np.uint32(cell >= np.uint32(length))
    return outside == 0


@njit(nogil=True, cache=True)
def _close(tables, sums):  # type: ignore[no-untyped-def]
    """Add up the tables and empty them."""
    for cell in range(len(sums)):
        for j in range(TABLES * cell, TABLES * (cell + 1)):
            sums[cell] += tables[j]
            tables[j] = 0


@njit(nogil=True, cache=True)
def _count(index, codes, n_codes, start, stop, first, last, sums):  # type: ignore[no-untyped-def]
    length, spots = sums.shape[1], np.empty(BLOCK, dtype=np.uint32)
    counts = np.zeros(TABLES * length, dtype=np.int64)
    for replicate in range(first, last):
        code = codes[replicate % codes.shape[0]]
        for begin in range(start, stop, BLOCK):
            end = min(begin + BLOCK, stop)
            if not _spots_of_codes(index[begin:end], code[begin:end], n_codes, length, spots):
                return False
            for i in range(end - begin):
                counts[np.uint64(spots[i])] += 1
        _close(counts, sums[replicate])
    return True


@njit(nogil=True, cache=True)
def _weigh(index, codes, weights, n_codes, start, stop, first, last, sums):  # type: ignore[no-untyped-def]
    length, spots = sums.shape[1], np.empty(BLOCK, dtype=np.uint32)
    masses = np.zeros(TABLES * length)
    for replicate in range(first, last):
        code, weight = codes[replicate % codes.shape[0]], weights[replicate % weights.shape[0]]
        for begin in range(start, stop, BLOCK):
            end = min(begin + BLOCK, stop)
            if not _spots_of_codes(index[begin:end], code[begin:end], n_codes, length, spots):
                return False
            some = weight[begin:end]
            for i in range(len(some)):
                masses[np.uint64(spots[i])] += some[i]
            if (end - start) % SUMMED == 0:
                _close(masses, sums[replicate])
        _close(masses, sums[replicate])
    return True


@njit(nogil=True, cache=True)
def _add(index, values, start, stop, first, last, sums):  # type: ignore[no-untyped-def]
    length, spots = sums.shape[1], np.empty(BLOCK, dtype=np.uint32)
    totals = np.zeros(TABLES * length)
    for replicate in range(first, last):
        value = values[replicate % values.shape[0]]
        for begin in range(start, stop, BLOCK):
            end = min(begin + BLOCK, stop)
            if not _spots(index[begin:end], length, spots):
                return False
            some = value[begin:end]
            for i in range(len(some)):
                totals[np.uint64(spots[i])] += some[i]
            if (end - start) % SUMMED == 0:
                _close(totals, sums[replicate])
        _close(totals, sums[replicate])
    return True
