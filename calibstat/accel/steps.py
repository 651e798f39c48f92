"""Compiled loops over the steps of a histogram: numbering values, finding rows of chosen steps, and cutting cells."""

from __future__ import annotations

import numpy as np
from numba import njit

from calibstat.accel.bits import as_integer
from calibstat.accel.instructions import fetch_ahead
from calibstat.accel.pieces import in_threads, shares
from calibstat.arrays import Array, Bools, Floats, Ints
from calibstat.binnings.intervals import closed_right
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
def _count(values, low, scale, step, counts):  # type: ignore[no-untyped-def]
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
