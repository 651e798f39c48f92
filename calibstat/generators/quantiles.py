"""Quantiles of predictions that have a density: their distribution function by quadrature, inverted by Newton steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.generators.quadrature import panels

_PARTS = 4
_NODES = 8
_STEPS = 12
_CLOSE = 1e-12


def quantiles_of(density: Callable[[Floats], Floats], borders: Floats, levels: Floats) -> Floats:
    """Return the quantiles of a law on a line.

    Parameters
    ----------
    density : callable
        Maps (m,) points to (m,) densities.
    borders : (b,) increasing floats
        Resolve the density, from where it begins to where it ends.
    levels : (k,) increasing floats
        In [0, 1].

    Returns
    -------
    points : (k,) floats
        Not decreasing.
    """
    parts = np.linspace(0, 1, _PARTS + 1)[:-1]
    fine = np.append((borders[:-1, None] + np.diff(borders)[:, None] * parts).ravel(), borders[-1])
    nodes, widths = panels(fine, _NODES)
    below = np.concatenate([[0.0], np.cumsum((widths * density(nodes)).reshape(-1, _NODES).sum(axis=1))])
    asked = np.clip(levels, 0, 1) * below[-1]
    panel = np.clip(np.searchsorted(below, asked, side="right") - 1, 0, len(fine) - 2)
    points = _newton(density, fine, below, panel, asked)
    points[levels <= 0] = fine[np.argmax(below > 0) - 1] if below[-1] > 0 else fine[0]
    points[levels >= 1] = fine[np.searchsorted(below, below[-1])]
    return np.maximum.accumulate(points)


def _newton(density: Callable[[Floats], Floats], fine: Floats, below: Floats, panel: Ints, asked: Floats) -> Floats:
    """Solve F(x) = asked within panels; a step that leaves the bracket is replaced by bisection."""
    left = fine[panel]
    low, high = left.copy(), fine[panel + 1].copy()
    mass = below[panel + 1] - below[panel]
    share = np.divide(asked - below[panel], mass, out=np.zeros_like(asked), where=mass > 0)
    points = low + share * (high - low)
    for _ in range(_STEPS):
        gap = below[panel] + _integral(density, left, points) - asked
        low, high = np.where(gap < 0, points, low), np.where(gap > 0, points, high)
        slope = density(points)
        step = np.divide(gap, slope, out=np.full_like(gap, np.inf), where=slope > 0)
        moved = points - step
        moved = np.where((moved >= low) & (moved <= high), moved, (low + high) / 2)
        change = np.abs(moved - points)
        points = moved
        if (change <= _CLOSE * np.maximum(1, np.abs(points))).all():
            break
    return points


def _integral(density: Callable[[Floats], Floats], left: Floats, right: Floats) -> Floats:
    unit, weights = panels(np.array([0.0, 1.0]), _NODES)
    widths = right - left
    nodes = left[:, None] + widths[:, None] * unit
    integral: Floats = density(nodes.ravel()).reshape(nodes.shape) @ weights * widths
    return integral
