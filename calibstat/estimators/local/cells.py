"""The cells of x from which local regression takes its sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.binnings.base import Cells
from calibstat.checks import at_least_one
from calibstat.estimators.base import Estimator
from calibstat.estimators.local.fits import LocalOperator, nearest_widths
from calibstat.estimators.local.runs import numbered
from calibstat.estimators.tally import TallyPlan, ratio
from calibstat.predictions import Predictions

# Cells on which the band is computed, and the largest number of different values that are kept apart.
BAND_CELLS = 256
MOST_CELLS = 2**15
# Rows that are added up at once, so that they stay in the cache.
_ROWS = 2**15
# A mean that is as near to a value as this is that value: a sum of many equal values is rounded.
_ROUNDING = 1e-9


class Smooth(Protocol):
    """What a local fit needs to know."""

    @property
    def span(self) -> float:
        """Share of the rows in a neighbourhood."""

    @property
    def degree(self) -> int:
        """Degree of the local polynomial."""


@final
@dataclass(frozen=True, eq=False)
class Pooled:
    """Neighbouring cells put together.

    Parameters
    ----------
    starts : (C,) ints
        The first cell of each group.
    centres, mass : (C,) floats
    n : int
        Number of rows.
    """

    starts: Ints
    centres: Floats
    mass: Floats
    n: int

    def sums(self, values: Floats) -> Floats:
        """Add up values of cells (..., M): (..., C)."""
        return values if len(self.starts) == values.shape[-1] else np.add.reduceat(values, self.starts, axis=-1)


@final
@dataclass(frozen=True, eq=False)
class LocalCells:
    """Cells in increasing order of x, each with its mean x and its mass.

    Parameters
    ----------
    plan : TallyPlan
    values : (n,) floats
        x itself.
    centres, mass : (M,) floats
    n : int
        Number of rows that have weight.
    rows : float
        What the weights make of this number: W^2 / sum w^2.
    """

    plan: TallyPlan
    values: Floats
    centres: Floats
    mass: Floats
    n: int
    rows: float

    @classmethod
    def cut(cls, estimator: Estimator, predictions: Predictions, n_cells: int | None) -> LocalCells | None:
        """Cut x into at most `n_cells` cells of about equally many rows, or into its values; None without rows."""
        values = smoothed_column(estimator, predictions)
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
        if weights is None:
            return cls(plan, values, centres, mass, len(values), float(len(values)))
        total = float(weights.sum())
        return cls(plan, values, centres, mass, int((weights > 0).sum()), total**2 / float((weights**2).sum()))

    def range(self, trim: float) -> tuple[float, float]:
        """The `trim` and 1 - `trim` quantiles of x among the rows that have weight."""
        weights = self.plan.predictions.weights
        values = self.values if weights is None else self.values[weights > 0]
        if not trim:
            return float(values.min()), float(values.max())
        if weights is None:
            return self._quantile(trim), self._quantile(1 - trim)
        low, high = np.quantile(values, [trim, 1 - trim])
        return float(low), float(high)

    def _quantile(self, level: float) -> float:
        """Return ``numpy.quantile`` of x without weights, looking only at the rows of the cells around it."""
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

    def operator(self, points: Floats, smooth: Smooth) -> LocalOperator:
        """Return the fit at these points."""
        widths = nearest_widths(points, self.centres, self.mass, smooth.span, self.n)
        return LocalOperator(points, self.centres, widths, smooth.degree)

    @property
    def variances(self) -> Floats:
        """(M,) variance of each cell's weighted sum of outcomes in a calibrated world."""
        predictions = self.plan.predictions
        variance = predictions.chances.prod(axis=1)
        if predictions.weights is not None:
            variance = variance * predictions.weights**2
        sums = np.bincount(self.plan.cells.index, variance, minlength=len(self.centres))
        return sums.astype(float, copy=False)

    def pooled(self) -> Pooled:
        """Put neighbouring cells together where there are more than bands are computed on."""
        size = len(self.centres)
        starts = np.arange(size)
        if size > BAND_CELLS:
            starts = np.unique(np.linspace(0, size, BAND_CELLS, endpoint=False).astype(np.intp))
        mass = np.add.reduceat(self.mass, starts)
        moments = np.add.reduceat(self.mass * self.centres, starts)
        centres = np.divide(moments, mass, out=self.centres[starts].copy(), where=mass > 0)
        return Pooled(starts, centres, mass, self.n)


def _centres(values: Floats, index: Ints, mass: Floats, weights: Floats | None, sums: Floats | None) -> Floats:
    """Return the mean of each cell; `sums` are those of x, if known. Equal values keep their place exactly."""
    parts = [slice(start, start + _ROWS) for start in range(0, len(values), _ROWS)]
    member = np.full(len(mass), np.nan)  # a cell without weight has one too
    for rows in parts:
        member[index[rows]] = values[rows]
        if not np.isnan(member).any():
            break
    if sums is not None:
        means = sums / mass
        return np.where(np.abs(means - member) <= _ROUNDING * np.abs(member), member, means)
    moved = np.zeros(len(mass))
    for rows in parts:
        cell = index[rows]
        offset = values[rows] - member.take(cell)
        moved += np.bincount(cell, offset if weights is None else offset * weights[rows], minlength=len(mass))
    return member + ratio(moved, mass)


def smoothed_column(estimator: Estimator, predictions: Predictions) -> Floats:
    """Return the one numeric column that is conditioned on, or say which lens would leave one."""
    if len(predictions.keys) != 1:
        raise ValueError(
            f"{estimator!r} smooths along one column, but {len(predictions.keys)} are conditioned on "
            f"({predictions.condition}): look through Given('name of a variable') or Given(...) first."
        )
    variable = predictions.column(predictions.keys[0])
    if variable.categorical:
        raise ValueError(
            f"{estimator!r} smooths along numbers, but the variable {predictions.keys[0]!r} is categorical with "
            f"levels {variable.levels!r}; use ECE(Categories())."
        )
    return variable.values


def checked_loess(span: Any, degree: Any, n_points: Any, trim: Any, n_cells: Any) -> None:
    """Refuse parameters that make no local fit."""
    if not 0 < span < np.inf:
        raise ValueError(f"span is {span!r}, but it must be a positive number, for example 0.75.")
    if degree not in (1, 2):
        raise ValueError(f"degree is {degree!r}; it must be 1 or 2.")
    if not 0 <= trim < 0.5:
        raise ValueError(f"trim is {trim!r}, but it must be a number with 0 <= trim < 0.5.")
    at_least_one("n_points", n_points)
    if n_cells is not None:
        at_least_one("n_cells", n_cells)
