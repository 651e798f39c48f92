"""Clustered worlds: rows as in the world, outcomes that depend within clusters, and sweeps that keep clusters."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat import generators as gen
from calibstat.sweeps._large_samples import value_and_error

WORLD = gen.BetaPredictions(2, 3, gen.Slope(2))
RARE = gen.BetaPredictions(1, 19)
FIVE = gen.DirichletPredictions([0.5, 1, 2, 1, 1])
SIZES = [8, (1, 2, 30), gen.ParetoSizes(1.5, 3, 60)]


def pair_correlation(sample, model, code):
    """Correlation of outcome `code` in pairs of neighbours of one cluster, and its standard error."""
    chance = model.world.calibration_function(sample.y_prob)[:, code]
    residual = ((sample.outcomes == code) - chance) / np.sqrt(chance * (1 - chance))
    codes = sample.groups.codes
    first = np.flatnonzero((codes[1:] == codes[:-1]) & (np.arange(len(codes) - 1) % 2 == 0))
    products = residual[first] * residual[first + 1]
    clusters = np.bincount(codes[first], products)
    return products.mean(), np.sqrt((clusters**2).sum()) / len(first)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("correlation", [0, 0.05, 0.3, 0.9])
def test_outcomes_of_equal_predictions_have_the_correlation(size, correlation):
    model = gen.Clustered(WORLD, size, correlation, "constant")
    found, error = pair_correlation(model.sample(100_000, rng=1), model, 1)
    assert abs(found - correlation) < 4 * error


def test_the_correlation_of_any_outcome_of_five():
    world = gen.FinitePredictions([[0.1, 0.2, 0.4, 0.2, 0.1]], [[0.2, 0.2, 0.2, 0.2, 0.2]])
    model = gen.Clustered(world, 8, 0.3, "constant")
    sample = model.sample(100_000, rng=1)
    for code in range(5):
        found, error = pair_correlation(sample, model, code)
        assert abs(found - 0.3) < 4 * error


def test_varying_predictions_correlate_less():
    model = gen.Clustered(WORLD, 8, 0.9)
    found, error = pair_correlation(model.sample(100_000, rng=1), model, 1)
    assert 4 * error < found < 0.9 - 4 * error


@pytest.mark.parametrize("predictions", ["varying", "constant"])
@pytest.mark.parametrize("world", [WORLD, RARE, FIVE], ids=["two", "rare", "five"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_marginal_chances_are_exact(world, size, predictions):
    """Outcomes add up to the chances of the rows, within the noise of clusters."""
    sample = gen.Clustered(world, size, 0.5, predictions).sample(60_000, rng=2)
    chances = sample.y_prob if world.calibrated else world.calibration_function(sample.y_prob)
    for code in range(chances.shape[1]):
        sums = sample.groups.sums((sample.outcomes == code) - chances[:, code])
        assert abs(sums.sum()) < 4 * np.sqrt((sums**2).sum())


def test_negative_control_independent_rows_seem_to_be_off():
    """Noise of independent rows is a third of that of clusters of eight that nearly agree."""
    sample = gen.Clustered(WORLD, 8, 0.9, "constant").sample(60_000, rng=2)
    residual = (sample.outcomes == 1) - WORLD.calibration_function(sample.y_prob)[:, 1]
    ratio = (sample.groups.sums(residual) ** 2).sum() / (residual**2).sum()
    assert ratio == pytest.approx(1 + 7 * 0.9, rel=0.05)


def test_sizes_have_their_law():
    for size in SIZES:
        model = gen.Clustered(WORLD, size, 0.3)
        found = np.bincount(model.sample(100_000, rng=3).groups.codes)[:-1]
        sizes, chances = model._law
        assert set(found) <= set(sizes)
        assert chances.sum() == pytest.approx(1)
        error = found.std() / np.sqrt(len(found))
        assert abs(found.mean() - model.mean_size) <= 4 * error
        assert found.sum() <= 100_000
    assert gen.ParetoSizes(2, 2, 3).law[1].tolist() == pytest.approx([1 - 4 / 9, 4 / 9])


def test_the_design_effect_is_that_of_a_mean():
    assert gen.Clustered(WORLD, 8, 0.3).design_effect == pytest.approx(1 + 7 * 0.3)
    unequal = gen.Clustered(WORLD, (2, 14), 0.3)
    cv = np.std([2, 14]) / 8
    assert unequal.design_effect == pytest.approx(1 + ((1 + cv**2) * 8 - 1) * 0.3)
    model = gen.Clustered(WORLD, (2, 14), 0.3, "constant")
    means = []
    for rng in np.random.default_rng(0).spawn(1500):
        sample = model.sample(800, rng)
        means.append(((sample.outcomes == 1) - WORLD.calibration_function(sample.y_prob)[:, 1]).mean())
    flat = gen.BetaPredictions(2, 3).sample(100_000, rng=0).y_prob
    chance = WORLD.calibration_function(flat)[:, 1]
    single = (chance * (1 - chance)).mean() / 800
    effect = np.var(means) / single
    assert abs(effect - model.design_effect) < 4 * model.design_effect * np.sqrt(2 / 1500)


def test_rows_of_a_cluster_have_one_prediction_and_variables_if_asked():
    world = gen.kelly_smyth_theorem_5_2(3)
    same, other = (gen.Clustered(world, 5, 0.2, each).sample(500, rng=0) for each in ("constant", "varying"))
    for sample, one in ((same, True), (other, False)):
        column = sample.predictions.variables["v"].values.reshape(-1, 5)
        assert bool((column == column[:, :1]).all()) == one
        top = sample.y_prob.max(axis=1).reshape(-1, 5)
        assert bool((top == top[:, :1]).all()) == one


def test_truths_and_limits_are_those_of_the_world():
    model = gen.Clustered(WORLD, 8, 0.5)
    for estimator in (cs.ECE(), cs.TopLabel() | cs.RMSCE(cs.EqualMass(5)), cs.BrierScore()):
        assert float(model.truth(estimator)) == float(WORLD.truth(estimator))
    assert float(model.limit(cs.ECE(cs.EqualMass(7)))) == float(WORLD.limit(cs.ECE(cs.EqualMass(7))))
    assert float(gen.Clustered(FIVE, 8, 0.5).truth(cs.ECE())) == 0
    drawn = model.truth(cs.BrierScore(), n_samples=40_000, rng=0)
    assert abs(float(drawn) - float(WORLD.truth(cs.BrierScore()))) < 4 * drawn.standard_error


def test_single_rows_have_no_groups():
    sample = gen.Clustered(WORLD, 1, 0.9).sample(100, rng=0)
    assert sample.groups is None


def test_worlds_of_clustered_worlds_keep_the_dependence():
    inside = gen.Clustered(gen.FinitePredictions([0.2, 0.7], [0.5, 0.5]), 8, 1.0)
    outside = gen.Conditioned(inside, lambda rows: rows.event > 0.4)
    sample = outside.sample(800, rng=0)
    each = sample.outcomes.reshape(-1, 8)
    assert (each == each[:, :1]).all()
    assert sample.groups.number == 100


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((gen.Clustered(WORLD, 2, 0.1), 3, 0.1), "whose rows come in clusters already; take its world"),
        ((WORLD, [], 0.1), "at least one size is needed"),
        ((WORLD, 0, 0.1), "size is 0; it must be an integer of at least 1"),
        ((WORLD, 3, 1.5), "correlation is 1.5; it must be a number from 0 to 1"),
        ((WORLD, 3, 0.5, "equal"), "predictions is 'equal'; it must be 'varying' or 'constant'"),
    ],
)
def test_bad_input(arguments, words):
    with pytest.raises(ValueError, match=words):
        gen.Clustered(*arguments)


def test_sizes_must_be_a_range():
    with pytest.raises(ValueError, match="the largest size is less than the smallest"):
        gen.ParetoSizes(1.5, 10, 5)


def swept(model, **more):
    return cs.Sweep({"world": model}, n=[400], n_bins=[5], n_repeats=150, rng=0, **more).run("threads", progress=False)


def test_a_sweep_of_clustered_rows_has_their_spread_and_tests_that_hold():
    """The bias of the estimate grows with the design effect; its test hands over to one for clusters."""
    calibrated = gen.BetaPredictions(1, 1)
    clustered = gen.Clustered(calibrated, 8, 0.9, "constant")
    ece = {"ECE": lambda n_bins: cs.ECE(cs.EqualWidth(n_bins))}
    alone, found = (swept(each, estimators=ece)["estimate"] for each in (calibrated, clustered))
    ratio = float(found.mean() / alone.mean())
    assert ratio == pytest.approx(np.sqrt(clustered.design_effect), rel=0.15)
    statistic = cs.ECE(cs.EqualWidth(5))

    def as_if_independent(outcomes, event):
        return cs.calibration_test(cs.Sample(outcomes, event), statistic, null=cs.Consistency(99), rng=0).pvalue

    tests = {"held": (statistic, cs.Consistency(99)), "not held": lambda _: as_if_independent}
    held, not_held = (swept(clustered, tests=tests)["pvalue"] <= 0.05).mean("repeat").values.ravel()
    assert held <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 150)
    assert not_held > 0.5


@pytest.mark.parametrize("draws", ["sorted", "cells"])
def test_shortcuts_for_independent_rows_are_refused(draws):
    with pytest.raises(ValueError, match=r"rows that depend on each other.*take draws='rows'"):
        swept(gen.Clustered(WORLD, 8, 0.3), estimators={"ECE": cs.ECE(cs.EqualWidth(5))}, draws=draws)


def test_sections_of_a_large_sample_hold_whole_clusters():
    """The error of a mean is that of clusters, three times that of independent rows."""
    model = gen.Clustered(WORLD, 10, 0.9, "constant")

    def mean(outcomes, _event):
        return float(outcomes.mean())

    errors = [value_and_error(mean, model.sample(20_000, rng))[1] for rng in np.random.default_rng(0).spawn(20)]
    means = [model.sample(20_000, rng).outcomes.mean() for rng in np.random.default_rng(1).spawn(200)]
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.25)
