"""Rows drawn with replacement and cut anew into cells of equal mass, in each replicate, without a sort.

Sorted, n rows drawn with replacement are n uniform order statistics read off the sorted rows of the sample. Those at
the edges are sums of gamma variables, divided by the sum of all; between two edges the rest are independent and
uniform. Copies of the row at an edge stay below it, as ties do when rows are cut. All numbers of rows and labels drawn
in this way are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Cells
from calibstat.data.arrays import Array, Bools, Floats, Ints
from calibstat.draws.moments import (
    DrawnCells,
    Moments,
    PowerSums,
    add_up_terms,
    degree_for,
    numbers_for_cells,
    power_terms,
)
from calibstat.draws.streams import draw_blocks
from calibstat.estimators.tally import ratio

# From this many rows on, only those near the edges are sorted.
_ROWS_FOR_SELECTION = 50_000
# So many standard deviations about the rank of an edge are sorted where what the first block of replicates needs does
# not serve the next ones: less than 1e-6 of the draws fall outside.
_DEVIATIONS = 5.0


@final
@dataclass(frozen=True, eq=False)
class Edges:
    """Where replicates are cut into L cells: each but the last ends with a row, and takes the copies of this row.

    Edge after edge, so that the replicates of one read a short stretch of the sorted rows.
    """

    group: Ints  # (L - 1, R), the group of sorted rows that a cell ends in
    position: Floats  # (L - 1, R), where among the sorted rows
    inside: Ints  # (L, R), how many rows of a cell are drawn before this group
    copies: Ints  # (L - 1, R), drawn from the group; 0 where a cell before has taken them: then the cell is empty


def draw_recut(
    column: Floats,  # (n,), what is cut; `prediction` itself, where it is
    prediction: Floats,
    chance: Array,  # (n,), of the event
    ranks: Ints,  # (L - 1,), as in `Cells.ranks`
    n_resamples: int,
    rng: np.random.Generator,
    cells: Cells | None = None,  # of the sample, cut at these ranks; with their histogram, many rows need not be sorted
    *,
    squares: bool = False,  # whether to draw `DrawnCells.square`
    prediction_sums: Floats | None = None,  # (L,), of these cells, where known
) -> Iterator[DrawnCells]:
    """Draw as many rows as there are, with replacement, and cut them at `ranks`, as ``EqualMass`` cuts a sample."""
    n, degree, some = len(column), degree_for(squares), cells if len(column) >= _ROWS_FOR_SELECTION else None
    rows: RowsInOrder | None = None
    deviations = 0.0

    def cut_anew(stream: np.random.Generator, size: int, kept: int) -> DrawnCells:
        nonlocal rows, deviations
        position = _draw_positions(n, ranks, size, stream)
        group = None if rows is None else rows.group_at(position)
        if rows is None or group is None:
            window = _window(n, ranks, position, deviations)
            rows = RowsInOrder.near_edges(column, prediction, chance, window, some, degree, prediction_sums)
            rows = rows or RowsInOrder.of_all(column, prediction, chance, ranks, degree)
            group, deviations = rows.group_at(position), _DEVIATIONS
        assert group is not None, "all rows that edges fall on are sorted"
        edges = _draw_edges(rows, ranks, position, group, stream)
        return _fill(rows, edges, stream, squares).first(kept)

    return draw_blocks(cut_anew, n_resamples, numbers_for_cells(6 * (len(ranks) + 1)), rng, one_by_one=True)


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


def _draw_edges(rows: RowsInOrder, ranks: Ints, position: Floats, group: Ints, stream: np.random.Generator) -> Edges:
    """Draw what is cut at these positions: the rows before the groups of the edges, and the copies of these."""
    between = np.diff(ranks, prepend=0, append=rows.n + 1)[:, None] - 1  # the number of rows between two edges
    # rows between that fall into the group of the edge below them
    reach = rows.below[0][group] + rows.own[0][group] - position
    room = np.diff(position, axis=0, append=rows.n)
    found = stream.binomial(between[1:], ratio(np.clip(reach, 0.0, room), room))
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


def _fill(rows: RowsInOrder, edges: Edges, stream: np.random.Generator, squares: bool) -> DrawnCells:
    """Draw labels, predictions and squared residuals of the rows of each cell: those inside, and copies at its edge."""
    inside = _draw_part(rows.between(edges.group, edges.position), edges.inside, stream, squares)
    draw_copies = _draw_equal if rows.by_prediction else _draw_part
    of_edges = draw_copies(rows.at(edges.group), edges.copies, stream, squares)
    parts = list(zip((edges.inside.astype(float), *inside), (edges.copies, *of_edges), strict=True))
    for within, of_edge in parts:
        if within.size:
            within[:-1] += of_edge
    total, events, prediction, square = (within.T for within, _ in parts)
    return DrawnCells(total, events, prediction, total, square)


def _draw_part(
    sums: PowerSums, count: Ints, stream: np.random.Generator, squares: bool
) -> tuple[Floats, Floats, Floats]:
    """Draw events, sum of predictions and of squared residuals of so many rows with these sums (k, L, R)."""
    moments = Moments.from_sums(sums)
    events = stream.binomial(count, ratio(moments.events, moments.rows).clip(0, 1)).astype(float)
    return events, *moments.draw(count, events, stream, squares)


def _draw_equal(
    sums: PowerSums, count: Ints, stream: np.random.Generator, squares: bool
) -> tuple[Floats, Floats, Floats]:
    """Do the same for rows of equal predictions, whose sums need no normal law."""
    rows = sums.total(0)
    events = stream.binomial(count, (sums.of_events(0) / rows).clip(0, 1)).astype(float)
    value = sums.total(1) / rows
    square = events * (1 - value) ** 2 + (count - events) * value**2 if squares else np.empty(0)
    return events, count * value, square


@final
@dataclass(frozen=True, eq=False)
class RowsInOrder:
    """Groups of rows with equal values of one column, in increasing order; stretches of rows between may be left out.

    Only rows that edges of cells of equal mass may fall on are needed. Sums are those of `PowerSums`.
    """

    own: Floats  # (k, G), sums over each group
    below: Floats  # (k, G), sums over all rows before each group, those left out among them
    whole: Floats  # (k,), sums over all rows
    group_of: Ints  # (m,), the group of each sorted row that is not left out
    left_out: Ints  # (L - 1, 1), how many rows are left out before the rank of each edge
    same: bool  # as in `PowerSums`
    by_prediction: bool  # whether the column is the prediction itself, so that all rows of a group have the same

    @classmethod
    def of_all(cls, column: Floats, prediction: Floats, chance: Array, ranks: Ints, degree: int) -> RowsInOrder:
        """Sort all rows."""
        _, own, group_of = _sorted_runs(column, prediction, chance, degree)
        reached = _reached(own)
        below, whole = reached[:, :-1], reached[:, -1]
        left_out = np.zeros((len(ranks), 1), dtype=np.intp)
        return cls(own, below, whole, group_of, left_out, chance is prediction, column is prediction)

    @classmethod
    def near_edges(
        cls,
        column: Floats,
        prediction: Floats,
        chance: Array,
        window: tuple[Ints, Ints],  # (L - 1,) each, lowest and highest rank of each edge, 0..n-1, about the sample's
        cells: Cells | None,  # of the column
        degree: int,  # the highest power of predictions that is needed
        prediction_sums: Floats | None = None,  # (L,), of each cell, where known
    ) -> RowsInOrder | None:
        """Sort only rows that edges may fall on, and add up the others by cell; None if a histogram cannot do that."""
        if cells is None or cells.numbered is None or cells.edges is None:
            return None
        numbered = cells.numbered
        found = _Stretches.of(*window, numbered.counts)
        rows = numbered.among(found.near)
        home = np.searchsorted(numbered.number(cells.edges[1:-1]), found.step, side="left")
        if (home[1:] == home[:-1]).any() or not len(rows):
            return None
        one, same = column[rows], chance is prediction
        p = one if column is prediction else prediction[rows]
        c = p if same else chance[rows]
        values, own, group_of = _sorted_runs(one, p, c, degree)
        reached = _reached(own)
        ends = np.searchsorted(values, cells.edges[1:-1], side="right")
        all_cells = add_up_terms(cells.index, cells.size, prediction, chance, degree, prediction_sums)
        far = all_cells - np.diff(reached[1:, ends], axis=1, prepend=0.0, append=reached[1:, -1:])
        stretches = np.concatenate([found.rows[None], far[:, home]])
        inner = found.kept_before < len(rows)
        below = _lifted(reached[:, :-1], group_of[found.kept_before[inner]], stretches[:, inner])
        left_out = (found.rows_before <= window[0][:, None]) @ found.rows
        whole = np.concatenate([[len(column)], all_cells.sum(axis=1)])
        return cls(own, below, whole, group_of, left_out[:, None], same, column is prediction)

    @property
    def n(self) -> int:
        """Number of rows."""
        return round(self.whole[0])

    def group_at(self, position: Floats) -> Ints | None:
        """Return the group at positions (L - 1, R), from 0 to n, among the sorted rows; None if some are left out."""
        row = np.clip(position.astype(np.intp) - self.left_out, 0, len(self.group_of) - 1)
        group = self.group_of[row]
        ahead = position - self.below[0][group]
        return None if ((ahead < 0) | (ahead > self.own[0][group])).any() else group

    def at(self, group: Ints) -> PowerSums:
        """Return the sums (k, ...) over groups."""
        return PowerSums(np.stack([own[group] for own in self.own]), self.same)

    def between(self, group: Ints, position: Floats) -> PowerSums:
        """Return the sums (k, L, R) from the end of each edge's group to the next edge; in a group they grow evenly."""
        n_edges, n_replicates = group.shape
        sums = np.empty((len(self.own), n_edges + 1, n_replicates))
        sums[:, -1] = self.whole[:, None]
        share = (position - self.below[0][group]) / self.own[0][group]
        for total, all_below, all_own in zip(sums, self.below, self.own, strict=True):
            below, own = all_below[group], all_own[group]
            np.add(below, share * own, out=total[:-1])
            total[1:] -= below + own
        return PowerSums(np.maximum(sums, 0.0, out=sums), self.same)


