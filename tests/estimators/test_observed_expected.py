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
        found = cs.ObservedToExpected()(sample)
        assert found.ratio == pytest.approx(factor, abs=0.15)
        low, high = found.confidence_interval
        assert low < factor < high
        assert low < found.ratio < high


def test_ratio_without_events_has_an_interval_from_zero():
    found = cs.ObservedToExpected()(cs.Sample([0, 0, 0], [0.1, 0.2, 0.3], labels=[0, 1]))
    assert found == cs.Ratio(0.0, (0.0, np.inf))
    assert cs.ObservedToExpected()(cs.Sample([0, 0], [0.0, 0.0], labels=[0, 1])).ratio == 1


def test_ratio_with_events_only_has_no_interval_of_width_zero():
    """The formula of Debray et al. has an error of zero there, which claimed that O/E is known."""
    found = cs.ObservedToExpected()(cs.Sample([1] * 5, [0.8] * 5, labels=[0, 1]))
    assert found.confidence_interval == (0.0, found.ratio) == (0.0, 1.25)


def test_observed_to_expected_covers_the_ratio_of_a_calibrated_world():
    rng = np.random.Generator(np.random.PCG64(12))
    p = rng.uniform(0.1, 0.5, 300)
    covered = [
        low < 1 < high
        for low, high in (
            cs.ObservedToExpected()(cs.Sample((rng.random(300) < p).astype(int), p)).confidence_interval
            for _ in range(400)
        )
    ]
    assert 0.92 < np.mean(covered) < 0.995


def test_the_confidence_level_is_checked():
    with pytest.raises(ValueError, match="confidence_level is 0"):
        cs.ObservedToExpected(confidence_level=0)


def test_the_estimate_of_few_events_has_one_interval():
    """The record's own formula knows nothing of the predictions, and gave a second interval in the same text."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 0.05, 300)
    sample = cs.Sample(np.arange(300) < 4, p)
    found = cs.estimate(sample, cs.ObservedToExpected(confidence_level=0.9), n_resamples=99, rng=0)
    assert found.estimate.confidence_interval == tuple(found.confidence_interval)
    assert found.to_dict()["values"]["confidence_interval"] == found.to_dict()["confidence_interval"]
    own = cs.ObservedToExpected()(sample).confidence_interval
    assert abs(own[1] - found.confidence_interval.high) > 0.001
    none = cs.estimate(cs.Sample(np.zeros(300), p, labels=(0, 1)), cs.ObservedToExpected(), n_resamples=99, rng=0)
    assert (none.confidence_interval is None) == np.isnan(none.estimate.confidence_interval).all()
