"""Groups of many rows: rows are pooled in steps of the prediction, and sums of noise are drawn at once for all groups.

Values of the data are those of rows. A test compares values of steps, of the data and of the draws alike; an interval
about the value of rows has the noise of steps and what these miss of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.auditing.groups import Group, rows_by_code
from calibstat.binnings.base import first_of_ties
from calibstat.data.arrays import Floats, Ints, Variable, effective_number
from calibstat.data.sample import Predictions, Sample
from calibstat.draws.group_sums import ENOUGH, Draw, Layout, label_sums, sign_sums
from calibstat.draws.streams import replicate
from calibstat.estimators.base import Estimator, Evaluator, Headline, all_weights
from calibstat.inference.finite import FEWEST_ROWS, ORDERS, Groups, Pieces, hides_noise, orders, stretches
from calibstat.inference.tails import walk_tail
from calibstat.nulls.base import Null
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.linear import RowSums
from calibstat.nulls.multiplier import Multiplier

# With fewer rows than this nothing is pooled.
ROWS = 5000
# At least and at most so many steps, fewer for many groups, so that steps times groups are about `_SUMS`. There are
# more, up to `_MOST`, until the rows of every group lie in the least number of steps.
_STEPS, _SUMS, _MOST = (32, 48), 4096, 512
# A replicate of hidden noise counts as so many random numbers, so that blocks are of 256.
_NUMBERS = 1024
# At least so many replicates are evaluated at once: with fewer, the calls for each group cost more than the sums.
_AT_ONCE = 256
# As many of hidden noise, which is that of one group.
_TOGETHER = 1024
# So many standard deviations of a step are missed of each extreme of a walk that is read at the ends of steps:
# -zeta(1/2) over the root of 2 pi (Siegmund 1985).
_MISSED = 0.5826


def can_pool(core: Estimator, null: Null, predictions: Predictions) -> bool:
    """Whether the sums that a null draws may be of pooled rows: many, along one column, for two outcomes."""
    draws = isinstance(null, Consistency) and null.shortcuts and not null.resample_predictions
    draws |= isinstance(null, Multiplier) and predictions.groups is None and not null.centred
    if not (draws and core.takes_counts and predictions.n_rows >= ROWS and predictions.is_law):
        return False
    keys = predictions.keys
    return predictions.n_classes == 2 and len(keys) == 1 and not predictions.column(keys[0]).categorical


def in_order(groups: Sequence[Group], layout: Layout, seen: Sample) -> tuple[list[Group], Layout, Sample]:
    """Put rows in the order of the prediction, so that groups need not be sorted, nor fetch rows from everywhere.

    Variables that are not conditioned on are left out.
    """
    predictions, order = seen.predictions, seen.predictions.order
    kept = {name: variable for name, variable in predictions.variables.items() if name in predictions.given}
    placed = Sample.of(replace(predictions, variables=kept).take(order), seen.outcomes[order])
    parts = layout.taken(order)
    rows = (own for each in parts for own in rows_by_code(each.codes, each.size + 1)[: each.size])
    return [replace(group, rows=own) for group, own in zip(groups, rows, strict=True)], Layout(parts), placed


@final
class PooledGroups:
    """J groups, each pooled in steps: the values of data and draws (..., J)."""

    def __init__(self, core: Estimator, groups: Sequence[Group], layout: Layout, seen: Sample) -> None:
        self.core, self.groups, self.whole, self.seen, predictions = core, groups, layout, seen, seen.predictions
        mass, squares = all_weights(predictions, None), predictions.squared_weights * np.ones(len(predictions))
        event = predictions.event
        spread = squares * event * (1 - event)
        self.step, self.layout, n_values = _steps(predictions, layout, (mass, spread))
        self.residual = seen.outcomes - event
        self.sums = self.layout.sums(mass * self.residual)
        weight, square, predicted = (self.layout.sums(each) for each in (mass, squares, mass * event))
        column = None if predictions.given == (...,) else self.layout.sums(mass * predictions.conditioned[:, 0])
        self.members = []
        for j in range(self.layout.size):
            filled = np.flatnonzero(weight[:, j] > 0)
            own = np.stack([weight, square, predicted])[:, filled, j]
            values = None if column is None else column[filled, j]
            self.members.append(_Member.of(core, predictions, filled, own, values))
        self.missed = self._missed(weight, layout.totals(spread), n_values)

    def _missed(self, weight: Floats, variance: Floats, n_values: int) -> Floats:
        """Return how much more than in steps the value of noise in rows is on average (J,)."""
        rows = self.whole.totals(self._several)
        steps = (weight > 0).sum(axis=0)
        less = np.sqrt(1 / steps) - np.sqrt(1 / np.minimum(rows, max(n_values, 1)))
        extremes = self.core.extremes if self.core.residual_form == "seminorm" else 0
        return extremes * _MISSED * np.sqrt(variance) * np.maximum(less, 0.0) / weight.sum(axis=0)

    def __call__(self, sums: Floats) -> Floats:
        """Evaluate sums of weighted residuals (R, T, J), with what steps miss added: (R, J)."""
        placed = np.ascontiguousarray(np.moveaxis(sums, -1, 0))
        own = (
            each if len(member.filled) == self.layout.n_steps else np.take(each, member.filled, axis=1)
            for member, each in zip(self.members, placed, strict=True)
        )
        values = [member(each) for member, each in zip(self.members, own, strict=True)]
        return np.stack(values, axis=-1) + self.missed

    def values(self) -> Floats:
        """Evaluate the data (J,)."""
        return self(self.sums[None])[0]

    def redrawn(self, null: Null, rng: np.random.Generator) -> list[Floats]:
        """Evaluate the draws of a null: (R, J), of one kind."""
        assert null.n_resamples is not None
        by_labels = isinstance(null, Consistency)
        return [self._replicates(self._labels() if by_labels else self._signs(None), null.n_resamples, rng)]

    def about_values(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Evaluate residuals times random signs that are centred in each group: noise about the values (R, J)."""
        return self._replicates(self._signs(np.arange(len(self.members))), n_resamples, rng)

    def _labels(self) -> tuple[Draw, int]:
        predictions = self.seen.predictions
        return label_sums(self.layout, predictions.event, predictions.weights, predictions.counts)

    def _signs(self, centre: Ints | None) -> tuple[Draw, int]:
        predictions = self.seen.predictions
        return sign_sums(self.layout, self.residual, predictions.weights, centre, predictions.counts)

    @property
    def _several(self) -> Floats:
        """How many rows each row (n,) is or stands for."""
        return self.seen.predictions.multiplicity * np.ones(len(self.seen))

    def _replicates(self, drawn: tuple[Draw, int], n_resamples: int, rng: np.random.Generator) -> Floats:
        return replicate(self, drawn[0], n_resamples, drawn[1], rng, _AT_ONCE)

    def tail(self, j: int, value: float) -> float | None:
        """Return about how likely labels drawn from the predictions give group j such a value, where that is known."""
        member = self.members[j]
        return walk_tail(member.inner, value, member.residuals)

    def possible(self, j: int, n_resamples: int, rng: np.random.Generator, spent: float) -> list[Floats]:
        """Draw the noise that group j may hide, in each way, as `possible_noise` does for rows: (R,) each."""
        if not self._may_hide[j]:
            return []
        rows, member = self.groups[j].rows, self.members[j]
        weights = self.seen.predictions.weights
        kept = rows if weights is None else rows[weights[rows] > 0]
        own = self.seen.take(kept)
        predictions = own.predictions
        mass, several = all_weights(predictions, None) / predictions.multiplicity, predictions.counts
        groups = Groups.of(stretches(predictions), mass, own.outcomes, 2, several)
        if groups.effective < FEWEST_ROWS:
            return [np.full(n_resamples, np.inf)]
        if not groups.may_matter(np.bincount(groups.index, predictions.multiplicity * mass**2)):
            return []
        pieces = Pieces.of(self.step[kept], groups, mass, several)

        def evaluate(noise: Floats) -> Floats:
            return member(pieces.in_cells(noise)[..., 0]) + self.missed[j]

        numbers = max(len(pieces.rows), _NUMBERS)  # blocks are drawn whole: not many more replicates than are kept
        return [
            replicate(evaluate, pieces.near_normal(chances[:, 1]), n_resamples, numbers, rng, _TOGETHER)
            for chances in groups.possible(groups.hidden, spent)
        ]

    @cached_property
    def _may_hide(self) -> list[bool]:
        """Which groups may hide noise (rare or almost certain events)."""
        if not self.seen.predictions.unweighted:
            return [True] * len(self.members)
        key = 2 * orders(self.seen.predictions.event) + self.seen.outcomes
        seen = self.whole.in_steps(key, 2 * ORDERS).sums(self._several).astype(np.intp)
        return [hides_noise(each.reshape(ORDERS, 2)) for each in seen.T]

    @property
    def note(self) -> str:
        """What was drawn, in words."""
        return (
            f"rows are pooled in {self.layout.n_steps} steps of the prediction for p-values, data and draws alike, and "
            f"for noise; in groups that expect at least {ENOUGH} events and non-events sums over steps are drawn, from "
            "their joint normal law; values are of all rows"
        )


