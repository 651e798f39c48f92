"""Tallies, the sums over cells that suffice for a binned estimator, and the estimators that are functions of them.

An author names the sums that an estimator needs and writes a function of a `Tally` of exactly these; how the sums are
computed (from labels, weights or known chances, or drawn whole) is the same for all estimators.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import cached_property
from typing import ClassVar, Final, Literal, final

import numpy as np

from calibstat._compiled import has_twin
from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning, Cells
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import Array, Floats, Ints, effective_number
from calibstat.data.checks import locked
from calibstat.data.sample import Predictions
from calibstat.estimators.base import (
    Capabilities,
    CellTerms,
    Estimator,
    Evaluator,
    Expansion,
    all_weights,
    is_chances,
    two_classes,
)

# Stands for sums that are not needed.
_NONE: Final = locked(np.empty(0))


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over cells; replicates on leading axes, L cells, c components (1 for two classes: the event; else K).

    The arrays are contiguous row by row: numpy adds contiguous numbers in another order than scattered ones, and a
    value must not depend, even in its last digit, on what is evaluated beside it.

    Parameters
    ----------
    weight : (..., L) floats
        Sum of weights: the number of rows, without weights.
    prediction, outcome : (..., L, c) floats
        Weighted sums of the predicted probabilities and of the indicators of what happened.
    weight2 : (..., L) floats
        Sum of squared weights (empty unless needed).
    square : (..., L) floats
        Sum of squared weights times squared norms of outcome - prediction (empty unless needed).
    complement : (..., L) floats
        Weighted sum of the first column of the predictions (empty unless needed): for two classes 1 - prediction, with
        the digits that the difference loses where the event is all but certain.
    """

    weight: Floats
    prediction: Floats
    outcome: Floats
    weight2: Floats = field(default_factory=lambda: _NONE)
    square: Floats = field(default_factory=lambda: _NONE)
    complement: Floats = field(default_factory=lambda: _NONE)

    def __post_init__(self) -> None:
        for name, sums in vars(self).items():
            if not sums.flags.c_contiguous:
                object.__setattr__(self, name, np.ascontiguousarray(sums))

    def of_cells(self, cells: slice) -> Tally:
        """Return the sums of some cells."""
        rows, vectors = (..., cells), (..., cells, slice(None))
        sums = (each[rows] for each in (self.weight2, self.square, self.complement))
        return Tally(self.weight[rows], self.prediction[vectors], self.outcome[vectors], *sums)

    @cached_property
    def total(self) -> Floats:
        """(...,) sum of all weights."""
        return self.weight.sum(axis=-1)

    @cached_property
    def any_rows(self) -> bool:
        """Whether there are rows (of weight) in each replicate."""
        return bool(self.total > 0 if self.weight.ndim == 1 else (self.total > 0).all())

    def over_total(self, sums: Floats) -> Floats:
        """Divide sums of cells (..., L) by the sum of all weights; NaN when there are no rows."""
        total = self.total[..., None]
        return sums / total if self.any_rows else ratio(sums, total, empty=np.nan)

    @property
    def share(self) -> Floats:
        """(..., L) the share of each cell in the total weight; NaN when there are no rows."""
        return self.over_total(self.weight)

    @property
    def mean_prediction(self) -> Floats:
        """(..., L, c) mean prediction of each cell; zero in empty cells."""
        return ratio(self.prediction, self.weight[..., None])

    @property
    def mean_law(self) -> Floats:
        """(..., L, K) mean prediction of each class; for an estimator that needs the complement."""
        if self.prediction.shape[-1] > 1:
            return self.mean_prediction
        other = ratio(self.complement, self.weight)[..., None]
        return np.concatenate([np.broadcast_to(other, self.mean_prediction.shape), self.mean_prediction], axis=-1)

    @property
    def mean_outcome(self) -> Floats:
        """(..., L, c) proportion of each outcome in each cell; zero in empty cells."""
        return ratio(self.outcome, self.weight[..., None])

    @property
    def residual(self) -> Floats:
        """(..., L, c) sum of outcome - prediction."""
        return self.outcome - self.prediction


