"""Which groups of rows is the model off for?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibstat.arrays import RNG, as_generator
from calibstat.auditing.audit_result import SubgroupAudit
from calibstat.auditing.direction import Means, direction, is_top_label
from calibstat.auditing.group_finding import GroupFinding
from calibstat.auditing.groups import Group, LeftOut, form_groups
from calibstat.auditing.joint import Member, alpha, check_adjust, check_resamples, few_resamples
from calibstat.auditing.levels import By, Levels
from calibstat.auditing.looking import look
from calibstat.auditing.measured import Measured, measure
from calibstat.binnings.base import Binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.checks import at_least_one
from calibstat.estimators.base import Estimator
from calibstat.estimators.walks.cumulative import Kuiper
from calibstat.inference.arguments import check_asked, check_lens
from calibstat.inference.estimation import level_between
from calibstat.lenses.base import Lens
from calibstat.lenses.canonical import Canonical
from calibstat.nulls.consistency import Consistency
from calibstat.sample import Sample


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
    check_asked(sample, estimator)
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
    level_between(confidence_level)
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
