"""Results: frozen records that print themselves in words, and convert to values, tables and pictures."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from importlib import import_module
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import LazyModule
from calibstat._screen import Screen, filled
from calibstat._text import percent, short
from calibstat.data.arrays import Array, Floats
from calibstat.data.groups import ClusterCount
from calibstat.data.parameters import LEVEL
from calibstat.data.rounding import ROUNDING, SMALLEST_PVALUE, TIE_SHARE
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.inference import _latex as latex
from calibstat.inference.direction import NO_DIRECTION, Direction, direction_of
from calibstat.inference.multiplicity import cannot_reject
from calibstat.lenses.base import Lens
from calibstat.lenses.words import in_words
from calibstat.nulls.base import Null, NullDistribution

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from calibstat.inference.by_lens import EstimatesByLens, TestsByLens
    from calibstat.inference.forest import Forest, Noise
    from calibstat.inference.intervals import ConfidenceInterval, Measure
    from calibstat.inference.multiple import OmnibusTest

json = LazyModule("json")


class Result(ABC):
    """The result of a test or an estimate: a frozen record that prints itself and converts to values and tables.

    A result class is a final, frozen dataclass (``@dataclass(frozen=True, eq=False, repr=False)``) that declares its
    fields and writes its first sentence and its plain values; if it has more to show, it also overrides the other
    methods with an underscore.
    """

    _display: ClassVar[str] = ""
    """Name of the public display that draws the result, with ``from_result``."""
    _no_display: ClassVar[str] = "its numbers are in to_frame()"
    """Why there is none, and what to do."""
    _row: ClassVar[str] = ""
    """What a row of `to_frame` is, if there are several: the name of the column that names the rows."""
    _indexed: ClassVar[bool] = False
    """Whether `to_frame` has the names of the rows as its index."""
    _text_columns: ClassVar[tuple[int, ...]] = (0,)
    """Which columns of the printed table hold text; all others hold numbers, aligned to the right."""
    _spare_columns: ClassVar[tuple[int | tuple[int, ...], ...]] = ()
    """Which columns of the printed table a narrow terminal does without, the first one first; some go together."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """The answer in a sentence or two, with its direction and its size."""

    @abstractmethod
    def _values(self) -> dict[str, Any]:
        """Return what `to_dict` holds, before it is made plain."""

    def _counted(self) -> dict[str, Any]:
        """Return the `RowCounts` that `to_dict` holds; nothing where a result is about no sample, as a plan is."""
        counts = getattr(getattr(self, "question", self), "counts", None)
        return {} if counts is None else counts._asdict()

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows of `to_frame`; by default one, of all values."""
        return [self.to_dict()]

    def _table(self) -> list[list[str]]:
        """Return the cells of the printed table, if there is one: the names of the columns, then row by row."""
        return []

    def _notes(self) -> Sequence[str]:
        """Return what limits the answer, the most important first; two are printed, all of them where it is asked."""
        return ()

    def _details(self) -> list[tuple[str, str]]:
        """Return how the numbers were computed: names and texts; a text without a name continues the one before."""
        return []

    @final
    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name, as JSON can hold them; a number that is not finite is None."""
        values = self._values()
        noted = {"notes": [*self._hints, *values["notes"]]} if "notes" in values else {}
        return plain(values | noted | self._counted())

    @final
    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame: a row for each part of the result, or one row of all values."""
        table = frame([plain(row) for row in self._rows()])
        return table.set_index(self._row) if self._indexed else table

    @final
    def to_dataset(self) -> xr.Dataset:
        """Return an xarray Dataset: the columns of `to_frame`, with texts and settings as attributes.

        Columns lie along a dimension named for the rows; of a result that is one row, numbers have no dimension.
        """
        import xarray as xr

        values, rows = self.to_dict(), [plain(row) for row in self._rows()]
        if not self._row:
            numbers = {name: value for name, value in values.items() if _is_number(value)}
            texts = {name: value for name, value in values.items() if name not in numbers}
            return xr.Dataset(
                {name: _plain_column([value]).squeeze() for name, value in numbers.items()}, attrs=_attrs(texts)
            )
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: (self._row, _plain_column([row.get(name) for row in rows])) for name in names}
        coordinates = {self._row: columns.pop(self._row)} if self._row in columns else {}
        return xr.Dataset(columns, coordinates, _attrs(values))

    @final
    def plot(self, **options: Any) -> Any:
        """Draw the result by the display of its class.

        Parameters
        ----------
        **options
            Of the display.

        Raises
        ------
        NotImplementedError
            If the result has no picture; the message says why.
        """
        if not self._display:
            raise NotImplementedError(f"a {type(self).__name__} has no picture: {self._no_display}.")
        return getattr(import_module("calibstat"), self._display).from_result(self, **options)

    @final
    def screen(self, more: str = ".to_text(verbose=True)") -> Screen:
        """Return what a person sees of the result; `more` says how to see the rest."""
        notes = [*self._hints, *self._notes()]
        return Screen(
            self.verdict, self._table(), notes, self._details(), self._text_columns, self._spare_columns, more
        )

    @property
    def _hints(self) -> list[str]:
        """Which clusters there may be, of the questions that the result answers."""
        several = getattr(self, "questions", None) or getattr(self, "_questions", None)
        asked = several or [getattr(self, "question", None)]
        return [*dict.fromkeys(each.hint for each in asked if isinstance(each, Inquiry) and each.hint)]

    @final
    def __str__(self) -> str:
        return self.to_text()

    @final
    def to_text(self, width: int | None = None, *, verbose: bool = False) -> str:
        """Return the text that is printed: the answer, a table and at most two notes.

        Parameters
        ----------
        width : int, optional
            The longest line (default: that of the terminal). On a narrow terminal tables go without some columns.
        verbose : bool
            Whether to write everything: all columns and notes, and how the numbers were computed.
        """
        return self.screen().text(width, verbose=verbose)

    __repr__ = __str__

    @final
    def _repr_html_(self) -> str:
        """Return the screen as HTML, everything escaped, for notebooks."""
        return self.screen().html()

    @final
    def to_latex(self) -> str:
        r"""Return the printed table as LaTeX, with the verdict as caption; it needs ``\usepackage{booktabs}``.

        A result that prints no table gives the names and texts of its numbers. Names from data are escaped.
        """
        cells = self._table()
        if not cells:
            return latex.table(self._numbers(), r"lp{0.75\linewidth}", self.verdict, heading=False)
        used = filled(cells)
        columns = "".join("l" if k in self._text_columns else "r" for k in used)
        return latex.table([[row[k] for k in used] for row in cells], columns, self.verdict, heading=True)

    def _numbers(self) -> Sequence[tuple[str, str]]:
        """Return names and texts of the numbers of a result that prints no table."""
        return self._details() or [(name, str(value)) for name, value in self.to_dict().items()]


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float))


