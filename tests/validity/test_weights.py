"""Tests and intervals hold where weights are very unequal: a few rows have most of the weight, or one row half of it.

Weights are independent of all else, or known functions of the prediction. Checks fail beyond four standard errors of
their runs.
"""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.inference import differences
from calibstat.nulls import multiplier
from calibstat.nulls.multiplier import Weak

WEIGHTS = {
    "pareto": lambda n, rng: 1 / (1 - rng.random(n)),
    "lognormal": lambda n, rng: np.exp(1.5 * rng.normal(size=n)),
    "one heavy row": lambda n, rng: np.where(np.arange(n) == 0, float(n), 1.0),
}
SCORES = {"common": (1, 1), "rare": (1, 9), "bold": (0.5, 0.5)}


def weighted(weights, scores, n, rng, slope=1.0):
    """A sample whose chances lie closer to their mean than its predictions, if the slope is below one."""
    a, b = SCORES[scores]
    p, age = rng.beta(a, b, n), rng.random(n)
    chance = a / (a + b) + slope * (p - a / (a + b))
    labels = (rng.random(n) < chance).astype(int)
    return cs.Sample(labels, p, variables={"age": age}, sample_weight=WEIGHTS[weights](n, rng), labels=[0, 1])


def assert_at_most(share, nominal, runs):
    assert share <= nominal + 4 * np.sqrt(nominal * (1 - nominal) / runs)


def weak_rejections(weights, scores, runs, n=500):
    """Share of samples in which the weak null is rejected at 5 %, though it holds."""
    rng = np.random.default_rng(20261101)
    samples = (weighted(weights, scores, n, rng, slope=0.5) for _ in range(runs))
    return np.mean(
        [cs.calibration_test(each, cs.VECE("age"), null=Weak(199), rng=rng).pvalue <= 0.05 for each in samples]
    )


@pytest.mark.slow
@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_weak_null(weights, scores):
    assert_at_most(weak_rejections(weights, scores, 400), 0.05, 400)


@pytest.mark.slow
def test_negative_control_signs_centred_without_regard_to_shares(monkeypatch):
    def plain(signs, weights):
        return signs - np.average(signs, axis=-1, weights=weights)[:, None]

    monkeypatch.setattr(multiplier, "centred_signs", plain)
    with pytest.raises(AssertionError):
        assert_at_most(weak_rejections("one heavy row", "common", 400), 0.05, 400)


@pytest.mark.slow
@pytest.mark.parametrize("scores", ["common", "bold"])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_interval_of_vece_holds_the_true_zero(weights, scores):
    rng = np.random.default_rng(20261102)
    samples = (weighted(weights, scores, 500, rng, slope=0.5) for _ in range(150))
    found = [cs.estimate(each, cs.VECE("age"), n_resamples=199, rng=rng).confidence_interval.low for each in samples]
    assert_at_most(np.mean(np.array(found) > 0), 0.05, 150)


def sampled_by_label(n, rng, prevalence, shift=0.0):
    """Half of the rows have the event, which has such a mean chance in the population; predictions may be too bold."""
    a, b = 0.5, 0.5 / prevalence - 0.5
    labels = np.arange(n) % 2
    chance = rng.beta(a + labels, b + 1 - labels)
    odds = chance / (1 - chance) * np.exp(shift * rng.choice([-1, 1], n))
    return labels, odds / (1 + odds)


def rejections_with_prevalence(estimator, n, runs, said=0.05, **world):
    rng, found = np.random.default_rng(20261103), []
    for _ in range(runs):
        labels, p = sampled_by_label(n, rng, 0.05, **world)
        sample = cs.Sample(labels, p, prevalence=said, labels=[0, 1])
        found.append(cs.calibration_test(sample, estimator, n_resamples=99, rng=rng).pvalue <= 0.05)
    return np.mean(found)


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 400])
@pytest.mark.parametrize(
    "estimator", [cs.ECE(cs.EqualMass(5)), cs.Kuiper(), cs.Spiegelhalter(), cs.Cox(), cs.SKCE()], ids=repr
)
def test_prevalence_undoes_sampling_by_labels(estimator, n):
    assert_at_most(rejections_with_prevalence(estimator, n, 400), 0.05, 400)


