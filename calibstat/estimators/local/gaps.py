"""Differences of a local fit and the prediction, cell by cell."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.combined.named_values import leading_shape
from calibstat.estimators.local.cells import LocalCells, Smooth
from calibstat.estimators.local.fits import LocalOperator


class GapsOfCells:
    """Absolute differences of the smooth and the prediction in each cell, with the masses of cells.

    Parameters
    ----------
    cells : LocalCells or None
    parameters : Smooth
    """

    def __init__(self, cells: LocalCells | None, parameters: Smooth) -> None:
        self.cells = cells
        if cells:
            self.operator: LocalOperator = cells.operator(cells.centres, parameters)
            self.matrix = self.operator.matrix(cells.mass)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> tuple[Floats, Floats]:
        """Return gaps (..., M) and masses (..., M)."""
        if not self.cells:
            empty = np.zeros((*leading_shape(outcomes, weights), 0))
            return empty, empty
        tally = self.cells.plan(outcomes, weights)
        residual = tally.residual[..., 0]
        if weights is None:
            return np.abs(residual @ self.matrix.T), np.broadcast_to(tally.weight, residual.shape)
        mass = np.broadcast_to(tally.weight, residual.shape).reshape(-1, residual.shape[-1])
        fits = self.operator.fit(mass, residual.reshape(-1, 1, residual.shape[-1]))
        return np.abs(fits.reshape(residual.shape)), mass.reshape(residual.shape)
