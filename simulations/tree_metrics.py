"""Metrics of trees that people read (Torabian & Urner 2024): bias of ECE and PDE, the trade-off over size, Table 3.

The paper cuts predictions into cells of equal mass, or into the nodes at the top of a tree (breadth first: BFSL), and
finds that PDE is mostly less biased than ECE. A tree on a world with a known regression function has finitely many
predictions with known chances, so that biases, and the limits to which both measures tend, are exact here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure
from scipy.special import expit
from sklearn import datasets
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import calibstat as cs
from calibstat import calibrators
from calibstat.estimators.base import all_weights
from calibstat.generators import FinitePredictions, RegressionFunction
from calibstat.generators.base import evaluate, without_warnings
from simulations.frame import SEED, Datasets, Plan, Repeats, Scale, Study, bracketed, option

NAMES = ("x1", "x2")
WORLDS = {"simple": RegressionFunction("simple"), "hard": RegressionFunction("hard")}
GROWN, LEAVES, CELLS = (200, 2000, 20_000), (8, 32, 128), (2, 4, 8, 16, 32, 64)
AVERAGED = "calibrated"  # the tree of the second number of rows, with its labels averaged
BY_MASS, BY_TREE = "equal mass", "top of the tree"
MEASURES = {"ECE": cs.ECE, "PDE": cs.PDE}
SIZES = (2, 4, 8, 16, 32, 64, 128, 256)
MOST_ROWS, LEAST_ROWS, MOST_CATEGORIES, SYNTHETIC_ROWS = 4000, 40, 20, 2000
N_RESAMPLES, LEVEL, N_CELLS, FOLDS, N_COSTS = 99, 0.05, 10, 5, 12


# Bias of ECE and PDE.


def leaf_world(tree: DecisionTreeClassifier, world: RegressionFunction) -> FinitePredictions:
    """Return a fitted tree on a world: one row for each leaf, at a point in it, with its mass and true chance."""
    whole = world.classified_by(tree).population(cs.Canonical())
    points = np.column_stack([whole.predictions.variables[name].values for name in NAMES])
    _, first, index = np.unique(tree.apply(points), return_index=True, return_inverse=True)
    weights = whole.predictions.weights
    mass = np.bincount(index, weights)
    chances = np.bincount(index, weights * whole.chances[:, 1]) / mass
    variables = dict(zip(NAMES, points[first].T, strict=True))
    said = tree.predict_proba(points[first])[:, 1]
    return FinitePredictions(said, chances, mass, variables=variables, features=NAMES)


@dataclass(frozen=True)
class Bias:
    """Grow trees, and measure the calibration error of each on samples of several sizes, by numbers of cells."""

    n: tuple[int, ...]

    @without_warnings()  # of small cells, which are here on purpose
    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return estimates, the true error of each tree, limits for growing n, and how far scores vary within cells.

        ``in_leaves`` are estimates in cells of equal scores, each a leaf or several, in which ECE and PDE are the same.
        """
        trees = [*map(str, GROWN), AVERAGED]
        shape = (len(WORLDS), len(trees), len(LEAVES))
        kinds, in_cells = (BY_MASS, BY_TREE), (*shape, 2, len(CELLS))
        truth, spread = np.full(shape, np.nan), np.full(in_cells, np.nan)
        limit = np.full((*in_cells, 2), np.nan)
        estimate = np.full((*in_cells, 2, len(self.n)), np.nan)
        in_leaves = np.full((*shape, len(self.n)), np.nan)
        for place, tree, model in self._grown(rng):
            truth[place] = model.truth(cs.ECE())
            population = model.population(cs.Canonical())
            samples = [model.sample(n, rng) for n in self.n]
            in_leaves[place] = [cs.ECE(cs.UniqueValues())(sample) for sample in samples]
            for (kind, column), binning in _cells_of(tree).items():
                at = (*place, kind, column)
                pairs = [measure(binning) for measure in MEASURES.values()]
                limit[at] = [evaluate(each, population) for each in pairs]
                spread[at] = spread_within(binning, population.predictions)
                estimate[at] = [[float(each(sample)) for sample in samples] for each in pairs]
        outer = ("world", "tree", "leaves")
        inner = (*outer, "kind", "cells")
        return xr.Dataset(
            {
                "truth": (outer, truth),
                "spread": (inner, spread),
                "limit": ((*inner, "measure"), limit),
                "estimate": ((*inner, "measure", "n"), estimate),
                "in_leaves": ((*outer, "n"), in_leaves),
            },
            {
                "world": [*WORLDS],
                "tree": trees,
                "leaves": [*LEAVES],
                "kind": [*kinds],
                "cells": [*CELLS],
                "measure": [*MEASURES],
                "n": [*self.n],
            },
        )

    def _grown(self, rng: np.random.Generator) -> Iterator[tuple[tuple[int, int, int], Any, FinitePredictions]]:
        """Yield each tree, with its place and its world; those with averaged labels last."""
        for row, world in enumerate(WORLDS.values()):
            for column, rows in enumerate(GROWN):
                X, y, _ = world.draw(rows, rng)
                for number, n_leaves in enumerate(LEAVES):
                    tree = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=int(rng.integers(2**31)))
                    model = leaf_world(tree.fit(X, y), world)
                    yield (row, column, number), tree, model
                    if rows == GROWN[1]:
                        yield (row, len(GROWN), number), tree, cs.average_labels(model)


