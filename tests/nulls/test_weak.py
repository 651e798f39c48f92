"""The weak null of a variable."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest

import calibstat as cs
from calibstat.nulls.multiplier import MergedCells, Multiplier, Weak, centred_signs, join
from suites import everything


def world(n, seed, chance=lambda p, v: p, scores=None):
    rng = np.random.default_rng(seed)
    p = rng.random(n) if scores is None else rng.beta(*scores, n)
    v = rng.random(n)
    return cs.Sample(rng.random(n) < chance(p, v), p, variables={"v": v}, labels=[False, True])


def test_join_worked_by_hand():
    sums = np.array([[4.0, 9], [7, 9], [10, 30], [1, 1], [9, 9], [5, 5]])
    # 4 + 7 reaches 10; the third alone; 1 + 9 reaches 10; the last joins it
    np.testing.assert_array_equal(join(sums, lambda found: (found >= 10).all()), [0, 0, 1, 2, 2, 2])
    np.testing.assert_array_equal(join(sums, lambda found: (found >= 1000).all()), 0)
    np.testing.assert_array_equal(join(sums, lambda found: (found >= 0).all()), np.arange(6))


def test_merged_cells_expect_enough():
    sample = world(600, 0, scores=(1, 19))
    seen = cs.Given("v")(sample).predictions
    cells = MergedCells(cs.EqualMass(30)).cut(seen)
    events = np.bincount(cells.index, seen.event)
    assert 1 < cells.size < 30
    assert events.min() >= 10
    assert (np.bincount(cells.index) - events).min() >= 10
    values = [seen.conditioned[cells.index == cell, 0] for cell in range(cells.size)]
    assert all(a.max() < b.min() for a, b in pairwise(values))


def test_merging_looks_at_no_outcome():
    sample = world(600, 0, scores=(1, 19))
    turned = cs.Sample.of(sample.predictions, 1 - sample.outcomes)
    first, second = (cs.calibration_test(each, cs.VECE("v"), null=Weak(19), rng=0) for each in (sample, turned))
    assert first.hypothesis == second.hypothesis
    assert "events or non-events are merged: 2 of 10 remain" in first.hypothesis


def test_pvalue_is_the_larger_of_both():
    sample = world(500, 1)
    result = cs.calibration_test(sample, cs.VECE("v"), null=Weak(199), rng=cs.as_generator(5))
    generator = cs.as_generator(5)
    core = cs.ECE(MergedCells(cs.EqualMass(10)))
    seen = cs.Given("v")(sample)
    each = [
        null.draw(core, seen, generator).pvalue(result.statistic)
        for null in (cs.Consistency(199), Multiplier(199, centred=True))
    ]
    assert result.pvalue == max(each)
    low, high = result.pvalue_interval
    assert low < result.pvalue < high
    assert pickle.loads(pickle.dumps(result)).pvalue == result.pvalue


def test_strong_and_weak_differ_where_errors_cancel_within_a_value():
    """Predictions are noise about a half: wrong given prediction and variable, right on average given the variable."""
    rejected = {"strong": 0, "weak": 0}
    for seed in range(40):
        sample = world(400, seed, chance=lambda p, v: np.full(len(p), 0.5))
        for name, null in (("strong", cs.Consistency(99)), ("weak", Weak(99))):
            rejected[name] += cs.calibration_test(sample, cs.VECE("v"), null=null, rng=seed).pvalue <= 0.05
    assert rejected["weak"] <= 6  # 4 standard errors above 5 % of 40 are 7.5
    assert rejected["strong"] >= 8  # the negative control: about 40 %


def test_errors_that_go_with_the_variable_are_found():
    sample = world(1000, 0, chance=lambda p, v: np.clip(p + 0.4 * (v - 0.5), 0, 1))
    result = cs.calibration_test(sample, cs.VECE("v"), null=Weak(), rng=0)
    assert result.pvalue == 0.001
    assert "given 'v' alone, the mean of outcome - prediction" in everything(result)
    assert "10 of 10 remain" in everything(result)


def test_the_prediction_has_one_null():
    with pytest.raises(ValueError, match=r"there is one null: use Consistency\(\)"):
        cs.calibration_test(world(100, 0), cs.ECE(), null=Weak())


def test_clusters_leave_the_redraw_of_single_rows_out():
    sample = cs.Sample([0, 1] * 50, np.full(100, 0.5), variables={"v": np.arange(100.0)}, groups=np.arange(100) // 5)
    result = cs.calibration_test(sample, cs.VECE("v", cs.EqualMass(2)), null=Weak(99), rng=0)
    assert "no exact null is known for rows that depend on each other" in result.hypothesis


@pytest.mark.parametrize("bad", [{"n_resamples": 0}, {"min_expected": -1}, {"min_expected": float("nan")}])
def test_parameters_are_checked(bad):
    with pytest.raises(ValueError, match=r"n_resamples|min_expected"):
        Weak(**bad)


def test_cells_are_merged_by_rows_in_effect():
    sample = world(600, 0)
    heavy = cs.Sample(
        sample.outcomes,
        sample.predictions.event,
        variables={"v": sample.predictions.variables["v"].values},
        sample_weight=np.where(np.arange(600) % 60 == 0, 200.0, 1.0),
        labels=[0, 1],
    )
    sizes = [MergedCells(cs.EqualMass(10)).cut(cs.Given("v")(each).predictions).size for each in (sample, heavy)]
    assert sizes == [10, 1]  # of ten rows with most of the weight five events are expected
    assert "in effect, by weights, fewer" in cs.calibration_test(heavy, cs.VECE("v"), null=Weak(19), rng=0).hypothesis


def test_signs_of_a_row_with_most_of_the_weight_keep_its_noise():
    signs, weights = np.random.default_rng(0).choice([-1.0, 1.0], (50, 4)), np.array([97.0, 1, 1, 1])
    assert np.abs(centred_signs(signs, None).mean(axis=1)).max() < 1e-15
    kept, share = centred_signs(signs, weights), weights / 100
    np.testing.assert_allclose(kept[:, 0], signs[:, 0] - signs[:, 1:] @ share[1:])
    np.testing.assert_array_equal(centred_signs(signs, np.array([1.0, 0, 0, 0]))[:, 0], signs[:, 0])
