"""Pool adjacent violators: isotonic regression of outcomes over blocks of tied predictions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import isotonic_regression

from calibstat.arrays import Array, Floats
from calibstat.estimators.walks.ordered import Ordered


def sums_of_blocks(ordered: Ordered, outcomes: Array, weights: Array | None) -> tuple[Floats, Floats]:
    """Return weight and weight of events of each block of tied predictions, (..., L) both."""
    mass = ordered.weights(weights)
    events = ordered.happened(outcomes) * mass
    mass = np.broadcast_to(mass, events.shape)
    starts = ordered.stops[:-1]
    if len(starts) == events.shape[-1]:
        return mass, events
    return np.add.reduceat(mass, starts, axis=-1), np.add.reduceat(events, starts, axis=-1)


def isotonic(means: Floats, weights: Floats) -> Floats:
    """Return the isotonic regression (m,) of means with positive weights, inside [0, 1]."""
    fitted: Floats = isotonic_regression(means, weights=weights).x
    return np.clip(fitted, 0.0, 1.0)


def one_by_one(values: Floats) -> Iterator[Floats]:
    """Take replicates (..., L) one after the other."""
    return (values[index] for index in np.ndindex(values.shape[:-1]))
