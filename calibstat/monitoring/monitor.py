"""Is the model still calibrated? Evidence that may be looked at after every row."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from math import exp, isfinite, log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from calibstat._screen import Screen
from calibstat._text import counted
from calibstat._warn import warn
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.parameters import LEVEL, Count, HasParameters, Share
from calibstat.data.sample import Predictions
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical, TopLabel
from calibstat.lenses.words import in_words
from calibstat.monitoring.base import UNKNOWN, Bets, Part, collect, distribute
from calibstat.monitoring.change import Change, located, tilted_gains
from calibstat.monitoring.intake import Intake, Ready, WaitingRows, induced_classes, plain_labels, read_ids
from calibstat.monitoring.kernel_bets import KernelBets
from calibstat.monitoring.likelihood_ratio import LikelihoodRatioBets
from calibstat.monitoring.state import expect_same, made_of, read_state, write_state

if TYPE_CHECKING:
    import xarray as xr


@final
@dataclass(eq=False, repr=False)
class Monitor(HasParameters):
    """Monitor a model: rows are fed in as they come, and E measures the evidence against calibration.

    The null: given the past, each label seen through the lens follows its prediction. E starts at 1, and under the
    null the probability that it *ever* reaches 1 / level is at most the level (Ville 1939), however often one looks.
    Unlike other objects of the package a monitor changes as it is fed.

    Bets on rows are in the order of their predictions. A row whose label has not arrived holds the rows after it:
    betting in the order in which labels arrive is valid only if the delay does not depend on the label;
    ``order="arrival"`` assumes this and says so.

    Parameters
    ----------
    lens : Lens
        By default the whole prediction.
    labels : sequence
        The label of each column of predictions; with two, one dimension is P(the last label).
    bets : Bets, optional
        `LikelihoodRatioBets()` for two outcomes behind the lens, and `KernelBets()` for more, unless given.
    level : float
        Probability of a false alarm, ever.
    order : {"prediction", "arrival"}
        The order in which rows are bet on.
    max_waiting : int
        The largest number of rows that wait for labels.
    when_full : {"raise", "worst label"}
        What to do with more waiting rows: refuse the call and change nothing, or count the oldest rows with the label
        that is worst for E. (Leaving them out would not be valid, because slow labels may differ from others.)
    bad_rows : {"raise", "skip"}
        Refuse a call with a bad row, and change nothing; or leave out rows with bad predictions, and count rows with
        a label that is missing or none of `labels` with the worst one.
    name : str
        Of the model; a state is refused by a monitor of another name.

    Raises
    ------
    ValueError, TypeError
        If a setting is not among those described; the message says what is expected.

    Examples
    --------
    >>> import numpy as np
    >>> from calibstat.monitoring.monitor import Monitor
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(3000)
    >>> monitor = Monitor()
    >>> monitor.update(p[:1000], rng.random(1000) < p[:1000])
    False
    >>> monitor.update(p[1000:], rng.random(2000) < p[1000:] ** 1.5)
    True
    >>> monitor.alarm_row > 1000
    True
    """

    lens: Lens = field(default_factory=Canonical)
    labels: Sequence[Hashable] = (0, 1)
    bets: Bets | None = None
    level: Share = LEVEL
    order: Literal["prediction", "arrival"] = "prediction"
    max_waiting: Count = 100_000
    when_full: Literal["raise", "worst label"] = "raise"
    bad_rows: Literal["raise", "skip"] = "raise"
    name: str = ""

    def __post_init__(self) -> None:
        self.labels = plain_labels(self.labels)
        self.n_classes = induced_classes(self.lens, self.labels)
        if self.bets is None:
            self.bets = LikelihoodRatioBets() if self.n_classes == 2 else KernelBets()
        self._path = EvidencePath(-log(self.level))
        self._sums = EventSums()
        self._change: tuple[int, Change | None] = (0, None)  # the rows that were looked at, and what was found
        self._bettor = self.bets.start(self.n_classes)
        self._intake = Intake(self.labels, self.order, self.max_waiting, self.when_full, self.bad_rows)

    def update(self, y_prob: Any = None, y_true: Any = None, *, id: Any = None) -> bool:  # noqa: A002
        """Feed rows: predictions with their labels, predictions whose labels will come, or labels that have come.

        Parameters
        ----------
        y_prob : (n,) or (n, K) floats, or a single number, optional
            Predictions, in the order in which they were made. Without them, labels of rows that wait.
        y_true : (n,) labels, or a single one, optional
            None, NaN or an empty text where the label has not arrived.
        id : (n,) integers, numbers or texts, or a single one
            Names of the rows; needed where a label comes later.

        Returns
        -------
        alarm : bool
            Whether the alarm has been raised, now or before.

        Raises
        ------
        ValueError
            If a row is bad (with its number), an id is unknown or taken, or too many rows would wait. Nothing that
            was fed before is lost, and nothing of this call is taken.
        """
        single = self._intake.single(y_prob, y_true, id) if not self.lens.parts else None
        if single is not None:
            self._path.add_one(self._bettor.bet_on_one(*single))
            self._sums.add_one(*single)
            self._bettor.recent.trim(self._path.alarm_row)
            return self.alarm
        ready = self._intake.labels(y_true, id) if y_prob is None else self._intake.predictions(y_prob, y_true, id)
        return self._bet_on(ready)

    def write_off(self, id: Any) -> bool:  # noqa: A002
        """Count rows that wait with the label that is worst for E, because theirs will never come.

        Valid even if it is the label that keeps it from coming; do not decide it by the labels of later rows.

        Parameters
        ----------
        id : (n,) ids, or a single one

        Returns
        -------
        alarm : bool
        """
        return self._bet_on(self._intake.write_off(id))

    def awaits(self, id: Hashable) -> bool:  # noqa: A002
        """Return whether the row with this id waits for its label."""
        return self._intake.waiting.awaits(id)

    def seen_before(self, id: Any, y_prob: Any = None, y_true: Any = None) -> int:  # noqa: A002
        """Return how many of these rows were fed before, where ids increase in the order of predictions.

        Parameters
        ----------
        id : (n,) ids, increasing
        y_prob, y_true : optional
            The rows themselves. If what was fed is not what stands here now, a warning says so: a bet is not taken
            back.

        Raises
        ------
        ValueError
            If a row is older than the last one that was fed, and was never fed itself: to leave it out would not be
            valid. The ids of the last 10 000 rows are remembered, and the number of all.
        """
        ids = read_ids(id, None)
        n = self._intake.fed.seen_before(ids)
        compared = n > 0 and y_prob is not None and y_true is not None
        changes = self._intake.changes(ids[:n], y_prob[:n], y_true[:n]) if compared else []
        if changes:
            warn(
                f"{counted(len(changes), 'row')} that the monitor has seen changed since; first, {changes[0]}. E stays "
                "that of what it saw: begin a new state with all rows to bet on what stands here"
            )
        return n

    def _bet_on(self, parts: list[Ready]) -> bool:
        """Look at rows whose turn has come through the lens, and bet on what is seen, part by part."""
        for ready in parts:
            if len(ready.outcomes):
                view = self.lens.look(Predictions(ready.rows, tuple(self.labels)))
                # Codes behind a lens may be of a kind that holds no negative numbers, and UNKNOWN is one.
                outcomes = view.outcomes(np.maximum(ready.outcomes, 0)).astype(np.intp)
                outcomes[view.weights(ready.outcomes == UNKNOWN)] = UNKNOWN
                if len(outcomes):
                    self._path.add(self._bettor.bet(view.predictions.chances, outcomes))
                    self._sums.add(*_event_of(view.predictions.chances, outcomes))
                    self._bettor.recent.trim(self._path.alarm_row)
        return self.alarm

    @property
    def alarm(self) -> bool:
        """Whether E has ever reached 1 / level."""
        return self._path.alarm_row > 0

    @property
    def alarm_row(self) -> int | None:
        """The row that raised the alarm, counting from 1 the rows that were bet on; None if there is no alarm."""
        return self._path.alarm_row or None

    @property
    def change(self) -> Change | None:
        """The row at which the change began that raised the alarm: `row`, and an interval of 95 % from `low` to `high`.

        It is found among the last 10 000 rows before the alarm with the help of as many after it, and is for a change
        that came at once: of a slow drift, the interval tells when it had grown. None without an alarm, and where
        neither shifts nor slopes of log-odds explain it.
        """
        if not self.alarm:
            return None
        seen = self.n_rows if self.n_rows < self._path.alarm_row + self._bettor.recent.most else -1
        if self._change[0] != seen:
            first, chances, outcomes = self._bettor.around(self._path.alarm_row)
            gains = tilted_gains(chances, outcomes)
            self._change = seen, located(gains, first, self._path.alarm_row)
        return self._change[1]

    @property
    def log_e(self) -> float:
        """Natural logarithm of E now."""
        return self._path.last

    @property
    def e_value(self) -> float:
        """E now; infinite beyond floats, or once a label of chance zero has come."""
        return exp(self.log_e) if self.log_e < log(1e308) else float("inf")

    @property
    def pvalue(self) -> float:
        """1 / the largest E so far: a p-value that stays valid however often one looks."""
        return exp(-self._path.largest)

    @property
    def n_rows(self) -> int:
        """Number of rows that were bet on."""
        return self._path.n_rows

    @property
    def n_waiting(self) -> int:
        """Number of rows that wait, for their own label or for one before."""
        return len(self._intake.waiting)

    @property
    def verdict(self) -> str:
        """A sentence or two: an alarm with what was predicted and what happened, or no evidence so far."""
        lens = self.lens if self.n_classes == 2 else self.lens | TopLabel()
        said = verdict(self._found(), self._sums.words(in_words(lens, self.labels)), self._path)
        return said if self.change is None else f"{said} {self.change.words}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; ``log_e`` and ``log_e_max`` are None where E is infinite.

        It is from the moment when a label comes that was given probability zero; JSON has no number for that.
        """
        found = self._found()
        return {name: None if isinstance(each, float) and not isfinite(each) else each for name, each in found.items()}

    def _settings(self) -> dict[str, Any]:
        """Return the settings as plain values by name; the lens and the bets as they print themselves."""
        return (
            {"name": self.name}
            | {each.name: getattr(self, each.name) for each in fields(self)}
            | {"lens": repr(self.lens), "labels": list(self.labels), "bets": repr(self.bets)}
        )

    def _found(self) -> dict[str, Any]:
        """Return the settings, and the evidence and the rows that it comes from."""
        path, intake, change = self._path, self._intake, self.change
        law = "Bernoulli(prediction)" if self.n_classes == 2 else "categorical(prediction)"
        return self._settings() | {
            "n_rows": path.n_rows,
            "n_waiting": len(intake.waiting),
            "n_skipped": intake.n_skipped,
            "n_worst": intake.n_worst,
            "log_e": path.last,
            "log_e_max": path.largest,
            "pvalue": self.pvalue,
            "alarm": self.alarm,
            "alarm_row": self.alarm_row,
            "change_row": change and change.row,
            "change_interval": change and [change.low, change.high],
            "last_id": intake.last_id,
            "hypothesis": f"given the past, each label seen through {self.lens!r} is {law}; no binning is part of it",
        }

    def to_dataset(self) -> xr.Dataset:
        """Return the logarithm of E over time, at 1000 to 2000 rows, as an xarray Dataset along ``row``."""
        import xarray as xr

        found = self._found()
        plain = {name: each for name, each in found.items() if isinstance(each, (str, int, float))}
        log_e = ("row", self._path.values, {"long_name": "natural logarithm of the evidence against the null"})
        attributes: dict[str, Any] = plain | {"alarm": int(self.alarm)}  # files hold no booleans
        if self.change is not None:
            attributes["change_interval"] = [self.change.low, self.change.high]
        return xr.Dataset({"log_e": log_e}, coords={"row": self._path.rows}, attrs=attributes)

    def plot(self, **options: Any) -> Any:
        """Draw the evidence over time: a `MonitorDisplay`, whose options are passed on."""
        return import_module("calibstat").MonitorDisplay.from_result(self, **options)

    def save(self, path: str | Path) -> None:
        """Write the state to a file, from which `load` or `restore` goes on bit for bit.

        Parameters
        ----------
        path : str or path
        """
        write_state(path, self._settings(), collect(self._parts()))

    @classmethod
    def load(cls, path: str | Path) -> Monitor:
        """Make the monitor whose state is in a file.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        ValueError
            If the file holds no such state, or a lens or bets that are not of this package: `restore` then.
        """
        settings, _ = read_state(path)
        made: dict[str, Any] = {"lens": made_of(settings.pop("lens")), "bets": made_of(settings.pop("bets"))}
        monitor = cls(**settings, **made)
        monitor.restore(path)
        return monitor

    def restore(self, path: str | Path) -> None:
        """Go on from a saved state; `bad_rows`, `max_waiting` and `when_full` may be others than before.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        ValueError
            If it is the state of a monitor with other settings; nothing is changed then.
        """
        settings, arrays = read_state(path)
        expect_same(path, settings, self._settings())
        distribute(arrays, self._parts())
        self._change = (0, None)

    def _parts(self) -> dict[str, Part]:
        return {"bets": self._bettor, "path": self._path, "intake": self._intake, "sums": self._sums}

    def screen(self, more: str = ".to_text(verbose=True)") -> Screen:
        """Return what a person sees of the monitor; `more` says how to see the rest."""
        found, skipped = self._found(), _skipped(self._intake)
        order = _order_in_words(self.order, self._intake.waiting)
        limits = self.order == "arrival" or len(self._intake.waiting) > 0
        notes = [f"the order is that {order}"] if limits else []
        details = [
            ("null", found["hypothesis"]),
            ("alarm", f"under the null E ever reaches {1 / self.level:.4g} with a chance of at most {self.level:g}"),
            ("bets", self.bets.description if self.bets else ""),
            *([] if limits else [("order", order)]),
            *([("change", _CHANGE)] if self.change is not None else []),
        ]
        return Screen(self.verdict, notes=notes + ([skipped] if skipped else []), details=details, more=more)

    def to_text(self, width: int | None = None, *, verbose: bool = False) -> str:
        """Return the text that is printed: the answer and at most two notes.

        Parameters
        ----------
        width : int, optional
            The longest line (default: that of the terminal).
        verbose : bool
            Whether to write everything, with the null and the bets.
        """
        return self.screen().text(width, verbose=verbose)

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__


