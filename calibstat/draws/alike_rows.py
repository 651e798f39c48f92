"""Models on the same rows, whose labels are drawn at other chances than the predictions, as cells of the models see it.

A squared error of cells needs the events of each cell and the sum of their predictions, which are linear in the labels.
Rows that are alike share their chances. Where all outcomes of the rows in the same cells of all models are expected
often, these sums are normal together; other labels are drawn, of each row, or how many of each group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import sparse
from calibstat.binnings.base import Cells
from calibstat.data.arrays import ROWS_IN_CACHE, Array, Bools, Floats, Ints, numbered_codes
from calibstat.data.rounding import ROUNDING, above_rounding
from calibstat.draws.group_sums import Draw
from calibstat.draws.labels import LabelLaw
from calibstat.draws.moments import add_up_columns, numbers_for_cells
from calibstat.draws.poisson_binomial import BinomialCounts
from calibstat.draws.whole_cells import has_few_rows, sums_suffice
from calibstat.estimators.base import Evaluator
from calibstat.estimators.tally import Tally, TallyPlan, count_codes

# Steps of a mean chance, in units of its standard deviation, that rows of a group share; labels of one chance for a
# group then vary by a share of 2e-4 more than those of the chances of the rows. Where models read different outcomes
# there are two or three such chances, and fewer steps: the share is 3e-3 there.
_ALIKE, _ALIKE_APART = 64, 16
# Chances are looked up in a table of so many steps.
_TABLE = 2**14
# Of more groups than this, or than one for sixteen rows, each row is a group.
_GROUPS, _GROUPS_FOR_A_ROW = 2**14, 1 / 16
# Sums over rows of which every outcome is expected so often are drawn from the normal law; the smaller number is for
# models that read different outcomes, where such rows are a small part of those of a cell.
_MANY, _MANY_APART = 200, 20
# Fewer sums have one root of their covariance, if that takes fewer numbers than one for each unit of cells.
_SUMS_AT_ONCE = 256


@final
@dataclass(frozen=True, eq=False)
class AlikeRows:
    """Rows in the same cells of each of m models, with nearly the same mean of their predictions (G groups)."""

    plans: Sequence[TallyPlan]
    rows: Floats  # (G,), their number
    happened: Floats  # (G, J), how many rows had each outcome
    reads: Floats  # (m, J), one for outcomes that are the event of a model
    homes: tuple[Ints, ...]  # (G,) for each model, the cell
    announced: Sequence[Floats]  # for each model, mean chances of outcomes (G, J) by its predictions
    mean: Floats  # (G, m), of the predictions
    covariance: Floats  # (G, m, m), of the predictions of a row that is drawn from the group

    @classmethod
    def of(
        cls,
        evaluators: Sequence[Evaluator],
        outcomes: Array,
        announced: Sequence[Floats] | None = None,
        reads: Floats | None = None,
        *,
        together: bool = True,
    ) -> AlikeRows | None:
        """Group the rows, or take each alone; None where they have weights, or models more than two outcomes.

        Without chances (n, J) of outcomes, those of each model, all models read the same event.
        """
        plans = [each.capabilities.tally for each in evaluators if sums_suffice(each, squares=True)]
        known = [plan for plan in plans if plan is not None]
        if len(known) < len(evaluators):
            return None
        events = [plan.predictions.event for plan in known]
        if announced is None or reads is None:
            chances, reads = [[each] for each in events], np.tile([0.0, 1.0], (len(events), 1))
        else:
            chances = [list(each.T[1:]) for each in announced]
        group, homes = _groups(known, chances) if together else _alone(known)
        happened = count_codes(group, outcomes[None], len(homes[0]), reads.shape[1])[0]
        rows = happened.sum(axis=1)
        mean, covariance = _moments(group, rows, events)
        if announced is None:
            means = list(mean.T[..., None])
        else:
            means = [np.stack([np.bincount(group, each) / rows for each in model], axis=1) for model in chances]
        return cls(
            known,
            rows,
            happened,
            reads,
            homes,
            [np.hstack([1 - each.sum(axis=1, keepdims=True), each]) for each in means],
            mean,
            covariance,
        )

    @property
    def one_by_one(self) -> bool:
        """Whether each row is a group."""
        return len(self.rows) == len(self.plans[0].cells.index)

    def draw(self, chances: Floats) -> tuple[Draw, int]:
        """Return what draws labels of chances (G, J), added up in the cells of all models (R, C); and its numbers."""
        if self.one_by_one:
            law = LabelLaw(chances)

            def labels(stream: np.random.Generator, size: int, kept: int) -> Floats:
                drawn = np.ascontiguousarray(law.draw(stream, size, kept).T)
                return _transposed(
                    sum(term @ (drawn if law.binary else read.take(drawn)) for read, term in self._terms)
                )

            return labels, len(self.rows)
        many = self._many(chances)
        few, root = np.flatnonzero(~many), self._root(chances, many)
        outcomes = _outcomes(self.rows[few], chances[few])
        mean = sum(term @ (many * self.rows * (chances @ read)) for read, term in self._terms)
        terms = [(read, term[:, few]) for read, term in self._terms]

        def counts(stream: np.random.Generator, size: int, kept: int) -> Floats:
            found = mean[:, None] + root @ stream.standard_normal((size, root.shape[1]))[:kept].T
            drawn = outcomes(stream, size, kept)
            found += sum(term @ (drawn @ read) for read, term in terms)
            return _transposed(found)

        return counts, numbers_for_cells(root.shape[1] + len(few))

    def tally(self, drawn: Floats, model: int) -> Tally:
        """Return what is drawn (R, C) as one of the models sees it."""
        fixed = self.plans[model].fixed
        start, size = self._starts[model], len(fixed.weight)
        events, along = drawn[:, start : start + size], drawn[:, start + size : start + 2 * size]
        square = self._powers[model] + events - 2 * along
        return Tally(fixed.weight, fixed.prediction, events[..., None], fixed.weight2, square)

    def variance_of_mean(self, pull: Floats) -> float:
        """Return the part within groups of the variance of the mean over rows of pull (G, m) times predictions."""
        spread = np.maximum(np.einsum("gi,gij,gj->g", pull, self.covariance, pull), 0)  # but for rounding
        return float(self.rows @ spread) / float(self.rows.sum()) ** 2

    @cached_property
    def _starts(self) -> Ints:
        """(m + 1,) where the sums of each model begin among the C of all; the last is C."""
        return np.cumsum([0, *(2 * plan.cells.size for plan in self.plans)])

    @cached_property
    def _powers(self) -> Sequence[Floats]:
        """Sums of squared predictions (L,) in the cells of each model."""
        squares = self.rows[:, None] * (self.mean**2 + np.diagonal(self.covariance, axis1=1, axis2=2))
        each = zip(self.homes, squares.T, self.plans, strict=True)
        return [np.bincount(home, square, plan.cells.size).astype(float) for home, square, plan in each]

    @cached_property
    def _places(self) -> Ints:
        """(G, 2 m) for each model the place of the events of the group's cell, and of the sum of their predictions."""
        each = zip(self._starts, self.homes, self.plans, strict=False)
        return np.column_stack([start + home + k * plan.cells.size for start, home, plan in each for k in (0, 1)])

    @cached_property
    def _units(self) -> Ints:
        """(U,) the first group of those that are in the same cells and have the same possible outcomes."""
        keys = np.column_stack([*self.homes, np.any([each > 0 for each in self.announced], axis=0)])
        return np.flatnonzero(np.append(True, (np.diff(keys, axis=0) != 0).any(axis=1)))

    def _many(self, chances: Floats) -> Bools:
        """(G,) whether all outcomes that are possible in its unit are expected often there."""
        expected = np.add.reduceat(self.rows[:, None] * chances, self._units, axis=0)
        many = _MANY if expected.shape[1] == 2 else _MANY_APART
        found = ((expected == 0) | (expected >= many)).all(axis=1)
        return np.repeat(found, np.diff(self._units, append=len(self.rows)))

    @cached_property
    def _terms(self) -> list[tuple[Floats, Any]]:
        """For each event that models read (J,), what one of each group adds to the sums: (C, G), sparse."""
        found: dict[bytes, tuple[Floats, Any]] = {}
        n, ones = len(self.rows), np.ones(len(self.rows))
        for model, read in enumerate(self.reads):
            values = np.concatenate([ones, self.mean[:, model]])
            places = self._places[:, 2 * model : 2 * model + 2].T.ravel()
            term = sparse.csr_array((values, (places, np.tile(np.arange(n), 2))), (self._starts[-1], n))
            same = found.get(read.tobytes())
            found[read.tobytes()] = read, term if same is None else same[1] + term
        return list(found.values())

    def _root(self, chances: Floats, many: Bools) -> Any:
        """Return a root (C, k) of the covariance of what is normal: of all sums in some groups, `many`.

        In others it is that of sums of predictions, given how many labels of each outcome there are: these are any rows
        of the group (a simple random sample), and their covariance is taken at the mean number of labels.
        """
        n, m = self.mean.shape
        own = chances @ self.reads.T
        labels = np.einsum("gj,aj,bj->gab", chances, self.reads, self.reads) - own[:, :, None] * own[:, None]
        labels *= self.rows[:, None, None]
        line = np.stack([np.ones((n, m)), self.mean], axis=-1) * many[:, None, None]
        found = labels[:, :, None, :, None] * line[:, :, :, None, None] * line[:, None, None]
        found[:, :, 1, :, 1] += labels * self.covariance
        units, places = np.add.reduceat(found.reshape(n, 2 * m, 2 * m), self._units), self._places[self._units]
        size = self._starts[-1]
        values, vectors = np.linalg.eigh(units)
        unit, number = np.nonzero(values > ROUNDING * values[:, -1:])  # others are zero but for rounding
        if size < min(len(unit), _SUMS_AT_ONCE):
            whole = np.zeros((size, size))
            np.add.at(whole, (places[:, :, None], places[:, None]), units)
            values, vectors = np.linalg.eigh(whole)
            return vectors * np.sqrt(np.maximum(values, 0.0))
        each = vectors[unit, :, number] * np.sqrt(values[unit, number])[:, None]
        columns = np.repeat(np.arange(len(unit)), 2 * m)
        return sparse.csr_array((each.ravel(), (places[unit].ravel(), columns)), (size, len(unit)))