def ratio(numerator: Array, denominator: Array, empty: float = 0.0) -> Floats:
    """Divide; where the denominator is zero the result is `empty`. The result is contiguous row by row."""
    there = denominator > 0
    if there.all():  # dividing all is twice as fast as dividing some, and gives the same layout in memory
        return np.asarray(np.divide(numerator, denominator, order="C"))
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.full(shape, empty), where=there)


def over_components(values: Floats) -> Floats:
    """Sum over the components of an outcome: (..., c) -> (...,); for two classes the event is the only one."""
    total: Floats = values[..., 0] if values.shape[-1] == 1 else values.sum(axis=-1)
    return total


def replicates(values: Array) -> Array:
    """Put all leading axes into one: (..., n) -> (R, n); n may be zero."""
    return values.reshape(math.prod(values.shape[:-1]), values.shape[-1])


def full_vector(components: Floats) -> Floats:
    """Extend event components (..., 1) to both classes (..., 2); K > 2 components are returned unchanged."""
    return np.concatenate([1 - components, components], axis=-1) if components.shape[-1] == 1 else components


class TallyPlan:
    """Cells and the sums over them that no outcome changes; outcomes complete them to a `Tally`.

    `needs` names the sums that the estimator uses, from: weight, weight2, prediction, outcome, square,
    complement.
    """

    def __init__(self, predictions: Predictions, cells: Cells, needs: Iterable[str]) -> None:
        self.predictions, self.n_classes = predictions, predictions.n_classes
        self.cells = cells
        self.needs = frozenset(needs)
        self._prediction: Floats | None = None
        self._observed: tuple[Array, Tally] | None = None  # the labels of the sample, and their sums
        self.label_law: object = None  # of counts under redrawn labels, once `draws` has computed it

    @cached_property
    def weight(self) -> Floats:
        """(L,) the sums of the sample's own weights."""
        return self._sum_weights(self.predictions.weights)

    @property
    def prediction(self) -> Floats:
        """(L, c) the sums of predictions, under the sample's own weights."""
        if self._prediction is None:
            self._prediction = self._sum_predictions(self.predictions.weights)
        return self._prediction

    @cached_property
    def complement(self) -> Floats:
        """(L,) the sums of the first column of the predictions, under the sample's own weights, where needed."""
        return self._complement(self.predictions.weights)

    @cached_property
    def fixed(self) -> Tally:
        """The sums that no outcome changes, under the sample's own weights."""
        weight2 = self._weight2(self.weight, self.predictions.weights)
        return Tally(self.weight, self.prediction, _NONE, weight2, complement=self.complement)

    @property
    def from_counts(self) -> bool:
        """Whether the value depends on outcomes only through their counts in each cell."""
        return self.predictions.unweighted and "square" not in self.needs

    def complete(self, outcome: Array) -> Tally:
        """Combine outcome sums (..., L, c) with the sums that no outcome changes."""
        fixed = self.fixed
        return Tally(fixed.weight, fixed.prediction, outcome, fixed.weight2, complement=fixed.complement)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Tally:
        """Add up outcomes (..., n) or chances (..., n, K), with further weights (..., n).

        Those of a sample, which nobody can change, are added up once.
        """
        if weights is not None or outcomes.ndim > 1 or outcomes.flags.writeable:
            return self._add(outcomes, weights)
        known = self._observed
        if known is None or known[0] is not outcomes:
            known = self._observed = outcomes, self._add(outcomes, None)
        return known[1]

    def _add(self, outcomes: Array, weights: Array | None) -> Tally:
        combined = _both_weights(self.predictions.weights, weights)
        if outcomes.dtype.kind == "f":
            weight, outcome = self._sum_weights(combined), self._sum_chances(outcomes, combined)
        else:
            table = self._count(outcomes, combined)
            two = table.shape[-1] == 2  # the sum of two columns is faster than one along so short an axis
            weight, outcome = (table[..., 0] + table[..., 1], table[..., 1:]) if two else (table.sum(axis=-1), table)
            if combined is None and table.ndim == 2:
                self.weight = weight
        prediction = self.prediction if weights is None else self._sum_predictions(combined)
        if not self.needs:
            return Tally(weight, prediction, outcome)
        square = self._sum_squares(outcomes, combined) if "square" in self.needs else _NONE
        complement = self.complement if weights is None else self._complement(combined)
        return Tally(weight, prediction, outcome, self._weight2(weight, combined), square, complement)

    def fewest(self, outcomes: Array) -> float:
        """Return the fewest rows of one outcome (n,) in a cell; with weights, how many equal ones would be as good."""
        weights, n_classes = self.predictions.weights, self.n_classes
        if self.predictions.unweighted and (n_classes == 2 or self.predictions.counts is not None):
            tally = self(outcomes)
            each = (
                full_vector(tally.outcome)
                if n_classes > 2
                else np.stack([tally.weight - tally.outcome[..., 0], tally.outcome[..., 0]], axis=-1)
            )
            return float(each[tally.weight > 0].min(initial=self.predictions.n_rows))
        if is_chances(outcomes):  # of rows that stand for several, of one weight each
            masses_of, squares = (
                np.stack([self._sum(masses * share) for share in outcomes.T], axis=-1)
                for masses in (all_weights(self.predictions, None), self.predictions.squared_weights)
            )
            return float(
                effective_number(masses_of, squares)[masses_of.any(axis=-1)].min(initial=self.predictions.n_rows)
            )
        place, shape = self.cells.index * n_classes + outcomes, (self.cells.size, n_classes)
        found: Array = np.bincount(place, weights, minlength=shape[0] * shape[1]).reshape(shape)
        known = found.any(axis=-1)  # a cell may be empty
        if weights is not None:
            found = effective_number(found, np.bincount(place, weights**2, minlength=found.size).reshape(shape))
        return float(found[known].min(initial=len(outcomes)))

    def signed(self, outcomes: Array, signs: Array) -> Tally:
        """Add up as if the residual outcome - prediction of each row were multiplied by its sign (..., n)."""
        combined = signs if self.predictions.weights is None else self.predictions.weights * signs
        columns = self.predictions.components.T
        first = 1 if self.n_classes == 2 else 0
        residual = [self._sum(((outcomes == first + k) - column) * combined) for k, column in enumerate(columns)]
        square = self._sum(self._squares(outcomes) * combined**2) if "square" in self.needs else _NONE
        return Tally(
            self.fixed.weight,
            self.prediction,
            self.prediction + np.stack(residual, axis=-1),
            self.fixed.weight2,
            square,
            self.complement,
        )

    def _sum_weights(self, weights: Array | None) -> Floats:
        if weights is None:
            return np.bincount(self.cells.index, minlength=self.cells.size).astype(float)
        return self._sum(weights)

    def _weight2(self, weight: Floats, weights: Array | None) -> Floats:
        """Sum of squared weights of each cell, where it is needed."""
        if "weight2" not in self.needs:
            return _NONE
        return weight if weights is None else self._sum(weights**2 / self.predictions.multiplicity)

    def _complement(self, weights: Array | None) -> Floats:
        """Sum of the first column of the predictions in each cell, where it is needed."""
        if "complement" not in self.needs:
            return _NONE
        return self._sum(_weighted(self.predictions.probabilities[:, 0], weights))

    def _sum_predictions(self, weights: Array | None) -> Floats:
        columns = self.predictions.components.T
        return np.stack([self._sum(_weighted(column, weights)) for column in columns], axis=-1)

    def _count(self, outcomes: Array, weights: Array | None) -> Floats:
        """Sum the indicators of outcomes (..., n) over cells: (..., L, K)."""
        cells, n_classes = self.cells, self.n_classes
        if weights is not None:
            shape = np.broadcast_shapes(outcomes.shape, weights.shape)
            outcomes, weights = np.broadcast_to(outcomes, shape), np.broadcast_to(weights, shape)
            sums = weigh_codes(cells.index, replicates(outcomes), replicates(weights), cells.size, n_classes)
        elif n_classes == 2 and outcomes.shape == (len(self.predictions),) and self._prediction is None:
            # what is asked for first, and most often alone: both sums in one pass
            counts, prediction = count_and_add_found(cells, outcomes, self.predictions.event)
            self._prediction = prediction[:, None]
            return counts
        else:
            sums = count_codes(cells.index, replicates(outcomes), cells.size, n_classes)
        return sums.reshape(*outcomes.shape[:-1], cells.size, n_classes)

    def _sum_chances(self, chances: Array, weights: Array | None) -> Floats:
        first = 1 if self.n_classes == 2 else 0
        columns = np.moveaxis(chances[..., first:], -1, 0)
        return np.stack([self._sum(_weighted(column, weights)) for column in columns], axis=-1)

    def _sum(self, values: Array) -> Floats:
        """Sum values (..., n) over cells: (..., L)."""
        sums = add_up(self.cells.index, replicates(values), self.cells.size)
        return sums.reshape(*values.shape[:-1], self.cells.size)

    def _sum_squares(self, outcomes: Array, weights: Array | None) -> Floats:
        """Sum the squared norms of outcome - prediction, or their means, times squared weights: (..., L)."""
        if outcomes.ndim == 1 and weights is None and self.n_classes == 2 and 2 * self.cells.size <= _ROWS:
            event, sums = self.predictions.event, np.zeros(self.cells.size)
            for rows in _slices(len(outcomes), _ROWS):  # as `_sum` adds them up, and in the cache
                _add_to(sums, self.cells.index[rows], (outcomes[rows] - event[rows]) ** 2, len(outcomes))
            return sums
        floating = np.issubdtype(outcomes.dtype, np.floating)
        distance = self._distances(outcomes) if floating else self._squares(outcomes)
        return self._sum(_weighted(distance, None if weights is None else weights**2 / self.predictions.multiplicity))

    def _squares(self, outcomes: Array) -> Floats:
        """Squared norm of outcome - prediction, on the event alone for two classes: (..., n)."""
        if self.n_classes == 2:
            return (outcomes - self.predictions.event) ** 2
        rows = self.predictions.probabilities
        hit = rows[np.arange(len(rows)), outcomes]
        return (rows**2).sum(axis=1) + 1 - 2 * hit

    def _distances(self, chances: Array) -> Floats:
        """Mean of `_squares` when outcomes have these chances: (..., n)."""
        if self.n_classes == 2:
            event, happened = self.predictions.event, chances[..., 1]
            return happened * (1 - event) ** 2 + (1 - happened) * event**2
        rows = self.predictions.probabilities
        return (rows**2).sum(axis=1) + 1 - 2 * (chances * rows).sum(axis=-1)


