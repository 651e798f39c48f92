"""Compiled loops over the rows of one large sample of two classes, for its binned errors.

One loop counts the steps of a histogram, from which cells of equal mass are cut without a sort. Another finds the cell
of each row and adds the row to it in the same pass. Neighbouring rows are added to eight tables in turn, so that no
addition waits for the one before it. Rows are cut into pieces that depend only on their number, and pieces are added
up in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from calibstat._fast.pairs import add_pair, as_integer, fetch_ahead, in_threads, pieces, shares
from calibstat.binnings.base import Cells
from calibstat.binnings.intervals import ByArithmetic
from calibstat.binnings.selection import BITS_LEFT_OUT, LOWEST, N_STEPS, TINY, BySteps
from calibstat.data.arrays import Array, Bools, Floats, Ints

# Vector instructions find the cells of so many rows at once. After `SUMMED` rows the tables are added up and emptied,
# so that sums of many equal numbers stay accurate.
ROWS_AT_ONCE, SUMMED = 128, 2**15
TABLES = 8
# With more sums than this, or with fewer rows for each sum, the tables would cost more than the rows.
_MANY_SUMS, _ROWS_FOR_A_SUM, _FEW_SUMS = 2**15, 4, 64


def count_steps(values: Floats, low: float, scale: float) -> tuple[Array, Ints]:
    """Twin of the function of `calibstat.binnings.selection`."""
    values, step = np.ascontiguousarray(values), np.empty(len(values), dtype=np.uint16)

    def count(start: int, stop: int) -> Array:
        counts = np.zeros(N_STEPS, dtype=np.int32)
        _number_and_count(values[start:stop], low, scale, step[start:stop], counts)
        return counts

    return step, np.sum(in_threads(count, shares(len(values))), axis=0, dtype=np.intp)


def rows_among(step: Array, chosen: Bools) -> Ints:
    """Twin of the function of `calibstat.binnings.selection`."""

    def find(start: int, stop: int) -> Array:
        return np.asarray(_find(step[start:stop], chosen, start))

    return np.concatenate(in_threads(find, shares(len(step))))


@njit(nogil=True, cache=True)
def _number_and_count(values, low, scale, step, counts):  # type: ignore[no-untyped-def]
    for start in range(0, len(values), ROWS_AT_ONCE):
        fetch_ahead(values, start, start + ROWS_AT_ONCE)
        some, found = values[start : start + ROWS_AT_ONCE], step[start : start + ROWS_AT_ONCE]
        for i in range(len(some)):
            share = min(max((some[i] - low) * scale, 0.0), 1.0)
            found[i] = (as_integer(share + TINY) - as_integer((1 + TINY) - share) - LOWEST) >> BITS_LEFT_OUT
        for i in range(len(some)):
            counts[found[i]] += 1


@njit(nogil=True, cache=True)
def _find(step, chosen, first):  # type: ignore[no-untyped-def]
    rows, size = np.empty(len(step) + 1, dtype=np.intp), 0
    for i in range(len(step)):
        rows[size] = first + i  # the next row overwrites this one if it is not chosen
        size += chosen[step[i]]
    return rows[:size].copy()


# Counts and sums over cells in one pass, in which the rule that would write the index finds the cells.

# A row adds this to the number of events, so that one number holds both counts exactly.
_ROW_UNIT = 2.0**-26


def count_and_add_found(cells: Cells, codes: Array, values: Floats) -> Any:
    """Twin of the function of `calibstat.estimators.tally`."""
    finder, size = cells.placed, cells.size
    if 3 * size > min(_MANY_SUMS, max(_FEW_SUMS, len(codes) // _ROWS_FOR_A_SUM)):
        return NotImplemented
    if isinstance(finder, ByArithmetic):
        return _in_pieces(_add_by_arithmetic, (finder.values,), _equal_steps(finder), codes, values, size)
    if isinstance(finder, BySteps):
        numbered, (cell, edge) = finder.numbered, finder.numbered.cells_of_steps(finder.edges)
        if not np.isnan(edge[cell < 0]).any():  # no step has several edges
            rule = cell.astype(np.int32), edge  # so small that they stay in the cache
            return _in_pieces(_by_steps, (numbered.values, numbered.step), rule, codes, values, size)
    return NotImplemented


def _equal_steps(finder: ByArithmetic) -> tuple[Floats, float, float, int]:
    """Return the arguments of `_place`: inner edges, first edge, number of steps in one unit, and their bits."""
    edges, bits = finder.edges, finder.bits
    scale = float(((len(edges) - 1) << bits) / (edges[-1] - edges[0]))
    return np.ascontiguousarray(edges[1:-1]), float(edges[0]), scale, bits


def _in_pieces(
    kernel: Callable[..., None],
    columns: tuple[Array, ...],
    rule: tuple[Any, ...],
    codes: Array,
    values: Floats,
    size: int,
) -> tuple[Floats, Floats]:
    """Return counts (L, 2) and sums (L,)."""
    codes = codes.view(np.uint8) if codes.itemsize == 1 else codes.astype(np.intp, copy=False)
    columns = tuple(map(np.ascontiguousarray, (*columns, codes, values.astype(float, copy=False))))
    cuts = pieces(len(codes))
    sums = np.zeros((len(cuts), 3, size))

    def add(piece: int, start: int, stop: int) -> None:
        kernel(*[column[start:stop] for column in columns], *rule, sums[piece])

    in_threads(add, [(piece, *cut) for piece, cut in enumerate(cuts)])
    rows, events, totals = sums.sum(axis=0)
    return np.stack([rows - events, events], axis=-1), totals


@njit(nogil=True, cache=True)
def _add_by_arithmetic(column, codes, values, inner, low, scale, bits, sums):  # type: ignore[no-untyped-def]
    tables, cells = np.zeros(2 * TABLES * sums.shape[1]), np.empty(ROWS_AT_ONCE, dtype=np.uint32)
    for first in range(0, len(codes), SUMMED):
        for start in range(first, min(first + SUMMED, len(codes)), ROWS_AT_ONCE):
            fetch_ahead(column, start, start + ROWS_AT_ONCE)
            fetch_ahead(codes, start, start + ROWS_AT_ONCE)
            _place(column[start : start + ROWS_AT_ONCE], inner, low, scale, bits, cells)
            _add_both(cells, codes[start : start + ROWS_AT_ONCE], values[start : start + ROWS_AT_ONCE], tables)
        _close_both(tables, sums)


@njit(nogil=True, cache=True)
def _by_steps(column, step, codes, values, cell, edge, sums):  # type: ignore[no-untyped-def]
    tables, cells = np.zeros(2 * TABLES * sums.shape[1]), np.empty(ROWS_AT_ONCE, dtype=np.uint32)
    for first in range(0, len(codes), SUMMED):
        for start in range(first, min(first + SUMMED, len(codes)), ROWS_AT_ONCE):
            fetch_ahead(column, start, start + ROWS_AT_ONCE)
            fetch_ahead(step, start, start + ROWS_AT_ONCE)
            fetch_ahead(codes, start, start + ROWS_AT_ONCE)
            _look_up(column[start : start + ROWS_AT_ONCE], step[start : start + ROWS_AT_ONCE], cell, edge, cells)
            _add_both(cells, codes[start : start + ROWS_AT_ONCE], values[start : start + ROWS_AT_ONCE], tables)
        _close_both(tables, sums)


@njit(nogil=True, cache=True, inline="always")
def _place(values, inner, low, scale, bits, found):  # type: ignore[no-untyped-def]
    """Write the cells of equal width of the values of a block."""
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


@njit(nogil=True, cache=True, inline="always")
def _look_up(values, step, cell, edge, found):  # type: ignore[no-untyped-def]
    """Write the cell of each row: that of its step, or the next one for a value beyond the step's edge."""
    for i in range(len(values)):
        here = cell[step[i]]
        found[i] = here if here >= 0 else ~here + (values[i] > edge[step[i]])


