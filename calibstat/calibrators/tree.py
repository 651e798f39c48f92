"""Trees of scikit-learn, kept as plain arrays: they can be written to a file and do not depend on its version."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from calibstat.arrays import Array, Floats, Ints

Tree: TypeAlias = dict[str, Array]


def grow(features: Floats, targets: Ints, weights: Floats, **parameters: Any) -> Tree:
    """A tree that predicts the targets, by scikit-learn's DecisionTreeClassifier with its parameters."""
    grown = DecisionTreeClassifier(random_state=0, **parameters).fit(features, targets, weights)
    tree = grown.tree_
    return {
        "left": tree.children_left,
        "right": tree.children_right,
        "feature": tree.feature,
        "threshold": tree.threshold,
    }


def leaf_of(tree: Tree, features: Floats) -> Ints:
    """(n,) the node in which each row ends."""
    rounded = features.astype(np.float32)  # as scikit-learn does
    node = np.zeros(len(features), dtype=np.intp)
    rows = np.arange(len(features))
    while len(rows := rows[tree["left"][node[rows]] >= 0]):
        here = node[rows]
        goes_left = rounded[rows, tree["feature"][here]] <= tree["threshold"][here]
        node[rows] = np.where(goes_left, tree["left"][here], tree["right"][here])
    return node
