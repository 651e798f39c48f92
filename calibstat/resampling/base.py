"""Resamplers: row weights, for uncertainty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import final

import numpy as np

from calibstat.arrays import RNG, Floats, as_generator
from calibstat.estimators.base import Estimator
from calibstat.resampling.clusters import clusters, how_many, spread
from calibstat.sample import Sample


class Resampler(ABC):
    """A way of weighting rows anew.

    `groups` names the variable whose values are weighted instead of rows, for samples in clusters.
    """

    groups: str | None = None

    @abstractmethod
    def weights(self, n: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield blocks (..., n) of row weights: a function of n and rng only, so that two models get the same rows."""

    def whole_cells(self, estimator: Estimator, sample: Sample, rng: np.random.Generator) -> Floats | None:  # noqa: ARG002
        """Draw sums over cells whole, at a cost that does not grow with n; None where rows must be weighted."""
        return None

    @final
    def replicates(self, estimator: Estimator, sample: Sample, *, rng: RNG = None) -> Floats:
        """Evaluate an estimator under each set of row weights; what it prepared (cells, bandwidths) stays fixed.

        Parameters
        ----------
        estimator : Estimator
        sample : Sample
        rng : int, Generator or None

        Returns
        -------
        values : (R, ...) floats
        """
        generator = as_generator(rng)
        whole = self.whole_cells(estimator, sample, generator)
        if whole is not None:
            return whole
        evaluator = estimator.prepare(sample.predictions)
        codes = clusters(sample.predictions, self.groups)
        weights = self.weights(how_many(codes), generator)
        return np.concatenate([evaluator(sample.outcomes, spread(block, codes)) for block in weights])
