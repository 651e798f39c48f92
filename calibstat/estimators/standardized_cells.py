"""The debiased squared error of cells, divided by its exact standard deviation under calibration."""

from __future__ import annotations

import math
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass, midpoints, weighted_neighbours
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Predictions
from calibstat.estimators.base import (
    Capabilities,
    Estimator,
    Evaluator,
    ResidualForm,
    all_weights,
    in_batches,
    is_chances,
    numeric_column,
    residual_vectors,
    squared_residuals,
)
from calibstat.estimators.large_sample import LargeSampleLaw, normal_law
from calibstat.estimators.squared import Denominator, SquaredCE
from calibstat.estimators.tally import ratio

# Up to so many rows many sets of labels are counted at once; of more, a column for each scale would fill the memory.
_FEW_ROWS = 2**15
# Where pairs of rows have at most this share of the square of their sum, a difference would lose three digits.
_OUTWEIGHED = 1e-3


class _StandardizedErrors(Estimator):
    """Debiased squared errors of cells in standard deviations, at one scale or several."""

    denominator: Denominator
    test_statistic: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"
    no_interval: ClassVar[str] = "DebiasedL2(), the size of the error, has one"

    @property
    def estimand(self) -> SquaredCE:
        """The unbinned squared error, whose size decides how large this grows."""
        return SquaredCE(UniqueValues())


