"""Which of several numbers show miscalibration, corrected for having looked at all of them?"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import one_bar
from calibstat._text import counted, percent, some_of
from calibstat.data.arrays import RNG, Floats, as_generator
from calibstat.data.parameters import LEVEL, check_share
from calibstat.data.rounding import rounded_up
from calibstat.data.sample import Sample
from calibstat.draws.streams import stream_of
from calibstat.estimators.base import Estimator, Evaluator, Headline, why_undefined
from calibstat.estimators.panels import Member, chosen_panel, default_panel, family_of
from calibstat.inference.arguments import (
    buckets_note,
    check_lens,
    check_null,
    check_sample,
    for_clusters,
    hypothesis_of,
    in_buckets,
    look_through,
    refuse_buckets,
    with_counts,
)
from calibstat.inference.finite import clopper_pearson
from calibstat.inference.multiplicity import (
    ADJUSTMENTS,
    COMBINATIONS,
    Adjust,
    Combine,
    Standardize,
    cannot_reject,
    check_choices,
    joint_test,
    least_factor,
    more_needed,
    with_enough,
)
from calibstat.inference.results import (
    Inquiry,
    Result,
    not_rejected,
    number,
    picked,
    pvalue_cell,
    small_pvalue,
)
from calibstat.inference.tails import (
    BESIDE,
    about_cells,
    about_detail,
    adjusted_tails,
    at_smallest,
    beyond,
    far_below,
    of_labels,
    tail_note,
    tail_of,
)
from calibstat.lenses.base import Lens, refuse_empty
from calibstat.lenses.words import event_in_words
from calibstat.nulls.base import EmpiricalNull, Null, Restating

_ABOVE = "above noise, in its SDs"


@one_bar
def multiple_test(
    sample: Sample,
    estimator: Estimator,
    *,
    lens: Lens | None = None,
    null: Null | str | None = None,
    adjust: Adjust = "max-t",
    standardize: Standardize = "moments",
    level: float = LEVEL,
    n_resamples: int | None = None,
    rng: RNG = None,
) -> MultipleTest:
    """Test each of several numbers, and adjust the p-values for having looked at all of them.

    All numbers are evaluated on the same draws of the null, so that their dependence is known. For "max-t" and
    "step-down" evidence is standardised over the draws and the data together, which keeps these exchangeable: with
    labels redrawn, the probability under calibration of any adjusted p-value <= alpha is at most alpha, at every n.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    estimator : Estimator
        One that gives several named numbers, with its lens: ``Family({...})``, ``TopLabel() | Within("sex", ECE())``,
        ``EachClass(ECE())``.
    lens : Lens, optional
        Looked through before the estimator's own: ``lens | estimator``.
    null : Null or {"strong", "multiplier"}, optional
        As for `calibration_test`, of those that draw several numbers together: by default ``Consistency(999)``.
    adjust : {"max-t", "step-down", "holm", "fdr_bh", "fdr_by"}
        By the maximum over all (single-step) or over those not yet rejected (step-down; Westfall & Young 1993); Holm's
        method; or by the false discovery rate, under positive dependence (Benjamini & Hochberg) or any dependence
        (Benjamini & Yekutieli).
    standardize : {"moments", "ranks", "none"}
        How numbers are made comparable for "max-t" and "step-down": standard deviations above their means
        (`ByMoments`), their p-values (`ByRanks`), or not at all.
    level : float
        Level of the tests in texts.
    n_resamples : int, optional
        Of the null, by default 999; more where no test could reject otherwise, if that costs little. Where `null` is an
        object, that says it.
    rng : int, Generator or None

    Returns
    -------
    MultipleTest
        With ``values``, ``pvalues`` and ``pvalues_adjusted`` by ``names``; prints itself in words. A number without a
        value (NaN, for example of a level with too few rows) has no p-value (NaN) and is not tested.

    Raises
    ------
    ValueError
        If the estimator gives one number only, or the null gives no joint draws.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.inference.multiple import multiple_test
    >>> rng = np.random.default_rng(0)
    >>> p, site = rng.random(900), np.repeat(["a", "b", "c"], 300)
    >>> happened = rng.random(900) < np.where(site == "b", p**2, p)
    >>> sample = cs.Sample(happened, p, variables={"site": site})
    >>> found = multiple_test(sample, cs.Within("site", cs.ECE(cs.EqualMass(10))), rng=0)
    >>> found.names, (found.pvalues_adjusted <= 0.05).tolist()
    (('a', 'b', 'c'), [False, True, False])
    """
    asked, null = null, check_null(null, n_resamples)
    if not null.takes_buckets:
        refuse_buckets(sample, repr(null))
    question, seen = look_through(sample, estimator, lens, counted=null.takes_counts, buckets=True)
    check_choices(adjust, standardize)
    check_share("level", level, LEVEL)
    estimator, core = question.estimator, question.estimator.core
    if not core.members:
        raise ValueError(
            f"{estimator!r} gives no named numbers; take Family, Within or EachClass, or calibration_test for one."
        )
    evaluator = core.prepare(seen.predictions)
    values = evaluator.of(seen)
    null, replaced = for_clusters(null, seen, asked)
    null, notes = with_enough(null, asked, len(values), adjust, level, len(seen))
    drawn = draw_together(null, core, seen, as_generator(rng), evaluator)
    compared, pooling = _as_drawn(values, drawn)
    found = joint_test(core.evidences(compared), [core.evidences(each.samples) for each in drawn], adjust, standardize)
    n_resamples = len(drawn[0].samples)
    tails = _tails(null, core.parts(seen.predictions), seen, values, found.pvalues, n_resamples)
    return MultipleTest(
        names=tuple(evaluator.present(values)),
        values=values,
        null_means=drawn[0].mean,
        standardized=found.standardized,
        pvalues=found.pvalues,
        pvalues_adjusted=found.pvalues_adjusted,
        tails=adjusted_tails(tails, found.pvalues, found.pvalues_adjusted, adjust),
        adjust=adjust,
        n_resamples=n_resamples,
        hypothesis=hypothesis_of(null, estimator, seen),
        null=null,
        question=with_counts(question, seen, evaluator.capabilities),
        level=level,
        notes=buckets_note(seen) + replaced + notes,
        pooling=pooling,
    )


def _tails(
    null: Null, parts: Sequence[Estimator], seen: Sample, values: Floats, pvalues: Floats, n_resamples: int
) -> tuple[float | None, ...]:
    """Return the tail (J,) of each p-value that is the smallest of redrawn labels, where one is known."""
    if not of_labels(null) or len(parts) != len(values) or in_buckets(seen):
        return (None,) * len(values)
    return beyond(pvalues, n_resamples, lambda j: tail_of(parts[j], seen, float(values[j])))


def _as_drawn(values: Floats, drawn: Sequence[EmpiricalNull]) -> tuple[Floats, str]:
    """Return the values of the data that draws are compared with, of pooled rows if theirs are, and words on that."""
    pooled = drawn[0].pooled
    return (values, "") if pooled is None else (pooled.value, pooled.note)


def draw_together(
    null: Null, core: Estimator, seen: Sample, rng: np.random.Generator, evaluator: Evaluator
) -> tuple[EmpiricalNull, ...]:
    """Draw several numbers on the same replicates of a null; for each kind of replicates (R, J) or (R, J, ...).

    The evaluator of `core` is prepared on these predictions, as seen through the lens. A null without joint draws is
    refused.
    """
    drawn = () if isinstance(null, Restating) or not null.joint else null.draw(core, seen, rng, evaluator).replicates
    if not drawn or any(each.samples.shape[1:] != evaluator.shape for each in drawn):
        raise ValueError(f"{null!r} gives no joint draws of several numbers; use Consistency(999) or Multiplier(999).")
    return drawn


@final
@dataclass(frozen=True, eq=False, repr=False)
class MultipleTest(Result):
    """The result of `multiple_test`: one test for each name.

    Parameters
    ----------
    names : tuple
        Levels of a variable, class labels, or names of members.
    values : (J,) floats
    null_means : (J,) floats
        Mean of each value under the null: what noise alone gives.
    standardized : (J,) floats
        Evidence of each, in standard deviations of its draws above their mean.
    pvalues : (J,) floats
        Of each number by itself; NaN if its value is NaN.
    pvalues_adjusted : (J,) floats
        Adjusted for the number of tests; NaN if the value is NaN.
    tails : tuple of float or None
        About how small an adjusted p-value is where no redraw reaches the value and its law is known: computed, or for
        distances of walks that of many rows. An approximation, for the size of what `pvalues_adjusted` bounds.
    adjust : str
        The method of adjustment.
    n_resamples : int
    hypothesis : str
    null : Null
    question : Inquiry
    level : float
        Level of the tests in texts.
    notes : tuple of str
        What limits the result.
    pooling : str
        What redraws and data are compared by, where rows are pooled.
    """

    names: tuple[Hashable, ...]
    values: Floats
    null_means: Floats
    standardized: Floats
    pvalues: Floats
    pvalues_adjusted: Floats
    tails: tuple[float | None, ...]
    adjust: str
    n_resamples: int
    hypothesis: str
    null: Null
    question: Inquiry
    level: float = LEVEL
    notes: tuple[str, ...] = ()
    pooling: str = ""

    _display: ClassVar[str] = "PanelDisplay"
    _row: ClassVar[str] = "name"
    _indexed: ClassVar[bool] = True
    _text_columns: ClassVar[tuple[int, ...]] = (0, 6)
    _spare_columns: ClassVar[tuple[int, ...]] = (4, 3)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def rejected(self) -> tuple[Hashable, ...]:
        """The names whose adjusted p-value is at most the level."""
        return tuple(name for name, p in zip(self.names, self.pvalues_adjusted, strict=True) if p <= self.level)

    @property
    def untested(self) -> tuple[Hashable, ...]:
        """The names whose value is not a number (NaN), so that there is nothing to test."""
        return tuple(name for name, p in zip(self.names, self.pvalues_adjusted, strict=True) if np.isnan(p))

    @property
    def verdict(self) -> str:
        """For which names there is evidence of miscalibration and how much, or that there is none."""
        asked, tests = self.question, len(self) - len(self.untested)
        rejected = [place for place, p in enumerate(self.pvalues_adjusted) if p <= self.level]
        classes = self.names == tuple(asked.before[0])
        if not tests:
            return f"There is nothing to test of {asked.what} ({asked.n_in_words})."
        if not rejected:
            none = cannot_reject(self.n_resamples, least_factor(self.adjust, tests), self.level)
            smallest = small_pvalue(float(np.nanmin(self.pvalues_adjusted)), level=self.level)
            told = not_rejected(self.level, none, f"Calibration of {'each class by itself' if classes else asked.what}")
            return f"{told} in {counted(tests, 'test')} ({asked.n_in_words}, smallest adjusted p {smallest})."
        names = [event_in_words(name) if classes else str(name) for name in self.names]
        clearest = max(rejected, key=lambda place: self.standardized[place])
        value, mean = float(self.values[clearest]), float(self.null_means[clearest])
        quantity = self._estimators[clearest].quantity.split(" (")[0]
        size = f"{quantity} {number(value, mean)}, where a calibrated model gives {number(mean, value)}"
        p = f"adjusted p {small_pvalue(float(self.pvalues_adjusted[clearest]), level=self.level)}"
        at = f"at {percent(self.level)}"
        if self.adjust.startswith("fdr"):
            at = f"with a share of false discoveries of {percent(self.level)}"
        which = some_of([names[place] for place in rejected])
        of = f"{len(rejected)} of {counted(tests, 'class' if classes else 'test')}, {asked.n_in_words}"
        found = f"Evidence of miscalibration of {which if classes else f'{asked.what} for {which}'} {at}"
        if len(rejected) == 1:
            return f"{found} ({of}, {p}): {size}."
        if classes:  # each by itself, not together
            found = f"Evidence of miscalibration of {len(rejected)} of {counted(tests, 'class')} {at}, each by itself"
            of = asked.n_in_words if len(rejected) == tests else f"{which}; {asked.n_in_words}"
        return f"{found} ({of}). The clearest, {names[clearest]}: {size} ({p})."

    def _rows(self) -> list[dict[str, Any]]:
        keys = ("name", "value", "null_mean", "standardized", "pvalue", "pvalue_adjusted", "tail")
        columns = (
            self.names,
            self.values,
            self.null_means,
            self.standardized,
            self.pvalues,
            self.pvalues_adjusted,
            self.tails,
        )
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]

    def _values(self) -> dict[str, Any]:
        return (
            self.question.to_dict()
            | picked(self, "adjust n_resamples")
            | {"null": repr(self.null)}
            | picked(self, "hypothesis level rejected untested notes")
            | {"tests": self._rows()}
        )

    def _table(self) -> list[list[str]]:
        rows = [
            [
                str(row["name"]),
                number(row["value"], row["null_mean"]),
                number(row["null_mean"], row["value"]),
                f"{row['standardized']:.1f}",
                f"{row['pvalue']:.3g}",
                pvalue_cell(row["pvalue_adjusted"], self.level),
                "*" if row["pvalue_adjusted"] <= self.level else "",
                about,
            ]
            for row, about in zip(self._rows(), about_cells(self.tails), strict=True)
        ]
        return [["name", "value", "if calibrated", _ABOVE, "p", "adjusted p", "", "about"], *rows]

    @property
    def _estimators(self) -> Sequence[Estimator]:
        """What each number is of: an estimator of its own, or the same for all."""
        estimators = self.question.estimator.core.members
        return estimators if len(estimators) > 1 else [*estimators] * len(self)

    def _notes(self) -> Sequence[str]:
        each_of = dict(zip(self.names, self._estimators, strict=True))
        untested = (
            f"{name} is not tested: it has no value, since {why_undefined(each_of[name])}" for name in self.untested
        )
        return (*untested, *self.notes, *tail_note(self.n_resamples, self.pvalues, self.tails, BESIDE))

    def _details(self) -> list[tuple[str, str]]:
        return [
            ("value", self._quantity()),
            ("if calibrated", "mean of the value under the null: what noise alone gives"),
            (_ABOVE, "how far the value is above that mean, in standard deviations of its redraws"),
            ("adjusted p", f"{ADJUSTMENTS[self.adjust]}; * at most {percent(self.level)}"),
            *about_detail(self.tails),
            ("redraws", f"{self.n_resamples}"),
            *([("pooled", self.pooling)] if self.pooling else []),
            ("null", self.hypothesis),
            ("estimator", repr(self.question.estimator)),
            ("data", f"{self.question.rows}; {self.question.source}"),
        ]

    def _quantity(self) -> str:
        """What the value of each name is, where that can be said: not the quantity of the headline of all."""
        core = self.question.estimator.core
        each = "; ".join(dict.fromkeys(member.quantity for member in core.members))
        return f"of each name by itself: {each or core.quantity}"


@one_bar
def omnibus_test(
    sample: Sample,
    panel: Mapping[str, Estimator] | Sequence[Estimator] | None = None,
    *,
    lens: Lens | None = None,
    null: Null | str | None = None,
    combine: Combine = "max-t",
    adjust: Adjust = "max-t",
    standardize: Standardize = "moments",
    level: float = LEVEL,
    n_resamples: int | None = None,
    rng: RNG = None,
) -> OmnibusTest:
    """Test calibration with several statistics at once, exactly, and say which kind of error each of them points to.

    All statistics are evaluated on the same draws of the null, by default labels drawn anew, as a `Family`, and
    standardised over these and the data together. Their combination on the data, by default the largest value, is
    compared with that of each draw, so that P(p <= alpha) <= alpha at every n for any panel, with labels drawn anew. No
    single statistic has power against every kind of miscalibration; a panel is blind only where all its members are,
    and has less power than the best of them. Choose the panel before seeing the labels.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    panel : mapping of str to Estimator, or sequence of Estimator, optional
        At least two, without a lens that all share (that is `lens`). By default, for two classes: Spiegelhalter's z,
        the cubic score, Anderson and Darling's statistic, multi-scale l2 and the multi-bandwidth kernel; for more: the
        vector scaling score, the log-loss z, Kuiper's statistic class by class and for the top label, and the kernel,
        which takes the square of the rows and is therefore read at 50 landmarks (`CME`) with more than 1000 of them or
        4000 probabilities.
    lens : Lens, optional
        Looked through first; canonical by default.
    null : Null or {"strong", "multiplier"}, optional
        As for `multiple_test`; "multiplier" is for a panel of statistics of residuals.
    combine : {"max-t", "cauchy", "fisher", "truncated"}
        How all together are judged: by the strongest evidence (max-T), or by the p-values of all: the mean of their
        Cauchy quantiles (Liu & Xie 2020), their product (Fisher 1932), or the product of those of at most 0.05
        (Zaykin et al. 2002). Each combination of the data is compared with those of the draws, and so is exact. By
        "max-t" the test rejects exactly where the adjusted p-value of some member does.
    adjust : {"max-t", "step-down", "holm", "fdr_bh", "fdr_by"}
        How the p-values of the members are adjusted; that of the test is of all together.
    standardize : {"moments", "ranks", "none"}
        As for `multiple_test`; with "ranks" max-T is the test of the smallest p-value (min-p).
    level : float
        Level of the tests in texts.
    n_resamples : int, optional
        Of the null, by default 999; more where no test could reject otherwise, if that costs little. Where `null` is an
        object, that says it.
    rng : int, Generator or None

    Returns
    -------
    OmnibusTest
        With ``pvalue``, ``strongest``, ``kind``, and the p-values of the members; prints itself in words.

    Raises
    ------
    ValueError
        If a member does not fit what is seen through the lens; the message names it. If the null gives no joint draws,
        or so few that the panel could not reject at the level.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.inference.multiple import omnibus_test
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(500)
    >>> result = omnibus_test(cs.Sample(rng.random(500) < 0.5 + 0.5 * (p - 0.5), p), n_resamples=199, rng=0)
    >>> result.strongest, result.pvalue
    ('Spiegelhalter', 0.005)
    >>> print(result.kind)
    over-confidence: predictions are too extreme
    """
    redraws = check_null(null, n_resamples)
    check_choices(adjust, standardize, combine=combine)
    check_share("level", level, LEVEL)
    check_sample(sample)
    seen = check_lens(lens)(sample)
    refuse_empty(seen, check_lens(lens))
    if isinstance(panel, (str, Estimator)):
        raise TypeError(f"panel is {panel!r}, but several estimators are expected: for example [ECE(), DebiasedL2()].")
    members = default_panel(seen.known.n_classes, len(seen)) if panel is None else chosen_panel(panel)
    redraws, replaced = for_clusters(redraws, seen, null)
    redraws, notes = with_enough(redraws, null, 1, "max-t", level, len(members) * len(seen))
    # By ranks the smallest p-value of several members may be that of as many sets.
    _refuse_few(redraws, level, len(members) if (combine, standardize) == ("max-t", "ranks") else 1)
    family = family_of(members)
    question, seen = look_through(sample, family, lens, counted=redraws.takes_counts)
    lens = question.lens
    evaluator, values = _evaluated(family, members, lens, seen)
    stream = stream_of(rng, lens) if lens.parts else as_generator(rng)
    drawn = draw_together(redraws, family, seen, stream, evaluator)
    kinds = [family.evidences(each.samples) for each in drawn]
    compared, pooling = _as_drawn(values, drawn)
    found = joint_test(family.evidences(compared), kinds, adjust, standardize, combine)
    n_resamples = len(drawn[0].samples)
    assumed = redraws.hypothesis(lens, family.given(seen.predictions), seen.groups)
    tails = _tails(redraws, family.parts(seen.predictions), seen, values, found.pvalues, n_resamples)
    return OmnibusTest(
        statistic=float(found.pvalues.min()),
        pvalue=found.pvalue,
        names=tuple(member.name for member in members),
        estimators=tuple(member.estimator for member in members),
        values=tuple(map(float, values)),
        pvalues=tuple(map(float, found.pvalues)),
        pvalues_adjusted=tuple(map(float, found.pvalues_adjusted)),
        kinds=tuple(
            member.says(value, seen.predictions.components) for member, value in zip(members, values, strict=True)
        ),
        tails=adjusted_tails(tails, found.pvalues, found.pvalues_adjusted, adjust),
        combine=combine,
        adjust=adjust,
        n_resamples=n_resamples,
        hypothesis=f"{assumed}; the same draws for all statistics",
        question=with_counts(question, seen, evaluator.capabilities),
        level=level,
        notes=replaced + notes,
        pooling=pooling,
    )


def _refuse_few(null: Null, level: float, tied: int) -> None:
    """Refuse redraws with which the p-value of a panel could not be at most the level."""
    reaches = rounded_up(tied / level)
    if null.n_resamples is not None and null.n_resamples + 1 < reaches:
        raise ValueError(
            f"n_resamples is {null.n_resamples!r}, but with so few redraws the smallest p-value of the panel is "
            f"{min(1.0, tied / (1 + null.n_resamples)):.2g}, above the level {level:g}: "
            f"{more_needed(reaches, order=True)}."
        )


def _evaluated(family: Estimator, members: Sequence[Member], lens: Lens, seen: Sample) -> tuple[Evaluator, Floats]:
    """Prepare and evaluate the panel; an error names the member that does not fit, or is not a number."""
    try:
        evaluator = family.prepare(seen.predictions)
        values = evaluator.of(seen)
    except ValueError:
        for member in members:
            try:
                value = Headline(member.estimator).prepare(seen.predictions)(seen.outcomes)
            except ValueError as wrong:
                raise ValueError(
                    f"{member.name!r} of the panel does not fit what is seen through {lens!r}: {wrong}"
                ) from wrong
            if value.ndim:
                raise ValueError(
                    f"{member.name!r} of the panel gives an array, but a test needs one number; leave it out."
                ) from None
        raise
    for member, value in zip(members, values, strict=True):
        if np.isnan(value):
            why = why_undefined(member.estimator)
            raise ValueError(f"{member.name!r} of the panel is not a number (NaN) on this sample: {why}; leave it out.")
    return evaluator, values


@final
@dataclass(frozen=True, eq=False, repr=False)
class OmnibusTest(Result):
    """The result of `omnibus_test`; unpacks to ``(statistic, pvalue)``.

    Parameters
    ----------
    statistic : float
        The smallest p-value of the panel, before adjustment.
    pvalue : float
        The exact p-value of the whole panel.
    names : tuple of str
    estimators : tuple of Estimator
    values : tuple of float
        The value of each member.
    pvalues : tuple of float
        Exact p-value of each member by itself: not adjusted for the others.
    pvalues_adjusted : tuple of float
        Adjusted for the number of statistics.
    kinds : tuple of str
        What an extreme value of each member means.
    tails : tuple of float or None
        About how small an adjusted p-value is where no redraw reaches the value and its law is known: computed, or for
        distances of walks that of many rows. An approximation, for the size of what `pvalues_adjusted` bounds.
    combine : str
        How the panel was judged together.
    adjust : str
    n_resamples : int
    hypothesis : str
    question : Inquiry
    level : float
        Level of the test in texts.
    notes : tuple of str
        What limits the result.
    pooling : str
        What redraws and data are compared by, where rows are pooled.
    """

    statistic: float
    pvalue: float
    names: tuple[str, ...]
    estimators: tuple[Estimator, ...]
    values: tuple[float, ...]
    pvalues: tuple[float, ...]
    pvalues_adjusted: tuple[float, ...]
    kinds: tuple[str, ...]
    tails: tuple[float | None, ...]
    combine: str
    adjust: str
    n_resamples: int
    hypothesis: str
    question: Inquiry
    level: float = LEVEL
    notes: tuple[str, ...] = ()
    pooling: str = ""

    _display: ClassVar[str] = "PanelDisplay"
    _row: ClassVar[str] = "statistic"
    _indexed: ClassVar[bool] = True
    _spare_columns: ClassVar[tuple[int, ...]] = (3,)

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def description(self) -> str:
        """How the p-value was computed, for texts: "999 resamples, 5 statistics"."""
        return f"{counted(self.n_resamples, 'resample')}, {counted(len(self.names), 'statistic')}"

    @property
    def method(self) -> str:
        """Which statistics were judged on the same redraws, and how."""
        return f"{COMBINATIONS[self.combine]} on the same redraws: {', '.join(self.names)}"

    @property
    def strongest(self) -> str:
        """The name of the member with the smallest p-value; the first of several."""
        return self.names[int(np.argmin(self.pvalues))]

    @property
    def tail(self) -> float | None:
        """About how small the p-value is where no redraw reaches the strongest statistic and a law is known."""
        known = [each for each in self.tails if each is not None]
        return min(known) if known and self.combine == "max-t" else None

    def tail_beside(self, single: float) -> float | None:
        """Return about how small the p-value is, with another statistic beside the panel whose p-value is computed."""
        found = min(2 * single, self.tail or 1.0)  # Bonferroni's method for the panel and the other one
        at_floor = bool(at_smallest(self.pvalue, self.n_resamples))
        return found if at_floor and far_below(found, self.n_resamples) else None

    @property
    def kind(self) -> str | None:
        """The kind of miscalibration that the strongest member is most sensitive to; None unless it rejects."""
        return None if self.pvalue > self.level else self.kinds[self.names.index(self.strongest)]

    @property
    def pvalue_interval(self) -> tuple[float, float]:
        """99 % interval for the p-value of infinitely many redraws."""
        reached = round(self.pvalue * (1 + self.n_resamples)) - 1
        counts = np.array([reached, self.n_resamples - reached])
        low, high = clopper_pearson(np.full(2, self.n_resamples), counts, 0.005).tolist()
        return low, 1 - high

    @property
    def verdict(self) -> str:
        """A sentence or two: evidence of miscalibration, which way the model errs and of which kind, or no evidence."""
        asked = self.question
        rows = f"({asked.n_in_words}, p {small_pvalue(self.pvalue, level=self.level)})"
        if self.pvalue > self.level:
            return f"{not_rejected(self.level, what=f'Calibration of {asked.what}')} {rows}{asked.which_way()}."
        way = asked.which_way(rejected=True)
        told = f"Evidence of miscalibration of {asked.what} at {percent(self.level)} {rows}{way}."
        return f"{told} The strongest statistic, {self.strongest}, points to {self.kind}."

    def _rows(self) -> list[dict[str, Any]]:
        keys = ("statistic", "estimator", "value", "pvalue", "pvalue_adjusted", "tail", "kind")
        estimators = map(repr, self.estimators)
        columns = (self.names, estimators, self.values, self.pvalues, self.pvalues_adjusted, self.tails, self.kinds)
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]

    def _values(self) -> dict[str, Any]:
        return {
            "lens": repr(self.question.lens),
            **picked(self.question, "n source"),
            **picked(self, "n_resamples hypothesis combine adjust level statistic pvalue notes"),
            "strongest": self.strongest,
            "kind": self.kind,
            "panel": {
                row["statistic"]: {key: row[key] for key in ("estimator", "value", "pvalue", "pvalue_adjusted", "tail")}
                for row in self._rows()
            },
        }

    def _table(self) -> list[list[str]]:
        columns = zip(self.names, self.pvalues, self.pvalues_adjusted, about_cells(self.tails), strict=True)
        rows = [[name, f"{own:.3g}", f"{joint:.3g}", about] for name, own, joint, about in columns]
        return [["statistic", "p", "adjusted p", "about"], *rows]

    def _notes(self) -> Sequence[str]:
        return (*self.notes, *tail_note(self.n_resamples, self.pvalues, self.tails, BESIDE))

    def _details(self) -> list[tuple[str, str]]:
        return [
            (
                "p",
                f"of the panel: {COMBINATIONS[self.combine]}, compared with that of each of {self.n_resamples} redraws",
            ),
            ("adjusted p", ADJUSTMENTS[self.adjust]),
            ("values", "; ".join(map(" ".join, zip(self.names, map(number, self.values), strict=True)))),
            *about_detail(self.tails),
            *([("pooled", self.pooling)] if self.pooling else []),
            ("null", self.hypothesis),
            ("data", f"{self.question.rows}, seen through {self.question.lens!r}; {self.question.source}"),
        ]
