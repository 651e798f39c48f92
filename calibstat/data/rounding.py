"""Rounding and ties: which numbers are the same, what is left of zero, and how small a probability may be.

Files keep a constant of their own only where its value follows from what they compute; they then say how.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from calibstat.data.arrays import Floats

ROUNDING: Final = 1e-12
"""What rounding may leave of zero, as a share of the numbers that were added or subtracted.

A sum of n doubles errs by about sqrt(n) times 1.1e-16 of what is added, and by n times that at worst (Higham 2002,
"Accuracy and stability of numerical algorithms", Section 4.2). So 1e-12 leaves room for sums of 10^7 rows, and is far
below any difference that data can show.
"""

SAME: Final = 1e-9
"""How far two numbers may lie apart that are meant to be equal: rows that sum to one, a rank that is a whole number.

Such numbers come from outside, where they were written with about ten digits, or from a few steps of arithmetic.
"""

TIE_SHARE: Final = 1e-9
"""Values of a statistic are tied if they differ by this share of themselves.

Values that are equal in exact arithmetic may differ in the last digits; without this an exact example goes from
p = 0.84 to 0.68. Residuals of a million rows in one cell are summed to 1e-10 of their spread. (Those of equal
predictions are summed to 1e-7: a tie with the other side of a lattice may then be lost. The test stays exact for the
sum as it is computed.)
"""

TIE_OF_PREDICTIONS: Final = 4 * float(np.finfo(float).eps)
"""Predictions are tied if they differ by four units in the last place, relative to themselves (8.9e-16).

One or two operations lie between a prediction and the same one computed in another way, as 0.1 + 0.2 and 0.3.
"""

SMALLEST_PROBABILITY: Final = 1e-9
"""Predictions are kept this far from 0 and 1 where a test or a fit takes their logarithm or their log-odds.

The logarithm is then at most 20.7, so that no single row decides; near 1 a double still has seven digits of 1 - p.
Scores that are reported as they are, and calibrators, have bounds of their own, which their papers give.
"""

SMALLEST_PVALUE: Final = 1e-12
"""Smaller p-values are given as this bound: neither sums of probabilities nor tails of laws are known better."""


def above_rounding(values: Floats, size: Floats) -> Floats:
    """Return values, with zero where they are no more than rounding leaves of differences of numbers of that size.

    >>> above_rounding(np.array([2e-17, 0.5]), np.array([0.3, 1.0]))
    array([0. , 0.5])
    """
    return np.where(values > ROUNDING * size, values, 0.0)


def rounded_up(value: float) -> int:
    """Return the smallest whole number that is not below `value`, where rounding does not count.

    >>> rounded_up(3.0000000000000004), rounded_up(3.1), rounded_down((1 - 0.9) * 10)
    (3, 4, 1)
    """
    return math.ceil(value - SAME)


def rounded_down(value: float) -> int:
    """Return the largest whole number that is not above `value`, where rounding does not count."""
    return math.floor(value + SAME)
