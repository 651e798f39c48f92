"""Rows that enter a monitor are checked, counted, and wait for their turn."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, final
from zlib import crc32

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted
from calibstat.data.arrays import Array, Bools, Floats, Ints, two_columns
from calibstat.data.checks import ROW_TOLERANCE, VALUE_TOLERANCE, as_rows, own
from calibstat.data.columns import ABSENT, as_array
from calibstat.data.sample import Predictions
from calibstat.lenses.base import Lens
from calibstat.monitoring._stored import expect, stored, stored_ints
from calibstat.monitoring.base import UNKNOWN

_MOST_REASONS = 100


@final
class Intake:
    """Checks a call of `Monitor` as a whole before anything changes, and yields rows when it is their turn."""

    def __init__(
        self,
        labels: Sequence[Hashable],
        order: str,
        max_waiting: int,
        when_full: str,
        bad_rows: str,
        models: Sequence[str] = (),
    ) -> None:
        self.models = models
        self.columns = {label: column for column, label in enumerate(labels)}
        self.max_waiting, self.when_full, self.bad_rows = max_waiting, when_full, bad_rows
        self.waiting = WaitingRows(len(labels) * max(1, len(models)), order == "prediction")
        self.n_seen = self.n_skipped = self.n_worst = 0
        self.fed = FedRows()
        self.last_id: Any = None
        self.reasons: list[str] = []

    def predictions(self, y_prob: Any, y_true: Any, given: Any) -> list[Ready]:
        """Take predictions, with labels where these are known."""
        rows, bad = self._read(y_prob)
        codes, wrong = self._labels(y_true, len(rows))
        ids = read_ids(given, len(rows))
        if given is None:
            open_rows = np.flatnonzero(codes == WAITING).tolist()
            why = "its label is missing, and without an id it cannot come later"
            wrong += [
                Complaint(row, why, "pass it in y_true, or id= for a label that comes later") for row in open_rows
            ]
            codes[open_rows] = UNKNOWN
        self._refuse(bad + wrong, ids)
        named, given_rows, given_codes = ids, rows, codes
        kept = np.ones(len(rows), dtype=bool)
        kept[[complaint.row for complaint in bad]] = False
        rows, codes, ids = rows[kept], codes[kept], [ids[row] for row in np.flatnonzero(kept).tolist()]
        self._refuse_taken(ids, codes)
        self._refuse_full(codes)
        self._note(bad + wrong, len(bad), len(kept))
        self.fed.add(named, given_rows, given_codes)
        ready = [self.waiting.add(rows, codes, ids)] if len(rows) else []
        if self.when_full == "worst label":
            ready.append(self.waiting.give_up_beyond(self.max_waiting))
        return [self._counted(each) for each in ready]

    def single(self, y_prob: Any, y_true: Any, given: Any) -> tuple[float, int] | None:
        """Take one row of two classes as `predictions` does, at the cost of one: P(the last label), and the outcome.

        None, and nothing is taken, unless no row waits, all is in order, and each is a number or text, or a list or an
        array of one.
        """
        event, label, name = _alone(y_prob), _alone(y_true), _alone(given)
        code = self.columns.get(label) if type(label) in (int, bool, str) else None
        if type(event) is not float or not 0.0 <= event <= 1.0 or code is None or type(name) not in _NAMES:
            return None
        if len(self.columns) != 2 or len(self.waiting):
            return None
        self.n_seen += 1
        self.last_id = name
        if name is not None:
            self.fed.add_one(name, np.array([1.0 - event, event]), code)
        return event, code

    def labels(self, y_true: Any, given: Any) -> list[Ready]:
        """Take labels of rows that wait."""
        if y_true is None or given is None:
            raise ValueError("nothing to do: pass y_prob, with or without y_true, or y_true with the id of each row")
        codes, wrong = codes_of_labels(y_true, self.columns)
        wrong += [Complaint(row, "the label is missing") for row in np.flatnonzero(codes == WAITING).tolist()]
        ids = self._awaited(given)
        self._refuse(wrong, ids)
        if len(ids) != len(codes):
            raise ValueError(
                f"y_true has {counted(len(codes), 'row')} and id has {len(ids)}: pass one id for each label"
            )
        self._note(wrong, 0, 0)
        come = np.flatnonzero(codes != WAITING)
        return [self._counted(self.waiting.label([ids[row] for row in come.tolist()], codes[come]))]

    def write_off(self, given: Any) -> list[Ready]:
        """Take rows that wait for labels that will never come."""
        ids = self._awaited(given)
        return [self._counted(self.waiting.label(ids, np.full(len(ids), UNKNOWN)))]

    def _read(self, y_prob: Any) -> tuple[Floats, list[Complaint]]:
        """Read predictions of one model (n, K), or of several side by side, with what is wrong with them."""
        if not self.models:
            return read_predictions(y_prob, len(self.columns))
        if not isinstance(y_prob, Mapping) or set(y_prob) != set(self.models):
            found = (
                f"predictions of {', '.join(map(repr, y_prob))}" if isinstance(y_prob, Mapping) else "something else"
            )
            first, second = self.models
            raise ValueError(
                f"y_prob is {found}; it must be a dictionary of the predictions of both models: {{{first!r}: ..., "
                f"{second!r}: ...}}"
            )
        parts = [read_predictions(y_prob[name], len(self.columns)) for name in self.models]
        lengths = [len(rows) for rows, _ in parts]
        if len(set(lengths)) > 1:
            raise ValueError(
                f"y_prob has {' and '.join(map(str, lengths))} rows, but both models predict the same rows"
            )
        bad = {
            each.row: Complaint(each.row, f"{name}: {each.reason}")
            for name, (_, complaints) in zip(self.models, parts, strict=True)
            for each in complaints
        }
        return np.concatenate([rows for rows, _ in parts], axis=1), list(bad.values())

    def _labels(self, y_true: Any, n_rows: int) -> tuple[Ints, list[Complaint]]:
        if y_true is None:
            return np.full(n_rows, WAITING), []
        codes, wrong = codes_of_labels(y_true, self.columns)
        if len(codes) != n_rows:
            raise ValueError(
                f"y_true has {counted(len(codes), 'row')} and y_prob has {n_rows}: pass one label for each"
            )
        return codes, wrong

    def _counted(self, ready: Ready) -> Ready:
        self.n_worst += int(np.count_nonzero(ready.outcomes == UNKNOWN))
        if len(ready.ids):
            self.last_id = ready.ids[-1]
        self.fed.settle(ready.ids, ready.outcomes)
        return ready

    def changes(self, ids: Sequence[Hashable], y_prob: Any, y_true: Any) -> list[str]:
        """Say which of these rows, of those remembered, had another label or prediction when they were fed.

        Predictions of which most are not those that were fed are refused.
        """
        rows, _ = self._read(y_prob)
        marks = _marks(rows)
        self._refuse_others(ids, marks)
        codes, _ = self._labels(y_true, len(rows))
        names = [*map(repr, self.columns), "none that is known"]  # the last one is that of UNKNOWN
        found = []
        for name, mark, code in zip(ids, marks, np.maximum(codes, UNKNOWN).tolist(), strict=True):
            before, was = self.fed.facts.get(name, (mark, WAITING))
            if was not in (WAITING, code):
                found.append(f"the label of {name!r} was {names[was]} and is {names[code]}")
            elif before != mark:
                found.append(f"the prediction of {name!r} was another one")
        return found

    def _refuse_others(self, ids: Sequence[Hashable], marks: Sequence[int]) -> None:
        known = ((name, mark) for name, mark in zip(ids, marks, strict=True) if name in self.fed.facts)
        differ = [self.fed.facts[name][0] != mark for name, mark in known]
        if 2 * sum(differ) > len(differ):
            raise OtherPredictionsError(
                f"{sum(differ)} of {counted(len(differ), 'row')} that the monitor has seen had other predictions: "
                "check that these are of the model that it watches, or begin a new state with all rows"
            )

    def _refuse(self, complaints: list[Complaint], ids: Sequence[Hashable]) -> None:
        if complaints and self.bad_rows == "raise":
            first = min(complaints, key=lambda complaint: complaint.row)
            name = ids[first.row] if first.row < len(ids) else None
            called = "" if name is None else f"id {name!r}, "
            raise ValueError(
                f"row {first.row} of this call ({called}row {self.n_seen + first.row} of all; rows count from 0): "
                f"{first.reason}. Nothing of this call was taken; {first.remedy}."
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
        if self.when_full == "raise" and needed > self.max_waiting:
            raise ValueError(
                f"{counted(needed, 'row')} would wait for labels, but max_waiting is {self.max_waiting}. Nothing of "
                "this call was taken; pass labels, write_off(id) those that will never come, or allow more."
            )

    def state(self) -> dict[str, Array]:
        """Return everything as arrays by name."""
        counts = np.array([self.n_seen, self.n_skipped, self.n_worst])
        texts = np.array(json.dumps([self.last_id, self.reasons]))
        return {"counts": counts, "texts": texts} | self.fed.state() | self.waiting.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over what `state` returned."""
        self.n_seen, self.n_skipped, self.n_worst = stored_ints(state, "counts", (3,)).tolist()
        self.last_id, self.reasons = json.loads(str(state["texts"]))
        expect(all(isinstance(each, str) for each in self.reasons), "reasons are texts")
        self.fed.restore(state)
        self.waiting.restore(state)
        codes = [code for _, code in (*self.waiting.entries.values(), *self.fed.facts.values())]
        expect(max(codes, default=0) < len(self.columns), "each label is one of those that are watched")


