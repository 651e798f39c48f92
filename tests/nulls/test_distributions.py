"""What an empirical null distribution answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibstat.nulls.base import EmpiricalNull


def null(samples, evidence=lambda values: values) -> EmpiricalNull:
    return EmpiricalNull(np.asarray(samples, dtype=float), evidence)


@given(
    samples=st.lists(st.integers(0, 10), min_size=1, max_size=60),
    value=st.integers(-2, 12),
)
def test_the_data_count_as_one_of_the_sets(samples, value):
    exceed = len([each for each in samples if each >= value])
    assert null(samples).pvalue(value) == (1 + exceed) / (1 + len(samples))


def test_a_pvalue_is_never_zero_and_the_floor_says_so():
    found = null(np.zeros(99))
    assert found.pvalue(5.0) == found.floor == 1 / 100
    assert found.pvalue(-5.0) == 1.0
    assert found.description == "99 resamples"


def test_values_equal_up_to_rounding_are_ties():
    found = null([0.1 + 0.2, 0.3, 0.1, 0.4])
    assert found.exceedances(0.3) == 3
    assert found.exceedances(0.1 + 0.2) == 3
    assert found.exceedances(0.3 + 2e-9) == 1


def test_evidence_orders_values():
    two_sided = null([-3, -1, 0, 1, 2], np.abs)
    assert two_sided.exceedances(2) == 2
    assert two_sided.exceedances(-2) == 2
    assert null([-3, -1, 0, 1, 2], lambda values: -values).exceedances(-1) == 2


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("count", [0, 1, 37, 199, 200])
def test_the_interval_is_clopper_and_pearsons(count, level):
    found = null([1.0] * count + [0.0] * (200 - count))
    expected = stats.binomtest(count, 200).proportion_ci(level, "exact")
    np.testing.assert_allclose(found.pvalue_interval(1.0, level), expected, rtol=1e-9, atol=1e-12)
    low, high = found.pvalue_interval(1.0, level)
    assert low <= count / 200 <= high


def test_mean_and_quantiles():
    samples = np.random.Generator(np.random.PCG64(0)).random((400, 3))
    samples[:200, 2] = np.nan
    found = null(samples)
    np.testing.assert_allclose(found.mean[:2], samples[:, :2].mean(axis=0))
    np.testing.assert_allclose(found.quantile(0.9)[2], np.quantile(samples[200:, 2], 0.9))
    assert float(null([1, 2, 3]).mean) == 2.0
    assert float(null([1, 2, 3]).quantile(0.5)) == 2.0
