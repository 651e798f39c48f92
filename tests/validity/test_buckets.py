"""Tests and intervals of buckets of rows, whose predictions differ within them: about right, and rather too wide.

1000 runs each; checks fail beyond four standard errors (0.028 at 5 %).
"""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.inference.equivalence import equivalence_test
from validity.sizes import LEVEL, assert_not_above

pytestmark = pytest.mark.slow

SEED, RUNS = 20261124, 1000


def in_fifths(rng, n):
    """Predictions all over, in five wide buckets."""
    p = rng.random(n)
    return p, np.minimum((p * 5).astype(int), 4)


def rare(rng, n):
    """Rare events in many small buckets, most of whose rows have next to no chance of one."""
    return np.where(rng.random(n) < 0.03, 0.6, 0.001), rng.integers(0, 30, n)


WORLDS = {"fifths": (in_fifths, 300), "large": (in_fifths, 20_000), "rare": (rare, 600)}
TESTED = {
    "ece": cs.ECE(cs.UniqueValues()),
    "largest": cs.MaximumMiscalibration(cs.UniqueValues()),
    "squared": cs.DebiasedCE(cs.UniqueValues()),
    "chi-square": cs.PearsonCE(cs.UniqueValues()),
    "mean": cs.MeanCalibration(),
    "ratio": cs.ObservedToExpected(),
}


def buckets(p, y, place):
    trials, events, total = (np.bincount(place, each) for each in (np.ones(len(p)), y, p))
    return cs.Sample.from_buckets(total, events=events, trials=trials)


def runs(world, chance, answer, n_repeats=RUNS):
    """Answers (runs,) to samples of buckets, whose rows have chances that are a function of the prediction."""
    draw, n = WORLDS[world]
    rng, found = np.random.default_rng(SEED), []
    for _ in range(n_repeats):
        p, place = draw(rng, n)
        q = chance(p)
        found.append(answer(buckets(p, rng.random(n) < q, place), p, q, place))
    return np.array(found)


CASES = [("fifths", name) for name in TESTED] + [
    (world, name) for world in ("large", "rare") for name in ("ece", "largest", "mean", "ratio")
]


@pytest.mark.parametrize(("world", "name"), CASES)
def test_buckets_reject_no_more_often_than_the_level(world, name):
    def pvalue(sample, *_):
        return cs.calibration_test(sample, TESTED[name]).pvalue

    assert_not_above(runs(world, lambda p: p, pvalue), LEVEL)


@pytest.mark.parametrize("world", ["fifths", "rare"])
def test_redrawn_labels_of_buckets_reject_no_more_often_than_the_level(world):
    def pvalue(sample, *_):
        return cs.calibration_test(sample, TESTED["ece"], n_resamples=99, rng=1).pvalue

    assert_not_above(runs(world, lambda p: p, pvalue), LEVEL)


@pytest.mark.parametrize("name", TESTED)
def test_wrong_buckets_are_rejected(name):
    """The negative control: events are a third rarer than they are predicted to be."""
    found = runs(
        "fifths", lambda p: p * 2 / 3, lambda sample, *_: cs.calibration_test(sample, TESTED[name]).pvalue, 100
    )
    assert (found <= LEVEL).mean() > 0.5


def test_draws_that_leave_noise_too_small_reject_too_often():
    """The negative control of sizes: as if there were four times the rows."""

    def pvalue(sample, *_):
        trials = sample.counts.sum(axis=1)
        larger = cs.Sample.from_buckets(
            4 * sample.each.event * trials, events=4 * sample.counts[:, 1], trials=4 * trials
        )
        return cs.calibration_test(larger, TESTED["ece"]).pvalue

    with pytest.raises(AssertionError):
        assert_not_above(runs("fifths", lambda p: p, pvalue), LEVEL)


def truth_in_buckets(p, q, place):
    gaps = np.bincount(place, q - p)
    return np.abs(gaps).sum() / len(p)


SLOPES = {"calibrated": lambda p: p, "too high": lambda p: 0.8 * p, "flat": lambda p: 0.3 + 0.4 * p}


@pytest.mark.parametrize("interval", [None, "finite"])
@pytest.mark.parametrize("slope", SLOPES)
def test_intervals_hold_the_error_of_these_predictions(slope, interval):
    def missed(sample, p, q, place):
        low, high = cs.estimate(sample, TESTED["ece"], interval=interval, n_resamples=199, rng=1).confidence_interval
        return not low <= truth_in_buckets(p, q, place) <= high

    assert_not_above(1.0 * ~runs("fifths", SLOPES[slope], missed, 400), LEVEL)


@pytest.mark.parametrize("slope", SLOPES)
def test_intervals_of_the_mean_hold_that_of_these_predictions(slope):
    def missed(sample, p, q, place):
        low, high = cs.estimate(sample, TESTED["mean"], n_resamples=99, rng=1).confidence_interval
        return not low <= (q - p).mean() <= high

    assert_not_above(1.0 * ~runs("large", SLOPES[slope], missed, 400), LEVEL)


@pytest.mark.parametrize("slope", ["too high", "flat"])
def test_bounds_hold_the_error_of_these_predictions(slope):
    def missed(sample, p, q, place):
        found = equivalence_test(sample, TESTED["ece"], 0.2, n_resamples=199, rng=1)
        return found.upper_bound < truth_in_buckets(p, q, place)

    assert_not_above(1.0 * ~runs("fifths", SLOPES[slope], missed, 400), LEVEL)
