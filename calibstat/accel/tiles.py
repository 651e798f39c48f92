"""Tiles of pairs: four rows against a block of columns that stays in the cache, five features at a time."""

from __future__ import annotations

from typing import Final

from numba import njit

from calibstat.accel.wide import wide

ROWS: Final = 4
AT_ONCE: Final = 5
"""The number of features, which are padded with zeros, is a multiple of it."""


@njit(nogil=True, cache=True, fastmath={"contract"})
def products(rows, i, columns, offsets, found, width):  # type: ignore[no-untyped-def]
    """Write offsets[j] + sum_k rows[i + r, k] columns[k, j] into found[r, j], for r < 4 and j < width."""
    wide()
    x, y, z, w = found[0][:width], found[1][:width], found[2][:width], found[3][:width]
    for j in range(width):
        x[j] = y[j] = z[j] = w[j] = offsets[j]
    x_row, y_row, z_row, w_row = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
    for k in range(0, len(columns), AT_ONCE):
        x0, x1, x2, x3, x4 = x_row[k], x_row[k + 1], x_row[k + 2], x_row[k + 3], x_row[k + 4]
        y0, y1, y2, y3, y4 = y_row[k], y_row[k + 1], y_row[k + 2], y_row[k + 3], y_row[k + 4]
        z0, z1, z2, z3, z4 = z_row[k], z_row[k + 1], z_row[k + 2], z_row[k + 3], z_row[k + 4]
        w0, w1, w2, w3, w4 = w_row[k], w_row[k + 1], w_row[k + 2], w_row[k + 3], w_row[k + 4]
        c0, c1, c2, c3, c4 = columns[k], columns[k + 1], columns[k + 2], columns[k + 3], columns[k + 4]
        for j in range(width):
            b0, b1, b2, b3, b4 = c0[j], c1[j], c2[j], c3[j], c4[j]
            x[j] = x[j] + x0 * b0 + x1 * b1 + x2 * b2 + x3 * b3 + x4 * b4
            y[j] = y[j] + y0 * b0 + y1 * b1 + y2 * b2 + y3 * b3 + y4 * b4
            z[j] = z[j] + z0 * b0 + z1 * b1 + z2 * b2 + z3 * b3 + z4 * b4
            w[j] = w[j] + w0 * b0 + w1 * b1 + w2 * b2 + w3 * b3 + w4 * b4


@njit(nogil=True, cache=True, fastmath={"contract"})
def without_minima(rows, i, columns, offsets, found, width):  # type: ignore[no-untyped-def]
    """Write offsets[j] - sum_k min(rows[i + r, k], columns[k, j]) into found[r, j], for r < 4 and j < width."""
    wide()
    x, y, z, w = found[0][:width], found[1][:width], found[2][:width], found[3][:width]
    for j in range(width):
        x[j] = y[j] = z[j] = w[j] = offsets[j]
    x_row, y_row, z_row, w_row = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
    for k in range(0, len(columns), AT_ONCE):
        x0, x1, x2, x3, x4 = x_row[k], x_row[k + 1], x_row[k + 2], x_row[k + 3], x_row[k + 4]
        y0, y1, y2, y3, y4 = y_row[k], y_row[k + 1], y_row[k + 2], y_row[k + 3], y_row[k + 4]
        z0, z1, z2, z3, z4 = z_row[k], z_row[k + 1], z_row[k + 2], z_row[k + 3], z_row[k + 4]
        w0, w1, w2, w3, w4 = w_row[k], w_row[k + 1], w_row[k + 2], w_row[k + 3], w_row[k + 4]
        c0, c1, c2, c3, c4 = columns[k], columns[k + 1], columns[k + 2], columns[k + 3], columns[k + 4]
        for j in range(width):
            b0, b1, b2, b3, b4 = c0[j], c1[j], c2[j], c3[j], c4[j]
            x[j] -= min(x0, b0) + min(x1, b1) + min(x2, b2) + min(x3, b3) + min(x4, b4)
            y[j] -= min(y0, b0) + min(y1, b1) + min(y2, b2) + min(y3, b3) + min(y4, b4)
            z[j] -= min(z0, b0) + min(z1, b1) + min(z2, b2) + min(z3, b3) + min(z4, b4)
            w[j] -= min(w0, b0) + min(w1, b1) + min(w2, b2) + min(w3, b3) + min(w4, b4)
