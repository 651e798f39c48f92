"""Fine steps of a prediction, in which rows are counted: narrow where events or non-events are rare.

[0, 1] has 3600 steps of equal width, so that cells of 10, 12, 15, 16, 18, 20, 24, 25, 30, 40, 45, 50 or 100 equal
widths consist of them. Their borders are steps of their own, as rounded predictions lie there. Next to 0 and 1 steps
are halves of halves.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from calibstat.data.arrays import Floats, Ints

STEPS: Final = 3600
HALVINGS: Final = 40
# A prediction this near to a border, in steps, is on it.
ON_BORDER: Final = 1e-9


def step_of(event: Floats) -> Ints:
    """Return the step of each prediction (n,): even numbers on borders, odd ones between; from -41 (0) to 7241 (1).

    >>> step_of(np.array([0.0, 1e-9, 0.0002, 0.3, 0.30001, 0.9998, 1.0]))
    array([ -41,  -18,    0, 2160, 2161, 7200, 7241])
    """
    upper = event > 0.5
    scaled = np.where(upper, 1 - event, event) * STEPS
    border = np.rint(scaled)
    step = np.where(np.abs(scaled - border) <= ON_BORDER, 2 * border, 2 * np.floor(scaled) + 1).astype(np.intp)
    small = np.flatnonzero(scaled < 1 - ON_BORDER)
    with np.errstate(divide="ignore"):
        halves = np.floor(-np.log2(scaled[small]))
    step[small] = np.where(scaled[small] == 0, -HALVINGS - 1, -np.minimum(halves, HALVINGS))
    return np.where(upper, 2 * STEPS - step, step)


def middle_of(step: Ints) -> Floats:
    """Return the border, or a place inside of each step (m,), from which distances are measured.

    >>> middle_of(np.array([-41, 0, 2160, 2161, 7241])).round(7)
    array([0.000000e+00, 2.083000e-04, 3.000000e-01, 3.001389e-01, 1.000000e+00])
    """
    upper = step > STEPS
    mirrored = np.where(upper, 2 * STEPS - step, step)
    halved = np.where(mirrored < -HALVINGS, 0.0, 0.75 * np.exp2(np.minimum(mirrored, 0))) / STEPS
    middle = np.where(mirrored <= 0, halved, mirrored / (2 * STEPS))
    return np.where(upper, 1 - middle, middle)
