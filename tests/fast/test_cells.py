"""Binned errors with compiled loops: steps of a histogram, sums over cells, and the whole way to a value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.binnings import selection
from calibstat.estimators.tally import TallyPlan
from suites import examples

pytest.importorskip("numba")
from calibstat._fast import pairs, rows

N_MANY = 2 * pairs.ROWS_IN_A_PIECE + 5  # rows of three pieces
quick = examples(50)


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
@given(columns(), st.sampled_from([(0.0, 1.0), (-0.1, 0.8), (0.3, 10.0)]))
def test_steps_and_their_counts_are_the_same(values, span):
    scale = 1 / (span[1] - span[0])
    for found, expected in zip(
        rows.count_steps(values, span[0], scale),
        selection._count_steps(values, span[0], scale),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@quick
@given(columns(), st.data())
def test_rows_of_steps_are_the_same(values, data):
    numbered = selection.Numbered.of(values)
    if numbered is None:
        return
    chosen = np.zeros(selection.N_STEPS, dtype=bool)
    chosen[numbered.step[data.draw(st.lists(st.integers(0, len(values) - 1), max_size=5))]] = True
    expected = selection._rows_among(numbered.step, chosen)
    np.testing.assert_array_equal(rows.rows_among(numbered.step, chosen), expected)


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
    ("binning", "name"),
    [(cs.EqualWidth(15), "count_and_add_found"), (cs.EqualMass(15), "count_steps")],
    ids=["sums", "steps"],
)
def test_the_twin_stands_in_while_it_is_on_and_only_then(binning, name, large, accelerated, monkeypatch):
    """The negative control: the comparisons above would not notice two runs of numpy."""

    def fail(*_):
        raise AssertionError("the twin was called")

    monkeypatch.setattr(rows, name, fail)
    with pytest.raises(AssertionError, match="the twin was called"):
        cs.ECE(binning)(large)
    accelerated(False)
    assert 0 < cs.ECE(binning)(large) < 0.01
