"""The record of findings that audits of groups and scans of variables share; its words never accept a null."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar, final

from calibstat._dataclass import dataclass
from calibstat._text import counted, percent
from calibstat.auditing.groups import LeftOut
from calibstat.inference.multiplicity import ADJUSTMENTS, cannot_reject, least_factor
from calibstat.inference.results import Result, RowCounts, not_rejected, noted, number_cell, picked, pvalue_cell

_LEFT_OUT_SHOWN = 6


class _Finding(Protocol):
    """What was found for one group or one variable; its p-value is adjusted for all that were looked at."""

    @property
    def name(self) -> str: ...

    @property
    def pvalue_adjusted(self) -> float: ...

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
    source: str  # what was taken for what when the sample was made
    counts: RowCounts

    _indexed: ClassVar[bool] = True
    _width: ClassVar[int | None] = 100

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
            **picked(self, "n n_resamples adjust level confidence_level hypothesis source notes"),
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

    @final
    def _details_after(self, above: list[tuple[str, str]], intervals: str, known: bool) -> list[tuple[str, str]]:
        """Return what stands below the table, behind what is special about the columns."""
        intervals = f"intervals for the error in {intervals} that cover all together"
        details = [
            *above,
            (percent(self.confidence_level), intervals if known else ""),
            ("adjusted p", f"{ADJUSTMENTS[self.adjust]}; * at most {percent(self.level)}"),
            ("null", self.hypothesis),
            ("left out", left_out_text(self.left_out)),
            ("data", f"{self.counts.text(self.n)}; {self.source}"),
            *noted(self.notes),
        ]
        return [(name, text) for name, text in details if text]

    @final
    def _not_rejected(self, what: str) -> str:
        """Begin the sentence where nothing is rejected, and end it by the smallest p-value."""
        none = cannot_reject(self.n_resamples, least_factor(self.adjust, len(self)), self.level)
        return not_rejected(self.level, none, what)

    @final
    def _pvalue_cell(self, found: _Found) -> str:
        return pvalue_cell(found.pvalue_adjusted, self.level) + (" *" if found.pvalue_adjusted <= self.level else "")


def found_in(n_found: int, n: int, what: str) -> str:
    """Say in how many there is evidence; words never accept a null."""
    return f"off in {n_found} of {counted(n, what)}" if n_found else f"no evidence in any of {counted(n, what)}"


def interval_cell(interval: tuple[float, float] | None) -> str:
    """Write an interval for a table; nothing where there is none."""
    return "" if interval is None else f"{number_cell(interval[0])} to {number_cell(interval[1])}"


def means_text(predicted: float, happened: float) -> str:
    """Say what was predicted and what happened, on average."""
    return f"{predicted:.3f} predicted, {happened:.3f} happened"


def left_out_text(left_out: Sequence[LeftOut]) -> str:
    """List what was left out, the first few of it."""
    shown = [f"{each.name} (n = {each.n}) {each.reason}" for each in left_out[:_LEFT_OUT_SHOWN]]
    more = len(left_out) - _LEFT_OUT_SHOWN
    return "; ".join(shown) + (f"; and {more} more: see .left_out" if more > 0 else "")
