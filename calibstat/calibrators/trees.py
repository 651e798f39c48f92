"""Probability calibration trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias, final

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from calibstat._progress import track
from calibstat.binnings.tree_leaves import Tree, arrays_of, leaf_of
from calibstat.calibrators.base import Calibrator, dealt, fit_part, part_says, simplest, split_columns
from calibstat.calibrators.meta import OneVsRest
from calibstat.calibrators.scaling import Beta, Platt
from calibstat.calibrators.softmax import Dirichlet
from calibstat.data.arrays import Bools, Floats, Ints
from calibstat.data.parameters import Count, Limits, NotNegative

UpToHalf: TypeAlias = Annotated[float, Limits(lambda value: 0 <= value <= 0.5, "a number from 0 to 0.5")]
_MOST_FOLDS = 1000
_ROWS_A_CLASS = 10  # with fewer of them a model of a leaf was worse than none


@final
class CalibrationTree(Calibrator):
    """A tree whose leaves hold logistic models of the probabilities (Leathart et al. 2017).

    CART grows the tree (the paper boosts) on the variables, or on the probabilities if there are no variables, and
    cross-validation prunes it. The cost of a leaf is the largest one whose Brier score, on rows that neither the tree
    nor its logistic models have seen, is within one standard error of the least. A leaf with too few classes takes the
    model of all rows.

    Parameters
    ----------
    variables : sequence of int or str
        Columns of X that are not probabilities.
    calibrator : calibrator, optional
        The model of each leaf, which may be one like those of scikit-learn; by default Platt(), one-vs-rest for more
        than two classes.
    max_depth : int, optional
    min_share : float
        The least share of the rows in a leaf, up to 0.5.
    ccp_alpha : float, optional
        The cost of a leaf in cost-complexity pruning; by default cross-validation chooses it, and 0 prunes nothing.
    cv : int
        Number of folds of the cross-validation, the same in every fit. Fewer equal rows than folds share one.

    Attributes
    ----------
    ccp_alpha_ : float
        The cost of a leaf.
    tree_ : dict of arrays
    calibrators_ : dict
        The models by the number of their leaf, and that of "all" rows.
    """

    def __init__(
        self,
        variables: Sequence[int | str] = (),
        calibrator: Any = None,
        max_depth: Count | None = None,
        min_share: UpToHalf = 0.1,
        ccp_alpha: NotNegative | None = None,
        cv: int = 5,
    ) -> None:
        self.variables = variables
        self.calibrator = calibrator
        self.max_depth = max_depth
        self.min_share = min_share
        self.ccp_alpha = ccp_alpha
        self.cv = cv

    def _split(self, X: Floats) -> tuple[Floats, Floats]:
        return split_columns(self, X, self.variables)

    def _fit(self, probabilities: Floats, variables: Floats, targets: Ints, weights: Floats) -> None:
        features = self._features(probabilities, variables)
        model = self.calibrator
        if model is None:
            model = Platt() if probabilities.shape[1] == 2 else OneVsRest()

        def says(leaves: Ints, rows: Ints, counted: Floats, unseen: Ints, known: dict[bytes, Any]) -> Floats:
            fitted = fit_leaves(model, leaves[rows], probabilities[rows], targets[rows], counted, known)
            return calibrate_leaves(fitted, leaves[unseen], probabilities[unseen])

        self.ccp_alpha_, self.tree_ = grow_for(self, features, targets, weights, says)
        leaves = leaf_of(self.tree_, features)
        self.calibrators_ = fit_leaves(model, leaves, probabilities, targets, weights)

    def _features(self, probabilities: Floats, variables: Floats) -> Floats:
        return variables if variables.shape[1] else np.ascontiguousarray(probabilities[:, 1:])

    def _calibrate(self, probabilities: Floats, variables: Floats) -> Floats:
        leaves = leaf_of(self.tree_, self._features(probabilities, variables))
        return calibrate_leaves(self.calibrators_, leaves, probabilities)


@final
class DecisionTree(Calibrator):
    """The shares of the classes in the leaves of a tree that splits on the probabilities and on variables.

    Cross-validation prunes the tree as that of `CalibrationTree`, as Torabian & Urner (2024) do.

    Parameters
    ----------
    variables : sequence of int or str
        Columns of X that are not probabilities.
    max_depth : int, optional
    min_share : float
        The least share of the rows in a leaf, up to 0.5.
    ccp_alpha : float, optional
        The cost of a leaf in cost-complexity pruning; by default cross-validation chooses it, and 0 prunes nothing.
    cv : int
        Number of folds of the cross-validation, the same in every fit. Fewer equal rows than folds share one.

    Attributes
    ----------
    ccp_alpha_ : float
        The cost of a leaf.
    tree_ : dict of arrays
    values_ : (nodes, K) floats
        The calibrated probabilities in each leaf.
    """

    def __init__(
        self,
        variables: Sequence[int | str] = (),
        max_depth: Count | None = None,
        min_share: UpToHalf = 0.05,
        ccp_alpha: NotNegative | None = None,
        cv: int = 5,
    ) -> None:
        self.variables = variables
        self.max_depth = max_depth
        self.min_share = min_share
        self.ccp_alpha = ccp_alpha
        self.cv = cv

    def _split(self, X: Floats) -> tuple[Floats, Floats]:
        return split_columns(self, X, self.variables)

    def _fit(self, probabilities: Floats, variables: Floats, targets: Ints, weights: Floats) -> None:
        features = _features(probabilities, variables)
        indicators = np.eye(probabilities.shape[1])[targets]

        def says(leaves: Ints, rows: Ints, counted: Floats, unseen: Ints, _: dict[bytes, Any]) -> Floats:
            return shares(leaves[rows], indicators[rows], counted)[leaves[unseen]]

        self.ccp_alpha_, self.tree_ = grow_for(self, features, targets, weights, says)
        self.values_ = shares(leaf_of(self.tree_, features), indicators, weights)

    def _calibrate(self, probabilities: Floats, variables: Floats) -> Floats:
        return self.values_[leaf_of(self.tree_, _features(probabilities, variables))]


def _features(probabilities: Floats, variables: Floats) -> Floats:
    """Return the columns that a tree may split on; of two columns of probabilities one suffices."""
    shown = probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities
    return np.hstack([shown, variables])


def shares(leaves: Ints, indicators: Floats, weights: Floats) -> Floats:
    """Return the shares of the classes in each node (nodes, K), by the leaf of each row (n,); 0 where no row ends."""
    sums = np.stack([np.bincount(leaves, weights * column) for column in indicators.T], axis=1)
    total = sums.sum(axis=1, keepdims=True)
    return np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)


def fit_leaves(
    calibrator: Any,
    leaves: Ints,
    probabilities: Floats,
    targets: Ints,
    weights: Floats,
    known: dict[bytes, Any] | None = None,
    least_rows: int = 0,
) -> dict[str, Any]:
    """Fit a copy in each leaf, by its number; a leaf with too few classes or rows gets the fit of all rows.

    Trees that are pruned from the same rows share leaves, so that `known` keeps fits by their rows.
    """
    found = {} if known is None else known

    def fit(rows: Bools) -> Any:
        key = np.packbits(rows).tobytes()
        if key not in found:
            found[key] = fit_part(calibrator, probabilities[rows], targets[rows], weights[rows])
        return found[key]

    everywhere = fit(np.ones(len(leaves), dtype=bool))
    fitted = {"all": everywhere}
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        occur = len(np.unique(targets[rows]))
        every = getattr(calibrator, "needs_every_class", False)
        enough = (occur == probabilities.shape[1] if every else occur > 1) and rows.sum() >= least_rows
        fitted[str(leaf)] = fit(rows) if enough else everywhere
    return fitted


def calibrate_leaves(fitted: dict[str, Any], leaves: Ints, probabilities: Floats) -> Floats:
    """Calibrate each row by the calibrator of its leaf."""
    calibrated = np.empty_like(probabilities)
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        calibrated[rows] = part_says(fitted.get(str(leaf), fitted["all"]), probabilities[rows])
    return calibrated


# How trees are grown. They are kept as arrays, which can be written to a file.


def grow(features: Floats, targets: Ints, weights: Floats, **parameters: Any) -> Tree:
    """Grow a tree that predicts the targets, by scikit-learn's DecisionTreeClassifier with its parameters."""
    return arrays_of(_fitted(features, targets, weights, **parameters).tree_)


