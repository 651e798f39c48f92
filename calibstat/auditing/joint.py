"""Groups and variables are evaluated on the same draws, which gives their joint law under the null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted
from calibstat.auditing.groups import Group
from calibstat.auditing.pooled_groups import PooledGroups, can_pool, in_order
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.groups import MINIMUM_CLUSTERS
from calibstat.data.parameters import CONFIDENCE_LEVEL, LEVEL, at_least_one, check_share
from calibstat.data.rounding import rounded_up
from calibstat.data.sample import Predictions, Sample
from calibstat.draws.group_sums import Layout
from calibstat.estimators.base import (
    Capabilities,
    Estimator,
    Evaluator,
    Forwarding,
    Headline,
    all_weights,
    is_chances,
    why_undefined,
)
from calibstat.estimators.combined import Family, SeveralEvaluator
from calibstat.inference.finite import possible_noise
from calibstat.inference.intervals import SPENT, NoInterval, UniformInterval, lower_end
from calibstat.inference.multiple import draw_together
from calibstat.inference.multiplicity import JointTest, check_choices, joint_test, moments
from calibstat.inference.tails import adjusted_tails, beyond, of_labels, tail_of
from calibstat.nulls.base import Null, mean_of_known
from calibstat.nulls.multiplier import Multiplier, signed_values

# Each group evaluates at most this many replicates at once; with fewer, the calls would cost more than the sums.
_MOST_AT_ONCE = 128
_HIDDEN = (
    "some groups have few rows of similar predictions with another outcome than most: their intervals have the noise "
    "that these may hide"
)
# At most this many labels, or signs, are held in memory at once.
_NUMBERS = 2**23


@final
@dataclass(frozen=True, eq=False)
class InGroup(Forwarding):
    """The headline of an estimator on some rows (m,) only."""

    estimator: Estimator
    rows: Ints

    @property
    def estimand(self) -> InGroup:
        """The estimand on the same rows."""
        return InGroup(self.estimator.estimand, self.rows)

    def prepare(self, predictions: Predictions) -> GroupEvaluator:
        """Prepare the estimator on these rows."""
        rows = None if len(self.rows) == len(predictions) else self.rows
        own = predictions if rows is None else predictions.take(rows)
        batch_size = min(_MOST_AT_ONCE, max(1, _NUMBERS // len(predictions)))
        return GroupEvaluator(Headline(self.estimator).prepare(own), own, rows, batch_size)


@final
@dataclass(frozen=True, eq=False)
class GroupEvaluator(Evaluator):
    """An estimator prepared on the rows of a group; signs centred over these rows give noise about its value."""

    inner: Evaluator
    predictions: Predictions
    rows: Ints | None  # None for all
    batch_size: int
    centred: bool = False

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Evaluate on the rows of the group."""
        return self.inner(self.own(outcomes), None if weights is None else self.own(weights, rows_last=True))

    def sample(self, outcomes: Ints) -> Sample:
        """Return the rows of the group."""
        return Sample.of(self.predictions, self.own(outcomes))

    def own(self, values: Array, rows_last: bool = False) -> Array:
        """Pick the rows of (..., n), or of chances (..., n, K)."""
        # Unlike values[..., self.rows], take leaves each replicate in one piece of memory, which is faster to sum.
        axis = -1 if rows_last or not is_chances(values) else -2
        return values if self.rows is None else np.take(values, self.rows, axis=axis)

    def _signed(self, outcomes: Array, signs: Array) -> Floats:
        own = self.own(signs, rows_last=True)
        if self.centred:
            own = own - np.average(own, axis=-1, weights=self.predictions.weights)[..., None]
        return signed_values(self.inner, self.sample(outcomes), own)

    @property
    def capabilities(self) -> Capabilities:
        """Values on signs in the group, and the number of replicates to evaluate at once."""
        return Capabilities(signed=self._signed, batch_size=self.batch_size)


@final
@dataclass(frozen=True, eq=False)
class Measured:
    """Values, tests and intervals of J groups or variables."""

    values: Floats  # (J,), the statistic
    null_means: Floats  # (J,), its mean under the null
    found: JointTest  # on the draws of the null
    intervals: Sequence[tuple[float, float] | None]  # which cover together; None if no such intervals are known
    tails: Sequence[float | None]  # about how small an adjusted p-value is that no redraw reaches, where that is known
    note: str  # why there is no interval
    how: tuple[str, ...]  # what was drawn, and what intervals hold besides
    n_resamples: int  # number of draws of each kind
    pooled: bool  # whether draws are of rows pooled in steps


