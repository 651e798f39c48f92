"""Spiegelhalter (1986) and its relatives: z-scores of ten rows of two classes and of six rows of three."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.score_tests import BrierZ, LogLossZ, MeanCalibration, ScoreExcess, Spiegelhalter
from published.enumeration import law_of_labels

SIX = cs.Sample(
    [0, 1, 0, 2, 0, 1],
    [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]],
)
TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)


def test_spiegelhalter_1986_two_sided():
    z = Spiegelhalter()(TEN)
    assert z == pytest.approx(0.085555, abs=5e-7)
    assert erfc(abs(z) / sqrt(2)) == pytest.approx(0.93182, abs=5e-6)


def test_spiegelhalter_1986_of_three_classes():
    z = BrierZ()(SIX)
    assert z == pytest.approx(0.38062, abs=5e-6)
    assert erfc(z / sqrt(2)) == pytest.approx(0.7035, abs=5e-5)


def test_guo_2017_temperature_score():
    assert LogLossZ()(SIX) == pytest.approx(0.21429, abs=5e-6)


def test_spiegelhalter_1986_is_the_two_class_case():
    assert BrierZ()(TEN) == pytest.approx(Spiegelhalter()(TEN), rel=1e-12)


@pytest.mark.parametrize("estimator", [Spiegelhalter(), BrierZ(), LogLossZ()], ids=repr)
def test_spiegelhalter_1986_moments_under_calibration(estimator):
    law = law_of_labels(estimator, TEN)
    assert law.mean == pytest.approx(0, abs=1e-12)
    assert law.values**2 @ law.masses == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("estimator", [MeanCalibration(), ScoreExcess("brier"), ScoreExcess("log")], ids=repr)
def test_the_standard_deviation_under_calibration_is_exact(estimator):
    law = law_of_labels(estimator, TEN)
    assert law.mean == pytest.approx(0, abs=1e-12)
    assert estimator.prepare(TEN.predictions).capabilities.scale ** 2 == pytest.approx(
        law.values**2 @ law.masses, rel=1e-12
    )


def test_dawid_1986_mean_calibration():
    """The sum of residuals is 1 and that of variances 1.675."""
    assert MeanCalibration()(TEN) == pytest.approx(0.1)
    assert cs.calibration_test(TEN, MeanCalibration(), rng=0).standardized == pytest.approx(1 / sqrt(1.675))


@pytest.mark.parametrize(("slope", "sign"), [(0.5, 1), (2.0, -1)])
def test_under_confidence_is_found_as_over_confidence_is(slope, sign):
    """One-sided versions have no power on one side."""
    rng = np.random.Generator(np.random.PCG64(3))
    p = rng.random(500)
    truth = 1 / (1 + (1 / p - 1) ** slope)
    sample = cs.Sample((rng.random(500) < truth).astype(int), p)
    for estimator in (Spiegelhalter(), BrierZ(), LogLossZ()):
        assert sign * estimator(sample) > 3
        assert sign * estimator.estimand(sample) > 0
        assert cs.calibration_test(sample, estimator, rng=0).pvalue < 0.01
