"""Rosenberg's lecture on calibration and Kumar et al. (2019), Section 3: errors against known chances.

Known chances take the place of labels in the package's own evaluators, so these are population values.
"""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs


def population(estimator, scores, chance, variables=None):
    """The value of an estimator on equally likely points with known chances."""
    sample = cs.Sample(np.zeros(len(scores), int), scores, labels=[0, 1], variables=variables)
    evaluator = estimator.prepare(sample.predictions)
    return float(evaluator(np.column_stack([1 - np.asarray(chance), chance])))


def test_rosenberg_calibration_error_is_at_most_the_error_against_the_regression_function():
    chance, scores = [0.1, 0.5, 0.4, 0.8], [0.3, 0.3, 0.5, 0.5]
    point = {"point": [0, 1, 2, 3]}
    against_regression = cs.Given("point") | cs.RMSCE(cs.Categories())
    assert population(cs.RMSCE(cs.UniqueValues()), scores, chance) == pytest.approx(0.0707106781, abs=1e-10)
    assert population(against_regression, scores, chance, point) == pytest.approx(0.2121320344, abs=1e-10)
    assert population(cs.RMSCE(cs.UniqueValues()), [0.45] * 4, chance) == pytest.approx(0, abs=1e-14)


def test_kumar_2019_example_3_2_a_bin_hides_all_of_the_error():
    """Scores uniform on 1/2 -+ e, the outcome is certain: score above 1/2."""
    e, n = 0.01, 200_000
    scores = 0.5 - e + 2 * e * (np.arange(n) + 0.5) / n
    chance = (scores > 0.5).astype(float)
    square = (0.125 - (0.5 - e) ** 3) / (3 * e)
    assert np.sqrt(square) == pytest.approx(0.4950084, abs=1e-7)
    assert population(cs.ECE(cs.FixedEdges([0, 1])), scores, chance) == pytest.approx(0, abs=1e-12)
    assert population(cs.ECE(cs.UniqueValues()), scores, chance) == pytest.approx(0.5 - e / 2, abs=1e-9)
    assert population(cs.RMSCE(cs.UniqueValues()), scores, chance) == pytest.approx(np.sqrt(square), abs=1e-9)


@pytest.mark.parametrize("estimator", [cs.ECE, cs.RMSCE])
def test_kumar_2019_proposition_3_3_binning_never_shows_more_than_there_is(estimator):
    rng = np.random.default_rng(33)
    scores, chance = rng.random(500), rng.random(500)
    unbinned = population(estimator(cs.UniqueValues()), scores, chance)
    by_fineness = [population(estimator(cs.EqualWidth(2**k)), scores, chance) for k in range(8)]
    assert (np.diff(by_fineness) >= -1e-12).all()
    assert by_fineness[0] < by_fineness[-1] < unbinned


def test_rosenberg_brier_score_is_uncertainty_minus_sharpness_plus_calibration():
    scores = np.array([0.1] * 4 + [0.4] * 5 + [0.8] * 2)
    outcomes = np.array([0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1])
    sample = cs.Sample(outcomes, scores)
    cells = cs.HistogramRegression(cs.UniqueValues())(sample).sel(label=1)
    rate = outcomes.mean()
    sharpness = float((cells["proportion"] * (cells["mean_outcome"] - rate) ** 2).sum())
    calibration = cs.RMSCE(cs.UniqueValues())(sample) ** 2
    assert sharpness == pytest.approx(0.0706611570, abs=1e-10)
    assert calibration == pytest.approx(0.0336363636, abs=1e-10)
    assert rate * (1 - rate) == pytest.approx(0.2479338843, abs=1e-10)
    brier = ((outcomes - scores) ** 2).mean()
    assert brier == pytest.approx(0.2109090909, abs=1e-10)
    assert brier == pytest.approx(rate * (1 - rate) - sharpness + calibration, abs=1e-14)
