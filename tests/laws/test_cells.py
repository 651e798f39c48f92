"""Law 6: cells depend on values, not on the order of rows; ties stay together; empty cells are removed."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from registry import BINNINGS, ESTIMATORS, LABELS, VARIABLE_BINNINGS, every
from strategies import fitting, samples
from suites import examples

CUT = [(cs.Canonical(), entry) for entry in BINNINGS] + VARIABLE_BINNINGS
FIT = dict(rtol=1e-6, atol=1e-7)
cut = pytest.mark.parametrize(("lens", "entry"), CUT, ids=[f"{lens!r} {entry.name}" for lens, entry in CUT])


@every([entry for entry in ESTIMATORS if not entry.ordered])
@examples(5)
@given(data=st.data())
def test_the_value_does_not_depend_on_the_order_of_rows(entry, data):
    sample = data.draw(fitting(entry))
    shuffled = sample.take(np.array(data.draw(st.permutations(range(len(sample))))))
    value, again = entry.numbers(sample), entry.numbers(shuffled)
    if value.ndim == 2:  # a line for each cell
        value, again = (rows[np.lexsort(rows.T)] for rows in (value, again))
    if entry.fitted:  # where there is no maximum, the other numbers end wherever they end
        value, again = entry.thing.headline(value), entry.thing.headline(again)
    np.testing.assert_allclose(again, value, **(FIT if entry.fitted else dict(rtol=1e-9, atol=1e-11)))


@every([entry for entry in ESTIMATORS if entry.ordered])
def test_blocks_are_of_the_order_of_rows(entry):
    """Why they are exempt."""
    sample = entry.sample()
    assert (
        abs(entry.thing(sample.take(np.random.Generator(np.random.PCG64(0)).permutation(40))) - entry.thing(sample))
        > 1e-4
    )


@cut
@given(data=st.data())
def test_cells_are_numbered_and_equal_rows_share_one(lens, entry, data):
    seen = lens(data.draw(samples(entry.classes))).predictions
    cells = entry.thing.cut(seen)
    assert cells.index.shape == (len(seen),)
    assert cells.index.min() >= 0
    assert cells.index.max() < cells.size
    cell_of = {}
    for row, cell in zip(map(tuple, seen.conditioned), cells.index, strict=True):
        assert cell_of.setdefault(row, cell) == cell
    if not entry.empty_cells:
        assert set(cells.index) == set(range(cells.size))
    np.testing.assert_array_equal(cells.index[cells.order], np.sort(cells.index))
    np.testing.assert_array_equal(np.diff(cells.starts), np.bincount(cells.index, minlength=cells.size))


@cut
@given(data=st.data())
def test_no_outcome_and_no_order_moves_the_cells(lens, entry, data):
    seen = lens(data.draw(samples(entry.classes))).predictions
    order = np.array(data.draw(st.permutations(range(len(seen)))))
    first, second = entry.thing.cut(seen), entry.thing.cut(seen.take(order))
    assert first.size == second.size
    np.testing.assert_array_equal(first.index[order], second.index)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 200), n_bins=st.integers(1, 40))
def test_equal_mass_cells_without_ties_differ_by_at_most_one(seed, n, n_bins):
    p = np.random.Generator(np.random.PCG64(seed)).random(n)
    cells = cs.EqualMass(n_bins).cut(cs.Sample(np.zeros(n, int), p).predictions)
    sizes = np.bincount(cells.index)
    assert cells.size == min(n, n_bins)
    assert sizes.max() - sizes.min() <= 1


@given(steps=st.lists(st.integers(0, 12), min_size=1, max_size=120), n_bins=st.integers(1, 20))
def test_equal_mass_cells_with_ties_differ_by_at_most_twice_the_largest_tie(steps, n_bins):
    p = np.array(steps) / 12
    cells = cs.EqualMass(n_bins).cut(cs.Sample(np.zeros(len(p), int), p).predictions)
    sizes = np.bincount(cells.index)
    assert sizes.min() > 0
    assert sizes.max() - sizes.min() <= 2 * max(Counter(steps).values())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fixed_cells_stay_where_they_are_when_rows_are_left_out(n_classes):
    binning = cs.EqualWidth(5) if n_classes == 2 else cs.SimplexGrid(3)
    rows = np.random.Generator(np.random.PCG64(1)).dirichlet(np.ones(n_classes), 60)
    seen = cs.Sample(np.array(LABELS)[np.zeros(60, int)], rows, labels=LABELS[:n_classes]).predictions
    some = np.arange(0, 60, 2)
    whole, part = binning.cut(seen).index[some], binning.cut(seen.take(some)).index
    assert len(set(zip(whole.tolist(), part.tolist(), strict=True))) == len(set(part.tolist()))


# In exact arithmetic two coordinates have the same variance, or a value is the mean; rounding must not decide.
TIED = [
    [[1, 10, 9], [5, 10, 5], [5, 6, 9]],
    [[9, 4, 5], [3, 6, 5], [9, 2, 7], [10, 5, 5]],
    [[9, 1, 6], [8, 0, 0], [5, 8, 0], [1, 4, 1]],
    [[4, 0, 9], [10, 0, 7], [8, 8, 7], [7, 0, 6], [7, 3, 0]],
]


@pytest.mark.parametrize("rows", TIED)
@pytest.mark.parametrize("split", ["mean", "median"])
def test_rounding_does_not_let_the_order_of_rows_move_the_leaves_of_a_tree(rows, split):
    rng = np.random.Generator(np.random.PCG64(2))
    binning = cs.VarianceTree(2, split)
    fractions = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    seen = cs.Sample([0] * len(rows), fractions, labels=[0, 1, 2]).predictions
    first = binning.cut(seen).index
    for _ in range(30):
        order = rng.permutation(len(rows))
        np.testing.assert_array_equal(binning.cut(seen.take(order)).index, first[order])
