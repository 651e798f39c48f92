"""Rows drawn with replacement, seen by cells that stay: how many of each cell and label, whole.

The numbers of rows with and without the event in each cell are multinomial, which is exact; only the sum of the
predictions is drawn from a normal law (see `Moments`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.estimators.tally import Tally
from calibstat.resampling.moments import Moments
from calibstat.resampling.streams import blocks

# Replicates of cells are drawn in blocks as if each had so many rows: 512 replicates, or fewer of many cells.
_AS_MANY_ROWS = 512


@final
@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows drawn with replacement: replicates (R, L) of what each cell holds.

    Parameters
    ----------
    rows, events, prediction : (R, L) floats
        Number of rows, number of events, sum of predictions.
    repeats : (R, L) floats
        Sum over rows of the squared number of times that each was drawn.
    """

    rows: Floats
    events: Floats
    prediction: Floats
    repeats: Floats

    def tally(self, squared: bool) -> Tally:
        """Turn them into a tally; squared weights are those of rows that were weighted, or one for each row."""
        weight2 = self.repeats if squared else self.rows
        return Tally(self.rows, self.prediction[..., None], self.events[..., None], weight2)

    def first(self, kept: int) -> Drawn:
        """Return the first replicates."""
        return Drawn(self.rows[:kept], self.events[:kept], self.prediction[:kept], self.repeats[:kept])

    def added(self, home: Ints, size: int) -> Drawn:
        """Add up fine cells to the coarse cells `home` (L,) that they are part of."""
        parts = (self.rows, self.events, self.prediction, self.repeats)
        return Drawn(*(add_up_cells(each, home, size) for each in parts))


def cell_blocks(
    n_resamples: int, n_cells: int, rng: np.random.Generator
) -> Iterator[tuple[np.random.Generator, int, int]]:
    """Split replicates of cells into blocks, as `blocks` does those of rows."""
    return blocks(n_resamples, max(_AS_MANY_ROWS, n_cells), rng)


def draw_fixed(moments: Moments, n_resamples: int, rng: np.random.Generator, squared: bool = False) -> Iterator[Drawn]:
    """Draw as many rows as there are, with replacement, and count them in cells (L,), some replicates at a time.

    Parameters
    ----------
    moments : Moments
    n_resamples : int
    rng : Generator
    squared : bool
        Whether to draw `Drawn.repeats` (for observed labels).
    """
    members = np.stack([moments.events, np.maximum(moments.rows - moments.events, 0.0)])
    occupied = np.flatnonzero(members > 0)
    n, chances = int(moments.rows.sum()), members.ravel()[occupied] / members.sum()
    for stream, size, kept in cell_blocks(n_resamples, members.size, rng):
        counts = np.zeros((size, members.size))
        counts[:, occupied] = stream.multinomial(n, chances, size=size)
        of_labels = counts.reshape(size, *members.shape)
        rows, events = of_labels.sum(axis=1), of_labels[:, 0]
        prediction = moments.sum_of_predictions(rows, events, stream)
        repeats = sum_of_squares(of_labels, members, stream) if squared else rows
        yield Drawn(rows, events, prediction, repeats).first(kept)


def sum_of_squares(counts: Floats, members: Floats, stream: np.random.Generator) -> Floats:
    r"""Draw the sum over the rows of each cell of the squared number of times that each was drawn.

    Of W draws from the N members of a group any two are equal with chance 1/N, and these events are independent in
    pairs, so that the number C of equal pairs has mean W (W - 1) / (2 N) and variance W (W - 1) / 2 (1/N) (1 - 1/N);
    the sum of squares is W + 2 C. C is drawn from the normal law with both, for all groups of a cell at once.

    Parameters
    ----------
    counts : (R, m, L) floats
        How many were drawn of the m groups of each cell.
    members : (m, L) floats
    stream : Generator

    Returns
    -------
    sums : (R, L) floats
    """
    pairs, chance = counts * (counts - 1) / 2, 1 / np.maximum(members, 1)
    mean = (pairs * chance).sum(axis=1)
    deviation = np.sqrt((pairs * (chance * (1 - chance))).sum(axis=1))
    equal = mean + deviation * stream.standard_normal(mean.shape)
    return counts.sum(axis=1) + 2 * equal.clip(0, pairs.sum(axis=1))


def add_up_cells(values: Floats, home: Ints, size: int) -> Floats:
    """Add up fine cells (R, G) to the coarse cells `home` (G,) that they are part of: (R, size)."""
    order = np.argsort(home, kind="stable")
    starts = np.flatnonzero(np.diff(home[order], prepend=-1))
    sums = np.zeros((len(values), size))
    sums[:, home[order][starts]] = np.add.reduceat(values[:, order], starts, axis=1)
    return sums
