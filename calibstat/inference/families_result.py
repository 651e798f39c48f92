"""What a test of each of several numbers found, in words."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from calibstat.arrays import Floats
from calibstat.inference.asked import Asked
from calibstat.inference.results import frame
from calibstat.inference.words import LEVEL, counted, number
from calibstat.nulls.base import Null

if TYPE_CHECKING:
    import pandas as pd

METHODS = {
    "max-t": "single-step max-T, over all on the same draws (Westfall & Young 1993)",
    "step-down": "step-down max-T, over those left on the same draws (Westfall & Young 1993)",
    "holm": "Holm's method",
    "fdr_bh": "share of false discoveries, for positive dependence (Benjamini & Hochberg 1995)",
    "fdr_by": "share of false discoveries, for any dependence (Benjamini & Yekutieli 2001)",
}


@final
@dataclass(frozen=True, eq=False, repr=False)
class MultipleTest:
    """What `multiple_test` found: one test for each name.

    Parameters
    ----------
    names : tuple
        Levels of a variable, class labels, or names of members.
    values : (J,) floats
    null_means : (J,) floats
        Mean of each value under the null: what noise alone gives.
    standardized : (J,) floats
        Evidence of each, in standard deviations of its draws above their mean.
    pvalues : (J,) floats
        Of each by itself; NaN where the value is.
    adjusted : (J,) floats
        Adjusted for having looked at all; NaN where the value is.
    adjust : str
    n_resamples : int
    hypothesis : str
    null : Null
    asked : Asked
    """

    names: tuple[Hashable, ...]
    values: Floats
    null_means: Floats
    standardized: Floats
    pvalues: Floats
    adjusted: Floats
    adjust: str
    n_resamples: int
    hypothesis: str
    null: Null
    asked: Asked

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def rejected(self) -> tuple[Hashable, ...]:
        """The names whose adjusted p-value is at most the level that texts use, 5 %."""
        return tuple(name for name, p in zip(self.names, self.adjusted, strict=True) if p <= LEVEL)

    @property
    def untested(self) -> tuple[Hashable, ...]:
        """The names whose value is not a number (NaN), so that there is nothing to test."""
        return tuple(name for name, p in zip(self.names, self.adjusted, strict=True) if np.isnan(p))

    @property
    def verdict(self) -> str:
        """One sentence: for which names there is evidence of miscalibration, or that there is none."""
        tests = len(self) - len(self.untested)
        where = f"through {self.asked.lens!r} (n = {self.asked.n}, adjusted for {counted(tests, 'test')}"
        if not tests:
            return f"Nothing to test {where})."
        if not self.rejected:
            return (
                f"No evidence of miscalibration {where}: smallest adjusted p = {float(np.nanmin(self.adjusted)):.3g})."
            )
        kind = "share of false discoveries" if self.adjust.startswith("fdr") else "level"
        found = ", ".join(map(str, self.rejected))
        return f"Evidence of miscalibration for {found} {where}, {kind} {100 * LEVEL:g} %)."

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each name."""
        return frame(self._rows()).set_index("name")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; what is not a number is None."""
        tests = [{key: _plain(value) for key, value in row.items()} for row in self._rows()]
        return self.asked.to_dict() | {
            "adjust": self.adjust,
            "n_resamples": self.n_resamples,
            "null": repr(self.null),
            "hypothesis": self.hypothesis,
            "rejected": [_plain(name) for name in self.rejected],
            "untested": [_plain(name) for name in self.untested],
            "tests": tests,
        }

    def __str__(self) -> str:
        width = max([4, *(len(str(name)) for name in self.names)])
        untested = ", ".join(map(str, self.untested))
        rows = [
            f"  {row['name']!s:{width}}  {number(row['value'], row['null_mean']):>9}  "
            f"{number(row['null_mean'], row['value']):>9}  {row['pvalue']:>7.3g}  {row['adjusted']:>10.3g}"
            f"{'  *' if row['adjusted'] <= LEVEL else ''}"
            for row in self._rows()
        ]
        return "\n".join(
            [
                self.verdict,
                f"  {'name':{width}}  {'value':>9}  {'expected':>9}  {'p':>7}  {'adjusted p':>10}",
                *rows,
                f"  value     {self._quantity()}",
                "  expected  mean of the value under the null: what noise alone gives",
                f"  adjusted  {METHODS[self.adjust]}; * rejects at {100 * LEVEL:g} % "
                f"({counted(self.n_resamples, 'resample')})",
                *([f"  untested  {untested}: the value is not a number (NaN)"] if untested else []),
                f"  null      {self.hypothesis}",
                f"  estimator {self.asked.estimator!r}",
                f"  data      n = {self.asked.n}; {self.asked.source}",
            ]
        )

    __repr__ = __str__

    def _quantity(self) -> str:
        """What the value of each name is, where that can be said: not the quantity of the headline of all."""
        core = self.asked.estimator.core
        members = [core.estimator] if hasattr(core, "estimator") else getattr(core, "estimators", ())
        each = "; ".join(dict.fromkeys(str(member.quantity) for member in members))
        return f"of each name by itself: {each or core.quantity}"

    def _rows(self) -> list[dict[str, Any]]:
        keys = ("name", "value", "null_mean", "standardized", "pvalue", "adjusted")
        columns = (self.names, self.values, self.null_means, self.standardized, self.pvalues, self.adjusted)
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain(value: Any) -> Any:
    """A Python value that JSON can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
