"""Results: frozen records that print themselves in words."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite
from textwrap import wrap
from typing import TYPE_CHECKING, Any, final

import numpy as np

from calibstat.data.arrays import Floats
from calibstat.data.rounding import ROUNDING, SMALLEST_PVALUE, TIE_SHARE
from calibstat.estimators.base import Estimator
from calibstat.inference.spread import ConfidenceInterval
from calibstat.lenses.base import Lens
from calibstat.nulls.base import Null, NullDistribution

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


# What was asked of which data: the part that every result shares.


@dataclass(frozen=True, eq=False)
class Asked:
    """What was asked of which data: the part that every result shares.

    Parameters
    ----------
    estimator : Estimator
        With its lens.
    n : int
        Number of rows seen through the lens.
    n_classes : int
        Number of outcomes seen through the lens.
    given : tuple
        What was conditioned on; ``...`` is the prediction.
    source : str
        What was taken for what when the sample was made.
    """

    estimator: Estimator
    n: int
    n_classes: int
    given: tuple[Any, ...]
    source: str

    @property
    def lens(self) -> Lens:
        """The lens that was looked through."""
        return self.estimator.lens

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "lens": repr(self.lens),
            "given": ", ".join("prediction" if name is ... else str(name) for name in self.given),
            "estimator": repr(self.estimator.core),
            "n": self.n,
            "n_classes": self.n_classes,
            "source": self.source,
        }

    def lines(self, value: str, null_mean: str) -> list[str]:
        """Return the lines of text that every result shows."""
        return [
            f"  value     {value}: {self.estimator.quantity}",
            f"            expected of a calibrated model with as many rows: {null_mean}",
            f"  estimator {self.estimator!r}",
            f"  data      n = {self.n}, {self.n_classes} classes seen through {self.lens!r}; {self.source}",
        ]


# Plain values: what JSON can hold of anything that an estimator may return.


def plain(value: Any) -> Any:
    """Return numbers, texts, lists and dicts; a number that is not finite becomes None.

    Parameters
    ----------
    value : number, array, record (dataclass, or with ``to_dict``), or several of these in a list, tuple or dict
        Anything else becomes its text.

    Examples
    --------
    >>> import numpy as np
    >>> from calibstat.inference.results import plain
    >>> plain({"a": np.array([1.0, np.inf]), "b": (np.int64(2), None)})
    {'a': [1.0, None], 'b': [2, None]}
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

LEVEL = 0.05
# What rounding leaves of a zero, at least; it is at most ROUNDING, and in between ties tell it.
_LEAST = 1e-16


def number(value: float, *beside: float) -> str:
    """Four significant digits; what rounding leaves of a zero is 0.

    Parameters
    ----------
    value : float
    *beside : float
        Others of the same kind, whose size says what rounding leaves; none: they are as large as probabilities. Errors
        of rare events, squared, are smaller than what is left of a zero elsewhere.

    Examples
    --------
    >>> number(0.123456), number(-1.7e-15), number(-1.7e-15, 0.03), number(3e-15, 1e-14)
    ('0.1235', '0', '0', '3e-15')
    """
    known = beside and all(map(isfinite, beside))
    noise = min(ROUNDING, TIE_SHARE * max(map(abs, (value, *beside)))) if known else ROUNDING
    return f"{0.0 if abs(value) < max(noise, _LEAST) else value:.4g}"


def counted(n: int, noun: str) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> counted(1, "pair"), counted(3, "pair")
    ('1 pair', '3 pairs')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def interval_text(interval: tuple[float, float], level: float) -> str:
    """Write an interval out with its level: "95 %: 0 to 0.071"."""
    return f"{100 * level:g} %: {number(*interval)} to {number(*reversed(interval))}"


def at_floor(pvalue: float, null: NullDistribution) -> bool:
    """Whether a p-value is known to be at most so large, and no better.

    A computed one is at the smallest value that its law is known to. One from draws never is: the smallest that R draws
    can give, 1 / (1 + R), is a p-value itself (Phipson & Smyth 2010), and not below that number.
    """
    return not null.monte_carlo and pvalue <= null.floor


def small_pvalue(pvalue: float, floor: float = SMALLEST_PVALUE) -> str:
    """Write a p-value out, "= 0.0123", or as a bound where a computed one is tiny, "< 1e-12"; never as zero.

    Examples
    --------
    >>> small_pvalue(0.001), small_pvalue(3e-40)
    ('= 0.001', '< 1e-12')
    """
    return f"= {pvalue:.3g}" if pvalue > floor else f"< {floor:g}"


def pvalue_cell(pvalue: float) -> str:
    """Write a p-value for a table: as `small_pvalue` does, without the sign of equality.

    Examples
    --------
    >>> pvalue_cell(0.001), pvalue_cell(3e-40)
    ('0.001', '< 1e-12')
    """
    return small_pvalue(pvalue).removeprefix("= ")


def pvalue_text(pvalue: float, null: NullDistribution) -> str:
    """Write a p-value out with how it was had; a computed one at the smallest value of its law is a bound."""
    return f"{small_pvalue(pvalue, null.floor if at_floor(pvalue, null) else 0.0)} ({null.description})"


def error_text(interval: tuple[float, float], null: NullDistribution) -> str:
    """Say how well the p-value is known: the Monte Carlo interval, or that there is no such error."""
    low, high = interval
    if null.monte_carlo:
        return f"Monte Carlo 99 % interval {low:.3g} to {high:.3g}"
    return "no Monte Carlo error" if low >= high or high <= null.floor else f"at least {low:.4g}, no Monte Carlo error"


def verdict(lens: Lens, n: int, pvalue: float, null: NullDistribution, statistic: float, quantity: str) -> str:
    """Say what a test found: evidence with its size and of what, or no evidence; never "is calibrated"."""
    where = f"through {lens!r} (n = {n}, p {pvalue_text(pvalue, null)})"
    if pvalue > LEVEL:
        return f"No evidence of miscalibration {where}."
    of_what = quantity.replace(" (", ", ").replace(")", "")
    mean = float(null.mean)
    return (
        f"Evidence of miscalibration {where}. Its size: {number(statistic, mean)} ({of_what}), where "
        f"{number(mean, statistic)} is expected of a calibrated model with as many rows."
    )


# Tables and notes as text.

WIDTH = 100
INDENT = 12


def layout(rows: Sequence[Sequence[str]], numbers: Container[int]) -> list[str]:
    """Lay rows out in columns, numbers to the right; columns without content below the first row are left out.

    Examples
    --------
    >>> layout([["a", "n", "x"], ["b", "10", ""]], numbers=[1])
    ['a   n', 'b  10']
    """
    filled = [column for column in range(len(rows[0])) if any(row[column] for row in rows[1:])]
    widths = {column: max(len(row[column]) for row in rows) for column in filled}
    return [
        "  ".join(
            row[column].rjust(widths[column]) if column in numbers else row[column].ljust(widths[column])
            for column in filled
        ).rstrip()
        for row in rows
    ]


def hang(name: str, text: str, indent: int = INDENT) -> list[str]:
    """Wrap a text behind its name."""
    return wrap(
        text,
        WIDTH,
        initial_indent=name.ljust(indent),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def number_cell(value: float) -> str:
    """Four decimals, or four digits of a small number.

    Examples
    --------
    >>> number_cell(0.01234), number_cell(0.0000123456)
    ('0.0123', '1.235e-05')
    """
    return f"{value:.4f}" if value == 0 or abs(value) >= 0.0001 else number(value)
