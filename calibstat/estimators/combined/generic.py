"""Any function of a sample as an estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.tally import replicates
from calibstat.predictions import Predictions
from calibstat.sample import Sample


@final
@dataclass(frozen=True)
class Generic(Estimator):
    """Any Python function of a sample; slow, always works, and exact p-values come with it.

    A replicate costs one call of the function and O(n) for the sample that it gets. What it estimates, and what it is
    blind to, is up to the function.

    Parameters
    ----------
    function : callable
        Takes a `Sample` (through a lens: the induced sample) and returns a number or an array; larger values must
        be stronger evidence of miscalibration. An estimator is such a function.

    Examples
    --------
    >>> import calibstat as cs
    >>> def bias(sample):
    ...     return abs((sample.outcomes - sample.predictions.event).mean())
    >>> estimator = cs.Generic(bias)
    >>> round(estimator(cs.Sample([0, 1, 1], [0.5, 0.5, 0.5])), 6)
    0.166667
    """

    function: Callable[[Sample], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function is {self.function!r}, but a function of a sample is expected.")

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """The function's name."""
        return f"value of {self._name}"

    @property
    def estimand(self) -> Generic:
        """The same function; what it estimates is not known."""
        return self

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", None) or repr(self.function)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Keep the predictions; everything is done anew for each replicate."""
        return _GenericEvaluator(predictions, self)

    def __repr__(self) -> str:
        return f"Generic({self._name})"


class _GenericEvaluator(Evaluator):
    def __init__(self, predictions: Predictions, estimator: Generic) -> None:
        self.predictions = predictions
        self.estimator = estimator

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        if np.issubdtype(outcomes.dtype, np.floating):
            raise TypeError(f"{self.estimator!r} is a function of labels and cannot be evaluated on known chances.")
        shape = outcomes.shape if weights is None else np.broadcast_shapes(outcomes.shape, weights.shape)
        rows = replicates(np.broadcast_to(outcomes, shape))
        masses = None if weights is None else replicates(np.broadcast_to(weights, shape))
        values = [self._one(row, None if masses is None else masses[i]) for i, row in enumerate(rows)]
        self.shape = values[0].shape
        return np.reshape(values, (*shape[:-1], *self.shape))

    def _one(self, outcomes: Array, weights: Array | None) -> Floats:
        predictions = self.predictions
        if weights is not None:
            own = 1.0 if predictions.weights is None else predictions.weights
            predictions = replace(predictions, weights=own * weights)
        return np.asarray(self.estimator.function(Sample.of(predictions, outcomes)), dtype=float)
