"""Rows drawn with replacement and cut anew into cells of equal mass, in each replicate, without a sort.

Sorted, n rows drawn with replacement are n uniform order statistics read off the sorted rows of the sample. Those at
the edges are sums of gamma variables, divided by the sum of all; between two edges the rest are independent and
uniform. Copies of the row at an edge stay below it, as ties do when rows are cut. All numbers of rows and labels so had
are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.binnings.base import Cells
from calibstat.resampling.fixed_cells import Drawn, cell_blocks
from calibstat.resampling.moments import Moments, RowLaw
from calibstat.resampling.power_sums import PowerSums, degree_for
from calibstat.resampling.sorted_rows import SortedRows

# From so many rows on only those near the edges are sorted.
_MANY = 50_000
# Binomial numbers of up to so many rows are counted row by row.
_FEW = 12


@final
@dataclass(frozen=True, eq=False)
class Edges:
    """Where replicates are cut into L cells: each but the last ends with a row, and takes the copies of this row.

    Edge after edge, so that the replicates of one read a short stretch of the sorted rows.

    Parameters
    ----------
    group : (L - 1, R) ints
        The group of sorted rows that a cell ends in.
    position : (L - 1, R) floats
        Where among the sorted rows.
    inside : (L, R) ints
        How many rows of a cell are drawn before this group.
    copies : (L - 1, R) ints
        How many are drawn from the group, or zero where a cell before has taken them: then the cell is empty.
    """

    group: Ints
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
    cells: Cells | None = None,
    *,
    squares: bool = False,
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
    cells : Cells, optional
        Those of the sample, cut at these ranks; with their histogram, many rows need not be sorted.
    squares : bool
        Whether to draw `Drawn.square`.
    """
    rows, degree = None, degree_for(squares)
    if cells is not None and len(column) >= _MANY:
        rows = SortedRows.near_edges(column, prediction, chance, ranks, cells, degree)
    if rows is None:
        rows = SortedRows.of_all(column, prediction, chance, ranks, degree)
    for stream, size, kept in cell_blocks(n_resamples, 6 * (len(ranks) + 1), rng):
        beginning = stream.bit_generator.state
        edges = _draw_edges(rows, ranks, size, stream)
        if edges is None:  # an edge fell where rows are left out: sort all, draw the same
            rows, stream.bit_generator.state = SortedRows.of_all(column, prediction, chance, ranks, degree), beginning
            edges = _draw_edges(rows, ranks, size, stream)
        assert edges is not None, "all rows are sorted"
        yield _fill(rows, edges, stream, squares).first(kept)


def _draw_edges(rows: SortedRows, ranks: Ints, size: int, stream: np.random.Generator) -> Edges | None:
    """Draw where replicates are cut; None if it is among rows that are left out."""
    between = np.diff(ranks, prepend=0, append=rows.n + 1)[:, None] - 1  # so many rows stand between two edges
    passed = np.cumsum(stream.standard_gamma(between + 1.0, (len(between), size)), axis=0)
    position = rows.n * (passed[:-1] / passed[-1])
    group, some_left_out = rows.group_at(position)
    if some_left_out:
        return None
    # rows between that fall into the group of the edge below them
    reach = rows.below[0][group] + rows.own[0][group] - position
    room = np.diff(position, axis=0, append=rows.n)
    share = np.divide(reach, room, out=np.ones(room.shape), where=room > 0).clip(0, 1)
    found = stream.binomial(between[1:], share)
    copies, inside = 1 + found, np.broadcast_to(between, (len(between), size)).copy()
    inside[1:] -= found
    _hand_back(copies, group[1:] == group[:-1])
    return Edges(group, position, inside, copies)


def _hand_back(copies: Ints, again: Array) -> None:
    """Give the copies of an edge to the edge before it, where both are in one group."""
    for edge in np.flatnonzero(again.any(axis=1))[::-1]:
        copies[edge] += np.where(again[edge], copies[edge + 1], 0)
        copies[edge + 1][again[edge]] = 0


def _fill(rows: SortedRows, edges: Edges, stream: np.random.Generator, squares: bool) -> Drawn:
    """Draw labels, predictions and squared residuals of the rows of each cell: those inside, and copies at its edge."""
    inside = _draw_part(rows.between(edges.group, edges.position), edges.inside, stream, squares)
    of_edges = _draw_part(rows.at(edges.group), edges.copies, stream, squares, rows.by_prediction)
    parts = zip((edges.inside.astype(float), *inside), (edges.copies, *of_edges), strict=True)
    total, events, prediction, square = (_join(*part).T for part in parts)
    return Drawn(total, events, prediction, total, square)


def _join(inside: Floats, of_edge: Array) -> Floats:
    if inside.size:
        inside[:-1] += of_edge
    return inside


def _draw_part(
    sums: PowerSums, count: Ints, stream: np.random.Generator, squares: bool, equal: bool = False
) -> tuple[Floats, Floats, Floats]:
    """Draw events, sum of predictions and of squared residuals of so many rows with these sums (k, L, R)."""
    rows, chances = sums.total(0), sums.of_events(0)
    chance = np.divide(chances, rows, out=np.zeros(count.shape), where=rows > 0).clip(0, 1)
    events = _draw_events(count, chance, stream)
    law = RowLaw.of_value(sums.total(1) / rows) if equal else None
    moments = Moments.from_sums(sums) if law is None else Moments(rows, chances, law, law)
    return events, *moments.draw(count, events, stream, squares)


def _draw_events(count: Ints, chance: Floats, stream: np.random.Generator) -> Floats:
    """Draw binomial numbers; of few rows, as copies at edges mostly are, one by one, which is faster."""
    most = int(count.max(initial=0))
    if most > _FEW:
        return stream.binomial(count, chance).astype(float)
    happened = stream.random((most, *count.shape)) < chance
    happened &= np.arange(most).reshape(-1, *[1] * count.ndim) < count
    return happened.sum(axis=0, dtype=float)