def _fitted(features: Floats, targets: Ints, weights: Floats, **parameters: Any) -> DecisionTreeClassifier:
    """Fit a tree of scikit-learn, which adds numbers of four bytes; those beyond 1e30 count as 1e30."""
    return DecisionTreeClassifier(random_state=0, **parameters).fit(np.clip(features, -1e30, 1e30), targets, weights)


# Pruning: cross-validation chooses the cost of a leaf.

Says: TypeAlias = Callable[[Ints, Ints, Floats, Ints, dict[bytes, Any]], Floats]


def grow_for(
    fitted: CalibrationTree | DecisionTree, features: Floats, targets: Ints, weights: Floats, says: Says
) -> tuple[float, Tree]:
    """Return the cost of a leaf, its own or that of cross-validation, and the tree of a calibrator at this cost."""
    growth = {"max_depth": fitted.max_depth, "min_weight_fraction_leaf": fitted.min_share}
    cost = fitted.ccp_alpha
    if cost is None:
        cost = choose_ccp_alpha(features, targets, weights, says, fitted.cv, **growth)
    return cost, grow(features, targets, weights, ccp_alpha=cost, **growth)


def choose_ccp_alpha(features: Floats, targets: Ints, weights: Floats, says: Says, cv: int, **parameters: Any) -> float:
    """Return the cost of a leaf by the Brier score of unseen rows (Breiman et al. 1984, Section 3.4).

    The tree of all rows is pruned leaf by leaf. All costs between two of these steps give the same tree, and their
    geometric mean represents them. Each is tried on folds, and the largest within one standard error of the best is
    taken; if classes are too rare for any fold, it is the largest of all.

    `says` takes the leaf of each row, the numbers of the rows to which leaves are fitted, their weights and the numbers
    of other rows, and returns the probabilities (m, K) of these; a dictionary keeps what trees of the same rows share.
    The parameters are those of DecisionTreeClassifier.
    """
    if not 2 <= cv <= _MOST_FOLDS:
        raise ValueError(f"cv is {cv}, but 2 to {_MOST_FOLDS} folds are expected; or pass ccp_alpha=0 to prune nothing")
    alphas = candidates(features, targets, weights, **parameters)
    if len(alphas) == 1:
        return float(alphas[0])
    places, fold, counted = dealt(targets, features, weights, cv)
    found = []
    for number in track(range(cv), cv):
        train, test = places[fold != number], places[fold == number]
        if set(targets) - set(targets[train]) or not len(test):
            continue  # a class is missing, or no row is left to try it on
        fitted, judged = counted[fold != number], counted[fold == number]
        tried: dict[bytes, float] = {}
        known: dict[bytes, Any] = {}
        row = []
        tree, collapse = weakest_links(features[train], targets[train], fitted, **parameters)
        leaves = leaf_of(tree, features)
        for alpha in alphas:
            end = ends(tree, collapse <= alpha)
            key = end.tobytes()
            if key not in tried:
                said = says(end[leaves], train, fitted, test, known)
                squares = (said - np.eye(said.shape[1])[targets[test]]) ** 2
                tried[key] = float(judged @ squares.sum(axis=1))
            row.append(tried[key])
        found.append(row[::-1])
    return float(alphas[::-1][simplest(np.array(found).T, np.ones(len(found)))]) if found else float(alphas[-1])


