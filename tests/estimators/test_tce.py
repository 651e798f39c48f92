"""Test-based calibration error: PAVA-BC against a word-by-word version, ties, and why it is not an error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.estimators.tce import TCE, pava_with_limits
from reference import blocks_of_pava
from registry import make_sample


@given(
    rows=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 1)), min_size=1, max_size=60),
    different=st.sampled_from([2, 5, 100]),
    n_min=st.integers(1, 12),
    extra=st.sampled_from([0, 1, 5, 20, 1000]),
)
def test_pava_with_limits_agrees_with_the_naive_one(rows, different, n_min, extra):
    p, labels = np.array([[score % different for score, _ in rows], [label for _, label in rows]])
    order = np.argsort(p, kind="stable")
    p, labels = p[order], labels[order]
    starts = pava_with_limits(labels, np.flatnonzero(np.diff(p, prepend=-1)), n_min, n_min + extra)
    assert list(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)) == blocks_of_pava(
        p.tolist(), labels.tolist(), n_min, n_min + extra
    )


@given(labels=st.lists(st.integers(0, 1), min_size=1, max_size=60), n_min=st.integers(1, 12))
def test_without_ties_the_last_rows_are_one_block_or_join_the_one_before(labels, n_min):
    n = len(labels)
    for n_max in (2 * n_min - 1, 2 * n_min):
        starts = pava_with_limits(np.array(labels), np.arange(n), n_min, n_max)
        alone = n > n_min and n_max < 2 * n_min
        assert starts[-2] == n - n_min if alone else starts[-2] <= max(0, n - n_min)


def test_equal_predictions_stay_together():
    sample = cs.Sample([1, 0, 1, 0, 0, 1, 1, 0] * 5, [0.2, 0.2, 0.2, 0.2, 0.6, 0.6, 0.6, 0.6] * 5)
    estimator = TCE(n_min=2, n_max=30)
    order = np.random.Generator(np.random.PCG64(1)).permutation(40)
    assert estimator(sample.take(order)) == estimator(sample)


def test_it_grows_with_n_at_a_fixed_error():
    """Why it is not an error."""
    values = []
    for n in (100, 1000, 20000):
        rng = np.random.Generator(np.random.PCG64(2))
        p = rng.uniform(0.2, 0.8, n)
        sample = cs.Sample((rng.random(n) < p + 0.05).astype(int), p)
        values.append(TCE(cs.FixedEdges(np.linspace(0.2, 0.8, 13)))(sample))
    assert values[0] < 10 < values[1] < 50 < values[2]


def test_it_reports_calibrated_predictions_that_vary_inside_a_cell():
    p = np.random.Generator(np.random.PCG64(3)).random(4000)
    sample = cs.Sample((np.random.Generator(np.random.PCG64(4)).random(4000) < p).astype(int), p)
    assert TCE(cs.EqualWidth(2))(sample) > 50


def test_a_variable_cannot_be_categorical():
    with pytest.raises(ValueError, match="categorical"):
        (cs.Given("sex") | TCE())(make_sample(2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TCE(level=5), "level is 5"),
        (lambda: TCE(n_min=0), "n_min is 0"),
        (lambda: TCE(n_min=10, n_max=5), "n_max is 5"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_cells_without_rows_change_nothing():
    sample = cs.Sample([0, 1, 1, 0, 1], [0.1, 0.2, 0.25, 0.3, 0.35])
    low, all_cells = cs.FixedEdges([0, 0.22, 1]), cs.FixedEdges([0, 0.05, 0.22, 0.6, 0.8, 1])
    assert cs.TCE(all_cells, level=0.3)(sample) == cs.TCE(low, level=0.3)(sample) > 0