def _weighted(values: Array, weights: Array | None) -> Array:
    return values if weights is None else values * weights


def _both_weights(first: Array | None, second: Array | None) -> Array | None:
    if first is None or second is None:
        return second if first is None else first
    return first * second


class BinnedEstimator(Estimator):
    """An estimator that depends on the data only through sums over cells.

    Subclasses have a field `binning` and write `functional`; they name in `needs` the sums beyond weight, prediction
    and outcome that it uses ("weight2", "square", "complement").
    """

    binning: Binning
    needs: ClassVar[tuple[str, ...]] = ()
    interval_about: ClassVar[str] = "the *binned* error, in these cells (a lower bound of the unbinned one)"

    def reads_counts(self, n_classes: int) -> bool:  # noqa: ARG002
        """Whether the cells are those of single rows."""
        return self.binning.takes_counts

    @property
    def reads_buckets(self) -> bool:  # type: ignore[override]
        """Whether no squares of residuals are needed."""
        return "square" not in self.needs

    @property
    def estimand(self) -> Estimator:
        """The same estimator without binning: its cells are the distinct predictions."""
        return self.recut(UniqueValues())

    @abstractmethod
    def functional(self, tally: Tally) -> Floats:
        """Return the value of tallies (..., L, c) as an array (...,)."""

    def cellwise(self, plan: TallyPlan) -> CellTerms | None:  # noqa: ARG002
        """Return the terms of cells that make up the value, on a plan; by default None."""
        return None

    def expansion(self, plan: TallyPlan) -> Callable[[Array], Expansion] | None:  # noqa: ARG002
        """Return a function that expands the value at outcomes (n,), on the cells of a plan; by default None."""
        return None

    @final
    def prepare(self, predictions: Predictions) -> Evaluator:
        """Cut the cells and add up what no outcome changes."""
        if self.two_outcomes:
            two_classes(self, predictions)
        self.expect_rows(predictions)
        cells = self.binning.cut(predictions)
        return _BinnedEvaluator(TallyPlan(predictions, cells, self.needs), self)


