"""Observed over expected events."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs


def test_ratio_of_observed_to_expected_is_two_sided():
    rng = np.random.Generator(np.random.PCG64(11))
    p = rng.uniform(0.1, 0.5, 400)
    for factor in (0.6, 1.6):
        sample = cs.Sample((rng.random(400) < factor * p).astype(int), p)
        assert cs.calibration_test(sample, cs.ObservedToExpected(), rng=0).pvalue < 0.01
        found = cs.estimate(sample, cs.ObservedToExpected(), rng=0)
        assert found.estimate == cs.ObservedToExpected()(sample) == pytest.approx(factor, abs=0.15)
        low, high = found.confidence_interval
        assert low < factor < high
        assert low < found.estimate < high


def test_the_ratio_without_events_has_an_interval_that_ends():
    sample = cs.Sample(np.zeros(300), np.linspace(0, 0.05, 300), labels=(0, 1))
    low, high = cs.estimate(sample, cs.ObservedToExpected(), rng=0).confidence_interval
    assert low == 0
    assert 3 / 7.5 < high < 10 / 7.5  # of 7.5 expected events; the rule of three bounds their number by 3
    assert cs.ObservedToExpected()(sample) == 0
    assert cs.ObservedToExpected()(cs.Sample([0, 0], [0.0, 0.0], labels=[0, 1])) == 1


def test_the_ratio_with_events_only_has_no_interval_of_width_zero():
    """The formula of Debray et al. has an error of zero there, which claimed that O/E is known."""
    low, high = cs.estimate(cs.Sample([1] * 5, [0.8] * 5, labels=[0, 1]), cs.ObservedToExpected()).confidence_interval
    assert low < 0.9
    assert high >= 1.25


def test_one_interval_is_shown_everywhere():
    """A record of its own, by a formula that knows nothing of the predictions, was a second one beside it."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 0.4, 300)
    sample = cs.Sample(rng.random(300) < p, p)
    known = tuple(cs.estimate(sample, cs.ObservedToExpected(), confidence_level=0.9, rng=0).confidence_interval)
    assert cs.clinical_summary(sample, confidence_level=0.9, rng=0)["oe"].interval == known
    debray = np.exp(1.645 * np.sqrt((1 - sample.y_true.mean()) / sample.y_true.sum()))
    assert known[1] < cs.ObservedToExpected()(sample) * debray


def test_the_headline_and_the_table_have_the_same_value_under_calibration():
    """The headline had the mean of redraws, 1.001, and the table the exact one."""
    p = np.linspace(0.1, 0.6, 60)
    found = cs.estimate(cs.Sample(np.arange(60) % 3 == 0, p), cs.ObservedToExpected(), n_resamples=9, rng=0)
    assert found.headline_null_mean == pytest.approx(1, abs=1e-12)
    assert "where a calibrated model gives 1." in " ".join(found.to_text(100).split())
