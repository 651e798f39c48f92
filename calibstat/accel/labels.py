"""Compiled inversion of the laws of labels: how many of a row's cumulative chances a uniform number reaches."""

from __future__ import annotations

from math import prod

import numpy as np
from numba import njit

from calibstat.accel.pieces import in_threads, pieces
from calibstat.arrays import Array, Floats, Ints

_ROWS_IN_A_TILE = 512  # whose uniforms and labels stay in the fastest cache


def count_reached(cumulative: Floats, uniforms: Floats) -> Array:
    """Twin of the function of `calibstat.nulls.labels`: sums (K, n), in turn."""
    sums, found = np.ascontiguousarray(cumulative), np.empty(uniforms.shape, dtype=np.intp)
    rows, labels = _replicates(uniforms), _replicates(found)
    in_threads(lambda start, stop: _count(sums, rows, labels, start, stop), _pieces(rows))
    return found


def bisect_reached(cumulative: Floats, uniforms: Floats) -> Array:
    """Twin of the function of `calibstat.nulls.labels`: sums (n, K), in two steps."""
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
def _count(sums: Floats, uniforms: Floats, labels: Ints, first: int, last: int) -> None:
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
