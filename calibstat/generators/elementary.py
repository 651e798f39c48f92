"""The logistic function and its inverse, with their limits."""

from __future__ import annotations

import numpy as np
from scipy import special

from calibstat.arrays import Floats


def expit(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x))."""
    values: Floats = special.expit(x)
    return values


def logit(p: Floats) -> Floats:
    """Return log(p / (1 - p)); infinite at 0 and 1."""
    values: Floats = special.logit(np.asarray(p, dtype=float))
    return values
