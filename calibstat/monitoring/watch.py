"""What monitors share: rows that are fed in as they come, evidence over time, and a state in a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import fields
from importlib import import_module
from math import exp, isfinite, log
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, final

from calibstat._screen import Screen
from calibstat._text import counted, shown
from calibstat._warn import warn
from calibstat.data.arrays import Floats, Ints
from calibstat.data.counted import CountedSample
from calibstat.data.files import in_file
from calibstat.data.parameters import HasParameters
from calibstat.data.sample import Sample
from calibstat.monitoring._stored import expect
from calibstat.monitoring.base import Bettor, Part, collect, distribute
from calibstat.monitoring.change import Change, located
from calibstat.monitoring.intake import Intake, Ready, WaitingRows, first_rows, read_ids
from calibstat.monitoring.path import EvidencePath
from calibstat.monitoring.state import expect_same, made_of, no_state, read_state, write_state

if TYPE_CHECKING:
    import xarray as xr


class Watch(HasParameters, ABC):
    """Rows are fed in as they come, and E may be looked at after each; subclasses are dataclasses of settings.

    `made` names the settings that are made of parameters themselves.
    """

    made: ClassVar[tuple[str, ...]]
    labels: Sequence[Hashable]
    level: float
    order: str
    name: str

    def _begin(self, bettor: Bettor, intake: Intake) -> None:
        self._bettor, self._intake = bettor, intake
        self._path = EvidencePath(-log(self.level))
        self._change: tuple[int, Change | None] = (0, None)  # the rows that were looked at, and what was found

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
        if isinstance(y_prob, Sample):
            _refuse_sample(y_prob)
        if not self._took_one(y_prob, y_true, id):
            took = self._intake.labels(y_true, id) if y_prob is None else self._intake.predictions(y_prob, y_true, id)
            return self._bet_on_all(took)
        self._bettor.recent.trim(self._path.alarm_row)
        return self.alarm

    def _bet_on_all(self, parts: list[Ready]) -> bool:
        for ready in parts:
            if len(ready.outcomes):
                self._bet_on(ready)
        self._bettor.recent.trim(self._path.alarm_row)
        return self.alarm

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
        return self._bet_on_all(self._intake.write_off(id))

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
            valid. The ids of the last 10 000 rows are remembered, and the number of all. Also if more than half of
            the rows had other predictions when they were fed.
        """
        ids = read_ids(id, None)
        n = self._intake.fed.seen_before(ids)
        compared = n > 0 and y_prob is not None and y_true is not None
        changes = self._intake.changes(ids[:n], first_rows(y_prob, n), y_true[:n]) if compared else []
        if changes:
            warn(
                f"{counted(len(changes), 'row')} that the monitor has seen changed since; first, {changes[0]}. E stays "
                "that of what it saw: begin a new state with all rows to bet on what stands here"
            )
        return n

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
        no law that is tried explains it.
        """
        if not self.alarm:
            return None
        seen = self.n_rows if self.n_rows < self._path.alarm_row + self._bettor.recent.most else -1
        if self._change[0] != seen:
            first, chances, outcomes = self._bettor.around(self._path.alarm_row)
            self._change = seen, located(self._gains(chances, outcomes), first, self._path.alarm_row)
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; ``log_e`` and ``log_e_max`` are None where E is infinite.

        It is from the moment when a label comes that was given probability zero; JSON has no number for that.
        """
        found = self._found()
        return {name: None if isinstance(each, float) and not isfinite(each) else each for name, each in found.items()}

    def _settings(self) -> dict[str, Any]:
        """Return the settings as plain values by name; what is made of parameters as it prints itself."""
        return (
            {"name": self.name}
            | {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
            | {"labels": list(self.labels)}
            | {name: repr(getattr(self, name)) for name in self.made}
        )

    def _found(self) -> dict[str, Any]:
        """Return the settings, and the evidence and the rows that it comes from."""
        path, intake, change = self._path, self._intake, self.change
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
            "hypothesis": self._hypothesis,
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
    def load(cls, path: str | Path) -> Self:
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
        if not {*cls.made} <= {*settings}:
            raise ValueError(f"{path} is the state of another kind of monitor than {cls.__name__}")
        with in_file(path):
            made: dict[str, Any] = {name: made_of(settings.pop(name)) for name in cls.made}
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
        before = collect(self._parts())
        try:
            distribute(arrays, self._parts())
            expect(self._path.n_rows == self._bettor.n_rows, "each row that was bet on is on the path")
        except Exception as error:  # what nobody has written can be anything
            distribute(before, self._parts())
            raise ValueError(no_state(path)) from error
        self._change = (0, None)

    def _parts(self) -> dict[str, Part]:
        return {"bets": self._bettor, "path": self._path, "intake": self._intake}

    def screen(self, more: str = ".to_text(verbose=True)") -> Screen:
        """Return what a person sees of the monitor; `more` says how to see the rest."""
        found, skipped = self._found(), _skipped(self._intake)
        order = _order_in_words(self.order, self._intake.waiting)
        limits = self.order == "arrival" or len(self._intake.waiting) > 0
        notes = [f"the order is that {order}"] if limits else []
        details = [
            ("null", found["hypothesis"]),
            ("alarm", f"under the null E ever reaches {1 / self.level:.4g} with a chance of at most {self.level:g}"),
            ("bets", self._how),
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

    @final
    def _repr_html_(self) -> str:
        """Return the screen as HTML, everything escaped, for notebooks."""
        return self.screen().html()

    @property
    @abstractmethod
    def verdict(self) -> str:
        """A sentence or two: an alarm with what was found, or no evidence so far."""

    @property
    @abstractmethod
    def _hypothesis(self) -> str:
        """The null, in words."""

    @property
    @abstractmethod
    def _how(self) -> str:
        """On what is bet, in words."""

    @abstractmethod
    def _bet_on(self, ready: Ready) -> None:
        """Bet on rows whose turn has come."""

    @abstractmethod
    def _gains(self, chances: Floats, outcomes: Ints) -> Iterator[Floats]:
        """Yield what laws that may hold after a change gain in each row (n,) that the bettor has kept."""

    def _took_one(self, y_prob: Any, y_true: Any, id: Any) -> bool:  # noqa: A002, ARG002
        """Bet on a single row at the cost of one, or return False."""
        return False

    def _alarm_words(self) -> str:
        """Say which row raised the alarm, how far E went, and where the change began."""
        path = self._path
        largest = f"its largest value is {evidence_text(path.largest)}"
        if path.largest == float("inf"):
            row = f"row {path.largest_row}"
            largest = f"it is infinite since {row}, where something happened that was predicted as impossible"
        reached = f"It reached {1 / self.level:.4g} after {counted(path.alarm_row, 'row')}; {largest}."
        return reached if self.change is None else f"{reached} {self.change.words}"

    def _evidence_words(self) -> str:
        """Say how large E is where there is no alarm."""
        path = self._path
        return (
            f"the evidence is {evidence_text(path.last)}, at most {evidence_text(path.largest)} since the start; the "
            f"alarm is at {1 / self.level:.4g}."
        )


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


def _refuse_sample(sample: Sample) -> NoReturn:
    """Say how the rows of a sample are fed, if they have an order in time."""
    if isinstance(sample, CountedSample):
        raise TypeError(
            "update takes rows in the order in which they were predicted, but this sample counts rows, in the order of "
            "their predictions: feed the rows themselves, or test the sample by calibration_test"
        )
    if sample.groups is not None:
        raise TypeError(
            f"the evidence of a monitor is for rows whose labels do not depend on those before, but the sample has "
            f"{sample.groups.number} clusters ({shown(sample.groups.name)}): feed one row of each, chosen without a "
            "look at its label, as arrays"
        )
    raise TypeError(
        "update takes rows in the order in which they were predicted: pass those of a sample that has this order by "
        "update(sample.y_prob, sample.y_true)"
    )
