"""Point-wise deviation from cell means of outcomes (PDE)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar, Literal, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning, Cells, borders
from calibstat.binnings.intervals import EqualMass
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import NUMBERS_IN_CACHE, Array, Floats, Ints
from calibstat.data.parameters import Order, without_defaults
from calibstat.data.rounding import ROUNDING, SAME
from calibstat.data.sample import Predictions
from calibstat.estimators.base import Estimator, Evaluator, between
from calibstat.estimators.squared import ECE
from calibstat.estimators.tally import TallyPlan, ratio, replicates
from calibstat.estimators.walks import Ordered


@final
@dataclass(frozen=True)
class PDE(Estimator):
    r"""Probability deviation error: mean distance of each score from its cell's mean outcome (Torabian & Urner 2024).

    .. math:: \Big(\sum_b \frac{n_b}{n} \Big(\frac{1}{n_b}\sum_{i \in b} |p_i - \bar y_b|\Big)^p\Big)^{1/p}

    for two classes; total variation takes the place of the absolute value for more. Never below the binned error of the
    same cells, and equal to it when cells are level sets of the score. It does not vanish under calibration where
    scores vary inside a cell (uniform scores in B cells: 1 / (4 B)): read it beside its null mean. O(n K) after
    cutting.

    Parameters
    ----------
    binning : Binning
    p : float
        1 <= p <= 10.
    placement : {"cell", "row"}
        For p > 1, whether the power is taken of each cell's mean deviation, as above, or of each row's deviation.

    Raises
    ------
    ValueError
        If `p` is none of these, or `placement` is neither.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 0, 1], [0.3, 0.3, 0.7, 0.7])
    >>> round(cs.PDE(cs.FixedEdges([0, 1]))(sample), 6)
    0.2
    """

    binning: Binning = EqualMass(15)
    p: Order = 1
    placement: Literal["cell", "row"] = "cell"
    quantity: ClassVar[str] = "mean distance of predictions from cell means of outcomes (binned)"
    bounds = between(0.0, 1.0)
    interval_about: ClassVar[str] = "the *binned* error, in these cells"
    no_interval: ClassVar[str] = ", for p other than 1"

    @property
    def noise_form(self) -> ECE | None:
        """The error of the same cells: a mean distance moves at most as far as the mean outcomes do."""
        return ECE(self.binning) if self.p == 1 else None

    @property
    def estimand(self) -> PDE:
        """The unbinned error, where cells are level sets of the prediction."""
        return PDE(UniqueValues(), self.p, self.placement)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut the cells."""
        return _DeviationEvaluator(predictions, self.binning.cut(predictions), self)


class _DeviationEvaluator(Evaluator):
    def __init__(self, predictions: Predictions, cells: Cells, parameters: PDE) -> None:
        self.plan = TallyPlan(predictions, cells, ())
        self.scores = predictions.components
        self.parameters = parameters

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        tally = self.plan(outcomes, weights)
        leading = tally.outcome.shape[:-2]
        means = tally.mean_outcome.reshape(math.prod(leading), *tally.outcome.shape[-2:])
        n = len(self.scores)
        rows = np.ones((1, n)) if weights is None else replicates(weights)
        if self.plan.predictions.weights is not None:
            rows = rows * self.plan.predictions.weights
        rows = np.broadcast_to(rows, (len(means), n))
        values = [self._one(mean, weight) for mean, weight in zip(means, rows, strict=True)]
        return np.reshape(values, leading)

    def _one(self, mean_outcome: Floats, weight: Floats) -> float:
        """Evaluate one replicate from its cell means (L, c)."""
        index, size, p = self.plan.cells.index, self.plan.cells.size, self.parameters.p
        gaps = np.abs(self.scores - mean_outcome[index]).sum(axis=1)
        if self.scores.shape[1] > 1:
            gaps *= 0.5
        power = p if self.parameters.placement == "row" else 1
        mass = np.bincount(index, weight, minlength=size)
        inside = ratio(np.bincount(index, weight * gaps**power, minlength=size), mass)
        share = mass / mass.sum() if mass.sum() > 0 else np.full(size, np.nan)
        return float((share * inside ** (p / power)).sum() ** (1 / p))


