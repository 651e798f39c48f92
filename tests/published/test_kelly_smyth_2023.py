"""Kelly & Smyth (2023), "Variable-based calibration for machine learning classifiers"."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs

ECE = cs.TopLabel() | cs.ECE(cs.UniqueValues())
VECE = cs.TopLabel() | cs.VECE("v", cs.Categories())
CONSTANTS = [(2, 0.25), (3, 1 / 3), (4, 0.375), (10, 0.45)]  # 1/2 - 1/(2K)


def top_label_rows(correct, confidence, variable, n_classes):
    """Rows whose first class is the top one; a wrong prediction is an outcome of the second class."""
    rest = np.minimum((1 - confidence) / (n_classes - 1), confidence)  # 2/3 / 2 is larger than 1/3 in floats
    prob = np.column_stack([confidence, *[rest] * (n_classes - 1)])
    return cs.Sample(np.where(correct, 0, 1), prob, variables={"v": variable}, labels=range(n_classes))


@pytest.mark.parametrize(("n_classes", "constant"), CONSTANTS)
def test_kelly_smyth_2023_theorem_5_1_zero_ece_hides_a_large_vece(n_classes, constant):
    half, one_right = [True] * n_classes, [True] + [False] * (n_classes - 1)
    confidence = np.full(2 * n_classes, (n_classes + 1) / (2 * n_classes))
    sample = top_label_rows(half + one_right, confidence, np.repeat([0, 1], n_classes), n_classes)
    assert ECE(sample) == pytest.approx(0, abs=1e-14)
    assert VECE(sample) == pytest.approx(constant, abs=1e-14)


@pytest.mark.parametrize(("n_classes", "constant"), CONSTANTS)
def test_kelly_smyth_2023_theorem_5_2_zero_vece_hides_a_large_ece(n_classes, constant):
    correct = np.tile(np.arange(2 * n_classes) <= n_classes, 4)
    confidence = np.repeat([1 / n_classes, 1, 1 / n_classes, 1], 2 * n_classes)
    variable = np.repeat([0, 1], 4 * n_classes)
    sample = top_label_rows(correct, confidence, variable, n_classes)
    assert VECE(sample) == pytest.approx(0, abs=1e-14)
    assert ECE(sample) == pytest.approx(constant, abs=1e-14)


@pytest.mark.parametrize("overconfident", [True, False])
def test_kelly_smyth_2023_theorem_5_4_consistent_overconfidence_makes_them_equal(overconfident):
    confidence = np.array([0.9, 0.9, 0.8, 0.8, 0.95, 0.95])
    correct = np.array([1, 0, 1, 0, 1, 0])
    if not overconfident:  # underconfidence is the same data with the chances of being right and wrong exchanged
        confidence, correct = 1 - confidence, 1 - correct
    sample = cs.Sample.from_confidence(correct, confidence, variables={"v": [1, 2, 2, 1, 3, 3]})
    assert cs.ECE(cs.UniqueValues())(sample) == pytest.approx(0.3833333333, abs=1e-10)
    assert cs.VECE("v", cs.Categories())(sample) == pytest.approx(0.3833333333, abs=1e-10)
    assert abs(confidence.mean() - correct.mean()) == pytest.approx(0.3833333333, abs=1e-10)


@pytest.fixture(scope="module")
def twelve():
    """Twelve persons; the codes are the quartiles of one minus the confidence."""
    age = [20, 22, 25, 25, 31, 33, 38, 40, 41, 47, 52, 60]
    confidence = [0.9, 0.8, 0.7, 0.95, 0.85, 0.6, 0.9, 0.75, 0.8, 0.99, 0.7, 0.65]
    correct = [1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 1]
    quartile = [0, 1, 2, 0, 1, 3, 0, 2, 1, 0, 2, 3]
    return cs.Sample.from_confidence(correct, confidence, variables={"age": age, "quartile": quartile})


@pytest.mark.parametrize("binning", [cs.EqualMass(4), cs.FixedEdges([20, 25.5, 35.5, 42.5, 60])], ids=repr)
def test_kelly_smyth_2023_vece_over_age_groups(twelve, binning):
    cells = (cs.Given("age") | cs.HistogramRegression(binning))(twelve).sel(label=True)
    np.testing.assert_array_equal(cells["count"], [4, 2, 3, 3])
    np.testing.assert_allclose(cells["mean_prediction"], [0.8375, 0.725, 2.45 / 3, 0.78])
    np.testing.assert_allclose(cells["mean_outcome"], [1, 0.5, 2 / 3, 1 / 3])
    np.testing.assert_allclose(np.abs(cells["deviation"]), [0.1625, 0.225, 0.15, 0.4466666667])
    assert cs.VECE("age", binning)(twelve) == pytest.approx(0.2408333333, abs=1e-10)


def test_kelly_smyth_2023_largest_vce_over_age_groups(twelve):
    largest = cs.Given("age") | cs.MaximumMiscalibration(cs.EqualMass(4))
    assert largest(twelve) == pytest.approx(0.4466666667, abs=1e-10)


def test_kelly_smyth_2023_ece_over_quartiles(twelve):
    assert cs.VECE("quartile", cs.Categories())(twelve) == pytest.approx(0.2241666667, abs=1e-10)


@pytest.mark.parametrize("n_bins", [1, 2, 3, 4])
def test_kelly_smyth_2023_vece_of_the_score_is_the_ece(twelve, n_bins):
    prob = twelve.y_prob[:, 1]
    sample = cs.Sample.from_confidence(twelve.outcomes, prob, variables={"score": prob})
    assert cs.VECE("score", cs.EqualMass(n_bins))(sample) == cs.ECE(cs.EqualMass(n_bins))(sample)


def test_kelly_smyth_2023_errors_are_at_least_the_overall_gap(twelve):
    gap = abs(twelve.y_prob[:, 1].mean() - twelve.outcomes.mean())
    assert cs.VECE("age", cs.EqualMass(1))(twelve) == pytest.approx(gap, abs=1e-14)
    for n_bins in range(2, 13):
        assert cs.VECE("age", cs.EqualMass(n_bins))(twelve) >= gap - 1e-14
