"""Order statistics and cells without a sort: a histogram finds the few steps that decide, and only these are searched.

The steps follow floating-point numbers (128 for each power of two, counted from both ends of the range), so that
scores crowded near 0 or 1 are told apart. A value in a higher step is always larger, despite rounding, so the results
are exact: the same numbers as from sorted values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np

from calibstat._compiled import has_twin
from calibstat._dataclass import dataclass
from calibstat.binnings.base import closed_right
from calibstat.data.arrays import ROWS_IN_CACHE, Array, Bools, Floats, Ints

# Values nearer than 2**-30 of the range to one of its ends share a step; 45 of the 52 bits are dropped.
TINY, BITS_LEFT_OUT = 2.0**-30, 45


def _step_scores(shares: Floats) -> Ints:
    """Add two increasing numbers: the bits of the distance to the low end, and minus those of that to the high end."""
    scores = (shares + TINY).view(np.int64)
    scores -= ((1 + TINY) - shares).view(np.int64)
    return scores


LOWEST, _HIGHEST = map(int, _step_scores(np.array([0.0, 1.0])))
N_STEPS = ((_HIGHEST - LOWEST) >> BITS_LEFT_OUT) + 1


@final
@dataclass(frozen=True, eq=False)
class Numbered:
    """Values with the number of their step, 0..N_STEPS-1; a value in a higher step is larger."""

    values: Floats  # (n,), contiguous
    step: Array
    counts: Ints  # (N_STEPS,), how many values are in each step
    low: float
    scale: float  # (value - low) * scale lies between 0 and 1

    @classmethod
    def of(cls, values: Floats, span: tuple[float, float] | None = None) -> Numbered | None:
        """Number values in `span` (default: their range; others join its ends); None if floats cannot divide it."""
        if not len(values):
            return None
        values = np.ascontiguousarray(values)
        low, high = span or (float(values.min()), float(values.max()))
        if low == high:
            return None
        if low >= 0 and high <= 1:  # probabilities are numbered without rescaling
            low, high = 0.0, 1.0
        with np.errstate(all="ignore"):
            scale = float(1 / np.float64(high - low))
        if not 0 < scale < np.inf:
            return None
        step, counts = _count_steps(values, low, scale)
        return cls(values, step, counts, low, scale)

    def number(self, points: Floats) -> Ints:
        """Return the steps of points inside the range of the values."""
        return _number_steps(np.clip(_shares_of_range(points, self.low, self.scale), 0.0, 1.0))

    def among(self, chosen: Bools) -> Ints:
        """Return the rows whose step is chosen, (N_STEPS,) booleans."""
        return _rows_among(self.step, chosen)

    def order_statistics(self, ranks: Ints) -> tuple[Floats, Ints]:
        """Return the values at these ranks (0 is the smallest), as if sorted, and all rows in the same steps."""
        home = np.searchsorted(np.cumsum(self.counts), ranks, side="right")
        chosen = np.zeros(N_STEPS, dtype=bool)
        chosen[home] = True
        left_out = np.cumsum(np.where(chosen, 0, self.counts))
        rows = self.among(chosen)
        placed: Floats = np.sort(self.values[rows])
        return placed[ranks - left_out[home]], rows

    def closed_right(self, edges: Floats, near: Ints | None = None) -> Ints:
        """Do as the function `closed_right`, for edges (L + 1,) in the range; `near` has all rows at inner edges."""
        (cell, edge), index = self.cells_of_steps(edges), np.empty(len(self.values), dtype=np.intp)
        for rows, some in _steps_in_parts(self.step):
            np.take(cell, some, out=index[rows], mode="clip")
        near = np.flatnonzero(index < 0) if near is None else near[index[near] < 0]
        one = edge[self.step[near]]
        index[near] = ~index[near] + (self.values[near] > one)
        several = near[np.isnan(one)]
        index[several] = closed_right(self.values[several], edges)
        return index

    def cells_of_steps(self, edges: Floats) -> tuple[Ints, Floats]:
        """Return the cell of each step (N_STEPS,) and the edge that lies in it (N_STEPS,).

        The cell is ``~cell`` where rows of the step may lie beyond an edge; the edge is NaN if several lie in the step.
        """
        inner = edges[1:-1]
        home = self.number(inner)
        cell = np.searchsorted(home, np.arange(N_STEPS), side="left")
        cell[home] = ~cell[home]
        edge = np.full(N_STEPS, np.nan)
        edge[home] = inner
        edge[home[1:][home[1:] == home[:-1]]] = np.nan
        return cell, edge


@final
@dataclass(frozen=True, eq=False)
class BySteps:
    """Finds the cells between edges by the steps of numbered values, as `Numbered.closed_right` does."""

    numbered: Numbered
    edges: Floats
    near: Ints | None = None

    def index(self) -> Ints:
        """Return what `closed_right` returns."""
        return self.numbered.closed_right(self.edges, self.near)


def _shares_of_range(values: Floats, low: float, scale: float) -> Floats:
    return values if (low, scale) == (0.0, 1.0) else (values - low) * scale


def _number_steps(shares: Floats) -> Ints:
    """Number shares by the leading bits of their scores; shares below 0 or above 1 get N_STEPS or more."""
    steps = _step_scores(shares)
    steps -= LOWEST
    bits = steps.view(np.uint64)  # unsigned numbers are shifted faster, and negative ones become large
    bits >>= BITS_LEFT_OUT
    return steps


@has_twin("calibstat._fast.rows:count_steps")
def _count_steps(values: Floats, low: float, scale: float) -> tuple[Array, Ints]:
    """Number all values, with as few bits as possible, and count the values of each step."""
    step, counts = np.empty(len(values), dtype=np.uint16), np.zeros(N_STEPS, dtype=np.intp)
    for start in range(0, len(values), ROWS_IN_CACHE):
        shares = _shares_of_range(values[start : start + ROWS_IN_CACHE], low, scale)
        part = _number_steps(shares)
        found = np.bincount(part, minlength=N_STEPS)
        if len(found) > N_STEPS:  # some values lie outside
            part = _number_steps(np.clip(shares, 0.0, 1.0))
            found = np.bincount(part, minlength=N_STEPS)
        counts += found
        step[start : start + ROWS_IN_CACHE] = part
    return step, counts


def _steps_in_parts(step: Array) -> Iterator[tuple[slice, Ints]]:
    """Yield the steps as indices, a block of rows at a time."""
    for start in range(0, len(step), ROWS_IN_CACHE):
        rows = slice(start, start + ROWS_IN_CACHE)
        yield rows, step[rows].astype(np.intp)


@has_twin("calibstat._fast.rows:rows_among")
def _rows_among(step: Array, chosen: Bools) -> Ints:
    """Return the rows whose step is chosen."""
    return np.concatenate([rows.start + np.flatnonzero(chosen[some]) for rows, some in _steps_in_parts(step)])
