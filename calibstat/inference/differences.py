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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibstat.data.arrays import Floats, Ints
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.inference.intervals import NO_NOISE, NoInterval, NormalInterval

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
        plan = core.prepare(seen.predictions).capabilities.tally
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
        some = pairs > ROUNDING * self.mass**2
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


def total_variance(core: Estimator, seen: Sample) -> NormalInterval:
    """Return the debiased squared error with its standard error, on the safe side near calibration."""
    cells = CellResiduals.of(core, seen)
    if not cells.residual.any():
        raise NoInterval(NO_NOISE)
    scaled = cells.weights / np.sqrt(cells.fewer * cells.total)[cells.index]
    redrawn = redrawn_variance(cells.index, scaled, seen.predictions.components)
    return NormalInterval(
        cells.value,
        float(np.sqrt(max(cells.linear + cells.unseen, redrawn))),
        "for the squared *binned* error, in these cells (a lower bound of the unbinned one); normal, with the variance "
        "of the linear and the degenerate part (after Sun et al. 2024)",
        float(np.sqrt(max(redrawn, cells.unseen))),
        core.largest_value(seen.predictions.n_classes),
    )


# Noise that the residuals of a sample do not show: floors of the variances of errors and of their differences.
#
# Residuals of a cell whose outcomes are all equal show no noise, though other labels might have been drawn. So the
# variance is at least that under labels redrawn from the predictions, and a cell of n equal outcomes gets the variance
# of the largest chance of another outcome that n rows leave possible, 3 / n ("rule of three", Hanley & Lippman-Hand
# 1983). Where few outcomes differ from the others, a difference of two models of the same rows has at least the
# variance of outcomes drawn midway between the two.

RULE_OF_THREE = 3.0
# With fewer rows of other outcomes than the commonest, the noise that they show may be far too small.
FEW_OTHERS = 4


def redrawn_variance(index: Ints, scaled: Floats, chances: Floats) -> float:
    """Return the exact variance of a sum over i != j in a common cell of s_i s_j <r_i, r_j>, with labels redrawn.

    Parameters
    ----------
    index : (n,) ints
        The cell of each row.
    scaled : (n,) floats
        What a row counts in pairs; the product of two is what the pair counts.
    chances : (n, c) floats
        Predictions: of the event alone (c = 1), or of all classes.

    Returns
    -------
    variance : float
        2 sum over pairs of s_i^2 s_j^2 <V_i, V_j> with V the covariance of one label.
    """
    squared, n_cells = scaled**2, int(index.max()) + 1
    if chances.shape[1] == 1:
        single = squared * (chances * (1 - chances))[:, 0]
        sums = np.bincount(index, single, minlength=n_cells)
        return max(0.0, 2 * float((sums**2).sum() - (single**2).sum()))
    powers = [(chances**power).sum(axis=1) for power in (2, 3)]
    own = (squared**2 * (powers[0] - 2 * powers[1] + powers[0] ** 2)).sum()
    total = 0.0
    order = np.argsort(index, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(index, minlength=n_cells))[:-1]):
        weighted = squared[rows, None] * chances[rows]
        covariance = np.diag(weighted.sum(axis=0)) - chances[rows].T @ weighted
        total += float((covariance**2).sum())
    return max(0.0, 2 * (total - float(own)))


def unseen_variance(share: Floats, rows: Floats, mean: Floats, uniform: Floats) -> float:
    """Return the variance that cells of equal outcomes add, by the rule of three: linear and degenerate part.

    Parameters
    ----------
    share : (L,) floats
        Share of each cell in the total weight.
    rows : (L,) floats
        Number of rows of each cell (in effect, with weights).
    mean : (L, c) floats
        Mean residual of each cell.
    uniform : (L,) bools
        Which cells hold equal outcomes only.
    """
    chance = possible_chance(rows)
    noise = chance * (1 - chance) / np.maximum(rows, 1.0)
    return float((share**2 * (4 * reach(mean) ** 2 * noise + 2 * noise**2))[uniform].sum())


def unseen_rows_variance(share: Floats, slope: Floats, uniform: bool) -> float:
    """Return the variance of sum_i share_i <slope_i, outcome_i> by the rule of three, if all outcomes are equal.

    Parameters
    ----------
    share : (n,) floats
        What each row counts.
    slope : (n, c) floats
        How much one more of each outcome adds: of the event alone (c = 1), or of all classes.
    uniform : bool
        Whether all outcomes are equal; if not the rows show their noise, and nothing is added.
    """
    if not uniform:
        return 0.0
    chance = possible_chance(1 / (share**2).sum())
    return float(chance * (1 - chance) * (share**2 * reach(slope) ** 2).sum())


