"""Rows to fit on and rows to test on."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from calibstat.comparisons.results import corrected_standard_error, twice_median
from calibstat.comparisons.splits import random_split, spread_folds


def rows_of(n, n_classes=2, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(n_classes), n)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("n", "n_test"), [(1000, 500), (1001, 300), (37, 36), (25, 1), (19, 7)])
def test_parts_share_no_row_and_have_their_sizes(n, n_test, n_classes):
    split = random_split(rows_of(n, n_classes), n_test, np.random.default_rng(1), np.arange(n))
    assert len(split.test_rows) == n_test
    np.testing.assert_array_equal(np.sort(np.concatenate([split.fit_rows, split.test_rows])), np.arange(n))


def test_no_function_sees_a_label():
    assert list(inspect.signature(random_split).parameters) == ["prob", "n_test", "rng", "eligible"]
    assert list(inspect.signature(spread_folds).parameters) == ["prob", "n_folds", "rng"]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_another_order_of_the_columns_chooses_the_same_rows(n_classes):
    prob = np.random.default_rng(0).dirichlet(np.arange(1, 1 + n_classes), 200)
    chosen = [
        random_split(each, 80, np.random.default_rng(1), np.arange(200)).test_rows for each in (prob, prob[:, ::-1])
    ]
    np.testing.assert_array_equal(*chosen)


def test_parts_are_spread_evenly_over_the_predictions():
    prob = rows_of(2000)
    means = [
        prob[random_split(prob, 1000, np.random.default_rng(seed), np.arange(2000)).test_rows, 1].mean()
        for seed in range(50)
    ]
    plain = [prob[np.random.default_rng(seed).permutation(2000)[:1000], 1].mean() for seed in range(50)]
    assert np.std(means) < np.std(plain) / 10


def test_every_row_is_tested_on_equally_often():
    prob, count = rows_of(60), np.zeros(60)
    for seed in range(2000):
        count[random_split(prob, 20, np.random.default_rng(seed), np.arange(60)).test_rows] += 1
    spread = np.sqrt(2000 * (1 / 3) * (2 / 3))
    assert np.abs(count - 2000 / 3).max() < 4.5 * spread
    assert np.ptp(count) > 0


def test_rows_that_are_not_eligible_are_never_tested_on():
    eligible = np.arange(0, 100, 2)
    split = random_split(rows_of(100), 40, np.random.default_rng(0), eligible)
    assert set(split.test_rows) <= set(eligible)
    assert len(split.fit_rows) == 60


@pytest.mark.parametrize(("n", "n_folds"), [(100, 5), (103, 5), (9, 4)])
def test_folds_test_every_row_once(n, n_folds):
    prob = rows_of(n, 3)
    found = list(spread_folds(prob, n_folds, np.random.default_rng(0)))
    assert len(found) == n_folds
    np.testing.assert_array_equal(np.sort(np.concatenate([each.test_rows for each in found])), np.arange(n))
    for each in found:
        assert len(each.test_rows) >= n // n_folds - 1
        assert not set(each.fit_rows) & set(each.test_rows)
        assert len(each.fit_rows) + len(each.test_rows) == n


# Several splits


def test_twice_the_median():
    assert twice_median([0.01, 0.04, 0.5]) == 0.08
    assert twice_median([0.9, 0.9]) == 1
    assert twice_median([0.01, 0.03]) == pytest.approx(0.04)


def dependent(n_splits, level, n_runs, rng):
    """Uniform p-values of which more than half are at most `level` as often as that can be."""
    most = n_splits // 2 + 1
    values = level + (1 - level) * rng.random((n_runs, n_splits))
    for run in np.flatnonzero(rng.random(n_runs) < n_splits * level / most):
        values[run, rng.permutation(n_splits)[:most]] = level * rng.random()
    return values


@pytest.mark.slow
@pytest.mark.parametrize("n_splits", [3, 6, 9])
def test_twice_the_median_is_valid_under_dependence(n_splits):
    rng, n_runs, alpha = np.random.default_rng(0), 20_000, 0.1
    alone = rng.random((n_runs, n_splits))
    same = np.repeat(rng.random((n_runs, 1)), n_splits, axis=1)
    worst = dependent(n_splits, alpha / 2, n_runs, rng)
    error = np.sqrt(alpha * (1 - alpha) / n_runs)
    assert np.abs((worst <= 0.3).mean(axis=0) - 0.3).max() < 0.02
    assert max(np.mean([twice_median(row) <= alpha for row in law]) for law in (alone, same, worst)) < alpha + 4 * error
    undoubled = np.median(dependent(n_splits, alpha, n_runs, rng), axis=1)  # the negative control
    assert np.mean(undoubled <= alpha) > alpha + 4 * error


def test_nadeau_bengio_2003_by_a_plain_loop():
    values, n_fit, n_test = [0.3, 0.1, 0.25, 0.2], 900, 100
    mean = sum(values) / 4
    spread = sum((value - mean) ** 2 for value in values) / 3
    assert corrected_standard_error(values, n_fit, n_test) == pytest.approx(np.sqrt((1 / 4 + 100 / 900) * spread))
    assert corrected_standard_error([0.3], n_fit, n_test) is None
