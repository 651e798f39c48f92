"""Rows in the order of the one column that is conditioned on, and the walk of their residuals."""

from __future__ import annotations

from copy import copy

import numpy as np

from calibstat.binnings.base import borders, first_of_ties
from calibstat.data.arrays import Array, Floats
from calibstat.data.sample import Predictions
from calibstat.estimators.base import Estimator, is_chances, two_classes
from calibstat.estimators.tally import ratio


def one_column(estimator: Estimator, predictions: Predictions) -> Floats:
    """Return the only conditioned column (n,), or say which lens would leave one."""
    if len(predictions.keys) != 1:
        raise ValueError(
            f"{estimator!r} puts rows in the order of one column, but {len(predictions.keys)} are conditioned on "
            f"({predictions.condition}); condition on one of them, for example Given('age')."
        )
    variable = predictions.column(predictions.keys[0])
    if variable.categorical:
        raise ValueError(
            f"{estimator!r} puts rows in the order of numbers, but the variable {predictions.keys[0]!r} is "
            f"categorical with levels {variable.levels!r}; use cells, for example ECE(Categories())."
        )
    return variable.values


def on_unit_interval(estimator: Estimator, predictions: Predictions) -> Floats:
    """Return the conditioned column as numbers in [0, 1]: a probability as it is, a variable divided by its range."""
    values = one_column(estimator, predictions)
    if not len(values):
        return values
    low, high = borders(predictions)
    return np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0)


class Ordered:
    """The rows of a two-class sample in increasing order of the conditioned column; equal values are one block.

    Which values are equal, `first_of_ties` says.

    Parameters
    ----------
    estimator : Estimator
        Who asks, for messages.
    predictions : Predictions

    Attributes
    ----------
    stops : (L + 1,) ints
        How many rows lie in the first 0, 1, ..., L blocks.
    values : (L,) floats
        The conditioned value of each block.
    """

    def __init__(self, estimator: Estimator, predictions: Predictions) -> None:
        two_classes(estimator, predictions)
        column = one_column(estimator, predictions)
        self.order = predictions.order
        placed = column[self.order]
        self.stops = np.append(first_of_ties(placed), len(placed))
        self.values = placed[self.stops[1:] - 1]
        self.event = predictions.event[self.order]
        self.own = None if predictions.weights is None else predictions.weights[self.order]

    def clipped(self) -> Ordered:
        """Return the same, with residuals of the predictions clipped to [0, 1], as where a null draws labels."""
        other = copy(self)
        other.event = np.clip(self.event, 0.0, 1.0)
        return other

    @property
    def variances(self) -> Floats:
        """(n,) variance of each outcome in a calibrated world, in order."""
        chance = np.clip(self.event, 0.0, 1.0)
        return chance * (1 - chance)

    @property
    def scale(self) -> float | None:
        """The standard deviation of the mean residual in a calibrated world; None if it is zero."""
        scale = float(self.standard_deviation(self.weights(None)))
        return scale if scale > 0 else None

    def standard_deviation(self, weights: Floats) -> Floats:
        """Return the standard deviation of the mean residual under weights (..., n) in order: (...,)."""
        total = weights.sum(axis=-1)
        return ratio(np.sqrt((weights**2 * self.variances).sum(axis=-1)), total, empty=np.nan)

    def weights(self, weights: Array | None) -> Floats:
        """Return the sample's weights times further ones (..., n), in order: (..., n) or (n,)."""
        own = np.ones(len(self.order)) if self.own is None else self.own
        return own if weights is None else own * np.take(weights, self.order, axis=-1)

    def happened(self, outcomes: Array) -> Floats:
        """Return the indicator of the event (..., n), or its chance, in order."""
        # not [..., order]: that would lie in memory the other way round, slow all that follows, and be added up in an
        # order that depends on the number of replicates
        if is_chances(outcomes):
            return np.take(outcomes[..., 1], self.order, axis=-1)
        return np.take(outcomes, self.order, axis=-1).astype(float)

    def cumulate(self, values: Array) -> Floats:
        """Return the sums of values (..., n), given in order, over the first 0, 1, ..., L blocks: (..., L + 1)."""
        sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
        np.cumsum(values, axis=-1, out=sums[..., 1:])
        return sums if len(self.stops) == sums.shape[-1] else np.take(sums, self.stops, axis=-1)

    def walk(self, outcomes: Array, weights: Array | None = None, signs: Array | None = None) -> Floats:
        r"""Return the walk of mean residuals, origin included: (..., L + 1).

        .. math:: C_k = \sum_{i \le k} w_i (y_i - p_i) \Big/ \sum_i w_i, \qquad C_0 = 0

        in probability units and at the ends of blocks only, since the order inside a block is arbitrary. Residuals are
        multiplied by `signs` (..., n), if there are any. NaN without weight.
        """
        residual = self.happened(outcomes)
        residual -= self.event
        if signs is not None:
            residual = residual * np.take(signs, self.order, axis=-1)
        if self.own is None and weights is None:
            walk = self.cumulate(residual)
            walk /= len(residual.T) or np.nan
            return walk
        mass = self.weights(weights)
        total = np.asarray(mass.sum(axis=-1))
        return ratio(self.cumulate(residual * mass), total[..., None], empty=np.nan)
