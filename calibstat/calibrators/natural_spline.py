"""Natural cubic splines, given by their values at the knots: cubic between, linear beyond."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

from calibstat.arrays import Floats


def quantiles(values: Floats, weights: Floats, levels: Floats) -> Floats:
    """Distinct values at which the weighted distribution reaches the levels."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weights[order])
    reached = np.searchsorted(mass, levels * mass[-1] * (1 - 1e-12))
    return np.unique(values[order][reached])


def basis(values: Floats, knots: Floats) -> Floats:
    """(n, k) column j is the spline that is 1 at knot j and 0 at the others; a single knot gives a constant."""
    if len(knots) == 1:
        return np.ones((len(values), 1))
    spline = _cardinal(knots)
    inside = np.clip(values, knots[0], knots[-1])
    rows = spline(inside)
    low, high = values < knots[0], values > knots[-1]
    rows[low] += np.outer(values[low] - knots[0], spline(knots[0], 1))
    rows[high] += np.outer(values[high] - knots[-1], spline(knots[-1], 1))
    return rows


def roughness(knots: Floats) -> Floats:
    """(k, k) matrix of the integral of the squared second derivative; straight lines have none."""
    if len(knots) < 3:
        return np.zeros((len(knots),) * 2)
    # The second derivative is linear between knots, so the integral is that of products of hat functions.
    bends, widths = _cardinal(knots)(knots, 2), np.diff(knots)
    hats = np.diag((np.append(widths, 0) + np.append(0, widths)) / 3)
    hats += np.diag(widths / 6, 1) + np.diag(widths / 6, -1)
    return bends.T @ hats @ bends


def _cardinal(knots: Floats) -> CubicSpline:
    return CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
