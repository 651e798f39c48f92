"""Rows drawn with replacement and cut anew into cells of equal mass, in each replicate, without a sort.

Sorted, n rows drawn with replacement are n uniform order statistics read off the sorted rows of the sample. Those at
the edges follow one another as beta variables; between two edges the rest are independent and uniform. Copies of the
row at an edge stay below it, as ties do when rows are cut. All numbers of rows and labels so had are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.binnings.selection import Numbered
from calibstat.resampling.fixed_cells import Drawn, cell_blocks
from calibstat.resampling.moments import Moments
from calibstat.resampling.sorted_rows import SortedRows

# From so many rows on only those near the edges are sorted.
_MANY = 50_000


@final
@dataclass(frozen=True, eq=False)
class Borders:
    """Where replicates (R, L) are cut: each cell holds rows between two positions, and copies of its last row.

    Parameters
    ----------
    first : (R, L) ints
        The group of sorted rows that a cell begins with.
    last : (R, L) ints
        The group that the cell ends in, and whose copies it takes.
    position : (R, L) floats
        Where in this group.
    inside, copies : (R, L) ints
        How many rows are drawn before the position, and how many copies of the last row.
    """

    first: Ints
    last: Ints
    position: Floats
    inside: Ints
    copies: Ints


def draw_recut(
    column: Floats,
    prediction: Floats,
    chance: Array,
    ranks: Ints,
    n_resamples: int,
    rng: np.random.Generator,
    numbered: Numbered | None = None,
) -> Iterator[Drawn]:
    """Draw as many rows as there are, with replacement, and cut them at `ranks`, as ``EqualMass`` cuts a sample.

    Parameters
    ----------
    column : (n,) floats
        What is cut; `prediction` itself, where it is.
    prediction : (n,) floats
    chance : (n,) floats
        Of the event, in each row.
    ranks : (L - 1,) ints
        As in `Cells.ranks`.
    n_resamples : int
    rng : Generator
    numbered : Numbered, optional
        The histogram of `column`, if the caller has it.
    """
    some = len(column) >= _MANY
    rows = SortedRows.near_ranks(column, prediction, chance, ranks, numbered) if some else None
    rows = SortedRows.of_all(column, prediction, chance) if rows is None else rows
    for stream, size, kept in cell_blocks(n_resamples, 6 * (len(ranks) + 1), rng):
        beginning = stream.bit_generator.state
        borders = _draw_borders(rows, ranks, size, stream)
        if rows.coarse[borders.last[:, :-1]].any():  # an edge fell where rows are not sorted: sort all, draw the same
            rows, stream.bit_generator.state = SortedRows.of_all(column, prediction, chance), beginning
            borders = _draw_borders(rows, ranks, size, stream)
        yield _fill(rows, borders, stream).first(kept)


def _draw_borders(rows: SortedRows, ranks: Ints, size: int, stream: np.random.Generator) -> Borders:
    """Go from edge to edge; `taken` rows are already in a cell, all of them in groups before `start`."""
    n, n_cells = rows.n, len(ranks) + 1
    found = Borders(*(np.zeros((size, n_cells), dtype=kind) for kind in (np.intp, np.intp, float, np.intp, np.intp)))
    start, taken = np.zeros(size, dtype=np.intp), np.zeros(size, dtype=np.intp)
    for cell, rank in enumerate(ranks):
        origin = rows.rows_below[start]
        ahead = rank - taken
        cut = ahead > 0  # else copies of the last row already reach beyond this rank, and the cell is empty
        ahead = np.maximum(ahead, 1)
        behind = np.maximum(n - taken - ahead, 0)
        lower, upper = stream.standard_gamma(ahead), stream.standard_gamma(behind + 1.0)
        position = np.minimum(origin + (n - origin) * (lower / (lower + upper)), n)
        group = np.maximum(rows.group_at(position), np.minimum(start, len(rows.own) - 1))
        end = rows.rows_below[group + 1]
        chance = np.divide(end - position, n - position, out=np.ones(size), where=n > position)
        copies = 1 + stream.binomial(behind, chance.clip(0, 1))
        found.first[:, cell], found.last[:, cell] = start, np.where(cut, group, start - 1)
        found.position[:, cell] = np.where(cut, position, origin)
        found.inside[:, cell], found.copies[:, cell] = np.where(cut, ahead - 1, 0), np.where(cut, copies, 0)
        start = np.where(cut, group + 1, start)
        taken = np.where(cut, taken + ahead - 1 + copies, taken)
    found.first[:, -1], found.last[:, -1] = start, len(rows.own) - 1
    found.position[:, -1], found.inside[:, -1] = n, n - taken
    return found


def _fill(rows: SortedRows, borders: Borders, stream: np.random.Generator) -> Drawn:
    """Draw labels and predictions of the rows of each cell."""
    last = np.maximum(borders.last, 0)
    between = rows.between(borders.first, borders.position, last)
    events, prediction = _draw_part(np.maximum(between, 0.0), borders.inside, stream)
    of_last, predicted_of_last = _draw_part(rows.of_groups(last), borders.copies, stream, rows.by_prediction)
    total = (borders.inside + borders.copies).astype(float)
    return Drawn(total, events + of_last, prediction + predicted_of_last, total)


def _draw_part(sums: Floats, count: Ints, stream: np.random.Generator, equal: bool = False) -> tuple[Floats, Floats]:
    """Draw the number of events, and the sum of predictions, of so many rows with these sums (6, R, L)."""
    chance = np.divide(sums[1], sums[0], out=np.zeros(count.shape), where=sums[0] > 0).clip(0, 1)
    events = stream.binomial(count, chance).astype(float)
    if equal:
        return events, count * (sums[2] / sums[0])
    return events, Moments.from_sums(sums).sum_of_predictions(count, events, stream)
