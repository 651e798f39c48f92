"""Local polynomial fits as linear operators (Cleveland 1979; Cleveland & Grosse 1991), with the conventions of cloess.

A fit at a point is linear in the outcomes, and rows with equal x have equal weight in it. So sums over *cells* of x
suffice: they are exact if each cell is one value, and have a small error if neighbours share a cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import sparse
from calibstat.binnings.base import Cells
from calibstat.data.arrays import NUMBERS_IN_CACHE, ROWS_IN_CACHE, Floats, Ints
from calibstat.data.rounding import RANK, ROUNDING, SAME
from calibstat.data.sample import Predictions
from calibstat.estimators.base import Estimator, all_weights, numeric_column
from calibstat.estimators.tally import TallyPlan, ratio

# The largest number of points in a block; neighbouring points reach few of the cells.
_POINTS = 32
# If the determinant, in units of the weight, is larger, no direction is below RANK: d <= 3, and 1e-8 / 3^3 > 1e-10.
_SOUND = 1e-8
_TINY = np.finfo(float).tiny


@final
@dataclass(frozen=True, eq=False)
class LocalOperator:
    """Fits of degree 1 or 2 at points (P,) with half-widths `widths`, from cells with increasing `centres` (M,)."""

    points: Floats
    centres: Floats
    widths: Floats
    degree: int

    def matrix(self, mass: Floats) -> Floats:
        """Return the matrix (P, M) that turns the cells' weighted sums of outcomes into the fit, for masses (M,)."""
        found = np.zeros((len(self.points), len(self.centres)))
        for part, reached, powers in self._blocks():
            found[part, reached] = _first_rows(powers, mass[reached])
        return found

    def fit(self, mass: Floats, sums: Floats) -> Floats:
        """Return the fits (R, k, P) of replicates with masses (R, M) and sums (R, k, M)."""
        values = np.empty((*sums.shape[:-1], len(self.points)))
        for part, reached, powers in self._blocks():
            for replicate, (weight, one) in enumerate(zip(mass, sums, strict=True)):
                values[replicate, :, part] = one[:, reached] @ _first_rows(powers, weight[reached]).T
        return values

    def _blocks(self) -> Iterator[tuple[slice, slice, list[Floats]]]:
        """Yield points in blocks, the cells they reach, and tricube weights times powers of the relative distance."""
        size = max(1, min(_POINTS, NUMBERS_IN_CACHE // max(len(self.centres), 1)))
        rounding = ROUNDING * (self.centres[-1] - self.centres[0])
        for start in range(0, len(self.points), size):
            part = slice(start, start + size)
            points, widths = self.points[part, None], np.maximum(self.widths[part, None], max(rounding, _TINY))
            first = np.searchsorted(self.centres, (points - widths).min(), side="left")
            reached = slice(first, np.searchsorted(self.centres, (points + widths).max(), side="right"))
            gap = self.centres[reached] - points
            distance = np.abs(gap)
            if distance.min(initial=np.inf) < rounding:
                gap[distance < rounding] = distance[distance < rounding] = 0
            gap *= 1 / widths
            powers = [tricube(distance, widths)]
            for _ in range(2 * self.degree):
                powers.append(powers[-1] * gap)
            yield part, reached, powers


def tricube(distance: Floats, width: Floats) -> Floats:
    """Return (1 - (d/h)^3)^3, but 1 where d <= 0.001 h and 0 where d >= 0.999 h, as cloess does; h > 0."""
    relative = distance * (1 / width)
    weight = 1 - relative * relative * relative
    weight *= weight * weight
    np.putmask(weight, relative >= 0.999, 0)
    np.putmask(weight, relative <= 0.001, 1)
    return weight


def _first_rows(powers: list[Floats], mass: Floats) -> Floats:
    """Return the weights (P, M) of the sums in the value of the weighted fit at distance 0."""
    degree = len(powers) // 2
    moments = np.stack([power @ mass for power in powers], axis=-1)
    first = _first_of_inverses(moments[:, np.add.outer(np.arange(degree + 1), np.arange(degree + 1))])
    rows = first[:, :1] * powers[0]
    for k in range(1, degree + 1):
        rows += first[:, k, None] * powers[k]
    return rows


def _first_of_inverses(normal: Floats) -> Floats:
    """Return the first row (P, d) of the pseudo-inverse of each matrix (P, d, d) of moments of distances up to 1."""
    exponent = np.frexp(normal[:, 0, 0])[1]  # the weight, whose powers may leave the range of numbers
    scaled = np.ldexp(normal, -exponent[:, None, None])
    # Eigenvalues are at most d times the weight, the first moment, so that these matrices have full rank.
    sound = np.linalg.det(scaled) > _SOUND * scaled[:, 0, 0] ** scaled.shape[-1]
    first = np.empty(scaled.shape[:-1])
    first[sound] = np.linalg.inv(scaled[sound])[:, 0]
    if not sound.all():
        first[~sound] = np.linalg.pinv(scaled[~sound], rcond=RANK, hermitian=True)[:, 0]
    return np.ldexp(first, -exponent[:, None])


def nearest_widths(points: Floats, centres: Floats, mass: Floats, span: float, n: int) -> Floats:
    """Return the distance from each point within which lies a share `span` of the mass.

    With equal masses it is the distance of the q-th nearest row, q = floor(n span + 1e-5); with span > 1 it is the
    largest distance times the span (as R documents it for one variable). If a tie lies at that distance and no row is
    nearer, the neighbourhood is slightly wider, so that it contains the tie.
    """
    target = min(max(np.floor(n * span + 1e-5), 1.0), n) / n * mass.sum()
    # The cell at which a window that begins at each cell has enough mass.
    sums = np.cumsum(mass)
    last = np.searchsorted(sums, sums - mass + target * (1 - SAME))
    ends = np.append(centres, np.inf)[last]
    # As a window moves right, its left end comes nearer and its right end goes away; the best one has both equally far.
    level = np.searchsorted(centres + ends, 2 * points)
    snap = ROUNDING * (centres[-1] - centres[0])
    width = np.full(len(points), np.inf)
    for begin in (np.maximum(level - 1, 0), np.minimum(level, len(centres) - 1)):
        reach = np.maximum(np.abs(points - centres[begin]), np.abs(ends[begin] - points))
        width = np.minimum(width, np.where(points < centres[begin], ends[begin] - points, reach))
    width[width < snap] = 0
    first = _distance_to_nearest(points, centres[mass > 0])
    first[first < snap] = 0
    return np.where(first >= 0.999 * width, 1.01 * width, width) * max(span, 1.0)


def _distance_to_nearest(points: Floats, centres: Floats) -> Floats:
    """Return the distance of each point to the nearest centre."""
    place = np.searchsorted(centres, points)
    sides = (centres[np.maximum(place - 1, 0)], centres[np.minimum(place, len(centres) - 1)])
    return np.minimum(np.abs(points - sides[0]), np.abs(points - sides[1]))


# The largest number of different values without cells.
MOST_CELLS = 2**15


class LocalFit(Protocol):
    """The parameters of a local fit."""

    @property
    def span(self) -> float:
        """Share of the rows in a neighbourhood."""

    @property
    def degree(self) -> int:
        """Degree of the local polynomial."""


@final
@dataclass(frozen=True, eq=False)
class LocalCells:
    """Cells in increasing order of x, with the mean of x and the mass (M,) of each.

    `values` (n,) is x, and `n` the number of rows with weight.
    """

    plan: TallyPlan
    values: Floats
    centres: Floats
    mass: Floats
    n: int

    @classmethod
    def cut(cls, estimator: Estimator, predictions: Predictions, n_cells: int | None) -> LocalCells | None:
        """Cut x into at most `n_cells` cells of about equal size, or into its values; return None without rows."""
        values = numeric_column(estimator, predictions, "smooths along")
        if not len(values):
            return None
        index, counts = numbered(values, predictions, n_cells)
        size, weights = len(counts), predictions.weights
        if size > MOST_CELLS:
            raise ValueError(f"{estimator!r}: x takes {size} values, too many to keep apart; use n_cells=1024.")
        plan = TallyPlan(predictions, Cells(size, index, "data"), ())
        mass = counts.astype(float) if weights is None else plan.fixed.weight
        known = plan.prediction[:, 0] if weights is None and predictions.keys == (1,) else None
        centres = _centres(values, index, mass, weights, known)
        return cls(plan, values, centres, mass, len(values) if weights is None else int((weights > 0).sum()))

    def range(self, trim: float) -> tuple[float, float]:
        """Return the `trim` and 1 - `trim` quantiles of x among the rows with weight."""
        weights = self.plan.predictions.weights
        values = self.values if weights is None else self.values[weights > 0]
        if not trim:
            return float(values.min()), float(values.max())
        if weights is None:
            return self._quantile(trim), self._quantile(1 - trim)
        low, high = np.quantile(values, [trim, 1 - trim])
        return float(low), float(high)

    def _quantile(self, level: float) -> float:
        """Return ``numpy.quantile`` of x, from the rows of the cells around it alone."""
        rank = level * (self.n - 1)
        ranks = np.array([int(rank), min(int(rank) + 1, self.n - 1)])
        reached = np.cumsum(self.mass)
        first, last = np.searchsorted(reached, ranks, side="right")
        index = self.plan.cells.index
        near = index == first if first == last else (index >= first) & (index <= last)
        inside = np.sort(self.values[near])
        low, high = inside[ranks - (round(reached[first - 1]) if first else 0)]
        share = rank - ranks[0]
        return float(low + (high - low) * share if share < 0.5 else high - (high - low) * (1 - share))

    def operator(self, points: Floats, smooth: LocalFit) -> LocalOperator:
        """Return the fit at these points."""
        widths = nearest_widths(points, self.centres, self.mass, smooth.span, self.n)
        return LocalOperator(points, self.centres, widths, smooth.degree)

    def squares(self, matrix: Floats, sizes: Floats | None = None) -> Floats:
        """Add up the squares of what rows weigh in each line of a matrix (P, M), each times its size (n,): (P,)."""
        weights, index = self.plan.predictions.weights, self.plan.cells.index
        if weights is None and sizes is None:
            return matrix**2 @ self.mass
        if weights is not None:  # shares of the cell, since squares of weights may leave the range of numbers
            matrix, shares = matrix * self.mass, ratio(weights, self.mass[index])
            sizes = shares**2 * (1.0 if sizes is None else sizes)
        return matrix**2 @ np.bincount(index, sizes, minlength=len(self.centres)).astype(float, copy=False)

    def squares_of_clusters(self, matrix: Floats, sizes: Floats | None = None) -> Floats:
        """Add up the squares of sums over the clusters of rows, of weights times sizes (n,), for a matrix (P, M): (P,).

        Of a matrix without signs, and standard deviations of outcomes, it is the largest variance that there may be:
        that of outcomes which depend on each other within clusters as strongly as they can.
        """
        predictions, groups = self.plan.predictions, self.plan.predictions.groups
        assert groups is not None
        each = all_weights(predictions, None) * (1.0 if sizes is None else sizes)
        sums = sparse.csr_array((each, (self.plan.cells.index, groups.codes)), (len(self.centres), groups.number))
        parts = (matrix[start : start + _POINTS] @ sums for start in range(0, len(matrix), _POINTS))
        return np.concatenate([(part**2).sum(axis=1) for part in parts])


def _centres(values: Floats, index: Ints, mass: Floats, weights: Floats | None, sums: Floats | None) -> Floats:
    """Return the mean of each cell, exactly for equal values; `sums` are those of x, if known."""
    parts = [slice(start, start + ROWS_IN_CACHE) for start in range(0, len(values), ROWS_IN_CACHE)]
    member = np.full(len(mass), np.nan)  # one value of each cell, even of a cell without weight
    for rows in parts:
        member[index[rows]] = values[rows]
        if not np.isnan(member).any():
            break
    if sums is not None:
        means = sums / mass
        # a sum of many equal values has a rounding error
        return np.where(np.abs(means - member) <= SAME * np.abs(member), member, means)
    moved = np.zeros(len(mass))
    for rows in parts:
        cell = index[rows]
        offset = values[rows] - member.take(cell)
        moved += np.bincount(cell, offset if weights is None else offset * weights[rows], minlength=len(mass))
    return member + ratio(moved, mass)


# The cell of each row along x: a value, a run of equally many rows, or, without a sort, of about equally many.

# With this many rows or more, cells are unions of narrow intervals of equal width, which need no sort.
_MANY_ROWS = 2**15
_INTERVALS = 2**16


def numbered(values: Floats, predictions: Predictions, n_cells: int | None) -> tuple[Ints, Ints]:
    """Return the cell of each row (a value or a run of ranks), and the number of rows of each; ties stay together."""
    if n_cells is not None and len(values) >= _MANY_ROWS:
        found = _from_intervals(values, n_cells)
        if found is not None:
            return found
    return runs(values, predictions.order, n_cells)


def runs(values: Floats, order: Ints, n_cells: int | None) -> tuple[Ints, Ints]:
    """Return the cell of each row, from the order of the rows, and the number of rows of each cell."""
    ordered = values[order]
    new = np.concatenate([[False], ordered[1:] > ordered[:-1]])
    if n_cells is not None and new.sum() >= n_cells:
        cuts = -(-np.arange(1, n_cells) * len(values) // n_cells)
        later = np.searchsorted(ordered, ordered[cuts], side="left")
        new[:] = False
        new[later[later > 0]] = True
    index = np.empty(len(values), dtype=np.intp)
    index[order] = np.cumsum(new)
    return index, np.diff(np.flatnonzero(new), prepend=0, append=len(values))


def _from_intervals(values: Floats, n_cells: int) -> tuple[Ints, Ints] | None:
    """Join intervals of equal width to cells of about equal size; return None if an interval is half a cell."""
    low, high = float(values.min()), float(values.max())
    if not high > low or n_cells > _INTERVALS // 8:
        return None
    index, scale = np.empty(len(values), dtype=np.intp), (_INTERVALS - 1) / (high - low)
    parts = [slice(start, start + ROWS_IN_CACHE) for start in range(0, len(values), ROWS_IN_CACHE)]
    for rows in parts:
        index[rows] = (values[rows] - low) * scale
    counts = np.bincount(index, minlength=_INTERVALS)
    if counts.max() > len(values) / (2 * n_cells):
        return None
    # Where no row is left, an interval belongs to the last cell.
    begun = np.minimum((np.cumsum(counts) - counts) * n_cells // len(values), n_cells - 1)
    first = np.flatnonzero(np.diff(begun, prepend=-1))
    cell = np.repeat(np.arange(len(first)), np.diff(first, append=_INTERVALS))
    for rows in parts:
        index[rows] = cell.take(index[rows], mode="clip")  # nothing lies outside; it is the fastest mode
    return index, np.add.reduceat(counts, first)
