"""What a comparison of two models found, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from calibstat.inference.asked import Asked
from calibstat.inference.linear_recalibration import RecalibrationDifference
from calibstat.inference.plain_values import plain
from calibstat.inference.results import frame
from calibstat.inference.score_difference import ScoreDifference
from calibstat.inference.spread import ConfidenceInterval
from calibstat.inference.words import LEVEL, interval_text, number, pvalue_cell, small_pvalue

if TYPE_CHECKING:
    import pandas as pd

ENOUGH_ROWS = 500


@final
@dataclass(frozen=True, eq=False, repr=False)
class ComparisonTest:
    """What `comparison_test` found; unpacks to ``(difference, pvalue)``.

    Parameters
    ----------
    difference : float
        Debiased squared error of the first model minus that of the second, each in its own cells.
    pvalue : float
        Wrapped: the larger of `normal_pvalue` and twice the smaller of `own_pvalues`.
    statistic : float
        The difference in standard errors.
    normal_pvalue : float
        Of the statistic alone; not valid where both models are calibrated.
    own_pvalues : (float, float)
        Exact p-value of each model by itself, for "this model is calibrated".
    values : (float, float)
        The debiased squared errors.
    standard_error : float
        Root of the total variance of the difference.
    confidence_interval : ConfidenceInterval
        Of the difference, not wrapped.
    confidence_level : float
    recalibration_difference : RecalibrationDifference or None
        Of what a linear recalibration gains; for two outcomes without weights.
    score_difference : ScoreDifference
    paired : bool
    names : (str, str)
    asked : (Asked, Asked)
    n_resamples : int
        Of the exact p-values.
    """

    difference: float
    pvalue: float
    statistic: float
    normal_pvalue: float
    own_pvalues: tuple[float, float]
    values: tuple[float, float]
    standard_error: float
    confidence_interval: ConfidenceInterval
    confidence_level: float
    recalibration_difference: RecalibrationDifference | None
    score_difference: ScoreDifference
    paired: bool
    names: tuple[str, str]
    asked: tuple[Asked, Asked]
    n_resamples: int

    def __iter__(self) -> Iterator[float]:
        return iter((self.difference, self.pvalue))

    @property
    def root_values(self) -> tuple[float, float]:
        """Roots of the squared errors, those of negative ones zero: in probability units."""
        first, second = (float(np.sqrt(max(value, 0.0))) for value in self.values)
        return first, second

    @property
    def hypothesis(self) -> str:
        """Which hypothesis the p-value belongs to."""
        first, second = self.names
        return (
            f"{first} and {second} have the same squared calibration error through {self.asked[0].lens!r}, each binned "
            "by its own cells (both may be zero)"
        )

    @property
    def verdict(self) -> str:
        """One sentence: which model has the smaller error, or that they cannot be told apart."""
        first, second = self.names
        where = f"through {self.asked[0].lens!r} ({self._rows()}, p {small_pvalue(self.pvalue)})"
        if self.pvalue > LEVEL:
            return f"The calibration errors of {first} and {second} cannot be told apart {where}."
        smaller = first if self.difference < 0 else second
        differ = f"Evidence that the calibration errors of {first} and {second} differ"
        return f"{differ} {where}: that of {smaller} is smaller."

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the result."""
        found = []
        if min(asked.n for asked in self.asked) < ENOUGH_ROWS:
            found.append(f"fewer than {ENOUGH_ROWS} rows: the normal approximation is for at least as many")
        low, high = self.confidence_interval
        if self.pvalue > LEVEL and not low <= 0 <= high:
            found.append("the interval excludes 0, but not where both models may be calibrated: the p-value decides")
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        values: dict[str, Any] = plain(
            {
                "models": list(self.names),
                "lens": repr(self.asked[0].lens),
                "estimator": repr(self.asked[0].estimator.core),
                "n": [asked.n for asked in self.asked],
                "source": [asked.source for asked in self.asked],
                "paired": self.paired,
                "difference": self.difference,
                "pvalue": self.pvalue,
                "statistic": self.statistic,
                "normal_pvalue": self.normal_pvalue,
                "own_pvalues": list(self.own_pvalues),
                "values": list(self.values),
                "root_values": list(self.root_values),
                "standard_error": self.standard_error,
                "confidence_interval": list(self.confidence_interval),
                "confidence_level": self.confidence_level,
                "n_resamples": self.n_resamples,
                "recalibration_difference": self._recalibration(),
                "score_difference": dict(self.score_difference._asdict()),
                "hypothesis": self.hypothesis,
                "notes": list(self.notes),
            }
        )
        return values

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame of one row."""
        return frame([self.to_dict()])

    def __str__(self) -> str:
        first, second = self.names
        roots, score = self.root_values, self.score_difference
        return "\n".join(
            [
                self.verdict,
                f"  difference {number(self.difference, *self.values)} ({first} minus {second}), in units of squared "
                f"probability; {interval_text(self.confidence_interval, self.confidence_level)}",
                f"  errors     {first} {number(*self.values)}, {second} {number(*reversed(self.values))} (squared, "
                f"binned by each model's own cells, unbiased); roots {number(roots[0])}, {number(roots[1])}",
                f"  p-value    {pvalue_cell(self.pvalue)}: the larger of {pvalue_cell(self.normal_pvalue)} (normal) "
                f"and twice the smaller of {self.own_pvalues[0]:.3g} and {self.own_pvalues[1]:.3g} (each model by "
                "itself, exact)",
                f"  null       {self.hypothesis}",
                f"  estimator  {self.asked[0].estimator!r}",
                *self._recalibration_lines(),
                f"  skill      Brier score {number(score.difference, score.standard_error)} ({first} minus {second}, p "
                f"{small_pvalue(score.pvalue)}): calibration and sharpness together, not a calibration error",
                *(f"  note       {note}" for note in self.notes),
            ]
        )

    __repr__ = __str__

    def _recalibration(self) -> dict[str, Any] | None:
        found = self.recalibration_difference
        return None if found is None else found._asdict() | {"own_pvalues": list(found.own_pvalues)}

    def _recalibration_lines(self) -> list[str]:
        found = self.recalibration_difference
        if found is None:
            return []
        first, second = self.names
        return [
            f"  line       {number(found.difference, found.standard_error)} ({first} minus {second}, p "
            f"{small_pvalue(found.pvalue)}, wrapped likewise): Brier score that a linear recalibration would gain"
        ]

    def _rows(self) -> str:
        first, second = (asked.n for asked in self.asked)
        return f"n = {first}, the same rows" if self.paired else f"n = {first} and {second}, different rows"
