"""Trees that are pruned by cross-validation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from calibstat import calibrators as cal
from calibstat.binnings.tree_leaves import leaf_of
from calibstat.calibrators.base import folds_of_equal_rows
from calibstat.calibrators.trees import candidates, ends, grow, weakest_links


def world(n, seed, shift):
    """Log-odds that are off by a shift, up below v = 1/2 and down above."""
    rng = np.random.default_rng(seed)
    p, v = rng.uniform(0.02, 0.98, n), rng.random(n)
    truth = expit(logit(p) + np.where(v < 0.5, shift, -shift))
    return np.column_stack([p, v]), (rng.random(n) < truth).astype(int), truth


def leaves(model):
    return int((model.tree_["left"] < 0).sum())


@pytest.mark.slow
def test_noise_is_pruned_and_a_real_split_is_kept():
    grown, kept, without, pruned = [], [], [], []
    for seed in range(6):
        X, y, truth = world(1000, seed, 0.0)
        full, chosen = (cal.CalibrationTree([-1], ccp_alpha=alpha).fit(X, y) for alpha in (0.0, None))
        grown.append(leaves(full))
        kept.append(leaves(chosen))
        without.append(np.mean((full.predict_proba(X)[:, 1] - truth) ** 2))
        pruned.append(np.mean((chosen.predict_proba(X)[:, 1] - truth) ** 2))
        X, y, _ = world(1000, seed, 1.0)
        assert leaves(cal.CalibrationTree([-1]).fit(X, y)) >= 2
    assert np.mean(kept) < np.mean(grown)
    assert np.mean(pruned) < np.mean(without)


@pytest.mark.parametrize(("seed", "shift"), [(1, 0.5), (0, 1.0), (2, 0.0)])
@pytest.mark.parametrize(("made", "columns"), [(cal.CalibrationTree, slice(1, 2)), (cal.DecisionTree, slice(0, 2))])
def test_the_cost_is_the_largest_within_one_error_of_the_best_by_plain_loops(made, columns, seed, shift):
    X, y, _ = world(300, seed, shift)
    found = made([-1], min_share=0.1, cv=3).fit(X, y)
    growth = {"max_depth": None, "min_weight_fraction_leaf": 0.1}
    weights, features = np.ones(300), X[:, columns]
    fold = folds_of_equal_rows(y, features, 3)
    losses = {}
    for alpha in candidates(features, y, weights, **growth):
        model, losses[alpha] = made([-1], min_share=0.1, ccp_alpha=alpha), []
        for number in range(3):
            rows = fold != number
            said = model.fit(X[rows], y[rows]).predict_proba(X[~rows])[:, 1]
            losses[alpha].append(2 * ((said - y[~rows]) ** 2).sum())
    best = min(losses.values(), key=sum)
    good = []
    for alpha, each in losses.items():
        more = np.subtract(each, best)
        if more.sum() <= np.sqrt(3 * more.var(ddof=1)) + 1e-9:
            good.append(alpha)
    assert found.ccp_alpha_ == pytest.approx(max(good))


def test_shares_of_noise_are_pruned_to_one_and_a_step_is_kept():
    rng = np.random.default_rng(4)
    p, noise = rng.random(1000), rng.random(1000) < 0.3
    step = rng.random(1000) < np.where(p < 0.5, 0.2, 0.6)
    assert leaves(cal.DecisionTree(ccp_alpha=0).fit(p, noise)) > 10  # the negative control
    assert leaves(cal.DecisionTree().fit(p, noise)) == 1
    found = cal.DecisionTree().fit(p, step)
    assert leaves(found) == 2
    assert found.tree_["threshold"][0] == pytest.approx(0.5, abs=0.05)


def test_few_distinct_predictions_are_told_apart_and_noise_is_pruned():
    rng = np.random.default_rng(0)
    for values in ([0.2, 0.8], np.arange(1, 10) / 10):
        p = rng.choice(values, 2000)
        said = cal.DecisionTree().fit(p, rng.random(2000) < p**2).predict_proba(p)[:, 1]
        assert np.sqrt(np.mean((said - p**2) ** 2)) < 0.05  # 0.27 with one leaf
    noise = [cal.DecisionTree().fit(p, rng.random(2000) < 0.3) for _ in range(10)]  # of nine values
    assert np.mean([leaves(each) for each in noise]) < 2  # the negative control


@pytest.mark.parametrize("made", [cal.DecisionTree, cal.CalibrationTree])
def test_whole_weights_of_tied_rows_are_rows(made):
    rng = np.random.default_rng(1)
    p, y, times = rng.integers(1, 6, 200) / 6, rng.random(200) < 0.4, rng.integers(1, 9, 200)
    weighted = made().fit(p, y, times)
    order = rng.permutation(times.sum())
    repeated = made().fit(np.repeat(p, times)[order], np.repeat(y, times)[order])
    assert weighted.ccp_alpha_ == pytest.approx(repeated.ccp_alpha_)
    np.testing.assert_allclose(weighted.predict_proba(p), repeated.predict_proba(p), atol=1e-6)


def test_candidates_go_from_all_leaves_to_none():
    X, y, _ = world(500, 2, 0.3)
    weights, growth = np.ones(500), {"min_weight_fraction_leaf": 0.1}
    sizes = [
        int((grow(X, y, weights, ccp_alpha=alpha, **growth)["left"] < 0).sum())
        for alpha in candidates(X, y, weights, **growth)
    ]
    assert sizes[0] == int((grow(X, y, weights, **growth)["left"] < 0).sum())
    assert sizes[-1] == 1
    assert (np.diff(sizes) < 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_pruned_trees_are_those_of_scikit_learn(seed):
    X, y, _ = world(600, seed, 0.6)
    weights, growth = np.random.default_rng(seed).uniform(0.5, 2, 600), {"min_weight_fraction_leaf": 0.02}
    tree, collapse = weakest_links(X, y, weights, **growth)
    alphas = candidates(X, y, weights, **growth)
    assert len(alphas) > 10
    for alpha in alphas:
        ours = ends(tree, collapse <= alpha)[leaf_of(tree, X)]
        theirs = leaf_of(grow(X, y, weights, ccp_alpha=alpha, **growth), X)
        pairs = set(zip(ours.tolist(), theirs.tolist(), strict=True))
        assert len(pairs) == len(set(ours)) == len(set(theirs))


def test_equal_rows_share_a_fold_and_folds_are_of_like_size():
    rng = np.random.default_rng(0)
    rows = rng.random((100, 2))
    y = np.repeat([0, 1], [30, 70])
    fold = folds_of_equal_rows(np.append(y, y[::-1]), np.vstack([rows, rows[::-1]]), 5)
    np.testing.assert_array_equal(fold[:100], fold[:99:-1])
    np.testing.assert_array_equal(np.bincount(fold), np.full(5, 40))
    np.testing.assert_array_equal(np.bincount(fold[:100][y == 0]), np.full(5, 6))


@pytest.mark.slow
def test_noise_of_neighbours_is_not_found_again_in_rows_not_seen():
    """Dealt out by their values, rows would be spread too evenly: trees of calibrated predictions had eight leaves."""
    rng, found = np.random.default_rng(0), []
    for _ in range(10):
        p = rng.random(1000)
        found.append(leaves(cal.CalibrationTree().fit(p, rng.random(1000) < p)))
    assert np.mean(found) < 2


def test_a_row_of_weight_two_is_a_row_that_is_there_twice():
    X, y, _ = world(400, 3, 0.6)
    twice = np.random.default_rng(1).random(400) < 0.5
    weighted = cal.CalibrationTree([-1]).fit(X, y, 1.0 + twice)
    repeated = cal.CalibrationTree([-1]).fit(np.vstack([X, X[twice]]), np.append(y, y[twice]))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("made", [cal.CalibrationTree, cal.DecisionTree])
def test_one_fold_is_refused(made):
    X, y, _ = world(100, 0, 0.0)
    with pytest.raises(ValueError, match="cv is 1, but 2 to 1000 folds are expected; or pass ccp_alpha=0"):
        made([-1], cv=1).fit(X, y)


@pytest.mark.parametrize("made", [cal.Platt, cal.Beta])
def test_the_floor_of_a_line_is_part_of_its_objective(made):
    """Exact zeros and what lies below the floor count as the floor, in the fit and in what is said."""
    rng = np.random.default_rng(5)
    p = rng.beta(0.2, 0.2, 800)
    p[:20] = 10.0 ** rng.uniform(-12, -7, 20)
    p[20] = 0
    y = (rng.random(800) < 0.1 + 0.8 * p).astype(int)
    floor = made().smallest
    assert floor == 1e-6
    assert ((p < floor) | (1 - p < floor)).sum() >= 21
    # Each side has the floor by itself, so that no single clipped p gives both logarithms where p is near 1.
    low, high = np.log(np.maximum(p, floor)), np.log(np.maximum(1 - p, floor))
    X = np.column_stack([np.ones(800), low - high] if made is cal.Platt else [np.ones(800), low, -high])
    goals = np.where(y == 1, (y.sum() + 1) / (y.sum() + 2), 1 / ((1 - y).sum() + 2)) if made is cal.Platt else y
    model = made().fit(p, y)
    theta = np.append(model.intercept_, model.coef_)
    gradient = X.T @ (expit(X @ theta) - goals) / 800
    assert theta[1:].min() > 0
    assert np.abs(gradient).max() < 1e-9
    np.testing.assert_allclose(model.predict_proba(p)[:, 1], expit(X @ theta), atol=1e-12)
