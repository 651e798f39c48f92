"""Results: frozen records that print themselves in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from calibstat.arrays import Floats
from calibstat.inference.asked import Asked
from calibstat.inference.plain_values import plain
from calibstat.inference.spread import ConfidenceInterval
from calibstat.inference.words import error_text, interval_text, number, pvalue_text, verdict
from calibstat.nulls.base import Null
from calibstat.nulls.distributions import NullDistribution

if TYPE_CHECKING:
    import pandas as pd


# A value of several numbers is printed if its text is not longer.
_LONGEST = 400


def frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return a pandas DataFrame of these rows."""
    import pandas as pd

    return pd.DataFrame(rows)


@final
@dataclass(frozen=True, eq=False, repr=False)
class CalibrationTest:
    """What `calibration_test` found; unpacks to ``(statistic, pvalue)``.

    Parameters
    ----------
    statistic : float
        The observed value of the estimator.
    pvalue : float
        Probability, were the null true, of a value at least as extreme.
    null_distribution : NullDistribution
        The distribution of the statistic under the null; where replicates were drawn, with its ``samples`` (R,).
    pvalue_interval : (float, float)
        99 % interval for the p-value that infinitely many resamples would give; if it was computed and not drawn,
        bounds that hold for certain.
    hypothesis : str
        Which null was tested.
    null : Null
        How its distribution was had.
    asked : Asked
        Estimator, lens, number of rows.
    standardized : float, optional
        The statistic divided by its scale under the null, where the estimator has one.
    remark : str
        Where the observed value comes from, where the estimator can say: for `Kuiper` the worst interval.
    notes : tuple of str
        What limits the result.
    """

    statistic: float
    pvalue: float
    null_distribution: NullDistribution
    pvalue_interval: tuple[float, float]
    hypothesis: str
    null: Null
    asked: Asked
    standardized: float | None = None
    remark: str = ""
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def null_mean(self) -> float:
        """Mean of the statistic under the null: what noise alone gives."""
        return float(self.null_distribution.mean)

    @property
    def verdict(self) -> str:
        """One sentence: evidence of miscalibration and its size, or no evidence."""
        asked = self.asked
        quantity = asked.estimator.quantity
        return verdict(asked.lens, asked.n, self.pvalue, self.null_distribution, self.statistic, quantity)

    @property
    def method(self) -> str:
        """The methods section: estimator, null, and how its distribution was had."""
        return f"{self.asked.estimator!r}; null: {self.hypothesis}; {self.null!r}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; a number that is not finite is None."""
        return self.asked.to_dict() | {
            "statistic": plain(self.statistic),
            "standardized": plain(self.standardized),
            "null_mean": plain(self.null_mean),
            "pvalue": self.pvalue,
            "pvalue_low": self.pvalue_interval[0],
            "pvalue_high": self.pvalue_interval[1],
            "remark": self.remark,
            "hypothesis": self.hypothesis,
            "method": self.method,
            "notes": list(self.notes),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame of one row."""
        return frame([self.to_dict()])

    def __str__(self) -> str:
        standardized = "" if self.standardized is None else f" (standardized {number(self.standardized)})"
        where = [f"  where     {self.remark}"] if self.remark else []
        value, mean = number(self.statistic, self.null_mean), number(self.null_mean, self.statistic)
        return "\n".join(
            [
                self.verdict,
                *self.asked.lines(value + standardized, mean),
                *where,
                f"  p-value   {pvalue_text(self.pvalue, self.null_distribution).removeprefix('= ')}, "
                + error_text(self.pvalue_interval, self.null_distribution),
                f"  null      {self.hypothesis}",
                *(f"  note      {note}" for note in self.notes),
            ]
        )

    __repr__ = __str__


@final
@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """What `estimate` found.

    Parameters
    ----------
    estimate : float, array, record or Dataset
        The observed value.
    null_mean : float or array
        Mean of the estimator on samples like this one from a calibrated model: what noise alone gives.
    confidence_interval : ConfidenceInterval or None
        With ``low`` and ``high``, of the headline; None where no interval is known to cover.
    confidence_level : float
        The level that was asked for.
    interval_note : str
        What the interval is for and how it was had, or why there is none.
    asked : Asked
        Estimator, lens, number of rows.
    headline : float or None
        The one number of the estimate that a test is about; None where there is none.
    headline_null_mean : float or None
        Its mean on samples like this one from a calibrated model.
    notes : tuple of str
        What limits the result.
    """

    estimate: Any
    null_mean: float | Floats
    confidence_interval: ConfidenceInterval | None
    confidence_level: float
    interval_note: str
    asked: Asked
    headline: float | None = None
    headline_null_mean: float | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; a number that is not finite is None.

        ``estimate`` and ``null_mean`` are those of the headline, where there is one; what an estimator gives besides
        (a record, an array) is in ``values``, and the means of its numbers in ``null_means``.
        """
        single = self.headline is not None
        several = not isinstance(self.estimate, float)
        return self.asked.to_dict() | {
            "estimate": plain(self.headline) if single else None,
            "null_mean": plain(self.headline_null_mean) if single else None,
            "values": plain(self.estimate) if several else None,
            "null_means": plain(self.null_mean) if several else None,
            "confidence_interval": plain(self.confidence_interval),
            "confidence_level": self.confidence_level,
            "interval_note": self.interval_note,
            "notes": list(self.notes),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame of one row."""
        return frame([self.to_dict()])

    def __str__(self) -> str:
        if self.headline is None or self.headline_null_mean is None:
            lines = self.asked.lines("several numbers, see .estimate", "see .null_mean")
        else:
            both = self.headline, self.headline_null_mean
            lines = self.asked.lines(number(*both), number(*reversed(both)))
        return "\n".join(
            [
                f"Estimate through {self.asked.lens!r}",
                *lines,
                *self._record_lines(),
                f"  interval  {self._interval_text()}",
                *(f"  note      {note}" for note in self.notes),
            ]
        )

    def _record_lines(self) -> list[str]:
        """The whole value in one line, where it is more than one number and short enough."""
        text = " ".join(repr(self.estimate).split())
        return [] if isinstance(self.estimate, float) or len(text) > _LONGEST else [f"  all       {text}"]

    def _interval_text(self) -> str:
        if self.confidence_interval is None:
            return f"none: {self.interval_note}"
        return f"{interval_text(self.confidence_interval, self.confidence_level)}, {self.interval_note}"

    __repr__ = __str__
