"""A difference and its standard error as a normal test."""

from __future__ import annotations

from scipy.special import ndtr

from calibstat.nulls.distributions import TIE_TOLERANCE


def standardized(difference: float, error: float) -> float:
    """Return a difference in standard errors: 0 where it is what rounding leaves of none, or without an error.

    Examples
    --------
    >>> standardized(0.04, 0.02), standardized(1e-17, 1e-20), standardized(0.0, 0.0)
    (2.0, 0.0, 0.0)
    """
    return 0.0 if abs(difference) <= TIE_TOLERANCE or error == 0 else difference / error


def normal_pvalue(difference: float, error: float) -> float:
    """Return the two-sided p-value of a difference; 1 for what rounding leaves of none.

    Examples
    --------
    >>> round(normal_pvalue(0.04, 0.02), 4), normal_pvalue(0.0, 0.0)
    (0.0455, 1.0)
    """
    return 2 * float(ndtr(-abs(standardized(difference, error))))
