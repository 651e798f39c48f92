"""Ties, which are values that are equal but for rounding, and the p-values that draws give."""

from __future__ import annotations

from typing import TypeVar, overload

import numpy as np

from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.rounding import TIE_SHARE

# Most replicates are at most so large; the largest ones may be larger by any factor.
_MOST = 0.75
_Value = TypeVar("_Value", float, Floats)


def tie_slack(values: _Value, typical: float) -> _Value:
    """Return how far below a value another one may lie and still be counted as a tie: 1e-9 of what is larger.

    The size of the statistic under the null belongs to it because a value near zero may be the difference of numbers
    of that size. Multiplied with the statistic, the slack leaves p-values as they are. It cannot make one too small.

    Parameters
    ----------
    values : float or array of floats
        Evidence: larger is stronger.
    typical : float
        How large evidence is under the null: `typical_size`.

    Examples
    --------
    >>> tie_slack(3.0, 0.5), tie_slack(0.0, 0.5), tie_slack(float("inf"), 0.5)
    (3.0000000000000004e-09, 5e-10, 0.0)
    """
    finite = np.isfinite(values)
    found = np.where(finite, TIE_SHARE * np.maximum(np.abs(np.where(finite, values, 0.0)), typical), 0.0)
    return found if isinstance(values, np.ndarray) else float(found)


def typical_size(values: Array, masses: Array | None = None) -> float:
    """Return the upper quartile of absolute values; 0 if none is finite.

    Parameters
    ----------
    values : (m,) floats
    masses : (m,) floats, optional
        Their probabilities; equal ones by default.

    Examples
    --------
    >>> typical_size(np.array([0.0, -1.0, 2.0, np.nan])), typical_size(np.array([0.0, 9.0]), np.array([0.8, 0.2]))
    (2.0, 0.0)
    """
    kept = np.isfinite(values)
    sizes = np.abs(values[kept])
    if not len(sizes):
        return 0.0
    order = np.argsort(sizes)
    reached = np.cumsum(np.ones(len(sizes)) if masses is None else masses[kept][order])
    return float(sizes[order][np.searchsorted(reached, _MOST * reached[-1])])


@overload
def monte_carlo_pvalue(exceedances: int, n_resamples: int) -> float: ...
@overload
def monte_carlo_pvalue(exceedances: Ints, n_resamples: int) -> Floats: ...
def monte_carlo_pvalue(exceedances: int | Ints, n_resamples: int) -> float | Floats:
    """Return the p-value of data that so many of R draws reach: (1 + exceedances) / (1 + R), never zero.

    Counting the data as one of the R + 1 equally likely sets makes the test exact (Barnard 1963; Davison & Hinkley
    1997, Section 4.2; Phipson & Smyth 2010).

    Examples
    --------
    >>> monte_carlo_pvalue(0, 999), monte_carlo_pvalue(49, 999)
    (0.001, 0.05)
    """
    return (1 + exceedances) / (1 + n_resamples)
