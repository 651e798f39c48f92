"""Holm's correction."""

from __future__ import annotations

import numpy as np
import pytest

from calibstat.inference.multiplicity import holm


@pytest.mark.parametrize(
    ("pvalues", "adjusted"),
    [
        ([0.01, 0.02, 0.03, 0.04], [0.04, 0.06, 0.06, 0.06]),  # 4, 3, 2, 1 times, then the running maximum
        ([0.04, 0.01, 0.03, 0.02], [0.06, 0.04, 0.06, 0.06]),
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.001, 0.3, 0.001], [0.003, 0.3, 0.003]),
        ([0.2], [0.2]),
        ([], []),
    ],
)
def test_worked_by_hand(pvalues, adjusted):
    np.testing.assert_allclose(holm(pvalues), adjusted)


def test_step_down_by_definition():
    """The i-th smallest is the largest of (m - j) times the j-th smallest, j <= i (Holm 1979)."""
    rng = np.random.default_rng(0)
    for m in (2, 5, 20):
        pvalues = rng.random(m) ** 3
        ordered = np.sort(pvalues)
        expected = {p: min(1.0, max((m - j) * ordered[j] for j in range(i + 1))) for i, p in enumerate(ordered)}
        np.testing.assert_allclose(holm(pvalues), [expected[p] for p in pvalues])


def test_arguments_stay_as_they_are():
    pvalues = np.array([0.3, 0.01])
    holm(pvalues)
    np.testing.assert_array_equal(pvalues, [0.3, 0.01])
