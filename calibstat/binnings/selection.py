"""Order statistics and cells without a sort: a histogram finds the few steps that decide, and only these are searched.

The steps are those of floating-point numbers (128 for each power of two, counted from both ends of the range), so that
scores crowded near 0 or 1 are told apart. A value in a higher step is larger, whatever rounding does, so what is found
is exact: the same numbers as from sorted values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Bools, Floats, Ints
from calibstat.binnings.intervals import closed_right

# What is nearer than 2**-30 of the range to one of its ends shares a step; 45 bits of 52 are left out.
_TINY, _BITS_LEFT_OUT = 2.0**-30, 45

# Rows that are numbered at once, so that they stay in the cache.
_ROWS = 2**15


def _height(shares: Floats) -> Ints:
    """Number shares of the range, >= 0, by their leading bits: never smaller for a larger share."""
    return (shares + _TINY).view(np.int64) >> _BITS_LEFT_OUT


_LOWEST = int(_height(np.zeros(1))[0] - _height(np.ones(1))[0])
N_STEPS = 1 - 2 * _LOWEST


@final
@dataclass(frozen=True, eq=False)
class Numbered:
    """Values with the number of their step, 0..N_STEPS-1; a value in a higher step is larger.

    Parameters
    ----------
    values : (n,) floats
        Contiguous.
    step : (n,) small ints
    counts : (N_STEPS,) ints
        How many values are in each step.
    low, scale : float
        ``(value - low) * scale`` lies between 0 and 1.
    """

    values: Floats
    step: Ints
    counts: Ints
    low: float
    scale: float

    @classmethod
    def of(cls, values: Floats) -> Numbered | None:
        """Number the values; None where there is no range that floats can divide."""
        if not len(values):
            return None
        values = np.ascontiguousarray(values)
        low, high = float(values.min()), float(values.max())
        if low == high:
            return None
        if low >= 0 and high <= 1:  # probabilities are numbered as they are
            low, high = 0.0, 1.0
        with np.errstate(all="ignore"):
            scale = float(1 / np.float64(high - low))
        if not 0 < scale < np.inf:
            return None
        step, counts = np.empty(len(values), dtype=np.uint16), np.zeros(N_STEPS, dtype=np.intp)
        for start in range(0, len(values), _ROWS):
            part = _number(values[start : start + _ROWS], low, scale)
            counts += np.bincount(part, minlength=N_STEPS)
            step[start : start + _ROWS] = part
        return cls(values, step, counts, low, scale)  # type: ignore[arg-type]

    def number(self, points: Floats) -> Ints:
        """Return the steps of points inside the range of the values."""
        return _number(points, self.low, self.scale)

    def parts(self) -> Iterator[tuple[slice, Ints]]:
        """Yield the steps as indices, some rows at a time."""
        for start in range(0, len(self.values), _ROWS):
            rows = slice(start, start + _ROWS)
            yield rows, self.step[rows].astype(np.intp)

    def among(self, chosen: Bools) -> Ints:
        """Return the rows whose step is chosen, (N_STEPS,) booleans."""
        return np.concatenate([rows.start + np.flatnonzero(chosen[step]) for rows, step in self.parts()])

    def order_statistics(self, ranks: Ints) -> Floats:
        """Return what stands at these ranks (0 is the smallest) when the values are sorted."""
        home = np.searchsorted(np.cumsum(self.counts), ranks, side="right")
        chosen = np.zeros(N_STEPS, dtype=bool)
        chosen[home] = True
        left_out = np.cumsum(np.where(chosen, 0, self.counts))
        placed: Floats = np.sort(self.values[self.among(chosen)])
        return placed[ranks - left_out[home]]

    def closed_right(self, edges: Floats) -> Ints:
        """Do as the function of that name, for edges whose inner ones lie in the range of the values."""
        inner = edges[1:-1]
        home = self.number(inner)
        border, first, how_many = np.unique(home, return_index=True, return_counts=True)
        cell = np.searchsorted(home, np.arange(N_STEPS), side="left")
        cell[border] = ~cell[border]  # negative: some rows of the step lie beyond an edge, to be looked at
        edge = np.full(N_STEPS, np.nan)
        edge[border] = np.where(how_many == 1, inner[first], np.nan)
        index = np.empty(len(self.values), dtype=np.intp)
        for rows, step in self.parts():
            part, values = index[rows], self.values[rows]
            np.take(cell, step, out=part, mode="clip")
            near = np.flatnonzero(part < 0)
            one = edge[step[near]]
            part[near] = ~part[near] + (values[near] > one)
            several = near[np.isnan(one)]
            part[several] = closed_right(values[several], edges)
        return index


def _number(values: Floats, low: float, scale: float) -> Ints:
    """Add up two numbers that never fall: the height above the low end, and minus that below the high end."""
    shares = values if (low, scale) == (0.0, 1.0) else np.clip((values - low) * scale, 0.0, 1.0)
    steps = _height(shares)
    steps -= _height(1.0 - shares)
    steps -= _LOWEST
    return steps
