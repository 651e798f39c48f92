"""Cells whose outcomes show no noise: the interval of the debiased squared error does not collapse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import calibstat as cs
from calibstat.inference.differences import Expanded
from calibstat.inference.equivalence import equivalence_test
from calibstat.inference.intervals import NormalInterval
from suites import slow_but

ONE = cs.DebiasedL2(cs.EqualMass(1))


def tied(n, k, prediction):
    """n rows of one prediction, k of them events."""
    return cs.Sample(np.arange(n) < k, np.full(n, prediction), labels=[False, True])


def coverage(n, prediction, chance, interval):
    """Exact probability that an interval of one tied cell holds the true squared error: all counts are gone through."""
    truth, total = (chance - prediction) ** 2, 0.0
    masses = binom.pmf(np.arange(n + 1), n, chance)
    for k in np.flatnonzero(masses > 1e-6):
        low, high = interval(tied(n, k, prediction))
        total += masses[k] * (low <= truth + 1e-15 and truth <= high + 1e-15)
    return float(total)


def default(sample):
    return cs.estimate(sample, ONE, n_resamples=199, rng=0).confidence_interval


def without_floors(sample):
    cells = Expanded.of(ONE, sample)
    return NormalInterval(cells.value, float(np.sqrt(cells.linear)), "", smallest=0.0).interval(0.95)


@pytest.mark.parametrize(
    ("n", "prediction"),
    slow_but(lambda case: case[1] != 0.5, [(200, 0.01), (100, 0.01), (100, 0.99), (50, 0.03), (100, 0.5)]),
)
def test_coverage_at_zero_of_one_tied_cell(n, prediction):
    assert coverage(n, prediction, prediction, default) >= 0.95


@pytest.mark.parametrize(("n", "known"), [(200, 0.86), (100, 0.64)])
def test_negative_control_the_variance_of_the_residuals_alone_does_not_cover(n, known):
    assert coverage(n, 0.01, 0.01, without_floors) == pytest.approx(known, abs=0.015)


@pytest.mark.parametrize(("prediction", "chance"), [(1.0, 0.02), (0.99, 0.02), (1.0, 0.005)])
def test_coverage_of_confident_and_wrong_predictions(prediction, chance):
    """Almost all outcomes are equal, so that the sample shows little of its noise."""
    assert coverage(200, prediction, chance, default) >= 0.95


def test_a_cell_of_equal_outcomes_by_hand():
    """100 rows, none an event, prediction 0.02: chance 0.03, so noise 0.0291 / 100; 4 g^2 s + 2 s^2."""
    noise = 0.03 * 0.97 / 100
    found = Expanded.of(ONE, tied(100, 0, 0.02)).unseen
    assert found == pytest.approx(4 * 0.02**2 * noise + 2 * noise**2)
    assert Expanded.of(ONE, tied(100, 1, 0.02)).unseen == 0


def test_equal_outcomes_give_a_width():
    low, high = cs.estimate(tied(200, 0, 0.01), cs.DebiasedL2(), rng=0).confidence_interval
    assert low == 0 < 1e-4 < high
    assert cs.calibration_test(tied(200, 0, 0.01), cs.DebiasedL2(), rng=0).pvalue > 0.05


def test_certain_and_wrong():
    low, high = cs.estimate(tied(200, 0, 1.0), cs.DebiasedL2(), rng=0).confidence_interval
    assert 0.94 < low < (1 - 3 / 200) ** 2 < high == 1


def test_equivalence_does_not_claim_with_certainty():
    found = equivalence_test(tied(200, 0, 0.01), cs.DebiasedL2(), 1.5e-4, rng=0)
    assert not found.within
    assert found.pvalue > 0.05


def test_a_value_below_zero_is_no_evidence_of_an_error_of_zero():
    # residuals that alternate around zero: each cell's mean residual is almost zero, far less than noise gives
    y = np.arange(400) % 2
    sample = cs.Sample(y, np.full(400, 0.5) + 0.001 * (np.arange(400) // 40), labels=[0, 1])
    found = cs.estimate(sample, cs.DebiasedL2(cs.EqualMass(10)), rng=0)
    assert found.estimate < 0 == found.confidence_interval.low < found.confidence_interval.high
    assert "below zero by chance" in str(found)
    bound = equivalence_test(sample, cs.DebiasedL2(cs.EqualMass(10)), 1e-6, rng=0)
    assert bound.upper_bound > 1e-3
    assert not bound.within
    assert "below zero by chance" in str(bound)
    assert bound.to_dict()["notes"]
    for margin in (1e-4, 1e-3, 1e-2):
        for level in (0.5, 0.1, 0.05, 0.01):
            asked = {"level": level, "confidence_level": 1 - level, "rng": 0}
            one = equivalence_test(sample, cs.DebiasedL2(cs.EqualMass(10)), margin, **asked)
            assert one.within == (one.pvalue <= level) == (one.upper_bound <= margin)
