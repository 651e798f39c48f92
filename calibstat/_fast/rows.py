"""Compiled loops over the rows of cells: the cell of each row at equal widths, and sums of rows over cells.

Neighbouring rows are added to eight tables in turn, so that no addition waits for the one before it. Rows are cut into
pieces that depend on their number only, and pieces are added up in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numba import njit

from calibstat._fast.pairs import ROWS_IN_A_PIECE, add_pair, as_integer, fetch_ahead, in_threads, pieces, shares
from calibstat.binnings.base import Cells, closed_right
from calibstat.binnings.intervals import ByArithmetic
from calibstat.binnings.selection import BITS_LEFT_OUT, LOWEST, N_STEPS, TINY, BySteps
from calibstat.data.arrays import Array, Bools, Floats, Ints

# Rows for which vector instructions find first where they belong, and rows after which tables are added up and emptied,
# so that sums of equal numbers stay right.
BLOCK, SUMMED = 128, 2**15
TABLES = 8
# With more sums than this, or with more than one for so many rows, the tables would cost more than the rows.
_MANY_SUMS, _ROWS_FOR_A_SUM, _FEW_SUMS = 2**15, 4, 64


def by_arithmetic(values: Floats, edges: Floats, bits: int) -> Ints:
    """Twin of the function of `calibstat.binnings.intervals`."""
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
    """Twin of the function of `calibstat.estimators.tally`."""
    counts = _over_rows(_count_cells, index, (_distinct(codes), n_codes), len(codes), size * n_codes)
    return counts if counts is NotImplemented else counts.reshape(len(codes), size, n_codes)


def weigh_codes(index: Ints, codes: Array, weights: Array, size: int, n_codes: int) -> Any:
    """Twin of the function of `calibstat.estimators.tally`."""
    rows = (_distinct(codes), _distinct(weights, float), n_codes)
    sums = _over_rows(_weigh, index, rows, len(codes), size * n_codes)
    return sums if sums is NotImplemented else sums.reshape(len(codes), size, n_codes)


def add_up(index: Ints, values: Array, size: int) -> Any:
    """Twin of the function of `calibstat.estimators.tally`."""
    return _over_rows(_add_cells, index, (_distinct(values, float),), len(values), size)


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
def _count_cells(index, codes, n_codes, start, stop, first, last, sums):  # type: ignore[no-untyped-def]
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
def _add_cells(index, values, start, stop, first, last, sums):  # type: ignore[no-untyped-def]
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


# Compiled loops over the steps of a histogram: numbering values, finding rows of chosen steps, and cutting cells.

# Rows that are numbered at once, so that this is done by vector instructions.
_BLOCK = 128


def count_steps(values: Floats, low: float, scale: float) -> tuple[Array, Ints]:
    """Twin of the function of `calibstat.binnings.selection`."""
    values, step = np.ascontiguousarray(values), np.empty(len(values), dtype=np.uint16)

    def count(start: int, stop: int) -> Array:
        counts = np.zeros(N_STEPS, dtype=np.int32)
        _count_steps(values[start:stop], low, scale, step[start:stop], counts)
        return counts

    return step, np.sum(in_threads(count, shares(len(values))), axis=0, dtype=np.intp)


def rows_among(step: Array, chosen: Bools) -> Ints:
    """Twin of the function of `calibstat.binnings.selection`."""

    def find(start: int, stop: int) -> Array:
        return np.asarray(_find(step[start:stop], chosen, start))

    return np.concatenate(in_threads(find, shares(len(step))))


def cut_steps(
    values: Floats,
    step: Array,
    cell: Ints,
    edge: Floats,
    edges: Floats,
    near: Ints | None = None,  # noqa: ARG001
) -> Ints:
    """Twin of the function of `calibstat.binnings.selection`; compares all rows on the way."""
    index = np.empty(len(values), dtype=np.intp)

    def cut(start: int, stop: int) -> None:
        look_up(values[start:stop], step[start:stop], cell, edge, index[start:stop])

    in_threads(cut, shares(len(values)))
    if not of_one_edge(cell, edge):
        several = rows_among(step, (cell < 0) & np.isnan(edge))
        index[several] = closed_right(values[several], edges)
    return index


def of_one_edge(cell: Ints, edge: Floats) -> bool:
    """Whether no step has several edges, so that `look_up` suffices."""
    return not np.isnan(edge[cell < 0]).any()


@njit(nogil=True, cache=True)
def _count_steps(values, low, scale, step, counts):  # type: ignore[no-untyped-def]
    for start in range(0, len(values), _BLOCK):
        fetch_ahead(values, start, start + _BLOCK)
        some, found = values[start : start + _BLOCK], step[start : start + _BLOCK]
        for i in range(len(some)):
            share = min(max((some[i] - low) * scale, 0.0), 1.0)
            found[i] = (as_integer(share + TINY) - as_integer((1 + TINY) - share) - LOWEST) >> BITS_LEFT_OUT
        for i in range(len(some)):
            counts[found[i]] += 1


@njit(nogil=True, cache=True)
def _find(step, chosen, first):  # type: ignore[no-untyped-def]
    rows, size = np.empty(len(step) + 1, dtype=np.intp), 0
    for i in range(len(step)):
        rows[size] = first + i  # the next row writes over it, if this one is not chosen
        size += chosen[step[i]]
    return rows[:size].copy()


@njit(nogil=True, cache=True, inline="always")
def look_up(values, step, cell, edge, found):  # type: ignore[no-untyped-def]
    """Write the cell of each row: that of its step, or the next one for a value beyond the edge in the step."""
    for i in range(len(values)):
        here = cell[step[i]]
        found[i] = here if here >= 0 else ~here + (values[i] > edge[step[i]])


# Compiled loops that count rows and add up values over cells in one pass, of one replicate of two classes.
#
# Cells are read from an index, or found on the way by the rule that would have written it.

# What a row adds to the number of events: a single number, which is exact, then holds both counts.
_ROW = 2.0**-26


def count_and_add(index: Ints, codes: Array, values: Floats, size: int) -> Any:
    """Twin of the function of `calibstat.estimators.tally`."""
    return _in_pieces(_by_index, (index,), (), codes, values, size)


def count_and_add_found(cells: Cells, codes: Array, values: Floats) -> Any:
    """Twin of the function of `calibstat.estimators.tally`."""
    finder, size = cells.placed, cells.size
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
            _add_both(cells, codes[start : start + BLOCK], values[start : start + BLOCK], tables)
        _close_both(tables, sums)
    return True


@njit(nogil=True, cache=True)
def _by_arithmetic(column, codes, values, inner, low, scale, bits, sums):  # type: ignore[no-untyped-def]
    tables, cells = np.zeros(2 * TABLES * sums.shape[1]), np.empty(BLOCK, dtype=np.uint32)
    for first in range(0, len(codes), SUMMED):
        for start in range(first, min(first + SUMMED, len(codes)), BLOCK):
            fetch_ahead(column, start, start + BLOCK)
            fetch_ahead(codes, start, start + BLOCK)
            place(column[start : start + BLOCK], inner, low, scale, bits, cells)
            _add_both(cells, codes[start : start + BLOCK], values[start : start + BLOCK], tables)
        _close_both(tables, sums)
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
            _add_both(cells, codes[start : start + BLOCK], values[start : start + BLOCK], tables)
        _close_both(tables, sums)
    return True


@njit(nogil=True, cache=True, inline="always")
def _add_both(cells, codes, values, tables):  # type: ignore[no-untyped-def]
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
def _close_both(tables, sums):  # type: ignore[no-untyped-def]
    """Add up the tables and empty them: rows, events, and values."""
    size = sums.shape[1]
    for cell in range(size):
        for j in range(2 * cell, 2 * TABLES * size, 2 * size):
            events = np.floor(tables[j + 1])
            sums[0, cell] += (tables[j + 1] - events) / _ROW
            sums[1, cell] += events
            sums[2, cell] += tables[j]
            tables[j] = tables[j + 1] = 0


# Compiled inversion of the laws of labels: how many of a row's cumulative chances a uniform number reaches.

_ROWS_IN_A_TILE = 512  # whose uniforms and labels stay in the fastest cache


def count_reached(cumulative: Floats, uniforms: Floats) -> Array:
    """Twin of the function of `calibstat.draws.labels`: sums (K, n), in turn."""
    sums, found = np.ascontiguousarray(cumulative), np.empty(uniforms.shape, dtype=np.intp)
    rows, labels = _replicates(uniforms), _replicates(found)
    in_threads(lambda start, stop: _count_labels(sums, rows, labels, start, stop), _pieces(rows))
    return found


def bisect_reached(cumulative: Floats, uniforms: Floats) -> Array:
    """Twin of the function of `calibstat.draws.labels`: sums (n, K), in two steps."""
    sums, found = np.ascontiguousarray(cumulative), np.empty(uniforms.shape, dtype=np.intp)
    rows, labels = _replicates(uniforms), _replicates(found)
    in_threads(lambda start, stop: _search(sums, rows, labels, start, stop), _pieces(rows))
    return found


def _replicates(values: Array) -> Array:
    """Put all leading axes into one; a view where the values are side by side in memory."""
    return np.ascontiguousarray(values).reshape(prod(values.shape[:-1]), values.shape[-1])


def _pieces(rows: Floats) -> list[tuple[int, int]]:
    """Cut the columns so that a piece has work enough for a thread."""
    return pieces(rows.shape[1], max(_ROWS_IN_A_TILE, 2**18 // max(len(rows), 1)))


@njit(nogil=True, cache=True)
def _count_labels(sums: Floats, uniforms: Floats, labels: Ints, first: int, last: int) -> None:
    n_sums = len(sums) - 1
    for start in range(first, last, _ROWS_IN_A_TILE):
        stop = min(start + _ROWS_IN_A_TILE, last)
        for r in range(len(uniforms)):
            some, found = uniforms[r, start:stop], labels[r, start:stop]
            for j in range(len(some)):
                found[j] = 0
            k = 0
            while k + 3 <= n_sums:
                s0, s1, s2 = sums[k, start:stop], sums[k + 1, start:stop], sums[k + 2, start:stop]
                for j in range(len(some)):
                    found[j] += np.int64(some[j] >= s0[j]) + np.int64(some[j] >= s1[j]) + np.int64(some[j] >= s2[j])
                k += 3
            while k < n_sums:
                s0 = sums[k, start:stop]
                for j in range(len(some)):
                    found[j] += np.int64(some[j] >= s0[j])
                k += 1


@njit(nogil=True, cache=True)
def _search(sums: Floats, uniforms: Floats, labels: Ints, first: int, last: int) -> None:
    """Find the group of sums, of about as many as there are groups, then the place in it; no branch is guessed."""
    n_sums, size = sums.shape[1] - 1, 8
    while size * size < n_sums:
        size += 8
    groups = np.full((n_sums // size + 1, size), np.inf)
    in_a_row, largest = groups.reshape(groups.size), np.empty(len(groups))
    for i in range(first, last):
        for k in range(n_sums):
            in_a_row[k] = sums[i, k]
        for g in range(len(largest)):
            largest[g] = groups[g, size - 1]
        for r in range(len(uniforms)):
            uniform, group, place = uniforms[r, i], np.int64(0), np.int64(0)
            for g in range(len(largest)):
                group += np.int64(largest[g] <= uniform)
            some = groups[group]
            for k in range(size):
                place += np.int64(some[k] <= uniform)
            labels[r, i] = group * size + place


# Compiled sums of the Laplace kernel along a line: :math:`s_i = e^{-(x_i - x_{i-1})/\gamma} (s_{i-1} + a_{i-1})`.
#
# The factors are at most one, so that nothing overflows and no segments are needed. Eight vectors pass at a time,
# since each has to wait for its own last sum.

_VECTORS_IN_A_PIECE = 64


def line_sums(line: Any, vectors: Floats, bandwidth: float) -> Floats:
    """Twin of `LineSums._one`."""
    vectors, steps, totals = _rows(vectors), line.steps(bandwidth), np.zeros(len(vectors))

    def add(start: int, stop: int) -> None:
        sums = _eight_at_a_time if stop - start >= 8 else _one_at_a_time
        sums(vectors[start:stop], steps, totals[start:stop])

    in_threads(add, pieces(len(vectors), _VECTORS_IN_A_PIECE))
    return 2 * totals


def sums_before(line: Any, vectors: Floats) -> Floats:
    """Twin of `LineSums._before`."""
    vectors, steps = _rows(vectors), line.steps(line.bandwidths[0])
    found = np.zeros_like(vectors)

    def add(start: int, stop: int) -> None:
        _before(vectors[start:stop], steps, found[start:stop])

    in_threads(add, pieces(len(vectors), _VECTORS_IN_A_PIECE))
    return found


def _rows(vectors: Floats) -> Floats:
    return np.ascontiguousarray(vectors, dtype=float)


@njit(nogil=True, cache=True)
def _eight_at_a_time(vectors, steps, totals):  # type: ignore[no-untyped-def]
    """The last eight may be the last ones of the eight before, again."""
    for first in range(0, len(vectors), 8):
        start = min(first, len(vectors) - 8)
        v0, v1, v2, v3 = vectors[start], vectors[start + 1], vectors[start + 2], vectors[start + 3]
        v4, v5, v6, v7 = vectors[start + 4], vectors[start + 5], vectors[start + 6], vectors[start + 7]
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = 0.0
        for i in range(1, len(steps)):
            step = steps[i]
            s0 = (s0 + v0[i - 1]) * step
            s1 = (s1 + v1[i - 1]) * step
            s2 = (s2 + v2[i - 1]) * step
            s3 = (s3 + v3[i - 1]) * step
            s4 = (s4 + v4[i - 1]) * step
            s5 = (s5 + v5[i - 1]) * step
            s6 = (s6 + v6[i - 1]) * step
            s7 = (s7 + v7[i - 1]) * step
            t0 += s0 * v0[i]
            t1 += s1 * v1[i]
            t2 += s2 * v2[i]
            t3 += s3 * v3[i]
            t4 += s4 * v4[i]
            t5 += s5 * v5[i]
            t6 += s6 * v6[i]
            t7 += s7 * v7[i]
        found = totals[start : start + 8]
        found[0], found[1], found[2], found[3] = t0, t1, t2, t3
        found[4], found[5], found[6], found[7] = t4, t5, t6, t7


@njit(nogil=True, cache=True)
def _one_at_a_time(vectors, steps, totals):  # type: ignore[no-untyped-def]
    for c in range(len(vectors)):
        vector, total, before = vectors[c], 0.0, 0.0
        for i in range(1, len(steps)):
            before = (before + vector[i - 1]) * steps[i]
            total += before * vector[i]
        totals[c] = total


@njit(nogil=True, cache=True)
def _before(vectors, steps, found):  # type: ignore[no-untyped-def]
    for c in range(len(vectors)):
        vector, sums, before = vectors[c], found[c], 0.0
        for i in range(1, len(steps)):
            before = (before + vector[i - 1]) * steps[i]
            sums[i] = before