def measure_groups(
    core: Estimator,  # without its lens
    groups: Sequence[Group],
    layout: Layout,  # of the groups
    seen: Sample,  # all rows, through the lens
    null: Null,
    adjust: str,  # as for `joint_test`
    standardize: str,
    confidence_level: float,
    rng: np.random.Generator,
) -> Measured:
    """Evaluate all groups on the data, on draws of the null and, for intervals, on random signs."""
    pool = can_pool(core, null, seen.predictions)
    if pool:
        groups, layout, seen = in_order(groups, layout, seen)
    family = Family({str(number): InGroup(core, group.rows) for number, group in enumerate(groups)})
    rows = RowGroups(core, family, [InGroup(core, group.rows).prepare(seen.predictions) for group in groups], seen)
    values = rows.values()
    _refuse_groups_without_value(core, groups, values)
    chosen = PooledGroups(core, groups, layout, seen) if pool else rows
    drawn = chosen.redrawn(null, rng)
    evidence, compared = family.evidences(values), family.evidences(chosen.values())
    kinds, n_resamples = [family.evidences(each) for each in drawn], len(drawn[0])
    intervals: list[tuple[float, float] | None] = [None] * len(groups)
    note = f"no intervals: no method is known for {core!r}; Kuiper() and ECE() have one"
    few, hidden = _few_clusters(groups, seen), ""
    if few:
        note = few
    elif core.residual_form == "seminorm":
        signs = chosen.about_values(n_resamples, rng)
        possible = [] if seen.groups is not None else _possible_noise(chosen, signs, rng)
        largest = core.value_range(seen.predictions.n_classes)[1]
        every = [*kinds, signs]
        steps = _steps_of_groups(groups, seen)
        intervals, note = joint_intervals(evidence, every, confidence_level, largest, possible, compared, steps)
        hidden = _HIDDEN if possible and not note else ""
    found = joint_test(compared, kinds, adjust, standardize)
    how = tuple(each for each in (chosen.note, hidden) if each)
    tails: Sequence[float | None] = [None] * len(groups)
    if of_labels(null):
        tails = beyond(found.pvalues, n_resamples, lambda j: chosen.tail(j, float(values[j])))
    about = adjusted_tails(tails, found.pvalues, found.pvalues_adjusted, adjust)
    return Measured(values, mean_of_known(drawn[0]), found, intervals, about, note, how, n_resamples, pool)


@final
@dataclass(frozen=True, eq=False)
class RowGroups:
    """Groups whose rows are drawn one by one: the values of data and draws (..., J)."""

    core: Estimator
    family: Family
    prepared: Sequence[GroupEvaluator]
    seen: Sample
    note: ClassVar[str] = ""

    def values(self) -> Floats:
        """Evaluate the data (J,)."""
        return self._together(self.prepared)(self.seen.outcomes)

    def redrawn(self, null: Null, rng: np.random.Generator) -> list[Floats]:
        """Evaluate each kind of draws of a null: (R, J) each."""
        evaluator = self._together(self.prepared)
        return [each.samples for each in draw_together(null, self.family, self.seen, rng, evaluator)]

    def about_values(self, n_resamples: int, rng: np.random.Generator) -> Floats:
        """Evaluate residuals times random signs, of rows or clusters, that are centred in each group: (R, J)."""
        centred = self._together([replace(each, centred=True) for each in self.prepared])
        return Multiplier(n_resamples).signs(self.family, self.seen, rng, centred).samples

    def tail(self, j: int, value: float) -> float | None:
        """Return about how likely labels drawn from the predictions give group j such a value, where that is known."""
        own = self.prepared[j]
        return tail_of(self.core, own.sample(self.seen.outcomes), value)

    def possible(self, j: int, n_resamples: int, rng: np.random.Generator, spent: float) -> list[Floats]:
        """Draw the noise that group j may hide, in each way: (R,) each."""
        own = self.prepared[j]
        return possible_noise(own.sample(self.seen.outcomes), own.inner, n_resamples, rng, False, spent)

    def _together(self, members: Sequence[GroupEvaluator]) -> SeveralEvaluator:
        return SeveralEvaluator(self.family.names, members, self.family)


def _possible_noise(groups: RowGroups | PooledGroups, signs: Floats, rng: np.random.Generator) -> list[Floats]:
    """Draw the noise that some groups may hide (rare or almost certain events), in each way: like `signs` (R, J)."""
    n_resamples, size = signs.shape
    found = [groups.possible(j, n_resamples, rng, SPENT / size) for j in range(size)]
    ways = [signs.copy() for _ in range(max(map(len, found)))]
    for j, own in enumerate(found):
        for number, way in enumerate(ways if own else ()):
            way[:, j] = own[min(number, len(own) - 1)]
    return ways


def _steps_of_groups(groups: Sequence[Group], seen: Sample) -> Floats:
    """Return the largest share (J,) that one row has in each group: about what one label changes."""
    weights = all_weights(seen.predictions, None)
    each = weights / seen.predictions.multiplicity
    return np.array([each[group.rows].max() / weights[group.rows].sum() for group in groups])


