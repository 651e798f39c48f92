"""Uniform intervals of smoothed errors, of areas and of squares hold the truth, and half as wide ones do not."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.special import expit, logit

import calibstat as cs
from calibstat.estimators.base import Headline
from calibstat.generators import FinitePredictions
from calibstat.inference.estimate import interval_of
from calibstat.nulls.consistency import Consistency

# Predictions, chances, rows: in the rare world 20 events are expected under calibration, and 38 happen.
WORLDS = {
    "calibrated": (1, 1, lambda p: p, 300),
    "over-confident": (1, 1, lambda p: expit(0.6 * logit(p)), 300),
    "rare, calibrated": (1, 19, lambda p: p, 400),
    "rare, shifted": (1, 19, lambda p: expit(logit(p) + 0.7), 400),
}
ESTIMATORS = {
    "AUCV": cs.AUCV(cs.EqualMass(10)),
    "ECE of order 3": cs.ECE(cs.EqualMass(10), 3),
    "ICI": cs.ICI(cs.LOESS(n_cells=64)),
    "SmoothECE": cs.SmoothECE(),
    "PDE": cs.PDE(cs.EqualMass(10)),
    "CramerVonMises": cs.CramerVonMises(),
    "TruthfulCE": cs.TruthfulCE(cs.EqualMass(10)),
}
RUNS = dict.fromkeys(ESTIMATORS, 200) | {"SmoothECE": 100}  # which is slower
N_RESAMPLES = dict.fromkeys(ESTIMATORS, 99) | {"SmoothECE": 39}


def least(runs):
    """95 % less 4 standard errors."""
    return 0.95 - 4 * np.sqrt(0.95 * 0.05 / runs)


@cache
def coverage(name, world, weighted, runs, n_resamples=None):
    """Share of intervals of 95 % that hold the value of the true chances, and of those of half the width."""
    n_resamples = n_resamples or N_RESAMPLES[name]
    a, b, curve, n = WORLDS[world]
    estimator, rng, held = ESTIMATORS[name], np.random.default_rng(22), np.zeros(2)
    for _ in range(runs):
        p = rng.beta(a, b, n)
        chance = curve(p)
        weights = rng.gamma(2, 1, n) if weighted else None
        sample = cs.Sample((rng.random(n) < chance).astype(int), p, sample_weight=weights, labels=[0, 1])
        evaluator = Headline(estimator).prepare(sample.predictions)
        truth = float(evaluator(np.column_stack([1 - chance, chance])))
        redraws = Consistency(n_resamples).draw(Headline(estimator), sample, rng, evaluator).samples
        found = interval_of(estimator, sample, n_resamples, redraws, rng, evaluator)
        halves = {kind: [noise / 2**found.power for noise in getattr(found, kind)] for kind in ("noises", "possible")}
        shrunk = replace(found, **halves)
        for place, each in enumerate((found, shrunk)):
            low, high = each.interval(0.95)
            held[place] += low - 1e-12 <= truth <= high + 1e-12
    return held / runs


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_intervals_cover(name, world, weighted):
    assert coverage(name, world, weighted, RUNS[name])[0] >= least(RUNS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_half_as_wide_intervals_would_not_cover(name):
    """The negative control, at calibration, where the bound is sharp."""
    assert coverage(name, "calibrated", False, RUNS[name])[1] < least(RUNS[name])


# Scores, their chances, a threshold: many wrong decisions by one score; rare events, of chance .03 where .001 is said.
DECISIONS = {
    "one wrong decision": ([0.19, 0.45], [0.6, 0.1], 0.2),
    "rare events": ([0.001, 0.002, 0.005, 0.01, 0.05], [0.03, 0.03, 0.005, 0.01, 0.05], 0.02),
    "calibrated": ([0.05, 0.15, 0.25, 0.5, 0.9], [0.05, 0.15, 0.25, 0.5, 0.9], 0.2),
}


def coverage_of_losses(name, runs, weighted, n=100):
    """Share of 95 % intervals, and of those of half the width, that hold what the population loses."""
    scores, chances, cutoff = DECISIONS[name]
    world = FinitePredictions(*(np.column_stack([1 - np.array(each), each]) for each in (scores, chances)))
    estimator, rng, held = cs.DecisionLoss(cutoff), np.random.default_rng(5), np.zeros(2)
    truth = world.truth(estimator).value
    for run in range(runs):
        sample = world.sample(n, rng=rng)
        if weighted:
            sample = cs.Sample(sample.y_true, sample.y_prob, sample_weight=rng.gamma(2, 1, n), labels=sample.labels)
        low, high = cs.estimate(sample, estimator, n_resamples=99, rng=run).confidence_interval
        middle = estimator(sample)
        held += [low - 1e-12 <= truth <= high + 1e-12, abs(truth - middle) <= (high - low) / 4]
    return held / runs


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", DECISIONS)
def test_intervals_of_decision_losses_cover_what_the_population_loses(name, weighted):
    whole, half = coverage_of_losses(name, 300, weighted)
    assert whole >= least(300)
    if name == "one wrong decision":  # where the loss is that of a single other cutoff
        assert half < least(300)


def test_the_interval_of_the_area_covers():
    """A quick part of the above: 40 runs."""
    whole, half = coverage("AUCV", "calibrated", False, 40, 39)
    assert whole >= least(40) > half


if __name__ == "__main__":
    for name in ESTIMATORS:
        for world in WORLDS:
            print(name, world, [coverage(name, world, each, int(sys.argv[1])).tolist() for each in (False, True)])
