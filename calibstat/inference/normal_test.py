"""A difference and its standard error as a normal test."""

from __future__ import annotations

from scipy.special import ndtr

from calibstat.nulls.tied import tie_slack


def standardized(difference: float, error: float, size: float) -> float:
    """Return a difference in standard errors: 0 where it is what rounding leaves of none, or without an error.

    Parameters
    ----------
    difference, error : float
    size : float
        How large the numbers are whose difference it is, by which ties are told (`tie_slack`).

    Examples
    --------
    >>> standardized(0.04, 0.02, 0.1), standardized(1e-17, 1e-20, 0.1), standardized(0.0, 0.0, 0.1)
    (2.0, 0.0, 0.0)
    """
    return 0.0 if abs(difference) <= tie_slack(difference, size) or error == 0 else difference / error


def normal_pvalue(difference: float, error: float, size: float) -> float:
    """Return the two-sided p-value of a difference, as from `standardized`; 1 for what rounding leaves of none.

    Examples
    --------
    >>> round(normal_pvalue(0.04, 0.02, 0.1), 4), normal_pvalue(0.0, 0.0, 0.1)
    (0.0455, 1.0)
    """
    return 2 * float(ndtr(-abs(standardized(difference, error, size))))
