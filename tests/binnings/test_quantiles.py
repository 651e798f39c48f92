"""Quantile edges as pandas and scikit-learn have them, and the closed side of fixed edges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve

import calibstat as cs


@pytest.mark.parametrize(("n", "n_bins"), [(10, 4), (57, 5), (200, 15), (40, 1)])
def test_cells_are_those_of_qcut_and_of_calibration_curve(n, n_bins):
    rng = np.random.default_rng(n)
    p = rng.beta(0.5, 0.8, n)
    sample = cs.Sample((rng.random(n) < p).astype(int), p, labels=[0, 1])
    cells = cs.Quantiles(n_bins).cut(sample.predictions)
    np.testing.assert_array_equal(cells.index, pd.qcut(p, n_bins, labels=False))
    np.testing.assert_array_equal(cells.edges[1:-1], np.quantile(p, np.linspace(0, 1, n_bins + 1))[1:-1])
    happened, predicted = calibration_curve(sample.outcomes, p, n_bins=n_bins, strategy="quantile")
    share = np.bincount(cells.index) / n
    assert cs.ECE(cs.Quantiles(n_bins))(sample) == pytest.approx(share @ np.abs(happened - predicted), abs=1e-14)


def test_ties_stay_together_and_edges_that_coincide_count_once():
    p = np.array([0.0, 0.0, 0.0, 0.5, 0.5, 1.0])
    cells = cs.Quantiles(5).cut(cs.Sample([0, 0, 1, 0, 1, 1], p).predictions)
    np.testing.assert_array_equal(cells.index, [0, 0, 0, 1, 1, 2])


def test_other_edges_than_those_of_equal_mass():
    sample = cs.Sample([0, 1, 1, 0], [0.1, 0.2, 0.4, 0.8])
    assert cs.Quantiles(2).cut(sample.predictions).edges[1] == pytest.approx(0.3)
    assert cs.Quantiles(3).cut(sample.predictions).edges[1] == pytest.approx(0.2)
    assert cs.EqualMass(3).cut(sample.predictions).edges[1] == pytest.approx(0.3)


def test_the_closed_side_of_fixed_edges():
    p, edges = np.array([0.0, 0.25, 0.5, 0.7, 1.0]), [0, 0.25, 0.5, 1]
    sample = cs.Sample([0, 1, 0, 1, 1], p)
    left, right = (cs.FixedEdges(edges, closed=side) for side in ("left", "right"))
    np.testing.assert_array_equal(left.cut(sample.predictions).index, [0, 1, 2, 2, 2])
    np.testing.assert_array_equal(
        right.cut(sample.predictions).index, pd.cut(p, edges, labels=False, include_lowest=True)
    )
    assert left == cs.FixedEdges(edges) != right
    with pytest.raises((ValueError, TypeError), match="closed is 'both'"):
        cs.FixedEdges(edges, closed="both")