def _few_clusters(groups: Sequence[Group], seen: Sample) -> str:
    """Say which group has too few clusters of rows for an interval, if any has."""
    for group in groups if seen.groups is not None else ():
        predictions = seen.predictions.take(group.rows)
        together, alone = predictions.groups, predictions.effective_rows
        effective = alone if together is None else together.counted(predictions.weights).effective
        if round(effective) < MINIMUM_CLUSTERS:
            found = f"{effective:.3g} clusters in effect, by their sizes"
            return f"no intervals: {group.name} has {found}, but at least {MINIMUM_CLUSTERS} are needed"
    return ""


def _refuse_groups_without_value(core: Estimator, groups: Sequence[Group], values: Floats) -> None:
    for group, value in zip(groups, values, strict=True):
        if np.isnan(value):
            raise ValueError(
                f"{core!r} is not a number (NaN) in the group {group.name!r} ({counted(group.n, 'row')}), so "
                f"that there is nothing to test: {why_undefined(core)}; take a larger min_size, or another estimator."
            )


def joint_intervals(
    evidence: Floats,
    kinds: Sequence[Floats],
    confidence_level: float,
    largest: float,
    possible: Sequence[Floats] = (),
    compared: Floats | None = None,
    steps: Floats | float = 0.0,
) -> tuple[list[tuple[float, float] | None], str]:
    """Return intervals (J,) that hold together, or say why there are none.

    Noise is drawn in several `kinds`, (R, J) each, that of the null first, and some at `possible` chances. Each
    statistic has as many of the largest of its standard deviations as the largest noise of a draw reaches, whatever
    the kind, and a deviation is at least `steps` (J,); so a group of few events, whose noise is small but for rare
    jumps, does not widen the intervals of others. An interval excludes zero only where the single-step test rejects at
    this level, of the evidence or of what is `compared` (J,) with the draws in its place.
    """
    every = np.stack([*kinds, *possible])
    bounded = ~np.isinf(every).any(axis=(0, 1))
    centre, deviation = np.max([moments(each) for each in every], axis=0)
    deviation = np.maximum(deviation, steps)
    varies = bounded & (deviation > 0)

    def reaches(drawn: Sequence[Floats]) -> list[Floats]:
        """Return the largest noise of each draw, in standard deviations; NaN is the weakest."""
        sizes = [(each[:, varies] - centre[varies]) / deviation[varies] for each in drawn]
        return [np.where(np.isnan(each), -np.inf, each).max(axis=1, initial=0.0) for each in sizes]

    try:
        reach = UniformInterval(0.0, reaches(kinds), "", possible=reaches(possible)).half_width(confidence_level)
    except NoInterval as error:
        return [None] * len(evidence), f"no intervals: {error}"
    half_widths = np.where(bounded, centre + reach * deviation, np.inf)
    excluded = (
        joint_test(evidence if compared is None else compared, kinds[:1]).pvalues_adjusted <= 1 - confidence_level
    )
    found = [interval(*each, largest) for each in zip(evidence, half_widths, strict=True)]
    return [(low if off else 0.0, high) for (low, high), off in zip(found, excluded, strict=True)], ""


def interval(value: float, half_width: float, largest: float) -> tuple[float, float]:
    """Return the ends of an interval: the lower one at least zero, the upper one at most the largest value."""
    return lower_end(value, half_width), min(float(value + half_width), largest)


def check_options(adjust: str, standardize: str, level: float, confidence_level: float, **counts: int) -> None:
    """Refuse unknown methods, levels outside (0, 1), and counts below one."""
    check_choices(adjust, standardize)
    check_share("level", level, LEVEL)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    for name, value in counts.items():
        at_least_one(name, value)


def check_resamples(adjust: str, m: int, n_resamples: int | None, level: float) -> str:
    """Refuse so few resamples that no adjusted p-value of `m` tests can reach the level, whatever the data.

    Return a note if they are too few for one small p-value among many to reach the level; otherwise, or if their number
    is not known yet, "".
    """
    if n_resamples is None:
        return ""
    smallest = (1 if adjust in ("max-t", "step-down") else m) / level
    least, better = (rounded_up(factor * smallest) - 1 for factor in (1, 20))
    wanted = f"Take n_resamples of at least {least} (better {better})"
    if (m if adjust == "holm" else 1) / (1 + n_resamples) > level:
        other = ", or adjust='max-t', which needs fewer" if adjust == "holm" else ""
        raise ValueError(
            f"n_resamples is {n_resamples}: with {m} test{'s' if m > 1 else ''} and adjust={adjust!r} no adjusted "
            f"p-value could be {level:g} or less, whatever the data. {wanted}{other}."
        )
    if not adjust.startswith("fdr") or m / (1 + n_resamples) <= level:
        return ""
    return (
        f"{counted(n_resamples, 'resample')} cannot give an adjusted p-value of {level:g} to one of {m} tests alone, "
        f"only to several together. {wanted}"
    )
