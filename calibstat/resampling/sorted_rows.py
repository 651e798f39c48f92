"""Rows in the order of one column, as far as cells of equal mass need them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from calibstat.arrays import Array, Bools, Floats, Ints
from calibstat.binnings.selection import N_STEPS, Numbered
from calibstat.resampling.moments import add_up, all_terms, terms

# So many standard deviations about the rank of an edge are sorted: less than 1e-8 of the draws fall outside.
_DEVIATIONS = 6.0


@final
@dataclass(frozen=True, eq=False)
class SortedRows:
    """Groups of rows in increasing order of one column; each group is one value of it, or a stretch of several.

    Parameters
    ----------
    own : (G, k) floats
        Sums over each group: of 1, c, p, p c, p^2, p^2 c (prediction p, chance c), or without those that repeat others.
    coarse : (G,) booleans
        Whether a group holds rows of several values, whose order is not known.
    by_prediction : bool
        Whether the column is the prediction itself, so that all rows of a value have the same.
    """

    own: Floats
    coarse: Bools
    by_prediction: bool = False

    @classmethod
    def of_all(cls, column: Floats, prediction: Floats, chance: Array) -> SortedRows:
        """Sort all rows."""
        own = _sorted_runs(column, prediction, chance)
        return cls(own, np.zeros(len(own), dtype=bool), column is prediction)

    @classmethod
    def near_ranks(
        cls, column: Floats, prediction: Floats, chance: Array, ranks: Ints, numbered: Numbered | None = None
    ) -> SortedRows:
        """Sort only rows near these ranks; the others are added up in the steps of a histogram (of the column)."""
        numbered = Numbered.of(column) if numbered is None else numbered
        if numbered is None:
            return cls.of_all(column, prediction, chance)
        steps = np.ascontiguousarray(add_up(numbered.step, N_STEPS, prediction, chance).T)
        counts, n = steps[:, 0], len(column)
        reach = _DEVIATIONS * np.sqrt(ranks * (1 - ranks / n)) + _DEVIATIONS
        first, last = (np.searchsorted(np.cumsum(counts), ranks + side * reach, side="right") for side in (-1, 1))
        turns = np.zeros(N_STEPS + 2)
        np.add.at(turns, first, 1)
        np.add.at(turns, last + 1, -1)
        chosen = np.cumsum(turns)[:N_STEPS] > 0
        rows = numbered.among(chosen)
        one, same = column[rows], chance is prediction
        p = one if column is prediction else prediction[rows]
        fine = _sorted_runs(one, p, p if same else chance[rows])
        # sorted rows fill their steps; each stretch of others stands before the sorted rows of higher steps
        stretches = np.flatnonzero(~chosen & (counts > 0))
        before = np.cumsum(np.where(chosen, counts, 0))[stretches]
        place = np.searchsorted(np.cumsum(fine[:, 0]), before, side="right")
        own = np.insert(fine, place, steps[stretches], axis=0)
        return cls(own, np.insert(np.zeros(len(fine), dtype=bool), place, True), column is prediction)

    @cached_property
    def below(self) -> Floats:
        """(G + 1, k) the same sums over all rows before each group, and over all."""
        return np.concatenate([np.zeros((1, self.own.shape[1])), np.cumsum(self.own, axis=0)])

    @cached_property
    def rows_below(self) -> Floats:
        """(G + 1,) the number of rows before each group, and of all."""
        return np.ascontiguousarray(self.below[:, 0])

    @property
    def n(self) -> int:
        """Number of rows."""
        return round(self.rows_below[-1])

    def group_at(self, position: Floats) -> Ints:
        """Return the group at positions 0 <= x <= n among the sorted rows."""
        found = np.searchsorted(self.rows_below, position, side="right") - 1
        return np.minimum(found, len(self.own) - 1)

    def between(self, first: Ints, position: Floats, group: Ints) -> Floats:
        """Return all sums (6, ...) from the beginning of groups up to positions, in proportion inside a group."""
        own = self.own[group]
        share = (position - self.rows_below[group]) / own[..., 0]
        return self._all_sums(self.below[group] - self.below[first] + share[..., None] * own)

    def of_groups(self, group: Ints) -> Floats:
        """Return all sums (6, ...) of groups."""
        return self._all_sums(self.own[group])

    def _all_sums(self, sums: Floats) -> Floats:
        return np.moveaxis(sums, -1, 0)[all_terms(sums.shape[-1] < 6)]


def _sorted_runs(column: Floats, prediction: Floats, chance: Array) -> Floats:
    """Sort rows by a column and add up those of equal values: (G, k)."""
    if column is prediction and chance is prediction:
        column = prediction = chance = np.sort(prediction)
    else:
        order = np.argsort(column, kind="stable")
        same = chance is prediction
        column, prediction = column[order], prediction[order]
        chance = prediction if same else chance[order]
    each = terms(prediction, chance)
    sums = np.empty((len(column), 1 + len(each)))
    sums[:, 0] = 1
    for number, term in enumerate(each):
        sums[:, 1 + number] = term
    starts = np.flatnonzero(np.concatenate([[True], column[1:] != column[:-1]]))
    return sums if len(starts) == len(column) else np.add.reduceat(sums, starts, axis=0)