def candidates(features: Floats, targets: Ints, weights: Floats, **parameters: Any) -> Floats:
    """Return increasing costs of a leaf (m,), one for each tree between all leaves and none."""
    _, collapse = weakest_links(features, targets, weights, **parameters)
    steps = np.unique(np.append(0.0, collapse[np.isfinite(collapse)]))
    return np.append(np.sqrt(steps[:-1] * steps[1:]), 2 * steps[-1])


def weakest_links(features: Floats, targets: Ints, weights: Floats, **parameters: Any) -> tuple[Tree, Floats]:
    """Grow a tree, and find the cost at which each node becomes a leaf (infinite if a node above does before)."""
    nodes = _fitted(features, targets, weights, **parameters).tree_
    tree = arrays_of(nodes)
    left, right = tree["left"], tree["right"]
    risk = nodes.weighted_n_node_samples * nodes.impurity / nodes.weighted_n_node_samples[0]
    below, leaves, parent = risk.copy(), np.ones(len(left)), np.full(len(left), -1)
    for node in np.flatnonzero(left >= 0)[::-1]:  # children come after their parents
        children = [left[node], right[node]]
        below[node], leaves[node], parent[children] = below[children].sum(), leaves[children].sum(), node
    collapse, alive, cost = np.full(len(left), np.inf), left >= 0, 0.0
    while alive.any():
        gain = np.where(alive, (risk - below) / np.maximum(leaves - 1, 1), np.inf)
        weakest = int(gain.argmin())
        cost = max(cost, float(gain[weakest]))
        collapse[weakest] = cost
        fewer, more, above = leaves[weakest] - 1, risk[weakest] - below[weakest], weakest
        while above >= 0:
            leaves[above], below[above], above = leaves[above] - fewer, below[above] + more, parent[above]
        stack = [weakest]
        while stack:
            node = stack.pop()
            alive[node] = False
            stack += [int(child) for child in (left[node], right[node]) if child >= 0 and alive[child]]
    return tree, collapse


