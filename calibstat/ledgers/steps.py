"""Fine steps of a prediction, and what a ledger keeps of the rows in each.

[0, 1] has 3600 steps of equal width, so that cells of 10, 12, 15, 16, 18, 20, 24, 25, 30, 40, 45, 50 or 100 equal
widths consist of them. Their borders are steps of their own, as rounded predictions lie there; a prediction that is as
near to a border as an error of rounding is counted on it. Next to 0 and 1 steps are halves of halves.

Of the rows in a step a ledger keeps how many there are and how many had the event, the sums of four powers of the
distances of their predictions from the middle of the step, and the sum of the distances of rows with the event. So the
mean prediction and the exact law of the events are known of any cells that are made of steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from calibstat.data.arrays import Array, Floats, Ints

STEPS: Final = 3600
HALVINGS: Final = 40
# A prediction this near to a border, in steps, is on it.
ON_BORDER: Final = 1e-9
COUNTS: Final = ("rows", "events")
SUMS: Final = ("shift", "shift2", "shift3", "shift4", "along")


def terms_of(distance: Floats, happened: Floats) -> Iterator[Array | None]:
    """Yield what is added up over the rows of a step, in the order of COUNTS and SUMS; None stands for ones."""
    square = distance * distance
    yield from (None, happened, distance, square, square * distance, square * square, distance * happened)


def moments_of(kept: Any) -> tuple[Floats, Floats]:
    """Return the mean prediction in each line of a table (m,), and sums of powers 2 to 4 of distances to it (m, 3)."""
    rows, first, second, third, fourth = (np.asarray(kept[name], dtype=float) for name in ("rows", *SUMS[:4]))
    gap = first / rows
    mean = np.clip(middle_of(np.asarray(kept["step"])) + gap, 0.0, 1.0)
    central = [
        second - gap * first,
        third - 3 * gap * second + 2 * gap**2 * first,
        fourth - 4 * gap * third + 6 * gap**2 * second - 3 * gap**3 * first,
    ]
    return mean, np.stack(central, axis=1)


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
    part, halvings = np.frexp(scaled[small])  # part * 2**halvings, where the part is at least 1/2
    halvings -= part == 0.5
    step[small] = np.where(part == 0, -HALVINGS - 1, np.maximum(halvings, -HALVINGS))
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
