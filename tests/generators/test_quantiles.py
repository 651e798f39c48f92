"""Quantiles of predictions, and sorted scores drawn through them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from calibstat.generators import BetaPredictions, DirichletPredictions, FinitePredictions, GaussianMixture, Slope
from calibstat.generators.line import N_LEVELS, quantile_table

LEVELS = np.linspace(0, 1, 1001)
MODELS = {
    "mixture": GaussianMixture(0, -2),
    "mixture, off": GaussianMixture(1, 1),
    "uniform": BetaPredictions(1, 1),
    "poles": BetaPredictions(0.3, 0.2, Slope(0.7)),
    "skewed": BetaPredictions(20, 2, lambda p: p**3),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@pytest.mark.parametrize(("a", "b"), [(1, 1), (0.3, 0.2), (0.05, 0.5), (20, 2), (1e4, 3e4)])
def test_beta_quantiles_are_those_of_the_inverse_incomplete_beta_function(a, b):
    found = BetaPredictions(a, b).quantiles(LEVELS[1:-1]).predictions.event
    assert found == pytest.approx(special.betaincinv(a, b, LEVELS[1:-1]), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("model", [GaussianMixture(0, -2), GaussianMixture(1, 1), GaussianMixture(3, 0.02)], ids=repr)
def test_quantiles_of_the_mixture_have_their_levels(model):
    event = model.quantiles(LEVELS[1:-1]).predictions.event
    x = -(special.logit(event) + model.beta0) / model.beta1
    below = (special.ndtr(x - 1) + special.ndtr(x + 1)) / 2
    assert (below if model.beta1 < 0 else 1 - below) == pytest.approx(LEVELS[1:-1], abs=1e-12)


@each_model
def test_quantiles_increase_and_carry_the_chances(model):
    rows = model.quantiles(LEVELS)
    assert (np.diff(rows.predictions.event) > 0).all()
    inside = rows.predictions.event[1:-1]
    assert rows.chances[1:-1, 1] == pytest.approx(model.calibration_function(inside), abs=1e-9)
    assert rows.predictions.classes == model.sample(1, 0).labels


def test_a_constant_model_has_one_quantile():
    assert GaussianMixture(2, 0).quantiles(LEVELS).predictions.event == pytest.approx(special.expit(-2))


@pytest.mark.parametrize("model", [FinitePredictions([0.2, 0.7], [0.3, 0.7]), DirichletPredictions([1, 1, 1])])
def test_models_without_quantiles_say_so(model):
    with pytest.raises(ValueError, match="does not know the quantiles"):
        model.quantiles(LEVELS)


@each_model
def test_sorted_scores_have_the_law_of_rows(model):
    """Kolmogorov-Smirnov, 40 000 against 40 000; each of five models at level 0.0001."""
    scores, happened = quantile_table(model).draw_sorted((40_000,), np.random.default_rng(3))
    assert (np.diff(scores) >= 0).all()
    rows = model.sample(40_000, rng=4)
    assert stats.ks_2samp(scores, rows.predictions.event).pvalue > 1e-4
    assert stats.ks_2samp(scores[happened], rows.predictions.event[rows.outcomes == 1]).pvalue > 1e-4


@pytest.mark.parametrize(("a", "b"), [(0.7, 0.7), (1, 0.3), (0.05, 1), (0.2, 0.9)])
def test_beta_scores_that_are_drawn_together_have_their_law(a, b):
    """Kolmogorov-Smirnov of 20 000 scores; each of four at level 0.0001."""
    scores = BetaPredictions(a, b).rows(20_000, np.random.default_rng(0)).predictions.event
    assert stats.kstest(scores, stats.beta(a, b).cdf).pvalue > 1e-4
    assert stats.kstest(scores, stats.beta(a * 1.1, b).cdf).pvalue < 1e-4


def test_another_law_is_rejected():
    scores, happened = quantile_table(GaussianMixture(0.1, -2)).draw_sorted((80_000,), np.random.default_rng(3))
    rows = MODELS["mixture"].sample(80_000, rng=4)
    assert stats.ks_2samp(scores, rows.predictions.event).pvalue < 1e-4
    assert stats.ks_2samp(scores[happened], rows.predictions.event[rows.outcomes == 1]).pvalue < 1e-4


@each_model
def test_the_table_is_off_by_less_than_one_level(model):
    """The distribution function of the table, half-way between levels, against the model's own."""
    table = quantile_table(model)
    scores, chances = table.at(np.arange(N_LEVELS) + 0.5)
    exact = model.quantiles((np.arange(N_LEVELS) + 0.5) / N_LEVELS)
    span = np.diff(table.score)
    assert (np.abs(scores - exact.predictions.event) <= span).all()
    assert np.abs(scores - exact.predictions.event)[100:-100].max() < 1e-6
    if table.calibrated:
        assert chances is scores
    else:
        assert np.abs(chances - exact.chances[:, 1])[100:-100].max() < 1e-5


def test_a_calibrated_model_stays_exactly_calibrated():
    table = quantile_table(MODELS["mixture"])
    assert table.calibrated
    assert not quantile_table(MODELS["mixture, off"]).calibrated


def test_the_last_place_is_the_last_quantile():
    table = quantile_table(MODELS["uniform"])
    assert table.at(np.array([0.0, N_LEVELS]))[0] == pytest.approx([0, 1], abs=1e-12)
