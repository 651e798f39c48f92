"""Calibration and discrimination in each group of rows, one line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted, level_of, percent
from calibstat.binnings.intervals import EqualMass
from calibstat.binnings.values import Categories
from calibstat.data.arrays import Ints, as_generator
from calibstat.data.sample import Sample
from calibstat.estimators.panels import ClinicalPanel
from calibstat.inference._clinical_measures import Clinic, events_of
from calibstat.inference.intervals import Measure
from calibstat.inference.results import Result, RowCounts, number
from calibstat.lenses.restrict import Given

# Numbers with more different values are cut into so many groups of as many rows.
_FEW_VALUES, _CUT_INTO = 10, 4
_SHOWN = {"oe": "O/E", "slope": "slope", "c_index": "C-index"}


class ClinicalGroup(NamedTuple):
    """Rows with a common level of a variable, and their measures by name: oe, intercept, slope, c_index."""

    variable: str
    level: str
    n: int
    n_events: int
    measures: dict[str, Measure]
    counts: RowCounts

    @property
    def name(self) -> str:
        """Variable and level."""
        return level_of(self.variable, self.level)


@final
@dataclass(frozen=True, eq=False, repr=False)
class ClinicalGroups(Result):
    """O/E, slope and C-index of each group, as `clinical_summary` gives them with `by`.

    Parameters
    ----------
    each : tuple of ClinicalGroup
        With ``variable``, ``level``, ``n``, ``n_events``, ``measures`` and ``counts``.
    confidence_level : float
        Of each interval by itself; they are not adjusted for the number of groups.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, sex = rng.beta(1, 3, 600), np.repeat(["f", "m"], 300)
    >>> sample = cs.Sample(rng.random(600) < p, p, variables={"sex": sex})
    >>> groups = cs.clinical_summary(sample, by="sex", n_resamples=99, rng=0).groups
    >>> [(group.name, group.n_events) for group in groups.each]
    [('sex f', 76), ('sex m', 75)]
    """

    _row: ClassVar[str] = "group"
    _spare_columns: ClassVar[tuple[int, ...]] = (1, 2, 8, 6, 4)

    each: tuple[ClinicalGroup, ...]
    confidence_level: float

    @property
    def counts(self) -> RowCounts:
        """What weights and outcomes leave of the rows of the smallest group."""
        return RowCounts.least(each.counts for each in self.each)

    @classmethod
    def of(cls, seen: Sample, by: str | Sequence[str], panel: ClinicalPanel, confidence_level: float) -> ClinicalGroups:
        """Summarise the groups of these variables, one after the other."""
        names = [by] if isinstance(by, str) else list(by)
        return cls(
            tuple(
                _summarised(name, level, seen.take(rows), panel, confidence_level)
                for name in names
                for level, rows in _levels(name, seen)
            ),
            confidence_level,
        )

    @property
    def verdict(self) -> str:
        """From which value to which the measures go."""
        ranges = [text for name, words in _SHOWN.items() if (text := self._range(name, words))]
        groups = f"In {counted(len(self.each), 'group')}, not adjusted for their number,"
        return f"{groups} {', '.join(ranges) or 'nothing is defined'}."

    def _range(self, name: str, words: str) -> str:
        known = [each for each in self.each if not isnan(each.measures[name].value)]
        if not known:
            return ""
        low, high = (choose(known, key=lambda each: each.measures[name].value) for choose in (min, max))
        if low is high:
            return f"{words} is {low.measures[name].value:.3g} ({low.name})"
        ends = (f"{each.measures[name].value:.3g} ({each.name})" for each in (low, high))
        return f"{words} goes from {' to '.join(ends)}"

    def _values(self) -> dict[str, Any]:
        return {"groups": self._rows(), "confidence_level": self.confidence_level}

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"group": each.name, "variable": each.variable, "level": each.level, "n": each.n}
            | {"n_events": each.n_events}
            | {
                f"{name}{end}": value
                for name, one in each.measures.items()
                for end, value in (("", one.value), ("_low", one.low), ("_high", one.high))
            }
            for each in self.each
        ]

    def _table(self) -> list[list[str]]:
        level = percent(self.confidence_level)
        heading = ["group", "rows", "events", *(cell for words in ("O/E", "slope", "C") for cell in (words, level))]
        return [heading, *([each.name, str(each.n), str(each.n_events), *_cells(each)] for each in self.each)]

    def _notes(self) -> list[str]:
        return [
            f"each interval holds by itself with {percent(self.confidence_level)}: of many groups, some lie apart by "
            "chance alone; an audit of subgroups tests them together"
        ]


def _cells(group: ClinicalGroup) -> Iterator[str]:
    for name in _SHOWN:
        found = group.measures[name]
        yield "none" if isnan(found.value) else _short(found.value)
        yield "" if isnan(found.low) else f"{_short(found.low)} to {_short(found.high)}"


def _short(value: float) -> str:
    """Write two decimals, or more of a number that is near zero."""
    return f"{value:.2f}" if value == 0 or abs(value) >= 0.01 else number(value)


def _levels(name: str, seen: Sample) -> Iterator[tuple[str, Ints]]:
    """Yield the levels of a variable with their rows; numbers of many values are cut."""
    given = Given(name)(seen).predictions
    variable = given.column(name)
    few = variable.levels is not None or len(np.unique(variable.values)) <= _FEW_VALUES
    cells = (Categories() if few else EqualMass(_CUT_INTO)).cut(given)
    for cell in np.unique(cells.index):
        rows = np.flatnonzero(cells.index == cell)
        if cells.names is not None:
            yield cells.names[cell], rows
        else:
            values = variable.values[rows]
            yield f"{values.min():.4g} to {values.max():.4g}", rows


def _summarised(name: str, level: str, rows: Sample, panel: ClinicalPanel, confidence_level: float) -> ClinicalGroup:
    clinic = Clinic(panel, rows, confidence_level, 1, as_generator(0))  # nothing is drawn
    measures = {each.name: each for each in clinic.main()}
    n, n_events = rows.predictions.n_rows, events_of(rows)
    return ClinicalGroup(name, level, n, n_events, measures, RowCounts.of(rows, min(n_events, n - n_events)))