def _groups(plans: Sequence[TallyPlan], chances: Sequence[Sequence[Floats]]) -> tuple[Ints, tuple[Ints, ...]]:
    """Return the group of each row (n,), and the cells of the groups (G,): in the same cells, and steps of chances."""
    n, table = len(chances[0][0]), _steps(_ALIKE if len(chances[0]) == 1 else _ALIKE_APART)
    if has_few_rows(plans[0].predictions):
        return _alone(plans)
    code, n_steps = np.zeros(n, dtype=np.intp), int(table[-1]) + 2  # a mean of zero has a step of its own
    for start in range(0, n, ROWS_IN_CACHE):
        rows = slice(start, start + ROWS_IN_CACHE)
        for plan in plans:
            code[rows] = code[rows] * plan.cells.size + plan.cells.index[rows]
        for same in zip(*chances, strict=True):
            mean = np.clip(sum((each[rows] for each in same[1:]), same[0][rows]) / len(same), 0, 1)
            code[rows] = code[rows] * n_steps + table[(mean * _TABLE).astype(np.intp)] + (mean > 0)
    found, group = numbered_codes(code)
    if len(found) > min(_GROUPS, _GROUPS_FOR_A_ROW * n):
        return _alone(plans)
    return group, np.unravel_index(found // n_steps ** len(chances[0]), [plan.cells.size for plan in plans])


def _alone(plans: Sequence[TallyPlan]) -> tuple[Ints, tuple[Ints, ...]]:
    """Return each row as a group, and the cells of rows."""
    cells = tuple(plan.cells.index for plan in plans)
    return np.arange(len(cells[0])), cells


def _steps(n_steps: int) -> Ints:
    """(_TABLE + 1,) the step of each chance: steps are of equal length where labels have equal variance."""
    return (np.arcsin(np.sqrt(np.arange(_TABLE + 1) / _TABLE)) * (2 * n_steps / np.pi)).astype(np.intp)


def _moments(group: Ints, rows: Floats, events: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return means (G, m) and covariances (G, m, m) of the predictions in each group."""
    cells, one, other = Cells(len(rows), group, "fixed"), events[0], events[-1]
    sums = add_up_columns(cells, one, other, lambda p, q: [p, q, p * p, p * q, q * q]) / rows
    mean, m = sums[:2].T, len(events)
    second = sums[[[2, 3], [3, 4]]].transpose(2, 0, 1)
    covariance = second - mean[:, :, None] * mean[:, None]
    varies = above_rounding(*(np.diagonal(each, axis1=1, axis2=2) for each in (covariance, second))) > 0
    covariance = np.where(varies[:, :, None] & varies[:, None], covariance, 0.0)
    return mean[:, :m], covariance[:, :m, :m]


def _outcomes(rows: Floats, chances: Floats) -> Callable[[np.random.Generator, int, int], Array]:
    """Return what draws how many rows of each group (g,) have each outcome, of chances (g, J): (g, R, J)."""
    if len(rows) == 0 or chances.shape[1] > 2:
        members = rows.astype(np.intp)[:, None]
        return lambda stream, size, kept: stream.multinomial(members, chances[:, None], (len(rows), size))[:, :kept]
    law = BinomialCounts.of(rows, chances[:, 1])

    def draw(stream: np.random.Generator, _size: int, kept: int) -> Array:
        events = law.invert(stream.random((kept, len(rows)))).T
        return np.stack([rows[:, None] - events, events], axis=-1)

    return draw


def _transposed(sums: Floats) -> Floats:
    """Return sums (C, R) replicate by replicate in memory: (R, C)."""
    return np.ascontiguousarray(sums.T)
