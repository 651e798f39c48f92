"""Vaicenavicius et al. (2019), "Evaluating model calibration in classification", Section 3 and Table 1."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs

PREDICTIONS = np.array(
    [(0.1, 0.3, 0.6), (0.1, 0.6, 0.3), (0.3, 0.1, 0.6), (0.3, 0.6, 0.1), (0.6, 0.1, 0.3), (0.6, 0.3, 0.1)]
)
LABELS = [(2, 2, 6), (0, 7, 3), (2, 2, 6), (4, 5, 1), (7, 0, 3), (5, 4, 1)]  # of ten rows for each prediction


@pytest.fixture(scope="module")
def table_1():
    """Sixty rows whose frequencies are those of Table 1."""
    prob = np.repeat(PREDICTIONS, 10, axis=0)
    y = np.concatenate([np.repeat([0, 1, 2], counts) for counts in LABELS])
    return cs.Sample(y, prob, variables={"first": prob[:, 0], "second": prob[:, 1]})


@pytest.mark.parametrize(
    ("distance", "expected"),
    [(cs.TotalVariation(), 0.1), (cs.SquaredEuclidean(), 0.02), (cs.Lp(2), 0.1414213562), (cs.Lp(1), 0.2)],
)
def test_vaicenavicius_2019_table_1_canonical_miscalibration(table_1, distance, expected):
    unbinned = cs.UniqueValues()
    assert cs.ExpectedMiscalibration(unbinned, distance)(table_1) == pytest.approx(expected, abs=1e-10)
    assert cs.MaximumMiscalibration(unbinned, distance)(table_1) == pytest.approx(expected, abs=1e-10)


def test_vaicenavicius_2019_table_1_every_prediction_is_off_by_a_tenth(table_1):
    cells = cs.HistogramRegression(cs.UniqueValues())(table_1)
    np.testing.assert_allclose(0.5 * np.abs(cells["deviation"]).sum("label"), 0.1, atol=1e-12)
    np.testing.assert_allclose(cells["mean_outcome"], np.array(LABELS) / 10, atol=1e-12)


@pytest.mark.parametrize(
    "lens", [cs.TopLabel(), cs.TopK(1), cs.TopK(2), cs.ClassWise(0), cs.ClassWise(1), cs.ClassWise(2)], ids=repr
)
@pytest.mark.parametrize("binning", [cs.UniqueValues(), cs.VarianceTree(2)], ids=repr)
def test_vaicenavicius_2019_table_1_weaker_lenses_see_nothing(table_1, lens, binning):
    assert (lens | cs.ExpectedMiscalibration(binning))(table_1) == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize(("lens", "expected"), [(cs.TopLabel(), [0.4, 0.6]), (cs.TopK(2), [0.1, 0.6, 0.3])], ids=repr)
def test_vaicenavicius_2019_table_1_induced_predictions_are_constant(table_1, lens, expected):
    seen = lens(table_1)
    np.testing.assert_allclose(seen.y_prob, np.tile(expected, (60, 1)), atol=1e-12)
    np.testing.assert_allclose(np.bincount(seen.outcomes) / 60, expected, atol=1e-12)


def test_vaicenavicius_2019_equation_5_region_of_table_1(table_1):
    region = cs.Region.between(0, 0, 0.3)
    assert len(region(table_1)) == 40
    assert (region | cs.ExpectedMiscalibration(cs.UniqueValues()))(table_1) == pytest.approx(0.1, abs=1e-12)


@pytest.mark.parametrize(("n_bins", "expected"), [(1, 0), (2, 0), (3, 0), (4, 0.1), (5, 0.1), (10, 0.1)])
def test_vaicenavicius_2019_theorem_2_coarse_grids_hide_miscalibration_of_table_1(table_1, n_bins, expected):
    every_axis = cs.ExpectedMiscalibration(cs.SimplexGrid(n_bins))
    axis = cs.FixedEdges(np.linspace(0, 1, n_bins + 1))
    all_but_the_last = cs.Given("first", "second") | cs.ExpectedMiscalibration(axis * axis)
    assert every_axis(table_1) == pytest.approx(expected, abs=1e-12)
    assert all_but_the_last(table_1) == pytest.approx(expected, abs=1e-12)


def test_vaicenavicius_2019_appendix_b_tree_sees_the_miscalibration_of_table_1(table_1):
    tree = cs.VarianceTree(20)
    cells = tree.cut(table_1.predictions)
    np.testing.assert_array_equal(np.bincount(cells.index), [10] * 6)
    assert cs.ExpectedMiscalibration(tree)(table_1) == pytest.approx(0.1, abs=1e-12)
    assert cs.ExpectedMiscalibration(cs.VarianceTree(61))(table_1) == pytest.approx(0, abs=1e-12)


def test_vaicenavicius_2019_proposition_1_conditional_probabilities_are_calibrated():
    chance = np.array([0.1, 0.3, 0.6, 0.8])  # of four equally likely points; the model merges the first and last two
    predictions = cs.Sample([0, 0, 1, 1], [0.2, 0.2, 0.7, 0.7]).predictions
    chances = np.column_stack([1 - chance, chance])
    prepared = cs.ExpectedMiscalibration(cs.UniqueValues()).prepare(predictions)
    assert float(prepared(chances)) == pytest.approx(0, abs=1e-15)
    negative_control = np.column_stack([1 - chance[[0, 2, 1, 3]], chance[[0, 2, 1, 3]]])
    assert float(prepared(negative_control)) == pytest.approx(0.15)
