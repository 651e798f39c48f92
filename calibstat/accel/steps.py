"""Compiled loops over the steps of a histogram: numbering values, finding rows of chosen steps, and cutting cells."""

from __future__ import annotations

import numpy as np
from numba import njit

from calibstat.accel.pieces import in_threads, pieces
from calibstat.arrays import Array, Bools, Floats, Ints
from calibstat.binnings.selection import BITS_LEFT_OUT, LOWEST, N_STEPS, TINY

# Rows that are numbered at once, so that this is done by vector instructions.
_BLOCK = 128


def count_steps(values: Floats, low: float, scale: float) -> tuple[Array, Ints]:
    """Twin of the function of `calibstat.binnings.selection`."""
    values, step = np.ascontiguousarray(values), np.empty(len(values), dtype=np.uint16)

    def count(start: int, stop: int) -> Array:
        counts = np.zeros(N_STEPS, dtype=np.int32)
        _count(values[start:stop], low, scale, step[start:stop], counts)
        return counts

    return step, np.sum(in_threads(count, pieces(len(values))), axis=0, dtype=np.intp)


def rows_among(step: Array, chosen: Bools) -> Ints:
    """Twin of the function of `calibstat.binnings.selection`."""

    def find(start: int, stop: int) -> Array:
        return np.asarray(_find(step[start:stop], chosen, start))

    return np.concatenate(in_threads(find, pieces(len(step))))


def cut_steps(values: Floats, step: Array, cell: Ints, edge: Floats, edges: Floats) -> Ints:
    """Twin of the function of `calibstat.binnings.selection`."""
    index, inner = np.empty(len(values), dtype=np.intp), np.ascontiguousarray(edges[1:-1])

    def cut(start: int, stop: int) -> None:
        _cut(values[start:stop], step[start:stop], cell, edge, inner, index[start:stop])

    in_threads(cut, pieces(len(values)))
    return index


@njit(nogil=True, cache=True)
def _count(values, low, scale, step, counts):  # type: ignore[no-untyped-def]
    above, below = np.empty(_BLOCK), np.empty(_BLOCK)
    bits_above, bits_below = above.view(np.int64), below.view(np.int64)
    for start in range(0, len(values), _BLOCK):
        some, found = values[start : start + _BLOCK], step[start : start + _BLOCK]
        for i in range(len(some)):
            share = min(max((some[i] - low) * scale, 0.0), 1.0)
            above[i], below[i] = share + TINY, (1 + TINY) - share
        for i in range(len(some)):
            found[i] = (bits_above[i] - bits_below[i] - LOWEST) >> BITS_LEFT_OUT
        for i in range(len(some)):
            counts[found[i]] += 1


@njit(nogil=True, cache=True)
def _find(step, chosen, first):  # type: ignore[no-untyped-def]
    rows, size = np.empty(len(step), dtype=np.intp), 0
    for i in range(len(step)):
        if chosen[step[i]]:
            rows[size] = first + i
            size += 1
    return rows[:size].copy()


@njit(nogil=True, cache=True)
def _cut(values, step, cell, edge, inner, index):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        found = cell[step[i]]
        if found < 0:  # some rows of the step lie beyond an edge
            one = edge[step[i]]
            found = np.searchsorted(inner, values[i], side="left") if np.isnan(one) else ~found + (values[i] > one)
        index[i] = found
