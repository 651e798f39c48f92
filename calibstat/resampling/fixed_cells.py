"""Rows drawn with replacement, seen by cells that stay: how many of each cell and label, whole.

The numbers of rows with and without the event in each cell are multinomial, which is exact; only the sums of
predictions and of squared residuals are drawn from a normal law (see `Moments`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.estimators.tally import Tally
from calibstat.resampling.moments import Moments
from calibstat.resampling.streams import blocks

# Replicates of cells are drawn in blocks as if each had so many rows: 1000 replicates, or fewer of many cells.
_AS_MANY_ROWS = 262


@final
@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows drawn with replacement: replicates (R, L) of what each cell holds.

    Parameters
    ----------
    rows, events, prediction : (R, L) floats
        Number of rows, number of events, sum of predictions.
    repeats : (R, L) floats
        Sum over rows of their squared weights: one for each row drawn, or, where rows that were drawn several times
        count as one of more weight, the squared number of times.
    square : (R, L) floats
        Sum of squared residuals, empty unless asked for.
    """

    rows: Floats
    events: Floats
    prediction: Floats
    repeats: Floats
    square: Floats = field(default_factory=lambda: np.empty(0))

    def tally(self) -> Tally:
        """Turn them into a tally."""
        return Tally(self.rows, self.prediction[..., None], self.events[..., None], self.repeats, self.square)

    def each(self, change: Callable[[Floats], Floats]) -> Drawn:
        """Change all sums that there are."""
        parts = (self.rows, self.events, self.prediction, self.repeats, self.square)
        return Drawn(*(change(part) if part.size else part for part in parts))

    def first(self, kept: int) -> Drawn:
        """Return the first replicates."""
        return self.each(lambda part: part[:kept])

    def added(self, home: Ints, size: int) -> Drawn:
        """Add up fine cells to the coarse cells `home` (L,) that they are part of."""
        return self.each(lambda part: add_up_cells(part, home, size))


def cell_blocks(
    n_resamples: int, n_cells: int, rng: np.random.Generator
) -> Iterator[tuple[np.random.Generator, int, int]]:
    """Split replicates of cells into blocks, as `blocks` does those of rows."""
    return blocks(n_resamples, max(_AS_MANY_ROWS, n_cells), rng)


def draw_fixed(
    moments: Moments, n_resamples: int, rng: np.random.Generator, *, repeats: bool = False, squares: bool = False
) -> Iterator[Drawn]:
    """Draw as many rows as there are, with replacement, and count them in cells (L,), some replicates at a time.

    Parameters
    ----------
    moments : Moments
    n_resamples : int
    rng : Generator
    repeats : bool
        Whether rows that were drawn several times count as one of more weight (`Drawn.repeats`); for observed labels.
    squares : bool
        Whether to draw `Drawn.square`.
    """
    members = np.stack([moments.events, np.maximum(moments.rows - moments.events, 0.0)])
    n, occupied = int(moments.rows.sum()), members.ravel() > 0
    chances = members.ravel()[occupied] / members.sum()
    for stream, size, kept in cell_blocks(n_resamples, members.size, rng):
        drawn = np.zeros((members.size, size))  # cell by cell in memory, where sums over replicates are fast
        drawn[occupied] = stream.multinomial(n, chances, size=size).T
        counts = drawn.reshape(*members.shape, size).transpose(2, 0, 1)
        rows, events = counts[:, 0] + counts[:, 1], counts[:, 0]
        prediction, square = moments.draw(rows, events, stream, squares)
        weight2 = sum_of_squares(counts, members, stream) if repeats else rows
        yield Drawn(rows, events, prediction, weight2, square).first(kept)


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
    each, chance = np.moveaxis(counts, 1, 0), 1 / np.maximum(members, 1)[:, None]
    among = each * (each - 1)  # twice the number of pairs
    mean, variance = ((among * factor).sum(axis=0) for factor in (chance, 2 * chance * (1 - chance)))
    noise = np.sqrt(variance)
    noise *= stream.standard_normal(noise.shape)
    return each.sum(axis=0) + (mean + noise).clip(0, among.sum(axis=0))


def add_up_cells(values: Floats, home: Ints, size: int) -> Floats:
    """Add up fine cells (R, G) to the coarse cells `home` (G,) that they are part of: (R, size)."""
    order = np.argsort(home, kind="stable")
    starts = np.flatnonzero(np.diff(home[order], prepend=-1))
    sums = np.zeros((len(values), size))
    sums[:, home[order][starts]] = np.add.reduceat(values[:, order], starts, axis=1)
    return sums
