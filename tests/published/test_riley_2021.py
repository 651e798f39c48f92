"""Sample sizes of Riley et al. (2021, Statistics in Medicine 40; 2024, BMJ 384), and of their package pmvalsampsize."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

import calibstat as cs

QUANTILES = (np.arange(20_000) + 0.5) / 20_000


def rows(plan):
    return [goal.n for goal in plan.goals]


def test_riley_2024_bmj_part_3_deterioration_model():
    """Prevalence 0.43, C 0.77, predictions Beta(1.33, 1.75): 423 for O/E, 949 (408 events) for the slope, 347 for C."""
    spread = stats.beta(1.33, 1.75).ppf(QUANTILES)
    plan = cs.precision_n(spread, oe_width=0.22, slope_width=0.3, prevalence=0.43, c_index=0.77)
    assert rows(plan) == [423, 949, 347]
    assert (plan.n, plan.events, plan.decisive) == (949, 408, "calibration slope")


def test_riley_2021_section_5_mechanical_heart_valve_failure():
    """Prevalence 0.018, C 0.8, O/E width 1: 905 and 4252 rows.

    The 905 come from a standard error rounded up to 0.2456 (pmvalsampsize 0.1); without rounding they are 906. With
    log-odds N(-5, 2.5^2), as in the first example of pmvalsampsize, whose test has 4501 for the slope by 1000 draws,
    the integral is 4554: within 1.2 %.
    """
    plan = cs.precision_n(expit(stats.norm(-5, 2.5).ppf(QUANTILES)), oe_width=1, prevalence=0.018, c_index=0.8)
    assert rows(plan)[0] == 906
    assert np.ceil((1 - 0.018) / (0.018 * 0.2456**2)) == 905
    assert rows(plan)[2] == 4252
    assert rows(plan)[1] == pytest.approx(4501, rel=0.02)


def test_riley_2021_abstract_9835_rows_for_the_slope():
    """177 events among 9835 rows, from skewed log-odds: mean -5.8, variance 5, skewness -0.5, kurtosis 4.

    These four moments, by the cubic of a normal variable that has them (Fleishman 1978), give 1.83 % events and a
    number that is 4 % above the one that the paper drew.
    """
    b, c, d = 0.9240976331840438, -0.07311802793159344, 0.022982451813870534
    assert [b**2 + 6 * b * d + 2 * c**2 + 15 * d**2, 2 * c * (b**2 + 24 * b * d + 105 * d**2 + 2)] == pytest.approx(
        [1, -0.5]
    )
    z = stats.norm.ppf(QUANTILES)
    plan = cs.precision_n(expit(-5.8 + np.sqrt(5) * (-c + b * z + c * z**2 + d * z**3)), prevalence=0.018, c_index=0.8)
    assert plan.decisive == "observed / expected (O/E)"  # with its default width, 0.2; the paper has 1
    assert rows(plan)[1] == pytest.approx(9835, rel=0.05)