# What a monitor says of itself. Its words never accept the null.

_FEW = 3
_CHANGE = "the interval is for a change that came at once; of a slow drift, it tells when the drift had grown"


def evidence_text(log_e: float) -> str:
    """Write evidence out, as a power of ten where it is large.

    >>> evidence_text(0.0), evidence_text(50.0), evidence_text(float("inf"))
    ('1', '10^21.7', 'infinite')
    """
    if log_e == float("inf"):
        return "infinite"
    return f"{exp(log_e):.4g}" if log_e < log(1e6) else f"10^{log_e / log(10):.1f}"


def verdict(found: Mapping[str, Any], means: str, path: EvidencePath) -> str:
    """Say what evidence there is, what was predicted and happened, and which row raised the alarm; or no evidence."""
    rows, threshold = counted(found["n_rows"], "row"), f"{1 / found['level']:.4g}"
    if found["alarm"]:
        largest = f"its largest value is {evidence_text(path.largest)}"
        if path.largest == float("inf"):
            row = f"row {path.largest_row}"
            largest = f"it is infinite since {row}, where something happened that was predicted as impossible"
        return (
            f"ALARM in {rows}: evidence that predictions do not fit what happens{means and f' ({means} so far)'}. It "
            f"reached {threshold} after {counted(found['alarm_row'], 'row')}; {largest}."
        )
    return (
        f"No alarm in {rows} so far{means and f' ({means})'}: the evidence is {evidence_text(found['log_e'])}, "
        f"at most {evidence_text(found['log_e_max'])} since the start; the alarm is at {threshold}."
    )


