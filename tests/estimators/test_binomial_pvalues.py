"""Two-sided binomial p-values of many chances at once, against SciPy's of one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from calibstat.estimators.tce import binomial_pvalues


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 100])
def test_binomial_pvalues_are_those_of_scipy(n):
    rng = np.random.Generator(np.random.PCG64(n))
    chances = np.concatenate(
        [[0.0, 1.0, 0.5, 1e-9, 1 - 1e-9], np.arange(n + 1) / n, np.arange(n + 2) / (n + 1), rng.random(10)]
    )
    for count in sorted({0, 1, n // 2, n - 1, n}):
        found = binomial_pvalues(count, n, chances)
        expected = [binomtest(count, n, chance).pvalue for chance in chances]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_mass_of_all_counts_that_are_no_more_likely():
    """Masses of 0 to 3 events at chance 1/2 are 1, 3, 3 and 1 eighths."""
    assert [binomial_pvalues(count, 3, np.array([0.5]))[0] for count in range(4)] == pytest.approx([0.25, 1, 1, 0.25])