@final
@dataclass(frozen=True, eq=False)
class _Member:
    """The steps of a group that have rows (L of T), and the estimator prepared on these as rows with weights."""

    filled: Ints
    mass: Floats
    predicted: Floats
    counts: Floats  # as many rows of equal weights would be as good
    inner: Evaluator

    @classmethod
    def of(
        cls,
        core: Estimator,
        predictions: Predictions,
        filled: Ints,
        sums: Floats,  # (3, L), of weights, their squares, and predictions
        column: Floats | None,  # (L,), of a variable that is conditioned on
    ) -> _Member:
        """Prepare the estimator on steps, given weighted sums of their rows."""
        mass, square, predicted = sums
        event, counts = predicted / mass, np.maximum(effective_number(mass, square), 1.0)
        key = predictions.keys[0]
        variables = {key: Variable(column / mass)} if isinstance(key, str) and column is not None else {}
        pooled = replace(
            predictions,
            rows=np.stack([1 - event, event], axis=1),
            weights=mass,
            counts=counts,
            variables=variables,
        )
        return cls(filled, mass, predicted, counts, Headline(core).prepare(pooled))

    def residuals(self) -> RowSums | None:
        """Return the sum of weighted residuals of the group's rows."""
        chance, size = self.predicted / self.mass, self.mass / self.counts
        moves = (chance > 0) & (chance < 1)
        if not moves.any():
            return None
        return RowSums.of_residuals(size[moves], chance[moves], self.counts[moves])

    def __call__(self, sums: Floats) -> Floats:
        """Evaluate sums of weighted residuals (R, L)."""
        signed = self.inner.capabilities.signed
        if signed is None:
            return self.of_events(self.predicted + sums)
        # signs that turn the residuals of the outcomes farther from predictions into these
        return signed(self.opposite, sums / (self.mass * self.opposite - self.predicted))

    @cached_property
    def opposite(self) -> Ints:
        """The outcome (L,) that is farther from each prediction."""
        return (self.predicted < self.mass / 2).astype(np.intp)

    def of_events(self, sums: Floats) -> Floats:
        """Evaluate sums of weighted events (R, L)."""
        chances = np.empty((*sums.shape, 2))
        np.divide(sums, self.mass, out=chances[..., 1])
        np.subtract(1, chances[..., 1], out=chances[..., 0])
        return self.inner(chances)


def _steps(predictions: Predictions, layout: Layout, masses: Sequence[Floats]) -> tuple[Ints, Layout, int]:
    """Return the step of each row (n,), the groups in steps, and the number of different values.

    Each step has the same share of each of `masses` (n,), by halves, summed over the groups: so a small group too has
    its part of the steps. Equal values stay together. Where groups lie apart, there are more steps.
    """
    order = predictions.order
    ties = first_of_ties(predictions.conditioned[order, 0])
    reached = np.cumsum(np.sum([layout.shares(each) for each in masses], axis=0)[order])
    before = np.append(0.0, reached)[ties] / reached[-1]
    step, rows = np.empty(len(order), dtype=np.intp), np.ones(len(order))
    n_steps = int(np.clip(_SUMS // layout.size, *_STEPS))
    while True:
        starts = (
            ties if len(ties) <= n_steps else ties[np.flatnonzero(np.diff((before * n_steps).astype(int), prepend=-1))]
        )
        step[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
        found = layout.in_steps(step, len(starts))
        filled = (found.sums(rows) > 0).sum(axis=0).min()
        if filled >= _STEPS[0] or n_steps >= _MOST or len(starts) == len(ties):
            return step, found, len(ties)
        n_steps *= 2
