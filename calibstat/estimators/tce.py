"""Test-based calibration error (compatibility)."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar, final

import numpy as np
from scipy.special import bdtr, bdtrc, gammaln, xlog1py, xlogy

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning
from calibstat.data.arrays import Array, Bools, Floats, Ints
from calibstat.data.parameters import LEVEL, Count, Share
from calibstat.data.sample import Predictions
from calibstat.estimators.base import (
    Estimator,
    Evaluator,
    between,
    in_batches,
    is_chances,
    numeric_column,
    two_classes,
    unweighted,
)


@final
@dataclass(frozen=True)
class TCE(Estimator):
    r"""Test-based calibration error (Matsubara, Tax, Mudd & Guy 2023), in per cent; for two classes.

    .. math:: \frac{100}{n} \sum_b \sum_{i \in b} 1\{\text{the two-sided binomial test of } o_b
              \text{ events among } n_b \text{ at } p_i \text{ rejects}\}

    It is the percentage of predictions that the events of their cell contradict at level `level`. Without a binning,
    cells are the authors' PAVA-BC: isotonic regression by pooling adjacent violators, which also merges neighbouring
    blocks that together have at most `n_min` rows and never makes a block of more than `n_max`; the last `n_min` rows
    are one block, or join the one before. Equal predictions stay together here (the authors split them by row order): a
    run that begins before the last `n_min` rows is pooled as those before it.

    Weaknesses (it is here for comparison with published numbers): it is not an error, since it grows from 0 to 100 with
    n at any fixed miscalibration, and is positive under calibration; the tests of different rows share their events, so
    `level` controls no error rate; predictions that vary inside a cell are each tested against the whole cell; it jumps
    by whole cells. A replicate takes a loop over rows (PAVA-BC), a thousand times slower than a binned error for many
    rows, and O(n log n) for the tests. No weights, no version for known chances, and no estimand in the population.

    Parameters
    ----------
    binning : Binning, optional
        Cells that do not see outcomes, in place of PAVA-BC.
    level : float
        Level of the binomial tests, between 0 and 1.
    n_min, n_max : int
        Smallest and largest number of rows in a block of PAVA-BC.

    Raises
    ------
    ValueError, TypeError
        If `level` is not between 0 and 1, or `n_min` <= `n_max` are not positive integers.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> cs.TCE(cs.EqualWidth(2))(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p))
    10.0
    """

    binning: Binning | None = None
    level: Share = LEVEL
    n_min: Count = 10
    n_max: Count = 1000
    quantity: ClassVar[str] = "predictions contradicted by the events of their cell (per cent)"
    bounds = between(0.0, 100.0)
    no_interval: ClassVar[str] = ", a share of rejections, of which there are more with more rows"
    two_outcomes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.n_max < self.n_min:
            raise ValueError(f"n_max is {self.n_max}, less than n_min, {self.n_min}.")

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort the rows, or cut the cells."""
        two_classes(self, predictions)
        unweighted(self, predictions)
        return _TestEvaluator(self, predictions)


class _TestEvaluator(Evaluator):
    def __init__(self, estimator: TCE, predictions: Predictions) -> None:
        self.estimator = estimator
        self.starts: Ints | None = None
        if estimator.binning is None:
            self.order = predictions.order
            values = numeric_column(estimator, predictions)[self.order]
            self.ties = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
        else:
            cells = estimator.binning.cut(predictions)
            self.order, self.starts = cells.order, cells.starts
        self.predictions = predictions
        self.event = predictions.chances[self.order, 1]

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        unweighted(self.estimator, self.predictions, weights)
        if is_chances(outcomes):
            raise TypeError(f"{self.estimator!r} counts events and cannot be evaluated on known chances.")
        return in_batches(lambda labels, _: self._batch(labels), outcomes, None)

    def _batch(self, outcomes: Array) -> Floats:
        return np.array([self._one(np.asarray(row[self.order], dtype=np.intp)) for row in outcomes], dtype=float)

    def _one(self, events: Ints) -> float:
        n = len(events)
        if not n:
            return np.nan
        starts = self.starts
        if starts is None:
            starts = pava_with_limits(events, self.ties, self.estimator.n_min, self.estimator.n_max)
        sizes = np.diff(starts)
        counts = np.repeat(np.diff(np.append(0, np.cumsum(events))[starts]), sizes)
        return 100 * rejections(counts, np.repeat(sizes, sizes), self.event, self.estimator.level) / n


