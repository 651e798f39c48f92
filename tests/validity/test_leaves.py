"""Intervals of all leaves of a tree hold together, at every n."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs

N_RUNS = 1000
# Eight leaves of a tree of depth 3 on one variable.
EIGHT = {
    "left": [1, 3, 5, 7, 9, 11, 13, *[-1] * 8],
    "right": [2, 4, 6, 8, 10, 12, 14, *[-1] * 8],
    "feature": [0] * 15,
    "threshold": [0.5, 0.25, 0.75, 0.125, 0.375, 0.625, 0.875, *[0] * 8],
}


def share_that_holds(n, largest, weighted, confidence_level):
    """In how many samples every leaf's interval holds the mean chance minus the mean prediction."""
    rng, held = np.random.default_rng(0), 0
    binning = cs.TreeLeaves(EIGHT, "x")
    for _ in range(N_RUNS):
        x, p = rng.random(n), rng.uniform(0, largest, n)
        chance = np.clip(p * (0.5 + x) + 0.02 * rng.random(n), 0, 1)
        weights = rng.uniform(0.5, 2, n) if weighted else None
        sample = cs.Sample(rng.random(n) < chance, p, variables={"x": x}, sample_weight=weights, labels=[False, True])
        found = cs.leaf_table(sample, binning, confidence_level=confidence_level)
        cell, mass = (8 * x).astype(int), np.ones(n) if weights is None else weights
        total = np.bincount(cell, mass, 8)
        truth = (np.bincount(cell, mass * (chance - p), 8) / np.where(total > 0, total, np.nan))[total > 0]
        low, high = np.array([leaf.confidence_interval for leaf in found.leaves]).T
        held += bool(((low <= truth) & (truth <= high)).all())
    return held / N_RUNS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::calibstat.SmallCellsWarning")
@pytest.mark.parametrize(
    ("n", "largest", "weighted"), [(60, 0.9, False), (800, 0.03, False), (800, 0.9, False), (400, 0.5, True)]
)
def test_all_intervals_hold_in_as_many_samples_as_they_say(n, largest, weighted):
    assert share_that_holds(n, largest, weighted, 0.9) >= 0.9 - 4 * np.sqrt(0.09 / N_RUNS)


@pytest.mark.slow
def test_intervals_of_single_leaves_do_not_hold_together():
    """The negative control: each holds in 90 % of samples."""
    assert share_that_holds(800, 0.9, False, 0.9**8) < 0.9 - 4 * np.sqrt(0.09 / N_RUNS)
