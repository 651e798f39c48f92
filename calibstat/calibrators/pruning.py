"""How far to prune a tree: the cost of a leaf is chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from calibstat.arrays import Bools, Floats, Ints
from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.tree import Tree

Says: TypeAlias = Callable[[Tree, Bools, dict[bytes, Calibrator]], Floats]


def choose_ccp_alpha(
    features: Floats, targets: Ints, weights: Floats, says: Says, n_folds: int, **parameters: Any
) -> float:
    """Cost of a leaf with the least Brier score of rows that the tree has not seen (Breiman et al. 1984, Section 3.4).

    The tree of all rows is pruned leaf by leaf; between two of these steps any cost gives the same tree, and their
    geometric mean stands for them. Each is tried on folds, and of equally good ones the largest is taken (also where
    classes are too rare for any fold).

    Parameters
    ----------
    features : (n, d) floats
    targets : (n,) ints
    weights : (n,) floats
    says : callable
        (m, K) probabilities of the rows outside a mask by a tree whose leaves are filled from those inside; a
        dictionary keeps what trees of the same rows share.
    n_folds : int
    **parameters
        Of scikit-learn's DecisionTreeClassifier.

    Raises
    ------
    ValueError
        If there are fewer than two folds.
    """
    if n_folds < 2:
        raise ValueError(
            f"n_folds is {n_folds}, but cross-validation needs at least 2; or pass ccp_alpha=0 to prune nothing"
        )
    alphas = candidates(features, targets, weights, **parameters)
    if len(alphas) == 1:
        return float(alphas[0])
    fold = folds(np.column_stack([targets, features]), n_folds)
    loss = np.zeros(len(alphas))
    for number in range(n_folds):
        train = fold != number
        if set(targets) - set(targets[train]) or train.all():
            continue  # a class to learn is missing, or there is nothing to try it on
        tried: dict[bytes, float] = {}
        known: dict[bytes, Calibrator] = {}
        grown = weakest_links(features[train], targets[train], weights[train], **parameters)
        for position, alpha in enumerate(alphas):
            tree = pruned(*grown, float(alpha))
            key = tree["left"].tobytes()
            if key not in tried:
                tried[key] = _brier(says(tree, train, known), targets[~train], weights[~train])
            loss[position] += tried[key]
    best = loss.min()
    return float(alphas[np.flatnonzero(loss <= best + 1e-12 * abs(best))[-1]])


def candidates(features: Floats, targets: Ints, weights: Floats, **parameters: Any) -> Floats:
    """(m,) increasing costs of a leaf: one for each tree on the way from all leaves to none."""
    _, collapse = weakest_links(features, targets, weights, **parameters)
    steps = np.unique(np.append(0.0, collapse[np.isfinite(collapse)]))
    return np.append(np.sqrt(steps[:-1] * steps[1:]), 2 * steps[-1])


def weakest_links(features: Floats, targets: Ints, weights: Floats, **parameters: Any) -> tuple[Tree, Floats]:
    """Grow a tree, and find at which cost of a leaf each node becomes one (infinite where a node above does before)."""
    nodes = DecisionTreeClassifier(random_state=0, **parameters).fit(features, targets, weights).tree_
    left, right = nodes.children_left, nodes.children_right
    tree: Tree = {"left": left, "right": right, "feature": nodes.feature, "threshold": nodes.threshold}
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


def pruned(tree: Tree, collapse: Floats, ccp_alpha: float) -> Tree:
    """Return the tree with every node a leaf that has become one at this cost."""
    return tree | {"left": np.where(collapse <= ccp_alpha, -1, tree["left"])}


def folds(rows: Floats, n_folds: int) -> Ints:
    """(n,) the fold of each row (n, d): sorted rows are dealt out in turn, and equal ones stay together.

    No chance is involved, the order of rows does not matter, and a row of weight two is a row that is there twice.
    """
    _, distinct = np.unique(rows, axis=0, return_inverse=True)
    return np.asarray(distinct.reshape(-1) % n_folds, dtype=np.intp)


def _brier(said: Floats, targets: Ints, weights: Floats) -> float:
    happened = np.eye(said.shape[1])[targets]
    return float(weights @ ((said - happened) ** 2).sum(axis=1))
