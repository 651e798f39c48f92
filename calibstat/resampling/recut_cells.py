"""Rows drawn with replacement and cut anew into cells of equal mass, in each replicate, without a sort.

Sorted, n rows drawn with replacement are n uniform order statistics read off the sorted rows of the sample. Those at
the edges are sums of gamma variables, divided by the sum of all; between two edges the rest are independent and
uniform. Copies of the row at an edge stay below it, as ties do when rows are cut. All numbers of rows and labels so had
are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.binnings.base import Cells
from calibstat.estimators.tally import ratio
from calibstat.resampling.binomials import draw_binomial
from calibstat.resampling.fixed_cells import Drawn, cell_blocks
from calibstat.resampling.moments import Moments
from calibstat.resampling.power_sums import PowerSums, degree_for
from calibstat.resampling.sorted_rows import SortedRows

# From so many rows on only those near the edges are sorted.
_MANY = 50_000

# So many standard deviations about the rank of an edge are sorted where what the first block of replicates needs does
# not serve the next ones: less than 1e-6 of the draws fall outside.
_DEVIATIONS = 5.0


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
    prediction_sums: Floats | None = None,
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
    prediction_sums : (L,) floats, optional
        The sum of predictions of each of these cells, where it is known.
    """
    n, degree, some = len(column), degree_for(squares), cells if len(column) >= _MANY else None
    rows, group, deviations = None, None, 0.0
    for stream, size, kept in cell_blocks(n_resamples, 6 * (len(ranks) + 1), rng):
        position = _draw_positions(n, ranks, size, stream)
        if rows is not None:
            group = rows.group_at(position)
        if rows is None or group is None:
            window = _window(n, ranks, position, deviations)
            rows = SortedRows.near_edges(column, prediction, chance, window, some, degree, prediction_sums)
            rows = rows or SortedRows.of_all(column, prediction, chance, ranks, degree)
            group, deviations = rows.group_at(position), _DEVIATIONS
        assert group is not None, "all rows that edges fall on are sorted"
        edges = _draw_edges(rows, ranks, position, group, stream)
        yield _fill(rows, edges, stream, squares).first(kept)


def _draw_positions(n: int, ranks: Ints, size: int, stream: np.random.Generator) -> Floats:
    """Draw where among the sorted rows replicates are cut, (L - 1, R) numbers between 0 and n."""
    between = np.diff(ranks, prepend=0, append=n + 1)[:, None]
    passed = stream.standard_gamma(between.astype(float), (len(between), size))
    for before, after in pairwise(passed):  # edge by edge: many times as fast as a sum along the first axis
        after += before
    return passed[:-1] * (n / passed[-1])


def _window(n: int, ranks: Ints, position: Floats, deviations: float) -> tuple[Ints, Ints]:
    """Return the lowest and highest rank of each edge: as drawn, and so many standard deviations about its own."""
    reach = deviations * np.sqrt(ranks * (1 - ranks / n)) + deviations
    lowest = np.minimum(position.min(axis=1), ranks - 1 - reach)
    highest = np.maximum(position.max(axis=1), ranks + reach)
    return np.maximum(lowest, 0).astype(np.intp), np.minimum(highest, n - 1).astype(np.intp)


def _draw_edges(rows: SortedRows, ranks: Ints, position: Floats, group: Ints, stream: np.random.Generator) -> Edges:
    """Draw what is cut at these positions: the rows before the groups of the edges, and the copies of these."""
    between = np.diff(ranks, prepend=0, append=rows.n + 1)[:, None] - 1  # so many rows stand between two edges
    # rows between that fall into the group of the edge below them
    reach = rows.below[0][group] + rows.own[0][group] - position
    room = np.diff(position, axis=0, append=rows.n)
    found = draw_binomial(between[1:], ratio(np.clip(reach, 0.0, room), room), stream)
    inside = np.repeat(between, position.shape[1], axis=1)
    inside[1:] -= found
    copies = _hand_back(1 + found, group)
    return Edges(group, position, inside, copies)


def _hand_back(copies: Ints, group: Ints) -> Ints:
    """Give the copies of an edge to the edge before it, where both are in one group."""
    again = group[1:] == group[:-1]
    for edge in np.flatnonzero(again.any(axis=1))[::-1]:
        copies[edge] += np.where(again[edge], copies[edge + 1], 0)
        copies[edge + 1][again[edge]] = 0
    return copies


def _fill(rows: SortedRows, edges: Edges, stream: np.random.Generator, squares: bool) -> Drawn:
    """Draw labels, predictions and squared residuals of the rows of each cell: those inside, and copies at its edge."""
    inside = _draw_part(rows.between(edges.group, edges.position), edges.inside, stream, squares)
    draw_copies = _draw_equal if rows.by_prediction else _draw_part
    of_edges = draw_copies(rows.at(edges.group), edges.copies, stream, squares)
    parts = zip((edges.inside.astype(float), *inside), (edges.copies, *of_edges), strict=True)
    total, events, prediction, square = (_join(*part).T for part in parts)
    return Drawn(total, events, prediction, total, square)


def _join(inside: Floats, of_edge: Array) -> Floats:
    if inside.size:
        inside[:-1] += of_edge
    return inside


def _draw_part(
    sums: PowerSums, count: Ints, stream: np.random.Generator, squares: bool
) -> tuple[Floats, Floats, Floats]:
    """Draw events, sum of predictions and of squared residuals of so many rows with these sums (k, L, R)."""
    moments = Moments.from_sums(sums)
    events = draw_binomial(count, ratio(moments.events, moments.rows).clip(0, 1), stream).astype(float)
    return events, *moments.draw(count, events, stream, squares)


def _draw_equal(
    sums: PowerSums, count: Ints, stream: np.random.Generator, squares: bool
) -> tuple[Floats, Floats, Floats]:
    """Do the same for rows of equal predictions, whose sums need no normal law."""
    rows = sums.total(0)
    events = draw_binomial(count, (sums.of_events(0) / rows).clip(0, 1), stream).astype(float)
    value = sums.total(1) / rows
    square = events * (1 - value) ** 2 + (count - events) * value**2 if squares else np.empty(0)
    return events, count * value, square
