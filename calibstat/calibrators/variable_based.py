"""Variable-based calibration."""

from __future__ import annotations

from typing import final

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.columns import split_columns
from calibstat.calibrators.leaves import by_number_of_classes, calibrate_leaves, fit_leaves
from calibstat.calibrators.tree import grow, leaf_of


@final
class VariableBased(Calibrator):
    """Beta calibration in each leaf of a tree that splits on one variable alone (Kelly and Smyth 2023).

    For more than two classes leaves hold Dirichlet calibration. Without a split, or where a leaf has too few classes,
    the calibrator of all rows is taken.

    Parameters
    ----------
    variable : int or str
        The column of X that holds the variable; the others are probabilities.
    calibrator : Calibrator, optional
        What the leaves hold.
    max_depth : int
    min_share : float
        The least share of the rows in a leaf, up to 0.5.

    Attributes
    ----------
    tree_ : dict of arrays
    calibrators_ : dict of Calibrator
        By the number of the leaf, and "all".
    """

    def __init__(
        self, variable: int | str = -1, calibrator: Calibrator | None = None, max_depth: int = 3, min_share: float = 0.1
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
        each = by_number_of_classes(self.calibrator, probabilities.shape[1])
        self.calibrators_ = fit_leaves(each, leaf_of(self.tree_, variables), probabilities, targets, weights)

    def _calibrate(self, probabilities: Floats, variables: Floats) -> Floats:
        return calibrate_leaves(self.calibrators_, leaf_of(self.tree_, variables), probabilities)