# Kinds of names of a single row; others are read with arrays.
_NAMES = {int, str, type(None)}


def _alone(given: Any) -> Any:
    """Return the only value of a list or an array of one, as a value of Python; a float of single precision stays."""
    if type(given) in (list, tuple) and len(given) == 1:
        given = given[0]
    if (type(given) is np.ndarray and given.shape == (1,)) or isinstance(given, np.generic):
        return given if given.dtype.char in "ef" else given.item()
    return given


def _twice(names: Sequence[Hashable]) -> Hashable:
    return next(name for name in names if list(names).count(name) > 1)


# Rows are read as probabilities and codes, with a complaint for each bad row.

WAITING = -2
"""The outcome of a row whose label may still arrive."""


@dataclass(frozen=True)
class Complaint:
    """The fault of a row, which is numbered within the call from 0, and what to do."""

    row: int
    reason: str
    remedy: str = "mend the row, or make the monitor with bad_rows='omit'"


class OtherPredictionsError(ValueError):
    """Most rows that were seen before had other predictions."""


def read_predictions(y_prob: Any, n_classes: int) -> tuple[Floats, list[Complaint]]:
    """Return (n, K) floats, and what is wrong with rows: missing values, values outside [0, 1], sums that are not one.

    One dimension is P(the last label) of two; of more labels, a single row. Nor need a single number be in a list. A
    wrong shape or type is a ValueError.
    """
    array = as_array("y_prob", _as_list(y_prob))
    raw = as_rows(array[None] if array.ndim == 1 and n_classes > 2 else array)
    rows = two_columns(own(raw))
    if rows.shape[1] != n_classes:
        raise ValueError(
            f"y_prob is for {rows.shape[1]} classes, but the monitor watches {n_classes}: "
            "pass one column for each of its labels"
        )
    with np.errstate(invalid="ignore"):
        missing: Bools = np.any(~np.isfinite(rows), axis=1)
        outside: Bools = np.any((rows < -VALUE_TOLERANCE) | (rows > 1 + VALUE_TOLERANCE), axis=1)
        sums = np.abs(rows.sum(axis=1) - 1) > ROW_TOLERANCE
    given = raw if raw.ndim == 2 else raw[:, None]
    return np.clip(rows, 0, 1), _complaints(given, missing, outside, sums)


