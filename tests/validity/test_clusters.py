"""Intervals and words hold in six worlds of clusters, and not if clusters are not known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit

import calibstat as cs
from calibstat.inference.direction import direction_of
from calibstat.inference.estimate import interval_of
from tests.validity.clustered import WORLDS

pytestmark = pytest.mark.slow

# How log-odds are moved: not at all, or by a shift and a slope.
MOVED = {"calibrated": (0.0, 1.0), "moved": (0.4, 0.7)}
ESTIMATORS = {
    "slope": cs.Cox(statistic="slope"),
    "intercept": cs.Cox(statistic="intercept_in_the_large"),
    "oe": cs.ObservedToExpected(),
    "c_index": cs.AUC(),
    "brier": cs.BrierScore(),
    "log": cs.LogScore(),
}
TWO = [name for name, world in WORLDS.items() if world.n_classes == 2]


def seen_as_two(sample):
    """The sample, or one of its several classes against the others."""
    return sample if len(sample.labels) == 2 else cs.ClassWise(2)(sample)


def truths(world, shift, slope):
    """Values in a large sample, with chances in place of labels."""
    p = np.random.default_rng(1).beta(*world.law, 400_000)
    q = expit(shift + slope * logit(p))
    order = np.argsort(p)
    events, others = q[order], 1 - q[order]
    return {
        "slope": slope,
        "intercept": brentq(lambda moved: (expit(moved + logit(p)) - q).mean(), -3, 3),
        "c_index": float(events @ (np.cumsum(others) - others / 2) / (events.sum() * others.sum())),
        "brier": float((q * (1 - p) ** 2 + (1 - q) * p**2).mean()),
        "log": float(-(q * np.log(p) + (1 - q) * np.log1p(-p)).mean()),
    }


def normal_ends(sample, estimator):
    """The default interval, of which nothing is drawn."""
    return interval_of(estimator, sample, 1, np.empty(0), np.random.default_rng(0)).interval(0.95)


def times_held(world, moved, runs, names, clusters=True):
    """Count the runs in which each interval holds the truth."""
    rng, (shift, slope) = np.random.default_rng(2), MOVED[moved]
    known, held = truths(WORLDS[world], shift, slope), dict.fromkeys(names, 0)
    for _ in range(runs):
        sample = seen_as_two(WORLDS[world](rng, shift, slope, clusters))
        p = sample.predictions.event
        ratio = {"oe": float(expit(shift + slope * logit(p)).sum() / p.sum())}
        for name in names:
            low, high = normal_ends(sample, ESTIMATORS[name])
            held[name] += low <= (known | ratio)[name] <= high
    return held


def least(runs, share=0.93):
    """The fewest of so many runs that are within four standard errors of the share."""
    return share * runs - 4 * np.sqrt(runs * share * (1 - share))


@pytest.mark.parametrize("moved", MOVED)
@pytest.mark.parametrize("world", TWO)
def test_intervals_by_sums_over_clusters_hold_the_truth(world, moved):
    runs = 400
    held = times_held(world, moved, runs, list(ESTIMATORS))
    assert {name: count for name, count in held.items() if count < least(runs)} == {}


def test_intervals_of_one_of_five_classes_hold_the_truth():
    runs = 400
    held = times_held("five classes", "calibrated", runs, ["slope", "intercept", "oe"])
    assert {name: count for name, count in held.items() if count < least(runs)} == {}


@pytest.mark.parametrize("world", ["repeats", "unequal repeats"])
def test_intervals_of_the_same_rows_without_clusters_do_not(world):
    runs = 200
    held = times_held(world, "calibrated", runs, list(ESTIMATORS), clusters=False)
    assert all(count < least(runs) for count in held.values())


@pytest.mark.parametrize("world", WORLDS)
def test_coefficients_of_a_record_hold_the_truth(world):
    runs, rng, held = 400, np.random.default_rng(3), np.zeros(3)
    for _ in range(runs):
        fit = cs.Cox()(seen_as_two(WORLDS[world](rng)))
        ends = (fit.slope_interval, fit.intercept_interval, fit.intercept_in_the_large_interval)
        held += [low <= truth <= high for (low, high), truth in zip(ends, (1, 0, 0), strict=True)]
    assert (held >= least(runs)).all()


@pytest.mark.parametrize("world", WORLDS)
def test_calibrated_predictions_seldom_err_in_a_direction(world):
    runs, rng, said, blind = 400, np.random.default_rng(4), np.zeros(2), np.zeros(2)
    for _ in range(runs):
        sample = WORLDS[world](rng)
        for counts, known in ((said, True), (blind, False)):
            found = direction_of(seen_as_two(sample if known else without(sample)))
            high = abs(found.predicted - found.happened) > 2 * found.mean_error
            counts += [high, found.inclined() != ""]
    assert (said <= 0.05 * runs + 4 * np.sqrt(runs * 0.05 * 0.95)).all()
    if "repeats" in world:
        assert (blind > 0.2 * runs).all()


def without(sample):
    """The same rows as if each were by itself."""
    return cs.Sample(sample.outcomes, sample.predictions.probabilities, labels=range(len(sample.labels)))


@pytest.mark.parametrize("world", WORLDS)
def test_errors_of_a_smooth_curve_and_of_cells_hold_the_truth(world):
    runs, rng, counts = 100, np.random.default_rng(5), {}
    shift, slope = MOVED["moved"] if world in TWO else MOVED["calibrated"]
    for _ in range(runs):
        sample = seen_as_two(WORLDS[world](rng, shift, slope))
        q = expit(shift + slope * logit(sample.predictions.event))
        for core in (cs.ICI(), cs.ECE(cs.EqualMass(10))):
            found = cs.estimate(sample, core, n_resamples=199, rng=rng)
            known = np.atleast_1d(core.prepare(sample.predictions)(np.column_stack([1 - q, q])))
            ends = [each.interval for each in found.parts] or [found.confidence_interval]
            for place, ((low, high), truth) in enumerate(zip(ends, known, strict=True)):
                held = low - 1e-12 <= truth <= high + 1e-12
                counts[core, place] = counts.get((core, place), 0) + held
    assert len(counts) == 5
    assert min(counts.values()) >= least(runs)


@pytest.mark.parametrize("world", WORLDS)
def test_bars_and_bands_hold_calibrated_outcomes(world):
    runs, rng, outside, all_outside, band = 100, np.random.default_rng(6), [], 0, []
    for _ in range(runs):
        sample = seen_as_two(WORLDS[world](rng))
        display = cs.ReliabilityDisplay.compute(sample, cs.EqualMass(6), n_resamples=199, rng=rng)
        gap = display.mean_outcome - display.mean_prediction
        outside.append(((gap < display.low - 1e-9) | (gap > display.high + 1e-9)).mean())
        all_outside += bool(((gap < display.all_low - 1e-9) | (gap > display.all_high + 1e-9)).any())
        curve = cs.LOESS(n_points=20)(sample)
        band.append(((curve.low <= curve.prediction) & (curve.prediction <= curve.high)).mean())
    assert np.mean(outside) <= 1 - display.coverage + 4 * np.std(outside) / np.sqrt(runs)
    assert all_outside <= 0.05 * runs + 4 * np.sqrt(runs * 0.05 * 0.95)
    assert np.mean(band) >= 0.93 - 4 * np.std(band) / np.sqrt(runs)


@pytest.mark.parametrize("world", TWO)
def test_the_expected_error_of_simpler_predictors_is_no_smaller_than_that_of_calibrated_ones(world):
    runs, rng = 60, np.random.default_rng(7)
    above, blind = np.empty((2, runs))
    for run in range(runs):
        sample = WORLDS[world](rng)
        for found, each in ((above, sample), (blind, without(sample))):
            path = cs.simplify(each, 5, rng=rng)
            found[run] = path.calibration_error[-1] - path.expected[-1]
    assert above.mean() <= 4 * above.std() / np.sqrt(runs)
    if "repeats" in world:
        assert blind.mean() > 4 * blind.std() / np.sqrt(runs)


@pytest.mark.parametrize("world", ["repeats", "unequal repeats"])
def test_curves_of_groups_of_few_clusters_are_seldom_told_apart(world):
    runs, rng, rejected = 400, np.random.default_rng(8), 0
    for _ in range(runs):
        sample = WORLDS[world]._replace(number=60 if "unequal" in world else 20)(rng)
        of = rng.permutation(np.arange(sample.groups.number) % 2)[sample.groups.codes]
        rejected += cs.equal_curves_test(sample, {"of": of}, min_expected=0, n_resamples=99, rng=rng).pvalue <= 0.05
    assert rejected <= 0.05 * runs + 4 * np.sqrt(runs * 0.05 * 0.95)
