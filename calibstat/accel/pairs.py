r"""Compiled sums over all pairs of rows for the Laplace and the Gaussian kernel: O(n^2 (d + C)), O(n) memory.

A block of columns stays in the cache while all rows below it pass, four at a time. For these and the block: distances,
by :math:`TV = \tfrac12 (\sum_k a_k + \sum_k b_k) - \sum_k \min(a_k, b_k)` or :math:`|a - b|^2 = |a|^2 + |b|^2 - 2 ab`;
kernel values, by powers of two; and one sum for each vector. Everything is in double precision: observed values are
compared with draws by matrix products, and ties between them must stay ties.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from calibstat.accel.pieces import in_threads, pieces
from calibstat.accel.powers import power_of_two
from calibstat.accel.tiles import AT_ONCE, ROWS, products, without_minima
from calibstat.accel.wide import LINE, lined_up, wide
from calibstat.arrays import Floats

_COLUMNS = 224  # of a block: some thirty numbers for each of its rows stay in the fastest cache
# With more vectors than this, matrix products by tiles of kernel values are faster.
_MOST_VECTORS = 128
# Distances are had from sums where their rounding, 1e-16 of the longest row or its square, is below 1e-12 of the
# bandwidth or its square.
_SMALLEST_BANDWIDTH = {"laplace": 1e-3, "gaussian": 1e-2}


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
    offsets = 0.5 * features.sum(axis=1) if name == "laplace" else squares
    columns, values = _padded(features.T), _padded(vectors)
    rows = np.ascontiguousarray((1.0 if name == "laplace" else -2.0) * columns.T)
    factors = np.ascontiguousarray(values.T)
    table = np.concatenate([_padded(offsets[None])[:1], columns, values])  # all that is read of a column

    def add(start: int, stop: int) -> Floats:
        block, workspace = lined_up(len(table), stop - start), lined_up(2, ROWS, stop - start)
        block[:] = table[:, start:stop]
        found: Floats = _below(name == "laplace", exponents, rows, table[0], factors, start, block, workspace)
        return found

    parts = in_threads(add, pieces(len(rows), _COLUMNS))
    return 2 * np.sum(parts, axis=0)[:, : len(vectors)]


def _padded(rows: Floats) -> Floats:
    """Add zeros, so that rows can be read some at a time and columns line by line; nothing is added to any sum."""
    height, width = rows.shape
    return np.pad(rows.astype(float), ((0, -height % AT_ONCE), (0, -width % LINE)))


@njit(nogil=True, cache=True)
def _below(laplace, exponents, rows, offsets, factors, start, block, workspace):  # type: ignore[no-untyped-def]
    """Sum over j in the block of columns from `start` on and all i > j, for each exponent and vector: (J, C)."""
    wide()
    n_features, stop = rows.shape[1], start + block.shape[1]
    columns, vectors = block[1 : n_features + 1], block[n_features + 1 :]
    distances, values = workspace[0], workspace[1]
    totals = np.zeros((len(exponents), len(vectors)))
    for i in range(start, len(rows), ROWS):
        width = min(i - start + ROWS, stop - start)
        width += -width % LINE
        if laplace:
            without_minima(rows, i, columns, block[0], distances, width)
        else:
            products(rows, i, columns, block[0], distances, width)
        for m in range(len(exponents)):
            _powers(exponents[m], offsets, i, distances, values, width)
            if i < stop:
                for r in range(ROWS):
                    values[r, i + r - start : width] = 0.0
            _add(values, vectors, width, factors, i, totals, m)
    return totals


@njit(nogil=True, cache=True, fastmath={"contract"})
def _powers(exponent, offsets, i, distances, values, width):  # type: ignore[no-untyped-def]
    """2^(exponent (offset of the row + distance)); 2^-1000 for anything smaller."""
    wide()
    for r in range(ROWS):
        first, found, value = exponent * offsets[i + r], distances[r][:width], values[r][:width]
        for j in range(width):
            power = first + exponent * found[j]
            value[j] = power_of_two(-1000.0 if power < -1000.0 else power)


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _add(values, vectors, width, factors, i, totals, m):  # type: ignore[no-untyped-def]
    """Add to totals[m] the sums of each row's values with each vector, times the row's own number in it."""
    wide()
    for c in range(0, len(vectors), AT_ONCE):
        v0, v1, v2, v3, v4 = vectors[c], vectors[c + 1], vectors[c + 2], vectors[c + 3], vectors[c + 4]
        for r in range(ROWS):
            value = values[r][:width]
            s0, s1, s2, s3, s4 = 0.0, 0.0, 0.0, 0.0, 0.0
            for j in range(width):
                s0 += value[j] * v0[j]
                s1 += value[j] * v1[j]
                s2 += value[j] * v2[j]
                s3 += value[j] * v3[j]
                s4 += value[j] * v4[j]
            totals[m, c] += factors[i + r, c] * s0
            totals[m, c + 1] += factors[i + r, c + 1] * s1
            totals[m, c + 2] += factors[i + r, c + 2] * s2
            totals[m, c + 3] += factors[i + r, c + 3] * s3
            totals[m, c + 4] += factors[i + r, c + 4] * s4
