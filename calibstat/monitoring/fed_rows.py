"""Which rows a monitor was fed, as far as it remembers: to pass over what it has seen, and nothing else."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from calibstat.arrays import Array

MOST_REMEMBERED = 10_000
_SHOWN = 5


@final
class FedRows:
    """The number of rows that were fed with an id, and the ids of the last ones.

    Parameters
    ----------
    most : int
        So many ids are remembered.
    """

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self.n = 0
        self.ids: deque[Any] = deque(maxlen=most)

    def add(self, ids: Sequence[Any]) -> None:
        """Remember rows; those without an id (None) are not counted."""
        named = [name for name in ids if name is not None]
        self.n += len(named)
        self.ids.extend(named)

    def seen_before(self, ids: Sequence[Any]) -> int:
        """Return how many of these ids, which increase, are of rows that were fed.

        Raises
        ------
        ValueError
            If some are not after the last one that was fed, and were not fed; or if that cannot be told.
        """
        if not self.ids:
            return 0
        last, known = self.ids[-1], set(self.ids)
        old = [name for name in ids if name <= last]
        strange = [name for name in old if name not in known]
        forgotten = self.n > len(self.ids)
        unsure = [name for name in strange if forgotten and name < self.ids[0]]
        if len(unsure) < len(strange):
            raise ValueError(_never_bet_on(sorted(set(strange) - set(unsure)), last))
        if unsure and len(old) != self.n:
            raise ValueError(
                f"{len(unsure)} rows are older than the {len(self.ids)} that the monitor remembers, up to {last!r}; it "
                f"was fed {self.n} rows, and here are {len(old)} up to there. Pass all of them, or none older than "
                f"{self.ids[0]!r}: it could not tell whether one was never bet on."
            )
        return len(old)

    def state(self) -> dict[str, Array]:
        """Return everything as arrays by name."""
        return {"fed": np.array(json.dumps([self.n, list(self.ids)]))}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over what `state` returned."""
        self.n, ids = json.loads(str(state["fed"]))
        self.ids = deque(ids, maxlen=self.ids.maxlen)


def _never_bet_on(names: list[Any], last: Any) -> str:
    shown = ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
    rows, were = ("1 row is", "was") if len(names) == 1 else (f"{len(names)} rows are", "were")
    return (
        f"{rows} older than {last!r}, where the state stopped, and {were} never bet on: "
        f"{shown}. To leave out what comes late is not valid, because it may be special. Begin a new state with all "
        "rows in their order; or number what came late after the others, if lateness has nothing to do with labels."
    )
