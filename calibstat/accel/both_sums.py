"""Compiled loops that count rows and add up values over cells in one pass, of one replicate of two classes.

Cells are read from an index, or found on the way by the rule that would have written it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from calibstat.accel.cells import BLOCK, SUMMED, TABLES, equal_steps, place, too_many
from calibstat.accel.instructions import add_pair, fetch_ahead
from calibstat.accel.pieces import in_threads, pieces
from calibstat.accel.steps import look_up, of_one_edge
from calibstat.arrays import Array, Floats, Ints
from calibstat.binnings.base import Cells
from calibstat.binnings.equal_width import ByArithmetic
from calibstat.binnings.selection import BySteps

# What a row adds to the number of events: a single number, which is exact, then holds both counts.
_ROW = 2.0**-26


def count_and_add(index: Ints, codes: Array, values: Floats, size: int) -> Any:
    """Twin of the function of `calibstat.estimators.adding`."""
    return _in_pieces(_by_index, (index,), (), codes, values, size)


def count_and_add_found(cells: Cells, codes: Array, values: Floats) -> Any:
    """Twin of the function of `calibstat.estimators.adding`."""
    finder, size = cells.finder, cells.size
    if isinstance(finder, ByArithmetic):
        return _in_pieces(_by_arithmetic, (finder.values,), equal_steps(finder.edges, finder.bits), codes, values, size)
    if isinstance(finder, BySteps):
        numbered, (cell, edge) = finder.numbered, finder.numbered.cells_of_steps(finder.edges)
        if of_one_edge(cell, edge):
            rule = cell.astype(np.int32), edge  # so small that they stay in the cache
            return _in_pieces(_by_steps, (numbered.values, numbered.step), rule, codes, values, size)
    return NotImplemented


def _in_pieces(
    kernel: Callable[..., bool],
    columns: tuple[Array, ...],
    rule: tuple[Any, ...],
    codes: Array,
    values: Floats,
    size: int,
) -> Any:
    """Return counts (L, 2) and sums (L,); NotImplemented for too many, or a row in no cell."""
    if too_many(3 * size, len(codes)):
        return NotImplemented
    codes = codes.view(np.uint8) if codes.itemsize == 1 else codes.astype(np.intp, copy=False)
    columns = tuple(map(np.ascontiguousarray, (*columns, codes, values.astype(float, copy=False))))
    cuts = pieces(len(codes))
    sums = np.zeros((len(cuts), 3, size))

    def add(piece: int, start: int, stop: int) -> bool:
        return bool(kernel(*[column[start:stop] for column in columns], *rule, sums[piece]))

    if not all(in_threads(add, [(piece, *cut) for piece, cut in enumerate(cuts)])):
        return NotImplemented
    rows, events, totals = sums.sum(axis=0)
    return np.stack([rows - events, events], axis=-1), totals


@njit(nogil=True, cache=True)
def _by_index(index, codes, values, sums):  # type: ignore[no-untyped-def]
    tables, cells = np.zeros(2 * TABLES * sums.shape[1]), np.empty(BLOCK, dtype=np.uint32)
    for first in range(0, len(codes), SUMMED):
        for start in range(first, min(first + SUMMED, len(codes)), BLOCK):
            fetch_ahead(index, start, start + BLOCK)
            fetch_ahead(codes, start, start + BLOCK)
            fetch_ahead(values, start, start + BLOCK)
            some, outside = index[start : start + BLOCK], np.uint32(0)
            for i in range(len(some)):
                cells[i] = np.uint32(some[i])
                outside |= np.uint32(cells[i] >= np.uint32(sums.shape[1]))
            if outside != 0:
                return False
            _add(cells, codes[start : start + BLOCK], values[start : start + BLOCK], tables)
        _close(tables, sums)
    return True


@njit(nogil=True, cache=True)
def _by_arithmetic(column, codes, values, inner, low, scale, bits, sums):  # type: ignore[no-untyped-def]
    tables, cells = np.zeros(2 * TABLES * sums.shape[1]), np.empty(BLOCK, dtype=np.uint32)
    for first in range(0, len(codes), SUMMED):
        for start in range(first, min(first + SUMMED, len(codes)), BLOCK):
            fetch_ahead(column, start, start + BLOCK)
            fetch_ahead(codes, start, start + BLOCK)
            place(column[start : start + BLOCK], inner, low, scale, bits, cells)
            _add(cells, codes[start : start + BLOCK], values[start : start + BLOCK], tables)
        _close(tables, sums)
    return True


@njit(nogil=True, cache=True)
def _by_steps(column, step, codes, values, cell, edge, sums):  # type: ignore[no-untyped-def]
    tables, cells = np.zeros(2 * TABLES * sums.shape[1]), np.empty(BLOCK, dtype=np.uint32)
    for first in range(0, len(codes), SUMMED):
        for start in range(first, min(first + SUMMED, len(codes)), BLOCK):
            fetch_ahead(column, start, start + BLOCK)
            fetch_ahead(step, start, start + BLOCK)
            fetch_ahead(codes, start, start + BLOCK)
            look_up(column[start : start + BLOCK], step[start : start + BLOCK], cell, edge, cells)
            _add(cells, codes[start : start + BLOCK], values[start : start + BLOCK], tables)
        _close(tables, sums)
    return True


@njit(nogil=True, cache=True, inline="always")
def _add(cells, codes, values, tables):  # type: ignore[no-untyped-def]
    """Add a block of rows, in these cells, to the tables in turn."""
    apart, whole = len(tables) // TABLES, len(codes) - len(codes) % TABLES
    for first in range(0, whole, TABLES):
        for j in range(TABLES):  # of a known length, so that the compiler writes it out
            spot = np.uint64(j * apart) + np.uint64(2) * np.uint64(cells[first + j])
            add_pair(tables, spot, values[first + j], codes[first + j] + _ROW)
    for i in range(whole, len(codes)):
        spot = np.uint64((i - whole) * apart) + np.uint64(2) * np.uint64(cells[i])
        add_pair(tables, spot, values[i], codes[i] + _ROW)


@njit(nogil=True, cache=True)
def _close(tables, sums):  # type: ignore[no-untyped-def]
    """Add up the tables and empty them: rows, events, and values."""
    size = sums.shape[1]
    for cell in range(size):
        for j in range(2 * cell, 2 * TABLES * size, 2 * size):
            events = np.floor(tables[j + 1])
            sums[0, cell] += (tables[j + 1] - events) / _ROW
            sums[1, cell] += events
            sums[2, cell] += tables[j]
            tables[j] = tables[j + 1] = 0