class CellwiseEstimator(BinnedEstimator):
    """A binned estimator that is an increasing function of the sum, or the maximum, of one term for each cell.

    Subclasses write `terms`; the term of a cell must not depend on outcomes of other cells. Cells are independent given
    the predictions, so for two outcomes the null distribution of such a value can be computed without drawing anything
    (`Exact`).
    """

    combine: ClassVar[Literal["sum", "max"]] = "sum"
    """Whether the value is the sum of the terms or the largest of them."""

    @abstractmethod
    def terms(self, tally: Tally) -> Floats:
        """Return the term of each cell of tallies (..., L, c): (..., L)."""

    def link(self, combined: Floats) -> Floats:
        """Take the combined terms to the value, by an increasing function; by default the identity."""
        return combined

    @final
    def cellwise(self, plan: TallyPlan) -> CellTerms | None:
        """Return `terms`, for a plan, with how they are combined."""

        def terms(outcome: Array) -> Floats:
            return self.terms(plan.complete(outcome))

        return CellTerms(terms, self.combine, self.link)

    @final
    def functional(self, tally: Tally) -> Floats:
        """Combine the terms; NaN without rows."""
        terms = self.terms(tally)
        value = self.link(terms.sum(axis=-1) if self.combine == "sum" else terms.max(axis=-1))
        return value if tally.any_rows else np.where(tally.total > 0, value, np.nan)


