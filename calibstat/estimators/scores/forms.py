r"""Score statistics :math:`U^\top C^+ U`: sums of residuals in several directions, and their exact covariance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Evaluator
from calibstat.estimators.large_sample import LargeSampleLaw, chi_square_law
from calibstat.estimators.replicates import in_batches
from calibstat.estimators.rows import is_chances
from calibstat.predictions import Predictions

# Directions with less than this share of the largest variance (of unit-variance sums) are not new ones.
_RANK = 1e-10
_ROWS_IN_A_CHUNK = 2**13
# Known chances below this are none.
_ROUNDING = 1e-12


@final
class ScoreForm(Evaluator):
    r"""The statistic of sums :math:`U_q = \sum_i w_i (1\{y_i = k_q\} - p_{i k_q}) d_{iq}`.

    Given the predictions, U has mean zero and covariance C = sum_i w_i^2 D_i' V_i D_i under calibration, V_i that of
    one label; the statistic has mean rank(C) and is asymptotically chi-square with as many degrees of freedom. An
    outcome of chance zero has no variance to be measured by, and no calibrated world shows it: it makes the statistic
    infinite.

    Parameters
    ----------
    predictions : Predictions
    codes : sequence of int
        The class k of each direction.
    directions : (q, n) floats
    """

    def __init__(self, predictions: Predictions, codes: list[int], directions: Floats) -> None:
        self.predictions = predictions
        self.codes = np.array(codes)
        self.directions = directions
        self.doubtful = np.flatnonzero((predictions.chances == 0).any(axis=1))
        self.roots, self.rank = _roots(self._covariances(self._masses(None)))

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Evaluate replicates: (...,) statistics."""
        return in_batches(self._batch, outcomes, weights, 4)

    def signed(self, outcomes: Array, signs: Array) -> Floats:
        """Evaluate with residuals multiplied by signs; finite, as nothing impossible happens in the null world."""
        own = self._masses(None)
        parts = [self._quadratic(self._sums(outcomes[None], own * some), self.roots) for some in np.atleast_2d(signs)]
        return np.concatenate(parts).reshape(signs.shape[:-1])

    def large_sample(self, rng: np.random.Generator) -> LargeSampleLaw:  # noqa: ARG002
        """Return the chi-square law with rank(C) degrees of freedom."""
        return chi_square_law(self.rank)

    def _masses(self, weights: Array | None) -> Floats:
        own = self.predictions.weights
        masses = np.ones((1, len(self.predictions))) if own is None else own[None]
        return masses if weights is None else masses * weights

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        masses = self._masses(weights)
        roots = self.roots if weights is None else _roots(self._covariances(masses))[0]
        values = self._quadratic(self._sums(outcomes, masses), roots)
        values[self._impossible(outcomes, masses)] = np.inf
        return np.where(masses.sum(axis=-1) > 0, values, np.nan)

    def _quadratic(self, sums: Floats, roots: Floats) -> Floats:
        whitened: Floats = sums[:, None, :] @ roots
        return (whitened[:, 0, :] ** 2).sum(axis=-1)

    def _impossible(self, outcomes: Array, masses: Floats) -> Array:
        """Whether something of chance zero happened to a row that has weight: (R,)."""
        rows = self.doubtful
        if not len(rows):
            return np.zeros(len(outcomes), dtype=bool)
        chances = self.predictions.chances[rows]
        if is_chances(outcomes):
            found = ((np.abs(outcomes[:, rows]) > _ROUNDING) & (chances == 0)).any(axis=-1)
        else:
            found = chances[np.arange(len(rows)), outcomes[:, rows]] == 0
        return (found & (masses[:, rows] > 0)).any(axis=-1)

    def _sums(self, outcomes: Array, masses: Floats) -> Floats:
        sums = np.zeros((len(outcomes), len(self.codes)))
        of_code = [(code, np.flatnonzero(self.codes == code)) for code in np.unique(self.codes)]
        for rows, chances in self._chunks():
            some, directions = outcomes[:, rows], self.directions[:, rows]
            for code, same in of_code:
                hits = some[..., code] if is_chances(outcomes) else some == code
                residual = hits - chances[code]
                residual *= masses[:, rows]
                sums[:, same] += residual @ directions[same].T
        return sums

    def _chunks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield some rows at a time with their chances (K, rows)."""
        chances = self.predictions.chances
        for start in range(0, len(chances), _ROWS_IN_A_CHUNK):
            rows = slice(start, start + _ROWS_IN_A_CHUNK)
            yield rows, np.ascontiguousarray(chances[rows].T)

    def _covariances(self, masses: Floats) -> Floats:
        """Covariance of the sums for each row of weights (R, n): (R, q, q)."""
        same = self.codes[:, None] == self.codes
        total = np.zeros((len(masses), *same.shape))
        for rows, chances in self._chunks():
            directions = self.directions[:, rows]
            others = (1 - np.eye(len(chances))) @ chances  # 1 - p, with all its digits where p is almost one
            first = chances[self.codes] * directions
            own = first * others[self.codes]
            for covariance, mass in zip(total, masses[:, rows] ** 2, strict=True):
                covariance += np.where(same, (own * mass) @ directions.T, -(first * mass) @ first.T)
        return total


def _roots(covariances: Floats) -> tuple[Floats, int]:
    """Return A (R, q, q) with A A' a generalised inverse of each covariance, and the rank of the first."""
    deviation = np.sqrt(np.maximum(np.diagonal(covariances, axis1=-2, axis2=-1), 0.0))
    deviation = np.where(deviation > 0, deviation, 1.0)
    values, vectors = np.linalg.eigh(covariances / (deviation[:, :, None] * deviation[:, None, :]))
    kept = values > _RANK * np.maximum(values.max(axis=-1, keepdims=True), 1e-300)
    factors = np.where(kept, 1 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    return vectors * factors[:, None, :] / deviation[:, :, None], int(kept[0].sum())
