"""Bias correction by the jackknife, and any Python function as an estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import RLock
from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import track
from calibstat.data.arrays import Array, Floats
from calibstat.data.parameters import numbers
from calibstat.data.sample import Predictions, Sample
from calibstat.estimators.base import Estimator, Evaluator, Forwarding, Headline, ResidualForm, all_weights, is_chances
from calibstat.estimators.combined import leading_shape
from calibstat.estimators.tally import replicates

# How many row weights are held in memory at once.
_NUMBERS = 2**18
# Functions of users are called by one thread at a time.
_TURN = RLock()


@final
@dataclass(frozen=True)
class Jackknifed(Forwarding):
    r"""An estimator with the jackknife's correction of its bias (Quenouille 1956), leaving out one row at a time.

    .. math:: n \hat\theta - \sum_i \Big(1 - \frac{w_i}{W}\Big) \hat\theta_{(-i)}

    with equal weights :math:`n \hat\theta - (n - 1) \bar\theta_{(\cdot)}`; the weighted form is that of Busing et al.
    (1999). A row is left out by giving it weight zero, so what the estimator prepared (cells, bandwidths) is kept. The
    correction removes a bias proportional to 1/n exactly, and the whole bias of a squared plug-in error. For errors
    with a kink at zero, such as `ECE` of a nearly calibrated model, whose bias is of order :math:`n^{-1/2}`, it removes
    about half the bias and adds variance, and the value may be negative. The remaining bias at calibration is not zero.
    Standard errors, as those of `Cox`, are those of the estimator without the correction.

    Cost: n evaluations, hence O(n^2) for most estimators, for each replicate. Put a lens in front:
    ``TopLabel() | Jackknifed(ECE())``.

    Parameters
    ----------
    estimator : Estimator
        One that can be weighted.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 0, 1, 1, 1], [0.3] * 5)
    >>> one_cell = cs.FixedEdges([0, 1])
    >>> round(cs.SquaredCE(one_cell)(sample), 6), round(cs.Jackknifed(cs.SquaredCE(one_cell))(sample), 6)
    (0.09, 0.03)
    """

    estimator: Estimator
    residual_form: ClassVar[ResidualForm] = "none"
    undefined: ClassVar[str] = "leaving out the only row leaves none"
    no_interval: ClassVar[str] = ": the correction moves with the outcomes"

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words."""
        return f"{self.estimator.quantity}, bias corrected by the jackknife"

    @property
    def estimand(self) -> Estimator:
        """What the estimator estimates."""
        return self.estimator.estimand

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the estimator once for all rows."""
        return _JackknifeEvaluator(predictions, self.estimator.prepare(predictions))

    def headline(self, values: Floats) -> Floats:
        """Reduce values as the estimator does."""
        return self.estimator.headline(values)


class _JackknifeEvaluator(Evaluator):
    def __init__(self, predictions: Predictions, inner: Evaluator) -> None:
        self.predictions = predictions
        self.inner = inner
        self.shape = inner.shape

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        n = len(self.predictions)
        if not n:
            return self.inner(outcomes, weights)
        leading = leading_shape(outcomes, weights)
        row_shape = outcomes.shape[-2:] if is_chances(outcomes) else outcomes.shape[-1:]
        rows = np.broadcast_to(outcomes, (*leading, *row_shape)).reshape(-1, *row_shape)
        moving = None if weights is None else np.broadcast_to(weights, (*leading, n)).reshape(-1, n)
        values = [self._one(row, None if moving is None else moving[i]) for i, row in enumerate(track(rows, len(rows)))]
        return np.reshape(values, (*leading, *self.shape))

    def _one(self, outcomes: Array, weights: Array | None) -> Floats:
        """Correct the value of one replicate."""
        n = len(self.predictions)
        mass = all_weights(self.predictions, weights)
        moving = np.ones(n) if weights is None else weights
        total = mass.sum()
        if not total:
            return np.full(self.shape, np.nan)
        plain = self.inner(outcomes, weights)
        value = n * plain
        size = max(1, _NUMBERS // n)
        starts = range(0, n, size)
        for start in track(starts, len(starts)):
            left_out = np.arange(start, min(start + size, n))
            kept = np.tile(moving, (len(left_out), 1))
            kept[np.arange(len(left_out)), left_out] = 0
            value = value - np.tensordot(1 - mass[left_out] / total, self.inner(outcomes, kept), axes=1)
        if errors := self.inner.standard_errors:
            value[errors] = plain[errors]
        return value

    def present(self, value: Floats) -> Any:
        return self.inner.present(value)


@final
@dataclass(frozen=True)
class Generic(Estimator):
    """Any Python function of a sample, with exact p-values; slow.

    A replicate costs one call of the function, and O(n) to make the sample that it receives. What it estimates, and to
    which errors it is blind, depends on the function.

    Parameters
    ----------
    function : callable
        Takes a `Sample` (through a lens: the induced sample) and returns a number or an array; larger values must
        be stronger evidence of miscalibration. An estimator is such a function.

    Raises
    ------
    TypeError
        If `function` cannot be called.

    Examples
    --------
    >>> import calibstat as cs
    >>> def bias(sample):
    ...     return abs((sample.outcomes - sample.predictions.event).mean())
    >>> estimator = cs.Generic(bias)
    >>> round(estimator(cs.Sample([0, 1, 1], [0.5, 0.5, 0.5])), 6)
    0.166667
    """

    function: Callable[[Sample], Any] | Estimator
    no_interval: ClassVar[str] = ", a function of which nothing is known"

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """The function's name."""
        return f"value of {self._name}"

    @property
    def _name(self) -> str:
        return getattr(self.function, "__name__", None) or repr(self.function)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Keep the predictions; the function is called anew for each replicate."""
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
        with _TURN:
            values = [
                self._one(row, None if masses is None else masses[i]) for i, row in enumerate(track(rows, len(rows)))
            ]
        return np.reshape(values, (*shape[:-1], *values[0].shape))

    def _one(self, outcomes: Array, weights: Array | None) -> Floats:
        predictions = self.predictions
        if weights is not None:
            own = 1.0 if predictions.weights is None else predictions.weights
            predictions = replace(predictions, weights=own * weights)
        function = self.estimator.function
        if isinstance(function, Estimator):  # without the error that a call raises where there is no value
            return Headline(function).prepare(predictions)(outcomes)
        return numbers("what the function returns", function(Sample.of(predictions, outcomes)), None)
