"""The null mean that is shown beside every value is the mean over fresh samples of a calibrated model.

500 samples, 99 redraws each; checks fail beyond four standard errors. The negative control is found in 100 samples.
The interval beside it is a quick one, on which the null mean does not depend.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import calibstat as cs
from suites import slow_but
from validity import worlds

RUNS, SEED = 500, 20260703
QUICK = cs.Bootstrap(9, allow_invalid=True)
CASES = {
    "expected": (worlds.uniform, worlds.squared, cs.ECE(cs.EqualMass(10))),
    "maximum": (worlds.uniform, worlds.squared, cs.MaximumMiscalibration(cs.EqualWidth(10))),
    "root mean squared": (worlds.uniform, worlds.squared, cs.RMSCE(cs.EqualMass(10))),
    "debiased": (worlds.uniform, worlds.squared, cs.DebiasedL2(cs.EqualMass(10))),
    "deviation of scores": (worlds.uniform, worlds.squared, cs.PDE(cs.EqualMass(10))),
    "top label": (
        worlds.four_classes,
        lambda n, rng: worlds.dirichlet(n, rng, n_classes=4, noise=0.4),
        cs.TopLabel() | cs.ECE(cs.EqualMass(10)),
    ),
    "three classes": (
        worlds.dirichlet,
        lambda n, rng: worlds.dirichlet(n, rng, noise=0.4),
        cs.ExpectedMiscalibration(cs.VarianceTree(30)),
    ),
}


@cache
def distance_in_standard_errors(name, calibrated):
    """Mean of value - null mean over fresh samples."""
    world, other, estimator = CASES[name]
    rng = np.random.default_rng([SEED, list(CASES).index(name), calibrated])
    samples = ((world if calibrated else other)(200, rng) for _ in range(RUNS if calibrated else RUNS // 5))
    results = (cs.estimate(sample, estimator, n_resamples=99, interval=QUICK, rng=rng) for sample in samples)
    gaps = np.array([result.estimate - result.null_mean for result in results])
    return gaps.mean() / (gaps.std() / np.sqrt(len(gaps)))


@pytest.mark.parametrize("name", slow_but([], CASES))
def test_null_mean_is_the_mean_over_fresh_calibrated_samples(name):
    assert abs(distance_in_standard_errors(name, calibrated=True)) <= 4


@pytest.mark.parametrize("name", slow_but([], CASES))
def test_negative_control_miscalibrated_samples_lie_above(name):
    assert distance_in_standard_errors(name, calibrated=False) > 4