def midway_variance(share: Floats, slope: Floats, first: Floats, second: Floats) -> float:
    """Return the variance of sum_i share_i <slope_i, outcome_i> for chances midway between two models' predictions.

    Of all chances, these are nearest to both predictions while both models have the same squared error in each row. So
    the variance of a difference of two errors under this hypothesis is known even where no outcome shows noise: it is
    the variance of a score test.

    Parameters
    ----------
    share : (n,) floats
        What each row counts.
    slope : (n, c) floats
        How much one more of each outcome adds to the difference: of the event alone (c = 1), or of all classes.
    first, second : (n, c) floats
        The predictions.
    """
    chances = np.clip((first + second) / 2, 0, 1)
    moments = [(chances * slope**power).sum(axis=1) for power in (1, 2)]
    return float((share**2 * np.maximum(moments[1] - moments[0] ** 2, 0.0)).sum())


def other_rows(index: Ints, happened: Floats, n_cells: int) -> Ints:
    """Count the rows of each cell whose outcome is not its commonest one: (L,).

    Parameters
    ----------
    index : (n,) ints
    happened : (n, c) floats
        1 for the outcome of each row, else 0: of the event alone (c = 1), or of all classes.
    n_cells : int
    """
    rows = np.bincount(index, minlength=n_cells)
    counts = [np.bincount(index, each, minlength=n_cells) for each in happened.T]
    if len(counts) == 1:
        counts.append(rows - counts[0])
    return np.rint(rows - np.max(counts, axis=0)).astype(np.intp)


def possible_chance(rows: Floats) -> Floats:
    """Return the largest chance of another outcome that so many rows with equal outcomes leave possible."""
    return RULE_OF_THREE / np.maximum(rows, 2 * RULE_OF_THREE)


def reach(slope: Floats) -> Floats:
    """(m,) how much another label adds, of (m, c): it moves one component by one, or two in opposite directions."""
    return np.abs(slope[:, 0]) if slope.shape[1] == 1 else np.ptp(slope, axis=1)


# Whether two samples hold the same rows: what pairing needs.


def same_labels(a: Sample, b: Sample) -> None:
    """Refuse to compare models of different labels."""
    if a.labels != b.labels:
        raise ValueError(
            f"the models have different labels, {a.labels!r} and {b.labels!r}; give both samples the same labels=, in "
            "the same order."
        )


def same_rows(a: Sample, b: Sample, estimator: Estimator, advice: str) -> None:
    """Refuse to pair rows that are not the same, and say what to do instead."""
    if len(a) != len(b):
        found = f"the samples have {len(a)} and {len(b)} rows"
    elif not np.array_equal(a.outcomes, b.outcomes):
        found = f"y_true differs in {np.count_nonzero(a.outcomes != b.outcomes)} of {len(a)} rows"
    elif not np.array_equal(kept_rows(a, estimator), kept_rows(b, estimator)):
        found = f"through {estimator.lens!r} different rows of the two samples are kept"
    elif not _same_weights(a, b):
        found = "their weights differ"
    else:
        return
    raise ValueError(f"a paired comparison needs the same rows in the same order, but {found}; {advice}.")


def kept_rows(sample: Sample, estimator: Estimator) -> Ints:
    """Return the rows that the lens keeps, as numbers."""
    rows = estimator.lens.look(sample.predictions).rows
    return np.arange(len(sample)) if rows is None else rows


def _same_weights(a: Sample, b: Sample) -> bool:
    first, second = a.predictions.weights, b.predictions.weights
    if first is None or second is None:
        return first is second
    return np.array_equal(first, second)


# The wrap that makes a comparison of two errors valid whether or not both are zero (IUUI).


def wrapped_pvalue(normal: float, own: Sequence[float]) -> float:
    r"""Return the larger of a normal p-value and of twice the smallest exact one of the models by themselves.

    .. math:: p = \max\big(p_\text{normal},\; \min(1,\, 2 \min(p_A, p_B))\big)

    The null "equal errors" is a union: both errors are zero, where a difference is noise of a smaller order and the
    normal p-value says nothing, or both are equal and positive, where it holds. The first part is tested by "at least
    one of the two is off" (a union of two hypotheses, hence the 2), and both parts must be rejected (their
    intersection): intersection-union of union-intersection tests, IUUI (Dimitriadis & Puke 2026).

    Parameters
    ----------
    normal : float
        P-value of the difference, divided by its standard error.
    own : two floats
        Exact p-value of "this model is calibrated", of each model.

    Examples
    --------
    >>> wrapped_pvalue(0.001, (0.4, 0.02)), wrapped_pvalue(0.3, (0.001, 0.001))
    (0.04, 0.3)
    """
    return max(normal, min(1.0, 2 * min(own)))
