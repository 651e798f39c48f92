"""The assertion for suites of tests: it passes only if an error is shown to be small."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.testing import assert_calibrated, rows_for_margin

FAIR, STEEP = cs.generators.BetaPredictions(1, 1), cs.generators.BetaPredictions(1, 1, cs.generators.Slope(0.3))


def refusal(sample, *arguments, **options):
    with pytest.raises(AssertionError) as raised:
        assert_calibrated(sample, *arguments, **options)
    return str(raised.value)


def test_what_is_shown_to_be_small_passes_and_is_returned():
    sample = FAIR.sample(20_000, rng=0)
    found = assert_calibrated(sample, within=0.03)
    assert isinstance(found, cs.EquivalenceTest)
    assert found.within
    assert found.margin == 0.03
    assert found.upper_bound == cs.equivalence_test(sample, margin=0.03, rng=0).upper_bound


def test_a_few_rows_of_a_calibrated_model_show_nothing():
    sample = FAIR.sample(200, rng=0)
    assert cs.calibration_test(sample, rng=0).pvalue > 0.05
    told = refusal(sample, within=0.05)
    assert "It cannot be said with 95 % confidence" in told
    assert "where 95 % of calibrated models have at most" in told
    assert "A calibrated model with such predictions needs about" in told
    assert "required_n" in told


def test_a_large_error_is_called_so_and_more_rows_do_not_help():
    told = refusal(STEEP.sample(4000, rng=0), within=0.02)
    assert "It is shown to be larger: at least 0." in told
    assert "too extreme" in told
    assert "More rows would not help: recalibrate" in told
    assert "needs about" not in told


def test_an_error_just_below_the_margin_is_not_blamed_on_the_number_of_rows():
    world = cs.generators.BetaPredictions(1, 1, cs.generators.LogitShift(0.25))  # the error is 0.04
    told = refusal(world.sample(20_000, rng=0), within=0.045)
    assert "is mostly shown to be within the margin by so many rows" in told


def test_the_same_rows_fail_each_time():
    sample = FAIR.sample(500, rng=0)
    assert refusal(sample, within=0.05) == refusal(sample, within=0.05)


def test_lens_estimator_and_level():
    sample = cs.generators.DirichletPredictions([1, 1, 1]).sample(5000, rng=0)
    assert assert_calibrated(sample, within=0.1).question.lens == cs.TopLabel()
    found = assert_calibrated(sample, cs.DebiasedL2(), within=0.05, lens=cs.ClassWise(1), level=0.01)
    assert found.question.lens == cs.ClassWise(1)
    assert found.confidence_level == 0.99
    assert "99 % confidence" in refusal(sample, within=0.01, level=0.01)


def test_clusters_get_no_number_of_rows():
    sample = FAIR.sample(400, rng=0)
    together = cs.Sample.of(sample.predictions, sample.outcomes)
    together = cs.Sample(sample.outcomes, sample.predictions.event, groups=np.arange(400) // 4)
    assert "of more clusters" in refusal(together, within=0.02)


def test_counted_rows_need_as_many_as_rows_written_out():
    rng = np.random.default_rng(0)
    p = np.linspace(0.05, 0.95, 19)
    counted = cs.Sample.from_counts(p, events=rng.binomial(40, p), trials=np.full(19, 40))
    written = cs.Sample.of(counted.predictions, counted.outcomes)
    needed = [
        rows_for_margin(each, cs.equivalence_test(each, margin=0.03, rng=0), rng=0) for each in (counted, written)
    ]
    assert needed[0] == pytest.approx(needed[1], rel=0.3)


@pytest.mark.parametrize("within", [0, 1, -0.1])
def test_margins_out_of_range_are_errors_and_no_verdict(within):
    with pytest.raises(ValueError, match="between 0 and 1"):
        assert_calibrated(FAIR.sample(200, rng=0), within=within)
