"""The model confidence set (Hansen, Lunde & Nason 2011)."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats
from calibstat.inference.multiplicity import single_step


def set_pvalues(z: Floats, drawn: Floats, own: Floats, pairs: list[tuple[int, int]]) -> tuple[float, ...]:
    """Return for each model the level at which it leaves the set of those that may be the best.

    "All models left have the same error" is tested by the largest difference among them. If it is because all are
    calibrated, its law is another one; so the p-value is the larger of that and of the smallest exact p-value of a
    model by itself, times the number of models left. Then the model with the largest standardised excess over another
    one goes, and the p-value of a model is the largest up to its going.

    Parameters
    ----------
    z : (P,) floats
        Standardised difference of each pair, first minus second.
    drawn : (R, P) floats
        The same under equal errors.
    own : (M,) floats
        Exact p-value of each model by itself.
    pairs : list of (int, int)

    Returns
    -------
    pvalues : tuple of M floats
        The last model has 1.
    """
    left = set(range(len(own)))
    pvalues, worst = [1.0] * len(own), 0.0
    while len(left) > 1:
        kept = [k for k, pair in enumerate(pairs) if set(pair) <= left]
        largest = single_step(np.abs(z[kept]).max()[None], np.abs(drawn[:, kept]).max(axis=1)[:, None])[0]
        by_itself = min(1.0, len(left) * float(min(own[m] for m in left)))
        worst = max(worst, float(largest), by_itself)
        excess = dict.fromkeys(sorted(left), -np.inf)
        for k in kept:
            first, second = pairs[k]
            excess[first], excess[second] = max(excess[first], z[k]), max(excess[second], -z[k])
        gone = max(excess, key=lambda m: excess[m])
        pvalues[gone] = worst
        left.remove(gone)
    return tuple(pvalues)