@final
@dataclass(frozen=True)
class StandardizedL2(_StandardizedErrors):
    r"""Debiased squared error of cells over its exact standard deviation under calibration, given the predictions.

    .. math:: z = \frac{1}{\mathrm{sd}} \sum_b \frac{n_b}{n} \frac{1}{d_b} \sum_{i \ne j \in b} \langle r_i, r_j
              \rangle, \qquad \mathrm{sd}^2 = 2 \sum_b \Big(\frac{n_b}{n d_b}\Big)^2
              \Big[\Big\lVert\sum_{i \in b} V_i\Big\rVert_F^2 - \sum_{i \in b} \lVert V_i \rVert_F^2\Big]

    with r = y - p (the event alone for two classes), V the covariance of one label, and d = n_b (n_b - 1), as in
    `DebiasedL2`, or n_b^2, as in T-Cal (Lee et al. 2023), whose numerator is (1/n) sum_b (1/n_b) sum r_i r_j. Under
    calibration it has mean 0 and variance 1; with few cells it is right-skewed, so a normal p-value is liberal (5 to
    8 % at level 5 %), while redrawn labels give an exact one. It grows like n times the squared error: a test
    statistic, not a size. With weights, W_b^2 - sum w^2 and W_b^2 replace the denominators and w^2 V replaces V. O(n)
    after cutting, for K classes O(n K^2) once.

    Parameters
    ----------
    binning : Binning
    denominator : {"pairs", "counts"}
        n_b (n_b - 1), or n_b^2; z is the same for both if all cells hold equally many rows.

    Raises
    ------
    ValueError
        If `denominator` is neither.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cs.StandardizedL2(cs.EqualMass(5))(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 5)
    -0.40793
    """

    binning: Binning = EqualMass(15)
    denominator: Denominator = "pairs"
    quantity: ClassVar[str] = "squared calibration error of cells (unbiased, in standard deviations under calibration)"

    @property
    def takes_counts(self) -> bool:  # type: ignore[override]
        """Whether the cells do."""
        return self.binning.takes_counts

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut the cells."""
        cells = self.binning.cut(predictions)
        starts = np.unique(cells.starts)  # without empty cells
        return ScalesEvaluator(predictions, cells.order, [starts], self.denominator)


class ScalesEvaluator(Evaluator):
    """The largest standardised error of several ways to cut sorted rows `order`; each scale has its starts (L + 1,)."""

    def __init__(self, predictions: Predictions, order: Ints, scales: list[Ints], denominator: Denominator) -> None:
        self.order = order
        self.predictions = predictions.take(order)
        self.scales = scales
        self.denominator = denominator
        self.fixed = self._scales(self._masses(None))

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Evaluate replicates: the largest standardised error of the scales (...,)."""
        return in_batches(self._batch, outcomes, weights, self.predictions.n_classes)

    @property
    def capabilities(self) -> Capabilities:
        """The normal law; for the largest of several scales none is known."""
        return Capabilities(large_sample=self._law if len(self.scales) == 1 else None)

    def _law(self, rng: np.random.Generator) -> LargeSampleLaw:  # noqa: ARG002
        certain = (self.predictions.chances.max(axis=1) == 1).all()
        return normal_law(0.0 if certain or not self.fixed[0][0].any() else 1.0, two_sided=False)

    def _masses(self, weights: Array | None) -> Floats:
        placed = None if weights is None else np.take(weights, self.order, axis=1)
        return np.atleast_2d(all_weights(self.predictions, placed))

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        placed, unweighted = np.take(outcomes, self.order, axis=1), weights is None and self.predictions.weights is None
        few = unweighted and self.predictions.n_classes == 2 and len(self.order) <= _FEW_ROWS
        if few and not is_chances(outcomes):
            return self._of_labels(placed)
        masses = self._masses(weights)
        scales = self.fixed if weights is None else self._scales(masses)
        vectors = residual_vectors(self.predictions, placed) * masses[:, None, :]
        counts = self.predictions.counts
        alone = (
            (vectors**2).sum(axis=1)
            if counts is None
            else masses**2 / counts * squared_residuals(self.predictions, placed)
        )
        best = np.full(len(vectors), -np.inf)
        for starts, (factor, deviation) in zip(self.scales, scales, strict=True):
            products = (_sums_of_cells(vectors, starts) ** 2).sum(axis=1) - _sums_of_cells(alone, starts)
            best = np.maximum(best, (factor * products).sum(axis=-1) / deviation)
        return np.where(masses.sum(axis=-1) > 0, best, np.nan)

    def _of_labels(self, placed: Array) -> Floats:
        """Evaluate labels of two classes without weights (R, n) from counts: whole numbers are added up faster.

        What rounding leaves of a zero, where no label is uncertain, differs between replicates of one product; squares
        are added up, and not subtracted, so that it is not far from zero in tiny deviations.
        """
        sums: Ints = np.zeros((len(placed), len(self.order) + 1), np.int32)
        np.cumsum(placed, axis=-1, out=sums[:, 1:])
        best = np.full(len(placed), -np.inf)
        of_events, of_others = self._squares
        singles = placed @ of_events + (1 - placed) @ of_others
        each = zip(self.scales, self._expected, self.fixed, strict=True)
        for scale, (starts, expected, (factor, deviation)) in enumerate(each):
            events = np.take(sums, starts[1:], axis=-1) - np.take(sums, starts[:-1], axis=-1)
            residual = events - expected
            best = np.maximum(best, (residual**2 @ factor[0] - singles[:, scale]) / deviation)
        return np.where(np.abs(best) > ROUNDING, best, 0.0) if len(self.order) else np.full(len(placed), np.nan)

    @cached_property
    def _expected(self) -> list[Floats]:
        """The sums of the predictions in the cells of each scale."""
        return [_sums_of_cells(self.predictions.event, starts) for starts in self.scales]

    @cached_property
    def _squares(self) -> tuple[Floats, Floats]:
        """(y - p)^2 of a row with the event, and of one without, times the factor of its cell (n, scales)."""
        each = zip(self.fixed, self.scales, strict=True)
        factors = np.stack([np.repeat(factor[0], np.diff(starts)) for (factor, _), starts in each], axis=1)
        chances = self.predictions.chances
        return chances[:, :1] ** 2 * factors, chances[:, 1:] ** 2 * factors

    def _scales(self, masses: Floats) -> list[tuple[Floats, Floats]]:
        """For each scale the factor of each cell's products (R, L) and the standard deviation (R,)."""
        counts = np.broadcast_to(self.predictions.multiplicity, len(self.order))
        total, spreads = masses.sum(axis=-1)[:, None], self._spreads(masses**2 / counts, counts)
        found = []
        for starts, spread in zip(self.scales, spreads, strict=True):
            whole, pairs = _sums_of_cells(masses, starts), _root_of_pairs(masses, counts, starts) ** 2
            below = pairs if self.denominator == "pairs" else whole**2
            # A row that outweighs the others of its cell is alone in it.
            factor = ratio(ratio(whole, total), np.where(pairs > ROUNDING * whole**2, below, 0.0))
            deviation = math.sqrt(2) * np.hypot.reduce(factor * spread, axis=-1, initial=0.0)
            found.append((factor, np.where(deviation > 0, deviation, 1.0)))
        return found

    def _spreads(self, masses2: Floats, counts: Floats) -> list[Floats]:
        """Return the root of the sum of <V_i, V_j> over pairs of rows of each cell (R, L), for each scale."""
        rows = self.predictions.chances
        first, second = (np.array([1]), np.array([1])) if rows.shape[1] == 2 else np.triu_indices(rows.shape[1])
        spreads = [np.zeros((len(masses2), len(starts) - 1)) for starts in self.scales]
        for one, other in zip(first, second, strict=True):
            times = 1.0 if one == other else math.sqrt(2)
            # p (1 - p) as a product, for two classes, keeps its digits near 0 and 1.
            two = rows.shape[1] == 2
            entry = masses2 * (rows.prod(axis=1) if two else rows[:, one] * np.abs((one == other) - rows[:, other]))
            for spread, starts in zip(spreads, self.scales, strict=True):
                np.hypot(spread, times * _root_of_pairs(entry, counts, starts), out=spread)
        return spreads


def _root_of_pairs(values: Floats, counts: Floats, starts: Ints) -> Floats:
    """Return the root of the sum of v_i v_j over pairs of different rows of each cell, of v >= 0 (R, n).

    A row that stands for `counts` (n,) rows adds their pairs. That is the square of the sum less the squares, unless
    one row outweighs the others of its cell, or squares are too small for a double.
    """
    whole = _sums_of_cells(values, starts)
    pairs = whole**2 - _sums_of_cells(values**2 / counts, starts)
    lost = (pairs <= _OUTWEIGHED * whole**2).any(axis=0)
    found = np.sqrt(np.maximum(pairs, 0.0))
    if lost.any():
        sizes = np.diff(starts)
        rows = np.repeat(lost, sizes)
        there = np.concatenate([[0], np.cumsum(sizes[lost])])
        found[:, lost] = _root_of_unequal_pairs(values[:, rows], counts[rows], there)
    return found