@pytest.mark.slow
def test_negative_controls_of_prevalence():
    """A wrong prevalence, and wrong predictions."""
    assert rejections_with_prevalence(cs.ECE(cs.EqualMass(5)), 400, 100, said=0.2) > 0.9
    assert rejections_with_prevalence(cs.ECE(cs.EqualMass(5)), 400, 100, shift=2.0) > 0.9


NUMBERS = {
    "Brier score": cs.BrierScore(),
    "O/E": cs.ObservedToExpected(),
    "AUC": cs.AUC(),
    "slope": cs.Cox(statistic="slope"),
    "intercept": cs.Cox(statistic="intercept_in_the_large"),
}


def intervals_that_miss(weights, scores, runs, n=300):
    """Share of intervals without the weighted value of the chances of the rows, of those that are given; by number."""
    rng, missed, given = np.random.default_rng(20261104), dict.fromkeys(NUMBERS, 0), dict.fromkeys(NUMBERS, 0)
    for _ in range(runs):
        sample = weighted(weights, scores, n, rng)
        chances = sample.predictions.probabilities
        for name, each in NUMBERS.items():
            found = cs.estimate(sample, each, n_resamples=19, rng=rng).confidence_interval
            if found is not None:
                truth = float(each.headline(each.prepare(sample.predictions)(chances)))
                missed[name] += not found.low - 1e-12 <= truth <= found.high + 1e-12
                given[name] += 1
    return {name: missed[name] / given[name] for name in NUMBERS if given[name]}, given


@pytest.mark.slow
@pytest.mark.parametrize("scores", ["common", "rare"])
@pytest.mark.parametrize("weights", ["pareto", "lognormal"])
def test_intervals_of_means_ranks_and_coefficients(weights, scores):
    found, given = intervals_that_miss(weights, scores, 500)
    assert min(given.values()) > 200
    for missed in found.values():
        assert_at_most(missed, 0.05, 500)


def scores_that_miss(shift, runs, n=300):
    """The larger share of intervals of two scores without the weighted value of the chances of the rows."""
    rng, missed = np.random.default_rng(20261105), np.zeros(2)
    for _ in range(runs):
        p = rng.beta(1, 9, n)
        chances = np.column_stack([1 - shift * p, shift * p])
        labels = (rng.random(n) < chances[:, 1]).astype(int)
        sample = cs.Sample(labels, p, sample_weight=WEIGHTS["lognormal"](n, rng), labels=[0, 1])
        for k, score in enumerate((cs.BrierScore(), cs.LogScore())):
            truth = float(score.prepare(sample.predictions)(chances))
            found = cs.estimate(sample, score, n_resamples=1, rng=rng).confidence_interval
            missed[k] += found is not None and not found.low <= truth <= found.high
    return missed.max() / runs


@pytest.mark.slow
@pytest.mark.parametrize("shift", [1.0, 0.5])
def test_intervals_of_scores_of_rare_events(shift):
    """Heavy rows may all have missed the event, and then show too little noise; half as many events as said besides."""
    assert_at_most(scores_that_miss(shift, 1000), 0.05, 1000)


@pytest.mark.slow
def test_negative_control_only_the_noise_that_rows_show(monkeypatch):
    monkeypatch.setattr(differences.Expanded, "drawn", 0.0)
    with pytest.raises(AssertionError):
        assert_at_most(scores_that_miss(0.5, 1000), 0.05, 1000)


@pytest.mark.slow
def test_negative_control_influences_without_shares(monkeypatch):
    monkeypatch.setattr(differences, "cluster_error", lambda influence, _: (np.sqrt(influence @ influence), np.inf))
    monkeypatch.setattr(differences.Expanded, "drawn", 0.0)
    found, _ = intervals_that_miss("pareto", "rare", 150)
    with pytest.raises(AssertionError):
        assert_at_most(max(found.values()), 0.05, 150)
