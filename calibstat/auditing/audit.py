"""Which groups of rows is the model off for?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from calibstat.auditing.groups import By, Group, LeftOut, Levels, Means, direction, form_groups, is_top_label, look
from calibstat.auditing.joint import (
    ADJUSTMENTS,
    Measured,
    Member,
    alpha,
    check_adjust,
    check_resamples,
    few_resamples,
    measure,
)
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.data.arrays import RNG, as_generator
from calibstat.data.parameters import at_least_one
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.estimators.cumulative import Kuiper
from calibstat.inference.arguments import check_estimator, check_lens, check_sample, check_share
from calibstat.inference.results import CONFIDENCE_LEVEL, frame, hang, layout, number_cell, pvalue_cell
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical
from calibstat.nulls.consistency import Consistency

if TYPE_CHECKING:
    import pandas as pd


def subgroup_audit(
    sample: Sample,
    by: By,
    *,
    lens: Lens | None = None,
    estimator: Estimator | None = None,
    binning: Binning | Mapping[str, Binning] = EqualMass(4),
    depth: int = 1,
    min_size: int = 50,
    missing: str = "raise",
    adjust: str = "max-t",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: RNG = None,
) -> SubgroupAudit:
    """Test every level of some variables, their crossings, and all rows together: where is the model off?

    All groups are evaluated on the same labels drawn from the predictions, so that the joint law of their statistics
    is known exactly when the predictions are calibrated in every group, however the groups overlap. Each statistic is
    divided by its scale under calibration, so that small groups neither dominate nor drown (Guy et al. 2025).

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    by : str, iterable of str, or mapping
        Names of variables of the sample; or further columns by name, one value for each row, in which values may be
        missing.
    lens : Lens, optional
        Looked through first: `TopLabel()` for more than two classes.
    estimator : Estimator, optional
        What is measured in each group; by default `Kuiper`.
    binning : Binning or mapping of str to Binning
        How numbers are cut; those with at most ten distinct values are not.
    depth : int
        How many variables are crossed at most.
    min_size : int
        Groups with fewer rows are left out, and listed.
    missing : {"raise", "level"}
        What to do with missing values in further columns: an error, or a level of their own.
    adjust : {"max-t", "step-down", "holm", "fdr_bh"}
        "max-t": the probability of any adjusted p-value of at most alpha is at most alpha when all groups are
        calibrated. "step-down": never larger; besides, no true group is rejected more often where groups are disjoint
        (Westfall & Young 1993). "holm": so for all groups, of little power. "fdr_bh": the share of false discoveries.
    confidence_level : float
        With which all intervals cover together.
    n_resamples : int
    rng : int, Generator or None

    Returns
    -------
    SubgroupAudit
        With ``groups``, ``pvalue`` and ``left_out``; prints itself in words.

    Raises
    ------
    ValueError
        If a variable is not there, no variable has two levels of `min_size` rows, values are missing, the statistic
        is not a number in a group, or resamples are too few for any adjusted p-value to reach one minus the
        confidence level.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.auditing.audit import subgroup_audit
    >>> rng = np.random.default_rng(0)
    >>> p, sex = rng.random(2000), rng.choice(["f", "m"], 2000)
    >>> happened = rng.random(2000) < np.where(sex == "f", p, p**1.5)
    >>> found = subgroup_audit(cs.Sample(happened, p, variables={"sex": sex}), by="sex", rng=0)
    >>> for group in found.rejected:
    ...     print(group.name, group.direction)
    sex m predicts too high on average
    all rows predicts too high on average
    """
    estimator = Kuiper() if estimator is None else estimator
    check_sample(sample)
    check_estimator(estimator)
    _check(adjust, confidence_level, depth, min_size, n_resamples)
    whole = (Canonical() if lens is None else check_lens(lens)) | estimator
    generator = as_generator(rng)
    variables, seen = look(sample, by, whole.lens, binning, missing)
    groups, left_out = _groups(variables, seen, depth, min_size)
    level = alpha(confidence_level)
    check_resamples(adjust, len(groups), n_resamples, level)
    members = _members(groups, seen, whole)
    measured = measure(whole.core, members, seen, adjust, confidence_level, n_resamples, generator)
    null = Consistency(n_resamples).hypothesis(whole.lens, seen.predictions.given)
    return SubgroupAudit(
        groups=_findings(groups, members, measured, whole.lens, level),
        pvalue=measured.pvalue,
        left_out=tuple(left_out),
        adjust=adjust,
        confidence_level=confidence_level,
        n=len(seen),
        n_resamples=n_resamples,
        estimator=whole,
        hypothesis=f"in every group, {null}; all groups on the same draws",
        notes=tuple(each for each in (measured.note, few_resamples(adjust, len(groups), n_resamples, level)) if each),
        source=seen.predictions.source,
    )


def _groups(variables: list[Levels], seen: Sample, depth: int, min_size: int) -> tuple[list[Group], list[LeftOut]]:
    """Form the groups, all rows among them; refuse if there is no other one."""
    groups, left_out = _with_weight(*form_groups(variables, len(seen), depth, min_size), seen)
    if len(groups) < 2:
        raise ValueError(
            f"there is no group to audit: {_list(left_out)}. Name a variable with two levels of at least {min_size} "
            "rows, or take a smaller min_size."
        )
    return groups, left_out


def _members(groups: list[Group], seen: Sample, estimator: Estimator) -> list[Member]:
    """Prepare the statistic in each group; refuse one that is not a number there: there is nothing to test."""
    members = [Member.of(estimator.core, seen, group.rows) for group in groups]
    for group, member in zip(groups, members, strict=True):
        if np.isnan(member.value):
            raise ValueError(
                f"{estimator!r} is not a number (NaN) in the group {group.name!r} ({len(group.rows)} rows), so that "
                "there is nothing to test; take a larger min_size, or another estimator."
            )
    return members


def _findings(
    groups: list[Group], members: list[Member], measured: Measured, lens: Lens, level: float
) -> tuple[GroupFinding, ...]:
    return tuple(
        GroupFinding(
            name=group.name,
            levels=group.levels,
            n=len(group.rows),
            statistic=float(measured.values[j]),
            null_mean=float(measured.null_means[j]),
            standardized=float(measured.standardized[j]),
            pvalue=float(measured.pvalues[j]),
            pvalue_adjusted=float(measured.adjusted[j]),
            confidence_interval=measured.interval(j),
            **_means(member.sample, lens, bool(measured.adjusted[j] <= level), level / len(groups)),
        )
        for j, (group, member) in enumerate(zip(groups, members, strict=True))
    )


def _with_weight(groups: list[Group], left_out: list[LeftOut], seen: Sample) -> tuple[list[Group], list[LeftOut]]:
    """Leave out groups whose rows all have weight zero."""
    weights = seen.predictions.weights
    if weights is None:
        return groups, left_out
    empty = [group for group in groups if not weights[group.rows].any()]
    more = [LeftOut(group.name, len(group.rows), "has no row of positive weight") for group in empty]
    return [group for group in groups if group not in empty], left_out + more


def _check(adjust: str, confidence_level: float, depth: int, min_size: int, n_resamples: int) -> None:
    check_adjust(adjust)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    for name, value in (("depth", depth), ("min_size", min_size), ("n_resamples", n_resamples)):
        at_least_one(name, value)


def _means(sample: Sample, lens: Lens, off: bool, level: float) -> dict[str, Any]:
    """Return what was predicted and what happened in a group and, where it is off, in which direction."""
    if sample.predictions.n_classes != 2:
        return {"mean_prediction": np.nan, "mean_outcome": np.nan, "direction": ""}
    means = Means.of(sample)
    words = direction(sample, means, is_top_label(lens, sample), level) if off else ""
    return {"mean_prediction": means.predicted, "mean_outcome": means.happened, "direction": words}


def _list(left_out: list[LeftOut]) -> str:
    shown = "; ".join(f"{each.name} {each.reason}" for each in left_out[:5])
    return shown + ("; ..." if len(left_out) > 5 else "")


# What an audit found: a frozen record that prints itself in words. Words never accept a null hypothesis.


@final
@dataclass(frozen=True, eq=False, repr=False)
class SubgroupAudit:
    """What `subgroup_audit` found.

    Parameters
    ----------
    groups : tuple of GroupFinding
        All rows first, then the levels of each variable, then crossings.
    pvalue : float
        Exact, of the hypothesis that the model is calibrated in every group.
    left_out : tuple of LeftOut
        Groups and variables that were not audited, and why.
    adjust : str
        How p-values were adjusted.
    confidence_level : float
    n, n_resamples : int
    estimator : Estimator
        With its lens.
    hypothesis : str
    notes : tuple of str
    source : str
        What was taken for what when the sample was made.
    """

    groups: tuple[GroupFinding, ...]
    pvalue: float
    left_out: tuple[LeftOut, ...]
    adjust: str
    confidence_level: float
    n: int
    n_resamples: int
    estimator: Estimator
    hypothesis: str
    notes: tuple[str, ...]
    source: str

    def __iter__(self) -> Iterator[GroupFinding]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, name: str) -> GroupFinding:
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(f"there is no group {name!r}; the groups are {[group.name for group in self.groups]!r}")

    @property
    def lens(self) -> Lens:
        """The lens that was looked through."""
        return self.estimator.lens

    @property
    def ranked(self) -> list[GroupFinding]:
        """The groups, those of the strongest evidence first."""
        return sorted(self.groups, key=lambda group: (group.pvalue_adjusted, -group.standardized))

    @property
    def rejected(self) -> list[GroupFinding]:
        """The groups with evidence of miscalibration at one minus the confidence level, the strongest first."""
        return [group for group in self.ranked if group.pvalue_adjusted <= alpha(self.confidence_level)]

    @property
    def verdict(self) -> str:
        """Say in how many groups there is evidence, and which is the strongest; or that there is none."""
        m, rejected = len(self.groups), self.rejected
        where = f"through {self.lens!r} (n = {self.n}"
        p = f"joint p = {pvalue_cell(self.pvalue)}"
        if not rejected:
            return self._none_rejected(f"{where}, {self.n_resamples} redraws, {p})")
        first = rejected[0]
        what = f": {first.direction}" if first.direction else ""
        happened = f" ({means(first)})" if first.direction else ""
        return (
            f"Evidence of miscalibration in {len(rejected)} of {m} groups {where}, {self.n_resamples} redraws, "
            f"{p}). Strongest: {first.name}{what}{happened}."
        )

    def _none_rejected(self, where: str) -> str:
        """Say that no group is named; the joint test may see an error that the adjustment does not place."""
        smallest = pvalue_cell(min(group.pvalue_adjusted for group in self.groups))
        if self.pvalue <= alpha(self.confidence_level):
            return (
                f"Evidence of miscalibration in some of {len(self.groups)} groups {where}, but it names none: the "
                f"smallest p-value adjusted {ADJUSTMENTS[self.adjust]} is {smallest}."
            )
        return (
            f"No evidence of miscalibration in any of {len(self.groups)} groups {where}; smallest adjusted p = "
            f"{smallest}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "lens": repr(self.lens),
            "estimator": repr(self.estimator.core),
            "n": self.n,
            "n_resamples": self.n_resamples,
            "pvalue": self.pvalue,
            "adjust": self.adjust,
            "confidence_level": self.confidence_level,
            "hypothesis": self.hypothesis,
            "source": self.source,
            "notes": list(self.notes),
            "groups": [group.to_dict() for group in self.groups],
            "left_out": [{"name": each.name, "n": each.n, "reason": each.reason} for each in self.left_out],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each group, in the order of `groups`."""
        rows = [group.to_dict() for group in self.groups]
        return frame([{key: value for key, value in row.items() if key != "levels"} for row in rows]).set_index("group")

    def __str__(self) -> str:
        level = 100 * self.confidence_level
        quantity, core = self.estimator.core.quantity, self.estimator.core
        notes = [
            ("error", f"{quantity}; {core!r}; expected: its mean in a calibrated model with the same predictions"),
            (f"{level:g} %", "intervals for the error in each group that cover all together"),
            ("adjusted p", f"{ADJUSTMENTS[self.adjust]}; * at most {100 - level:.3g} %"),
            ("null", self.hypothesis),
            ("left out", left_out(self.left_out)),
            ("data", f"n = {self.n}; {self.source}"),
            *[("note", note) for note in self.notes],
        ]
        if self.groups[0].confidence_interval is None:
            del notes[1]
        lines = [line for name, text in notes if text for line in hang(name, text)]
        return "\n".join(
            [*hang("", self.verdict, 0), "", *table(self.ranked, alpha(self.confidence_level)), "", *lines]
        )

    __repr__ = __str__