def first_rows(y_prob: Any, n: int) -> Any:
    """Return the first `n` rows of predictions, of one model or of several by name."""
    return {name: rows[:n] for name, rows in y_prob.items()} if isinstance(y_prob, Mapping) else y_prob[:n]


def _as_list(given: Any) -> Any:
    """Put a single value into a list; what has no number of dimensions is refused where it is read as an array."""
    try:
        single = given is None or isinstance(given, str) or np.ndim(given) == 0
    except Exception:  # each library raises its own exception for what it cannot convert
        return given
    return [given] if single else given


def _complaints(given: Array, missing: Bools, outside: Bools, sums: Bools) -> list[Complaint]:
    found = []
    for row in np.flatnonzero(missing | outside | sums).tolist():
        values = ", ".join(f"{value:.6g}" for value in given[row, :5]) + (", ..." if given.shape[1] > 5 else "")
        if missing[row]:
            reason = f"y_prob is {values}: a probability is missing or infinite"
        elif outside[row]:
            reason = f"y_prob is {values}: probabilities lie between 0 and 1"
        else:
            reason = f"y_prob is {values}: a row must sum to 1"
        found.append(Complaint(row, reason))
    return found


def codes_of_labels(y_true: Any, labels: Mapping[Hashable, int]) -> tuple[Ints, list[Complaint]]:
    """Return codes (n,), `WAITING` where a label is missing, `UNKNOWN` and a complaint where it is none of the labels.

    None, NaN and an empty text are missing; `labels` maps each label to its column.
    """
    values = as_array("y_true", _as_list(y_true))
    if values.ndim != 1:
        raise ValueError(f"y_true has shape {values.shape}, but labels have one dimension: pass one for each row")
    items: list[Any] = values.tolist()
    codes = np.array([_code_of_label(item, labels) for item in items], dtype=np.intp)
    known = ", ".join(map(repr, list(labels)[:10]))
    bad = np.flatnonzero(codes == UNKNOWN).tolist()
    return codes, [Complaint(row, f"y_true is {items[row]!r}, which is none of the labels {known}") for row in bad]


