"""What goes into a monitor: rows are checked, counted, and made to wait for their turn."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibstat.arrays import Array, Ints
from calibstat.monitoring.arguments import read_ids
from calibstat.monitoring.base import UNKNOWN
from calibstat.monitoring.fed_rows import FedRows
from calibstat.monitoring.rows import WAITING, Complaint, read_labels, read_predictions
from calibstat.monitoring.waiting import Ready, WaitingRows

_MOST_REASONS = 100


@dataclass(frozen=True)
class Rules:
    """How rows are taken; the names are those of `Monitor`."""

    labels: tuple[Hashable, ...]
    order: str
    max_waiting: int
    when_full: str
    bad_rows: str


@final
class Intake:
    """Checks a call as a whole before anything changes, and hands out rows when it is their turn.

    Parameters
    ----------
    rules : Rules
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.columns = {label: column for column, label in enumerate(rules.labels)}
        self.waiting = WaitingRows(len(rules.labels), rules.order == "prediction")
        self.n_seen = self.n_skipped = self.n_worst = 0
        self.fed = FedRows()
        self.last_id: Any = None
        self.reasons: list[str] = []

    def predictions(self, y_prob: Any, y_true: Any, given: Any) -> list[Ready]:
        """Take predictions, with labels where these are known."""
        rows, bad = read_predictions(y_prob, len(self.rules.labels))
        codes, wrong = self._labels(y_true, len(rows))
        ids = read_ids(given, len(rows))
        if given is None:
            open_rows = np.flatnonzero(codes == WAITING).tolist()
            wrong += [
                Complaint(row, "its label is missing, and without an id it cannot come later") for row in open_rows
            ]
            codes[open_rows] = UNKNOWN
        self._refuse(bad + wrong, ids)
        named = ids
        kept = np.ones(len(rows), dtype=bool)
        kept[[complaint.row for complaint in bad]] = False
        rows, codes, ids = rows[kept], codes[kept], [ids[row] for row in np.flatnonzero(kept).tolist()]
        self._refuse_taken(ids, codes)
        self._refuse_full(codes)
        self._note(bad + wrong, len(bad), len(kept))
        self.fed.add(named)
        ready = [self.waiting.add(rows, codes, ids)] if len(rows) else []
        if self.rules.when_full == "worst label":
            ready.append(self.waiting.give_up_beyond(self.rules.max_waiting))
        return [self._counted(each) for each in ready]

    def labels(self, y_true: Any, given: Any) -> list[Ready]:
        """Take labels of rows that wait."""
        if y_true is None or given is None:
            raise ValueError("nothing to do: pass y_prob, with or without y_true, or y_true with the id of each row")
        codes, wrong = read_labels(y_true, self.columns)
        wrong += [Complaint(row, "the label is missing") for row in np.flatnonzero(codes == WAITING).tolist()]
        ids = self._awaited(given)
        self._refuse(wrong, ids)
        if len(ids) != len(codes):
            raise ValueError(f"y_true has {len(codes)} rows and id has {len(ids)}: pass one id for each label")
        self._note(wrong, 0, 0)
        come = np.flatnonzero(codes != WAITING)
        return [self._counted(self.waiting.label([ids[row] for row in come.tolist()], codes[come]))]

    def write_off(self, given: Any) -> list[Ready]:
        """Take rows that wait for labels that will never come."""
        ids = self._awaited(given)
        return [self._counted(self.waiting.label(ids, np.full(len(ids), UNKNOWN)))]

    def _labels(self, y_true: Any, n_rows: int) -> tuple[Ints, list[Complaint]]:
        if y_true is None:
            return np.full(n_rows, WAITING), []
        codes, wrong = read_labels(y_true, self.columns)
        if len(codes) != n_rows:
            raise ValueError(f"y_true has {len(codes)} rows and y_prob has {n_rows}: pass one label for each")
        return codes, wrong

    def _counted(self, ready: Ready) -> Ready:
        self.n_worst += int(np.count_nonzero(ready.outcomes == UNKNOWN))
        if len(ready.ids):
            self.last_id = ready.ids[-1]
        return ready

    def _refuse(self, complaints: list[Complaint], ids: Sequence[Hashable]) -> None:
        if complaints and self.rules.bad_rows == "raise":
            first = min(complaints, key=lambda complaint: complaint.row)
            name = ids[first.row] if first.row < len(ids) else None
            called = "" if name is None else f"id {name!r}, "
            raise ValueError(
                f"row {first.row} of this call ({called}row {self.n_seen + first.row} of all; rows count from 0): "
                f"{first.reason}. Nothing of this call was taken; mend the row, or make the monitor with "
                "bad_rows='skip'."
            )

    def _note(self, complaints: list[Complaint], n_skipped: int, n_new: int) -> None:
        """Count what is wrong, and keep the first reasons."""
        self.n_skipped += n_skipped
        texts = [f"row {self.n_seen + each.row}: {each.reason}" for each in complaints]
        self.reasons += texts[: max(_MOST_REASONS - len(self.reasons), 0)]
        self.n_seen += n_new

    def _awaited(self, given: Any) -> list[Hashable]:
        ids = read_ids(given, None)
        for name in ids:
            if not self.waiting.awaits(name):
                raise ValueError(f"no row with id {name!r} waits for a label: it was never passed, or has its label")
        if len(set(ids)) < len(ids):
            raise ValueError(f"the id {_twice(ids)!r} occurs twice: pass one label for each")
        return ids

    def _refuse_taken(self, ids: Sequence[Hashable], codes: Ints) -> None:
        if not len(self.waiting) and not (codes == WAITING).any():
            return
        named = [name for name in ids if name is not None]
        taken = [name for name in named if name in self.waiting.entries]
        if taken or len(set(named)) < len(named):
            name = taken[0] if taken else _twice(named)
            raise ValueError(f"id {name!r} is that of another row that waits: ids must differ")

    def _refuse_full(self, codes: Ints) -> None:
        needed = self.waiting.room_needed(codes)
        if self.rules.when_full == "raise" and needed > self.rules.max_waiting:
            raise ValueError(
                f"{needed} rows would wait for labels, but max_waiting is {self.rules.max_waiting}. Nothing of this "
                "call was taken; pass labels, write_off(id) those that will never come, or allow more."
            )

    def state(self) -> dict[str, Array]:
        """Return everything as arrays by name."""
        counts = np.array([self.n_seen, self.n_skipped, self.n_worst])
        texts = np.array(json.dumps([self.last_id, self.reasons]))
        return {"counts": counts, "texts": texts} | self.fed.state() | self.waiting.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over what `state` returned."""
        self.n_seen, self.n_skipped, self.n_worst = (int(count) for count in state["counts"])
        self.last_id, self.reasons = json.loads(str(state["texts"]))
        self.fed.restore(state)
        self.waiting.restore(state)


def _twice(names: Sequence[Hashable]) -> Hashable:
    return next(name for name in names if list(names).count(name) > 1)
