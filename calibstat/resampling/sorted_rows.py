"""Rows in the order of one column, as far as cells of equal mass need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array, Bools, Floats, Ints
from calibstat.binnings.base import Cells
from calibstat.resampling.power_sums import PowerSums, add_up_terms, power_terms

# So many standard deviations about the rank of an edge are sorted: less than 1e-6 of the draws fall outside.
_DEVIATIONS = 5.0


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
        own, group_of = _sorted_runs(column, prediction, chance, degree)
        below, whole = _before(own, group_of[:0], own[:, :0]), own.sum(axis=1)
        left_out = np.zeros((len(ranks), 1), dtype=np.intp)
        return cls(own, below, whole, group_of, left_out, chance is prediction, column is prediction)

    @classmethod
    def near_edges(
        cls, column: Floats, prediction: Floats, chance: Array, ranks: Ints, cells: Cells, degree: int
    ) -> SortedRows | None:
        """Sort only rows near these ranks; those left out are added up, cell by cell.

        Parameters
        ----------
        column, prediction : (n,) floats
        chance : (n,) floats
        ranks : (L - 1,) ints
        cells : Cells
            Of the column, cut at these ranks.
        degree : int
            The highest power of predictions that is needed.

        Returns
        -------
        rows : SortedRows or None
            None if cells have no histogram, or if one holds several stretches of rows that are not near a rank.
        """
        numbered = cells.numbered
        if numbered is None or cells.edges is None:
            return None
        near = _steps_near(ranks, numbered.counts)
        rows, found = numbered.among(near), _Stretches.of(near, numbered.counts)
        home = np.searchsorted(numbered.number(cells.edges[1:-1]), found.step, side="left")
        if len(np.unique(home)) < len(home) or not len(rows):
            return None
        one, same = column[rows], chance is prediction
        p = one if column is prediction else prediction[rows]
        c = p if same else chance[rows]
        own, group_of = _sorted_runs(one, p, c, degree)
        all_cells = add_up_terms(cells.index, cells.size, prediction, chance, degree)
        far = all_cells - add_up_terms(cells.index[rows], cells.size, p, c, degree)
        stretches = np.concatenate([found.rows[None], far[:, home]])
        inner = found.kept_before < len(rows)
        below = _before(own, group_of[found.kept_before[inner]], stretches[:, inner])
        left_out = (found.rows_before < ranks[:, None]) @ found.rows
        whole = np.concatenate([[len(column)], all_cells.sum(axis=1)])
        return cls(own, below, whole, group_of, left_out[:, None], same, column is prediction)

    @property
    def n(self) -> int:
        """Number of rows."""
        return round(self.whole[0])

    def group_at(self, position: Floats) -> tuple[Ints, bool]:
        """Return the group at positions (L - 1, R) among the sorted rows, and whether some rows there are left out.

        Positions are between 0 and n, those of an edge near its rank.
        """
        row = np.clip(position.astype(np.intp) - self.left_out, 0, len(self.group_of) - 1)
        group = self.group_of[row]
        ahead = position - self.below[0][group]
        return group, bool(((ahead < 0) | (ahead > self.own[0][group])).any())

    def at(self, group: Ints) -> PowerSums:
        """Return the sums (k, ...) over groups."""
        return PowerSums(self.own[:, group], self.same)

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
            total[:-1] = below + share * own
            total[1:] -= below + own
        return PowerSums(np.maximum(sums, 0.0, out=sums), self.same)


@final
@dataclass(frozen=True, eq=False)
class _Stretches:
    """Stretches of rows that are left out, S of them.

    Parameters
    ----------
    step : (S,) ints
        The first step of the histogram in each.
    rows : (S,) ints
        How many rows it holds.
    rows_before, kept_before : (S,) ints
        How many rows stand before it, and how many of them are not left out.
    """

    step: Ints
    rows: Ints
    rows_before: Ints
    kept_before: Ints

    @classmethod
    def of(cls, near: Bools, counts: Ints) -> _Stretches:
        """Put together the steps between those near edges."""
        far = np.flatnonzero(~near & (counts > 0))
        _, first, which = np.unique(np.cumsum(near)[far], return_index=True, return_inverse=True)
        rows, step = np.bincount(which, counts[far]).astype(np.intp), far[first]
        kept = np.cumsum(np.where(near, counts, 0))
        return cls(step, rows, (np.cumsum(counts) - counts)[step], kept[step])


def _before(own: Floats, place: Ints, stretches: Floats) -> Floats:
    """Add up all groups before each, (k, G), and stretches that stand before the groups at `place`."""
    sums = np.zeros(own.shape)
    sums[:, 1:] = own[:, :-1]
    sums[:, place] += stretches
    return np.cumsum(sums, axis=1, out=sums)


def _steps_near(ranks: Ints, counts: Ints) -> Bools:
    """Tell which steps of a histogram hold rows that may stand at these ranks when rows are drawn with replacement."""
    n = counts.sum()
    reach = _DEVIATIONS * np.sqrt(ranks * (1 - ranks / n)) + _DEVIATIONS
    first, last = (np.searchsorted(np.cumsum(counts), ranks + side * reach, side="right") for side in (-1, 1))
    turns = np.zeros(len(counts) + 2)
    np.add.at(turns, first, 1)
    np.add.at(turns, last + 1, -1)
    near: Bools = np.cumsum(turns)[: len(counts)] > 0
    return near


def _sorted_runs(column: Floats, prediction: Floats, chance: Array, degree: int) -> tuple[Floats, Ints]:
    """Sort rows by a column and add up those of equal values, (k, G); return these and the group of each row."""
    if column is prediction and chance is prediction:
        column = prediction = chance = np.sort(prediction)
    else:
        order = np.argsort(column, kind="stable")
        same = chance is prediction
        column, prediction = column[order], prediction[order]
        chance = prediction if same else chance[order]
    sums = np.stack([np.ones(len(column)), *power_terms(prediction, chance, degree)])
    first = np.concatenate([[True], column[1:] != column[:-1]])
    if first.all():
        return sums, np.arange(len(column))
    return np.add.reduceat(sums, np.flatnonzero(first), axis=1), np.cumsum(first) - 1
