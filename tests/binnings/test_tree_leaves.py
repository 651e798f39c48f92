"""Leaves of fitted trees as cells."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import calibstat as cs
from calibstat import calibrators as cal
from calibstat import generators
from calibstat.binnings.tree_leaves import boxes, leaf_of, leaves
from registered.entries import TREE

# Torabian & Urner (2024, Appendix C): the children of nodes 0 to 3.
PAPER = {
    "left": [1, 3, 5, 7, -1, -1, -1, -1, -1],
    "right": [2, 4, 6, 8, -1, -1, -1, -1, -1],
    "feature": [0, 0, 0, 0, -2, -2, -2, -2, -2],
    "threshold": [4, 2, 6, 1, 0, 0, 0, 0, 0],
}


def frame(seed=0, n=600):
    rng = np.random.default_rng(seed)
    columns = pd.DataFrame({"age": rng.uniform(20, 80, n).round(1), "bmi": rng.normal(25, 4, n), "x3": rng.random(n)})
    chance = np.where(columns["age"] > 50, 0.6, 0.2) + np.where(columns["bmi"] > 27, 0.2, 0)
    return columns, (rng.random(n) < chance).astype(int)


def sample_of(columns, y, p=None):
    return cs.Sample(y, np.full(len(y), 0.4) if p is None else p, variables=columns)


def same_cells(first, second):
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


@pytest.mark.parametrize(
    ("n_leaves", "cells"),
    [
        (1, [[0, 1, 2, 3, 4, 5, 6, 7]]),
        (2, [[0, 1, 2, 3, 4], [5, 6, 7]]),
        (3, [[0, 1, 2], [3, 4], [5, 6, 7]]),
        (4, [[0, 1, 2], [3, 4], [5, 6], [7]]),
        (5, [[0, 1], [2], [3, 4], [5, 6], [7]]),
        (None, [[0, 1], [2], [3, 4], [5, 6], [7]]),
    ],
)
def test_nodes_are_split_breadth_first_as_in_the_paper(n_leaves, cells):
    x = np.arange(8)
    sample = cs.Sample(np.zeros(8, int), np.full(8, 0.5), variables={"x": x})
    with nullcontext() if n_leaves == 1 else pytest.warns(cs.SmallCellsWarning):
        cut = cs.TreeLeaves(PAPER, "x", n_leaves).cut(sample.predictions)
    assert [x[cut.index == cell].tolist() for cell in range(cut.size)] == cells
    assert cut.moves == "fixed"


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(min_samples_leaf=20, random_state=0),
        DecisionTreeClassifier(max_leaf_nodes=7, min_samples_leaf=20, random_state=0),  # grown best first
        DecisionTreeRegressor(max_depth=3, min_samples_leaf=20, random_state=0),
        ExtraTreeClassifier(max_depth=4, random_state=0),
    ],
)
def test_rows_go_where_scikit_learn_sends_them(model):
    columns, y = frame()
    model.fit(columns, y)
    binning = cs.TreeLeaves(model)
    assert binning.variables == ("age", "bmi", "x3")
    assert binning == cs.TreeLeaves(model.tree_, ["age", "bmi", "x3"])
    other, _ = frame(1)
    found = binning.cut(sample_of(other, y).predictions).index
    assert same_cells(found, model.apply(other))
    assert binning.tree.n_leaves == model.get_n_leaves() > 3


def test_values_on_a_threshold_are_rounded_as_scikit_learn_does():
    x = np.array([0.1, 0.3] * 20)
    model = DecisionTreeClassifier().fit(x[:, None], np.arange(40) % 2)
    cut = model.tree_.threshold[0]
    near = cut + np.array([-1e-7, -1e-9, 0, 1e-9, 1e-7])
    found = cs.TreeLeaves(model, "x").cut(sample_of({"x": np.repeat(near, 10)}, np.zeros(50, int)).predictions)
    assert same_cells(found.index, model.apply(np.repeat(near, 10)[:, None]))


def test_leaves_are_numbered_from_left_to_right_and_their_boxes_hold_their_rows():
    columns, y = frame()
    model = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(columns, y)
    binning = cs.TreeLeaves(model)
    features = binning.features(sample_of(columns, y).predictions)
    rounded = features.astype(np.float32)
    ends = leaf_of(binning.nodes, features)
    for node, box in zip(leaves(binning.nodes), boxes(binning.nodes), strict=True):
        inside = np.ones(len(y), dtype=bool)
        for column, (low, high) in box.items():
            inside &= (rounded[:, column] > low) & (rounded[:, column] <= high)
        np.testing.assert_array_equal(inside, ends == node)
    one = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(columns[["age"]], y)
    index = cs.TreeLeaves(one).cut(sample_of(columns, y).predictions).index
    assert (np.diff(index[np.argsort(columns["age"], kind="stable")]) >= 0).all()


def test_calibrators_give_their_trees():
    columns, y = frame()
    p = np.random.default_rng(3).random(len(y))
    X = columns.assign(p=p)
    names = ["age", "bmi"]
    fitted = cal.DecisionTree(names, min_share=0.1, ccp_alpha=0).fit(X[[*names, "p"]], y)
    sample = sample_of(columns, y, p)
    cells = cs.TreeLeaves(fitted, (..., *names)).cut(sample.predictions)
    said = fitted.predict_proba(X[[*names, "p"]])[:, 1]
    assert cells.size == len(np.unique(said)) > 4
    assert same_cells(cells.index, said)
    with pytest.raises(ValueError, match="does not name its 3 columns"):  # of X they are others, in another order
        cs.TreeLeaves(fitted)
    one = cal.VariableBased("age").fit(X[["age", "p"]], y)
    assert cs.TreeLeaves(one, "age") == cs.TreeLeaves(one.tree_, ["age"])


def test_errors_of_leaves_are_those_of_plain_loops():
    columns, y = frame()
    model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=20, random_state=0).fit(columns, y)
    new, happened = frame(2)
    p = model.predict_proba(new)[:, 1] * 0.9
    sample, ends = sample_of(new, happened, p), model.apply(new)
    ece = pde = 0.0
    for end in set(ends):
        rows = ends == end
        ece += rows.sum() * abs(p[rows].mean() - happened[rows].mean())
        pde += sum(abs(each - happened[rows].mean()) for each in p[rows])
    assert cs.ECE(cs.TreeLeaves(model))(sample) == pytest.approx(ece / len(p))
    assert cs.PDE(cs.TreeLeaves(model))(sample) == pytest.approx(pde / len(p))
    assert ece == pytest.approx(pde)  # a tree says the same in all of a leaf
    top = cs.TreeLeaves(model, n_leaves=2)
    assert cs.PDE(top)(sample) > cs.ECE(top)(sample)


def test_a_test_on_leaves_is_given_what_the_tree_splits():
    columns, y = frame()
    binning = cs.TreeLeaves(DecisionTreeClassifier(max_depth=2, random_state=0).fit(columns, y))
    new, happened = frame(1)
    sample = sample_of(new, happened, np.full(600, happened.mean()))
    found = cs.calibration_test(sample, cs.ECE(binning), rng=0)
    assert found.hypothesis.startswith("given the prediction and 'age' and 'bmi' and 'x3' (the strong null)")
    assert found.pvalue < 0.001  # calibrated given the prediction, and off given the age
    assert cs.calibration_test(sample, cs.ECE(cs.EqualMass(5)), rng=0).pvalue > 0.5
    notes = cs.estimate(sample, cs.ECE(binning), n_resamples=99, rng=0).notes
    assert "cells depend on 'age' and 'bmi' and 'x3': this is about the error of predictions given these too" in notes
    both = {"leaves": cs.ECE(binning), "rest": cs.Kuiper()}
    several = cs.multiple_test(sample, cs.Family(both), n_resamples=99, rng=0)
    assert several.hypothesis.startswith("given the prediction and 'age'")
    with pytest.raises(ValueError, match="here the prediction is conditioned on"):
        cs.calibration_test(sample, cs.Given("age") | cs.ECE(cs.TreeLeaves(TREE, ("age", ...))), null="weak", rng=0)


def test_the_repr_tells_trees_apart_by_their_splits_alone():
    columns, y = frame()
    first = cs.TreeLeaves(DecisionTreeClassifier(max_depth=3, random_state=0).fit(columns, y))
    again = cs.TreeLeaves(DecisionTreeClassifier(max_depth=3, random_state=0).fit(columns, y))
    moved = cs.TreeLeaves(DecisionTreeClassifier(max_depth=3, random_state=0).fit(columns + 1e-3, y))
    assert repr(first) == repr(again)
    assert first == again
    assert repr(first) != repr(moved)
    assert first != moved
    other = {key: list(values) for key, values in PAPER.items()}
    other["threshold"][8] = 5.0  # of a leaf
    assert cs.TreeLeaves(other, "x") == cs.TreeLeaves(PAPER, "x")


def test_a_tree_that_is_fitted_again_does_not_change_cells():
    columns, y = frame()
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(columns, y)
    arrays = {key: np.array(values) for key, values in PAPER.items()}
    binning, from_arrays = cs.TreeLeaves(model), cs.TreeLeaves(arrays, "x")
    before = repr(binning), repr(from_arrays), from_arrays.tree.nodes["threshold"].copy()
    model.fit(columns.iloc[:100], y[:100])
    arrays["threshold"][:] = 0
    assert (repr(binning), repr(from_arrays)) == before[:2]
    np.testing.assert_array_equal(from_arrays.tree.nodes["threshold"], before[2])


@pytest.mark.slow
def test_sweeps_tell_two_trees_apart(tmp_path):
    world = generators.FinitePredictions([0.2, 0.7], [0.3, 0.7], variables={"x": [1.0, 5.0]})
    other = PAPER | {"threshold": [0.5, 2, 6, 1, 0, 0, 0, 0, 0]}
    first, second = (cs.ECE(cs.TreeLeaves(tree, "x", 2)) for tree in (PAPER, other))

    def run(estimator):
        sweep = cs.Sweep({"w": world}, n=[200], estimators={"tree": estimator}, n_repeats=2, rng=0)
        return sweep.run(store=tmp_path / "store.zarr", progress=False)

    found = run(first)
    with pytest.raises(ValueError, match="another"):
        run(second)
    assert found.sizes["repeat"] == 2


def test_truths_and_limits_of_finite_worlds():
    world = generators.FinitePredictions(
        [0.2, 0.2, 0.7, 0.7], [0.3, 0.1, 0.9, 0.7], variables={"x": [1.0, 5.0, 1.0, 5.0]}
    )
    estimator = cs.ECE(cs.TreeLeaves(PAPER, "x", 2))
    assert float(world.truth(estimator)) == pytest.approx(0.05)
    assert float(world.limit(estimator)) == pytest.approx(0.1)  # by 0.15 too low at x = 1, 0.05 too high at x = 5


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: cs.TreeLeaves(DecisionTreeClassifier(), "x"), ValueError, "no tree_: fit it first"),
        (lambda: cs.TreeLeaves(cal.DecisionTree(), "x"), ValueError, "no tree_: fit it first"),
        (lambda: cs.TreeLeaves(DecisionTreeClassifier, "x"), TypeError, "a fitted tree is expected"),
        (lambda: cs.TreeLeaves(None, "x"), TypeError, "a fitted tree is expected"),
        (lambda: cs.TreeLeaves({"left": [-1]}, "x"), TypeError, "a fitted tree is expected"),
        (lambda: cs.TreeLeaves(PAPER), ValueError, "say which variables of the sample they are"),
        (lambda: cs.TreeLeaves({key: [-1] for key in PAPER}, []), ValueError, r"variables is \[\], but"),
        (lambda: cs.TreeLeaves(TREE, "age"), ValueError, "splits at least 2: name them all"),
        (lambda: cs.TreeLeaves(PAPER, "x", 6), ValueError, "n_leaves is 6, but the tree has 5"),
        (lambda: cs.TreeLeaves(PAPER, "x", 0), ValueError, "n_leaves is 0"),
        (lambda: cs.TreeLeaves(PAPER, [3]), ValueError, "variables is"),
        (lambda: cs.TreeLeaves(PAPER | {"left": [0] * 9}, "x"), ValueError, "a branch without an end"),
        (lambda: cs.TreeLeaves(PAPER | {"right": [1, 4, 6, 8, -1, -1, -1, -1, -1]}, "x"), ValueError, "without an end"),
        (lambda: cs.TreeLeaves(PAPER | {"left": [1, -1]}, "x"), ValueError, "same number of nodes"),
        (lambda: cs.TreeLeaves(PAPER | {"feature": [-1] * 9}, "x"), ValueError, "columns that are not there"),
        (lambda: cs.TreeLeaves(PAPER | {"threshold": [np.nan] * 9}, "x"), ValueError, "threshold that is not a number"),
        (lambda: cs.TreeLeaves(PAPER | {"threshold": ["a"] * 9}, "x"), TypeError, "must be numbers of shape"),
        (lambda: cs.TreeLeaves(PAPER | {"left": [1.5] * 9}, "x"), ValueError, "holds 1.5; it must hold whole numbers"),
        (lambda: cs.TreeLeaves(PAPER | {"right": None}, "x"), TypeError, "must be numbers of shape"),
    ],
)
def test_what_is_no_tree_or_too_small_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_forests_and_other_numbers_of_columns_are_refused():
    columns, y = frame(n=60)
    forest = RandomForestClassifier(2, random_state=0).fit(columns, y)
    with pytest.raises(ValueError, match="holds several trees: pass one of its estimators_"):
        cs.TreeLeaves(forest)
    one = forest.estimators_[0]
    for names in (["age", "bmi"], ["age", "bmi", "x3", "x4"]):
        with pytest.raises(ValueError, match="but the tree splits 3: name them all"):
            cs.TreeLeaves(one, names)


def test_names_in_another_order_than_that_of_the_tree_are_refused():
    X, y = pd.DataFrame({"age": [1.0, 2, 3, 4], "dose": [4.0, 1, 3, 2]}), [0, 0, 1, 1]
    tree = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"fitted on \('age', 'dose'\): name them in that order"):
        cs.TreeLeaves(tree, ["dose", "age"])
    assert cs.TreeLeaves(tree, ["years", "dose"]).reads == ("years", "dose")  # other names are the reader's


def test_samples_of_other_variables_are_refused():
    predictions = cs.Sample([0, 1] * 20, [0.3] * 40, variables={"sex": ["f", "m"] * 20}).predictions
    with pytest.raises(ValueError, match="splits 'age', but the sample has no such variable; its variables are: 'sex'"):
        cs.TreeLeaves(PAPER, "age").cut(predictions)
    with pytest.raises(ValueError, match="'sex' is categorical"):
        cs.TreeLeaves(PAPER, "sex").cut(predictions)
    three = cs.Sample([0, 1, 2] * 20, np.full((60, 3), 1 / 3)).predictions
    with pytest.raises(ValueError, match="the prediction of two classes, but there are 3: look through a lens first"):
        cs.TreeLeaves(PAPER, (...,)).cut(three)