def _code_of_label(item: Any, labels: Mapping[Hashable, int]) -> int:
    if type(item).__name__ in ABSENT or (isinstance(item, str) and not item):
        return WAITING
    try:
        return WAITING if item != item else labels.get(item, UNKNOWN)  # NaN is not itself
    except (TypeError, ValueError, ArithmeticError):  # what cannot be compared or looked up is no label
        return UNKNOWN


# Rows whose turn to be bet on has not come.


@dataclass(frozen=True, eq=False)
class Ready:
    """Rows to bet on now, in this order: predictions (n, K), outcomes (columns, or `UNKNOWN`) and ids."""

    rows: Floats
    outcomes: Ints
    ids: Sequence[Hashable]


@final
class WaitingRows:
    """Predictions in order with the labels that have arrived; `in_order`, a row without a label holds later ones."""

    def __init__(self, n_classes: int, in_order: bool) -> None:
        self.n_classes = n_classes
        self.in_order = in_order
        self.entries: OrderedDict[Hashable, tuple[Floats, int]] = OrderedDict()
        self.unnamed = 0

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def first(self) -> Hashable:
        """The id of the row that all others wait for."""
        return next(iter(self.entries))

    def awaits(self, name: Hashable) -> bool:
        """Whether the row with this id waits for its label."""
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
        outcomes = stored_ints(state, "outcomes", (len(keys),), WAITING, self.n_classes - 1)
        values = zip(stored(state, "rows", (len(keys), self.n_classes), 0, 1), outcomes.tolist(), strict=True)
        self.entries = OrderedDict(zip(keys, values, strict=True))


def _own(name: Hashable) -> Hashable:
    return None if isinstance(name, tuple) else name


# A monitor remembers the rows that it was fed, so that it passes over these and no others.

MOST_REMEMBERED = 10_000
_SHOWN = 5


