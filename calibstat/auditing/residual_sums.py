"""Sums of residuals over the cells of many variables at once, for all replicates of a block by one sparse product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np
from scipy.sparse import csr_array

from calibstat.arrays import Array, Floats
from calibstat.auditing.levels import Levels
from calibstat.estimators.tally import ratio
from calibstat.nulls.labels import LabelLaw
from calibstat.predictions import Predictions
from calibstat.resampling.streams import blocks


@final
class ResidualSums:
    """The mean and the largest error over the cells of each variable: `ECE` and `MaximumMiscalibration` of the cells.

    Parameters
    ----------
    predictions : Predictions
    variables : sequence of Levels
    """

    def __init__(self, predictions: Predictions, variables: Sequence[Levels]) -> None:
        n = len(predictions)
        self.predictions = predictions
        self.weights = np.ones(n) if predictions.weights is None else predictions.weights
        self.starts = np.concatenate([[0], np.cumsum([each.size for each in variables])[:-1]]).astype(np.intp)
        rows = np.concatenate([each.index + start for each, start in zip(variables, self.starts, strict=True)])
        cells = int(rows.max()) + 1
        columns = np.tile(np.arange(n), len(variables))
        self.table = csr_array((np.tile(self.weights, len(variables)), (rows, columns)), shape=(cells, n))
        self.mass = self.table @ np.ones(n)

    def residuals(self, outcomes: Array) -> Floats:
        """Return outcome - prediction of each component: (..., n) -> (c, ..., n)."""
        first = 1 if self.predictions.n_classes == 2 else 0
        return np.stack([(outcomes == first + k) - column for k, column in enumerate(self.predictions.components.T)])

    def sums(self, residuals: Floats) -> Floats:
        """Return weighted sums over cells of residuals (c, R, n): (c, R, L)."""
        return np.stack([np.ascontiguousarray((self.table @ each.T).T) for each in residuals])

    def errors(self, residuals: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the largest error of each variable: (R, V), (R, V)."""
        factor = 1.0 if len(residuals) == 1 else 0.5
        gaps = factor * np.abs(self.sums(residuals)).sum(axis=0)
        mean = np.add.reduceat(gaps, self.starts, axis=1) / self.weights.sum()
        return mean, np.maximum.reduceat(ratio(gaps, self.mass), self.starts, axis=1)

    def redrawn(self, n_resamples: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the errors of labels drawn from the predictions: (R, V), (R, V)."""
        law, n = LabelLaw(self.predictions), len(self.predictions)
        drawn = [
            self.errors(self.residuals(law.invert(stream.random((size, n))[:kept])))
            for stream, size, kept in blocks(n_resamples, n, rng)
        ]
        means, largest = zip(*drawn, strict=True)
        return np.concatenate(means), np.concatenate(largest)

    def signed(self, outcomes: Array, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Return the mean errors of residuals times random signs, centred over all rows: (R, V)."""
        observed, n, drawn = self.residuals(outcomes), len(self.predictions), []
        for stream, size, kept in blocks(n_resamples, n, rng):
            signs = 2.0 * stream.integers(0, 2, size=(size, n))[:kept] - 1.0
            signs -= np.average(signs, axis=1, weights=self.weights)[:, None]
            drawn.append(self.errors(observed[:, None] * signs)[0])
        return np.concatenate(drawn)
