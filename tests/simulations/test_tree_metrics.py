"""Trees as worlds of finitely many leaves, cells of both kinds, what wins, and data sets of a folder."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.tree import DecisionTreeClassifier

import calibstat as cs
from calibstat.generators import FinitePredictions
from calibstat.generators.base import without_warnings
from simulations import tree_metrics as study
from simulations.__main__ import main


@pytest.fixture(scope="module")
def tree():
    X, y, _ = study.WORLDS["hard"].draw(400, 0)
    return DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def bias():
    once = study.Bias((200, 2000))
    streams = np.random.SeedSequence(0).spawn(2)
    return xr.concat([once(np.random.default_rng(each)) for each in streams], "repeat")


def test_a_tree_on_a_world_is_its_leaves(tree):
    """Truths and limits are those of the same tree by quadrature over the features."""
    leaves, whole = study.leaf_world(tree, study.WORLDS["hard"]), study.WORLDS["hard"].classified_by(tree)
    assert len(leaves.mass) == tree.get_n_leaves() == 20
    assert float(leaves.truth(cs.ECE())) == pytest.approx(float(whole.truth(cs.ECE())), abs=1e-10)
    assert float(leaves.truth(cs.RMSCE())) == pytest.approx(float(whole.truth(cs.RMSCE())), abs=1e-10)
    top = cs.TreeLeaves(tree, study.NAMES, n_leaves=6)
    for estimator in (cs.ECE(top), cs.PDE(top), cs.ECE(cs.FixedEdges([0, 0.4, 1])), cs.PDE(cs.FixedEdges([0, 0.4, 1]))):
        assert float(leaves.limit(estimator)) == pytest.approx(float(whole.limit(estimator)), abs=1e-10)


def test_the_spread_within_cells_by_hand():
    world = FinitePredictions([0.1, 0.3, 0.8], [0.5, 0.5, 0.5], mass=[1, 1, 2])
    with without_warnings():
        predictions = world.population(cs.Canonical()).predictions
        assert study.spread_within(cs.FixedEdges([0, 0.5, 1]), predictions) == pytest.approx(0.05)
        assert study.spread_within(cs.UniqueValues(), predictions) == 0


@pytest.mark.slow
def test_cells_hide_errors_from_ece_and_pde_adds_the_spread(bias):
    limit, truth = bias["limit"], bias["truth"]
    ece, pde = (limit.sel(measure=measure) for measure in ("ECE", "PDE"))
    known = ece.notnull()
    assert known.any()
    by_mass = ece.sel(kind=study.BY_MASS)  # nodes of a tree part equal scores, and see more than their mean
    assert ((by_mass <= truth + 1e-9) | by_mass.isnull()).all()
    assert ((ece <= pde + 1e-12) | ~known).all()
    assert ((pde <= ece + bias["spread"] + 1e-9) | ~known).all()
    assert (truth.sel(tree=study.AVERAGED) < 1e-9).all()
    assert (truth.sel(tree="200") > truth.sel(tree="20000")).all()


@pytest.mark.slow
def test_estimates_near_their_limits(bias):
    own = bias.sel(n=2000, tree="20000", leaves=32, cells=4)
    assert (np.abs(own["estimate"] - own["limit"]) < 0.05).all()


@pytest.mark.slow
def test_pde_is_less_biased_for_trees_that_are_far_too_sure_and_not_for_calibrated_ones(bias):
    """At the top of the tree, in the limit: an exact number for each tree."""
    nearer = study.limits_nearer(bias).sel(kind=study.BY_TREE)
    assert (nearer.sel(tree="200").fillna(1) > 0).all()
    assert (nearer.sel(tree=study.AVERAGED).fillna(-1) < 0).all()


def test_which_is_nearer_by_hand():
    dims = ("repeat", "setting", "measure")
    found = xr.Dataset(
        {"estimate": (dims, np.array([[[0.30, 0.13], [0.12, 0.31]], [[0.31, 0.12], [0.13, 0.30]]])), "truth": 0.1},
        {"measure": ["ECE", "PDE"]},
    )
    assert study.which_is_nearer(found).values.tolist() == [1, -1]
    wide = found.assign(estimate=(dims, np.array([[[0.3, 0.1], [np.nan, np.nan]], [[0.1, 0.29], [np.nan, np.nan]]])))
    assert study.which_is_nearer(wide).values.tolist()[0] == 0
    assert np.isnan(study.which_is_nearer(wide).values[1])
    assert study._share(study.which_is_nearer(found)) == "1 of 2"
    assert study._share(study.which_is_nearer(wide)) == "0 of 0"


def test_ties_count_for_all_and_clear_wins_are_beyond_their_error():
    values = np.array([[[0.1, 0.1001, 0.3, 0.4]], [[0.1, 0.0999, 0.31, 0.42]]])[..., None]  # (repeat, data, ...)
    dims = ("repeat", "data", "calibrator", "score")
    coords = {"calibrator": [*study.METHODS], "score": ["RMSE"]}
    splits = xr.Dataset({"measured": (dims, values)}, coords)
    assert study.best(splits, "RMSE").values[0].tolist() == [True, True, False, False]
    assert not study.clearly_best(splits, "RMSE").any()
    aside = splits.assign(measured=splits["measured"].where(splits["calibrator"] != "isotonic"))
    assert study.clearly_best(aside, "RMSE").values[0].tolist() == [True, False, False, False]
    ranked = aside.assign_coords(score=["AUC"])
    assert study.best(ranked, "AUC").values[0].tolist() == [False, False, False, True]


@without_warnings()
def test_a_split_of_one_data_set():
    data = study.shipped()["breast cancer"]
    rng = np.random.default_rng(0)
    order = rng.permutation(len(data.labels))
    sizes = study.trade_off(data, order, rng)
    known = sizes["n_leaves"].dropna("size")
    assert (known == known["size"]).all()
    assert sizes["loss"].min() < 0.15
    measured = study.protocol(data, order, rng)["measured"]
    assert measured.sel(score="AUC").min() > 0.85
    tree = measured.sel(calibrator="tree")
    assert tree.sel(score="spread") < 1e-12
    pct = measured.sel(calibrator="PCT")
    assert pct.sel(score="PDE") >= pct.sel(score="spread") - 0.1
    assert measured.sel(score="PDE", calibrator=["Platt", "isotonic"]).isnull().all()


def write(path, rows=60, **more):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.random(rows), "colour": rng.choice(["red", "blue"], rows), **more})
    frame["name"] = [f"row {k}" for k in range(rows)]
    frame["class"] = np.where(rng.random(rows) < 0.6, "yes", "no")
    frame.loc[0, "a"] = np.nan
    frame.to_csv(path, index=False)


def test_files_of_a_folder_are_data_sets(tmp_path):
    write(tmp_path / "one.csv")
    write(tmp_path / "two.csv", rows=80, flag=True)
    write(tmp_path / "three.csv", rows=30)
    found, left_out = study.read(str(tmp_path))
    assert list(found) == ["one", "two"]
    assert left_out == ("three.csv (4 columns, 29 of 30 rows without missing values)",)
    features, labels, world, rows = found["one"]
    assert rows == 60
    assert features.shape == (59, 3)  # a, and two colours; names differ in every row
    assert set(labels) == {0, 1}
    assert labels.mean() >= 0.5  # the most frequent class is the outcome
    assert world is None


def test_folders_and_files_that_do_not_fit_say_so(tmp_path, capsys):
    asked = ["tree_metrics", "--quick", "--out", str(tmp_path / "out"), "--folder"]
    assert main([*asked, str(tmp_path)]) == 2
    assert "has no file *.csv" in capsys.readouterr().err
    write(tmp_path / "few.csv", rows=30)
    assert main([*asked, str(tmp_path)]) == 2
    assert "few.csv (4 columns, 29 of 30 rows without missing values)" in capsys.readouterr().err
    (tmp_path / "few.csv").unlink()
    pd.DataFrame({"a": range(50), "b": np.linspace(0, 1, 50)}).to_csv(tmp_path / "cont.csv", index=False)
    assert main([*asked, str(tmp_path)]) == 2
    assert "cont.csv: 50 classes in 50 rows: the last column, 'b', must be a class" in capsys.readouterr().err
    (tmp_path / "cont.csv").unlink()
    pd.DataFrame({"a": range(50), "class": [1] * 45 + [0] * 5}).to_csv(tmp_path / "rare.csv", index=False)
    assert main([*asked, str(tmp_path)]) == 2
    assert "the last column, 'class', has fewer than 20 rows of another class than 1" in capsys.readouterr().err
