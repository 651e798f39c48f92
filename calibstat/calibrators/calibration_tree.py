"""Probability calibration trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.columns import split_columns
from calibstat.calibrators.leaves import calibrate_leaves, fit_leaves
from calibstat.calibrators.one_vs_rest import OneVsRest
from calibstat.calibrators.platt import Platt
from calibstat.calibrators.tree import grow, leaf_of


@final
class CalibrationTree(Calibrator):
    """A tree whose leaves hold logistic models of the probabilities (Leathart et al. 2017).

    The tree is grown by CART, on the variables, or on the probabilities where there are no variables. A leaf with too
    few classes takes the model of all rows.

    Parameters
    ----------
    variables : sequence of int or str
        Columns of X that are not probabilities.
    calibrator : Calibrator, optional
        What the leaves hold; by default Platt(), one-vs-rest for more than two classes.
    max_depth : int, optional
    min_share : float
        The least share of the rows in a leaf, up to 0.5.
    ccp_alpha : float
        How much a leaf costs in cost-complexity pruning.

    Attributes
    ----------
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
        ccp_alpha: float = 0.0,
    ) -> None:
        self.variables = variables
        self.calibrator = calibrator
        self.max_depth = max_depth
        self.min_share = min_share
        self.ccp_alpha = ccp_alpha

    def _split(self, X: Floats) -> tuple[Floats, Floats]:
        return split_columns(self, X, self.variables)

    def _fit(self, probabilities: Floats, variables: Floats, targets: Ints, weights: Floats) -> None:
        features = self._features(probabilities, variables)
        self.tree_ = grow(
            features,
            targets,
            weights,
            max_depth=self.max_depth,
            min_weight_fraction_leaf=self.min_share,
            ccp_alpha=self.ccp_alpha,
        )
        model = self.calibrator
        if model is None:
            model = Platt() if probabilities.shape[1] == 2 else OneVsRest()
        self.calibrators_ = fit_leaves(model, leaf_of(self.tree_, features), probabilities, targets, weights)

    def _features(self, probabilities: Floats, variables: Floats) -> Floats:
        return variables if variables.shape[1] else np.ascontiguousarray(probabilities[:, 1:])

    def _calibrate(self, probabilities: Floats, variables: Floats) -> Floats:
        leaves = leaf_of(self.tree_, self._features(probabilities, variables))
        return calibrate_leaves(self.calibrators_, leaves, probabilities)
