"""Sizes and coverage of comparisons of two models, in six worlds of rows in 60 clusters."""

import numpy as np
import pytest

import calibstat as cs
from tests.validity.clustered import WORLDS

RUNS = 300


def off(world, rng, clusters=True):
    """Draw two models with the same squared error: too high and too low by as much, or drawn to two classes."""
    chances, groups = world.predictions(rng)
    labels = world.labels(chances, groups, rng)
    if chances.ndim == 1:
        moved = 0.3 * np.minimum(chances, 1 - chances)
        models = chances + moved, chances - moved
    else:
        models = (0.75 * chances + 0.25 * np.eye(world.n_classes)[k] for k in (0, 1))
    more = {"groups": groups} if clusters else {}
    return [cs.Sample(labels, model, labels=range(world.n_classes), **more) for model in models]


def calibrated(world, rng, clusters=True):
    """Draw two calibrated models: one that knows the chances, and one that knows half of the clusters."""
    chances, groups = world.predictions(rng)
    labels = world.labels(chances, groups, rng)
    a, b = world.law
    base = a / (a + b) if chances.ndim == 1 else 1 / world.n_classes
    known = chances.copy()
    known[(rng.random(groups.max() + 1) < 0.5)[groups]] = base
    more = {"groups": groups} if clusters else {}
    return [cs.Sample(labels, model, labels=range(world.n_classes), **more) for model in (chances, known)]


def share(found):
    return np.mean(found), np.sqrt(0.05 * 0.95 / len(found))


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_models_of_equal_errors(name):
    rng = np.random.default_rng(1)
    found = [cs.comparison_test(*off(WORLDS[name], rng), n_resamples=99, rng=rng) for _ in range(RUNS)]
    size, error = share([each.pvalue <= 0.05 for each in found])
    missed, _ = share([not each.confidence_interval.low <= 0 <= each.confidence_interval.high for each in found])
    scores, _ = share([each.score_difference.pvalue <= 0.05 for each in found])
    assert size <= 0.05 + 4 * error
    assert missed <= 0.07 + 4 * error
    assert scores <= 0.05 + 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_calibrated_models(name):
    rng = np.random.default_rng(2)
    tests = [cs.comparison_test(*calibrated(WORLDS[name], rng), n_resamples=99, rng=rng) for _ in range(RUNS)]
    size, error = share([each.pvalue <= 0.05 for each in tests])
    assert size <= 0.05 + 4 * error


@pytest.mark.slow
def test_without_groups_calibrated_models_of_repeats_are_told_apart():
    rng, rejected = np.random.default_rng(3), []
    for _ in range(100):
        models = calibrated(WORLDS["repeats"], rng, clusters=False)
        rejected.append(cs.comparison_test(*models, n_resamples=99, rng=rng).pvalue <= 0.05)
    assert np.mean(rejected) > 0.25