@final
@dataclass(frozen=True, eq=False)
class _Stretches:
    """Stretches of rows that are left out, S of them, since no edge falls there."""

    near: Bools  # (N_STEPS,), the steps of the histogram whose rows are not left out
    step: Ints  # (S,), the first step of each stretch
    rows: Ints  # (S,), how many rows it holds
    rows_before: Ints  # (S,), how many rows stand before it
    kept_before: Ints  # (S,), how many of those are not left out

    @classmethod
    def of(cls, lowest: Ints, highest: Ints, counts: Ints) -> _Stretches:
        """Leave out the steps whose rows do not stand at ranks from the lowest to the highest of some edge."""
        reached = np.cumsum(counts)
        n = reached[-1]
        first, last = (np.searchsorted(reached, ranks, side="right") for ranks in (lowest, highest))
        near = np.zeros(len(counts), dtype=bool)
        for start, stop in zip(first, last, strict=True):
            near[start : stop + 1] = True
        rows_before = np.concatenate([[0], reached[last]])  # each edge is followed by a stretch, some of no rows
        rows = np.maximum(np.append(reached[first] - counts[first], n) - rows_before, 0)
        kept_before = rows_before - (np.cumsum(rows) - rows)
        some = rows > 0
        step = np.concatenate([[0], last + 1])
        return cls(near, step[some], rows[some], rows_before[some], kept_before[some])


