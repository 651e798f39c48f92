"""Leaves of a fitted tree as cells, and trees as plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from types import EllipsisType
from typing import Any, ClassVar, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted, shown
from calibstat.binnings.base import Binning, Cells, occupied, warn_of_small_cells
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.parameters import Count, keep, numbers
from calibstat.data.sample import GivenNames, Predictions


@final
@dataclass(frozen=True, repr=False)
class TreeLeaves(Binning):
    """One cell for each leaf of a fitted tree, or for each node of a smaller one on top of it.

    The cells in which Torabian & Urner (2024) judge trees, by `ECE` and `PDE`. They depend on the variables that the
    tree splits, whatever is conditioned on: a test then is about predictions given these variables too.

    Parameters
    ----------
    tree : fitted tree
        A tree of scikit-learn, its ``tree_``, or a calibrator of this package that has a ``tree_`` (or that itself). It
        is copied, as numbers. Fit it on other rows: leaves that were chosen by the labels of a sample are no cells for
        it.
    variables : sequence of str, optional
        What the tree splits, in the order of its columns: names of variables of the sample, and ``...`` for the
        prediction of two classes. By default the names with which a tree of scikit-learn was fitted.
    n_leaves : int, optional
        The number of cells: nodes are split breadth first, from the root on, until there are so many (BFSL in the
        paper). By default all leaves.

    Raises
    ------
    ValueError, TypeError
        If the tree is not fitted, or is none, has other columns than are named, or has fewer leaves than asked for; on
        cutting, if the sample has no such variable, or one that is categorical, or ``...`` is several columns.

    Examples
    --------
    >>> import calibstat as cs
    >>> tree = {"left": [1, -1, -1], "right": [2, -1, -1], "feature": [0, 0, 0], "threshold": [50.0, 0, 0]}
    >>> sample = cs.Sample([0, 1, 1], [0.2, 0.7, 0.9], variables={"age": [62, 35, 50]})
    >>> cells = cs.TreeLeaves(tree, ["age"])
    >>> cells
    TreeLeaves(<2 leaves, 9fab5c91088f>, variables=('age',))
    >>> cs.TreeLeaves(tree, ["age"], n_leaves=1).cut(sample.predictions).size
    1
    """

    tree: Any
    variables: Sequence[str | EllipsisType] | str | None = None
    n_leaves: Count | None = None
    columns: ClassVar[int | None] = 0
    takes_counts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        tree, variables = TreeNodes.of(self.tree), self.variables
        if variables is None and tree.all_columns:  # a calibrator knows the columns of its X, which are others
            variables = getattr(self.tree, "feature_names_in_", None)
        if variables is None or not len(variables):
            raise ValueError(
                f"TreeLeaves: variables is {variables!r}, but the tree does not name its "
                f"{counted(tree.n_columns, 'column')}: say which variables of the sample they are, for example "
                "variables=('age', 'income')."
            )
        several = (variables,) if isinstance(variables, str) else variables
        named: GivenNames = tuple(each if each is ... else str(each) for each in several)
        if len(named) < tree.n_columns or (tree.all_columns and len(named) > tree.n_columns):
            least = "" if tree.all_columns else "at least "
            raise ValueError(
                f"TreeLeaves: variables are {named!r}, {len(named)} of them, but the tree splits {least}"
                f"{tree.n_columns}: name them all, in the order in which it was fitted."
            )
        fitted = tuple(map(str, getattr(self.tree, "feature_names_in_", ()))) if tree.all_columns else ()
        if named != fitted and set(named) == set(fitted):
            raise ValueError(
                f"TreeLeaves: variables are {named!r}, but the tree was fitted on {fitted!r}: name them in that order."
            )
        if self.n_leaves is not None and self.n_leaves > tree.n_leaves:
            raise ValueError(
                f"TreeLeaves: n_leaves is {self.n_leaves}, but the tree has {tree.n_leaves}: ask for at most as many, "
                "or grow a larger tree."
            )
        keep(self, tree=tree, variables=named)

    @property
    def reads(self) -> GivenNames:
        """The variables that the tree splits."""
        return tuple(self.variables or ())

    @property
    def nodes(self) -> Tree:
        """The tree of which all leaves are cells."""
        top: Tree = self.tree.top(self.n_leaves)
        return top

    def cut(self, predictions: Predictions) -> Cells:
        """Send each row to its leaf; leaves are numbered from left to right."""
        nodes = self.nodes
        found, place = leaves(nodes), np.zeros(len(nodes["left"]), dtype=np.intp)
        place[found] = np.arange(len(found))
        cells = occupied(place[leaf_of(nodes, self.features(predictions))], "fixed")
        warn_of_small_cells(self, cells.size, len(predictions))
        return cells

    def features(self, predictions: Predictions) -> Floats:
        """Return the columns (n, d) that the tree splits."""
        known = predictions.variables
        for name in self.reads:
            if isinstance(name, str) and name not in known:
                listed = ", ".join(map(repr, known)) or "none"
                raise ValueError(
                    f"{self!r} splits {name!r}, but the sample has no such variable; its variables are: {listed}. Pass "
                    "it as Sample(..., variables={name: values})."
                )
            if isinstance(name, str) and known[name].levels is not None:
                raise ValueError(
                    f"{self!r} splits numbers, but the variable {name!r} is categorical with levels "
                    f"{known[name].levels!r}: pass the columns of numbers on which the tree was fitted."
                )
        if ... in self.reads and predictions.n_classes > 2:
            raise ValueError(
                f"{self!r} splits the prediction of two classes, but there are {predictions.n_classes}: look through a "
                "lens first, for example TopLabel(), or pass the columns that the tree splits as variables."
            )
        return predictions.conditioning_on(self.reads).conditioned

    def __repr__(self) -> str:
        fewer = "" if self.n_leaves is None else f", n_leaves={self.n_leaves}"
        return f"TreeLeaves({self.tree!r}, variables={self.variables!r}{fewer})"


# Trees of scikit-learn as plain arrays, which can be written to a file and do not depend on its version.

Tree: TypeAlias = dict[str, Array]
_NAMES = {"left": "children_left", "right": "children_right", "feature": "feature", "threshold": "threshold"}


def arrays_of(nodes: Any) -> Tree:
    """Return the arrays (nodes,) of a ``tree_`` of scikit-learn."""
    return {key: getattr(nodes, name) for key, name in _NAMES.items()}


def check_nodes(tree: Tree, n_columns: float = np.inf) -> None:
    """Refuse arrays in which a path does not end, or two paths meet, or a column is not one of `n_columns`."""
    left, right, feature, threshold = (np.asarray(tree[key]) for key in _NAMES)
    if not len(left) == len(right) == len(feature) == len(threshold) > 0:
        raise ValueError("the tree has not the same number of nodes in all of its arrays")
    inner = left >= 0
    children = np.stack([left, right])[:, inner]
    # A child comes after its parent, so that every path ends.
    sound = (children > np.flatnonzero(inner)).all() and (children < len(left)).all()
    if not sound or len(np.unique(children)) < children.size:
        raise ValueError("the tree has a branch without an end")
    if np.isnan(np.asarray(threshold, dtype=np.float64)[inner]).any():
        raise ValueError("the tree has a threshold that is not a number")
    if not ((feature[inner] >= 0) & (feature[inner] < n_columns)).all():
        raise ValueError("the tree splits on columns that are not there")


def leaf_of(tree: Tree, features: Floats) -> Ints:
    """Return the node (n,) in which each row ends."""
    with np.errstate(over="ignore"):
        rounded = features.astype(np.float32)  # as in scikit-learn
    node = np.zeros(len(features), dtype=np.intp)
    rows = np.arange(len(features))
    while len(rows := rows[tree["left"][node[rows]] >= 0]):
        here = node[rows]
        goes_left = rounded[rows, tree["feature"][here]] <= tree["threshold"][here]
        node[rows] = np.where(goes_left, tree["left"][here], tree["right"][here])
    return node


@final
@dataclass(frozen=True, eq=False, repr=False)
class TreeNodes:
    """A fitted tree: its nodes breadth first, and a digest of them; two trees are equal if their digests are.

    `n_columns` is how many columns it was fitted on if `all_columns` are known, else how many it needs.
    """

    nodes: Tree
    n_columns: int
    all_columns: bool
    digest: str

    @classmethod
    def of(cls, tree: Any) -> TreeNodes:
        """Read a tree of scikit-learn, a calibrator that has one, or the arrays of either."""
        if isinstance(tree, TreeNodes):
            return tree
        found = getattr(tree, "tree_", tree)
        if not isinstance(found, dict):
            if isinstance(tree, type) or not all(hasattr(found, name) for name in _NAMES.values()):
                raise _no_tree(tree)
            arrays = arrays_of(found)
        elif set(_NAMES) <= set(found):
            arrays = {key: _whole(key, found[key]) for key in ("left", "right", "feature")}
            arrays["threshold"] = numbers("tree['threshold']", found["threshold"], (1,))
        else:
            raise _no_tree(tree)
        check_nodes(arrays)
        nodes = _breadth_first(arrays)
        known = getattr(found, "n_features", None)
        used = int(nodes["feature"].max(initial=-1)) + 1
        digest = sha256(b"".join(nodes[key].tobytes() for key in _NAMES)).hexdigest()
        return cls(nodes, used if known is None else int(known), known is not None, digest)

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int((self.nodes["left"] < 0).sum())

    def top(self, n_leaves: int | None) -> Tree:
        """Return the tree that has so many leaves, split breadth first; all of it by default."""
        left = self.nodes["left"].copy()
        left[np.flatnonzero(left >= 0)[len(left) if n_leaves is None else n_leaves - 1 :]] = -1
        return self.nodes | {"left": left}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeNodes) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<{self.n_leaves} {'leaf' if self.n_leaves == 1 else 'leaves'}, {self.digest[:12]}>"


def _whole(key: str, values: Any) -> Ints:
    """Return whole numbers (nodes,); refuse others."""
    found = numbers(f"tree[{key!r}]", values, (1,))
    wrong = ~(np.isfinite(found) & (found == np.floor(found)))
    if wrong.any():
        raise ValueError(f"tree[{key!r}] holds {found[wrong][0]:g}; it must hold whole numbers.")
    return found.astype(np.intp)


def _no_tree(tree: Any) -> Exception:
    """Say what is expected in place of what is no tree, or is not fitted."""
    found = f"tree is {tree.__name__ if isinstance(tree, type) else shown(' '.join(repr(tree).split()), 80)}"
    if isinstance(tree, type) or not hasattr(tree, "fit"):
        return TypeError(
            f"{found}, but a fitted tree is expected: DecisionTreeClassifier().fit(X, y), its tree_, or a calibrator "
            "that has one."
        )
    if hasattr(tree, "estimators_"):
        return ValueError(f"{found}, which holds several trees: pass one of its estimators_.")
    return ValueError(f"{found}, which has no tree_: fit it first, if it is a tree.")


def _breadth_first(tree: Tree) -> Tree:
    """Return the nodes that can be reached, breadth first, in a form that depends on the splits alone."""
    order = [0]
    for node in order:  # grows while it is gone through
        if tree["left"][node] >= 0:
            order += [int(tree["left"][node]), int(tree["right"][node])]
    place = np.full(len(tree["left"]), -1)
    place[order] = np.arange(len(order))
    left = tree["left"][order]
    inner = left >= 0
    return {
        "left": np.where(inner, place[left], -1),
        "right": np.where(inner, place[tree["right"][order]], -1),
        "feature": np.where(inner, tree["feature"][order], -1).astype(np.intp),
        "threshold": np.where(inner, tree["threshold"][order], 0.0).astype(np.float64),
    }


# What each leaf is: ranges of columns.

Box: TypeAlias = dict[int, tuple[float, float]]
"""The lower end (excluded) and the upper end of each column that has one."""


def leaves(tree: Tree) -> list[int]:
    """Return the nodes that are leaves, from left to right."""
    return [node for node, _ in _ranges(tree, lambda _, cut: cut)]


def boxes(tree: Tree, rounded: Callable[[int, float], float] = lambda _, cut: cut) -> list[Box]:
    """Return the ranges of the columns in each leaf, from left to right; `rounded` takes a column and a threshold."""
    return [box for _, box in _ranges(tree, rounded)]


def _ranges(tree: Tree, rounded: Callable[[int, float], float]) -> list[tuple[int, Box]]:
    found, nodes = [], [(0, Box())]
    while nodes:
        node, box = nodes.pop()
        if tree["left"][node] < 0:
            found.append((node, box))
            continue
        column = int(tree["feature"][node])
        cut = rounded(column, float(tree["threshold"][node]))
        low, high = box.get(column, (-np.inf, np.inf))
        nodes.append((int(tree["right"][node]), box | {column: (max(low, cut), high)}))
        nodes.append((int(tree["left"][node]), box | {column: (low, min(high, cut))}))
    return found
