"""Estimators of cells: parameters, identities, and the table of cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
import reference
from strategies import samples


@pytest.mark.parametrize("p", [0.5, 0, -1, float("nan")])
def test_a_norm_needs_p_of_at_least_one(p):
    with pytest.raises(ValueError, match="p is"):
        cs.Lp(p)
    with pytest.raises(ValueError, match="p is"):
        cs.PDE(p=p)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cs.PDE(p=np.inf), "p is inf"),
        (lambda: cs.PDE(placement="bin"), "placement is 'bin'"),
        (lambda: cs.DebiasedCE(single_rows="drop"), "single_rows is 'drop'"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_single_rows_can_be_refused():
    sample = cs.Sample([0, 1, 1], [0.2, 0.2, 0.9])
    with pytest.raises(ValueError, match="a cell holds a single row"):
        cs.DebiasedCE(cs.UniqueValues(), single_rows="raise")(sample)
    assert isinstance(cs.DebiasedCE(cs.FixedEdges([0, 1]), single_rows="raise")(sample), float)


@given(sample=samples((2,)), n_bins=st.integers(1, 6))
def test_identities_between_estimators(sample, n_bins):
    binning = cs.EqualWidth(n_bins)
    total = cs.ExpectedMiscalibration(binning)(sample)
    np.testing.assert_allclose(cs.ECE(binning)(sample), total, atol=1e-13)
    squared = cs.SquaredCE(binning)(sample)
    np.testing.assert_allclose(
        cs.ExpectedMiscalibration(binning, cs.SquaredEuclidean())(sample), 2 * squared, atol=1e-13
    )
    np.testing.assert_allclose(cs.ExpectedMiscalibration(binning, cs.Lp(2))(sample), np.sqrt(2) * total, atol=1e-13)
    np.testing.assert_allclose(cs.RMSCE(binning)(sample) ** 2, squared, atol=1e-13)
    assert total <= cs.PDE(binning)(sample) + 1e-13
    assert cs.PDE(binning, p=2)(sample) <= cs.PDE(binning, p=2, placement="row")(sample) + 1e-13
    assert cs.DebiasedCE(binning)(sample) <= squared + 1e-13
    assert cs.MaximumMiscalibration(binning)(sample) >= total - 1e-13


@given(sample=samples((2, 3, 4), max_rows=25), n_bins=st.integers(1, 4))
def test_the_table_of_cells_agrees_with_the_naive_one(sample, n_bins):
    table = cs.HistogramRegression(cs.SimplexGrid(n_bins))
    found, naive = table(sample), reference.value(table, sample)
    filled = found["count"].values > 0
    rows = zip(found["count"].values[filled], found["deviation"].values[filled], strict=True)
    ours = sorted(np.round([weight, *gaps], 9).tolist() for weight, gaps in rows)
    theirs = sorted(np.round([weight, *gaps], 9).tolist() for weight, gaps in naive)
    np.testing.assert_allclose(ours, theirs, atol=2e-9)


@given(sample=samples((2, 3, 4)))
def test_histogram_regression_is_whole(sample):
    found = cs.HistogramRegression(cs.SimplexGrid(3))(sample)
    np.testing.assert_allclose(float(found["proportion"].sum()), 1)
    weights = sample.predictions.weights
    np.testing.assert_allclose(float(found["count"].sum()), len(sample) if weights is None else weights.sum())
    filled = found["count"].values > 0
    np.testing.assert_allclose(found["mean_outcome"].values[filled].sum(axis=1), 1)
    np.testing.assert_allclose(found["mean_prediction"].values[filled].sum(axis=1), 1)
    assert found["label"].values.tolist() == list(sample.labels)
    assert set(found.data_vars) == {"proportion", "mean_prediction", "mean_outcome", "deviation", "count"}


def test_histogram_regression_keeps_empty_cells_as_nan():
    found = cs.HistogramRegression(cs.EqualWidth(4))(cs.Sample([0, 1, 1], [0.1, 0.9, 0.8]))
    np.testing.assert_array_equal(found["count"].values, [1, 0, 0, 2])
    np.testing.assert_array_equal(found["proportion"].values, [1 / 3, 0, 0, 2 / 3])
    for name in ("mean_prediction", "mean_outcome", "deviation"):
        np.testing.assert_array_equal(np.isnan(found[name].values[:, 0]), [False, True, True, False])
    np.testing.assert_allclose(found["low"].values, [0, 0.25, 0.5, 0.75])
    np.testing.assert_allclose(found["high"].values, [0.25, 0.5, 0.75, 1])
