"""Matsubara, Tax, Mudd & Guy (2023): test-based calibration error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.estimators.tce import TCE, binomial_pvalues, pava_with_limits

TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)


def test_matsubara_2023_two_cells_of_ten_rows():
    """Only p = 0.05 is contradicted, by two events among five rows."""
    assert TCE(cs.EqualMass(2))(TEN) == pytest.approx(10)
    pvalues = binomial_pvalues(2, 5, TEN.predictions.event[:5])
    assert pvalues[0] == pytest.approx(0.0226, abs=5e-5)
    assert (pvalues[1:] > 0.05).all()


@pytest.mark.parametrize("n", [1, 7, 40])
def test_binomial_pvalues_are_those_of_scipy(n):
    chances = np.array([0.0, 1e-9, 0.03, 0.25, 0.5, 0.8, 1.0])
    for count in range(0, n + 1, 3):
        expected = [stats.binomtest(count, n, p).pvalue for p in chances]
        np.testing.assert_allclose(binomial_pvalues(count, n, chances), expected, rtol=1e-9, atol=1e-15)


def test_matsubara_2023_last_rows_are_a_block_of_their_own_only_where_they_are_at_most_n_min():
    """Runs of 40 equal predictions: n_min = 10 rows at the end would cut the last run, which stays whole instead."""
    events = np.repeat([0, 1], 40)
    assert pava_with_limits(events, np.array([0, 40]), 10, 1000).tolist() == [0, 40, 80]
    assert pava_with_limits(events, np.array([0, 40]), 40, 1000).tolist() == [0, 80]
    assert pava_with_limits(events, np.array([0, 40]), 40, 60).tolist() == [0, 40, 80]
    assert pava_with_limits(events, np.arange(80), 10, 1000).tolist()[-2:] == [40, 80]
