"""The integrated calibration index and its quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.binnings.base import Binning
from calibstat.binnings.unique import UniqueValues
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.local.regression import LOESS
from calibstat.estimators.rows import two_classes
from calibstat.estimators.tally import TallyPlan, ratio
from calibstat.predictions import Predictions


class Gaps(Protocol):
    """Prepared absolute differences of a calibration curve and the prediction."""

    def __call__(self, outcomes: Array, weights: Array | None = None) -> tuple[Floats, Floats]:
        """Return gaps (..., m) and the mass of each (..., m)."""


class Curve(Protocol):
    """A smoother that gives a calibration curve: `LOESS`, `LogisticSpline`, `CellMeans`."""

    def gaps(self, predictions: Predictions) -> Gaps:
        """Prepare the absolute differences; called once for each set of predictions."""


@final
@dataclass(frozen=True)
class CellMeans:
    """The curve of cell means, for `ICI`; with the default cells the unbinned calibration function.

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> two = cs.FixedEdges([0, 0.5, 1])
    >>> round(cs.ICI(cs.CellMeans(two))(sample).ici, 6) == round(cs.ECE(two)(sample), 6)
    True
    """

    binning: Binning = UniqueValues()

    def gaps(self, predictions: Predictions) -> Gaps:
        """Cut the cells."""
        plan = TallyPlan(predictions, self.binning.cut(predictions), ())

        def of_cells(outcomes: Array, weights: Array | None = None) -> tuple[Floats, Floats]:
            tally = plan(outcomes, weights)
            size = np.abs(tally.mean_outcome - tally.mean_prediction)[..., 0]
            return size, np.broadcast_to(tally.weight, size.shape)

        return of_cells


@final
@dataclass(frozen=True)
class CalibrationIndices:
    """Mean, quantiles and maximum of the absolute calibration error over rows; ``float`` gives the mean.

    Parameters
    ----------
    ici, e50, e90, emax : float
    """

    ici: float
    e50: float
    e90: float
    emax: float

    def __float__(self) -> float:
        return self.ici


@final
@dataclass(frozen=True)
class ICI(Estimator):
    r"""Integrated calibration index with E50, E90 and Emax (Austin & Steyerberg 2019; Harrell 2015).

    .. math:: \text{ICI} = \frac1n \sum_i |\hat g(p_i) - p_i|

    and the median, the 0.9 quantile and the maximum of the same differences, with :math:`\hat g` a smooth calibration
    curve. Probability units, for two classes. The default is Austin & Steyerberg's, ``loess(Y ~ P)`` of R (span 0.75,
    degree 2, direct surface); ``ICI(LOESS(2/3, degree=1))`` has the curve of ``val.prob`` (``lowess(p, y, iter=0)``
    without its interpolation: Eavg, E90, Emax); `LogisticSpline` is their other smoother. Quantiles are R's type 7.
    The value is a record; the headline is the ICI.

    Biased upward by noise: about the mean standard error of the curve at calibration, which falls as the span grows.
    Blind to errors narrower than the smoother. Cost: that of the curve, O(n log n) once (`LOESS`), then O(n); where p
    takes more than 1024 values, neighbours in rank share a cell (the curve moves by less than 0.0005 at n = 2000).

    Parameters
    ----------
    curve : LOESS, LogisticSpline or CellMeans

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> found = cs.ICI()(cs.Sample(rng.random(2000) < p**2, p))
    >>> [round(each, 2) for each in (found.ici, found.e50, found.e90, found.emax)]
    [0.17, 0.19, 0.26, 0.26]
    """

    curve: Curve = LOESS()
    quantity: ClassVar[str] = "mean absolute difference of a smooth calibration curve and the prediction (ICI)"

    @property
    def estimand(self) -> ICI:
        """The unsmoothed differences."""
        return ICI(CellMeans())

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the curve."""
        two_classes(self, predictions)
        return _IndicesEvaluator(self.curve.gaps(predictions), len(predictions))

    def headline(self, values: Floats) -> Floats:
        """Take the mean."""
        return values[..., 0]


class _IndicesEvaluator(Evaluator):
    shape = (4,)

    def __init__(self, gaps: Gaps, n: int) -> None:
        self.gaps = gaps
        self.n = n

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        size, mass = self.gaps(outcomes, weights)
        if not self.n:
            return np.full((*size.shape[:-1], 4), np.nan)
        total = mass.sum(axis=-1)
        mean = ratio((size * mass).sum(axis=-1), total)
        largest = np.where(mass > 0, size, 0.0).max(axis=-1)
        indices = np.stack([mean, *weighted_quantiles(size, mass, (0.5, 0.9), self.n), largest], axis=-1)
        return np.where(total[..., None] > 0, indices, np.nan)

    def present(self, value: Floats) -> CalibrationIndices:
        return CalibrationIndices(*map(float, value))


def weighted_quantiles(values: Floats, mass: Floats, levels: tuple[float, ...], n: int) -> list[Floats]:
    """Return quantiles of values (..., m), each repeated in proportion to its mass, as if there were n in all.

    With whole masses that sum to n these are the quantiles of the repeated values (type 7 of Hyndman & Fan 1996).
    """
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    counts = np.cumsum(np.take_along_axis(mass, order, axis=-1), axis=-1)
    counts = ratio(n * counts, counts[..., -1:])
    found = []
    for level in levels:
        below, part = divmod(level * (n - 1), 1)
        low, high = (_at_rank(ordered, counts, min(rank, n - 1)) for rank in (below, below + 1))
        found.append(low + part * (high - low))
    return found


def _at_rank(ordered: Floats, counts: Floats, rank: float) -> Floats:
    """Return the value whose turn comes after `rank` others."""
    place = (counts > rank * (1 + 1e-12) + 1e-9).argmax(axis=-1)
    return np.take_along_axis(ordered, place[..., None], axis=-1)[..., 0]
