"""Rows counted and added up over cells, against plain loops, however they are cut into tiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import calibstat as cs
from calibstat.binnings import base
from calibstat.binnings.base import Cells
from calibstat.estimators import tally as adding
from calibstat.estimators.tally import TallyPlan, add_up, count_and_add, count_codes, weigh_codes


def naive(index, codes, weights, size, n_codes):
    """Add the weight of each row to its cell and code, one row after the other."""
    sums = np.zeros((len(codes), size, n_codes))
    for replicate, (code, weight) in enumerate(zip(codes, weights, strict=True)):
        for cell, each, mass in zip(index, code, weight, strict=True):
            sums[replicate, cell, each] += mass
    return sums


@st.composite
def tables(draw):
    """Cells, codes and weights of some replicates: (L,), and (R, n) twice; there may be no row and no replicate."""
    n, size, n_codes = draw(st.integers(0, 40)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(0, 7)), n
    return rng.integers(0, size, n), rng.integers(0, n_codes, shape), rng.normal(size=shape), size, n_codes


@given(tables(), st.sampled_from([1, 5, 64, 2**15]), st.sampled_from([0, 8, 2**10]))
def test_sums_are_those_of_plain_loops(table, rows, few):
    index, codes, weights, size, n_codes = table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adding, "_ROWS", rows)
        patch.setattr(adding, "_FEW", few)
        counts, masses = count_codes(index, codes, size, n_codes), weigh_codes(index, codes, weights, size, n_codes)
        totals = add_up(index, weights, size)
    np.testing.assert_array_equal(counts, naive(index, codes, np.ones(weights.shape), size, n_codes))
    np.testing.assert_allclose(masses, naive(index, codes, weights, size, n_codes), rtol=1e-12, atol=1e-13)
    expected = naive(index, np.zeros_like(codes), weights, size, 1)[..., 0]
    np.testing.assert_allclose(totals, expected, rtol=1e-12, atol=1e-13)


@given(tables(), st.sampled_from([1, 5, 2**15]))
def test_both_sums_in_one_pass_are_those_of_two(table, rows):
    index, codes, weights, size, _ = table
    for code, weight in zip(codes % 2, weights, strict=True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(adding, "_ROWS", rows)
            patch.setattr(base, "ROWS_IN_CACHE", rows)
            counts, totals = count_and_add(Cells(size, index, "fixed"), code, weight)
        np.testing.assert_array_equal(counts, count_codes(index, code[None], size, 2)[0])
        np.testing.assert_allclose(totals, add_up(index, weight[None], size)[0], rtol=1e-12, atol=1e-13)


def test_booleans_and_small_integers_are_added_up_as_numbers():
    index, happened = np.array([0, 1, 1, 1]), np.array([[True, False, True, True]])
    np.testing.assert_array_equal(add_up(index, happened, 2), [[1, 2]])
    np.testing.assert_array_equal(count_codes(index, happened, 2, 2), [[[0, 1], [1, 2]]])
    np.testing.assert_array_equal(weigh_codes(index, happened.astype(np.int8), happened, 2, 2), [[[0, 1], [0, 2]]])


def test_the_sum_of_predictions_does_not_depend_on_who_asks_first():
    rng = np.random.default_rng(0)
    p = rng.random(70_000)
    sample = cs.Sample(rng.random(len(p)) < p, p)
    for binning in (cs.EqualWidth(7), cs.EqualMass(7)):
        cells = binning.cut(sample.predictions)
        first, second, third = (TallyPlan(sample.predictions, cells, ()) for _ in range(3))
        tally = first(sample.outcomes)
        np.testing.assert_array_equal(second.prediction, tally.prediction)
        np.testing.assert_array_equal(third.complete(tally.outcome).prediction, tally.prediction)
        np.testing.assert_array_equal(second(sample.outcomes).outcome, tally.outcome)
        np.testing.assert_array_equal(third.fixed.weight, tally.weight)


@pytest.mark.parametrize(("p", "n", "off"), [(0.1, 1_000_000, -588), (0.7, 1_000_000, 898), (0.7, 100_000, 43)])
def test_the_other_side_of_many_equal_predictions_stays_a_tie(p, n, off):
    """Added up one after the other, a million times 0.1 is off by 2e-9 of the deviation: p = 0.0500 for 0.0502."""
    y = np.arange(n) < round(n * p) + off
    found = cs.calibration_test(cs.Sample(y, np.full(n, p), labels=[False, True]), cs.ECE(cs.EqualWidth(15))).pvalue
    law, mean = stats.binom(n, p), round(n * p)
    assert found == pytest.approx(law.cdf(mean - abs(off)) + law.sf(mean + abs(off) - 1), rel=1e-7)