def _cells_of(tree: DecisionTreeClassifier) -> dict[tuple[int, int], cs.Binning]:
    """Return the binnings of both kinds, by the places of kind and number of cells; fewer cells than leaves."""
    fewer = [(column, n_cells) for column, n_cells in enumerate(CELLS) if n_cells < tree.get_n_leaves()]
    by_mass = {(0, column): cs.EqualMass(n_cells) for column, n_cells in fewer}
    return by_mass | {(1, column): cs.TreeLeaves(tree, NAMES, n_leaves=n_cells) for column, n_cells in fewer}


def spread_within(binning: cs.Binning, predictions: Any) -> float:
    """Return the mean distance of predictions from the mean of their cell."""
    index, mass, said = binning.cut(predictions).index, all_weights(predictions, None), predictions.event
    means = np.bincount(index, mass * said) / np.bincount(index, mass)
    return float(mass @ np.abs(said - means[index]) / mass.sum())


# The trade-off over size, and the protocol of Table 3.


class Data(NamedTuple):
    """Features of numbers, and labels 0 or 1; the world of rows that are made here, or None."""

    features: np.ndarray
    labels: np.ndarray
    world: RegressionFunction | None = None
    rows_of_file: int | None = None


class Folder(NamedTuple):
    """The data sets of a folder, and the files that are left out because they are too small."""

    data: dict[str, Data]
    left_out: tuple[str, ...] = ()


def shipped() -> dict[str, Data]:
    """Return the data sets that scikit-learn ships, each with one outcome of two."""
    outcomes = {
        "breast cancer": (datasets.load_breast_cancer, lambda target: target == 0),
        "diabetes above median": (datasets.load_diabetes, lambda target: target > np.median(target)),
        "digits 5 to 9": (datasets.load_digits, lambda target: target >= 5),
        "iris versicolor": (datasets.load_iris, lambda target: target == 1),
        "wine of class 1": (datasets.load_wine, lambda target: target == 1),
    }
    found = {}
    for name, (load, happens) in outcomes.items():
        features, target = load(return_X_y=True)
        found[name] = Data(features, happens(target).astype(int))
    return found


@cache
def read(folder: str) -> Folder:
    """Return the CSV files of a folder: the last column is the class, of which the most frequent one is the outcome.

    Columns of text become one column for each value; rows with missing values, and beyond a number of them, are left
    out, and so are files with fewer than 40 rows.
    """
    files = sorted(Path(folder).glob("*.csv"))
    if not files:
        raise ValueError(f"{folder} has no file *.csv: name the folder of your data sets, one in each file.")
    tables = {file: pd.read_csv(file, skipinitialspace=True) for file in files}
    small = {
        file: f"{file.name} ({table.shape[1]} columns, {len(table.dropna())} of {len(table)} rows without missing "
        "values)"
        for file, table in tables.items()
        if table.shape[1] < 2 or len(table.dropna()) < LEAST_ROWS
    }
    if len(small) == len(files):
        raise ValueError(
            f"{folder} has no file with features, then the class, and at least {LEAST_ROWS} rows: "
            f"{', '.join(small.values())}."
        )
    data = {file.stem: _data_of(file, table) for file, table in tables.items() if file not in small}
    return Folder(data, tuple(small.values()))