@final
@dataclass(frozen=True)
class ECESweep(Estimator):
    r"""Binned calibration error with the number of cells chosen by the data (Roelofs, Cain, Shlens & Mozer 2022).

    .. math:: \Big( \sum_{b=1}^{m} \frac{n_b}{n} |\bar y_b - \bar p_b|^p \Big)^{1/p}

    where m is the largest number such that for each of 1, 2, ..., m cells the mean outcomes do not fall from cell to
    cell. The cells are of equal mass: row i of n (from 0) lies in cell :math:`\lfloor i m / n \rfloor`; tied rows share
    the cell of the first of them, and with weights i / n is the share of weight before the row. Or they are those of
    `EqualWidth`, of which empty ones are passed over, and m is at most the number of different predictions. Where
    cells of equal mass first fall beyond 10 000 cells, as they can for very unequal weights, m is 10 000, or the number
    of different predictions if that is more. Weights that a bootstrap draws do not move the cells.

    In probability units. It is here for comparison with published numbers: a single noisy step ends the sweep, and the
    value is still biased upward under calibration (show it beside its null mean). O(n log n) to prepare, then O(n +
    m^2); n = 1e6 rows of a smooth curve reach m of about 100. Two classes; any weights.

    Parameters
    ----------
    p : float
        1 <= p <= 10.
    strategy : {"quantile", "uniform"}
        Cells of equal mass or of equal width (the paper's EM and EW), in the words of scikit-learn.

    Raises
    ------
    ValueError
        If `p` is none of these, or `strategy` is neither.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], [i / 10 + 0.05 for i in range(10)])
    >>> round(cs.ECESweep()(sample), 6), round(cs.ECESweep(p=2)(sample), 6)
    (0.1, 0.119024)
    >>> round(cs.ECESweep(strategy="uniform")(sample), 6)
    0.1
    """

    p: Order = 1
    strategy: Literal["quantile", "uniform"] = "quantile"
    __repr__ = without_defaults
    quantity: ClassVar[str] = "calibration error of cell means, with as many cells as keep mean outcomes increasing"
    bounds = between(0.0, 1.0)
    two_outcomes: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    no_interval: ClassVar[str] = ", whose number of cells the outcomes choose"

    @property
    def estimand(self) -> Estimator:
        """The unbinned error, where cells are level sets of the prediction."""
        return ECE(UniqueValues(), self.p)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort the rows, and compute the weight below each."""
        ordered = Ordered(self, predictions)
        return _SweepEvaluator(ordered, self.p, borders(predictions) if self.strategy == "uniform" else None)


# Each further cell would hold less than this part of the rows, and there are fewer different predictions.
_MOST_CELLS = 10_000


class _SweepEvaluator(Evaluator):
    """Sweeps over cells of equal mass, or of equal width between `ends`."""

    def __init__(self, ordered: Ordered, p: float, ends: tuple[float, float] | None) -> None:
        self.ordered = ordered
        self.p = p
        self.ends = ends
        mass = ordered.cumulate(ordered.weights(None))
        self.below: Floats = mass[:-1] / mass[-1] if mass[-1] > 0 else np.zeros(0)
        self.single = np.append(0, np.flatnonzero(np.diff(self.below) > SAME) + 1)
        if ends is not None:
            self.most = max(1, len(ordered.values))
            self.finest = self._starts(self.most)
            return
        gaps = np.diff(self.below, append=1.0)
        # With 1 / (the smallest gap) cells each block has a cell of its own, and more cells change nothing.
        self.most = int(min(np.ceil(1 / gaps[gaps > SAME].min()), max(_MOST_CELLS, len(gaps)))) if len(gaps) else 1
        self.finest = self.single

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        ordered = self.ordered
        mass, event = ordered.weights(weights), ordered.happened(outcomes)
        event, mass = np.broadcast_arrays(event, mass)
        sums = np.stack([ordered.cumulate(each * mass) for each in (np.ones(1), event, event - ordered.event)])
        flat = sums.reshape(3, -1, sums.shape[-1])
        return self._sweep(flat).reshape(event.shape[:-1])

    def _sweep(self, sums: Floats) -> Floats:
        """Sweep replicates (3, R, L + 1) of running sums of weight, events and residuals."""
        # If means never fall from one prediction to the next, they never fall over cells.
        values, falls = self._error(self._cells(sums, self.finest)), ~_increasing(self._cells(sums, self.single))
        last, active = np.where(falls, self.most, 0), np.flatnonzero(falls)
        for m, starts in self._partitions():
            if not len(active):
                break
            rising = _increasing(self._cells(sums[:, active], starts))
            last[active[~rising]] = m - 1
            active = active[rising]
        for m in np.unique(last[last > 0]):
            found = np.flatnonzero(last == m)
            values[found] = self._error(self._cells(sums[:, found], self._starts(m)))
        return values

    def _partitions(self) -> Iterator[tuple[int, Ints]]:
        """Yield numbers of cells from 2 on, and where these begin; where blocks are fewer, only what is new."""
        few = min(self.most, max(1, len(self.below)))
        yield from ((m, self._starts(m)) for m in range(2, few + 1))
        seen, step = set(), 1 + NUMBERS_IN_CACHE // max(1, len(self.below))
        for first in range(few + 1, self.most + 1, step):
            m = np.arange(first, min(first + step, self.most + 1))
            starting = np.diff(np.floor(np.multiply.outer(m, self.below) + SAME)) > 0
            for number, each in zip(m.tolist(), starting, strict=True):
                name = np.packbits(each).tobytes()
                if name not in seen:
                    seen.add(name)
                    yield number, np.append(0, np.flatnonzero(each) + 1)

    def _starts(self, m: int) -> Ints:
        """Return where each of m cells begins: the first block that reaches its border; empty cells are left out."""
        if self.ends is None:
            return np.unique(np.searchsorted(self.below, (np.arange(m) - SAME) / m))
        found = np.unique(np.searchsorted(self.ordered.values, np.linspace(*self.ends, m + 1)[1:-1]))
        return np.append(0, found[(found > 0) & (found < len(self.ordered.values))])

    def _cells(self, sums: Floats, starts: Ints) -> Floats:
        """Return the sums (3, R, m) of the cells."""
        return np.diff(np.take(sums, np.append(starts, sums.shape[-1] - 1), axis=-1), axis=-1)

    def _error(self, cells: Floats) -> Floats:
        mass, _, residual = cells
        share = ratio(mass, mass.sum(axis=-1, keepdims=True), empty=np.nan)
        return (share * np.abs(ratio(residual, mass)) ** self.p).sum(axis=-1) ** (1 / self.p)


def _increasing(cells: Floats) -> Array:
    """Whether mean outcomes never fall from one cell with weight to the next: (R,)."""
    mass, events, _ = cells
    means = ratio(events, mass, empty=-np.inf)
    before = np.maximum.accumulate(means, axis=-1)[:, :-1]
    return ((means[:, 1:] >= before - ROUNDING) | (mass[:, 1:] <= 0)).all(axis=-1)
