"""Counts and sums in one pass that finds the cell of each row, against numpy, which writes an index first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.binnings.base import Cells, closed_left, closed_right
from calibstat.binnings.intervals import ByArithmetic
from calibstat.binnings.selection import BySteps, Numbered
from calibstat.estimators import tally as adding
from calibstat.estimators.tally import TallyPlan
from suites import examples, slow_but

pytest.importorskip("numba")
from calibstat._fast import pairs
from calibstat._fast import rows as both_sums

quick = examples(50)
RNG = np.random.Generator(np.random.PCG64(0))
N = 3 * both_sums.ROWS_AT_ONCE * both_sums.TABLES + 5
SHAPES = {
    "uniform": RNG.random(N),
    "crowded at 0": RNG.random(N) ** 30,
    "crowded at 1": 1 - RNG.random(N) ** 30,
    "lattice": RNG.integers(0, 16, N) / 15,
    "half zeros": np.where(RNG.random(N) < 0.5, 0.0, RNG.random(N)),
    "all equal": np.full(N, 0.3),
    "around the edges": np.clip(np.nextafter(RNG.integers(0, 16, N) / 15, RNG.integers(-1, 3, N)), 0, 1),
    "beyond": np.linspace(-1e-4, 1 + 1e-4, N),
}
each_shape = pytest.mark.parametrize("values", SHAPES.values(), ids=SHAPES)


def same(found, expected):
    """Counts to the last row, sums up to rounding."""
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-10, atol=1e-11)


@each_shape
@pytest.mark.parametrize("n_bins", slow_but([2, 15], [1, 2, 15, 100]))
@pytest.mark.parametrize("kind", [np.int64, np.int8, bool])
def test_equal_width_without_an_index(values, n_bins, kind):
    codes, other = RNG.integers(0, 2, N).astype(kind), RNG.normal(size=N)
    edges = np.linspace(0, 1, n_bins + 1)
    placed, index = Cells(n_bins, ByArithmetic(values, edges, 12), "fixed"), closed_left(values, edges)
    for column in (values, other, np.repeat(other, 2)[::2]):
        found = both_sums.count_and_add_found(placed, codes, column)
        same(found, adding.count_and_add(Cells(n_bins, index, "fixed"), codes, column))


@quick
@given(st.sampled_from([name for name in SHAPES if name != "all equal"]), st.data())
def test_equal_mass_without_an_index(shape, data):
    values = SHAPES[shape]
    inner = np.unique(data.draw(st.lists(st.sampled_from(list(values)), max_size=15)))
    edges = np.concatenate([[values.min()], inner, [values.max()]])
    placed = Cells(len(edges) - 1, BySteps(Numbered.of(values), edges), "ranks")
    codes, other = RNG.integers(0, 2, N), RNG.normal(size=N)
    found = both_sums.count_and_add_found(placed, codes, other)
    home = placed.placed.numbered.number(inner)
    if len(np.unique(home)) < len(home):
        assert found is NotImplemented  # several edges in one step
    else:
        same(found, adding.count_and_add(replace(placed, placed=closed_right(values, edges)), codes, other))


@pytest.mark.parametrize("binning", [cs.EqualWidth(15), cs.EqualMass(15)], ids=repr)
def test_the_index_is_written_for_who_asks_and_not_before(binning, accelerated):
    n = 2 * pairs.ROWS_IN_A_PIECE + 5
    p = np.random.default_rng(0).beta(0.7, 0.7, n)
    sample = cs.Sample(np.random.default_rng(1).random(n) < p, p)
    placed = binning.cut(sample.predictions)
    first = TallyPlan(sample.predictions, placed, ())(sample.outcomes)
    assert "index" not in vars(placed)
    second = TallyPlan(sample.predictions, placed, ())
    second.cells.index
    for found in (second(sample.outcomes), second.complete(first.outcome)):
        for one, other in zip(vars(first).values(), vars(found).values(), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("binning", [cs.EqualWidth(15), cs.EqualMass(15)], ids=repr)
def test_cells_of_a_variable_hold_sums_of_predictions(binning, accelerated):
    rng = np.random.default_rng(2)
    p, age = rng.random(60_000), rng.normal(50, 20, 60_000)
    sample = cs.Given("age")(cs.Sample(rng.random(60_000) < p, p, variables={"age": age}))
    placed = binning.cut(sample.predictions)
    tally = TallyPlan(sample.predictions, placed, ())(sample.outcomes)
    assert "index" not in vars(placed)
    cs.accelerate(False)
    expected = TallyPlan(sample.predictions, binning.cut(sample.predictions), ())(sample.outcomes)
    np.testing.assert_array_equal(tally.weight, expected.weight)
    np.testing.assert_array_equal(tally.outcome, expected.outcome)
    np.testing.assert_allclose(tally.prediction, expected.prediction, rtol=1e-12)


def test_numpy_keeps_the_index_it_has_written():
    sample = cs.Sample(RNG.random(60_000) < 0.5, RNG.random(60_000))
    placed = cs.EqualMass(15).cut(sample.predictions)
    adding.count_and_add_found(placed, sample.outcomes, sample.predictions.event)
    assert "index" in vars(placed)


def test_a_million_equal_values_are_added_up_in_parts(accelerated):
    """Added up one after the other they would be off by 2e-11 of their sum."""
    values = np.full(1_000_000, 0.1)
    placed = cs.EqualWidth(15).cut(cs.Sample(np.arange(1_000_000) % 2, values).predictions)
    counts, sums = both_sums.count_and_add_found(placed, np.arange(1_000_000) % 2, values)
    assert counts[1].tolist() == [500_000, 500_000]
    assert abs(sums[1] - 100_000) < 1e-12 * 100_000
    assert abs(np.cumsum(values)[-1] - 100_000) > 1e-12 * 100_000


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_few_rows_and_many_cells(n):
    values, codes = RNG.random(n), RNG.integers(0, 2, n)
    few, many = (Cells(size, ByArithmetic(values, np.linspace(0, 1, size + 1), 12), "fixed") for size in (20, 600))
    counts, sums = both_sums.count_and_add_found(few, codes, values)
    assert counts.sum() == n
    assert sums.sum() == pytest.approx(values.sum(), rel=1e-12)
    assert both_sums.count_and_add_found(many, codes, values) is NotImplemented