def ends(tree: Tree, cut: Bools) -> Ints:
    """Return where a row of each node (nodes,) ends if some nodes are made leaves."""
    end = np.arange(len(cut))
    for node in np.flatnonzero(tree["left"] >= 0):  # parents come before their children
        if cut[node] or end[node] < node:
            end[[tree["left"][node], tree["right"][node]]] = end[node]
    return end


@final
class VariableBased(Calibrator):
    """Beta calibration in each leaf of a tree that splits on one variable alone (Kelly and Smyth 2023).

    By default the model of each leaf is Beta(C=1), as in the authors' code, or Dirichlet() for more than two classes.
    Without a split, and in leaves with too few classes or fewer than ten rows for each class, it is the model of all
    rows.

    Parameters
    ----------
    variable : int or str
        The column of X that holds the variable; the other columns are probabilities.
    calibrator : calibrator, optional
        The model of each leaf, which may be one like those of scikit-learn.
    max_depth : int
    min_share : float
        The least share of the rows in a leaf, up to 0.5.

    Attributes
    ----------
    tree_ : dict of arrays
    calibrators_ : dict
        The models by the number of their leaf, and that of "all" rows.
    """

    def __init__(
        self, variable: int | str = -1, calibrator: Any = None, max_depth: Count = 3, min_share: UpToHalf = 0.1
    ) -> None:
        self.variable = variable
        self.calibrator = calibrator
        self.max_depth = max_depth
        self.min_share = min_share

    def _split(self, X: Floats) -> tuple[Floats, Floats]:
        return split_columns(self, X, [self.variable])

    def _fit(self, probabilities: Floats, variables: Floats, targets: Ints, weights: Floats) -> None:
        self.tree_ = grow(
            variables, targets, weights, max_depth=self.max_depth, min_weight_fraction_leaf=self.min_share
        )
        each = self.calibrator
        if each is None:
            each = Beta(C=1) if probabilities.shape[1] == 2 else Dirichlet()
        leaves, few = leaf_of(self.tree_, variables), _ROWS_A_CLASS * probabilities.shape[1]
        self.calibrators_ = fit_leaves(each, leaves, probabilities, targets, weights, least_rows=few)

    def _calibrate(self, probabilities: Floats, variables: Floats) -> Floats:
        return calibrate_leaves(self.calibrators_, leaf_of(self.tree_, variables), probabilities)
