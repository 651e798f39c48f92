"""How numbers and verdicts are put into words. Words never accept a null hypothesis."""

from __future__ import annotations

from math import isfinite

from calibstat.lenses.base import Lens
from calibstat.nulls.distributions import NullDistribution
from calibstat.nulls.tied import TIE_SHARE

LEVEL = 0.05
# Smaller p-values are printed as a bound: the tails of laws are not known that well.
SMALLEST = 1e-12
# What rounding leaves of a zero, at most and at least; in between ties tell it.
_ROUNDING, _LEAST = 1e-12, 1e-16


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
    noise = min(_ROUNDING, TIE_SHARE * max(map(abs, (value, *beside)))) if known else _ROUNDING
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


def small_pvalue(pvalue: float, floor: float = SMALLEST) -> str:
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
