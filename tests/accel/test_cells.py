"""Compiled cutting of cells and sums over them, against the numpy functions that define them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibstat as cs
from calibstat.binnings import intervals as equal_width
from calibstat.binnings import selection
from calibstat.estimators import tally as adding
from calibstat.estimators.tally import TallyPlan

pytest.importorskip("numba")
from calibstat._fast import pairs as pieces
from calibstat._fast import rows as both_sums
from calibstat._fast import rows as steps
from calibstat._fast import rows as twins

N_MANY = 2 * pieces.ROWS_IN_A_PIECE + 5  # rows of three pieces
quick = settings(max_examples=50, deadline=None)


@st.composite
def columns(draw):
    """Values of [0, 1] in memory of their own or not: with ties, zeros, ones, and floats beside round numbers."""
    n = draw(st.integers(0, 300))
    values = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).random(n)
    kind = draw(st.sampled_from(["any", "ties", "beside", "crowded", "one"]))
    if kind == "ties":
        values = np.round(values, 1)
    elif kind == "beside":
        values = np.clip(np.nextafter(np.round(values * 12) / 12, draw(st.sampled_from([-1, 0.5, 2]))), 0, 1)
    elif kind == "crowded":
        values = values**30 if draw(st.booleans()) else 1 - values**30
    elif kind == "one":
        values[:] = draw(st.sampled_from([0.0, 0.3, 1.0]))
    return np.repeat(values, 2)[::2] if draw(st.booleans()) else values


@quick
@given(columns(), st.integers(1, 40), st.sampled_from([(0.0, 1.0), (-3.0, 2.5), (0.25, 0.5)]))
def test_cells_of_equal_width_are_the_same(values, n_bins, span):
    edges = np.linspace(*span, n_bins + 1)
    arguments = (span[0] + values * (span[1] - span[0]), edges, 12)
    expected, found = equal_width._by_arithmetic.__wrapped__(*arguments), twins.by_arithmetic(*arguments)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@quick
@given(columns(), st.sampled_from([(0.0, 1.0), (-0.1, 0.8), (0.3, 10.0)]))
def test_steps_and_their_counts_are_the_same(values, span):
    scale = 1 / (span[1] - span[0])
    for found, expected in zip(
        steps.count_steps(values, span[0], scale),
        selection._count_steps.__wrapped__(values, span[0], scale),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@quick
@given(columns(), st.data())
def test_rows_and_cells_of_steps_are_the_same(values, data):
    numbered = selection.Numbered.of(values)
    if numbered is None:
        return
    chosen = np.zeros(selection.N_STEPS, dtype=bool)
    chosen[numbered.step[data.draw(st.lists(st.integers(0, len(values) - 1), max_size=5))]] = True
    expected = selection._rows_among.__wrapped__(numbered.step, chosen)
    np.testing.assert_array_equal(steps.rows_among(numbered.step, chosen), expected)
    inner = np.unique(data.draw(st.lists(st.sampled_from(list(values)), max_size=8)))
    near = np.nextafter(inner, 2)[np.nextafter(inner, 2) <= values.max()]  # a second edge in the same step
    edges = np.concatenate([[0.0], np.unique([*inner, *near]), [1.0]])
    cells = numbered.closed_right(edges)
    np.testing.assert_array_equal(cells, np.searchsorted(edges[1:-1], values, side="left"))
    cs.accelerate()
    try:
        np.testing.assert_array_equal(numbered.closed_right(edges), cells)
    finally:
        cs.accelerate(False)


@st.composite
def tables(draw):
    """Cells, codes and weights of some replicates; some share one row in memory, some stand apart in it."""
    n, size, n_codes = draw(st.integers(0, 300)), draw(st.integers(1, 12)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(0, 7)), n
    codes = rng.integers(0, n_codes, shape).astype(draw(st.sampled_from([np.int64, np.int8, np.uint8])))
    if n_codes == 2 and draw(st.booleans()):
        codes = codes.astype(bool)
    weights = draw(st.sampled_from([rng.normal(size=shape), rng.integers(0, 5, shape)]))
    index = rng.integers(0, size, n)
    if draw(st.booleans()):
        index, codes, weights = (
            np.repeat(index, 2)[::2],
            np.repeat(codes, 2, axis=1)[:, ::2],
            np.asfortranarray(weights),
        )
    if draw(st.booleans()):
        codes, weights = np.broadcast_to(codes[:1], codes.shape if len(codes) else (0, n)), weights.copy()
    if draw(st.booleans()):
        weights = np.broadcast_to(rng.normal(size=n), shape)
    return index, codes, weights, size, n_codes


def close(found, expected, absolute):
    """Compare to 1e-10 of the sum of absolute terms."""
    assert found.shape == expected.shape
    assert (np.abs(found - expected) <= 1e-10 * absolute).all()


@quick
@given(tables())
def test_sums_over_cells_are_the_same(table):
    index, codes, weights, size, n_codes = table
    expected = adding.count_codes.__wrapped__(index, codes, size, n_codes)
    np.testing.assert_array_equal(twins.count_codes(index, codes, size, n_codes), expected)
    absolute = adding.weigh_codes.__wrapped__(index, codes, np.abs(weights), size, n_codes)
    expected = adding.weigh_codes.__wrapped__(index, codes, weights, size, n_codes)
    close(twins.weigh_codes(index, codes, weights, size, n_codes), expected, absolute)
    expected = adding.add_up.__wrapped__(index, weights, size)
    close(twins.add_up(index, weights, size), expected, absolute.sum(axis=-1))


@quick
@given(tables())
def test_both_sums_in_one_pass_are_those_of_two(table):
    index, codes, weights, size, _ = table
    for code, weight in zip(np.minimum(codes, 1), weights, strict=True):
        counts, totals = both_sums.count_and_add(index, code, weight, size)
        np.testing.assert_array_equal(counts, twins.count_codes(index, code[None], size, 2)[0])
        np.testing.assert_array_equal(totals, twins.add_up(index, weight[None], size)[0])


@pytest.mark.parametrize("cell", [-1, 3, 2**31])
def test_a_row_in_no_cell_is_left_to_numpy(cell, accelerated):
    index, codes = np.array([0, cell, 2]), np.array([[0, 1, 1]])
    assert twins.count_codes(index, codes, 3, 2) is NotImplemented
    assert twins.weigh_codes(index, codes, codes, 3, 2) is NotImplemented
    assert twins.add_up(index, codes, 3) is NotImplemented
    assert both_sums.count_and_add(index, codes[0], codes[0], 3) is NotImplemented
    if cell < 2**31:
        with pytest.raises((IndexError, ValueError)):
            adding.count_codes(index, codes, 3, 2)


def test_many_cells_are_left_to_numpy(accelerated):
    index = np.arange(1000)
    assert twins.add_up(index, np.ones((1, 1000)), 1000) is NotImplemented
    np.testing.assert_array_equal(adding.add_up(index, np.ones((1, 1000)), 1000), np.ones((1, 1000)))


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    p = rng.beta(0.7, 0.7, N_MANY)
    return cs.Sample((rng.random(N_MANY) < p).astype(int), p)


@pytest.mark.parametrize("binning", [cs.EqualWidth(15), cs.EqualMass(15)], ids=repr)
def test_the_number_of_threads_changes_no_bit(binning, large, accelerated):
    rng = np.random.default_rng(1)
    replicates, weights = rng.integers(0, 2, (3, N_MANY)), rng.random(N_MANY)
    found = []
    for n_threads in (1, 2, 3):
        accelerated(n_threads=n_threads)
        cells = binning.cut(large.predictions)
        plan = TallyPlan(large.predictions, cells, ["weight2"])
        tallies = plan(large.outcomes), plan(replicates), plan(replicates, weights)
        found.append([cells.index, *(part for tally in tallies for part in vars(tally).values())])
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, another)


ESTIMATORS = [
    cs.ECE(cs.EqualWidth(15)),
    cs.ECE(cs.EqualMass(15)),
    cs.DebiasedCE(cs.EqualMass(15)),
    cs.DebiasedL2(cs.EqualWidth(15)),
    cs.PDE(cs.EqualMass(15)),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_estimates_are_the_same(estimator, large, accelerated):
    fast = estimator(large)
    accelerated(False)
    assert fast == pytest.approx(estimator(large), rel=1e-10, abs=0)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_tests_reject_as_often(estimator, weighted, accelerated):
    rng = np.random.default_rng(2)
    p = rng.random(300)
    sample = cs.Sample(rng.random(300) < p**1.2, p, sample_weight=rng.random(300) if weighted else None)
    fast = cs.calibration_test(sample, estimator, null=cs.Consistency(199), rng=0)
    accelerated(False)
    slow = cs.calibration_test(sample, estimator, null=cs.Consistency(199), rng=0)
    assert fast.pvalue == slow.pvalue
    assert fast.statistic == pytest.approx(slow.statistic, rel=1e-10, abs=0)


def test_rows_drawn_one_by_one_give_the_same_spread(accelerated):
    rng = np.random.default_rng(3)
    p = rng.random(500)
    sample, bootstrap = cs.Sample(rng.random(500) < p, p), cs.Bootstrap(50, shortcuts=False)
    fast = bootstrap.replicates(cs.ECE(cs.EqualMass(10)), sample, rng=0)
    accelerated(False)
    np.testing.assert_allclose(fast, bootstrap.replicates(cs.ECE(cs.EqualMass(10)), sample, rng=0), rtol=1e-10)


@pytest.mark.parametrize(
    ("binning", "module", "name"),
    [(cs.EqualWidth(15), both_sums, "count_and_add_found"), (cs.EqualMass(15), steps, "count_steps")],
    ids=["sums", "steps"],
)
def test_the_twin_stands_in_while_it_is_on_and_only_then(binning, module, name, large, accelerated, monkeypatch):
    """The negative control: the comparisons above would not notice two runs of numpy."""

    def fail(*_):
        raise AssertionError("the twin was called")

    monkeypatch.setattr(module, name, fail)
    with pytest.raises(AssertionError, match="the twin was called"):
        cs.ECE(binning)(large)
    accelerated(False)
    assert 0 < cs.ECE(binning)(large) < 0.01