class _BinnedEvaluator(Evaluator):
    def __init__(self, plan: TallyPlan, estimator: BinnedEstimator) -> None:
        self.plan = plan
        self.estimator = estimator

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return self.estimator.functional(self.plan(outcomes, weights))

    @cached_property
    def capabilities(self) -> Capabilities:
        plan, functional = self.plan, self.estimator.functional  # what holds no evaluator is freed with it
        return Capabilities(
            tally=plan,
            from_tally=lambda outcome: functional(plan.complete(outcome)),
            from_tallies=functional,
            terms=self.estimator.cellwise(plan),
            signed=lambda outcomes, signs: functional(plan.signed(outcomes, signs)),
            expansion=self.estimator.expansion(plan),
            fewest=plan.fewest,
        )


# This many rows are counted at once, so that they stay in the cache; replicates of few rows are taken together.
_ROWS, _FEW = 2**15, 2**10
# This many rows are added up one after the other, and then their sums. In a single run of a million equal numbers the
# rounding errors would be large enough to separate tied values.
_SUMMED = 2**12


def count_codes(index: Ints, codes: Array, size: int, n_codes: int) -> Floats:
    """Count how often each code, 0..n_codes-1, occurs in each cell: codes (R, n) -> (R, L, n_codes)."""
    length = size * n_codes
    counts = np.zeros((len(codes), length))
    for rows in _some_rows(len(index), length):
        cell = index[rows] * n_codes
        for some in _some_replicates(len(codes), len(index), length):
            spots = _stretches_of_replicates(cell + codes[some, rows], length)
            counts[some] += np.bincount(spots, minlength=counts[some].size).reshape(-1, length)
    return counts.reshape(len(codes), size, n_codes)


