"""Quantiles of predictions that have a density: their distribution function by quadrature, inverted by Newton steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.generators.quadrature import panels

_PARTS = 16
_NODES = 4
_STEPS = 12
# A Newton step this small leaves an error of its square; a bisection has to be as small as the error.
_CLOSE_BY_NEWTON, _CLOSE = 1e-8, 1e-12


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
    found = _start(density(fine), fine, below, panel, asked)
    left, low, high, points = fine[panel], fine[panel], fine[panel + 1], found
    beyond = asked - below[panel]
    open_ = np.arange(len(asked))
    for _ in range(_STEPS):
        gap = _integral(density, left, points) - beyond
        low, high = np.where(gap < 0, points, low), np.where(gap > 0, points, high)
        slope = density(points)
        moved = points - np.divide(gap, slope, out=np.full_like(gap, np.inf), where=slope > 0)
        inside = (moved >= low) & (moved <= high)
        moved = np.where(inside, moved, (low + high) / 2)
        found[open_] = moved
        close = np.where(inside, _CLOSE_BY_NEWTON, _CLOSE) * np.maximum(1, np.abs(moved))
        still = np.flatnonzero(np.abs(moved - points) > close)
        if len(still) == 0:
            break
        open_, left, beyond = open_[still], left[still], beyond[still]
        low, high, points = low[still], high[still], moved[still]
    return found


def _start(slopes: Floats, fine: Floats, below: Floats, panel: Ints, asked: Floats) -> Floats:
    """Interpolate the quantiles in each panel by a cubic with the right slopes at both ends, kept monotone."""
    widths, masses = np.diff(fine), np.diff(below)
    first, last = (
        np.minimum(np.divide(masses, even, out=np.full_like(masses, 3), where=even > 0), 3)
        for even in (widths * slopes[:-1], widths * slopes[1:])
    )
    mass = masses[panel]
    share = np.divide(asked - below[panel], mass, out=np.zeros_like(asked), where=mass > 0)
    rest = 1 - share
    part = share**2 * (3 - 2 * share) + share * rest * (first[panel] * rest - last[panel] * share)
    points: Floats = fine[panel] + part * widths[panel]
    return points


def _integral(density: Callable[[Floats], Floats], left: Floats, right: Floats) -> Floats:
    unit, weights = panels(np.array([0.0, 1.0]), _NODES)
    widths = right - left
    nodes = left[:, None] + widths[:, None] * unit
    integral: Floats = density(nodes.ravel()).reshape(nodes.shape) @ weights * widths
    return integral