def _plain_column(values: Sequence[Any]) -> Array:
    """Return numbers as floats (truth values and whole numbers as such), and anything else as text."""
    if all(map(_is_number, values)):
        missing = any(value is None for value in values)
        return np.array([np.nan if value is None else value for value in values], dtype=float if missing else None)
    return np.array([value if isinstance(value, str) else json.dumps(value) for value in values])


def _attrs(values: Mapping[str, Any]) -> dict[str, str | int | float]:
    """Return attributes as files can hold them: numbers and texts, lists as JSON; None is left out."""
    kept = {name: int(value) if isinstance(value, bool) else value for name, value in values.items()}
    return {
        name: value if isinstance(value, (str, int, float)) else json.dumps(value)
        for name, value in kept.items()
        if value is not None
    }


def picked(record: object, names: str) -> dict[str, Any]:
    """Return fields and properties by name; names stand side by side in one text, as `namedtuple` takes them."""
    return {name: getattr(record, name) for name in names.split()}


# A value of several numbers is printed if its text is at most this long.
_LONGEST = 400
EXPECTED = "the mean of the value over labels redrawn from the predictions, as of a calibrated model with as many rows"


def frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a pandas DataFrame of these rows."""
    import pandas as pd

    return pd.DataFrame(rows)


class RowCounts(NamedTuple):
    """What weights and cells leave of the rows of a sample.

    `effective_rows` is how many equally weighted rows would be as good (Kish 1965), `largest_share` that of one row in
    the weight, `smallest_cell_events` the fewest rows of one outcome in a cell or group; None where there are none.
    """

    effective_rows: float
    largest_share: float
    smallest_cell_events: float | None = None

    @classmethod
    def of(cls, seen: Sample, events: float | None = None) -> RowCounts:
        """Count the rows of a sample."""
        return cls(seen.predictions.effective_rows, seen.predictions.largest_share, events)

    @classmethod
    def least(cls, several: Iterable[RowCounts]) -> RowCounts:
        """Return the worst of each count over several samples, or several estimators."""
        rows, shares, events = zip(*several, strict=True)
        return cls(min(rows), max(shares), min((each for each in events if each is not None), default=None))

    def text(self, n: int) -> str:
        """Say how many rows there are, and with weights how many in effect."""
        share = f"the heaviest has {percent(float(f'{self.largest_share:.2g}'))} of the weight"
        alike = self.effective_rows > n - 0.5
        return f"n = {n}" + ("" if alike else f" (by weights as good as {self.effective_rows:.3g}; {share})")


@final
@dataclass(frozen=True, eq=False, repr=False)
class CalibrationTest(Result):
    """The result of `calibration_test`; unpacks to ``(statistic, pvalue)``.

    Parameters
    ----------
    statistic : float
        The observed value of the estimator.
    pvalue : float
        Probability under the null of a value at least as extreme; with a `panel` that of the panel.
    null_distribution : NullDistribution
        The distribution of the statistic under the null; where replicates were drawn, with its ``samples`` (R,).
    hypothesis : str
        Which null was tested.
    null : Null
        How its distribution was computed or drawn.
    question : Inquiry
        Estimator, lens, number of rows.
    level : float
        The largest p-value that counts as evidence.
    standardized : float, optional
        The statistic divided by its scale under the null, where the estimator has one.
    remark : str
        Where the observed value comes from, if the estimator can say: for `Kuiper` the worst interval.
    notes : tuple of str
        What limits the result.
    decision : Estimate, optional
        What acting on these probabilities costs, where that was asked for.
    panel : OmnibusTest, optional
        The test of several statistics that gave the p-value, where no estimator was asked for; `statistic` and
        `null_distribution` are then about the size of the error.
    by_lens : TestsByLens, optional
        The tests through all lenses, where neither lens nor estimator was asked for and there are more than two
        classes. The p-value is then the smallest one adjusted for their number, and all else is about the largest of
        the errors that are rejected.
    tail_of_one : float or callable, optional
        About how small the p-value of a single statistic is that is the smallest one of its redraws, or what says so.
    """

    _display: ClassVar[str] = "NullDisplay"
    _text_columns: ClassVar[tuple[int, ...]] = (0, 5)
    _spare_columns: ClassVar[tuple[int, ...]] = (11, 10, 7, 3)

    statistic: float
    pvalue: float
    null_distribution: NullDistribution
    hypothesis: str
    null: Null
    question: Inquiry
    level: float = LEVEL
    standardized: float | None = None
    remark: str = ""
    notes: tuple[str, ...] = ()
    decision: Estimate | None = None
    panel: OmnibusTest | None = None
    by_lens: TestsByLens | None = None
    tail_of_one: float | Callable[[], float | None] | None = None

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def pvalue_interval(self) -> tuple[float, float]:
        """99 % interval for the p-value of infinitely many resamples; if it was computed, rigorous bounds."""
        if self.by_lens:
            return self.by_lens.pvalue_interval
        return self.panel.pvalue_interval if self.panel else self.null_distribution.pvalue_interval(self.statistic)

    @property
    def null_mean(self) -> float:
        """Mean of the statistic under the null: what noise alone gives."""
        return float(self.null_distribution.mean)

    @property
    def verdict(self) -> str:
        """One sentence: evidence of miscalibration, its kind where that is known, and its size, or no evidence."""
        if self.by_lens:
            return self.by_lens.verdict
        question, law = self.question, self.null_distribution
        bound = law.floor if self.panel is None and at_floor(self.pvalue, law) else 0.0
        rows = f"({question.n_in_words}, p {small_pvalue(self.pvalue, bound, self.level)})"
        found, noise = number(self.statistic, self.null_mean), number(self.null_mean, self.statistic)
        size, rejected = f"{question.size_in_words(found)}, {question.noise_gives} {noise}.", self.pvalue <= self.level
        if not rejected:
            told = f"{not_rejected(self.level, self._none_could, f'Calibration of {question.what}')} {rows}"
        else:
            told = f"Evidence of miscalibration of {question.what} at {percent(self.level)} {rows}"
            if self.panel and self.statistic <= self.null_mean:  # the panel sees what this size does not
                size = f"{question.size_in_words(found)}, no more than noise alone gives ({noise})."
            size += "" if question.stands_out else self.direction
        costs = f" {self.decision.meaning}" if self.decision else ""
        return f"{told}{question.which_way(rejected)}. {size}{costs}"

    @property
    def n_resamples(self) -> int | None:
        """How many redraws gave the p-value; None where it was computed."""
        if self.panel is not None:
            return self.panel.n_resamples
        return self.null.n_resamples if self.null_distribution.monte_carlo else None

    @property
    def _none_could(self) -> str:
        """Say so where no data could be rejected with so few redraws."""
        return "" if self.n_resamples is None else cannot_reject(self.n_resamples, 1, self.level)

    @property
    def direction(self) -> str:
        """A sentence after a space: which kind of error the strongest statistic of a panel points to; "" if none."""
        kind = self.panel and self.panel.kind
        return f" It points to {kind}." if kind else ""

    @property
    def _pvalue_text(self) -> str:
        if self.panel is not None:
            return f"{small_pvalue(self.pvalue, level=self.level)} ({self.panel.description})"
        found = pvalue_text(self.pvalue, self.null_distribution, self.level)
        return found.replace("(exact)", "(about)") if "(about" in self.hypothesis else found

    @property
    def how_expected(self) -> str:
        """How the mean under the null was computed, or drawn."""
        law = self.null_distribution
        return law.description if law.monte_carlo else "computed, no Monte Carlo error"

    @property
    def pooling(self) -> str:
        """What redraws and data are compared by, where rows are pooled; else ""."""
        if self.panel is not None:
            return self.panel.pooling
        return "" if self.null_distribution.pooled is None else self.null_distribution.pooled.note

    @property
    def method(self) -> str:
        """The methods section: estimator, null, and how its distribution was computed or drawn."""
        panel = "" if self.panel is None else f"; p-value: {self.panel.method}"
        return f"{self.question.estimator!r}; null: {self.hypothesis}; {self.null!r}{panel}"

    def _values(self) -> dict[str, Any]:
        low, high = self.pvalue_interval
        return (
            self.question.to_dict()
            | picked(self, "statistic standardized null_mean pvalue")
            | {"pvalue_low": low, "pvalue_high": high}
            | picked(self, "level remark hypothesis method notes")
            | self._of_cells()
            | ({"decision": self.decision.to_dict()} if self.decision else {})
            | {"panel": None if self.panel is None else dict(zip(self.panel.names, self.panel.pvalues, strict=True))}
            | ({"by_lens": self.by_lens.to_dict()["tests"]} if self.by_lens else {})
        )

    def _table(self) -> list[list[str]]:
        if self.by_lens:
            return self.by_lens._table()
        asked, found, mean = self.question, self.statistic, self.null_mean
        numbers = [number(found, mean), number(mean, found), pvalue_cell(self.pvalue, self.level)]
        which = asked.direction.named() if asked.direction else []
        return [
            ["calibration of", *asked.columns, "p", "", "", "", "rows", *(name for name, _ in which)],
            [asked.what, *numbers, "", "", "", str(asked.n), *(short(each) for _, each in which)],
        ]

    @property
    def tail(self) -> float | None:
        """About how small the p-value is where no redraw reaches the data; None where that is not known."""
        if self.panel is None:
            found = self.tail_of_one() if callable(self.tail_of_one) else self.tail_of_one
            vars(self)["tail_of_one"] = found  # what says so holds the rows
            return found
        computed = not self.null_distribution.monte_carlo
        return self.panel.tail_beside(self.null_distribution.pvalue(self.statistic) if computed else 1.0)

    def _of_cells(self) -> dict[str, Any]:
        """Return how many cells the p-value compares, and the value of the data there; None if nothing was pooled."""
        found = self.null_distribution.pooled
        known = (None, None) if found is None or found.exact else (found.n_cells, float(found.value))
        return dict(zip(("pooled_cells", "pooled_statistic"), known, strict=True))

    def _notes(self) -> Sequence[str]:
        if self.by_lens:
            return self.by_lens._notes()
        from calibstat.inference.tails import tail_note  # it needs this file

        floor = () if self.n_resamples is None else tail_note(self.n_resamples, [self.pvalue], [self.tail])
        return (*floor, *self.notes)

    def _details(self) -> list[tuple[str, str]]:
        if self.by_lens:
            return self.by_lens._details()
        found = self._of_cells()["pooled_statistic"]
        pooled = "" if found is None else f", pooled to cells, where the data give {number(found, self.null_mean)}"
        how = f" ({self.how_expected})" if self.panel else ""
        standardized = "" if self.standardized is None else f" (standardized {number(self.standardized)})"
        error = error_text(self.pvalue_interval, None if self.panel else self.null_distribution)
        return [
            ("value", f"{number(self.statistic, self.null_mean)}{standardized}: {self.question.estimator.quantity}"),
            ("noise alone", f"{number(self.null_mean, self.statistic)}: {EXPECTED}{pooled}{how}"),
            *([("where", self.remark)] if self.remark else []),
            ("p-value", f"{self._pvalue_text.removeprefix('= ')}, {error}"),
            *([("", self.panel.method)] if self.panel else []),
            *([("pooled", self.pooling)] if self.pooling else []),
            ("null", self.hypothesis),
            *self.question.details(),
        ]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Result):
    """The result of `estimate`.

    Parameters
    ----------
    estimate : float, array, record or Dataset
        The observed value.
    null_mean : float or array
        Mean of the estimator under calibration, on samples like this one: what noise alone gives.
    confidence_interval : ConfidenceInterval or None
        With ``low`` and ``high``, of the headline; None where no interval is known to cover.
    confidence_level : float
        The level that was asked for.
    interval_note : str
        What the interval is for and how it was computed, or why there is none.
    question : Inquiry
        Estimator, lens, number of rows.
    headline : float or None
        The one number of the estimate that a test is about; None where there is none.
    headline_null_mean : float or None
        Its mean under calibration, on samples like this one.
    notes : tuple of str
        What limits the result.
    meaning : str
        The value in a sentence, where the estimator writes one, as `DecisionLoss` does.
    noise : Noise or None
        Where the headline lies under calibration, on samples like this one, and whether it is beyond that.
    parts : tuple of Measure
        The numbers of a record, each with its own interval, and what a calibrated model has.
    by_lens : EstimatesByLens, optional
        The estimates through all lenses, where neither lens nor estimator was asked for and there are more than two
        classes; all else is about the one that exceeds noise by most.
    """

    estimate: Any
    null_mean: float | Floats
    confidence_interval: ConfidenceInterval | None
    confidence_level: float
    interval_note: str
    question: Inquiry
    headline: float | None = None
    headline_null_mean: float | None = None
    notes: tuple[str, ...] = ()
    meaning: str = ""
    noise: Noise | None = None
    parts: tuple[Measure, ...] = ()
    by_lens: EstimatesByLens | None = None

    _display: ClassVar[str] = "EstimateDisplay"

    @property
    def verdict(self) -> str:
        """The value with its interval, beside what noise alone gives, or what it means; an estimate is no test."""
        if self.by_lens:
            return self.by_lens.verdict
        question, value, mean = self.question, self.headline, self.headline_null_mean
        rows = f"({question.n_in_words})"
        whose = f"{question.what[:1].upper()}{question.what[1:]} {rows}{question.which_way()}."
        if self.meaning:
            return f"{self.meaning} {whose}"
        if value is None or mean is None:
            return f"Calibration of {question.what} {rows}{question.which_way()}."
        interval = self.confidence_interval
        ends = "no interval" if interval is None else interval_text(interval, self.confidence_level)
        size = question.size_in_words(f"{number(value, mean)} ({ends}), {question.noise_gives} {number(mean, value)}")
        return f"{size}. {whose}"

    def forest(self) -> Forest:
        """Return the headline as the row of a forest plot, with its interval, beside what noise alone gives."""
        from calibstat.inference.forest import Forest, ForestRow, in_words  # for pictures alone

        value, mean, core = self.headline, self.headline_null_mean, self.question.estimator.core
        if value is None or mean is None:
            raise ValueError(
                f"{core!r} gives several numbers, and this picture is of one; ReliabilityDisplay draws a sample in "
                "cells, and to_dict() has the numbers."
            )
        level, interval = percent(self.confidence_level), self.confidence_interval
        meaning = self.meaning and f" {self.meaning}"
        # calibrated models have 0 (mean calibration) or 1 (observed to expected) on average, but for draws
        near = ROUNDING if self.noise is None else 0.05 * (self.noise.high - self.noise.low) + ROUNDING
        plain_mean = round(mean) + 0.0 if abs(mean - round(mean)) < near else None
        ends = "no interval" if interval is None else interval_text(interval, self.confidence_level)
        return Forest(
            (ForestRow.beside(self.noise, in_words(type(core).__name__), value, interval),),
            axis=self.question.estimator.quantity.split(" (")[0],
            answer=(
                f"{number(value, mean)} ({ends})",
                f"noise alone {number(mean, value)}; n = {self.question.n:,}",
            ),
            caption=f"{self.question.estimator.quantity.capitalize()}, of {self.question.rows}, seen through "
            f"{self.question.lens!r}. Interval: {self.interval_note}. The pale bar is where {level} of the values of a "
            f"calibrated model with as many rows lie; a value in the strong colour is beyond that.{meaning}",
            interval=f"{level} interval",
            noise=f"{level} if calibrated",
            beyond="more than noise" if core.extreme == "large" else "beyond noise",
            reference=0.0 if core.noise_form or core.squared_form else plain_mean,
        )

    def _values(self) -> dict[str, Any]:
        """``estimate`` and ``null_mean`` are those of the headline, where there is one.

        What an estimator gives besides (a record, an array) is in ``values``, the means of its numbers in
        ``null_means``.
        """
        several = not isinstance(self.estimate, float)
        return (
            self.question.to_dict()
            | {"estimate": self.headline, "null_mean": self.headline_null_mean}
            | {"values": self.estimate if several else None, "null_means": self.null_mean if several else None}
            | {"null_interval": self.noise and self.noise[:2]}
            | picked(self, "confidence_interval confidence_level interval_note notes")
            | ({"meaning": self.meaning} if self.meaning else {})
            | ({"parts": {each.name: each._asdict() for each in self.parts}} if self.parts else {})
            | ({"by_lens": self.by_lens.to_dict()["estimates"]} if self.by_lens else {})
        )

    def _table(self) -> list[list[str]]:
        if self.by_lens:
            return self.by_lens._table()
        level, rows = f"{percent(self.level_of_parts)} interval", self.cells()
        if self.parts:
            return [[f"of {self.question.what}", "value", "if calibrated", level], *rows[1:]]
        whose = "calibration of" if self.question.estimator.core.is_error else "of"
        return [[whose, *self.question.columns, level], *rows] if rows else []

    @property
    def level_of_parts(self) -> float:
        """The level of the intervals in the table: records that have some of their own say it."""
        return float(getattr(self.question.estimator.core, "confidence_level", self.confidence_level))

    def cells(self) -> list[list[str]]:
        """Return rows of a table: whose value it is with the value, or below it the numbers of a record."""
        value, mean, interval = self.headline, self.headline_null_mean, self.confidence_interval
        if self.parts:
            return [[self.question.what, "", "", ""], *map(_cells_of_part, self.parts)]
        if value is None or mean is None:
            return []
        ends = "none" if interval is None else ends_text(interval)
        return [[self.question.what, number(value, mean), number(mean, value), ends]]

    def _notes(self) -> Sequence[str]:
        return self.by_lens._notes() if self.by_lens else self.notes

    def _details(self) -> list[tuple[str, str]]:
        if self.by_lens:
            return self.by_lens._details()
        whole = " ".join(repr(self.estimate).split())
        named = isinstance(self.estimate, float) or len(whole) > _LONGEST
        none = "" if self.confidence_interval else "none: "
        shown = [("value", self.question.estimator.quantity), ("noise alone", EXPECTED)]
        if self.headline is None:
            shown = [("values", "several numbers, in .estimate" if named else whole)]
        return [
            *shown,
            ("interval", f"{none}{self.interval_note}"),
            *self.question.details(),
        ]


def _cells_of_part(part: Measure) -> list[str]:
    """Return the cells of a number of a record; what is not defined is said so."""
    value = "not defined" if part.value != part.value else number(part.value)
    return [
        part.words,
        pvalue_cell(part.value) if isfinite(part.value) and part.name.endswith("pvalue") else value,
        number(part.expected) if isfinite(part.expected) else "",
        ends_text(part.interval) if all(map(isfinite, part.interval)) else "",
    ]


@dataclass(frozen=True, eq=False)
class Inquiry:
    """The estimator, the lens and the data of a question: the part that every result shares.

    `given` is what was conditioned on, where ``...`` is the prediction; `source` says which class each column was taken
    for when the sample was made; `clusters` are those that the method drew whole, if there were any, and `hint` says
    that there may be some that were not named; `before` are the classes before the lens, and how these had been seen;
    `seen` is the sample as it was looked at, which a pickled result leaves behind.
    """

    estimator: Estimator
    n: int
    n_classes: int
    given: tuple[Any, ...]
    source: str
    counts: RowCounts
    clusters: ClusterCount | None = None
    hint: str = ""
    before: tuple[Sequence[Hashable], str] = ((), "")
    seen: Sample | None = None

    @cached_property
    def what(self) -> str:
        """Whose calibration is asked for, in words: "P(yes)"."""
        return in_words(self.lens, *self.before)

    @cached_property
    def direction(self) -> Direction | None:
        """Which way the model errs; None unless there are two outcomes, given the prediction.

        Once it is known, the sample is not kept any longer.
        """
        found = None if self.seen is None or self.given != (...,) else direction_of(self.seen)
        vars(self)["seen"] = None
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "direction": self.direction, "seen": None}

    @property
    def n_in_words(self) -> str:
        """How many rows there are, and in how many clusters, where that is known."""
        return f"n = {self.n}" + ("" if self.clusters is None else f" in {self.clusters}")

    @property
    def rows(self) -> str:
        """How many rows there are; with weights, how many in effect; and in how many clusters, where that is known."""
        return self.counts.text(self.n) + ("" if self.clusters is None else f" in {self.clusters}")

    @property
    def lens(self) -> Lens:
        """The lens that was looked through."""
        return self.estimator.lens

    @property
    def direction_numbers(self) -> dict[str, Any]:
        """What was predicted and happened, and which way predictions err, by name; NaN for more than two outcomes."""
        return (self.direction or NO_DIRECTION).to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "lens": repr(self.lens),
            "given": ", ".join("prediction" if name is ... else str(name) for name in self.given),
            "estimator": repr(self.estimator.core),
            "n": self.n,
            "n_classes": self.n_classes,
            "source": self.source,
            **self.direction_numbers,
            **({} if self.clusters is None else self.clusters.to_dict()),
        }

    @property
    def noise_gives(self) -> str:
        """Introduce the mean under calibration: of an error it is what noise alone gives."""
        return f"where {'noise alone' if self.estimator.core.is_error else 'a calibrated model'} gives"

    @property
    def columns(self) -> tuple[str, str]:
        """What a table calls the value, and its mean under calibration."""
        return ("error", "noise alone") if self.estimator.core.is_error else ("value", "if calibrated")

    @property
    def stands_out(self) -> str:
        """What stands out from noise, of an error that there is: "too high"; "" where nothing does or none is known."""
        return "" if self.direction is None else self.direction.words

    def which_way(self, rejected: bool = False) -> str:
        """After a colon, which way the model errs: ": too high, 0.51 predicted, 0.49 happened"; "" where none is known.

        Words such as "too high" need a test that rejects.
        """
        words = f"{self.stands_out}, " if rejected and self.stands_out else ""
        return "" if self.direction is None else f": {words}{self.direction}"

    @property
    def quantity(self) -> str:
        """What the value is, as the beginning of a sentence, without what stands in brackets."""
        quantity = re.sub(r" \([^()]*\)$", "", self.estimator.quantity)
        return f"{quantity[:1].upper()}{quantity[1:]}"

    def size_in_words(self, size: str) -> str:
        """Write a value after the name of its quantity: "Average calibration error: 0.02"."""
        return f"{self.quantity}: {size}"

    def details(self) -> list[tuple[str, str]]:
        """Return the names and texts that say what was asked, and of which rows."""
        return [
            ("estimator", f"{self.estimator!r}"),
            ("data", f"{self.rows}, {self.n_classes} classes seen through {self.lens!r}; {self.source}"),
            *([("slope", self.direction.of_slope)] if self.direction and self.direction.of_slope else []),
        ]


def plain(value: Any) -> Any:
    """Return any value of an estimator in a form that JSON can hold; a number that is not finite becomes None.

    Arrays, records (dataclasses, or with ``to_dict``) and collections become lists and mappings; anything else becomes
    its text.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return str(value)


