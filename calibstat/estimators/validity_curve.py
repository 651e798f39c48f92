"""Validity curves and the area under them."""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.parameters import Count
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Predictions, Sample
from calibstat.estimators._curves import CurveRecord, picked
from calibstat.estimators.base import (
    Estimator,
    Evaluator,
    Extreme,
    all_weights,
    between,
    happened,
    numeric_column,
    two_classes,
)
from calibstat.estimators.combined import leading_shape
from calibstat.estimators.squared import ECE
from calibstat.estimators.tally import BinnedEstimator, Tally, TallyPlan, ratio
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import CANONICAL


@final
@dataclass(frozen=True, eq=False)
class ValidityCurve(CurveRecord):
    """The share of rows whose prediction is off by no more than a tolerance; call it at tolerances.

    Parameters
    ----------
    deviation : (m,) floats
        The places of the steps, increasing.
    share : (m,) floats
        The height from each step on.
    """

    deviation: Floats
    share: Floats

    _display: ClassVar[str] = "ValidityCurveDisplay"

    @classmethod
    def of(cls, deviation: Floats, mass: Floats) -> ValidityCurve:
        """Put deviations (m,) with their masses in order."""
        order = np.argsort(deviation, kind="stable")
        return cls(deviation[order], np.cumsum(mass[order]) / mass.sum())

    def __call__(self, tolerance: float | Floats) -> Floats:
        """Return the share of rows off by no more than each tolerance."""
        place = np.searchsorted(self.deviation, np.asarray(tolerance) + ROUNDING, side="right")
        return np.concatenate([[0.0], self.share])[place]

    @property
    def area(self) -> float:
        """The area under the curve from 0 to 1."""
        return 1 - float(np.diff(self.share, prepend=0) @ self.deviation)

    def _columns(self) -> dict[str, Any]:
        return picked(self, "deviation share")


@final
@dataclass(frozen=True)
class AUCV(BinnedEstimator):
    r"""Area under the validity curve (Gupta & Ramdas 2021), exact or binned: one minus the ECE of the same cells.

    .. math:: V(\epsilon) = \sum_b \frac{n_b}{n} 1[\,|\bar y_b - \bar p_b| \le \epsilon\,], \qquad
              \int_0^1 V = 1 - \sum_b \frac{n_b}{n} |\bar y_b - \bar p_b|

    With the default cells, the distinct predictions, it is exact; with others binned (the authors take 15 cells of
    equal mass unless scores repeat). Total variation replaces the absolute value for more classes. Between 0 and 1, and
    *higher is better*: small values are evidence of miscalibration. Its downward bias equals the upward bias of the
    ECE: with one row in each cell it is one minus the mean absolute residual whatever the model. O(n log n).

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 0, 1, 0, 1, 0, 1, 1], [0.1, 0.2, 0.2, 0.4, 0.6, 0.6, 0.7, 0.9])
    >>> round(cs.AUCV()(sample), 6), float(cs.AUCV().curve(sample)(0.1))
    (0.7875, 0.5)
    """

    binning: Binning = UniqueValues()
    quantity: ClassVar[str] = "area under the validity curve of cell means (higher is better)"
    bounds = between(0.0, 1.0)
    extreme: ClassVar[Extreme] = "small"
    interval_about: ClassVar[str] = "the *binned* area, in these cells (an upper bound of the unbinned one)"

    @property
    def noise_form(self) -> ECE:
        """The error that this is one minus of: noise moves both alike."""
        return ECE(self.binning)

    def functional(self, tally: Tally) -> Floats:
        """Subtract the mean deviation from one."""
        return 1 - ECE(self.binning).functional(tally)

    def curve(self, sample: Sample, *, lens: Lens = CANONICAL) -> ValidityCurve:
        """Return the validity curve of a sample, seen through a lens: ``AUCV().curve(sample, lens=TopLabel())``."""
        seen = lens(sample)
        tally = TallyPlan(seen.predictions, self.binning.cut(seen.predictions), ())(seen.outcomes)
        gaps = np.abs(tally.mean_outcome - tally.mean_prediction).sum(axis=-1)
        if seen.predictions.n_classes > 2:
            gaps = gaps / 2
        held = tally.weight > 0
        return ValidityCurve.of(gaps[held], tally.weight[held])