def _data_of(file: Path, table: pd.DataFrame) -> Data:
    frame = table.dropna()
    frame = frame.sample(min(len(frame), MOST_ROWS), random_state=SEED)
    target, columns = frame.iloc[:, -1], frame.iloc[:, :-1]
    if target.nunique() > max(MOST_CATEGORIES, len(frame) // 20):
        raise ValueError(
            f"{file.name}: {target.nunique()} classes in {len(frame)} rows: the last column, {target.name!r}, must be "
            "a class; put it last."
        )
    text = columns.select_dtypes(exclude="number")
    wide = [name for name in text if text[name].nunique() > MOST_CATEGORIES]  # names and dates say nothing of others
    features = pd.get_dummies(columns.drop(columns=wide)).to_numpy(dtype=float)
    labels = (target == target.value_counts().index[0]).to_numpy(dtype=int)
    if labels.sum() > len(labels) - 20 or not features.shape[1]:
        raise ValueError(
            f"{file.name}: the last column, {target.name!r}, has fewer than 20 rows of another class than "
            f"{target.value_counts().index[0]}, or no column before it is usable; put the class last."
        )
    return Data(features, labels, rows_of_file=len(table))


@dataclass(frozen=True)
class EverySplit:
    """Split every data set once at random: trees of growing size, and the protocol of Table 3."""

    folder: str | None = None

    @without_warnings()
    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return the measures of every data set."""
        found, names = [], []
        for name, data in self._data(rng).items():
            order = rng.permutation(len(data.labels))
            measured = xr.merge([trade_off(data, order, rng), protocol(data, order, rng)])
            rows = {"rows": len(order), "rows_of_file": data.rows_of_file or len(order)}
            found.append(measured.assign(rows))
            names.append(name)
        left_out = () if self.folder is None else read(self.folder).left_out
        whole = xr.concat(found, "data", join="outer").assign_coords(data=names)
        return whole.assign_attrs(left_out=", ".join(left_out))

    def _data(self, rng: np.random.Generator) -> dict[str, Data]:
        made = {f"made, {name}": Data(*world.draw(SYNTHETIC_ROWS, rng)[:2], world) for name, world in WORLDS.items()}
        return shipped() | made | ({} if self.folder is None else read(self.folder).data)


def trade_off(data: Data, order: np.ndarray, rng: np.random.Generator) -> xr.Dataset:
    """Grow trees of increasing size on half of the rows; return PDE in the leaves, noise and 0/1 loss on the rest."""
    grown, judged = np.array_split(order, 2)
    rows = [np.full(len(_OF_A_TREE), np.nan) for _ in range(len(SIZES) + 1)]
    seed = int(rng.integers(2**31))
    for place, size in enumerate(SIZES):
        tree = DecisionTreeClassifier(max_leaf_nodes=size, random_state=seed).fit(*_of(data, grown))
        if tree.get_n_leaves() == size:
            rows[place] = _judged(tree, data, judged, rng)
    rows[-1] = _judged(pruned(DecisionTreeClassifier(random_state=seed), *_of(data, grown)), data, judged, rng)
    values = {name: np.array(rows)[:, column] for column, name in enumerate(_OF_A_TREE)}
    found = xr.Dataset({name: ("size", each[:-1]) for name, each in values.items()}, {"size": [*SIZES]})
    return found.assign({f"pruned_{name}": each[-1] for name, each in values.items()})


_OF_A_TREE = ("n_leaves", "pde", "noise", "pvalue", "loss", "true_error")


def _judged(tree: DecisionTreeClassifier, data: Data, rows: np.ndarray, rng: np.random.Generator) -> list[float]:
    """Return what is measured of a tree on rows that it has not seen."""
    sample = _sample(tree.predict_proba(data.features[rows])[:, 1], data, rows)
    test = cs.calibration_test(
        sample, cs.PDE(cs.TreeLeaves(tree, _names(data))), null=cs.Consistency(N_RESAMPLES), rng=rng
    )
    truth = np.nan if data.world is None else float(leaf_world(tree, data.world).truth(cs.ECE()))
    return [tree.get_n_leaves(), test.statistic, test.null_mean, test.pvalue, float(cs.ZeroOneLoss()(sample)), truth]


def pruned(tree: Any, features: np.ndarray, labels: np.ndarray, rows: np.ndarray | None = None) -> Any:
    """Return a pruned tree: cross-validation chooses the cost of a leaf by the Brier score.

    Costs are those of a tree of the features. A tree that is fitted on other rows (features beside a score) gets them.
    """
    path = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(features, labels)
    costs = np.unique(np.clip(path.ccp_alphas, 0, None))[::-1]  # the first prunes to the root, the last nothing
    costs = costs[np.unique(np.geomspace(1, len(costs), N_COSTS).astype(int)) - 1]  # most of them among small trees
    search = GridSearchCV(tree, {"ccp_alpha": costs}, cv=FOLDS, scoring="neg_brier_score")
    return search.fit(features if rows is None else rows, labels).best_estimator_


METHODS = ("Platt", "isotonic", "PCT", "tree")
SCORES: dict[str, cs.Estimator] = {
    "RMSE": cs.RMSE(),
    "0/1 loss": cs.ZeroOneLoss(),
    "AUC": cs.AUC(),
    "ECE": cs.ECE(cs.EqualMass(N_CELLS)),
}
PUBLISHED = {  # Torabian & Urner (2024), Table 3: data sets of 36 where a method is best, ties count for all
    "RMSE": (21, 25, 31, 24),
    "0/1 loss": (22, 24, 31, 24),
    "AUC": (27, 28, 32, 19),
    "PDE": (None, None, 19, 36),
}


def protocol(data: Data, order: np.ndarray, rng: np.random.Generator) -> xr.Dataset:
    """Fit a support vector machine on half of the rows, correct it on a quarter by each method, judge on the rest."""
    train, fit, test = np.split(order, [len(order) // 2, 3 * len(order) // 4])
    machine = make_pipeline(StandardScaler(), SVC(random_state=0)).fit(*_of(data, train))
    scores = expit(machine.decision_function(data.features))
    rows = np.column_stack([scores, data.features])
    pct = pruned(calibrators.CalibrationTree(variables=range(1, rows.shape[1])), *_of(data, fit), rows[fit])
    tree = pruned(DecisionTreeClassifier(random_state=int(rng.integers(2**31))), *_of(data, fit))
    said = {
        "Platt": calibrators.Platt().fit(scores[fit], data.labels[fit]).predict_proba(scores[test])[:, 1],
        "isotonic": calibrators.Isotonic().fit(scores[fit], data.labels[fit]).predict_proba(scores[test])[:, 1],
        "PCT": pct.predict_proba(rows[test])[:, 1],
        "tree": tree.predict_proba(data.features[test])[:, 1],
    }
    samples = {name: _sample(each, data, test) for name, each in said.items()}
    values = [[float(measure(each)) for measure in SCORES.values()] for each in samples.values()]
    leaves = {"PCT": cs.TreeLeaves(pct, _names(data)), "tree": cs.TreeLeaves(tree, _names(data))}
    pde = [cs.PDE(leaves[name])(each) if name in leaves else np.nan for name, each in samples.items()]
    null = cs.Consistency(N_RESAMPLES)
    pvalues = [cs.calibration_test(each, SCORES["ECE"], null=null, rng=rng).pvalue for each in samples.values()]
    spread = [
        spread_within(leaves[name], each.predictions) if name in leaves else np.nan for name, each in samples.items()
    ]
    counts = [leaves[name].nodes["left"] if name in leaves else None for name in samples]
    n_leaves = [np.nan if left is None else (left < 0).sum() for left in counts]
    measured = np.column_stack([values, pde, pvalues, spread, n_leaves])
    names = [*SCORES, "PDE", "p-value", "spread", "leaves"]
    return xr.Dataset({"measured": (("calibrator", "score"), measured)}, {"calibrator": [*METHODS], "score": names})


def _of(data: Data, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return data.features[rows], data.labels[rows]


def _names(data: Data) -> tuple[str, ...]:
    return tuple(f"x{column + 1}" for column in range(data.features.shape[1]))


def _sample(said: np.ndarray, data: Data, rows: np.ndarray) -> cs.Sample:
    variables = dict(zip(_names(data), data.features[rows].T, strict=True))
    return cs.Sample(data.labels[rows], said, variables=variables, labels=[0, 1])


# What was found.


@final
@dataclass(frozen=True)
class TreeMetrics(Study):
    """Appendices C and D and Table 3 of Torabian & Urner (2024)."""

    folder: str | None = option("DIR", "a folder of CSV files, the class in the last column: your data sets, too")

    plan = Plan(
        aim="where PDE is less biased than ECE for trees, what size costs, and which method wins by which measure",
        mechanisms=f"trees of {', '.join(map(str, LEAVES))} leaves, grown on {', '.join(map(str, GROWN))} rows of two "
        "worlds with a known regression function, or with their labels averaged, so that they are calibrated; the data "
        "sets that scikit-learn ships, and those of --folder, split at random",
        estimands="the true calibration error of each tree, by enumeration of its leaves; of real data it is unknown",
        methods="ECE and PDE in cells of equal mass and of the top of the tree (breadth first); Platt scaling and "
        "isotonic regression of a support vector machine, a probability calibration tree (PCT), and a pruned tree",
        performance="bias, in samples and in the limit; PDE and 0/1 loss over the number of leaves; data sets where a "
        "method is best; each with its Monte Carlo standard error",
    )

    def parts(self, scale: Scale) -> dict[str, Repeats]:
        """Measure biases on the worlds, and split the data sets."""
        if self.folder is not None:
            read(self.folder)  # what is wrong there is said before the work
        n = scale.pick((200, 1000, 5000), (200, 1000, 5000), (200, 1000, 5000, 20_000))
        return {
            "bias": Repeats(Bias(n), scale.pick(12, 50, 1000)),
            "splits": Repeats(EverySplit(self.folder), scale.pick(3, 15, 200), SEED + 1),
        }

    @staticmethod
    def text(found: Datasets) -> str:
        """Say where PDE is less biased, what size costs, and who wins."""
        bias, splits = found["bias"], found["splits"]
        nearer, large = which_is_nearer(bias), large_error(bias)
        most = int(bias["n"].max())
        by_tree, by_mass = (
            {kept: _share(nearer.sel(n=most, kind=kind), large.sel(kind=kind) == kept) for kept in (True, False)}
            for kind in (BY_TREE, BY_MASS)
        )
        at_the_top = nearer.sel(n=most, kind=BY_TREE)
        rises, bent = rising(splits)
        n_data = splits.sizes["data"]
        tree_wins = int(best(splits, "PDE").sel(calibrator="tree").sum())
        lines = [
            f"Whether PDE is less biased than ECE depends on the tree. In cells at its top and with {most} rows it is "
            f"in {by_tree[True]} settings in which the error of the tree is larger than the spread of scores within "
            f"cells, and in {by_tree[False]} others; in cells of equal mass in {by_mass[True]} and {by_mass[False]}. "
            f"At the top of trees grown on {GROWN[0]} rows, which are far too sure, it is in "
            f"{_share(at_the_top.sel(tree=str(GROWN[0])))}, of calibrated ones in "
            f"{_share(at_the_top.sel(tree=AVERAGED))} (settings that two standard errors decide). In cells of equal "
            f"scores both are the same. With more leaves PDE rises in {rises} of {n_data} data sets, and the 0/1 loss "
            f"first falls and then rises in {bent}. By PDE the tree beats PCT in {tree_wins} of {n_data}: PDE counts "
            "the spread of scores in a leaf as an error, and a tree has none.",
        ]
        return "\n".join([*lines, *_of_bias(bias, nearer), *_of_size(splits), *_of_table_3(splits)])

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw the map of the claim, some biases, the trade-off over size, and what PDE is made of."""
        bias, splits = found["bias"], found["splits"]
        figure, axes = plt.subplots(2, 3, figsize=(15, 9), layout="constrained")
        for ax, kind in zip(axes[0], (BY_MASS, BY_TREE), strict=False):
            _draw_map(ax, bias.sel(kind=kind))
        _draw_biases(axes[0, 2], bias)
        _draw_size(axes[1, 0], axes[1, 1], splits)
        _draw_table_3(axes[1, 2], splits)
        return figure


def gaps(bias: xr.Dataset) -> xr.DataArray:
    """Return estimates minus true errors, repeat by repeat."""
    return bias["estimate"] - bias["truth"]


def which_is_nearer(bias: xr.Dataset) -> xr.DataArray:
    """Return 1 where PDE is less biased than ECE, -1 where it is more, by two standard errors, 0 where neither."""
    gap = gaps(bias)
    signed = gap * np.sign(gap.mean("repeat"))
    less = signed.sel(measure="ECE", drop=True) - signed.sel(measure="PDE", drop=True)
    mean, error = less.mean("repeat"), less.std("repeat", ddof=1) / np.sqrt(less.sizes["repeat"])
    return xr.where(np.abs(mean) > 2 * error, np.sign(mean), 0).where(mean.notnull())


def large_error(bias: xr.Dataset) -> xr.DataArray:
    """Return whether the error of the tree is larger than the spread of its scores within a cell, on average."""
    truth, spread = bias["truth"].mean("repeat"), bias["spread"].mean("repeat")
    return (truth > spread).where(spread.notnull())


def _share(nearer: xr.DataArray, kept: xr.DataArray | None = None) -> str:
    """Return in how many settings PDE is less biased, of those that are kept and that two standard errors decide."""
    known = nearer if kept is None else nearer.where(kept)
    return f"{int((known > 0).sum())} of {int((known != 0).where(known.notnull(), False).sum())}"


def _of_bias(bias: xr.Dataset, nearer: xr.DataArray) -> list[str]:
    """Return the map of the claim as a table, and one world's biases."""
    n = bias["n"].values
    lines = [
        "",
        "settings (worlds, leaves, cells) in which PDE is less biased than ECE, and in which more, by 2 standard "
        "errors",
        "",
        f"  {'tree':14}{'cells':18}{'true error':>12}"
        + "".join(f"{f'n = {each}':>18}" for each in n)
        + f"{'n without end':>18}",
    ]
    ends = limits_nearer(bias)
    for tree in bias["tree"].values:
        for kind in bias["kind"].values:
            own = [nearer.sel(tree=tree, kind=kind, n=each) for each in n] + [ends.sel(tree=tree, kind=kind)]
            cells = [f"{int((each > 0).sum())}, {int((each < 0).sum())} of {int(each.notnull().sum())}" for each in own]
            error = bias["truth"].sel(tree=tree).mean().item()
            lines.append(f"  {_grown(tree):14}{kind:18}{error:>12.3f}" + "".join(f"{each:>18}" for each in cells))
    world, leaves, cells, rows = EXAMPLE
    lines += ["", f"bias (standard error): {world} world, {leaves} leaves, {cells} cells, {rows} rows", ""]
    heads = [f"{measure}, {kind}" for kind in bias["kind"].values for measure in MEASURES]
    lines.append(f"  {'tree':14}{'true error':>12}" + "".join(f"{head:>24}" for head in [*heads, "equal scores"]))
    own = bias.sel(world=world, leaves=leaves, n=rows)
    for tree in bias["tree"].values:
        at = own.sel(tree=tree)
        gap = (at["estimate"] - at["truth"]).sel(cells=cells)
        values = [gap.sel(kind=kind, measure=measure) for kind in bias["kind"].values for measure in MEASURES]
        cells_of_row = [_with_error(each) for each in [*values, at["in_leaves"] - at["truth"]]]
        error = at["truth"].mean().item()
        lines.append(f"  {_grown(tree):14}{error:>12.3f}" + "".join(f"{each:>24}" for each in cells_of_row))
    return lines


EXAMPLE = ("hard", 32, 8, 1000)


def limits_nearer(bias: xr.Dataset) -> xr.DataArray:
    """Return 1 where the limit of PDE is nearer to the true error than that of ECE, -1 where it is farther."""
    away = np.abs((bias["limit"] - bias["truth"]).mean("repeat"))
    less = away.sel(measure="ECE", drop=True) - away.sel(measure="PDE", drop=True)
    return np.sign(less).where(less.notnull())


def _grown(tree: str) -> str:
    return tree if tree == AVERAGED else f"{tree} rows"


def _with_error(values: xr.DataArray, digits: str = "+.4f") -> str:
    """Return the mean over repeats and its standard error, or a dash where there is none."""
    known = values.dropna("repeat")
    if not known.sizes["repeat"]:
        return "-"
    error = known.std("repeat", ddof=1).item() / np.sqrt(known.sizes["repeat"])
    return bracketed(known.mean().item(), error, digits)


def _beyond(values: xr.DataArray) -> int:
    """Return 1 or -1 if the mean over repeats is above or below 0 by two standard errors, else 0."""
    known = values.dropna("repeat")
    mean, error = known.mean().item(), known.std("repeat", ddof=1).item() / np.sqrt(max(known.sizes["repeat"], 1))
    return int(np.sign(mean)) if abs(mean) > 2 * error else 0


def largest(own: xr.Dataset) -> int:
    """Return the largest number of leaves that a data set's trees reach in most splits."""
    reached = own["pde"].notnull().mean("repeat") > 0.5
    return int(own["size"].where(reached).max())


def rising(splits: xr.Dataset) -> tuple[int, int]:
    """Count data sets in which PDE rises with the leaves, and those in which the loss falls and then rises."""
    rises = bent = 0
    for name in splits["data"].values:
        own = splits.sel(data=name)
        few, many = own.isel(size=0), own.sel(size=largest(own))
        rises += _beyond(many["pde"] - few["pde"]) > 0
        low = own.sel(size=int(own["loss"].mean("repeat").sel(size=slice(None, largest(own))).idxmin()))
        bent += _beyond(low["loss"] - few["loss"]) < 0 and _beyond(many["loss"] - low["loss"]) > 0
    return rises, bent


def _of_size(splits: xr.Dataset) -> list[str]:
    """Return PDE, its noise and the loss of the smallest, best, largest and pruned tree of each data set."""
    lines = [
        "",
        "leaves: PDE in them, of which noise alone gives [...], and 0/1 loss; best: least loss of these trees",
        "",
    ]
    kinds = ("fewest", "best", "most", "pruned")
    lines.append(f"  {'data':24}" + "".join(f"{kind:>30}" for kind in kinds) + f"{'pruned loss - best':>24}")
    for name in splits["data"].values:
        own = splits.sel(data=name)
        most = largest(own)
        low = int(own["loss"].mean("repeat").sel(size=slice(None, most)).idxmin())
        cells = [_tree_of(own.sel(size=size)) for size in (int(own["size"][0]), low, most)] + [_tree_of(own, "pruned_")]
        change = _with_error(own["pruned_loss"] - own["loss"].sel(size=low), "+.3f")
        lines.append(f"  {name[:23]:24}" + "".join(f"{cell:>30}" for cell in cells) + f"{change:>24}")
    used = splits[["rows", "rows_of_file"]].isel(repeat=0)
    counts = zip(used["data"].values, used["rows"].values, used["rows_of_file"].values, strict=True)
    told = (f"{name} {rows} of {whole}" for name, rows, whole in counts)
    lines.append(f"  rows used (whole ones, at most {MOST_ROWS}): " + ", ".join(told))
    if splits.attrs["left_out"]:
        lines.append(f"  too small, and left out: {splits.attrs['left_out']}")
    known = splits["true_error"].mean(["repeat"]).dropna("data", how="all")
    for name in known["data"].values:
        own = known.sel(data=name).dropna("size")
        bias = (splits["pde"] - splits["true_error"]).sel(data=name)
        errors = ", ".join(
            f"{size}: {own.sel(size=size).item():.3f}, bias of PDE {_with_error(bias.sel(size=size), '+.3f')}"
            for size in own["size"].values[[0, len(own) // 2, -1]]
        )
        lines.append(f"  true error of {name}, by leaves: {errors}")
    return lines


def _tree_of(own: xr.Dataset, kind: str = "") -> str:
    leaves, pde, noise, loss = (
        own[f"{kind}{name}"].mean("repeat").item() for name in ("n_leaves", "pde", "noise", "loss")
    )
    return f"{leaves:.0f}: {pde:.3f} [{noise:.3f}], {loss:.3f}"


def best(splits: xr.Dataset, score: str) -> xr.DataArray:
    """Return where a method is best on a data set, to three digits: ties count for all, as in Table 3."""
    means = np.round(splits["measured"].sel(score=score).mean("repeat"), 3)
    return means == (means.max("calibrator") if score == "AUC" else means.min("calibrator"))


def clearly_best(splits: xr.Dataset, score: str) -> xr.DataArray:
    """Return where a method is better than each other one by two standard errors between splits."""
    values = splits["measured"].sel(score=score) * (-1 if score == "AUC" else 1)
    ahead = values - values.rename(calibrator="other")
    mean, error = ahead.mean("repeat"), ahead.std("repeat", ddof=1) / np.sqrt(ahead.sizes["repeat"])
    behind = (mean < -2 * error) | mean.isnull() | (ahead["calibrator"] == ahead["other"])
    return behind.all("other") & mean.notnull().any("other")


def _of_table_3(splits: xr.Dataset) -> list[str]:
    """Return in how many data sets each method is best, beside the paper's numbers, and what PDE is made of."""
    lines = [
        "",
        f"Table 3: data sets of {splits.sizes['data']} where a method is best (ties count for all); clearly best, by "
        "2 standard errors; best in the paper, of 36",
        "",
    ]
    lines.append(f"  {'':14}" + "".join(f"{method:>18}" for method in METHODS))
    for score in [*SCORES, "PDE"]:
        wins, clear = best(splits, score), clearly_best(splits, score)
        cells = []
        for place, method in enumerate(METHODS):
            known = splits["measured"].sel(score=score, calibrator=method).notnull().any()
            paper = PUBLISHED.get(score, (None,) * len(METHODS))[place]
            own = f"{int(wins.sel(calibrator=method).sum())}; {int(clear.sel(calibrator=method).sum())}; {paper or '-'}"
            cells.append(own if known else "-")
        lines.append(f"  {score:14}" + "".join(f"{cell:>18}" for cell in cells))
    rejected = (splits["measured"].sel(score="p-value") <= LEVEL + 1e-12).mean("data")
    lines.append(
        f"  {'rejected, %':14}"
        + "".join(f"{_with_error(100 * rejected.sel(calibrator=m), '.0f'):>18}" for m in METHODS)
    )
    pct = splits["measured"].sel(calibrator="PCT").mean("data")
    single = (splits["measured"].sel(calibrator="PCT", score="leaves") == 1).mean("data")
    pde, spread, ece = (_with_error(pct.sel(score=score), ".3f") for score in ("PDE", "spread", "ECE"))
    lines += [
        f"  PDE of PCT is {pde} on average, the spread of its scores within leaves {spread}, its ECE {ece}.",
        f"  Pruning leaves PCT a single leaf, so that it is Platt scaling, in {_with_error(100 * single, '.0f')} %.",
    ]
    return lines


# The figure.


def _draw_map(ax: Any, bias: xr.Dataset) -> None:
    """Draw every setting by spread and true error, and which measure is less biased."""
    kind, most = str(bias["kind"].values), int(bias["n"].max())
    nearer = which_is_nearer(bias).sel(n=most)
    truth, spread = xr.broadcast(bias["truth"].mean("repeat"), bias["spread"].mean("repeat"))
    looks = {1: ("C0", "o", "PDE"), -1: ("C1", "s", "ECE"), 0: ("0.6", "x", "neither, by 2 standard errors")}
    for sign, (color, marker, label) in looks.items():
        kept = (nearer.transpose(*truth.dims) == sign).values
        ax.plot(spread.values[kept], np.maximum(truth.values[kept], FLOOR), marker, color=color, label=label)
    ax.plot([1e-3, 1], [1e-3, 1], color="black", linewidth=1)
    ax.axhline(FLOOR, color="0.8", linewidth=1, zorder=0)
    ax.set(xscale="log", yscale="log", xlim=(2e-3, 0.6), ylim=(FLOOR * 0.8, 0.6), title=f"cells: {kind}, n = {most}")
    ax.set(xlabel="spread of scores within a cell", ylabel="true error of the tree (lowest line: 0)")
    ax.legend(title="less biased", loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3)


FLOOR = 3e-3


def _draw_biases(ax: Any, bias: xr.Dataset) -> None:
    """Draw biases over the number of cells, for the tree that is too sure and the calibrated one."""
    world, leaves, _, rows = EXAMPLE
    own = bias.sel(world=world, leaves=leaves, n=rows, kind=BY_TREE)
    for color, tree in enumerate((str(GROWN[0]), str(GROWN[1]), AVERAGED)):
        for measure, line in zip(MEASURES, ("--", "-"), strict=True):
            gap = (own["estimate"] - own["truth"]).sel(tree=tree, measure=measure)
            error = gap.std("repeat", ddof=1) / np.sqrt(gap.sizes["repeat"])
            ax.errorbar(
                own["cells"],
                gap.mean("repeat"),
                1.96 * error,
                fmt=f"o{line}",
                color=f"C{color + 2}",
                markersize=4,
                label=f"{measure}, {_grown(tree)}",
            )
    ax.axhline(0, color="black", linewidth=1)
    known = [int(each) for each in own["cells"].values if each < leaves]
    ax.set_xscale("log")
    ax.set_xticks(known, known)
    ax.minorticks_off()
    ax.set(xlabel="cells at the top of the tree", ylabel="bias", title=f"{world} world, {leaves} leaves, n = {rows}")
    ax.legend(fontsize="small", ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.13))


def _draw_size(upper: Any, lower: Any, splits: xr.Dataset) -> None:
    """Draw PDE and its noise, and the loss, over the number of leaves."""
    for color, name in enumerate(splits["data"].values):
        own = splits.sel(data=name, size=splits["size"] <= largest(splits.sel(data=name))).mean("repeat")
        upper.plot(own["size"], own["pde"], "o-", color=f"C{color}", label=name, markersize=4)
        upper.plot(own["size"], own["noise"], ":", color=f"C{color}")
        lower.plot(own["size"], own["loss"], "o-", color=f"C{color}", markersize=4)
        lower.plot(own["pruned_n_leaves"], own["pruned_loss"], "*", color=f"C{color}", markersize=11)
    for ax, words in ((upper, "PDE in the leaves (dotted: noise alone)"), (lower, "0/1 loss (star: pruned tree)")):
        ax.set_xscale("log")
        ax.set_xticks(SIZES, SIZES)
        ax.minorticks_off()
        ax.set(xlabel="leaves", ylabel=words, ylim=(0, None))
    upper.legend(fontsize="small", ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.13))


def _draw_table_3(ax: Any, splits: xr.Dataset) -> None:
    """Draw PDE of both trees, and the part of it that is the spread of scores within leaves."""
    means = splits["measured"].mean("repeat")
    places = np.arange(splits.sizes["data"])
    for shift, (method, color) in zip((-0.2, 0.2), (("PCT", "C0"), ("tree", "C1")), strict=True):
        own = means.sel(calibrator=method)
        ax.barh(places + shift, own.sel(score="PDE"), 0.38, color=color, label=f"PDE of {method}")
        ax.plot(
            own.sel(score="ECE"), places + shift, "D", color="black", markersize=5, label="ECE" if shift > 0 else None
        )
    ax.barh(
        places - 0.2,
        means.sel(calibrator="PCT", score="spread"),
        0.38,
        fill=False,
        hatch="//",
        edgecolor="white",
        label="spread of scores in leaves",
    )
    ax.set_yticks(places, splits["data"].values)
    ax.invert_yaxis()
    ax.set(xlabel="PDE, ECE", title="a tree has no spread, so PDE favours it")
    ax.legend(fontsize="small", facecolor="0.85")
