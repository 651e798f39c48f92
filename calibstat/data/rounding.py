"""Rounding and ties: which numbers are the same, what is left of zero, and how small a probability may be.

A file keeps a constant of its own only where the value follows from what it computes, and then says how.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from calibstat.data.arrays import Floats

ROUNDING: Final = 1e-12
"""Numbers this small, as a share of the numbers that were added or subtracted, may be rounding errors.

The sum of n doubles has a rounding error of about sqrt(n) times 1.1e-16, and at most n times 1.1e-16, of what is added
(Higham 2002, "Accuracy and stability of numerical algorithms", Section 4.2). So 1e-12 leaves room for sums of 10^7
rows, and is far below any difference that data can show.
"""

SAME: Final = 1e-9
"""Numbers that are meant to be equal may differ by this much: rows that sum to one, or a rank that is an integer.

Such numbers were typed or stored with about ten digits, or computed in a few steps.
"""

RANK: Final = 1e-10
"""Directions with less than this share of the largest variance, or of the weight, are not new ones."""

TIE_SHARE: Final = 1e-9
"""Values of a statistic are tied if their relative difference is at most this.

Values that are equal in exact arithmetic may differ in the last digits; without the tolerance the p-value of one exact
example falls from 0.84 to 0.68. Sums of a million residuals in one cell are accurate to 1e-10 of their standard
deviation. (With equal predictions they are accurate to 1e-7, so a tie with the opposite side of a lattice may be
missed. The test remains exact for the sum as it is computed.)
"""

TIE_OF_PREDICTIONS: Final = 4 * float(np.finfo(float).eps)
"""Predictions are tied if they differ by four units in the last place, relative to themselves (8.9e-16).

The same prediction computed in another way differs by one or two operations, as 0.1 + 0.2 does from 0.3.
"""

SMALLEST_PROBABILITY: Final = 1e-9
"""Predictions are kept this far from 0 and 1 where a test or a fit takes their logarithm or their log-odds.

The logarithm is then at most 20.7 in absolute value, so that no single row decides; near 1 a double still has seven
digits of 1 - p. Reported scores and calibrators have bounds of their own, which their papers give.
"""

SMALLEST_PVALUE: Final = 1e-12
"""Smaller p-values are reported as this bound: neither sums of probabilities nor tails of laws are more accurate."""


def above_rounding(values: Floats, size: Floats) -> Floats:
    """Return values, set to zero where they may be rounding errors of differences of numbers of that size.

    >>> above_rounding(np.array([2e-17, 0.5]), np.array([0.3, 1.0]))
    array([0. , 0.5])
    """
    return np.where(values > ROUNDING * size, values, 0.0)


def rounded_up(value: float) -> int:
    """Return the smallest integer that is not below `value`, rounding errors aside.

    >>> rounded_up(3.0000000000000004), rounded_up(3.1), rounded_down((1 - 0.9) * 10)
    (3, 4, 1)
    """
    return math.ceil(value - SAME)


def rounded_down(value: float) -> int:
    """Return the largest integer that is not above `value`, rounding errors aside."""
    return math.floor(value + SAME)
