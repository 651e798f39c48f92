"""The record of findings that audits of groups and scans of variables share; its words never accept a null."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from math import floor, log10
from typing import Any, ClassVar, Generic, Protocol, TypeVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted, percent, some_of
from calibstat.auditing.groups import LeftOut
from calibstat.inference.multiplicity import ADJUSTMENTS, cannot_reject, least_factor
from calibstat.inference.results import Result, RowCounts, not_rejected, number, picked, pvalue_cell

_LEFT_OUT_SHOWN = 3
# Numbers below this have two significant digits, and those below the other an exponent.
_SMALL, _SMALLEST = 0.01, 1e-4
# Groups or variables that a table shows at most.
SHOWN = 25
CAUTION = "p-values do not hold if the model or its calibration was fitted on these rows"
CLUSTERED = ", or if rows come in clusters (several of one patient, one video)"


class _Finding(Protocol):
    """What was found for one group or one variable; its p-value is adjusted for all that were looked at."""

    @property
    def name(self) -> str: ...

    @property
    def pvalue_adjusted(self) -> float: ...

    @property
    def confidence_interval(self) -> tuple[float, float] | None: ...

    def to_dict(self) -> dict[str, Any]: ...


_Found = TypeVar("_Found", bound=_Finding)


@dataclass(frozen=True, eq=False, repr=False)
class Findings(Result, Generic[_Found]):
    """What was found for each of several groups or variables, all on the same draws."""

    adjust: str  # how p-values were adjusted
    level: float  # at which tests reject
    confidence_level: float  # with which all intervals cover together
    n: int
    n_resamples: int
    left_out: tuple[LeftOut, ...]  # what was not looked at, and why
    notes: tuple[str, ...]
    how: tuple[str, ...]  # how noise was drawn, where that is special
    source: str  # what was taken for what when the sample was made
    counts: RowCounts
    what: str  # whose calibration it is, in words

    _indexed: ClassVar[bool] = True

    @property
    @abstractmethod
    def _findings(self) -> tuple[_Found, ...]:
        """All findings, in their order."""

    @property
    @abstractmethod
    def hypothesis(self) -> str:
        """The null of the adjusted p-values."""

    def __iter__(self) -> Iterator[_Found]:
        return iter(self._findings)

    def __len__(self) -> int:
        return len(self._findings)

    def __getitem__(self, name: str) -> _Found:
        for found in self._findings:
            if found.name == name:
                return found
        names = [found.name for found in self._findings]
        raise KeyError(f"there is no {self._row} {name!r}; the {self._row}s are {names!r}")

    def _asked(self) -> dict[str, Any]:
        """Return what is special about the question, for `to_dict`."""
        return {}

    @final
    def _values(self) -> dict[str, Any]:
        return {
            **self._asked(),
            **picked(self, "n n_resamples adjust level confidence_level hypothesis source notes how"),
            f"{self._row}s": self._findings,
            "left_out": self.left_out,
        }

    def _rows(self) -> Sequence[dict[str, Any]]:
        return [found.to_dict() for found in self._findings]

    @final
    def _forest_words(self, what: str, heading: str = "said \N{RIGHTWARDS ARROW} happened") -> dict[str, Any]:
        """Return the words that pictures of all findings share."""
        return {
            "caption": f"{self.verdict} Rows are sorted by evidence. A line is the interval of an error; the intervals "
            f"of all {len(self)} {what} hold together, with {percent(self.confidence_level)} confidence. A pale bar "
            "reaches to what noise alone gives on average; errors in the strong colour are more than noise, by "
            f"p-values adjusted {ADJUSTMENTS[self.adjust]}. Null: {self.hypothesis}.",
            "interval": f"{percent(self.confidence_level)}, all together",
            "noise": "noise alone, on average",
            "heading": heading,
        }

    @property
    def _ends(self) -> str:
        """The name of the column of intervals."""
        return f"{percent(self.confidence_level)} interval"

    @final
    def _notes(self) -> list[str]:
        left = [f"left out: {left_out_text(self.left_out)}"] if self.left_out else []
        clustered = "" if getattr(self, "clusters", None) else CLUSTERED
        more = len(self) - SHOWN
        cut = [f"{more} more {self._row}s are not in the table"] if more > 0 else []
        return [*left, CAUTION + clustered, *cut, *self.notes]

    @final
    def _decided_by_pvalue(self, found: _Found) -> bool:
        """Whether a test rejects where the interval, of another method, holds 0."""
        return found.pvalue_adjusted <= self.level and (found.confidence_interval or (1.0, 1.0))[0] <= 0

    @final
    def _details_after(self, above: list[tuple[str, str]], intervals: str, known: bool) -> list[tuple[str, str]]:
        """Return how the numbers were computed, behind what is special about the columns."""
        intervals = f"intervals for the error in {intervals} that cover all together"
        held = [each.name for each in self._findings if self._decided_by_pvalue(each)]
        details = [
            *above,
            (percent(self.confidence_level), intervals if known else ""),
            ("they hold 0", f"{some_of(held)}: tests are of another method, and the p-value decides" if held else ""),
            ("adjusted p", f"{ADJUSTMENTS[self.adjust]}; * at most {percent(self.level)}"),
            ("null", self.hypothesis),
            (
                "draws",
                "; ".join(
                    [
                        f"{self.n_resamples} redraws, which give no p-value below {1 / (1 + self.n_resamples):.2g}",
                        *self.how,
                    ]
                ),
            ),
            ("data", f"{self.counts.text(self.n)}; {self.source}"),
        ]
        return [(name, text) for name, text in details if text]

    @property
    def _left_out_in_excess(self) -> str:
        """A sentence after a space: which groups that were left out have more than chance gives; "" if none."""
        found = [f"{each.name} has {each.excess}" for each in self.left_out if each.excess]
        return f" Left out, but more than chance gives: {some_of(found)}." if found else ""

    @final
    def _not_rejected(self, what: str) -> str:
        """Begin the sentence where nothing is rejected, and end it by the smallest p-value."""
        none = cannot_reject(self.n_resamples, least_factor(self.adjust, len(self)), self.level)
        return not_rejected(self.level, none, what)

    @final
    def _p_cell(self, pvalue: float) -> str:
        return pvalue_cell(pvalue, self.level) + (" *" if pvalue <= self.level else "")


def sentence(text: str) -> str:
    """Begin a sentence with a capital letter."""
    return text[:1].upper() + text[1:]


def found_in(n_found: int, n: int, what: str) -> str:
    """Say in how many there is evidence; words never accept a null."""
    return f"off in {n_found} of {counted(n, what)}" if n_found else f"no evidence in any of {counted(n, what)}"


def short_number(value: float, sign: str = "") -> str:
    """Write three decimals, or two significant digits of what is smaller; `sign` is "+" where zero has one.

    >>> [short_number(value) for value in (0.1234, 0.0047, 0.00001234, 0.0)], short_number(-0.002, "+")
    (['0.123', '0.0047', '1.2e-05', '0.000'], '-0.0020')
    """
    size = abs(float(number(value)))
    if not 0 < size < _SMALL:
        return f"{value if size else 0.0:{sign}.3f}"
    return f"{value:{sign}.2g}" if size < _SMALLEST else f"{value:{sign}.{1 - floor(log10(size))}f}"


def error_cells(values: Sequence[float]) -> list[str]:
    """Write errors for a column of a table."""
    return [short_number(value) for value in values]


def interval_cells(intervals: Sequence[tuple[float, float] | None]) -> list[str]:
    """Write intervals for a column of a table; nothing where there is none."""
    known = [each for each in intervals if each is not None]
    if not known:
        return [""] * len(intervals)
    ends = iter(error_cells([end for each in known for end in each]))
    return ["" if each is None else f"{next(ends)} to {next(ends)}" for each in intervals]


def mean_cell(mean: float) -> str:
    """Write a mean for a table; nothing for more than two outcomes."""
    return "" if np.isnan(mean) else short_number(mean)


def means_text(predicted: float, happened: float) -> str:
    """Say what was predicted and what happened, on average."""
    return f"{short_number(predicted)} predicted, {short_number(happened)} happened"


def left_out_text(left_out: Sequence[LeftOut]) -> str:
    """List what was left out, the first few of it."""
    shown = [
        f"{each.name} (n = {each.n}) {each.reason}{each.excess and ', more than chance gives'}"
        for each in left_out[:_LEFT_OUT_SHOWN]
    ]
    more = len(left_out) - _LEFT_OUT_SHOWN
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")
