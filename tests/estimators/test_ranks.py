"""Kendall's tau and the probabilistic count against loops, formulas and another package."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

import calibstat as cs
from calibstat import generators as gen
from suites import everything

TIES = ("ignore", "tau_a", "strict")


def by_pairs(event, chance, mass, ties):
    """The definition, over all pairs of rows."""
    pairs = np.outer(mass, mass) / mass.sum() ** 2
    signs = np.sign(event[:, None] - event) * np.sign(chance[:, None] - chance)
    if ties == "tau_a":
        return (pairs * signs).sum()
    wrong = signs < 0
    if ties == "strict":
        wrong |= (event[:, None] == event) & (chance[:, None] != chance)
    return 1 - 2 * pairs[wrong].sum()


@pytest.mark.parametrize("levels", [1, 2, 257, 70_000])
def test_tau_of_chances_counts_all_pairs(levels):
    rng = np.random.default_rng(levels)
    n = 400 if levels > 2 else 40
    for few in (5, 10**9):
        event = rng.integers(0, few, n) / few
        chance, mass = rng.integers(0, levels, n) / levels, rng.random(n) + 0.1
        seen = cs.Sample([0] * n, event, sample_weight=mass, labels=[0, 1]).predictions
        for ties in TIES:
            found = cs.KendallTau(ties).prepare(seen)(np.column_stack([1 - chance, chance]))
            assert float(found) == pytest.approx(by_pairs(event, chance, mass, ties), abs=1e-12)


def test_more_chances_than_two_bytes_hold():
    """Ranks are sorted two bytes at a time. Scipy divides by the number of pairs of different rows."""
    rng = np.random.default_rng(0)
    n = 70_000
    event, chance = rng.random(n), rng.random(n)
    evaluator = cs.KendallTau("tau_a").prepare(cs.Sample([0] * n, event, labels=[0, 1]).predictions)
    found = float(evaluator(np.column_stack([1 - chance, chance])))
    assert found == pytest.approx(kendalltau(event, chance).statistic * (n - 1) / n, abs=1e-12)


def test_no_pair_in_the_wrong_order_is_exactly_none():
    rng = np.random.default_rng(0)
    chance, mass = np.sort(rng.random(3000)), rng.random(3000) ** 4
    assert float(gen.FinitePredictions(chance**2, chance, mass).truth(cs.KendallTau())) == 1
    sample = cs.Sample((chance > 0.3).astype(int), chance, sample_weight=mass)
    assert cs.KendallTau()(sample) == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_tau_of_labels_is_the_area_under_the_curve_in_other_units(weighted):
    rng = np.random.default_rng(1)
    p = rng.random(500)
    weights = rng.random(500) if weighted else None
    sample = cs.Sample((rng.random(500) < p).astype(int), p, sample_weight=weights)
    share = np.average(sample.outcomes, weights=weights)
    expected = 1 - 4 * share * (1 - share) * (1 - cs.AUC()(sample))
    for ties in ("ignore", "strict"):
        assert cs.KendallTau(ties)(sample) == pytest.approx(expected, abs=1e-12)
    assert cs.KendallTau("tau_a")(sample) == pytest.approx(2 * share * (1 - share) * (2 * cs.AUC()(sample) - 1))


def test_samples_tend_to_the_limit_and_not_to_the_truth():
    world = gen.FinitePredictions([0.3, 0.3, 0.6, 0.8], [0.1, 0.5, 0.4, 0.9], [2, 1, 3, 2])
    sample = world.sample(200_000, rng=0)
    for ties in TIES:
        tau = cs.KendallTau(ties)
        limit, truth = float(world.limit(tau)), float(world.truth(tau))
        assert tau(sample) == pytest.approx(limit, abs=0.005)
        assert abs(limit - truth) > 0.02


def test_sweeps_know_the_same_limit_and_say_where_there_is_none():
    worlds = {"finite": gen.FinitePredictions([0.3, 0.6, 0.6], [0.2, 0.7, 0.4]), "dense": gen.BetaPredictions(1, 1)}
    found = cs.Sweep(worlds, n=[20], estimators={"tau": cs.KendallTau()}, n_repeats=1, rng=0).run()
    for name, of in (("truth", worlds["finite"].truth), ("limit", worlds["finite"].limit)):
        values = found[name].sel(estimator="tau").values.ravel()
        np.testing.assert_allclose(values, [float(of(cs.KendallTau())), np.nan])


def test_no_interval_where_no_pair_is_in_the_wrong_order():
    y = np.tile([0, 1], 12)
    found = cs.estimate(cs.Sample(y, np.where(y, 0.9, 0.1)), cs.KendallTau(), n_resamples=19, rng=0)
    assert found.estimate == 1
    assert found.confidence_interval is None
    assert "show no noise" in everything(found)


def test_the_interval_of_tau_holds_its_limit():
    world = gen.FinitePredictions([0.3, 0.3, 0.6, 0.8], [0.1, 0.5, 0.4, 0.9])
    found = cs.estimate(world.sample(2000, rng=0), cs.KendallTau(), n_resamples=19, rng=0).confidence_interval
    assert found.low < float(world.limit(cs.KendallTau())) < found.high < found.low + 0.05


@pytest.mark.filterwarnings("ignore:.*fits far better")
def test_a_test_by_tau_sees_predictions_in_the_wrong_order():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    for labels, rejected in ((rng.random(300) < p, False), (rng.random(300) < 1 - p, True)):
        found = cs.calibration_test(cs.Sample(labels.astype(int), p), cs.KendallTau(), n_resamples=199, rng=0)
        assert (found.pvalue <= 0.05) == rejected


@pytest.mark.parametrize(
    ("masses", "count"),
    [
        ([0.2] * 5, 5),
        ([0.5, 0.25, 0.25], 8 / 3),
        ([0.9, 0.1], 1.2195121951),
        ([1.0], 1),
        ([0.30, 0.30, 0.22, *[0.03] * 6], 4.2771599658),  # nine cells, fewer than five balanced ones
    ],
)
def test_the_probabilistic_count_of_cells(masses, count):
    event = np.arange(1, len(masses) + 1) / 10
    assert float(gen.FinitePredictions(event, event, masses).truth(cs.ProbabilisticCount())) == pytest.approx(count)
    rows = np.repeat(event, np.rint(100 * np.array(masses)).astype(int))
    assert cs.ProbabilisticCount()(cs.Sample([0] * len(rows), rows, labels=[0, 1])) == pytest.approx(count)


def test_the_count_of_other_cells_is_that_of_the_binning():
    p = np.linspace(0.05, 0.95, 10)
    sample = cs.Sample([0] * 10, p, labels=[0, 1])
    assert cs.ProbabilisticCount()(sample) == pytest.approx(10)
    assert cs.ProbabilisticCount(cs.EqualMass(5))(sample) == pytest.approx(5)
    assert float(gen.BetaPredictions(1, 1).limit(cs.ProbabilisticCount(cs.EqualWidth(4)))) == pytest.approx(4)


@pytest.mark.parametrize("estimator", [cs.KendallTau(), cs.TopLabel() | cs.ProbabilisticCount()], ids=repr)
def test_a_continuous_world_has_no_cells_and_no_pairs(estimator):
    world = gen.BetaPredictions(2, 3, gen.Slope(0.5))
    for ask in (world.truth, lambda each: world.truth(each, n_samples=1000, rng=0)):
        with pytest.raises(ValueError, match=r"has no true value in BetaPredictions.* infinitely many .* Empirical"):
            ask(estimator)
    with pytest.raises(ValueError, match=r"number of rows|infinitely many"):
        world.limit(estimator)


def test_another_word_for_ties_is_refused():
    with pytest.raises(ValueError, match="ties is 'b'; it must be 'ignore', 'tau_a' or 'strict'"):
        cs.KendallTau("b")
