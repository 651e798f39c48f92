"""Vaicenavicius et al. (2019), equation 6 and Appendix B: cells, and the errors read from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import calibstat as cs
from registry import make_sample

FIVE_ROWS = [[0.4, 0.1, 0.5], [0.5, 0.3, 0.2], [0.3, 0.7, 0.0], [0.1, 0.0, 0.9], [0.8, 0.1, 0.1]]
FIVE_LABELS = [0, 1, 2, 0, 1]
SCORES = [0.05, 0.15, 0.22, 0.28, 0.45, 0.55, 0.55, 0.72, 0.81, 0.95]
OUTCOMES = [0, 0, 1, 0, 0, 1, 1, 1, 0, 1]


def grouped(binning):
    """The five rows, named a to e, by cell."""
    index = binning.cut(cs.Sample(FIVE_LABELS, FIVE_ROWS).predictions).index
    return ["".join("abcde"[row] for row in np.flatnonzero(index == cell)) for cell in range(index.max() + 1)]


@pytest.mark.parametrize(
    ("split", "min_size", "cells"),
    [
        ("mean", 2, ["b", "e", "c", "a", "d"]),
        ("mean", 3, ["be", "c", "ad"]),
        ("mean", 4, ["bce", "ad"]),
        ("mean", 5, ["bce", "ad"]),
        ("mean", 6, ["abcde"]),
        ("median", 2, ["e", "c", "b", "a", "d"]),
        ("median", 3, ["ce", "b", "ad"]),
        ("median", 4, ["ce", "abd"]),
        ("median", 5, ["ce", "abd"]),
    ],
)
def test_vaicenavicius_2019_appendix_b_tree_of_five_rows(split, min_size, cells):
    assert grouped(cs.VarianceTree(min_size, split)) == cells


@pytest.mark.parametrize(("least", "cells"), [(1, ["e", "c", "b", "a", "d"]), (2, ["ce", "abd"]), (3, ["abcde"])])
def test_widmann_2019_median_variance_binning_of_five_rows_has_at_least_that_many_rows_in_a_cell(least, cells):
    """As MedianVarianceBinning(minsize) of CalibrationErrors.jl."""
    assert grouped(cs.VarianceTree(2, "median", least)) == cells


def test_no_cell_of_a_tree_has_fewer_rows_than_the_smallest():
    predictions = make_sample(3, n=400).predictions
    for split in ("mean", "median"):
        counts = np.bincount(cs.VarianceTree(2, split, min_samples_leaf=10).cut(predictions).index)
        assert counts.min() >= 10
        assert len(counts) > 10


@pytest.mark.parametrize(("min_size", "expected"), [(2, 0.82), (3, 0.82), (4, 0.62), (6, 0.16)])
def test_vaicenavicius_2019_equation_6_on_the_tree_of_five_rows(min_size, expected):
    estimator = cs.ExpectedMiscalibration(cs.VarianceTree(min_size))
    assert estimator(cs.Sample(FIVE_LABELS, FIVE_ROWS)) == pytest.approx(expected, abs=1e-12)


def test_vaicenavicius_2019_histogram_regression_of_ten_rows():
    cells = cs.HistogramRegression(cs.EqualWidth(5))(cs.Sample(OUTCOMES, SCORES))
    event = cells.sel(label=1)
    np.testing.assert_array_equal(cells["count"], [2, 2, 3, 1, 2])
    np.testing.assert_allclose(cells["proportion"], [0.2, 0.2, 0.3, 0.1, 0.2])
    np.testing.assert_allclose(event["mean_prediction"], [0.1, 0.25, 1.55 / 3, 0.72, 0.88])
    np.testing.assert_allclose(event["mean_outcome"], [0, 0.5, 2 / 3, 1, 0.5])
    np.testing.assert_allclose(event["deviation"], [-0.1, 0.25, 0.15, 0.28, -0.38])


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (cs.ExpectedMiscalibration(cs.EqualWidth(5)), 0.219),
        (cs.ECE(cs.EqualWidth(5)), 0.219),
        (cs.ExpectedMiscalibration(cs.EqualWidth(5), cs.SquaredEuclidean()), 0.11594),
        (cs.ExpectedMiscalibration(cs.EqualWidth(5), cs.Lp(2)), 0.3097127702),
        (cs.MaximumMiscalibration(cs.EqualWidth(5)), 0.38),
        (cs.RMSCE(cs.EqualWidth(5)), 0.2407695994),
    ],
    ids=repr,
)
def test_vaicenavicius_2019_equation_6_errors_of_ten_rows(estimator, expected):
    assert estimator(cs.Sample(OUTCOMES, SCORES)) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("n", "expected"), [(100, 0.0397946187), (1000, 0.0126125091), (10000, 0.0039893231)])
def test_vaicenavicius_2019_section_5_1_constant_model_has_a_positive_error_in_any_sample(n, expected):
    """The model (0, 0) of the Gaussian mixture predicts 1/2; E|k/n - 1/2| whatever the number of bins."""
    counts = np.arange(n + 1)
    for n_bins in (5, 10, 100):
        binning = cs.EqualWidth(n_bins)
        estimator = cs.ExpectedMiscalibration(binning)
        evaluator = estimator.prepare(cs.Sample(np.zeros(n, int), np.full(n, 0.5), labels=[0, 1]).predictions)
        events = np.zeros((n + 1, n_bins, 1))
        events[:, n_bins // 2, 0] = counts
        mean = evaluator.capabilities.from_tally(events) @ binom.pmf(counts, n, 0.5)
        assert mean == pytest.approx(expected, abs=1e-10)
