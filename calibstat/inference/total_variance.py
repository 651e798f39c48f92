"""The debiased squared error of cells with a variance that holds with and without miscalibration.

The estimator is a U-statistic: its variance is of order 1 / n where cells are off (the linear part), and of order
1 / n^2 where they are not (the degenerate part); Sun et al. (2024) adjust intervals for both. With in-sample cell
means the plain variance of the linear part holds the degenerate part too, twice, so it is enough for one sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.estimators.base import Estimator
from calibstat.inference.spread import NoInterval, Normal
from calibstat.sample import Sample

MINIMUM_ROWS = 8


@dataclass(frozen=True, eq=False)
class CellResiduals:
    """Residuals of rows and the cells they are in.

    Parameters
    ----------
    index : (n,) ints
        The cell of each row.
    counts : (L,) ints
    residual : (n, c) floats
        Outcome - prediction, of the event alone for two classes.
    """

    index: Ints
    counts: Ints
    residual: Floats

    @classmethod
    def of(cls, core: Estimator, seen: Sample) -> CellResiduals:
        """Cut the cells of an estimator; refuse weights and cells too small for a variance."""
        if core.residual_form != "debiased square":
            raise NoInterval(f"{core!r} is not a debiased squared error; use DebiasedL2(EqualMass(15))")
        plan = core.prepare(seen.predictions).tally
        if plan is None or seen.predictions.weights is not None:
            raise NoInterval(
                f"{core!r} has no variance for weighted rows; leave the weights out, or use ECE(EqualMass(15)), "
                "whose interval takes weights"
            )
        counts = np.bincount(plan.cells.index, minlength=plan.cells.size)
        smallest = int(counts[counts > 0].min())
        if smallest < MINIMUM_ROWS:
            raise NoInterval(
                f"{core!r}: a cell holds {smallest} of {len(seen)} rows, too few for its variance (at least "
                f"{MINIMUM_ROWS}); take fewer cells, for example EqualMass({max(1, len(seen) // 20)})"
            )
        components = seen.predictions.components
        happened = np.eye(seen.predictions.n_classes)[seen.outcomes][:, -components.shape[1] :]
        return cls(plan.cells.index, counts, happened - components)

    @cached_property
    def mean(self) -> Floats:
        """(L, c) mean residual of each cell."""
        sums = [np.bincount(self.index, column, minlength=len(self.counts)) for column in self.residual.T]
        return np.stack(sums, axis=-1) / np.maximum(self.counts, 1)[:, None]

    @cached_property
    def centred(self) -> Floats:
        """(n, c) residuals minus the mean of their cell."""
        return self.residual - self.mean[self.index]

    @cached_property
    def fewer(self) -> Floats:
        """(L,) rows of each cell less one, at least one."""
        return np.maximum(self.counts - 1, 1).astype(float)

    @cached_property
    def value(self) -> float:
        """The debiased squared error."""
        squares = np.bincount(self.index, (self.residual**2).sum(axis=1), minlength=len(self.counts))
        products = self.counts**2 * (self.mean**2).sum(axis=1) - squares
        return float((products / self.fewer).sum() / len(self.index))

    @cached_property
    def influence(self) -> Floats:
        """(n,) what each row adds, to first order: 2 <g, r> - |g|^2 - value with g the mean residual of its cell."""
        mean = self.mean[self.index]
        first_order: Floats = 2 * (mean * self.residual).sum(axis=1) - (mean**2).sum(axis=1) - self.value
        return first_order

    def cross(self, other: CellResiduals) -> float:
        """Sum over i != j in a common cell of both of <c_i, c_j> <d_i, d_j> / ((n_a - 1) (n_b - 1))."""
        both, cell = np.unique(self.index * len(other.counts) + other.index, return_inverse=True)
        total = np.zeros(len(both))
        for first in self.centred.T:
            for second in other.centred.T:
                total += np.bincount(cell, first * second) ** 2
        own = (self.centred**2).sum(axis=1) * (other.centred**2).sum(axis=1)
        pairs = total - np.bincount(cell, own)
        scale = self.fewer[both // len(other.counts)] * other.fewer[both % len(other.counts)]
        return float((pairs / scale).sum())

    @property
    def degenerate(self) -> float:
        """The part of the variance that is left without miscalibration."""
        return 2 * self.cross(self) / len(self.index) ** 2

    @property
    def variance(self) -> float:
        """Linear and degenerate part, each once: the in-sample linear variance holds the degenerate one twice."""
        return max(float((self.influence**2).mean()) / len(self.index) - self.degenerate, self.degenerate)


def total_variance(core: Estimator, seen: Sample) -> Normal:
    """Return the debiased squared error with its standard error, on the safe side near calibration."""
    cells = CellResiduals.of(core, seen)
    error = float(np.sqrt((cells.influence**2).mean() / len(cells.index)))
    return Normal(
        cells.value,
        error,
        "for the squared *binned* error, in these cells (a lower bound of the unbinned one); normal, with the variance "
        "of the linear and the degenerate part (after Sun et al. 2024)",
    )
