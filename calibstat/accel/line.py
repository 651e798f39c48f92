r"""Compiled sums of the Laplace kernel along a line: :math:`s_i = e^{-(x_i - x_{i-1})/\gamma} (s_{i-1} + a_{i-1})`.

The factors are at most one, so that nothing overflows and no segments are needed. Eight vectors pass at a time, since
each has to wait for its own last sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from calibstat.accel.pieces import in_threads, pieces
from calibstat.arrays import Floats

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
