"""The prepared kernel calibration error: sums over pairs, exact moments under calibration, several bandwidths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Evaluator
from calibstat.estimators.kernels.cumulants import third_cumulant
from calibstat.estimators.kernels.sums import PairSums
from calibstat.estimators.large_sample import LargeSampleLaw, pearson_law
from calibstat.estimators.replicates import NUMBERS_IN_A_BATCH, in_batches
from calibstat.estimators.rows import is_chances
from calibstat.estimators.tally import ratio
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True, eq=False)
class KernelErrors:
    """Squared kernel calibration errors at several bandwidths.

    Parameters
    ----------
    bandwidths : (J,) floats
    squared : (J,) floats
        The error at each.
    standardized : (J,) floats
        (error - its mean under calibration) / its exact conditional standard deviation under calibration.
    headline : float
        What a test is about: the largest standardised error; of the biased kind, the largest error.
    """

    bandwidths: Floats
    squared: Floats
    standardized: Floats
    headline: float

    def __float__(self) -> float:
        return self.headline


@final
class KernelEvaluator(Evaluator):
    """Evaluate replicates; see `SKCE`.

    Parameters
    ----------
    predictions : Predictions
        The rows of `sums`, in their order.
    sums : PairSums
    bandwidths : tuple of float
    at_zero : float
        The kernel of a row with itself.
    biased, several : bool
        Whether i = j counts; whether the value is a record of several bandwidths.
    """

    def __init__(
        self,
        predictions: Predictions,
        sums: PairSums,
        bandwidths: tuple[float, ...],
        at_zero: float,
        *,
        biased: bool,
        several: bool,
    ) -> None:
        self.predictions, self.sums = predictions, sums
        self.bandwidths, self.at_zero = bandwidths, at_zero
        self.biased, self.several = biased, several
        self.shape = (len(bandwidths), 2) if several else ()

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Evaluate replicates: (...,) errors, or (..., J, 2) errors and standardised errors."""
        numbers = self.sums.numbers if weights is None else NUMBERS_IN_A_BATCH
        return in_batches(self._batch, outcomes, weights, self._width, numbers)

    @property
    def batch_size(self) -> int:  # type: ignore[override]
        """As many as share the kernel's values."""
        numbers = self.sums.numbers // max(1, self._width * len(self.predictions))
        return max(1, numbers) if self.sums.shared else 1

    @cached_property
    def scale(self) -> float | None:  # type: ignore[override]
        """The exact standard deviation under calibration, given the predictions."""
        if self.several or self.biased:
            return None
        return float(self._null(self._masses(None))[1][0, 0]) or None

    def large_sample(self, rng: np.random.Generator) -> LargeSampleLaw | None:
        """Return the shifted gamma law with the exact mean, variance and third cumulant."""
        if self.several or self.biased:
            return None
        masses = self._masses(None)
        pairs = float(self._pairs(masses)[0])
        if self.scale is None or not pairs:
            return pearson_law(0.0, 0.0)
        third = third_cumulant(self.predictions.chances, masses[0], self.sums, rng)
        return pearson_law(self.scale**2, third / pairs**3)

    def present(self, value: Floats) -> Any:
        """Return the error, or a record of several."""
        if not self.several:
            return float(value)
        headline = float(value[:, 0 if self.biased else 1].max())
        return KernelErrors(np.array(self.bandwidths), value[:, 0], value[:, 1], headline)

    @property
    def _width(self) -> int:
        n_classes = self.predictions.n_classes
        return 1 if n_classes == 2 else n_classes * (n_classes + 1) // 2 if self.several else n_classes

    def _masses(self, weights: Array | None) -> Floats:
        own = self.predictions.weights
        masses = np.ones((1, len(self.predictions))) if own is None else own[None]
        return masses if weights is None else masses * np.take(weights, self.sums.rows, axis=1)

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        """Evaluate replicates (R, n) or (R, n, K): (R, *shape)."""
        masses = self._masses(weights)
        chances, weighted = is_chances(outcomes), weights is not None or self.predictions.weights is not None
        placed = np.take(outcomes, self.sums.rows, axis=1) if chances else self._placed(outcomes)
        vectors = self._residuals(placed)
        if weighted:
            vectors *= masses[:, None, :]
        if len(placed) > 1 or chances or weighted or self.predictions.n_classes == 2:
            total = self._sums(vectors).sum(axis=-1)
        else:
            total = self.sums.of_labels(placed[0], self.predictions.probabilities)[:, None]
        if self.biased:
            total = total + self.at_zero * (vectors**2).sum(axis=(1, 2))
        if self.predictions.n_classes == 2:
            total *= 2
        values = ratio(total, self._pairs(masses))
        values = np.where(masses.sum(axis=-1) > 0, values, np.nan).T
        if not self.several:
            return values[:, 0]
        mean, deviation = self._moments if weights is None else self._null(masses)
        standardized = (values - mean) / np.where(deviation > 0, deviation, 1.0)
        return np.stack([values, standardized], axis=-1)

    def _placed(self, outcomes: Array) -> Array:
        """Put outcomes (R, n) into the order of the sums; one row after the other, which numpy does faster."""
        if not self.sums.moved:
            return outcomes[:, : len(self.sums.rows)]
        found = np.empty((len(outcomes), len(self.sums.rows)), dtype=outcomes.dtype)
        for row, outcome in zip(found, outcomes, strict=True):
            np.take(outcome, self.sums.rows, out=row)
        return found

    def _sums(self, vectors: Floats, power: int = 1) -> Floats:
        """Sums over pairs of vectors (R, c, n), for each bandwidth: (J, R, c)."""
        n_replicates, width, n = vectors.shape
        sums = self.sums(vectors.reshape(n_replicates * width, n), power)
        return sums.reshape(len(self.bandwidths), n_replicates, width)

    def _pairs(self, masses: Floats) -> Floats:
        return masses.sum(axis=-1) ** 2 if self.biased else self.sums.pairs(masses)

    def _residuals(self, outcomes: Array) -> Floats:
        """Components (R, c, n) of outcome - prediction; for two classes the event, half of the products."""
        seen = self.predictions
        chances = is_chances(outcomes)
        if seen.n_classes == 2:
            return np.asarray((outcomes[..., 1] if chances else outcomes) - seen.event)[:, None, :]
        codes = np.arange(seen.n_classes)[:, None]
        hits = np.swapaxes(outcomes, 1, 2) if chances else outcomes[:, None, :] == codes
        return np.subtract(hits, seen.probabilities.T, order="C")

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        return self._null(self._masses(None))

    def _null(self, masses: Floats) -> tuple[Floats, Floats]:
        """Return mean (R, 1) and standard deviation (R, J) under calibration, given the predictions."""
        parts, times = self._covariances()
        variance = 2 * (self._sums((masses**2)[:, None, :] * parts, power=2) * times).sum(axis=-1)
        pairs = self._pairs(masses)
        mean = np.zeros((len(masses), 1))
        if self.biased:
            rows = self.predictions.chances
            squares, cubes = (rows**2).sum(axis=1), (rows**3).sum(axis=1)
            mean[:, 0] = self.at_zero * ratio((masses**2 * (1 - squares)).sum(axis=-1), pairs)
            # the squared norm of e is sum p^2 + 1 - 2 p_Y
            variance = variance + self.at_zero**2 * (masses**4 * 4 * (cubes - squares**2)).sum(axis=-1)
        return mean, np.sqrt(np.maximum(ratio(variance, pairs**2), 0.0)).T

    def _covariances(self) -> tuple[Floats, Floats]:
        """Entries (c, n) of the covariance of each label, and how often each occurs in tr(V V')."""
        rows = self.predictions.chances
        if self.predictions.n_classes == 2:
            return 2 * rows.prod(axis=1)[None], np.ones(1)
        first, second = np.triu_indices(rows.shape[1])
        same = first == second
        return (rows[:, first] * (same - rows[:, second])).T, np.where(same, 1.0, 2.0)
