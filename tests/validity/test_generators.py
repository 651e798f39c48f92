"""Closed forms, quadrature and enumeration against a million draws, and drawn labels against calibration functions."""

import numpy as np
import pytest

import calibstat as cs
from calibstat import generators as gen
from calibstat.generators.laws import chi_square_pvalue
from suites import slow_but

TEN_CLASSES = gen.DirichletPredictions([1] * 10, gen.Mixture(0.5, [0.1] * 10))
MODELS = [
    gen.GaussianMixture(1, 1),
    gen.BetaPredictions(1, 1, gen.Slope(0.75)),
    gen.BetaPredictions(0.5, 0.5, gen.LogitShift(0.3)),
    gen.BetaPredictions(4, 0.8, gen.Wiggle(6, 0.09)),
    gen.DirichletPredictions([1, 1, 1], gen.Mixture(0.5, [1 / 3] * 3)),
    TEN_CLASSES,
    gen.DirichletPredictions([1, 1, 1], gen.PairSwap(0.45)),
    gen.FinitePredictions([0.2, 0.5, 0.7], [0.3, 0.5, 0.6], mass=[3, 1, 2]),
]


@pytest.mark.parametrize("model", slow_but([MODELS[0], MODELS[3], MODELS[6], MODELS[7]], MODELS), ids=str)
def test_truth_within_four_standard_errors_of_a_million_draws(model):
    drawn = model.truth(cs.ECE(), n_samples=1_000_000, rng=11)
    assert drawn.standard_error < 1e-3
    assert abs(float(model.truth(cs.ECE())) - drawn.value) < 4 * drawn.standard_error


@pytest.mark.parametrize("model", MODELS[:4], ids=str)
@pytest.mark.parametrize("factor", [1.0, 0.97])
def test_drawn_labels_have_the_calibration_function(model, factor):
    # at factor 0.97 the calibration function is not the one that labels were drawn by: the negative control
    sample = model.sample(400_000, rng=12)
    score = sample.predictions.event
    chance = factor * model.calibration_function(score)
    cells = np.digitize(score, np.linspace(0, 1, 21)[1:-1])
    counts = np.bincount(2 * cells + sample.outcomes, minlength=40)
    expected = np.stack([np.bincount(cells, 1 - chance, 20), np.bincount(cells, chance, 20)], axis=1).ravel()
    pvalue = chi_square_pvalue(counts, expected)
    assert pvalue > 1e-3 if factor == 1.0 else pvalue < 1e-6


@pytest.mark.parametrize("weight", [0.5, 0.4])
def test_drawn_labels_of_several_classes(weight):
    # the weight 0.4 is not the model's: the negative control
    model = gen.DirichletPredictions([1, 1, 1], gen.Mixture(0.5, [0.6, 0.3, 0.1]))
    sample = model.sample(200_000, rng=13)
    chances = gen.Mixture(weight, [0.6, 0.3, 0.1])(sample.y_prob)
    cells = 4 * np.digitize(sample.y_prob[:, 0], [0.2, 0.4, 0.6]) + np.digitize(sample.y_prob[:, 1], [0.2, 0.4, 0.6])
    counts = np.bincount(3 * cells + sample.outcomes, minlength=48)
    expected = np.stack([np.bincount(cells, column, 16) for column in chances.T], axis=1).ravel()
    pvalue = chi_square_pvalue(counts, expected)
    assert pvalue > 1e-3 if weight == 0.5 else pvalue < 1e-6