# The groups of an audit as the rows of a table.

_HEADER = ("group", "n", "predicted", "happened", "error", "expected", "interval", "adjusted p", "")
_SHOWN = 25
_LEFT_OUT_SHOWN = 6


def table(ranked: Sequence[GroupFinding], level: float) -> list[str]:
    """Lay the first groups out; a star marks adjusted p-values of at most `level`."""
    rows = [[*_HEADER], *[_row(group, level) for group in ranked[:_SHOWN]]]
    more = [f"... and {len(ranked) - _SHOWN} more groups: see .to_frame()"] if len(ranked) > _SHOWN else []
    return [*layout(rows, numbers=range(1, 8)), *more]


def means(group: GroupFinding) -> str:
    """Say what was predicted in a group and what happened."""
    return f"{group.mean_prediction:.3f} predicted, {group.mean_outcome:.3f} happened"


def left_out(found: Sequence[LeftOut]) -> str:
    """List what was left out, the first few of it."""
    shown = [f"{each.name} (n = {each.n}) {each.reason}" for each in found[:_LEFT_OUT_SHOWN]]
    more = len(found) - _LEFT_OUT_SHOWN
    return "; ".join(shown) + (f"; and {more} more: see .left_out" if more > 0 else "")


def _row(group: GroupFinding, level: float) -> list[str]:
    two = group.mean_outcome == group.mean_outcome
    interval = group.confidence_interval
    return [
        group.name,
        str(group.n),
        f"{group.mean_prediction:.3f}" if two else "",
        f"{group.mean_outcome:.3f}" if two else "",
        number_cell(group.statistic),
        number_cell(group.null_mean),
        "" if interval is None else f"{number_cell(interval[0])} to {number_cell(interval[1])}",
        pvalue_cell(group.pvalue_adjusted) + (" *" if group.pvalue_adjusted <= level else ""),
        group.direction,
    ]