def _order_in_words(order: str, waiting: WaitingRows) -> str:
    """Say in which order rows are bet on, what that assumes, and who waits."""
    if order == "arrival":
        text = "of the arrival of labels: valid ONLY IF how late a label comes does not depend on the label"
        return text + (f"; {counted(len(waiting), 'label', 'has', 'have')} not arrived" if len(waiting) else "")
    held = (
        f"; {counted(len(waiting), 'row', 'waits', 'wait')}, the first for the label of id {waiting.first!r}"
        if len(waiting)
        else ""
    )
    return "of the predictions, whenever their labels arrive" + held


def _skipped(intake: Intake) -> str:
    """Say which rows were left out, and which counted with the worst label."""
    parts = [f"{counted(intake.n_skipped, 'bad row')} skipped"] if intake.n_skipped else []
    if intake.n_worst:
        parts.append(
            f"{counted(intake.n_worst, 'row')} without a usable label counted with the label that is worst for E"
        )
    reasons = [*intake.reasons[:_FEW], *(["..."] if len(intake.reasons) > _FEW else [])]
    return "; ".join(parts) + (f" ({'; '.join(reasons)})" if reasons else "")


def _event_of(chances: Floats, outcomes: Ints) -> tuple[Floats, Ints]:
    """Return the probability of the event (n,), and whether it happened; of more outcomes, that the top one did."""
    if chances.shape[1] == 2:
        return chances[:, 1], outcomes
    return chances.max(axis=1), np.where(outcomes == UNKNOWN, UNKNOWN, outcomes == chances.argmax(axis=1))


