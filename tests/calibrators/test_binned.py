"""Predictions replaced by their cell means, on populations whose chances are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat import calibrators as cal

PLACES = st.tuples(st.integers(0, 20), st.integers(0, 10), st.integers(1, 9))  # prediction, chance, mass
POPULATIONS = st.lists(PLACES, min_size=1, max_size=25)
BINNINGS = st.one_of(
    st.builds(cs.EqualMass, st.integers(1, 6)),
    st.builds(cs.EqualWidth, st.integers(1, 6)),
    st.just(cs.FixedEdges([0, 0.3, 0.35, 1])),
)


def error(said, chance, mass, power):
    """E |f - P(Y = 1 | f)|^p of a population, value by value."""
    total = 0.0
    for value in np.unique(said):
        here = said == value
        total += mass[here].sum() * abs(value - np.average(chance[here], weights=mass[here])) ** power
    return total / mass.sum()


@given(POPULATIONS, BINNINGS, st.sampled_from([1, 2, 3]))
def test_kumar_2019_binned_predictions_have_at_most_the_error_of_the_predictions(population, binning, power):
    p, chance, mass = np.array(population, dtype=float).T / [[20], [10], [1]]
    rows = np.append(p, [0.5, 0.5])  # a fit needs both classes; labels are not used, and these rows weigh nothing much
    weights = np.append(mass, [1e-9, 1e-9])
    fitted = cal.Binned(binning).fit(rows, np.arange(len(rows)) % 2, weights)
    said = fitted.predict_proba(p)[:, 1]
    assert error(said, chance, mass, power) <= error(p, chance, mass, power) + 1e-7
    np.testing.assert_allclose(np.average(said, weights=mass), np.average(p, weights=mass), atol=1e-7)


def test_kumar_2019_the_error_of_binned_predictions_may_be_none_where_that_of_predictions_is_0_495():
    p = 0.49 + 0.02 * (np.arange(1000) + 0.5) / 1000
    chance, mass = (p > 0.5).astype(float), np.ones(1000)
    said = cal.Binned(cs.FixedEdges([0, 1])).fit(p, chance.astype(int)).predict_proba(p)[:, 1]
    assert error(p, chance, mass, 1) == pytest.approx(0.495)
    assert error(said, chance, mass, 1) == pytest.approx(0, abs=1e-12)
    sample = cs.Sample(chance.astype(int), said, labels=[0, 1])
    assert cs.ECE(cs.UniqueValues())(sample) == pytest.approx(0, abs=1e-12)
    assert cs.ECE(cs.UniqueValues())(cs.Sample(chance.astype(int), p, labels=[0, 1])) == pytest.approx(0.495)


@pytest.mark.parametrize("weight", [None, 1, 0.1, 3])
@pytest.mark.parametrize("made", [cal.HistogramBinning, cal.Binned])
def test_cells_are_those_of_equal_mass_and_equal_weights_are_none(made, weight):
    rng = np.random.default_rng(0)
    for n, n_bins in ((10, 3), (14, 4), (1003, 10)):
        p = rng.permutation(np.arange(n) + 0.5) / n
        found = made(cs.EqualMass(n_bins)).fit(p, np.arange(n) % 2, None if weight is None else np.full(n, weight))
        np.testing.assert_array_equal(found.edges_, cs.EqualMass(n_bins).cut(cs.Sample(p > 0.5, p).predictions).edges)
    ten = np.arange(1, 11) / 10 - 0.05
    fitted = cal.HistogramBinning(cs.EqualMass(3)).fit(ten, np.arange(10) % 2)
    np.testing.assert_allclose(fitted.edges_, [0, 0.4, 0.7, 1])


def test_cells_of_a_scaling_are_those_of_equal_mass():
    rng = np.random.default_rng(1)
    p = rng.random(303)
    found = cal.ScalingBinning().fit(p, rng.random(303) < p)
    said = found.scaling_.predict_proba(np.column_stack([1 - p, p]))[:, 1]
    expected = cs.EqualMass(10).cut(cs.Sample(p > 0.5, said).predictions)
    np.testing.assert_array_equal(found.binned_.edges_, expected.edges)


def test_whole_weights_are_repeated_rows_and_other_weights_are_masses():
    rng = np.random.default_rng(2)
    p, y, times = rng.random(200), rng.integers(0, 2, 200), rng.integers(1, 5, 200)
    whole = cal.HistogramBinning().fit(p, y, times)
    repeated = cal.HistogramBinning().fit(p.repeat(times), y.repeat(times))
    np.testing.assert_array_equal(whole.edges_, repeated.edges_)
    shares = times / 7
    expected = cs.EqualMass(10).cut(cs.Sample(y, p, sample_weight=shares).predictions).edges
    np.testing.assert_array_equal(cal.HistogramBinning().fit(p, y, shares).edges_, expected)
