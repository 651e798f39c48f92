"""Probability calibration trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from calibstat.arrays import Bools, Floats, Ints
from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.columns import split_columns
from calibstat.calibrators.leaves import calibrate_leaves, fit_leaves
from calibstat.calibrators.one_vs_rest import OneVsRest
from calibstat.calibrators.platt import Platt
from calibstat.calibrators.pruning import choose_ccp_alpha
from calibstat.calibrators.tree import Tree, grow, leaf_of


@final
class CalibrationTree(Calibrator):
    """A tree whose leaves hold logistic models of the probabilities (Leathart et al. 2017).

    The tree is grown by CART (the paper boosts), on the variables, or on the probabilities where there are no
    variables, and pruned by cross-validation: the cost of a leaf is the one with the least Brier score, logistic models
    included, on rows that neither tree nor models have seen. A leaf with too few classes takes the model of all rows.

    Parameters
    ----------
    variables : sequence of int or str
        Columns of X that are not probabilities.
    calibrator : Calibrator, optional
        What the leaves hold; by default Platt(), one-vs-rest for more than two classes.
    max_depth : int, optional
    min_share : float
        The least share of the rows in a leaf, up to 0.5.
    ccp_alpha : float, optional
        How much a leaf costs in cost-complexity pruning; by default chosen by cross-validation, 0 prunes nothing.
    n_folds : int
        Of the cross-validation. Equal rows share a fold; no chance is involved.

    Attributes
    ----------
    ccp_alpha_ : float
        What a leaf has cost.
    tree_ : dict of arrays
    calibrators_ : dict of Calibrator
        By the number of the leaf, and "all".
    """

    def __init__(
        self,
        variables: Sequence[int | str] = (),
        calibrator: Calibrator | None = None,
        max_depth: int | None = None,
        min_share: float = 0.1,
        ccp_alpha: float | None = None,
        n_folds: int = 5,
    ) -> None:
        self.variables = variables
        self.calibrator = calibrator
        self.max_depth = max_depth
        self.min_share = min_share
        self.ccp_alpha = ccp_alpha
        self.n_folds = n_folds

    def _split(self, X: Floats) -> tuple[Floats, Floats]:
        return split_columns(self, X, self.variables)

    def _fit(self, probabilities: Floats, variables: Floats, targets: Ints, weights: Floats) -> None:
        features = self._features(probabilities, variables)
        model = self.calibrator
        if model is None:
            model = Platt() if probabilities.shape[1] == 2 else OneVsRest()
        growth = {"max_depth": self.max_depth, "min_weight_fraction_leaf": self.min_share}

        def says(tree: Tree, rows: Bools, known: dict[bytes, Calibrator]) -> Floats:
            leaves = leaf_of(tree, features)
            fitted = fit_leaves(model, leaves[rows], probabilities[rows], targets[rows], weights[rows], known)
            return calibrate_leaves(fitted, leaves[~rows], probabilities[~rows])

        if self.ccp_alpha is None:
            self.ccp_alpha_ = choose_ccp_alpha(features, targets, weights, says, self.n_folds, **growth)
        else:
            self.ccp_alpha_ = self.ccp_alpha
        self.tree_ = grow(features, targets, weights, ccp_alpha=self.ccp_alpha_, **growth)
        leaves = leaf_of(self.tree_, features)
        self.calibrators_ = fit_leaves(model, leaves, probabilities, targets, weights)

    def _features(self, probabilities: Floats, variables: Floats) -> Floats:
        return variables if variables.shape[1] else np.ascontiguousarray(probabilities[:, 1:])

    def _calibrate(self, probabilities: Floats, variables: Floats) -> Floats:
        leaves = leaf_of(self.tree_, self._features(probabilities, variables))
        return calibrate_leaves(self.calibrators_, leaves, probabilities)