# How numbers and verdicts are put into words. Words never accept a null hypothesis.

# The smallest bound for rounding errors of a zero; the largest is ROUNDING, and TIE_SHARE applies between.
_SMALLEST_NOISE = 1e-16


def number(value: float, *beside: float) -> str:
    """Write four significant digits; rounding errors of a zero are written as 0.

    Numbers `beside` are of the same kind and set the scale of rounding errors; without any, the scale is that of
    probabilities. (Squared errors of rare events are smaller than rounding errors elsewhere.)

    >>> number(0.123456), number(-1.7e-15), number(-1.7e-15, 0.03), number(3e-15, 1e-14), number(float("inf"))
    ('0.1235', '0', '0', '3e-15', 'infinite')
    """
    if value == inf:
        return "infinite"
    known = beside and all(map(isfinite, beside))
    noise = min(ROUNDING, TIE_SHARE * max(map(abs, (value, *beside)))) if known else ROUNDING
    return f"{0.0 if abs(value) < max(noise, _SMALLEST_NOISE) else value:.4g}"


def interval_text(interval: tuple[float, float], level: float) -> str:
    """Write an interval out with its level: "95 %: 0 to 0.071"."""
    return f"{percent(level)}: {ends_text(interval)}"


def ends_text(interval: tuple[float, float]) -> str:
    """Write both ends of an interval out: "0 to 0.071"."""
    return f"{number(*interval)} to {number(*reversed(interval))}"


