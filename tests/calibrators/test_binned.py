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