def _reached(own: Floats) -> Floats:
    """Add up all groups before each, and all of them, (k, G + 1)."""
    sums = np.zeros((len(own), own.shape[1] + 1))
    np.cumsum(own, axis=1, out=sums[:, 1:])
    return sums


def _lifted(below: Floats, place: Ints, stretches: Floats) -> Floats:
    """Add stretches (k, S) that stand before the groups at `place`, in place."""
    for start, stop, more in zip(place, [*place[1:], None], np.cumsum(stretches, axis=1).T, strict=True):
        below[:, start:stop] += more[:, None]
    return below


def _sorted_runs(column: Floats, prediction: Floats, chance: Array, degree: int) -> tuple[Floats, Floats, Ints]:
    """Sort rows by a column and add up those of equal values: these values, sums (k, G), and the group of each row."""
    if column is prediction and chance is prediction:
        column = prediction = chance = np.sort(prediction)
    else:
        order = np.argsort(column, kind="stable")
        same = chance is prediction
        column, prediction = column[order], prediction[order]
        chance = prediction if same else chance[order]
    sums = np.stack([np.ones(len(column)), *power_terms(prediction, chance, degree)])
    new = column[1:] != column[:-1]
    if new.all():
        return column, sums, np.arange(len(column))
    starts = np.concatenate([[0], np.flatnonzero(new) + 1])
    return column[starts], np.add.reduceat(sums, starts, axis=1), np.cumsum(np.concatenate([[0], new]))
