"""A decision tree as calibrator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.columns import split_columns
from calibstat.calibrators.tree import grow, leaf_of


@final
class DecisionTree(Calibrator):
    """The shares of the classes in the leaves of a tree that splits on the probabilities and on variables.

    Parameters
    ----------
    variables : sequence of int or str
        Columns of X that are not probabilities.
    max_depth : int, optional
    min_share : float
        The least share of the rows in a leaf, up to 0.5.
    ccp_alpha : float
        How much a leaf costs in cost-complexity pruning.

    Attributes
    ----------
    tree_ : dict of arrays
    values_ : (nodes, K) floats
        What is said in each leaf.
    """

    def __init__(
        self,
        variables: Sequence[int | str] = (),
        max_depth: int | None = None,
        min_share: float = 0.05,
        ccp_alpha: float = 0.0,
    ) -> None:
        self.variables = variables
        self.max_depth = max_depth
        self.min_share = min_share
        self.ccp_alpha = ccp_alpha

    def _split(self, X: Floats) -> tuple[Floats, Floats]:
        return split_columns(self, X, self.variables)

    def _fit(self, probabilities: Floats, variables: Floats, targets: Ints, weights: Floats) -> None:
        features = _features(probabilities, variables)
        self.tree_ = grow(
            features,
            targets,
            weights,
            max_depth=self.max_depth,
            min_weight_fraction_leaf=self.min_share,
            ccp_alpha=self.ccp_alpha,
        )
        sums = np.zeros((len(self.tree_["left"]), probabilities.shape[1]))
        np.add.at(sums, (leaf_of(self.tree_, features), targets), weights)
        total = sums.sum(axis=1, keepdims=True)
        self.values_ = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)

    def _calibrate(self, probabilities: Floats, variables: Floats) -> Floats:
        return self.values_[leaf_of(self.tree_, _features(probabilities, variables))]


def _features(probabilities: Floats, variables: Floats) -> Floats:
    """Return what a tree may split on: of two columns one says it all."""
    shown = probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities
    return np.hstack([shown, variables])
