"""Hartline, Hu & Wu (2025), a truthful calibration measure: the average two-bin error."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.walks import AverageTwoBin
from published.enumeration import law_of_labels

TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)


def test_hartline_2025_average_two_bin_error_of_ten_rows():
    assert AverageTwoBin()(TEN) == pytest.approx(0.008965, abs=1e-12)


def test_hartline_2025_expectation_under_calibration_is_the_variance():
    law = law_of_labels(AverageTwoBin(), TEN)
    assert law.mean == pytest.approx(0.01675, abs=1e-12)
    assert law.pvalue(0.008965) == pytest.approx(0.639, abs=5e-4)


@pytest.mark.parametrize("shift", [-0.1, 0.05, 0.2])
def test_hartline_2025_truthful(shift):
    """Whoever knows the chances expects no less by saying something else, whatever is said."""
    chances = np.array([0.2, 0.4, 0.6, 0.7])
    true = np.column_stack([1 - chances, chances])
    honest = law_of_labels(AverageTwoBin(), cs.Sample([0, 1, 0, 1], chances), true).mean
    for said in (chances + shift, np.full(4, 0.475 + shift), chances[::-1] + shift):
        assert law_of_labels(AverageTwoBin(), cs.Sample([0, 1, 0, 1], said), true).mean >= honest