@final
class EventSums:
    """The events that were predicted and that happened in rows whose label is known; see `_event_of`.

    Sums are added up row by row, so that they do not depend on how rows are fed.
    """

    def __init__(self) -> None:
        self.n_rows, self.predicted, self.happened = 0.0, 0.0, 0.0  # not a number where they are not known

    def add_one(self, event: float, outcome: int) -> None:
        """Add the next row, as `add` does."""
        self.n_rows, self.predicted, self.happened = self.n_rows + 1, self.predicted + event, self.happened + outcome

    def add(self, events: Floats, outcomes: Ints) -> None:
        """Add rows: probabilities of the event (n,), and whether it happened (n,) or `UNKNOWN`."""
        known = outcomes != UNKNOWN
        self.n_rows += int(known.sum())
        self.predicted = float(np.cumsum(np.append(self.predicted, events[known]))[-1])
        self.happened += float(outcomes[known].sum())

    def words(self, what: str) -> str:
        """Say what was predicted and what happened on average; nothing without rows, or where they were not kept."""
        if not self.n_rows > 0:
            return ""
        predicted, happened = self.predicted / self.n_rows, self.happened / self.n_rows
        return f"{what}: {predicted:.3g} predicted, {happened:.3g} happened"

    def state(self) -> dict[str, Array]:
        """Return everything as arrays by name."""
        return {"sums": np.array([self.n_rows, self.predicted, self.happened], dtype=float)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over what `state` returned; an older state has no sums, and none are told then."""
        sums = state.get("sums", np.full(3, np.nan))
        self.n_rows, self.predicted, self.happened = sums.tolist()


# Evidence over time, thinned so that it never takes more memory than so many points.

_MOST_POINTS = 2000


@final
class EvidencePath:
    """Log evidence after every `stride`-th row; the stride doubles when points become too many.

    Which points are kept depends on the number of rows alone. The largest value and the first crossing of the
    threshold, of the log evidence, are kept exactly.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.n_rows = 0
        self.stride = 1
        self.kept: list[tuple[int, float]] = []
        self.last = 0.0
        self.largest = 0.0
        self.largest_row = 0
        self.alarm_row = 0

    @property
    def rows(self) -> Ints:
        """The rows that are kept, counting from 1."""
        return np.array([row for row, _ in self.kept], dtype=np.int64)

    @property
    def values(self) -> Floats:
        """The log evidence after each of these rows."""
        return np.array([value for _, value in self.kept], dtype=float)

    def add_one(self, log_e: float) -> None:
        """Add the log evidence after the next row, as `add` does."""
        self.n_rows += 1
        if log_e > self.largest:
            self.largest, self.largest_row = log_e, self.n_rows
        if not self.alarm_row and log_e >= self.threshold:
            self.alarm_row = self.n_rows
        self.last = log_e
        if self.n_rows % self.stride == 0:
            self._keep([(self.n_rows, log_e)])

    def add(self, log_e: Floats) -> None:
        """Add the log evidence (n,) after each of the next rows."""
        numbers = np.arange(self.n_rows + 1, self.n_rows + len(log_e) + 1)
        self.n_rows += len(log_e)
        top = int(log_e.argmax())
        if log_e[top] > self.largest:
            self.largest, self.largest_row = float(log_e[top]), int(numbers[top])
        crossed = log_e >= self.threshold
        if not self.alarm_row and crossed.any():
            self.alarm_row = int(numbers[crossed.argmax()])
        self.last = float(log_e[-1])
        kept = numbers % self.stride == 0
        self._keep(list(zip(numbers[kept].tolist(), log_e[kept].tolist(), strict=True)))

    def _keep(self, points: list[tuple[int, float]]) -> None:
        self.kept += points
        while len(self.kept) > _MOST_POINTS:
            self.stride *= 2
            self.kept = [(row, value) for row, value in self.kept if row % self.stride == 0]

    def state(self) -> dict[str, Array]:
        """Return everything as arrays by name."""
        return {
            "rows": self.rows,
            "values": self.values,
            "whole": np.array([self.n_rows, self.stride, self.largest_row, self.alarm_row]),
            "levels": np.array([self.last, self.largest]),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over what `state` returned."""
        self.kept = list(zip(state["rows"].tolist(), state["values"].tolist(), strict=True))
        self.n_rows, self.stride, self.largest_row, self.alarm_row = (int(each) for each in state["whole"])
        self.last, self.largest = (float(each) for each in state["levels"])