def weigh_codes(index: Ints, codes: Array, weights: Array, size: int, n_codes: int) -> Floats:
    """Add up the weights of each code in each cell: codes and weights (R, n) -> (R, L, n_codes)."""
    return add_up(index * n_codes + codes, weights, size * n_codes).reshape(len(codes), size, n_codes)


def add_up(index: Ints, values: Array, size: int) -> Floats:
    """Add up values over cells, which are (n,) or, of each replicate, (R, n): (R, n) -> (R, L)."""
    (n_replicates, n), cells = values.shape, np.broadcast_to(index, values.shape)
    sums = np.zeros((n_replicates, size))
    for rows in _some_rows(n, size):
        for some in _some_replicates(n_replicates, n, size):
            spots = _stretches_of_replicates(cells[some, rows], size)
            _add_to(sums[some].reshape(-1), spots, values[some, rows].astype(float, copy=False).ravel(), n)
    return sums


@has_twin("calibstat._fast.rows:count_and_add_found")
def count_and_add_found(cells: Cells, codes: Array, values: Floats) -> tuple[Floats, Floats]:
    """Do as `count_and_add`, which the compiled version does too."""
    return count_and_add(cells, codes, values)


def count_and_add(cells: Cells, codes: Array, values: Floats) -> tuple[Floats, Floats]:
    """Count and add up in one pass, for one replicate of two codes: codes and values (n,) -> (L, 2) and (L,).

    Cells that are not known yet are found in the same pass.
    """
    counts, sums = np.zeros(2 * cells.size), np.zeros(cells.size)
    blocks = cells.in_blocks() if len(counts) <= _ROWS else [(slice(None), cells.index)]
    for rows, found in blocks:
        cell = found.astype(np.intp, copy=False)
        counts += np.bincount(cell + cell + codes[rows], minlength=len(counts))
        _add_to(sums, cell, values[rows], len(codes))
    return counts.reshape(-1, 2), sums


def _add_to(sums: Floats, spots: Ints, values: Array, n: int) -> None:
    """Add values to the sums at these spots; if there are many rows n, a block at a time in a table of its own."""
    step = _SUMMED if n > _FEW and len(sums) < _SUMMED else max(len(spots), 1)
    for rows in _slices(len(spots), step):
        sums += np.bincount(spots[rows], values[rows], len(sums))


def _some_rows(n: int, length: int) -> Iterator[slice]:
    """Yield slices of rows, or all rows at once where tables are large."""
    yield from _slices(n, _ROWS if length <= _ROWS else max(n, 1))


def _some_replicates(n_replicates: int, n: int, length: int) -> Iterator[slice]:
    """Yield slices of several replicates of few rows, or of one replicate of many rows."""
    yield from _slices(n_replicates, max(1, _ROWS // max(n, length, 1)) if n <= _FEW else 1)


def _slices(n: int, step: int) -> Iterator[slice]:
    for start in range(0, n, step):
        yield slice(start, start + step)


def _stretches_of_replicates(spots: Ints, length: int) -> Ints:
    """Give each replicate (r, m) its own stretch of a table: (r m,)."""
    if len(spots) > 1:
        spots = spots + length * np.arange(len(spots))[:, None]
    return spots.ravel()
