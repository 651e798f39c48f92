"""Rows whose turn to be bet on has not come."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.monitoring.base import UNKNOWN
from calibstat.monitoring.rows import WAITING


@dataclass(frozen=True, eq=False)
class Ready:
    """Rows to bet on now, in this order.

    Parameters
    ----------
    rows : (n, K) floats
    outcomes : (n,) ints
        Columns, or `UNKNOWN`.
    ids : sequence
    """

    rows: Floats
    outcomes: Ints
    ids: Sequence[Hashable]


@final
class WaitingRows:
    """Predictions in the order in which they were made, with the labels that have arrived.

    Parameters
    ----------
    n_classes : int
    in_order : bool
        Whether a row without a label holds those after it.
    """

    def __init__(self, n_classes: int, in_order: bool) -> None:
        self.n_classes = n_classes
        self.in_order = in_order
        self.entries: OrderedDict[Hashable, tuple[Floats, int]] = OrderedDict()
        self.unnamed = 0

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def first(self) -> Hashable:
        """The row that all others wait for."""
        return next(iter(self.entries))

    def awaits(self, name: Hashable) -> bool:
        """Whether a label with this id is waited for."""
        return name in self.entries and self.entries[name][1] == WAITING

    def room_needed(self, outcomes: Ints) -> int:
        """Return how many rows would wait after these were added."""
        if not self.in_order:
            return len(self) + int(np.count_nonzero(outcomes == WAITING))
        if len(self):
            return len(self) + len(outcomes)
        open_rows = np.flatnonzero(outcomes == WAITING)
        return len(outcomes) - int(open_rows[0]) if len(open_rows) else 0

    def add(self, rows: Floats, outcomes: Ints, ids: Sequence[Hashable]) -> Ready:
        """Add rows at the end, and return those whose turn has come."""
        if not len(self) and not (outcomes == WAITING).any():
            return Ready(rows, outcomes, ids)
        if not self.in_order:
            known = outcomes != WAITING
            for position in np.flatnonzero(~known).tolist():
                self.entries[ids[position]] = (rows[position].copy(), WAITING)
            return Ready(rows[known], outcomes[known], [ids[position] for position in np.flatnonzero(known).tolist()])
        for row, outcome, name in zip(rows, outcomes.tolist(), ids, strict=True):
            self.entries[self._named(name)] = (row.copy(), outcome)
        return self.pop()

    def _named(self, name: Hashable) -> Hashable:
        """Give a row whose label is known already, and which no one will ask for, a name that no user has."""
        if name is not None:
            return name
        self.unnamed += 1
        return ("unnamed", self.unnamed)

    def label(self, ids: Sequence[Hashable], outcomes: Ints) -> Ready:
        """Take labels that have arrived, and return the rows whose turn has come."""
        for name, outcome in zip(ids, outcomes.tolist(), strict=True):
            self.entries[name] = (self.entries[name][0], outcome)
        return self.pop() if self.in_order else self._taken(list(ids))

    def pop(self) -> Ready:
        """Take the rows from the front whose labels are known."""
        front = []
        for name, (_, outcome) in self.entries.items():
            if outcome == WAITING:
                break
            front.append(name)
        return self._taken(front)

    def give_up_beyond(self, most: int) -> Ready:
        """Count labels at the front as unknown until no more than `most` rows wait."""
        given_up = list(self.entries)[: max(len(self) - most, 0)]
        for name in given_up:
            if self.entries[name][1] == WAITING:
                self.entries[name] = (self.entries[name][0], UNKNOWN)
        return self.pop() if self.in_order else self._taken(given_up)

    def _taken(self, names: list[Hashable]) -> Ready:
        taken = [self.entries.pop(name) for name in names]
        rows = np.array([row for row, _ in taken]).reshape(-1, self.n_classes)
        return Ready(rows, np.array([outcome for _, outcome in taken], dtype=np.intp), [_own(name) for name in names])

    def state(self) -> dict[str, Array]:
        """Return everything as arrays by name."""
        entries = list(self.entries.values())
        return {
            "rows": np.array([row for row, _ in entries]).reshape(-1, self.n_classes),
            "outcomes": np.array([outcome for _, outcome in entries], dtype=np.int64),
            "ids": np.array(json.dumps([self.unnamed, list(self.entries)])),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over what `state` returned."""
        names: list[Any]
        self.unnamed, names = json.loads(str(state["ids"]))
        keys = [tuple(name) if isinstance(name, list) else name for name in names]
        values = zip(state["rows"], state["outcomes"].tolist(), strict=True)
        self.entries = OrderedDict(zip(keys, values, strict=True))


def _own(name: Hashable) -> Hashable:
    return None if isinstance(name, tuple) else name
