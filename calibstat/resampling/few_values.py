"""Rows drawn with replacement where there are few different rows: how often each occurs, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.binnings.base import Cells
from calibstat.resampling.fixed_cells import Drawn, draw_fixed
from calibstat.resampling.moments import Moments

# Few values are at most four for each cell, up to 4096, or one for eight rows, up to 512.
_FOR_A_CELL, _FOR_A_ROW = (4, 4096), (1 / 8, 512)


@final
@dataclass(frozen=True, eq=False)
class FewValues:
    """The different rows (U of them), cell after cell and from small to large.

    Parameters
    ----------
    moments : Moments
        Those of each different row.
    home : (U,) ints
        Its cell.
    run_end : (U,) ints
        The last different row with the same value of what is cut.
    size : int
        Number of cells.
    """

    moments: Moments
    home: Ints
    run_end: Ints
    size: int

    @classmethod
    def of(cls, cells: Cells, column: Floats, prediction: Floats, chance: Array) -> FewValues | None:
        """Find the different rows; None if they are not few.

        Parameters
        ----------
        cells : Cells
        column : (n,) floats
            What is cut; `prediction` itself, where it is.
        prediction : (n,) floats
        chance : (n,) floats
        """
        wanted = (cells.size * _FOR_A_CELL[0], _FOR_A_CELL[1]), (len(column) * _FOR_A_ROW[0], _FOR_A_ROW[1])
        few = int(max(min(each) for each in wanted))
        glimpse = prediction[:: max(1, len(prediction) // (4 * few))]
        if len(np.unique(glimpse)) > few:
            return None
        values, place = np.unique(prediction, return_inverse=True)
        cuts, order = (values, place) if column is prediction else np.unique(column, return_inverse=True)
        if len(values) > few or len(cuts) > few:
            return None
        key = (cells.index * len(cuts) + order) * len(values) + place
        found, index = np.unique(key, return_inverse=True)
        if len(found) > few:
            return None
        moments = Moments.of_values(index, values[found % len(values)], chance)
        run = found // len(values)
        return cls(moments, run // len(cuts), np.searchsorted(run, run, side="right") - 1, cells.size)

    def draw_fixed(
        self, n_resamples: int, rng: np.random.Generator, *, repeats: bool = False, squares: bool = False
    ) -> Iterator[Drawn]:
        """Draw rows with replacement and count them in the cells as they are."""
        for drawn in draw_fixed(self.moments, n_resamples, rng, repeats=repeats, squares=squares):
            yield drawn.added(self.home, self.size)

    def draw_recut(
        self, ranks: Ints, n_resamples: int, rng: np.random.Generator, *, squares: bool = False
    ) -> Iterator[Drawn]:
        """Draw rows with replacement and cut them anew at `ranks`, as ``EqualMass`` cuts a sample."""
        for drawn in draw_fixed(self.moments, n_resamples, rng, squares=squares):
            reached = np.cumsum(drawn.rows, axis=1)
            last = [(reached < rank).sum(axis=1) for rank in ranks]
            ends = np.stack([*(self.run_end[each] for each in last), np.full(len(reached), len(self.home) - 1)], axis=1)
            yield drawn.each(partial(_between, ends=ends))


def _between(values: Floats, ends: Ints) -> Floats:
    """Add up (R, U) from each end (R, L) to the next."""
    sums = np.take_along_axis(np.cumsum(values, axis=1), ends, axis=1)
    return np.diff(sums, axis=1, prepend=0.0)
