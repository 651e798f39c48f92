"""Weighted isotonic median regression, for many sequences at once."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Array, Bools, Floats, Ints


def isotonic_median_distance(values: Floats, weights: Floats) -> Floats:
    r"""Return how far sequences are from being non-decreasing, in the weighted absolute distance.

    .. math:: \min_h \sum_k d_k |a_k - h_k| \quad\text{over}\quad h_1 \le h_2 \le \dots \le h_m

    by partitioning (Stout 2013): the rows whose fit lies above the median of the candidates form the upper end of
    their segment, found by one running sum; both ends are then segments with half the candidates. O(m log m), all
    sequences at once.

    Parameters
    ----------
    values : (..., m) floats
    weights : (m,) floats
        Non-negative.

    Returns
    -------
    distance : (...,) floats
    """
    if not values.size:
        return np.zeros(values.shape[:-1])
    rows = values.reshape(-1, values.shape[-1])
    n_rows, size = rows.shape
    order = np.argsort(rows, axis=1, kind="stable")
    rank = np.empty((n_rows, size), dtype=np.int32)
    np.put_along_axis(rank, order, np.arange(size, dtype=np.int32)[None], axis=1)
    low, high = np.zeros_like(rank), np.full_like(rank, size - 1)
    for _ in range((size - 1).bit_length()):
        middle = (low + high) >> 1
        above = _upper_ends(rank > middle, weights, _borders(low))
        above &= low < high
        low, high = np.where(above, middle + 1, low), np.where(above, high, np.maximum(middle, low))
    fit = np.take_along_axis(rows, np.take_along_axis(order, low.astype(np.intp), axis=1), axis=1)
    return (np.abs(rows - fit) * weights).sum(axis=1).reshape(values.shape[:-1])


def _borders(low: Array) -> Ints:
    """Return where segments begin in the flattened array: at rows, and where the candidates change."""
    new = np.ones(low.shape, dtype=bool)
    np.not_equal(low[:, 1:], low[:, :-1], out=new[:, 1:])
    return np.flatnonzero(new)


def _upper_ends(above: Bools, weights: Floats, starts: Ints) -> Bools:
    """Choose the upper end of each segment so that the weight of disagreement with `above` is least: (R, m)."""
    gain = np.where(above, weights, -weights)
    sums = np.cumsum(gain, axis=1).ravel()
    before = sums[starts] - gain.ravel()[starts]
    least = np.minimum.reduceat(sums, starts)
    lengths = np.diff(starts, append=len(sums))
    # The lower end is everything up to the first place where the sum is least; nothing if that is its start.
    hit = np.flatnonzero(sums == np.repeat(least, lengths))
    segment = np.searchsorted(starts, hit, side="right") - 1
    first = np.ones(len(hit), dtype=bool)
    np.not_equal(segment[1:], segment[:-1], out=first[1:])
    last_below = np.where(before <= least, starts - 1, hit[first])
    return (np.arange(len(sums)) > np.repeat(last_below, lengths)).reshape(above.shape)
