"""Comparisons of models hold in six worlds of rows in 60 clusters and in smaller ones, and not without groups."""

import numpy as np
import pytest

import calibstat as cs
from tests.validity.clustered import WORLDS, Clustered

pytestmark = pytest.mark.slow

RUNS = 150
FEW = {f"{name}, {number}": WORLDS[name]._replace(number=number) for name in ("weak", "rare") for number in (12, 25)}
FEW["repeats, 25"] = WORLDS["repeats"]._replace(number=25)
FEW["rare repeats, 60"] = Clustered(correlation=0.9, constant=True, law=(1.0, 19.0))
EVERY = WORLDS | FEW


def samples(world, models, labels, groups, clusters):
    """The models of the same rows."""
    more = {"groups": groups} if clusters else {}
    return [cs.Sample(labels, model, labels=range(world.n_classes), **more) for model in models]


def off(world, rng, clusters=True):
    """Draw two models with the same squared error and a worse one: moved up, down and farther, or to three classes."""
    chances, groups = world.predictions(rng)
    labels = world.labels(chances, groups, rng)
    if chances.ndim == 1:
        moved = 0.3 * np.minimum(chances, 1 - chances)
        models = chances + moved, chances - moved, chances + 3 * moved
    else:
        towards = np.eye(world.n_classes)
        models = (share * chances + (1 - share) * towards[k] for k, share in enumerate((0.75, 0.75, 0.4)))
    return samples(world, models, labels, groups, clusters), chances


def calibrated(world, rng, clusters=True):
    """Draw three calibrated models: one that knows the chances, and two that know half of the clusters."""
    chances, groups = world.predictions(rng)
    labels = world.labels(chances, groups, rng)
    a, b = world.law
    models = [chances, chances.copy(), chances.copy()]
    for each in models[1:]:
        each[(rng.random(world.number) < 0.5)[groups]] = a / (a + b) if chances.ndim == 1 else 1 / world.n_classes
    return samples(world, models, labels, groups, clusters)


def squared_error(question, seen, chances):
    """The squared error of a model of two classes in its own cells."""
    error = cs.RMSCE(question.estimator.core.cut_by).prepare(seen.predictions)
    return float(np.squeeze(error(np.column_stack([1 - chances, chances])))) ** 2


def most(runs, share=0.05):
    """The largest number of so many runs that is within four standard errors of the share."""
    return share * runs + 4 * np.sqrt(runs * share * (1 - share))


def misses(interval, truth=0.0):
    return not interval.low <= truth <= interval.high


@pytest.mark.parametrize("name", EVERY)
def test_models_of_equal_errors(name):
    rng, count = np.random.default_rng(1), np.zeros(3)
    for _ in range(RUNS):
        found = cs.comparison_test(*off(EVERY[name], rng)[0][:2], n_resamples=99, rng=rng)
        count += found.pvalue <= 0.05, found.score_difference.pvalue <= 0.05, misses(found.confidence_interval)
    size, scores, missed = count
    assert size <= most(RUNS)
    assert missed <= most(RUNS, 0.07)
    if name != "rare repeats, 60":  # where some three clusters have an event
        assert scores <= most(RUNS)


@pytest.mark.parametrize("name", [name for name, world in EVERY.items() if world.n_classes == 2])
def test_intervals_hold_the_difference_of_other_errors(name):
    rng, count = np.random.default_rng(2), 0
    for _ in range(RUNS):
        models, chances = off(EVERY[name], rng)
        found = cs.comparison_test(models[0], models[2], n_resamples=99, rng=rng)
        pairs = zip(found.questions, (models[0], models[2]), strict=True)
        first, second = (squared_error(question, seen, chances) for question, seen in pairs)
        count += misses(found.confidence_interval, first - second)
    assert count <= most(RUNS, 0.07)


@pytest.mark.parametrize("name", EVERY)
def test_models_of_different_rows(name):
    rng, count = np.random.default_rng(3), np.zeros(2)
    for _ in range(RUNS):
        first, second = (off(EVERY[name], rng)[0][k] for k in (0, 1))
        found = cs.comparison_test(first, second, paired=False, n_resamples=99, rng=rng)
        count += found.pvalue <= 0.05, misses(found.confidence_interval)
    assert count[0] <= most(RUNS)
    assert count[1] <= most(RUNS, 0.07)


@pytest.mark.parametrize("name", EVERY)
def test_the_best_of_three_models(name):
    """The set holds both models of the smallest error; no pair of equal errors is told apart."""
    rng, count = np.random.default_rng(4), np.zeros(2)
    for _ in range(RUNS):
        models = dict(zip("abc", off(EVERY[name], rng)[0], strict=True))
        found = cs.compare_models(models, n_resamples=99, rng=rng)
        count += not {"a", "b"} <= set(found.confidence_set), found.pairs[0].pvalue_adjusted <= 0.05
    assert (count <= most(RUNS)).all()


@pytest.mark.parametrize("name", EVERY)
def test_three_calibrated_models(name):
    rng, count = np.random.default_rng(5), np.zeros(2)
    for _ in range(RUNS):
        found = cs.compare_models(dict(zip("abc", calibrated(EVERY[name], rng), strict=True)), n_resamples=99, rng=rng)
        count += len(found.confidence_set) < 3, min(pair.pvalue_adjusted for pair in found.pairs) <= 0.05
    assert (count <= most(RUNS)).all()


@pytest.mark.filterwarnings("ignore:.*fits far better")  # what rows of a cluster show together looks like that
@pytest.mark.parametrize("name", ["repeats", "unequal repeats"])
def test_without_groups_they_do_not_hold(name):
    runs, rng, count = 200, np.random.default_rng(6), np.zeros(3)
    for _ in range(runs):
        models = calibrated(WORLDS[name], rng, clusters=False)
        several = cs.compare_models(dict(zip("abc", models, strict=True)), n_resamples=99, rng=rng)
        pair = cs.comparison_test(*off(WORLDS[name], rng, clusters=False)[0][:2], n_resamples=99, rng=rng)
        count += len(several.confidence_set) < 3, pair.pvalue <= 0.05, misses(pair.confidence_interval)
    assert (count > 0.2 * runs).all()
