"""Coverage of the interval of a debiased square where rows have weights.

Weights are known and fixed; what is covered is the weighted squared error in these cells. By hand,
``python tests/validity/test_weighted_intervals.py 1000`` prints the table.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

import calibstat as cs
from validity.test_inference import CURVES

SEED = 20240808
ESTIMATOR = cs.DebiasedL2(cs.EqualMass(10))
WEIGHTS = {
    "gamma": lambda p, rng: rng.gamma(1, 1, len(p)) + 0.1,
    "with the prediction": lambda p, rng: np.where(p > 0.5, 4.0, 1.0),
    "heavy": lambda p, rng: np.exp(rng.normal(0, 1, len(p))),
}


def share_error(share, runs):
    return 4 * np.sqrt(share * (1 - share) / runs)


def coverage(weights, curve, runs, n=500, blind=False):
    """Share of intervals of 95 % that hold the error of the cells; `blind` takes the variance without weights."""
    rng, covered, made = np.random.default_rng(SEED), 0, 0
    while made < runs:
        p = rng.uniform(1e-6, 1 - 1e-6, n)
        chance, w = CURVES[curve](p), WEIGHTS[weights](p, rng)
        sample = cs.Sample((rng.random(n) < chance).astype(int), p, sample_weight=w, labels=[0, 1])
        made += 1
        index = ESTIMATOR.prepare(sample.predictions).capabilities.tally.cells.index
        mass, off = np.bincount(index, w), np.bincount(index, w * (chance - p))
        truth = float((off**2 / mass).sum() / w.sum())
        if blind:
            found = ESTIMATOR.prepare(sample.predictions).capabilities.expansion(sample.outcomes)
            reach = 1.96 * float(np.sqrt(((found.influence / (w / w.sum())) ** 2).mean() / n))
            low, high = max(0.0, found.value - reach), max(0.0, found.value + reach)
        else:
            low, high = cs.estimate(sample, ESTIMATOR, n_resamples=199, rng=rng).confidence_interval
        covered += low - 1e-12 <= truth <= high + 1e-12
    return covered / runs


@pytest.mark.slow
@pytest.mark.parametrize("curve", ["none", "slope", "shift"])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_weighted_intervals_cover(weights, curve):
    """250 runs each, at least 95 % less 4 standard errors (5.5 %)."""
    assert coverage(weights, curve, 250) >= 0.95 - share_error(0.95, 250)


@pytest.mark.slow
def test_negative_control_a_variance_without_weights():
    assert coverage("heavy", "shift", 250, blind=True) < 0.93 - share_error(0.93, 250)


if __name__ == "__main__":
    for name in WEIGHTS:
        print(name, {curve: coverage(name, curve, int(sys.argv[1])) for curve in CURVES})