def _root_of_unequal_pairs(values: Floats, counts: Floats, starts: Ints) -> Floats:
    """Return the same from positive terms, in units of the largest row of each cell."""
    largest = np.maximum.reduceat(values, starts[:-1], axis=-1)
    unit = np.where(largest > 0, largest, 1.0)
    values = values / np.repeat(unit, np.diff(starts), axis=-1)
    rest = np.where(values < 1, values, 0.0)
    number, others = _sums_of_cells((values == 1).astype(float), starts), _sums_of_cells(rest, starts)
    pairs = number * (number - 1) + 2 * number * others
    pairs += np.maximum(others**2 - _sums_of_cells(rest**2, starts), 0.0)
    pairs += _sums_of_cells(values**2 * (1 - 1 / counts), starts)
    return unit * np.sqrt(pairs)


def _sums_of_cells(values: Floats, starts: Ints) -> Floats:
    """Add up values (..., n) within each cell, none of which is empty, so that no other cell takes digits away."""
    if not values.shape[-1]:
        return np.zeros((*values.shape[:-1], len(starts) - 1))
    sums: Floats = np.add.reduceat(values, starts[:-1], axis=-1)
    return sums


@final
@dataclass(frozen=True)
class MultiscaleL2(_StandardizedErrors):
    r"""The largest `StandardizedL2` over equal-mass cells at the scales m = 1, 2, 4, ... <= n/4.

    .. math:: \max_m z_m

    T-Cal (Lee, Huang, Hassani & Dobriban 2023) tests each scale at a Bonferroni level against its own resamples;
    dividing by exact standard deviations and taking the maximum uses the dependence of the scales and is much more
    powerful (for a shift of the logits, 68 % where theirs has 34 %). It finds oscillating errors, which cumulative
    statistics cancel out; against smooth ones its power is spread over the scales. Under calibration positive (the
    mean of a maximum): judge it by a redraw of labels. A test statistic, not a size. For one conditioned column, of
    two classes or more. O(n log n): one sort and prefix sums.

    Parameters
    ----------
    denominator : {"pairs", "counts"}
        n_b (n_b - 1), or T-Cal's n_b^2 (the same up to rounding of cell sizes).

    Raises
    ------
    ValueError
        If `denominator` is neither.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cs.MultiscaleL2()(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 5)
    -0.32604
    """

    denominator: Denominator = "pairs"
    quantity: ClassVar[str] = "largest squared calibration error over scales (in standard deviations under calibration)"
    along_one_column: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort once and find where the cells of each scale begin."""
        order = predictions.order
        values = numeric_column(self, predictions)[order]
        if predictions.counts is not None:
            ends = np.cumsum(predictions.counts[order]).astype(np.intp)
            finest = [m for m in scales_of(int(ends[-1])) if m < 2 * len(ends)]
            own = None if predictions.unweighted else predictions.weights
            scales = [_between_rows(values, ends, m) if own is None else _starts(values, own[order], m) for m in finest]
            return ScalesEvaluator(predictions, order, scales, self.denominator)
        weights = None if predictions.weights is None else predictions.weights[order]
        scales = [_starts(values, weights, m) for m in scales_of(len(values))]
        return ScalesEvaluator(predictions, order, scales, self.denominator)


def scales_of(n: int) -> list[int]:
    """Return the numbers of cells 1, 2, 4, ... that leave four rows to a cell."""
    return [2**power for power in range(max(1, (n // 4).bit_length()))]


def _starts(values: Floats, weights: Floats | None, n_bins: int) -> Ints:
    """Return where the cells of ``EqualMass(n_bins)`` begin in sorted values: (L + 1,) ints."""
    if weights is None:
        return _between_rows(values, np.arange(1, len(values) + 1), n_bins)
    return _at_edges(values, midpoints(*weighted_neighbours(values, weights, n_bins)))


def _between_rows(values: Floats, ends: Ints, n_bins: int) -> Ints:
    """Return where cells of equally many rows begin in sorted values, of which `ends` (n,) counts rows up to each."""
    n = int(ends[-1]) if len(ends) else 0
    sizes = np.full(min(n_bins, n), n // n_bins if n else 0)
    sizes[: n % n_bins] += 1
    firsts = np.cumsum(sizes)[:-1]
    before, after = (values[np.searchsorted(ends, rows, side="right")] for rows in (firsts - 1, firsts))
    return _at_edges(values, midpoints(before, after))


def _at_edges(values: Floats, edges: Floats) -> Ints:
    """Return where the cells between edges begin in sorted values, empty ones left out."""
    inner = np.searchsorted(values, edges, side="right")
    starts = np.concatenate([[0], inner, [len(values)]])
    return starts[np.append(True, np.diff(starts) > 0)]
