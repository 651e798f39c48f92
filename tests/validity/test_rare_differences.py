"""Two models with equal errors, where events are so rare that some samples, or cells, have none.

400 samples of 400 rows with 2 to 6 events expected: both models are off by as much, in opposite directions.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

import calibstat as cs
from calibstat.inference import compare as comparison
from calibstat.inference import compare_models as several_models
from calibstat.inference import differences
from calibstat.inference.differences import Expanded
from calibstat.inference.intervals import NoInterval

SEED = 20261121
RUNS = 400
N = 400
L2 = cs.DebiasedL2(cs.EqualMass(4))


def two_models(expected, rng):
    chance = rng.uniform(0.5, 1.5, N) * expected / N
    y = (rng.random(N) < chance).astype(int)
    return tuple(cs.Sample(y, factor * chance, labels=[0, 1]) for factor in (0.2, 1.8))


def share_error(share, runs):
    """Four standard errors of a share."""
    return 4 * np.sqrt(share * (1 - share) / runs)


@cache
def compared(expected):
    rng = np.random.default_rng([SEED, expected])
    return [comparison.comparison_test(*two_models(expected, rng), L2, n_resamples=99, rng=rng) for _ in range(RUNS)]


@pytest.mark.slow
@pytest.mark.parametrize("expected", [2, 4, 6])
def test_size_where_events_are_rare(expected):
    """Of all four p-values, the wrapped one and those of difference, Brier scores and line alone."""
    found = compared(expected)
    for pvalues in (
        [each.pvalue for each in found],
        [each.difference_pvalue for each in found],
        [each.score_difference.pvalue for each in found],
        [each.recalibration_difference.difference_pvalue for each in found],
    ):
        assert np.mean(np.array(pvalues) <= 0.05) <= 0.05 + share_error(0.05, RUNS)


def normal_pvalue(first, second, _paired=True):
    """By the standard error that the observed labels show, without a floor."""
    values = [Expanded.of(L2, each) for each in (first, second)]
    error = np.sqrt(np.square(values[0].influence - values[1].influence).sum())
    return 2 * norm.sf(abs(values[0].value - values[1].value) / error)


@pytest.mark.slow
def test_negative_control_the_noise_that_outcomes_show_is_too_small():
    """Without redrawn labels samples with few events pass for certainty."""
    rng = np.random.default_rng([SEED, 4])
    found = [normal_pvalue(*two_models(4, rng)) for _ in range(600)]
    assert np.mean(np.array(found) <= 0.05) > 0.05 + share_error(0.05, 600)


def announced(n, factors, rng, weights=None):
    """Samples of the same rows, whose models announce the chance, uniform from 2 to 10 %, times each factor."""
    chance = rng.uniform(0.02, 0.1, n)
    y, w = (rng.random(n) < chance).astype(int), None if weights is None else weights(n)
    return [cs.Sample(y, factor * chance, labels=[0, 1], sample_weight=w) for factor in factors]


def unequal(kind, rng):
    """Two models with equal errors in opposite directions; and whether their rows are the same."""
    if kind == "different rows":
        (a,), (b,) = announced(1500, [0.1], rng), announced(300, [1.9], rng)
        return a, b, False
    laws = {"lognormal(1.5)": lambda n: rng.lognormal(0, 1.5, n), "Pareto(1.5)": lambda n: 1 + rng.pareto(1.5, n)}
    return (*announced(1000, [0.1, 1.9], rng, laws[kind]), True)


UNEQUAL = ["lognormal(1.5)", "Pareto(1.5)", "different rows"]


def fresh(kind, rng):
    """A comparison of two models; cells that hold too few rows in effect are drawn again."""
    while True:
        *models, paired = unequal(kind, rng)
        try:
            return comparison.comparison_test(*models, L2, paired=paired, n_resamples=99, rng=rng)
        except ValueError as reason:
            assert "too few for its variance" in str(reason)  # noqa: PT017


@pytest.mark.slow
@pytest.mark.parametrize("kind", UNEQUAL)
def test_size_with_weights_and_with_different_rows(kind):
    """Of the p-value and of that of the linear gain; the interval leaves zero out as rarely."""
    rng = np.random.default_rng([SEED, len(kind)])
    found = [fresh(kind, rng) for _ in range(200)]
    excluded = [not each.confidence_interval.low <= 0 <= each.confidence_interval.high for each in found]
    for wrong in (
        [each.pvalue <= 0.05 for each in found],
        [each.recalibration_difference.pvalue <= 0.05 for each in found],
        excluded,
    ):
        assert np.mean(wrong) <= 0.05 + share_error(0.05, 200)


@pytest.mark.slow
def test_negative_control_normal_pvalues_with_weights():
    rng = np.random.default_rng([SEED, 5])
    found = []
    for _ in range(600):
        with suppress(NoInterval):  # a cell holds too few rows in effect
            found.append(normal_pvalue(*unequal("lognormal(1.5)", rng)))
    assert np.mean(np.array(found) <= 0.05) > 0.05 + share_error(0.05, len(found))


@pytest.mark.slow
def test_size_of_the_largest_difference_where_events_are_rare():
    """Pairs of three models of which the first and the last are off by as much."""
    rng, runs, rejected = np.random.default_rng([SEED, 7]), 250, 0
    for _ in range(runs):
        first, last = two_models(4, rng)
        between = cs.Sample(first.outcomes, (first.y_prob[:, 1] + last.y_prob[:, 1]) / 2, labels=[0, 1])
        models = {"low": first, "calibrated": between, "high": last}
        found = several_models.compare_models(models, L2, adjust="max-t", n_resamples=99, rng=rng)
        (pair,) = (each for each in found.pairs if (each.first, each.second) == ("low", "high"))
        rejected += pair.pvalue_adjusted <= 0.05
    assert rejected / runs <= 0.05 + share_error(0.05, runs)


def exchangeable(kind, events, rng, n=300):
    """Samples of weighted rows, whose models see the chance with noise of the same law: their scores are equal."""
    weights = rng.lognormal(0, 1.5, n) if kind == "lognormal(1.5)" else 1 + rng.pareto(1, n)
    chance = np.clip(rng.uniform(0.1, 0.9, n) if events == "common" else rng.beta(1, 19, n), 1e-12, 1 - 1e-12)
    y = (rng.random(n) < chance).astype(int)
    seen = [expit(logit(chance) + rng.normal(0, 0.5, n)) for _ in range(3)]
    return {
        name: cs.Sample(y, each, labels=[0, 1], sample_weight=weights) for name, each in zip("abc", seen, strict=True)
    }


SCORES = {"Brier": cs.BrierScore(), "log": cs.LogScore(), "AUC": cs.AUC()}


@cache
def scored(kind, events, runs=200):
    """Shares of runs in which p is at most 5 %, of those that are not refused: one row may have most of the weight."""
    rng, found = np.random.default_rng([SEED, len(kind), len(events)]), {}
    for _ in range(runs):
        models, others = exchangeable(kind, events, rng), exchangeable(kind, events, rng)
        for name, score in SCORES.items():
            for second, paired in ((models["b"], True), (others["b"], False)):
                with suppress(ValueError):
                    pvalue = comparison.comparison_test(models["a"], second, score, paired=paired).pvalue
                    found.setdefault((name, paired), []).append(pvalue <= 0.05)
        for adjust in ("holm", "max-t"):
            with suppress(ValueError):
                several = several_models.compare_models(
                    models, SCORES["Brier"], adjust=adjust, n_resamples=199, rng=rng
                )
                found.setdefault(adjust, []).append(min(pair.pvalue_adjusted for pair in several.pairs) <= 0.05)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("events", ["common", "rare"])
@pytest.mark.parametrize("kind", ["lognormal(1.5)", "Pareto(1)"])
def test_size_of_scores_with_weights(kind, events):
    """Brier and log score and AUC, of the same and of different rows, and the pairs of three models."""
    for wrong in scored(kind, events).values():
        assert len(wrong) >= 60
        assert np.mean(wrong) <= 0.05 + share_error(0.05, len(wrong))


@pytest.mark.slow
def test_negative_control_scores_by_the_plain_influence(monkeypatch):
    """Rows of unequal weight taken for as good as others: far more than 5 %."""

    def plain(influence, *_):
        return float(np.sqrt((influence**2).sum())), np.inf

    monkeypatch.setattr(differences, "error_of_rows", plain)
    wrong = scored.__wrapped__("Pareto(1)", "common", 100)
    assert np.mean(wrong["Brier", True]) > 0.05 + share_error(0.05, 100)
