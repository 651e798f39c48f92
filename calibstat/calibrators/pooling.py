"""Rows pooled: equal scores together, and adjacent violators of an order."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from calibstat.arrays import Floats, Ints


def pool_ties(scores: Floats, targets: Ints, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """The distinct scores in increasing order, and the weight and the weight of events of each."""
    distinct, place = np.unique(scores, return_inverse=True)
    return (
        distinct,
        np.bincount(place, weights).astype(np.float64),
        np.bincount(place, weights * targets).astype(np.float64),
    )


def isotonic_blocks(mass: Floats, events: Floats) -> tuple[Ints, Floats]:
    """The first position of each block of pooled neighbours, and one past the last; and the mean of each block."""
    pooled = isotonic_regression(events / mass, weights=mass)
    starts = np.asarray(pooled.blocks, dtype=np.intp)
    return starts, pooled.x[starts[:-1]]
