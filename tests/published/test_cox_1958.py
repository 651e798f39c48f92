"""Cox (1958): calibration intercept and slope; Rao's score form; its polynomial and multi-class relatives."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.cox import Cox
from calibstat.estimators.recalibration_scores import CubicScore, LogitScore, VectorScalingScore
from published.enumeration import law_of_labels

SIX = cs.Sample(
    [0, 1, 0, 2, 0, 1],
    [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]],
)
TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)


def test_cox_1958_intercept_and_slope_of_ten_rows():
    fit = Cox()(TEN)
    assert fit.intercept == pytest.approx(0.63743, abs=5e-6)
    assert fit.slope == pytest.approx(1.10569, abs=5e-6)
    assert fit.likelihood_ratio == pytest.approx(0.62257, abs=5e-6)
    assert fit.likelihood_ratio_pvalue == pytest.approx(0.73251, abs=5e-6)
    assert fit.score == pytest.approx(0.59861, abs=5e-6)
    assert float(fit) == fit.score


def test_rao_1948_score_of_ten_rows():
    assert LogitScore(1)(TEN) == pytest.approx(0.59861, abs=5e-6)


def test_nattino_2014_cubic_score_has_four_degrees_of_freedom():
    assert law_of_labels(CubicScore(), TEN).mean == pytest.approx(4, rel=1e-9)
    assert law_of_labels(LogitScore(1), TEN).mean == pytest.approx(2, rel=1e-9)


def test_vennos_2026_vector_scaling_score_of_six_rows():
    evaluator = VectorScalingScore().prepare(SIX.predictions)
    assert float(evaluator(SIX.outcomes)) == pytest.approx(4.8776, abs=5e-5)
    assert evaluator.rank == 5
    assert law_of_labels(VectorScalingScore(), SIX).mean == pytest.approx(5, rel=1e-9)


def test_kull_2017_beta_calibration_is_the_two_class_case_of_vector_scaling():
    """Its directions are 1, log p and log(1 - p): one more than Cox's."""
    assert VectorScalingScore().prepare(TEN.predictions).rank == 3
    assert VectorScalingScore()(TEN) >= LogitScore(1)(TEN)