def at_floor(pvalue: float, null: NullDistribution) -> bool:
    """Whether the p-value is only known to be at most this small.

    A computed p-value is, at the smallest value for which its law is accurate. A p-value from draws never is: the
    smallest one that R draws can give, 1 / (1 + R), is itself a valid p-value (Phipson & Smyth 2010).
    """
    return not null.monte_carlo and pvalue <= null.floor


def small_pvalue(pvalue: float, floor: float = SMALLEST_PVALUE, level: float = 1.0) -> str:
    """Write a p-value out, "= 0.0123", or as a bound where a computed one is tiny, "< 1e-12"; never as zero.

    One near the level is written so that it stays on its side of it.

    >>> small_pvalue(0.0500049), small_pvalue(0.0500049, level=0.05)
    ('= 0.05', '= 0.050005')
    """
    if pvalue <= floor:
        return f"< {floor:g}"
    written = (f"{pvalue:.{digits}g}" for digits in range(3, 18))
    return f"= {next(each for each in written if (float(each) <= level) == (pvalue <= level))}"


def pvalue_cell(pvalue: float, level: float = 1.0) -> str:
    """Write a p-value for a table: as `small_pvalue` does, without the sign of equality."""
    return small_pvalue(pvalue, level=level).removeprefix("= ")


