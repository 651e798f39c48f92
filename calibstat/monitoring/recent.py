"""The rows around an alarm, which are kept to find where the change began."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import numpy as np

from calibstat.data.arrays import Array, Floats, Ints
from calibstat.monitoring._stored import expect, stored_ints, stored_rows

MOST_RECENT = 10_000
"""The largest number of rows that are kept before the alarm, and after it."""
_MOST_NUMBERS = 2_000_000


@final
class RecentRows:
    """Rows that were bet on: the last ones before the alarm and the first ones after it, at most `most` of each.

    Which rows are kept depends on their number and on the row of the alarm alone, not on how they are fed.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.most = max(1, min(MOST_RECENT, _MOST_NUMBERS // width))
        self.first, self.n_held, self.alarm_row = 0, 0, 0
        self.held = [(np.empty((0, width)), np.empty(0, dtype=np.intp))]

    def add(self, chances: Floats, outcomes: Ints) -> None:
        """Add rows (n, k) and their outcomes (n,)."""
        if not self.alarm_row or self.first + self.n_held < self.alarm_row + self.most:
            self.held.append((chances, outcomes))
            self.n_held += len(outcomes)

    def trim(self, alarm_row: int) -> None:
        """Take note of the alarm (0: none so far), and now and then leave out rows that are far from it."""
        self.alarm_row = alarm_row
        if self.n_held > 3 * self.most:
            self.kept()

    def kept(self) -> tuple[Floats, Ints]:
        """Return the rows that are kept and their outcomes, and leave out all others."""
        chances = np.concatenate([each for each, _ in self.held])
        outcomes = np.concatenate([each for _, each in self.held])
        end = self.first + len(outcomes)
        centre = self.alarm_row or end
        end, first = min(end, centre + self.most), max(self.first, min(centre, end) - self.most)
        kept = slice(first - self.first, end - self.first)
        self.held, self.first, self.n_held = [(chances[kept].copy(), outcomes[kept])], first, end - first
        return self.held[0]

    def state(self) -> dict[str, Array]:
        """Return everything as arrays by name."""
        chances, outcomes = self.kept()
        place = np.array([self.first, self.alarm_row])
        return {"recent_chances": chances, "recent_outcomes": outcomes, "recent_place": place}

    def restore(self, state: Mapping[str, Array], n_rows: int, n_outcomes: int) -> None:
        """Take over what `state` returned; an older state, of so many rows, has kept none."""
        if "recent_place" in state:
            self.held = [stored_rows(state, "recent", self.width, n_outcomes)]
            self.first, self.alarm_row = stored_ints(state, "recent_place", (2,)).tolist()
        else:
            self.first = n_rows
        self.n_held = len(self.held[0][1])
        end = self.first + self.n_held
        expect(end <= n_rows if self.alarm_row else end == n_rows, "the last rows are kept until the alarm")