@final
class FedRows:
    """The number of rows that were fed with an id, and what is known of the last `most` ones: ids, and `facts` by id.

    The facts are a checksum of the prediction, and the code of the label.
    """

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self.n = 0
        self.most = most
        self.ids: deque[Any] = deque()
        self.facts: dict[Any, tuple[int, int]] = {}

    def add(self, ids: Sequence[Any], rows: Floats, codes: Ints) -> None:
        """Remember rows; those without an id (None) are not counted."""
        named = [row for row, name in enumerate(ids) if name is not None]
        self.n += len(named)
        kept = named[-self.most :]
        while self.ids and len(self.ids) + len(kept) > self.most:
            self.facts.pop(self.ids.popleft(), None)
        self.ids.extend(ids[row] for row in kept)
        facts = zip(_marks(rows[kept]), codes[kept].tolist(), strict=True)
        self.facts.update(zip((ids[row] for row in kept), facts, strict=True))

    def add_one(self, name: Any, row: Floats, code: int) -> None:
        """Remember one row (K,) with an id, as `add` does."""
        self.n += 1
        if len(self.ids) == self.most:
            self.facts.pop(self.ids.popleft(), None)
        self.ids.append(name)
        self.facts[name] = crc32(row.tobytes()), code

    def settle(self, ids: Sequence[Any], codes: Ints) -> None:
        """Take note of the labels with which rows were bet on."""
        for name, code in zip(ids[-self.most :], codes[-self.most :].tolist(), strict=True):
            if name in self.facts:
                self.facts[name] = (self.facts[name][0], code)

    def seen_before(self, ids: Sequence[Any]) -> int:
        """Return how many of these increasing ids were fed; ids that may be new and out of order are a ValueError."""
        if not self.ids:
            return 0
        last, known = self.ids[-1], set(self.ids)
        strangers = [name for name in ids if isinstance(name, str) != isinstance(last, str)]
        if strangers:
            raise TypeError(
                f"id {strangers[0]!r} is of another kind than {last!r}, where the monitor stopped, so that neither is "
                "the later one: pass ids as they were fed"
            )
        old = [name for name in ids if name <= last]
        strange = [name for name in old if name not in known]
        forgotten = self.n > len(self.ids)
        unsure = [name for name in strange if forgotten and name < self.ids[0]]
        if len(unsure) < len(strange):
            raise ValueError(_never_bet_on(sorted(set(strange) - set(unsure)), last))
        if unsure and len(old) != self.n:
            raise ValueError(
                f"{counted(len(unsure), 'row', 'is', 'are')} older than the {len(self.ids)} that the monitor "
                f"remembers, up to {last!r}; it was fed {self.n} rows, and here are {len(old)} up to there. Pass all "
                f"of them, or none older than {self.ids[0]!r}: it could not tell whether one was never bet on."
            )
        return len(old)

    def state(self) -> dict[str, Array]:
        """Return everything as arrays by name."""
        facts = [self.facts.get(name, (0, WAITING)) for name in self.ids]
        return {
            "fed": np.array(json.dumps([self.n, list(self.ids)])),
            "facts": np.array(facts, dtype=np.int64).reshape(-1, 2),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over what `state` returned."""
        self.n, ids = json.loads(str(state["fed"]))
        expect(isinstance(self.n, int) and self.n >= len(ids) <= self.most, "rows that are remembered were fed")
        self.ids = deque(ids)
        known = stored_ints(state, "facts", (len(ids), 2), WAITING).tolist() if "facts" in state else []
        self.facts = {name: (mark, code) for name, (mark, code) in zip(ids, known, strict=False)}


def _marks(rows: Floats) -> list[int]:
    """Return a checksum of each row (n, K)."""
    return [crc32(row) for row in np.ascontiguousarray(rows)]


def _never_bet_on(names: list[Any], last: Any) -> str:
    shown = ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
    rows, were = counted(len(names), "row", "is", "are"), "was" if len(names) == 1 else "were"
    return (
        f"{rows} older than {last!r}, where the state stopped, and {were} never bet on: "
        f"{shown}. To leave out what comes late is not valid, because it may be special. Begin a new state with all "
        "rows in their order; or number what came late after the others, if lateness has nothing to do with labels."
    )


# Settings of a monitor, and ids of rows.


def plain_labels(labels: Sequence[Any]) -> tuple[Any, ...]:
    """Return labels as integers, booleans and texts of Python, whatever array they come from; they must differ."""
    plain = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
    if len(plain) < 2 or len(set(plain)) < len(plain) or not all(isinstance(each, (int, str)) for each in plain):
        raise ValueError(f"labels is {plain!r}, but at least two different integers, booleans or texts are expected")
    return plain


def induced_classes(lens: Lens, labels: Sequence[Hashable]) -> int:
    """Return the number of outcomes behind a lens, and refuse a lens that conditions on a variable."""
    seen = lens.look(Predictions(np.full((1, len(labels)), 1 / len(labels)), tuple(labels))).predictions
    if seen.given != (...,):
        raise ValueError(f"{lens!r} conditions on {seen.given}, but a monitor bets on predictions alone: leave it out")
    return seen.n_classes


def read_ids(given: Any, n_rows: int | None) -> list[Hashable]:
    """Return the ids as plain integers, numbers or texts, one for each row; None for each row if there are none."""
    if given is None:
        return [None] * (n_rows or 0)
    array = as_array("id", _as_list(given))
    ids: list[Any] = array.tolist()
    if array.ndim != 1 or (n_rows is not None and len(ids) != n_rows):
        raise ValueError(f"id has shape {array.shape}, but one for each of the {n_rows or 'labels'} rows is expected")
    for row, name in enumerate(ids):
        if not isinstance(name, (int, float, str)) or name != name:
            raise TypeError(f"id is {name!r} in row {row}, but integers, numbers or texts are expected")
    return ids
