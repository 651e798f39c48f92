"""Order statistics and cells from a histogram are those of sorted values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import calibstat as cs
from calibstat.binnings import intervals as equal_mass
from calibstat.binnings.base import closed_right
from calibstat.binnings.selection import N_STEPS, Numbered

RNG = np.random.Generator(np.random.PCG64(0))
SHAPES = {
    "uniform": RNG.random(3000),
    "crowded at 0": RNG.beta(0.1, 5, 3000),
    "crowded at 1": 1 - RNG.random(3000) ** 8,
    "beyond the steps": RNG.random(3000) ** 60,
    "lattice": RNG.integers(0, 11, 3000) / 10,
    "half zeros": np.where(RNG.random(3000) < 0.5, 0.0, RNG.random(3000)),
    "zeros and ones": RNG.integers(0, 2, 3000).astype(float),
    "all equal": np.full(3000, 0.3),
    "neighbouring floats": np.nextafter(0.3, 1) * (RNG.random(3000) < 0.5) + 0.3 * (RNG.random(3000) < 0.5),
}
each_shape = pytest.mark.parametrize("values", SHAPES.values(), ids=SHAPES)
numbers = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.floats(allow_nan=False, width=32))
some_values = arrays(float, st.integers(1, 60), elements=numbers)


@given(some_values, st.data())
def test_order_statistics_are_those_of_sorted_values(values, data):
    numbered = Numbered.of(values)
    if numbered is None:
        high, low = values.max(), values.min()
        assert high == low or not np.isfinite(high - low) or high - low < 1e-300
        return
    ranks = np.unique(data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1)))
    np.testing.assert_array_equal(numbered.order_statistics(ranks)[0], np.sort(values)[ranks])


@given(some_values)
def test_a_larger_value_never_has_a_smaller_step(values):
    numbered = Numbered.of(values)
    if numbered is not None:
        steps = numbered.step[np.argsort(values)].astype(int)
        assert (np.diff(steps) >= 0).all()
        assert steps.min() >= 0
        assert steps.max() < N_STEPS


@given(some_values, st.data())
def test_cells_are_those_of_a_search(values, data):
    numbered = Numbered.of(values)
    if numbered is not None:
        inside = st.one_of(st.sampled_from(list(values)), st.floats(float(values.min()), float(values.max())))
        inner = np.unique(data.draw(st.lists(inside, max_size=8)))
        edges = np.concatenate([[values.min()], inner, [values.max()]])
        expected = closed_right(values, edges)
        np.testing.assert_array_equal(numbered.closed_right(edges), expected)
        near = np.flatnonzero(np.isin(numbered.step, numbered.number(np.append(inner, values[0]))))
        np.testing.assert_array_equal(numbered.closed_right(edges, near), expected)


BEYOND = [-np.inf, -1e300, -0.5, -(2.0**-30), -1e-12, 1 + 2.0**-52, 1 + 1e-12, 1 + 2.0**-30, 1.5, 1e300, np.inf]


@pytest.mark.parametrize("beyond", BEYOND)
def test_values_beyond_the_range_share_a_step_with_its_ends(beyond):
    values = np.array([0.0, 0.3, 1.0, beyond])
    for low, width in ((0.0, 1.0), (-2.0, 4.0)):
        every, inside = (
            Numbered.of(low + width * each, (low, low + width)) for each in (values, np.clip(values, 0.0, 1.0))
        )
        np.testing.assert_array_equal(every.step, inside.step)
        np.testing.assert_array_equal(every.counts, inside.counts)


def test_steps_alone_do_not_order_values():
    """The negative control: without looking into steps the order statistics would be wrong."""
    values = SHAPES["uniform"]
    by_step = values[np.argsort(Numbered.of(values).step, kind="stable")]
    assert (by_step[[100, 1500]] != np.sort(values)[[100, 1500]]).any()


@each_shape
@pytest.mark.parametrize("n_bins", [1, 2, 15, 400])
def test_many_rows_are_cut_into_the_same_cells(values, n_bins, monkeypatch):
    sample = cs.Sample((values > 0.4).astype(int), values, labels=[0, 1])
    few = cs.EqualMass(n_bins).cut(sample.predictions)
    monkeypatch.setattr(equal_mass, "_ROWS_FOR_HISTOGRAM", 1)
    many = cs.EqualMass(n_bins).cut(sample.predictions)
    sample.predictions.order
    after_sorting = cs.EqualMass(n_bins).cut(sample.predictions)
    for cells in (many, after_sorting):
        np.testing.assert_array_equal(cells.index, few.index)
        np.testing.assert_array_equal(cells.edges, few.edges)


@pytest.mark.parametrize("scale", [1.0, 1e-5, 1e9])
def test_many_rows_of_a_variable_are_cut_into_the_same_cells(scale, monkeypatch):
    age = scale * (np.random.Generator(np.random.PCG64(1)).normal(size=2000).round(2) - 5)
    sample = cs.Given("age")(cs.Sample(np.arange(2000) % 2, np.full(2000, 0.5), variables={"age": age}))
    weighted = cs.Sample(np.arange(2000) % 2, age - age.min() > scale, sample_weight=1 + np.arange(2000) % 3)
    for predictions in (sample.predictions, weighted.predictions):
        monkeypatch.setattr(equal_mass, "_ROWS_FOR_HISTOGRAM", 10**9)
        few = cs.EqualMass(7).cut(predictions)
        monkeypatch.setattr(equal_mass, "_ROWS_FOR_HISTOGRAM", 1)
        many = cs.EqualMass(7).cut(predictions)
        np.testing.assert_array_equal(many.index, few.index)
        np.testing.assert_array_equal(many.edges, few.edges)


def test_cells_say_at_which_ranks_they_are_cut_again():
    predictions = cs.Sample([0, 1, 1, 0, 1], [0.1, 0.2, 0.2, 0.7, 0.9]).predictions
    assert cs.EqualMass(3).cut(predictions).ranks.tolist() == [2, 4]
    assert cs.EqualMass(9).cut(predictions).ranks.tolist() == [1, 2, 3, 4]
    weighted = cs.Sample([0, 1], [0.1, 0.2], sample_weight=[1, 2]).predictions
    assert cs.EqualMass(2).cut(weighted).ranks is None
    assert cs.EqualWidth(2).cut(predictions).ranks is None
