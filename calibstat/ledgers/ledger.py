"""A ledger: how many rows there are in each fine step of the prediction, and how many of them had the event.

Rows come from anywhere and are counted a part at a time; ledgers add up, in any order. What is kept of a step is enough
for the mean prediction of any cells that are made of steps, and for the exact law of their events: the number of rows
and events, and the sums of four powers of the distances of predictions to a fixed place in the step.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from calibstat._text import counted, safe, shown
from calibstat.data.arrays import Variable
from calibstat.data.checks import as_variable, locked, named_columns
from calibstat.data.counted import CountedSample
from calibstat.data.frames import frame_names, numbers
from calibstat.data.parameters import at_least_one, check_kind
from calibstat.data.sample import Predictions, Sample
from calibstat.ledgers import files
from calibstat.ledgers.counting import count_rows
from calibstat.ledgers.steps import COUNTS, STEPS, SUMS, moments_of
from calibstat.ledgers.table import added_up, fault_of, grouped, lines_of, pair_of_labels
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import CANONICAL, TopLabel
from calibstat.lenses.restrict import Region

if TYPE_CHECKING:
    import pandas as pd


@final
class Ledger:
    """Rows counted by lens, groups and fine step of the prediction; made by `Ledger.count`, and by adding ledgers.

    Parameters
    ----------
    table : DataFrame
        One line for each lens, group and step that occurs: the columns of `by`; ``rows`` and ``events``; ``shift``,
        ``shift2``, ``shift3``, ``shift4``, sums of powers of the distance of predictions to the middle of the step; and
        ``along``, that of the distance in rows with the event.
    by : tuple of str
        The columns that groups are made of.
    classes : dict of str to tuple
        For each lens the two outcomes that it shows, the event last.
    left_out : dict of str to int, optional
        For each lens how many rows `save` has left out, as they stood in lines of few rows.

    Examples
    --------
    >>> import calibstat as cs
    >>> north, south = cs.Sample([0, 1, 1], [0.2, 0.7, 0.7]), cs.Sample([1, 0], [0.7, 0.1])
    >>> both = cs.Ledger.count(north) + cs.Ledger.count(south)
    >>> both.table[["step", "rows", "events"]].values.tolist()
    [[720, 1, 0], [1440, 1, 0], [5040, 3, 3]]
    >>> round(cs.ECE(cs.EqualWidth(10))(both.sample()), 4)
    0.24
    """

    def __init__(
        self,
        table: pd.DataFrame,
        by: Sequence[str],
        classes: Mapping[str, tuple[Any, Any]],
        left_out: Mapping[str, int] | None = None,
    ) -> None:
        self.table, self.by, self.classes = table, tuple(by), dict(classes)
        self.left_out = dict.fromkeys(self.classes, 0) | dict(left_out or {})

    @classmethod
    def count(cls, sample: Sample, *, by: Sequence[str] = (), lenses: Sequence[Lens] | None = None) -> Ledger:
        """Count the rows of a sample.

        Parameters
        ----------
        sample : Sample
            Without weights; `by` names variables of it.
        by : sequence of str
            The variables by which rows are kept apart, of few different values each.
        lenses : sequence of Lens, optional
            Through each of them two outcomes are seen. By default none for two classes, and `TopLabel` for more.

        Raises
        ------
        ValueError, TypeError
            If rows have weights or clusters, a variable is not there, or more than two outcomes are seen.

        Examples
        --------
        >>> import calibstat as cs
        >>> sample = cs.Sample([0, 1, 1], [0.2, 0.7, 0.7], variables={"site": ["north", "south", "south"]})
        >>> ledger = cs.Ledger.count(sample, by=["site"])
        >>> ledger
        Ledger(n=3, by=('site',), lenses=('Canonical()',), 2 steps)
        >>> (ledger + ledger).sample(where={"site": "south"})
        Sample(n=4, classes=(0, 1), variables=('site',), counted for 1 prediction)
        """
        check_kind("sample", sample, Sample, "Sample(y_true, y_prob)")
        by = _each_once(by)
        if sample.known.weights is not None:
            raise ValueError("the sample has weights, but a ledger counts rows: leave them out")
        if sample.groups is not None:
            raise ValueError(
                f"Ledger.count takes rows as independent, which those of the same {shown(sample.groups.name)!r} are "
                "not; tests and intervals of the sample itself hold for clusters"
            )
        if sample.known.powers is not None:
            raise ValueError("the sample is that of a ledger, which knows more of its rows: add up ledgers themselves")
        parts, classes = [], {}
        for lens in _default(sample) if lenses is None else _checked(lenses):
            seen = lens(sample)
            classes[repr(lens)] = _two_outcomes(lens, seen.known)
            parts.append(count_rows(repr(lens), seen, by))
        return cls(added_up(parts, by), by, classes)

    @classmethod
    def collect(
        cls,
        source: Any,
        *,
        y_true: str,
        y_prob: str | Sequence[str],
        by: str | Sequence[str] = (),
        lenses: Sequence[Lens] | None = None,
        labels: Sequence[Hashable] | None = None,
        nan_policy: str = "raise",
    ) -> Ledger:
        """Count rows that are never in memory at once, a batch at a time.

        Parameters
        ----------
        source : path, or object with rows
            A file, a folder or a pattern of files (all Parquet, or all delimited text); a dataset of pyarrow; a frame
            of dask, whose partitions are counted on its workers; a LazyFrame of polars, a relation of DuckDB or a table
            of ibis, which count their rows themselves; or an iterator of frames of pandas, polars or pyarrow.
        y_true, y_prob, by
            Names of columns, as in `Sample.from_frame`; `by` as in `count`. In a folder, names such as ``site=north``
            of folders in it are values of a column.
        lenses
            As in `count`.
        labels : sequence, optional
            The class of each column of probabilities, as for `Sample`; by default the first batch tells.
        nan_policy
            As for `Sample`.

        Raises
        ------
        ValueError, TypeError
            If a batch is no valid sample: the message names the file or the partition, and the row in it. Nothing is
            then returned.

        Examples
        --------
        >>> import calibstat as cs
        >>> parts = ({"y": [0, 1], "p": [0.2, 0.6 + k / 10]} for k in range(3))
        >>> cs.Ledger.collect(parts, y_true="y", y_prob="p")
        Ledger(n=6, lenses=('Canonical()',), 4 steps)
        """
        from calibstat.ledgers.collect import collect  # it needs this file

        names = _listed(by)
        how: dict[str, Any] = {"lenses": lenses, "labels": labels, "nan_policy": nan_policy}
        return collect(source, y_true=y_true, y_prob=y_prob, by=names, **how)

    @classmethod
    def from_frame(cls, frame: Any, *, labels: tuple[Any, Any], by: str | Sequence[str] = ()) -> Ledger:
        """Take the lines that a database has counted by the query of `ledger_sql`.

        Parameters
        ----------
        frame : data frame, or mapping of names to columns
            The answer: the columns of `by`, ``step``, ``rows``, ``events`` and the sums.
        labels : pair
            The two labels, as passed to `ledger_sql`; the event is the last one.
        by : str or sequence of str, optional
            The columns of groups.

        Raises
        ------
        ValueError
            If a column is missing, or rows were counted that have no step. Buckets that hold numbers of rows, events
            and sums of predictions alone are no ledger; the message says which sample they are.
        """
        import pandas as pd

        labels = pair_of_labels(labels)
        names, there = _listed(by), frame_names(frame)
        missing = [each for each in (*names, "step", *COUNTS, *SUMS) if each not in there]
        if missing:
            raise ValueError(
                f"the frame has no columns {', '.join(map(repr, missing))}, but the answer to ledger_sql is expected; "
                "buckets of numbers of rows, events and sums of predictions are no ledger but "
                "Sample.from_frame(frame, predicted=..., events=..., trials=...)"
            )
        table = pd.DataFrame({name: grouped(each) for name, each in _variables({n: frame[n] for n in names}).items()})
        counted_in = {name: numbers(name, frame[name]) for name in ("step", *COUNTS, *SUMS)}
        astray = np.isnan(counted_in["step"])
        if astray.any():
            raise ValueError(
                f"{counted(int(counted_in['rows'][astray].sum()), 'row', 'has', 'have')} no probability in [0, 1], or "
                f"none of the labels {labels[0]!r} and {labels[1]!r}: correct them in the table, or leave them out"
            )
        for name, values in counted_in.items():
            whole = name not in SUMS and (values == np.floor(values)).all()
            table[name] = values.astype(np.int64) if whole else values
        table.insert(0, "lens", repr(CANONICAL))
        fault = fault_of(table, names, [repr(CANONICAL)])
        if fault:
            raise ValueError(f"the frame is no ledger: {fault}")
        return cls(added_up([table], names), names, {repr(CANONICAL): labels})

    def __add__(self, other: Ledger) -> Ledger:
        if not isinstance(other, Ledger):
            return NotImplemented
        for name in ("by", "classes"):
            if getattr(self, name) != getattr(other, name):
                raise ValueError(
                    f"one ledger has {name}={getattr(self, name)!r} and the other {getattr(other, name)!r}: only "
                    "ledgers of the same columns, lenses and outcomes add up"
                )
        left_out = {name: rows + other.left_out[name] for name, rows in self.left_out.items()}
        return Ledger(added_up([self.table, other.table], self.by), self.by, self.classes, left_out)

    def save(self, path: Any, *, min_count: int = 1) -> None:
        """Write the ledger to a Parquet file, whole or not at all.

        Parameters
        ----------
        path : str or path
        min_count : int, optional
            Lines of fewer rows are left out of the file; it says how many rows that were. The number of rows of a line
            depends on predictions alone, so what is left is tested at the same level. At most four rows in a line can
            be computed from its sums; a line whose rows had one outcome tells it, however many they are.

        Raises
        ------
        ValueError, ModuleNotFoundError
            If `min_count` leaves no line, labels are of types that a file cannot keep, or pyarrow is not installed.

        Examples
        --------
        >>> import calibstat as cs, tempfile
        >>> from pathlib import Path
        >>> ledger = cs.Ledger.count(cs.Sample([0, 1, 1, 1], [0.2, 0.7, 0.7, 0.7]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger.save(Path(folder, "north.parquet"), min_count=2)
        ...     cs.Ledger.load(Path(folder, "north.parquet")).sample().predictions.source
        'counted in steps of 1/3600 of the prediction; 1 row left out, in steps of few rows'
        """
        at_least_one("min_count", min_count)
        few = self.table["rows"] < min_count
        missing = self.table[few].groupby("lens")["rows"].sum()
        left_out = {name: rows + int(missing.get(name, 0)) for name, rows in self.left_out.items()}
        kept = self.table[~few]
        empty = set(self.classes) - set(kept["lens"])
        if empty:
            raise ValueError(
                f"min_count is {min_count}, but through {min(empty)} no line has so many rows, so nothing is left: "
                "take it smaller, or keep fewer groups apart"
            )
        lenses = [[name, [_plain(each) for each in labels]] for name, labels in self.classes.items()]
        files.write(path, kept, {"by": list(self.by), "lenses": lenses, "left_out": left_out})

    @classmethod
    def load(cls, path: Any) -> Ledger:
        """Read a ledger that `save` has written.

        Raises
        ------
        ValueError
            If it is no such file, or a damaged one.
        """
        table, known = files.read(path)
        classes = {name: (labels[0], labels[1]) for name, labels in known["lenses"]}
        return cls(table, known["by"], classes, known["left_out"])

    def sample(self, lens: Lens | None = None, *, where: Mapping[str, Any] | None = None) -> Sample:
        """Return the counted rows as seen through a lens, as a sample whose predictions are the means of steps.

        Parameters
        ----------
        lens : Lens, optional
            One of those through which rows were counted; needed where there are several.
        where : mapping, optional
            For columns of `by` a value, or several, that rows have. Types count: 1 is neither ``"1"`` nor True.
        """
        name = self._named(lens)
        table = self.table[self.table["lens"] == name]
        if where is not None and not isinstance(where, Mapping):
            raise TypeError(f"where is {where!r}, but a mapping is expected, such as where={{'site': 'north'}}")
        for column, wanted in (where or {}).items():
            if column not in self.by:
                raise ValueError(f"the ledger does not keep {column!r} apart; its columns are {self.by!r}")
            table = table[lines_of(self.table, column, wanted).loc[table.index]]
        if table.empty:
            raise ValueError(
                f"the ledger has no rows with {dict(where or {})!r} at once; pass values that occur together"
            )
        rows, events = (table[each].to_numpy(np.int64) for each in COUNTS)
        mean, powers = moments_of(table)
        known = _variables(table[list(self.by)])
        source = f"counted in steps of 1/{STEPS} of the prediction"
        if self.left_out[name]:
            source += f"; {counted(self.left_out[name], 'row')} left out, in steps of few rows"
        seen = "" if name == repr(CANONICAL) else name
        each = Predictions(
            locked(mean), self.classes[name], None, known, source=source, seen=seen, powers=locked(powers)
        )
        return CountedSample(each, locked(np.column_stack([rows - events, events])))

    def _named(self, lens: Lens | None) -> str:
        """Return the name of a lens that the ledger has."""
        if lens is None and len(self.classes) == 1:
            return next(iter(self.classes))
        if lens is None or repr(lens) not in self.classes:
            found = "no lens is named" if lens is None else f"{lens!r} is not among them"
            raise ValueError(f"rows were counted through {', '.join(self.classes)}, but {found}: pass one of these")
        return repr(lens)

    def __len__(self) -> int:
        first = next(iter(self.classes))
        return int(self.table.loc[self.table["lens"] == first, "rows"].sum())

    def __repr__(self) -> str:
        by = f"by={self.by!r}, " if self.by else ""
        steps = counted(len(self.table), "step")
        return safe(f"Ledger(n={len(self)}, {by}lenses={tuple(self.classes)!r}, {steps})")


def _variables(columns: Any) -> dict[str, Variable]:
    found = named_columns(columns)
    for name, each in found.items():
        if each.missing() is not None:
            raise ValueError(
                f"the column {name!r} of groups has missing values: give these rows a group, or leave them out"
            )
    return {name: as_variable(each) for name, each in found.items()}


def _plain(label: Any) -> Any:
    """Return a label of numpy as one of Python."""
    return label.item() if isinstance(label, np.generic) else label


def _default(sample: Sample) -> list[Lens]:
    return [CANONICAL] if sample.known.n_classes == 2 else [TopLabel()]


def _listed(by: str | Sequence[str]) -> list[str]:
    """Return the names of columns as a list; raise if they are no names."""
    check_kind("by", by, str | Sequence[str], "'site', or ['site', 'sex']")
    return [by] if isinstance(by, str) else list(by)


def _each_once(by: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns, of which one may stand alone; raise if one is there twice."""
    names = tuple(_listed(by))
    if len(set(names)) < len(names):
        raise ValueError(f"by={list(names)!r} names {max(names, key=names.count)!r} more than once: name it once")
    return names


def _checked(lenses: Sequence[Lens]) -> Sequence[Lens]:
    """Return the lenses, or raise where one is no lens, occurs twice, or is not told by its name."""
    for lens in lenses:
        check_kind("lenses", lens, Lens, "TopLabel()")
        if any(isinstance(part, Region) and isinstance(part.predicate, FunctionType) for part in lens.parts):
            raise ValueError(
                f"{lens!r} keeps rows by a function, which a file cannot name: take Region.between(column, low, high)"
            )
    names = list(map(repr, lenses))
    if not names or len(set(names)) < len(names):
        found = "no lens" if not names else f"{max(names, key=names.count)} more than once"
        raise ValueError(f"lenses= names {found}: name each lens once, or leave it out")
    return lenses


def _two_outcomes(lens: Lens, seen: Predictions) -> tuple[Any, Any]:
    if seen.n_classes != 2:
        raise ValueError(
            f"through {lens!r} there are {seen.n_classes} outcomes, but a ledger counts the rows of one event: look "
            "through TopLabel(), ClassWise(label), or a Partition of two groups"
        )
    return seen.classes[0], seen.classes[1]
