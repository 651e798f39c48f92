"""The debiased squared error of cells with a variance that holds with and without miscalibration.

The estimator is a U-statistic: its variance is of order 1 / n where cells are off (the linear part), and of order
1 / n^2 where they are not (the degenerate part); Sun et al. (2024) adjust intervals for both. With in-sample cell
means the plain variance of the linear part holds the degenerate part too, twice, so it is enough for one sample,
except where residuals show too little noise (few or no events in a cell); `unseen_noise` has the floors for that.

Weights of rows are taken as known and fixed. The value is sum_b (W_b / W) sum_{i != j in b} w_i w_j <r_i, r_j> / P_b
with P_b = W_b^2 - sum w^2, so that row i counts w_i / W in the linear part and the pair i, j counts
w_i w_j W_b / (W P_b) in the degenerate part: the same sums, with weights for counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.estimators.base import Estimator
from calibstat.inference.normal_spread import Normal
from calibstat.inference.spread import NO_NOISE, NoInterval
from calibstat.inference.unseen_noise import FEW_OTHERS, midway_variance, other_rows, redrawn_variance, unseen_variance
from calibstat.sample import Sample

# Rows of a cell; with weights, how many rows of equal weight would be as good (Kish).
MINIMUM_ROWS = 8


@dataclass(frozen=True, eq=False)
class CellResiduals:
    """Residuals of rows and the cells they are in.

    Parameters
    ----------
    index : (n,) ints
        The cell of each row.
    weights : (n,) floats
        One for each row if there are none.
    residual : (n, c) floats
        Outcome - prediction, of the event alone for two classes.
    prediction : (n, c) floats
    n_cells : int
    """

    index: Ints
    weights: Floats
    residual: Floats
    prediction: Floats
    n_cells: int

    @classmethod
    def of(cls, core: Estimator, seen: Sample) -> CellResiduals:
        """Cut the cells of an estimator; refuse cells too small for a variance."""
        if core.residual_form != "debiased square":
            raise NoInterval(f"{core!r} is not a debiased squared error; use DebiasedL2(EqualMass(15))")
        plan = core.prepare(seen.predictions).tally
        if plan is None:
            raise NoInterval(f"{core!r} has no cells; use DebiasedL2(EqualMass(15))")
        weights = seen.predictions.weights
        components = seen.predictions.components
        happened = np.eye(seen.predictions.n_classes)[seen.outcomes][:, -components.shape[1] :]
        mass = np.ones(len(seen)) if weights is None else weights
        found = cls(plan.cells.index, mass, happened - components, components, plan.cells.size)
        smallest = float(found.rows[found.mass > 0].min())
        if smallest < MINIMUM_ROWS:
            rows = "rows" if weights is None else "rows in effect (by weights)"
            fewer = max(1, min(len(seen) // 20, plan.cells.size // 2))
            raise NoInterval(
                f"{core!r}: a cell holds {smallest:.3g} of {len(seen)} {rows}, too few for its variance (at least "
                f"{MINIMUM_ROWS}); take fewer cells, for example EqualMass({fewer})"
            )
        return found

    @cached_property
    def mass(self) -> Floats:
        """(L,) sum of weights of each cell."""
        return self._sums(self.weights)

    @cached_property
    def total(self) -> float:
        """Sum of all weights."""
        return float(self.weights.sum())

    @cached_property
    def share(self) -> Floats:
        """(n,) what each row counts."""
        return self.weights / self.total

    @cached_property
    def rows(self) -> Floats:
        """(L,) number of rows of each cell; with weights, of equally weighted ones that would be as good."""
        return self.mass**2 / np.where(self.mass > 0, self._sums(self.weights**2), 1.0)

    @cached_property
    def mean(self) -> Floats:
        """(L, c) mean residual of each cell."""
        sums = [self._sums(self.weights * column) for column in self.residual.T]
        return np.stack(sums, axis=-1) / np.where(self.mass > 0, self.mass, 1.0)[:, None]

    @cached_property
    def centred(self) -> Floats:
        """(n, c) residuals minus the mean of their cell."""
        return self.residual - self.mean[self.index]

    @cached_property
    def fewer(self) -> Floats:
        """(L,) weight of pairs over weight of rows: rows of each cell less one; one for a single row."""
        pairs = self.mass**2 - self._sums(self.weights**2)
        some = pairs > 1e-12 * self.mass**2
        return np.where(some, pairs / np.where(some, self.mass, 1.0), 1.0)

    @cached_property
    def value(self) -> float:
        """The debiased squared error."""
        squares = self._sums(self.weights**2 * (self.residual**2).sum(axis=1))
        products = self.mass**2 * (self.mean**2).sum(axis=1) - squares
        return float((products / self.fewer).sum() / self.total)

    @cached_property
    def influence(self) -> Floats:
        """(n,) what each row adds, to first order: 2 <g, r> - |g|^2 - value with g the mean residual of its cell."""
        mean = self.mean[self.index]
        first_order: Floats = 2 * (mean * self.residual).sum(axis=1) - (mean**2).sum(axis=1) - self.value
        return first_order

    def cross(self, other: CellResiduals) -> float:
        """Sum over i != j in a common cell of both of w_i^2 w_j^2 <c_i, c_j> <d_i, d_j> / (fewer_a fewer_b)."""
        both, cell = np.unique(self.index * other.n_cells + other.index, return_inverse=True)
        squared = self.weights * other.weights
        total = np.zeros(len(both))
        for first in self.centred.T:
            for second in other.centred.T:
                total += np.bincount(cell, squared * first * second) ** 2
        own = squared**2 * (self.centred**2).sum(axis=1) * (other.centred**2).sum(axis=1)
        pairs = total - np.bincount(cell, own)
        scale = self.fewer[both // other.n_cells] * other.fewer[both % other.n_cells]
        return float((pairs / scale).sum())

    @property
    def degenerate(self) -> float:
        """The part of the variance that is left without miscalibration."""
        return 2 * self.cross(self) / self.total**2

    @property
    def linear(self) -> float:
        """The variance of the linear part; with in-sample means it holds the degenerate part twice."""
        return float((self.share**2 * self.influence**2).sum())

    @property
    def size(self) -> float:
        """How large the value is, or by chance could be: what rounding leaves of a difference is measured by it."""
        return max(abs(self.value), float(np.sqrt(self.linear)))

    @property
    def variance(self) -> float:
        """Linear and degenerate part, each once."""
        return max(self.linear - self.degenerate, self.degenerate)

    @cached_property
    def others(self) -> Ints:
        """(L,) number of rows of each cell that have weight, and another outcome than the commonest one."""
        some = self.weights > 0
        happened = np.rint(self.residual + self.prediction)[some]
        return other_rows(self.index[some], happened, self.n_cells)

    @property
    def unseen(self) -> float:
        """The variance that cells of equal outcomes may hide."""
        return unseen_variance(self.mass / self.total, self.rows, self.mean, (self.others == 0) & (self.mass > 0))

    def _sums(self, values: Floats) -> Floats:
        """Sum over the rows of each cell."""
        sums: Floats = np.bincount(self.index, values, minlength=self.n_cells).astype(float)
        return sums


def difference_variance(first: CellResiduals, second: CellResiduals, paired: bool) -> float:
    """Return the linear or the degenerate part of the variance of a difference, whichever is larger."""
    if not paired:
        return first.variance + second.variance
    degenerate = 2 * (first.cross(first) + second.cross(second) - 2 * first.cross(second)) / first.total**2
    linear = float((first.share**2 * (first.influence - second.influence) ** 2).sum())
    return max(linear - degenerate, degenerate)


def difference_error(first: CellResiduals, second: CellResiduals, paired: bool) -> float:
    """Return the standard error of a difference, with the noise that outcomes do not show where few of them differ.

    For the same rows, those of such cells add at least the variance of outcomes drawn midway between the two models;
    for different rows, cells of equal outcomes add what the rule of three leaves possible.
    """
    seen = difference_variance(first, second, paired)
    if not paired:
        return float(np.sqrt(seen + first.unseen + second.unseen))
    few = (first.others[first.index] < FEW_OTHERS) | (second.others[second.index] < FEW_OTHERS)
    share = np.where(few, first.share, 0.0)
    shown = float((share**2 * (first.influence - second.influence) ** 2).sum())
    slope = 2 * (first.mean[first.index] - second.mean[second.index])
    midway = midway_variance(share, slope, first.prediction, second.prediction)
    return float(np.sqrt(seen + max(0.0, midway - shown)))


def total_variance(core: Estimator, seen: Sample) -> Normal:
    """Return the debiased squared error with its standard error, on the safe side near calibration."""
    cells = CellResiduals.of(core, seen)
    if not cells.residual.any():
        raise NoInterval(NO_NOISE)
    scaled = cells.weights / np.sqrt(cells.fewer * cells.total)[cells.index]
    redrawn = redrawn_variance(cells.index, scaled, seen.predictions.components)
    return Normal(
        cells.value,
        float(np.sqrt(max(cells.linear + cells.unseen, redrawn))),
        "for the squared *binned* error, in these cells (a lower bound of the unbinned one); normal, with the variance "
        "of the linear and the degenerate part (after Sun et al. 2024)",
        float(np.sqrt(max(redrawn, cells.unseen))),
        1.0 if seen.predictions.n_classes == 2 else 2.0,
    )
