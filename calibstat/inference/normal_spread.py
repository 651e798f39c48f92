"""Intervals of a normal value; apart from the others, for scipy.special takes twice as long to import as numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import ndtr, ndtri

from calibstat.inference.spread import ConfidenceInterval, Spread


@final
@dataclass(frozen=True, eq=False)
class Normal(Spread):
    """An asymptotically normal value of something that cannot be negative.

    Parameters
    ----------
    value : float
        Unbiased, so it may be negative by chance.
    standard_error : float
    method : str
    null_error : float
        Standard deviation of the value were the error zero: the upper end is never below its one-sided quantile, so
        that a value below zero is not taken for evidence of an error of zero.
    largest : float
        The largest value that there can be: no bound exceeds it.
    """

    value: float
    standard_error: float
    method: str
    null_error: float = 0.0
    largest: float = np.inf

    def interval(self, confidence_level: float) -> ConfidenceInterval:
        """Go z standard errors down and up, at most to zero."""
        reach = float(ndtri(0.5 + confidence_level / 2)) * self.standard_error
        least = max(0.0, float(ndtri(confidence_level)) * self.null_error)
        return ConfidenceInterval(max(0.0, self.value - reach), min(self.largest, max(least, self.value + reach)))

    def upper(self, confidence_level: float) -> float:
        """Go z standard errors up."""
        z = float(ndtri(confidence_level))
        return min(self.largest, max(0.0, z * self.null_error, self.value + z * self.standard_error))

    def pvalue_above(self, margin: float) -> float:
        """Compare the distance to the margin with the standard error."""
        return max(_tail(margin - self.value, self.standard_error), _tail(margin, self.null_error))


def _tail(distance: float, error: float) -> float:
    """P(normal noise is further below than `distance`)."""
    return float(distance < 0) if error == 0 else float(ndtr(-distance / error))
