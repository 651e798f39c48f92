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
_OCTAVES, _BITS_LEFT_OUT = 30, 45
_FIRST = int(np.float64(2.0**-_OCTAVES).view(np.int64)) >> _BITS_LEFT_OUT
_HALF = (int(np.float64(0.5).view(np.int64)) >> _BITS_LEFT_OUT) - _FIRST
N_STEPS = 2 * _HALF + 2
# Rows that are numbered at once, so that they stay in the cache.
_ROWS = 2**14


@final
@dataclass(frozen=True, eq=False)
class Numbered:
    """Values with the number of their step, 0..N_STEPS-1; a value in a higher step is larger.

    Parameters
    ----------
    values : (n,) floats
        Contiguous.
    step : (n,) small ints
    low, scale : float
        ``(value - low) * scale`` lies between 0 and 1.
    """

    values: Floats
    step: Ints
    low: float
    scale: float

    @classmethod
    def of(cls, values: Floats) -> Numbered | None:
        """Number the values; None where there is no range that floats can divide."""
        if not len(values):
            return None
        values = np.ascontiguousarray(values)
        low, high = float(values.min()), float(values.max())
        with np.errstate(all="ignore"):
            scale = float(1 / np.float64(high - low))
        if not 0 < scale < np.inf:
            return None
        step = np.empty(len(values), dtype=np.uint16)
        for start in range(0, len(values), _ROWS):
            step[start : start + _ROWS] = _number(values[start : start + _ROWS], low, scale)
        return cls(values, step, low, scale)  # type: ignore[arg-type]

    def number(self, points: Floats) -> Ints:
        """Return the steps of points inside the range of the values."""
        return _number(points, self.low, self.scale)

    def parts(self) -> Iterator[tuple[slice, Ints]]:
        """Yield the steps as indices, some rows at a time."""
        for start in range(0, len(self.values), _ROWS):
            rows = slice(start, start + _ROWS)
            yield rows, self.step[rows].astype(np.intp)

    def add_up(self, weights: Floats | None = None) -> Floats:
        """Return the number of values in each step, or the sum of their weights: (N_STEPS,)."""
        sums = np.zeros(N_STEPS)
        for rows, step in self.parts():
            sums += np.bincount(step, None if weights is None else weights[rows], minlength=N_STEPS)
        return sums

    def among(self, chosen: Bools) -> Ints:
        """Return the rows whose step is chosen, (N_STEPS,) booleans."""
        return np.concatenate([rows.start + np.flatnonzero(chosen[step]) for rows, step in self.parts()])

    def order_statistics(self, ranks: Ints) -> Floats:
        """Return what stands at these ranks (0 is the smallest) when the values are sorted."""
        counts = self.add_up().astype(np.intp)
        home = np.searchsorted(np.cumsum(counts), ranks, side="right")
        chosen = np.zeros(N_STEPS, dtype=bool)
        chosen[home] = True
        left_out = np.cumsum(np.where(chosen, 0, counts))
        placed: Floats = np.sort(self.values[self.among(chosen)])
        return placed[ranks - left_out[home]]

    def closed_right(self, edges: Floats) -> Ints:
        """Do as the function of that name, for edges whose inner ones lie in the range of the values."""
        inner = edges[1:-1]
        holding, first, how_many = np.unique(self.number(inner), return_index=True, return_counts=True)
        cell = np.searchsorted(self.number(inner), np.arange(N_STEPS), side="left")
        border = np.full(N_STEPS, np.inf)
        border[holding] = inner[first]
        several = np.zeros(N_STEPS, dtype=bool)
        several[holding[how_many > 1]] = True
        index = np.empty(len(self.values), dtype=np.intp)
        for rows, step in self.parts():
            part = self.values[rows]
            index[rows] = cell[step] + (part > border[step])
            if several.any():
                near = np.flatnonzero(several[step])
                index[rows.start + near] = closed_right(part[near], edges)
        return index


def _number(values: Floats, low: float, scale: float) -> Ints:
    share = np.minimum((values - low) * scale, 1.0)
    upper = share >= 0.5
    end = np.where(upper, 1.0 - share, share)  # 1 - share is exact there
    bits = np.maximum(end.view(np.int64) >> _BITS_LEFT_OUT, _FIRST) - _FIRST
    return np.where(upper, N_STEPS - 1 - bits, bits)
