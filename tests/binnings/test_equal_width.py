"""Cells found by arithmetic are those of a comparison with the edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.binnings.base import closed_left
from calibstat.binnings.intervals import _placed


def around(edges, values):
    """Values, the edges themselves, and the floats on both sides of each."""
    return np.concatenate([values, edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])


def index_of(values, edges):
    return cs.Cells(len(edges) - 1, _placed(values, edges), "fixed").index


@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_probabilities_are_compared_with_the_edges(n_bins, seed):
    edges = np.linspace(0, 1, n_bins + 1)
    values = around(edges, np.random.default_rng(seed).random(200))
    values = np.concatenate([values, [-1e-4, -0.0, 1 + 1e-4]])  # as far beyond as rounded probabilities may lie
    np.testing.assert_array_equal(index_of(values, edges), closed_left(values, edges))


def test_cells_in_blocks_are_those_of_the_index():
    edges, values = np.linspace(0, 1, 16), np.random.default_rng(0).random(70_000)
    cells = cs.Cells(15, _placed(values, edges), "fixed")
    blocks = list(cells.in_blocks())
    assert "index" not in vars(cells)
    np.testing.assert_array_equal(np.concatenate([found for _, found in blocks]), cells.index)
    for (rows, found), (same, again) in zip(blocks, cells.in_blocks(), strict=True):
        np.testing.assert_array_equal(values[rows], values[same])
        np.testing.assert_array_equal(found, again)


def test_a_hundred_thousand_cells():
    edges = np.linspace(0, 1, 100_001)
    values = around(edges, np.random.default_rng(0).random(1000))
    np.testing.assert_array_equal(index_of(values, edges), closed_left(values, edges))


@pytest.mark.parametrize("low", [0.0, -7.5, 1e-310, 1e6, 1e9, -1e15])
@pytest.mark.parametrize("width", [1e-310, 1e-6, 1e-3, 1.0, 3e7, 1e300])
@pytest.mark.parametrize("n_bins", [1, 15, 1000])
def test_columns_far_from_zero_are_compared_with_the_edges(low, width, n_bins):
    values = low + width * np.random.default_rng(0).random(5000)
    edges = np.linspace(values.min(), values.max(), n_bins + 1)
    values = around(edges, values)
    expected = closed_left(values, edges) if edges[0] < edges[-1] else np.zeros(len(values))
    np.testing.assert_array_equal(index_of(values, edges), expected)


def test_rounding_would_move_a_variable_far_from_zero_into_the_next_cell():
    """The negative control: arithmetic alone is wrong there."""
    values = 1e9 + 1e-3 * np.random.default_rng(0).random(100_000)
    edges = np.linspace(values.min(), values.max(), 16)
    alone = np.clip(((values - edges[0]) * (15 / (edges[-1] - edges[0]))).astype(int), 0, 14)
    assert (alone != closed_left(values, edges)).any()
    sample = cs.Sample(np.arange(100_000) % 2, np.full(100_000, 0.5), variables={"time": values})
    cells = cs.EqualWidth(15).cut(cs.Given("time")(sample).predictions)
    np.testing.assert_array_equal(cells.index, closed_left(values, cells.edges))


@pytest.mark.parametrize("binning", [cs.EqualWidth, cs.EqualMass, cs.Quantiles, cs.SimplexGrid])
def test_more_cells_than_anybody_has_rows_for_are_refused_before_memory_is_asked_for(binning):
    words = "n_bins is 1000000000000; it must be an integer of at least 1 and at most 10 million"
    with pytest.raises(ValueError, match=words):
        binning(10**12)


@pytest.mark.parametrize("name", ["n_points", "n_cells"])
def test_curves_have_as_many_points_at_most(name):
    with pytest.raises(ValueError, match=f"LOESS: {name} is 1000000000000; it must be .* at most 10 million"):
        cs.LOESS(**{name: 10**12})
