"""Smoothing on [0, 1] with a Gaussian kernel reflected at both ends: the heat equation on a mesh."""

from __future__ import annotations

import numpy as np
from scipy.fft import dct
from scipy.sparse import csc_array, csr_array

from calibstat.arrays import Floats, Ints

# Intervals of the finest mesh.
FINEST = 65536
_STEPS = 80
_ROUNDING = 1e-13  # of transforms and sums, relative


class Mesh:
    """A mesh of M + 1 nodes on [0, 1], and how points are split among the four nodes around them.

    Parameters
    ----------
    places : (n,) floats
        Points in [0, 1].
    n_cells : int
        Number of intervals M.
    """

    def __init__(self, places: Floats, n_cells: int) -> None:
        self.n_cells = n_cells
        # exp(-(pi k sigma)^2 / 2) is what smoothing leaves of the k-th cosine.
        self.decay = 0.5 * (np.pi * np.arange(n_cells + 1)) ** 2
        self.splitting = _splitting(places, n_cells)

    def spread(self, masses: Floats) -> Floats:
        """Return the cosine coefficients (R, M + 1) of masses (R, n) put on the nodes."""
        nodes = np.ascontiguousarray((self.splitting @ masses.T).T)
        nodes[:, [0, -1]] *= 2  # an end node stands for itself and its mirror image
        return dct(nodes, type=1, axis=1) / 2

    def smoothed(self, coefficients: Floats, bandwidth: Floats) -> Floats:
        """Return the integral (R,) of the absolute value of the masses smoothed with bandwidths (R,)."""
        damped = coefficients * np.exp(-self.decay * bandwidth[:, None] ** 2)
        return _integral_of_absolute(dct(damped, type=1, axis=1), self.n_cells)


def fixed_point(mesh: Mesh, coefficients: Floats) -> Floats:
    """Find the bandwidth (R,) that equals the integral it gives.

    The integral falls as the bandwidth grows, so there is one: found by regula falsi with the Illinois rule (Dowell &
    Jarratt 1971).
    """
    low, above = np.zeros(len(coefficients)), mesh.smoothed(coefficients, np.zeros(len(coefficients)))
    high = 1.5 * above  # smoothing only lowers the integral, but without smoothing the mesh is too coarse for it
    below = mesh.smoothed(coefficients, high) - high
    side = np.zeros(len(low))
    for _ in range(_STEPS):
        active = np.flatnonzero(high - low > _ROUNDING * high + 1e-16)
        if not len(active):
            break
        a, b, f, g = low[active], high[active], above[active], below[active]
        middle = np.clip(b - g * np.divide(b - a, g - f, out=np.zeros_like(a), where=g != f), a, b)
        value = mesh.smoothed(coefficients[active], middle) - middle
        found, up = np.abs(value) <= _ROUNDING * middle + 1e-16, value > 0
        again = np.where(np.where(up, 1, -1) == side[active], 0.5, 1.0)
        low[active], high[active] = np.where(up | found, middle, a), np.where(up & ~found, b, middle)
        above[active], below[active] = np.where(up, value, f * again), np.where(up, g * again, value)
        side[active] = np.where(up, 1, -1)
    return (low + high) / 2


def _splitting(places: Floats, n_cells: int) -> csc_array:
    """Return the matrix (M + 1, n) of the shares of points in nodes, by cubic interpolation, mirrored at the ends."""
    scaled = places * n_cells
    first = np.clip(scaled.astype(np.intp), 0, n_cells - 1)
    x = scaled - first
    shares = np.stack(
        [
            -x * (x - 1) * (x - 2) / 6,
            (x + 1) * (x - 1) * (x - 2) / 2,
            -(x + 1) * x * (x - 2) / 2,
            (x + 1) * x * (x - 1) / 6,
        ],
        axis=1,
    )
    nodes = first[:, None] + np.arange(-1, 3)
    nodes = n_cells - np.abs(n_cells - np.abs(nodes))
    starts = 4 * np.arange(len(places) + 1)
    rows = csr_array((shares.ravel(), nodes.ravel(), starts), shape=(len(places), n_cells + 1))
    return rows.T


def _integral_of_absolute(nodes: Floats, n_cells: int) -> Floats:
    """Integrate the absolute value of a smooth function, even at both ends, given at nodes (R, M + 1): (R,).

    The trapezoidal rule is exact but for the kinks; a zero at z = (j + u) h adds h^2 |f'(z)| (u^2 - u + 1/6) (Euler
    and Maclaurin's formula from both sides).
    """
    size = np.abs(nodes)
    trapezoid = size.sum(axis=1) - (size[:, 0] + size[:, -1]) / 2
    negative = nodes < 0
    row, j = np.nonzero(negative[:, 1:] != negative[:, :-1])
    before, after = size[row, j], size[row, j + 1]
    u = before / (before + after)
    slope = (1 - u) * _difference(nodes, row, j) + u * _difference(nodes, row, j + 1)
    kinks = np.abs(slope) * (u * u - u + 1 / 6)
    return (trapezoid + np.bincount(row, kinks, minlength=len(nodes))) / n_cells


def _difference(nodes: Floats, row: Ints, j: Ints) -> Floats:
    """Return the central difference at nodes; zero at the ends, by symmetry."""
    last = nodes.shape[1] - 1
    after, before = np.where(j < last, j + 1, last - 1), np.abs(j - 1)
    return (nodes[row, after] - nodes[row, before]) / 2
