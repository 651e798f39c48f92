"""How a report writes numbers: with two significant digits in sentences and more in tables; never a null accepted."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, isfinite, log10
from typing import Any

from calibstat._dataclass import dataclass
from calibstat._text import percent, shown
from calibstat.inference.results import small_pvalue
from calibstat.inference.tails import tail_text

_RARE = 0.01  # chances below are written as so many in 1000, or in a larger power of ten
_LARGEST_SCALE = 9
_ALMOST_NONE = 1e-9  # a chance below is written as zero
_SMALLEST = 1e-6  # p-values below are written as smaller than this
_ROUNDING = 1e-12  # a difference of chances below this is none
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Unit:
    """In what chances and their differences are written: in percent, or where events are rare in 1000 or more.

    >>> Unit.of(0.511, 0.498).share(0.51106), Unit.of(0.511).difference(0.0231)
    ('51.1 %', '2.3 percentage points')
    >>> Unit.of(0.0031, 0.004).share(0.0031), Unit.of(0.0031).difference(0.00042)
    ('3.1 in 1000', '0.42 in 1000')
    """

    per: int = 100

    @classmethod
    def of(cls, *chances: float) -> Unit:
        """Choose the unit in which the largest of these chances has a digit before its point."""
        largest = max((each for each in chances if isfinite(each)), default=1.0)
        if largest >= _RARE or largest <= 0:
            return cls()
        return cls(10 ** min(_LARGEST_SCALE, max(3, -floor(log10(largest)))))

    @property
    def name(self) -> str:
        """The unit behind a share."""
        return "%" if self.per == 100 else f"in {self.per}"

    @property
    def happens(self) -> str:
        """The verb behind a share."""
        return "happens" if self.per == 100 else "happen"

    @property
    def points(self) -> str:
        """The unit behind a difference of two shares."""
        return "percentage points" if self.per == 100 else f"in {self.per}"

    def share(self, chance: float) -> str:
        """Write a share for a sentence; one below 100 % is never written as 100 %."""
        return f"{self.share_cell(chance)} {self.name}"

    def share_cell(self, chance: float, more: int = 0) -> str:
        """Write a share without its unit, with one decimal, or so many that it is told apart from none and from all."""
        rest = min(chance, 1 - chance) if self.per == 100 else chance
        rest = 0.0 if chance < _ALMOST_NONE else rest
        digits = 1 if not rest > 0 else min(8, max(1, 1 - floor(log10(rest * self.per))))
        return f"{self.per * chance:.{digits + more}f}"

    def difference(self, size: float) -> str:
        """Write a difference of shares for a sentence, with two significant digits; one of rounding alone is 0."""
        return f"{self.size(size)} {self.points}"

    def size(self, size: float) -> str:
        """Write a difference of shares without its unit, with two significant digits."""
        return two_digits(0.0 if abs(size) < _ROUNDING else size * self.per)

    def cell(self, value: float, ends: Sequence[float] | None, digits: int) -> str:
        """Write a difference and its interval for a table: "−4.95 (−7.19 to −2.70)"."""
        written = [signed(each * self.per, digits) for each in (value, *(ends or ()))]
        return written[0] + (f" ({written[1]} to {written[2]})" if ends else "")


def two_digits(value: float) -> str:
    """Write two significant digits, and whole numbers from 100 on, without an exponent.

    >>> two_digits(2.311), two_digits(0.09965), two_digits(1234.5), two_digits(0.9996)
    ('2.3', '0.10', '1234', '1.0')
    """
    if not value or not isfinite(value):
        return f"{value:g}"
    size = floor(log10(abs(float(f"{value:.1e}"))))
    return f"{value:.{max(0, 1 - size)}f}".replace("-", MINUS)


def signed(value: float, digits: int) -> str:
    """Write a number with so many decimals and a true minus sign; a zero has none.

    >>> signed(-0.04, 1), signed(-2.26, 1)
    ('0.0', '−2.3')
    """
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", MINUS)


def decimals(values: Sequence[float]) -> int:
    """Return how many decimals show two digits of the larger half of some numbers, from 1 to 6."""
    sizes = sorted(abs(each) for each in values if isfinite(each) and each)
    return 1 if not sizes else int(min(6, max(1, 1 - floor(log10(sizes[len(sizes) // 2])))))


def count(n: float) -> str:
    """Write a number of rows, in groups of three digits.

    >>> count(21000)
    '21 000'
    """
    return f"{round(n):,}".replace(",", " ")


def rows(n: float) -> str:
    """Write a number of rows with its noun.

    >>> rows(1), rows(21000)
    ('1 row', '21 000 rows')
    """
    return f"{count(n)} row{'' if round(n) == 1 else 's'}"


def of_reading(told: str) -> str:
    """Say what was found while data were read, without the names of arguments.

    >>> of_reading("sample_weight holds whole numbers: are they counts?")
    'the weights are whole numbers: are they counts?'
    """
    for argument, name in _ARGUMENTS.items():
        told = told.replace(argument, name)
    return shown(told, _LONGEST)


_LONGEST = 1000
_ARGUMENTS = {
    "sample_weight holds": "the weights are",
    "sample_weight": "the weights",
    "y_prob": "the probabilities",
    "y_true": "the labels",
    " (labels=)": ", as they were named",
    "give groups='": "name them as the groups: '",
    "give groups=": "say which rows these are",
}


def p_equals(pvalue: float, level: float, tail: float | None = None, at_smallest: bool = False) -> str:
    """Write a p-value with two digits, so that it stays on its side of the level.

    One that is the smallest of its redraws is only a bound; `tail` is about how small it is, where that is known.

    >>> p_equals(0.0123, 0.05), p_equals(0.001, 0.05, 2.1e-5), p_equals(0.001, 0.05, at_smallest=True)
    ('p = 0.012', 'p at most 0.001, by theory about 0.00002', 'p at most 0.001')
    """
    if pvalue < _SMALLEST:
        return "p < 0.000001"
    short = float(f"{pvalue:.2g}")
    text = f"{short:f}".rstrip("0").rstrip(".") if (short <= level) == (pvalue <= level) else None
    told = f"p = {text}" if text else f"p {small_pvalue(pvalue, level=level)}"
    if tail is not None:
        theory = "below 0.000001" if tail < _SMALLEST else f"about {float(f'{tail:.1g}'):f}".rstrip("0")
        return f"{told.replace('p = ', 'p at most ')}, by theory {theory}"
    return told.replace("p = ", "p at most ") if at_smallest else told


def p_cell(pvalue: float | None, level: float, tail: float | None = None, at_smallest: bool = False) -> dict[str, Any]:
    """Return the cell of a p-value, which is sorted by the tail where that is shown."""
    if pvalue is None or not isfinite(pvalue):
        return {"text": ""}
    told = p_equals(pvalue, level, at_smallest=at_smallest and tail is None).removeprefix("p ").removeprefix("= ")
    return {
        "text": told if tail is None else f"{told} ({tail_text(tail)})",
        "value": pvalue if tail is None else tail,
        "beyond": pvalue <= level,
    }


def text_cell(text: object) -> dict[str, Any]:
    """Return the cell of a text, which may come from data."""
    return {"text": shown(text)}


def number_cell(text: str, value: float, beyond: bool = False) -> dict[str, Any]:
    """Return the cell of a number; one that is not finite is empty."""
    if not isfinite(value):
        return {"text": ""}
    return {"text": text, "value": float(value)} | ({"beyond": True} if beyond else {})


def interval_cell(
    text: str, value: float, ends: Sequence[float] | None, reference: float = 0.0, beyond: bool = False
) -> dict[str, Any]:
    """Return the cell of a number with its interval."""
    if not isfinite(value):
        return {"text": ""}
    known = [] if ends is None else [float(each) if isfinite(each) else None for each in ends]
    bar = dict(zip(("low", "high"), known, strict=False))
    return {"text": text, "value": float(value), **bar, "reference": reference, "beyond": beyond}


def confidence(level: float) -> str:
    """Write the confidence that belongs to a level: "95 %"."""
    return percent(1 - level)
