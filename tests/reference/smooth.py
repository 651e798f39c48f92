"""Naive smooth calibration errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.stats import norm

import calibstat as cs
from reference.rows import Rows, UnclearError, keyed, total, unit
from reference.table import naive


@naive(cs.SmoothCE)
def smooth_ce(_: Any, seen: Rows) -> float:
    """The linear programme."""
    rows, whole = keyed(seen), total(seen)
    places = [unit(seen, value) for value, _ in rows]
    gains = [row.weight * (row.y - row.p[-1]) / whole for _, row in rows]
    above, limits = [], []
    for i in range(len(rows) - 1):
        for sign in (1, -1):
            line = np.zeros(len(rows))
            line[i], line[i + 1] = sign, -sign
            above.append(line)
            limits.append(places[i + 1] - places[i])
    constraints = dict(A_ub=np.array(above), b_ub=limits) if above else {}
    return -linprog(-np.array(gains), **constraints, bounds=(-1, 1)).fun


def smoothed(seen: Rows, bandwidth: float) -> float:
    """The integral by the trapezoidal rule on a fine grid, with images of the kernel on both sides."""
    t = np.linspace(0, 1, 2001)
    height = np.zeros_like(t)
    images = range(-math.ceil(4 * bandwidth) - 1, math.ceil(4 * bandwidth) + 2)
    for value, row in keyed(seen):
        gain = row.weight * (row.y - row.p[-1]) / total(seen)
        for k in images:
            for centre in (unit(seen, value) + 2 * k, 2 * k - unit(seen, value)):
                height += gain * norm.pdf(t, centre, bandwidth)
    size = np.abs(height)
    return (size.sum() - (size[0] + size[-1]) / 2) / 2000


@naive(cs.SmoothECE)
def smooth_ece(e: cs.SmoothECE, seen: Rows) -> float:
    if e.bandwidth is not None:
        return smoothed(seen, e.bandwidth)
    low, high = 0.004, 1.0
    if smoothed(seen, low) < low:
        raise UnclearError
    for _ in range(22):
        middle = (low + high) / 2
        low, high = (middle, high) if smoothed(seen, middle) > middle else (low, middle)
    return (low + high) / 2
