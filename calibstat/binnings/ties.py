"""Ties: which values count as equal. This is the one place of the rule, for cells, ranks and walks."""

from __future__ import annotations

from typing import Final

import numpy as np

from calibstat.arrays import Floats, Ints

ROUNDING: Final = 4 * float(np.finfo(float).eps)
"""Four units in the last place, relative to a value (8.9e-16)."""


def first_of_ties(ordered: Floats, tolerance: float = 0.0) -> Ints:
    """Return where each group of equal values begins, in values that are sorted.

    Values are equal if they differ by rounding: by at most four units in the last place of the value itself. So
    0.1 + 0.2 is 0.3, and 1e-17 is not 1e-30: ranks of very confident predictions count. No value of a group is further
    than that from the smallest one; neighbours do not chain.

    The rule is relative, also for a prediction that was had as 1 - q: from equal q come equal floats, and near 1, where
    the rounding of q is large beside 1 - q, these differ as the q do.

    Parameters
    ----------
    ordered : (n,) floats
        In increasing order.
    tolerance : float
        Values that are this close are equal too; absolute.

    Returns
    -------
    starts : (L,) ints
        Increasing, the first one 0; empty without values.

    Examples
    --------
    >>> import numpy as np
    >>> first_of_ties(np.array([1e-30, 1e-17, 0.3, 0.1 + 0.2, 0.5]))
    array([0, 1, 2, 4])
    >>> first_of_ties(np.array([0.10, 0.14, 0.18]), tolerance=0.05)
    array([0, 2])
    """
    if not len(ordered):
        return np.zeros(0, dtype=np.intp)
    far = ordered[1:] > _limits(ordered[:-1], tolerance)
    starts = np.append(0, np.flatnonzero(far) + 1)
    if (far[1:] | far[:-1]).all():  # no group has three values, so nothing can chain
        return starts
    lasts = np.append(starts[1:], len(ordered)) - 1
    chained = np.flatnonzero(ordered[lasts] > _limits(ordered[starts], tolerance))
    if not len(chained):
        return starts
    further = [_cut_chain(ordered[starts[i] : lasts[i] + 1], tolerance) + starts[i] for i in chained]
    return np.sort(np.concatenate([starts, *further]))


def _limits(values: Floats, tolerance: float) -> Floats:
    """Return the largest value that is equal to each."""
    reach: Floats = np.abs(values) * ROUNDING
    if tolerance:
        np.maximum(reach, tolerance, out=reach)
    reach += values
    return reach


def _cut_chain(chain: Floats, tolerance: float) -> Ints:
    """Return where groups begin in a chain of close neighbours, but the first."""
    found: list[int] = []
    start = 0
    while True:
        limit = _limits(chain[start : start + 1], tolerance)[0]
        start = int(np.searchsorted(chain, limit, side="right"))
        if start == len(chain):
            return np.array(found, dtype=np.intp)
        found.append(start)
