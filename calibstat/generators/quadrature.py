"""Composite Gauss-Legendre quadrature, and where to put the borders of its panels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from calibstat.arrays import Array, Floats

N_NODES = 16
_NOISE = 1e-12
_STEPS = 60
_EQUAL = 1e-13


@cache
def _rule(n_nodes: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return (nodes + 1) / 2, weights / 2


def panels(borders: Floats, n_nodes: int = N_NODES) -> tuple[Floats, Floats]:
    """Return nodes and weights of a Gauss-Legendre rule on each panel between neighbouring borders.

    Parameters
    ----------
    borders : (b,) increasing floats
    n_nodes : int
        Nodes in each panel.

    Returns
    -------
    nodes, weights : ((b - 1) * n_nodes,) floats
    """
    unit, weights = _rule(n_nodes)
    widths = np.diff(borders)[:, None]
    return (borders[:-1, None] + widths * unit).ravel(), (widths * weights).ravel()


def distinct(borders: Floats, gap: float = _EQUAL) -> Floats:
    """Sort borders and drop those that hardly differ from the one before."""
    ordered = np.sort(borders)
    return ordered[np.concatenate([[True], np.diff(ordered) > gap * np.maximum(1, np.abs(ordered[1:]))])]


def critical_points(function: Callable[[Floats], Floats], grid: Floats) -> Floats:
    """Find roots and extrema: where the integrand of an absolute deviation has kinks, or a maximum is reached.

    Parameters
    ----------
    function : callable
        Maps (m,) points to (m,) values; values below 1e-12 are noise.
    grid : (g,) increasing floats
        Dense enough to tell roots and extrema apart.
    """
    values = function(grid)
    return np.concatenate([_roots(function, grid, values), _extrema(function, grid, np.abs(values))])


def _roots(function: Callable[[Floats], Floats], grid: Floats, values: Floats) -> Floats:
    kept = np.flatnonzero(np.abs(values) > _NOISE)
    points, signs = grid[kept], np.sign(values[kept])
    change = np.flatnonzero(signs[:-1] * signs[1:] < 0)
    low, high, left = points[change], points[change + 1], signs[change]
    for _ in range(_STEPS):
        middle = (low + high) / 2
        same = np.sign(function(middle)) == left
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return (low + high) / 2


def _extrema(function: Callable[[Floats], Floats], grid: Floats, sizes: Floats) -> Floats:
    """Find the local maxima of the absolute value, by ternary search between the neighbours of a largest node."""
    inner = sizes[1:-1]
    peaks = 1 + np.flatnonzero((inner > sizes[:-2]) & (inner >= sizes[2:]) & (inner > _NOISE))
    low, high = grid[peaks - 1], grid[peaks + 1]
    for _ in range(_STEPS):
        third = (high - low) / 3
        rising = np.abs(function(low + third)) < np.abs(function(high - third))
        low, high = np.where(rising, low + third, low), np.where(rising, high, high - third)
    return (low + high) / 2


def around_changes(values: Floats, index: Array) -> Floats:
    """Return the four neighbouring values in the midst of which `index` changes: (4, number of changes).

    Two would do for cells with edges. Those of equal mass change at the node that reaches a level, and the quantile
    itself may lie on either side of that node (Chebyshev, Markov and Stieltjes).
    """
    order = np.argsort(values, kind="stable")
    placed, codes = values[order], index[order]
    new = np.concatenate([[True], np.diff(placed) > _EQUAL * np.maximum(1, np.abs(placed[1:]))])
    placed, codes = placed[new], codes[new]
    change = np.flatnonzero(codes[:-1] != codes[1:])
    around: Floats = placed[np.clip(change + np.arange(-1, 3)[:, None], 0, len(placed) - 1)]
    return around