@final
@dataclass(frozen=True)
class NeighborAUCV(Estimator):
    r"""Area under the validity curve with nearest neighbours for cells (Torabian & Urner 2024).

    .. math:: 1 - \frac1n \sum_i |\bar y_{N(i)} - p_i|

    where N(i) holds the `n_neighbors` rows whose score (or conditioned variable) is closest to that of row i, itself
    included, and all that tie with the last of them, so that the order of rows does not matter. For two classes;
    higher is better. With one neighbour it is one minus the mean absolute residual; with n neighbours it compares every
    prediction with the base rate. Few neighbours bias it downward by noise, many by smoothing, and for no number of
    them does a calibrated model reach 1. O(n log n), then O(n) for each replicate. With weights the mean of the
    neighbours is weighted; their number counts rows.

    Parameters
    ----------
    n_neighbors : int
        Number of neighbours, at least 1.
    include_self : bool
        Whether a row is one of its neighbours.

    Raises
    ------
    ValueError, TypeError
        If `n_neighbors` is not an integer of at least 1, or `include_self` is not a boolean.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.11, 0.24, 0.40, 0.58, 0.69, 0.83, 0.97]
    >>> round(cs.NeighborAUCV(3)(cs.Sample([0, 0, 1, 0, 1, 0, 1, 1], p)), 10)
    0.7995833333
    """

    n_neighbors: Count
    include_self: bool = True
    quantity: ClassVar[str] = "area under the validity curve of nearest neighbours (higher is better)"
    bounds = between(0.0, 1.0)
    two_outcomes: ClassVar[bool] = True
    extreme: ClassVar[Extreme] = "small"
    no_interval: ClassVar[str] = "; AUCV(EqualMass(15)), with cells for neighbours, has one"

    @property
    def estimand(self) -> AUCV:
        """The area under the exact validity curve."""
        return AUCV(UniqueValues())

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Find the neighbours: a run of the sorted rows for each row."""
        two_classes(self, predictions)
        return _NeighborEvaluator(self, predictions)

    def curve(self, sample: Sample, *, lens: Lens = CANONICAL) -> ValidityCurve:
        """Return the validity curve of a sample, seen through a lens such as ``lens=TopLabel()``."""
        seen = lens(sample)
        two_classes(self, seen.predictions)
        return ValidityCurve.of(*_NeighborEvaluator(self, seen.predictions).deviations(seen.outcomes, None))


class _NeighborEvaluator(Evaluator):
    def __init__(self, estimator: NeighborAUCV, predictions: Predictions) -> None:
        self.predictions = predictions
        self.others_only = not estimator.include_self
        values = numeric_column(estimator, predictions, "smooths along")[predictions.order]
        wanted = estimator.n_neighbors + self.others_only
        self.first, self.last = _runs_of_neighbours(values, min(wanted, len(values)))

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        gaps, mass = self.deviations(outcomes, weights)
        shape = leading_shape(outcomes, weights)
        if not len(self.predictions):
            return np.full(shape, np.nan)
        return 1 - ratio((gaps * mass).sum(axis=-1), mass.sum(axis=-1), empty=np.nan)

    def deviations(self, outcomes: Array, weights: Array | None) -> tuple[Floats, Floats]:
        """Return |mean of the neighbours - prediction| in sorted order (..., n), and the weights of rows."""
        order = self.predictions.order
        shape = (*leading_shape(outcomes, weights), len(order))
        mass = np.take(np.broadcast_to(all_weights(self.predictions, weights), shape), order, axis=-1)
        events = mass * np.take(happened(outcomes), order, axis=-1)
        total, count = (self._window(each) for each in (events, mass))
        held = np.where(count > ROUNDING * mass.sum(axis=-1, keepdims=True), count, 0.0)
        return np.abs(ratio(total, held) - self.predictions.event[order]), mass

    def _window(self, values: Floats) -> Floats:
        """Sum values (..., n) over the neighbours of each row."""
        sums = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
        found = np.take(sums, self.last, axis=-1) - np.take(sums, self.first, axis=-1)
        return found - values if self.others_only else found


def _runs_of_neighbours(values: Floats, wanted: int) -> tuple[Ints, Ints]:
    """Return, for sorted values, the first and one past the last of the nearest `wanted` and what ties with them."""
    n = len(values)
    rows = np.arange(n)
    # Among the windows of `wanted` rows that hold row i, the nearest is found by bisection for its beginning: moving
    # on is right while the row before the window is farther than the row behind it.
    low, high = np.maximum(rows - wanted + 1, 0), np.minimum(rows, n - wanted)
    while (low < high).any():
        middle = (low + high) // 2
        behind = np.minimum(middle + wanted, n - 1)
        move = (values - values[middle] > values[behind] - values) & (low < high)
        low, high = np.where(move, middle + 1, low), np.where(move, high, middle)
    farthest = np.maximum(values - values[low], values[low + wanted - 1] - values) if n else values
    first = np.searchsorted(values, values - farthest - ROUNDING, side="left")
    last = np.searchsorted(values, values + farthest + ROUNDING, side="right")
    return first, last
