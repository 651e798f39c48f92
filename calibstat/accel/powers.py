"""Powers of two, for exponentials that are computed many at a time."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.polynomial import Chebyshev, Polynomial

from calibstat.accel.bits import as_float, as_integer

# 2^f for -1/2 <= f <= 1/2, to 2e-14.
_C0, _C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9 = (
    Chebyshev.interpolate(np.exp2, 9, domain=[-0.5, 0.5]).convert(kind=Polynomial).coef.tolist()
)
# Adding it rounds a number to an integer, which then stands in its lowest bits.
_ROUNDING = 1.5 * 2.0**52


@njit(nogil=True, cache=True, fastmath={"contract"})
def power_of_two(power):  # type: ignore[no-untyped-def]
    """2^power, to 2e-14, for powers from -1000 to 1000."""
    rounded = power + _ROUNDING
    f = power - (rounded - _ROUNDING)
    value = _C9 * f + _C8
    value = value * f + _C7
    value = value * f + _C6
    value = value * f + _C5
    value = value * f + _C4
    value = value * f + _C3
    value = value * f + _C2
    value = value * f + _C1
    value = value * f + _C0
    return as_float(as_integer(value) + (as_integer(rounded) << 52))
