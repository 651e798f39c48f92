r"""Compiled sums over all pairs of rows for the Laplace and the Gaussian kernel: O(n^2 (d + C)), O(n) memory.

A block of columns stays in the cache while all rows below it pass. For each row and block: distances, by
:math:`TV = \tfrac12 (\sum_k a_k + \sum_k b_k) - \sum_k \min(a_k, b_k)` or :math:`|a - b|^2 = |a|^2 + |b|^2 - 2 ab`;
kernel values, by powers of two; and one sum for each vector. Everything is in double precision: observed values are
compared with draws by matrix products, and ties between them must stay ties.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit
from numpy.polynomial import Chebyshev, Polynomial

from calibstat.accel.bits import as_float, as_integer
from calibstat.accel.pieces import in_threads, pieces
from calibstat.arrays import Floats

_COLUMNS = 256  # of a block: some ten numbers for each of its rows stay in the fastest cache
_AT_ONCE: Final = 5  # features, or vectors, that are read together
# With more vectors than this, matrix products by tiles of kernel values are faster.
_MOST_VECTORS = 64
# Distances are had from sums where their rounding, 1e-16 of the longest row or its square, is below 1e-12 of the
# bandwidth or its square.
_SMALLEST_BANDWIDTH = {"laplace": 1e-3, "gaussian": 1e-2}

# 2^f for -1/2 <= f <= 1/2, to 2e-14.
_C0, _C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9 = (
    Chebyshev.interpolate(np.exp2, 9, domain=[-0.5, 0.5]).convert(kind=Polynomial).coef.tolist()
)
# Adding it rounds a number to an integer, which then stands in its lowest bits.
_ROUNDING = 1.5 * 2.0**52


def panel_sums(panels: Any, vectors: Floats, power: int = 1) -> Any:
    """Twin of `PanelSums.__call__`, for few vectors, bandwidths that are not tiny, and kernel values not kept."""
    name, features = panels.kernel.compiled, panels.features
    kept = panels._kept is not None  # then products with kernel values that are there are faster
    if kept or not name or not 0 < len(vectors) <= _MOST_VECTORS or not features.size:
        return NotImplemented
    squares = (features**2).sum(axis=1)
    lengths = np.abs(features).sum(axis=1) if name == "laplace" else np.sqrt(squares)
    if min(panels.bandwidths) < _SMALLEST_BANDWIDTH[name] * lengths.max():
        return NotImplemented
    bandwidths = np.array(panels.bandwidths)
    exponents = -power * np.log2(np.e) / (bandwidths if name == "laplace" else 2 * bandwidths**2)
    columns, values = _padded(features.T), _padded(vectors)
    rows = np.ascontiguousarray((1.0 if name == "laplace" else -2.0) * columns.T)
    offsets = 0.5 * features.sum(axis=1) if name == "laplace" else squares

    def add(start: int, stop: int) -> Floats:
        return _below(name == "laplace", rows, offsets, columns, values, exponents, start, stop)

    parts = in_threads(add, pieces(len(features), _COLUMNS))
    return 2 * np.sum(parts, axis=0)[:, : len(vectors)]


def _padded(rows: Floats) -> Floats:
    """Add rows of zeros, so that they can be read some at a time."""
    return np.concatenate([rows, np.zeros((-len(rows) % _AT_ONCE, rows.shape[1]))])


@njit(nogil=True, cache=True)
def _below(laplace, rows, offsets, columns, vectors, exponents, start, stop):  # type: ignore[no-untyped-def]
    """Sum over j in start..stop and all i > j, for each exponent and vector: (J, C)."""
    totals, sums = np.zeros((len(exponents), len(vectors))), np.empty(len(vectors))
    columns, vectors_here = columns[:, start:stop].copy(), vectors[:, start:stop].copy()
    offsets_here = offsets[start:stop].copy()
    distances, values = np.empty(stop - start), np.empty(stop - start)
    for i in range(start + 1, len(rows)):
        width = min(i, stop) - start
        if laplace:
            _variations(rows[i], offsets[i], columns, offsets_here, distances[:width])
        else:
            _squares(rows[i], offsets[i], columns, offsets_here, distances[:width])
        for j in range(len(exponents)):
            _powers_of_two(exponents[j], distances[:width], values[:width])
            _products(values[:width], vectors_here, sums)
            for c in range(len(sums)):
                totals[j, c] += vectors[c, i] * sums[c]
    return totals


@njit(nogil=True, cache=True, fastmath={"contract"})
def _variations(row, offset, columns, offsets, found):  # type: ignore[no-untyped-def]
    for j in range(len(found)):
        found[j] = offset + offsets[j]
    for k in range(0, len(row), _AT_ONCE):
        a0, a1, a2, a3, a4 = row[k], row[k + 1], row[k + 2], row[k + 3], row[k + 4]
        b0, b1, b2, b3, b4 = columns[k], columns[k + 1], columns[k + 2], columns[k + 3], columns[k + 4]
        for j in range(len(found)):
            smaller = a0 if a0 < b0[j] else b0[j]
            smaller += a1 if a1 < b1[j] else b1[j]
            smaller += a2 if a2 < b2[j] else b2[j]
            smaller += a3 if a3 < b3[j] else b3[j]
            smaller += a4 if a4 < b4[j] else b4[j]
            found[j] -= smaller


@njit(nogil=True, cache=True, fastmath={"contract"})
def _squares(row, offset, columns, offsets, found):  # type: ignore[no-untyped-def]
    """`row` is minus two times the row."""
    for j in range(len(found)):
        found[j] = offset + offsets[j]
    for k in range(0, len(row), _AT_ONCE):
        a0, a1, a2, a3, a4 = row[k], row[k + 1], row[k + 2], row[k + 3], row[k + 4]
        b0, b1, b2, b3, b4 = columns[k], columns[k + 1], columns[k + 2], columns[k + 3], columns[k + 4]
        for j in range(len(found)):
            found[j] = found[j] + a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j] + a4 * b4[j]


@njit(nogil=True, cache=True, fastmath={"contract"})
def _powers_of_two(exponent, distances, values):  # type: ignore[no-untyped-def]
    """2^(exponent * distance), to 2e-14; 2^-1000 for anything smaller."""
    for j in range(len(distances)):
        power = exponent * distances[j]
        power = -1000.0 if power < -1000.0 else power
        rounded = power + _ROUNDING
        f = power - (rounded - _ROUNDING)
        value = _C9 * f + _C8
        value = value * f + _C7
        value = value * f + _C6
        value = value * f + _C5
        value = value * f + _C4
        value = value * f + _C3
        value = value * f + _C2
        value = value * f + _C1
        value = value * f + _C0
        values[j] = as_float(as_integer(value) + (as_integer(rounded) << 52))


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _products(values, vectors, sums):  # type: ignore[no-untyped-def]
    for c in range(0, len(sums), _AT_ONCE):
        v0, v1, v2, v3, v4 = vectors[c], vectors[c + 1], vectors[c + 2], vectors[c + 3], vectors[c + 4]
        s0, s1, s2, s3, s4 = 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(len(values)):
            value = values[j]
            s0 += value * v0[j]
            s1 += value * v1[j]
            s2 += value * v2[j]
            s3 += value * v3[j]
            s4 += value * v4[j]
        sums[c], sums[c + 1], sums[c + 2], sums[c + 3], sums[c + 4] = s0, s1, s2, s3, s4