def pvalue_text(pvalue: float, null: NullDistribution, level: float = 1.0) -> str:
    """Write a p-value and where it comes from; a computed one at the smallest value of its law is a bound."""
    return f"{small_pvalue(pvalue, null.floor if at_floor(pvalue, null) else 0.0, level)} ({null.description})"


def not_rejected(level: float, none: str = "", what: str = "Calibration") -> str:
    """Begin the sentence of a test that does not reject: at which level, after a headline that none could, if so.

    >>> not_rejected(0.05)
    'Calibration is not rejected at 5 %'
    """
    return f"{none} {what} is not rejected at {percent(level)}".strip()


def error_text(interval: tuple[float, float], null: NullDistribution | None) -> str:
    """Say how well a p-value, drawn without a null, is known: the Monte Carlo interval, or that there is no error."""
    low, high = interval
    if null is None or null.monte_carlo:
        return f"Monte Carlo 99 % interval {low:.3g} to {high:.3g}"
    return "no Monte Carlo error" if low >= high or high <= null.floor else f"at least {low:.4g}, no Monte Carlo error"


def number_cell(value: float, *beside: float) -> str:
    """Four decimals, or four digits of a small number; numbers `beside` set the scale of rounding errors (`number`).

    >>> number_cell(0.01234), number_cell(0.0000123456)
    ('0.0123', '1.235e-05')
    """
    return f"{value:.4f}" if value == 0 or abs(value) >= 0.0001 else number(value, *beside)
