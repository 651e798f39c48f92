"""Rows in the order of one column, as far as cells of equal mass need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array, Bools, Floats, Ints
from calibstat.binnings.base import Cells
from calibstat.resampling.power_sums import PowerSums, add_up_terms, power_terms


@final
@dataclass(frozen=True, eq=False)
class SortedRows:
    """Groups of rows with equal values of one column, in increasing order; stretches of rows between may be left out.

    Sums are those of `PowerSums`.

    Parameters
    ----------
    own : (k, G) floats
        Sums over each group.
    below : (k, G) floats
        Sums over all rows before each group, those left out among them.
    whole : (k,) floats
        Sums over all rows.
    group_of : (m,) ints
        The group of each sorted row that is not left out.
    left_out : (L - 1, 1) ints
        How many rows are left out before the rank of each edge.
    same : bool
        As in `PowerSums`.
    by_prediction : bool
        Whether the column is the prediction itself, so that all rows of a group have the same.
    """

    own: Floats
    below: Floats
    whole: Floats
    group_of: Ints
    left_out: Ints
    same: bool
    by_prediction: bool

    @classmethod
    def of_all(cls, column: Floats, prediction: Floats, chance: Array, ranks: Ints, degree: int) -> SortedRows:
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
        window: tuple[Ints, Ints],
        cells: Cells | None,
        degree: int,
        prediction_sums: Floats | None = None,
    ) -> SortedRows | None:
        """Sort only rows that edges may fall on; those left out are added up, cell by cell.

        Parameters
        ----------
        column, prediction : (n,) floats
        chance : (n,) floats
        window : two (L - 1,) ints
            The lowest and the highest rank of each edge, 0..n-1; the sample's own is between.
        cells : Cells or None
            Of the column.
        degree : int
            The highest power of predictions that is needed.
        prediction_sums : (L,) floats, optional
            The sum of predictions of each cell, where it is known.

        Returns
        -------
        rows : SortedRows or None
            None if there is no histogram, or if a cell holds several stretches of rows that are left out.
        """
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
        """Return the sums (k, L, R) from the end of the group of each edge (L - 1, R) to the next edge's position.

        Inside the group of an edge they grow in proportion.
        """
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
    """Stretches of rows that are left out, S of them, since no edge falls there.

    Parameters
    ----------
    near : (N_STEPS,) bools
        The steps of the histogram whose rows are not left out.
    step : (S,) ints
        The first step of each stretch.
    rows : (S,) ints
        How many rows it holds.
    rows_before, kept_before : (S,) ints
        How many rows stand before it, and how many of them are not left out.
    """

    near: Bools
    step: Ints
    rows: Ints
    rows_before: Ints
    kept_before: Ints

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
