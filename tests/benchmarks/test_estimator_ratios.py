"""What the framework costs over hand-written code, at a million rows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import calibstat as cs

N = 1_000_000


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(1)
    p = rng.random(N)
    return (rng.random(N) < p).astype(int), p


def by_hand(y, p, n_bins=15):
    """Count, accuracy and confidence of each bin by numpy.bincount, as in the textbook formula."""
    index = np.minimum((p * n_bins).astype(int), n_bins - 1)
    count = np.bincount(index, minlength=n_bins)
    filled = np.maximum(count, 1)
    gaps = np.bincount(index, y, n_bins) / filled - np.bincount(index, p, n_bins) / filled
    return (count / len(p) * np.abs(gaps)).sum()


def by_hand_without_counts(y, p, n_bins=15):
    """The least that can be done: counts cancel."""
    index = np.minimum((p * n_bins).astype(int), n_bins - 1)
    return np.abs(np.bincount(index, p, n_bins) - np.bincount(index, y, n_bins)).sum() / len(p)


def test_equal_width_ece_against_bincount_by_hand(arrays, ratios):
    sample, estimator = cs.Sample(*arrays), cs.ECE(cs.EqualWidth(15))
    for reference, goal in ((by_hand, 1.5), (by_hand_without_counts, 1.7)):
        assert reference(*arrays) == pytest.approx(estimator(sample), rel=1e-12)
        name = f"ECE(EqualWidth(15)), n = 1e6, {reference.__name__}"
        ratios.at_most(name, partial(estimator, sample), partial(reference, *arrays), goal)


def test_making_a_sample_against_bincount_by_hand(arrays, ratios):
    ratios.at_most("Sample(y, p), n = 1e6, by_hand", partial(cs.Sample, *arrays), partial(by_hand, *arrays), 1.5)
