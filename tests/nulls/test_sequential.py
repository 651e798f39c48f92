"""Sequential stopping."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.nulls.base import EmpiricalNull
from calibstat.nulls.consistency import Sequential, StoppedNull
from suites import everything

ECE = cs.ECE(cs.EqualMass(5))


def world(seed=0, n=200, power=1.0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return cs.Sample(rng.random(n) < p**power, p, labels=[False, True])


def distribution(values, exceedances):
    return StoppedNull(EmpiricalNull(np.array(values, dtype=float), lambda v: v), exceedances)


def test_pvalue_by_definition():
    assert distribution([3, 1, 5, 2, 4], 2).pvalue(4) == 2 / 5  # the second exceedance is the fifth draw
    assert distribution([3, 1, 5, 2, 3], 2).pvalue(4) == 2 / 6  # one exceedance only: as without stopping
    assert distribution([3, 1], 2).pvalue(0) == 1


def test_interval_is_that_of_inverse_binomial_sampling():
    """P(20th exceedance at draw 50 or before) = P(50 draws have 20): 0.5 % at the lower end, and so on."""
    values = np.r_[np.ones(19), np.zeros(30), 1.0]
    low, high = distribution(values, 20).pvalue_interval(1)
    assert stats.binom.sf(19, 50, low) == pytest.approx(0.005)
    assert stats.binom.cdf(19, 49, high) == pytest.approx(0.005)
    assert distribution(np.ones(20), 20).pvalue_interval(1)[1] == 1


@pytest.mark.parametrize("seed", range(6))
def test_draws_are_a_prefix_that_ends_with_the_last_exceedance(seed):
    sample = world(seed)
    stopped = cs.calibration_test(sample, ECE, null=Sequential(2000, 15), rng=3)
    full = cs.calibration_test(sample, ECE, null=cs.Consistency(2000), rng=3)
    drawn, every = stopped.null_distribution.samples, full.null_distribution.samples
    np.testing.assert_array_equal(drawn, every[: len(drawn)])
    at_least = np.cumsum(every >= stopped.statistic - 1e-12)
    if at_least[-1] >= 15:
        assert len(drawn) == np.flatnonzero(at_least >= 15)[0] + 1
        assert stopped.pvalue == 15 / len(drawn)
    else:
        assert stopped.pvalue == full.pvalue


def test_a_clear_case_is_cheap_and_a_small_pvalue_is_small():
    clear = cs.calibration_test(world(1), ECE, null=Sequential(99_999), rng=0)
    small = cs.calibration_test(world(1, power=2), ECE, null=Sequential(9999), rng=0)
    assert len(clear.null_distribution.samples) < 1000
    assert small.pvalue == 1 / 10_000
    assert len(small.null_distribution.samples) == 9999
    assert "stopping at 20 exceedances" in everything(clear)
    assert "stopped at 20 exceedances" in clear.hypothesis


def test_generator_is_advanced_once():
    generator = np.random.default_rng(0)
    results = [cs.calibration_test(world(), ECE, null=Sequential(999, 5), rng=generator) for _ in "ab"]
    assert results[0].null_distribution.samples[0] != results[1].null_distribution.samples[0]


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="exceedances"):
        Sequential(exceedances=0)
    with pytest.raises(ValueError, match="n_resamples"):
        Sequential(0)