def pava_with_limits(events: Ints, ties: Ints, n_min: int, n_max: int) -> Ints:
    """Return where blocks of PAVA-BC begin, and n; events (n,) are in order, and runs of ties begin at `ties` (m,)."""
    n = len(events)
    sums = [0, *np.cumsum(events).tolist()]
    bounds = np.append(ties, n).tolist()
    # The last n_min rows, from the first run of ties that begins there; none if the last run is longer.
    last = next(at for at in bounds if n - at <= n_min)
    begins: list[int] = []
    sizes: list[int] = []
    counts: list[int] = []
    for start, stop in pairwise(bounds):
        if start >= last:
            break
        begin, size, count = start, stop - start, sums[stop] - sums[start]
        while begins:  # together too small, or violating the order and not too large
            both = sizes[-1] + size
            if both > n_min and (both > n_max or counts[-1] * size < count * sizes[-1]):
                break
            begin, size, count = begins.pop(), both, counts.pop() + count
            sizes.pop()
        begins.append(begin)
        sizes.append(size)
        counts.append(count)
    if last < n:
        begins.append(last)
        # the authors' condition: their last block is already n_min rows when they add n_min once more
        if len(begins) > 1 and 2 * n_min <= n_max:
            begins.pop()
    return np.array([*begins, n])


def rejections(counts: Ints, sizes: Ints, chances: Floats, level: float) -> int:
    """Return of how many rows (m,) the two-sided binomial test rejects: of counts of `sizes` at chances.

    The p-value is at least that of one side, which is computed first: of most rows it is larger than the level.
    """
    extreme = np.flatnonzero(_binomial_tail(counts, sizes, chances, counts >= sizes * chances) <= level)
    pvalues = binomial_pvalues(counts[extreme], sizes[extreme], chances[extreme])
    return int(np.count_nonzero(pvalues <= level))


def binomial_pvalues(count: Array | int, n: Array | int, chances: Floats) -> Floats:
    """Return two-sided binomial p-values of counts of n at chances (m,): the mass of counts that are no more likely.

    These are the tail from the count on, away from the mean, and the part of the other tail that begins at the first
    count that is no more likely; masses fall monotonically on either side of the mean, so that bisection finds it.
    """
    count, n = (np.broadcast_to(np.asarray(each, dtype=np.intp), chances.shape) for each in (count, n))
    whole = gammaln(n + 1)

    def log_mass(at: Ints) -> Floats:
        found: Floats = whole - gammaln(at + 1) - gammaln(n - at + 1) + xlogy(at, chances) + xlog1py(n - at, -chances)
        return found

    # the two-sided binomial test counts probabilities as equal that differ by less than this share
    most = log_mass(count) + np.log1p(1e-7)
    mean = n * chances
    below = count < mean
    # the other side, as distances from the mean outward: at `inner` it is more likely than the count, at `outer` not
    step = np.where(below, 1, -1)
    start = np.where(below, np.ceil(mean), np.floor(mean)).astype(np.intp)
    inner, outer = np.full(len(chances), -1), np.where(below, n + 1 - start, start + 1)
    while (outer - inner > 1).any():
        middle = (inner + outer) // 2
        rare = log_mass(np.clip(start + step * middle, 0, n)) <= most
        open_ = outer - inner > 1
        outer, inner = np.where(open_ & rare, middle, outer), np.where(open_ & ~rare, middle, inner)
    found = _binomial_tail(count, n, chances, ~below) + _binomial_tail(start + step * outer, n, chances, below)
    return np.minimum(np.where(count == mean, 1.0, found), 1.0)


def _binomial_tail(counts: Ints, n: Ints, chances: Floats, upper: Bools) -> Floats:
    """P(at least so many events) where `upper`, else P(at most so many)."""
    found = np.where(upper, 1.0, 0.0)
    least, most = upper & (counts > 0), ~upper & (counts >= 0)
    found[least] = bdtrc(counts[least] - 1, n[least], chances[least])
    found[most] = bdtr(counts[most], n[most], chances[most])
    return found