# What an audit found in one group.


@final
@dataclass(frozen=True)
class GroupFinding:
    """What was found in one group.

    Parameters
    ----------
    name : str
    levels : tuple of (variable, level)
        Empty for all rows.
    n : int
    mean_prediction, mean_outcome : float
        What was predicted and what happened, on average; NaN for more than two outcomes.
    statistic : float
        The estimator on the group's rows.
    null_mean : float
        What is expected of a calibrated model with the same predictions.
    standardized : float
        The statistic divided by its scale under calibration.
    pvalue : float
        Exact, of this group alone.
    pvalue_adjusted : float
        Adjusted for all groups.
    confidence_interval : (float, float), optional
        All of them cover together.
    direction : str
        In words, where there is evidence; else "".
    """

    name: str
    levels: tuple[tuple[str, str], ...]
    n: int
    mean_prediction: float
    mean_outcome: float
    statistic: float
    null_mean: float
    standardized: float
    pvalue: float
    pvalue_adjusted: float
    confidence_interval: tuple[float, float] | None
    direction: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; what is not known is None."""
        low, high = self.confidence_interval or (None, None)
        two = self.mean_outcome == self.mean_outcome
        return {
            "group": self.name,
            "levels": dict(self.levels),
            "n": self.n,
            "mean_prediction": self.mean_prediction if two else None,
            "mean_outcome": self.mean_outcome if two else None,
            "statistic": self.statistic,
            "null_mean": self.null_mean,
            "standardized": self.standardized,
            "low": low,
            "high": high,
            "pvalue": self.pvalue,
            "pvalue_adjusted": self.pvalue_adjusted,
            "direction": self.direction,
        }
