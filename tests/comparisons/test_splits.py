"""Rows to fit on and rows to test on."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import calibstat as cs
from calibstat import calibrators as cal
from calibstat.comparisons.results import corrected_standard_error, twice_median
from calibstat.comparisons.splits import chosen_splits, random_split, spread_folds
from calibstat.data.groups import Groups


def rows_of(n, n_classes=2, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(n_classes), n)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("n", "n_test"), [(1000, 500), (1001, 300), (37, 36), (25, 1), (19, 7)])
def test_parts_share_no_row_and_have_their_sizes(n, n_test, n_classes):
    split = random_split(rows_of(n, n_classes), n_test, np.random.default_rng(1), np.arange(n))
    assert len(split.test_rows) == n_test
    np.testing.assert_array_equal(np.sort(np.concatenate([split.fit_rows, split.test_rows])), np.arange(n))


def test_no_function_sees_a_label():
    assert list(inspect.signature(random_split).parameters) == ["prob", "n_test", "rng", "eligible", "groups"]
    assert list(inspect.signature(spread_folds).parameters) == ["prob", "n_folds", "rng", "groups"]


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


# Rows in clusters stay together.

PARETO = np.repeat(np.arange(60), np.ceil(3 * ((np.arange(60) + 0.5) / 60) ** (-1 / 1.5)).astype(int))  # 3 to 73 rows
CLUSTERS = {"equal": np.repeat(np.arange(60), 8), "Pareto": PARETO}


def parts_of(groups, rows):
    """Return the shares of the clusters in these rows: 0 or 1 where these are whole."""
    return np.bincount(groups, np.isin(np.arange(len(groups)), rows)) / np.bincount(groups)


@pytest.mark.parametrize("name", CLUSTERS)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_clusters_are_split_whole_and_shares_are_near_those_asked_for(name, share):
    codes, prob = CLUSTERS[name], rows_of(len(CLUSTERS[name]))
    groups, n = Groups.of(codes), len(codes)
    for seed in range(20):
        split = random_split(prob, round(share * n), np.random.default_rng(seed), np.arange(n), groups)
        assert set(parts_of(codes, split.test_rows)) == {0, 1}
        np.testing.assert_array_equal(np.sort(np.concatenate([split.fit_rows, split.test_rows])), np.arange(n))
        assert len(split.test_rows) / n == pytest.approx(share, abs=0.04)  # the largest has 14 %


def test_clusters_are_spread_evenly_over_the_predictions():
    codes = CLUSTERS["equal"]
    event, groups = np.random.default_rng(0).random(60)[codes], Groups.of(codes)
    prob = np.column_stack([1 - event, event])
    streams = [np.random.default_rng(seed) for seed in range(200)]
    means = [event[random_split(prob, 240, rng, np.arange(480), groups).test_rows].mean() for rng in streams]
    plain = [event[np.isin(codes, rng.permutation(60)[:30])].mean() for rng in streams]
    assert np.std(means) < 0.8 * np.std(plain)
    chosen = {tuple(random_split(prob, 240, rng, np.arange(480), groups).test_rows) for rng in streams}
    assert len(chosen) == 200


def test_other_names_of_clusters_and_another_order_of_rows_or_columns_choose_alike():
    codes = CLUSTERS["Pareto"]
    prob, n = rows_of(len(codes)), len(codes)
    order = np.random.default_rng(3).permutation(n)
    split = random_split(prob, n // 2, np.random.default_rng(1), np.arange(n), Groups.of(codes)).test_rows
    for each, groups in ((prob[:, ::-1], codes), (prob, codes * 10 + 7)):
        again = random_split(each, n // 2, np.random.default_rng(1), np.arange(n), Groups.of(groups)).test_rows
        np.testing.assert_array_equal(again, split)
    moved = random_split(prob[order], n // 2, np.random.default_rng(1), np.arange(n), Groups.of(codes[order])).test_rows
    np.testing.assert_array_equal(np.sort(order[moved]), split)


def test_no_row_of_a_cluster_that_was_seen_is_tested_on():
    codes = CLUSTERS["equal"]
    split = random_split(rows_of(480), 200, np.random.default_rng(0), np.arange(3, 480), Groups.of(codes))
    assert 0 not in codes[split.test_rows]
    fitted = cal.Platt().fit(rows_of(480), codes % 2)
    sample = cs.Sample(codes % 2, rows_of(480)[:, 1], groups=codes)
    (plan,) = chosen_splits(sample, {"a": fitted}, 0.4, None, 1, {"a": [8, 9]}, np.random.default_rng(0))
    assert 1 not in codes[plan[0].test_rows]


@pytest.mark.parametrize("name", CLUSTERS)
def test_folds_of_clusters_are_whole_and_about_equal(name):
    codes = CLUSTERS[name]
    found = list(spread_folds(rows_of(len(codes)), 5, np.random.default_rng(0), Groups.of(codes)))
    np.testing.assert_array_equal(np.sort(np.concatenate([each.test_rows for each in found])), np.arange(len(codes)))
    for each in found:
        assert set(parts_of(codes, each.test_rows)) == {0, 1}
        assert not set(codes[each.fit_rows]) & set(codes[each.test_rows])
        assert len(each.test_rows) / len(codes) == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        (np.zeros(100, dtype=int), "2 parts need at least 2 clusters, and 1 cluster is there"),
        (np.minimum(np.arange(100), 39), "one cluster has 61% of 100 rows"),
    ],
)
def test_too_few_clusters_and_one_of_most_rows_are_refused(codes, words):
    groups = Groups.of(codes, "patient")
    with pytest.raises(ValueError, match=f"all rows of the same 'patient' stay together, but .*{words}"):
        random_split(rows_of(100), 50, np.random.default_rng(0), np.arange(100), groups)
    with pytest.raises(ValueError, match="stay together"):
        next(spread_folds(rows_of(100), 2, np.random.default_rng(0), groups))


def test_no_cluster_is_on_both_sides_in_any_verb():
    rng = np.random.default_rng(4)
    codes, p = np.repeat(np.arange(60), 5), rng.random(60).repeat(5)
    sample = cs.Sample(rng.random(300) < p, p, groups=codes, variables={"age": rng.random(300)})
    models, few = {"platt": cal.Platt()}, {"n_resamples": 99, "rng": 0}
    rows = np.r_[:8, 20:150]
    found = [
        cs.compare_calibrators(models, sample, **few),
        cs.compare_calibrators(models, sample, n_splits=2, **few),
        cs.compare_calibrators(models, sample, cv=3, **few),
        cs.recommend_calibrator(sample, models, **few),
    ]
    splits = [split for each in found for split in each.splits]
    by_age = [
        cs.variable_based_protocol(sample, variable="age", **more, **few)
        for more in ({}, {"n_fit": 100}, {"fit_rows": rows}, {"convention": "kelly-smyth"})
    ]
    for split in (*splits, *(each.split for each in by_age)):
        assert not set(codes[split.fit_rows]) & set(codes[split.test_rows])
    assert "in 30 clusters (groups)" in found[0].to_text(100)
    assert found[2].to_dict()["n_clusters"] == 60
    assert "p of each error is by whole clusters (asymptotic)" in " ".join(str(by_age[0]).split())
    np.testing.assert_array_equal(by_age[2].split.fit_rows, rows)


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