@njit(nogil=True, cache=True, inline="always")
def _add_both(cells, codes, values, tables):  # type: ignore[no-untyped-def]
    """Add the rows of a block, whose cells these are, to the tables in turn."""
    apart, whole = len(tables) // TABLES, len(codes) - len(codes) % TABLES
    for first in range(0, whole, TABLES):
        for j in range(TABLES):  # the length is constant, so that the compiler unrolls the loop
            spot = np.uint64(j * apart) + np.uint64(2) * np.uint64(cells[first + j])
            add_pair(tables, spot, values[first + j], codes[first + j] + _ROW_UNIT)
    for i in range(whole, len(codes)):
        spot = np.uint64((i - whole) * apart) + np.uint64(2) * np.uint64(cells[i])
        add_pair(tables, spot, values[i], codes[i] + _ROW_UNIT)


@njit(nogil=True, cache=True)
def _close_both(tables, sums):  # type: ignore[no-untyped-def]
    """Add up rows, events and values of the tables, and empty the tables."""
    size = sums.shape[1]
    for cell in range(size):
        for j in range(2 * cell, 2 * TABLES * size, 2 * size):
            events = np.floor(tables[j + 1])
            sums[0, cell] += (tables[j + 1] - events) / _ROW_UNIT
            sums[1, cell] += events
            sums[2, cell] += tables[j]
            tables[j] = tables[j + 1] = 0
