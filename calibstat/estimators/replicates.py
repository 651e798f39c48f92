"""Replicates on any leading axes, evaluated in batches that fit into memory."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.rows import is_chances
from calibstat.progress import track

# Numbers held at once while replicates are evaluated: 32 MiB of floats.
NUMBERS_IN_A_BATCH = 2**22
# The same for evaluators that go over these numbers again and again: they stay in the cache of most processors.
NUMBERS_IN_CACHE = 2**17


def in_batches(
    evaluate: Callable[[Array, Array | None], Floats],
    outcomes: Array,
    weights: Array | None,
    width: int = 1,
    numbers: int = NUMBERS_IN_A_BATCH,
) -> Floats:
    """Evaluate replicates with one leading axis, a batch at a time, and give the leading axes back.

    Parameters
    ----------
    evaluate : callable
        Takes outcomes (R, n) or chances (R, n, K), and weights (R, n) or None; returns (R, *shape).
    outcomes : (..., n) ints or (..., n, K) floats
    weights : (..., n) floats, optional
    width : int
        Numbers that each row of a replicate takes up.
    numbers : int
        How many may be held at once.

    Returns
    -------
    values : (..., *shape) floats
    """
    tail = 2 if is_chances(outcomes) else 1
    leading, trailing = outcomes.shape[:-tail], outcomes.shape[-tail:]
    if weights is not None:
        leading = np.broadcast_shapes(leading, weights.shape[:-1])
        weights = np.broadcast_to(weights, (*leading, weights.shape[-1])).reshape(prod(leading), weights.shape[-1])
    flat = np.broadcast_to(outcomes, (*leading, *trailing)).reshape(prod(leading), *trailing)
    step = max(1, numbers // max(1, width * trailing[0]))
    starts = range(0, max(1, len(flat)), step)
    parts = [
        evaluate(flat[start : start + step], None if weights is None else weights[start : start + step])
        for start in track(starts, len(starts))
    ]
    values = np.concatenate(parts)
    return values.reshape((*leading, *values.shape[1:]))
