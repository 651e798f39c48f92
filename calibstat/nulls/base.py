"""Nulls: what is assumed, and how the distribution of a statistic under it is had."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from calibstat.estimators.base import Estimator, Evaluator
from calibstat.lenses.base import Lens
from calibstat.nulls.distributions import NullDistribution
from calibstat.predictions import Given
from calibstat.sample import Sample


class Null(ABC):
    """A null hypothesis with a way to draw from it."""

    @abstractmethod
    def draw(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator, evaluator: Evaluator | None = None
    ) -> NullDistribution:
        """Return the distribution of the estimator on samples like this one, were the null true.

        Parameters
        ----------
        estimator : Estimator
            Without a lens of its own: the caller looks first.
        sample : Sample
            As seen through the lens.
        rng : Generator
        evaluator : Evaluator, optional
            The estimator, prepared on the sample's predictions, if the caller has it already.
        """

    @abstractmethod
    def hypothesis(self, lens: Lens, given: Given) -> str:
        """Return the sentence that is printed with every p-value: what was tested."""
