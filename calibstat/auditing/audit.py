"""Which groups of rows is the model off for?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import one_bar
from calibstat._text import counted, percent
from calibstat.auditing.findings import (
    SHOWN,
    Findings,
    error_cells,
    found_in,
    interval_cells,
    mean_cell,
    means_text,
    sentence,
)
from calibstat.auditing.groups import (
    By,
    Group,
    LeftOut,
    Levels,
    Means,
    direction,
    fewest_in_groups,
    form_groups,
    is_top_label,
    layout_of,
    look,
    means_of_groups,
    without_scarce,
)
from calibstat.auditing.joint import Measured, check_options, check_resamples, measure_groups
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.data.arrays import RNG, as_generator
from calibstat.data.groups import ClusterCount, Groups
from calibstat.data.parameters import CONFIDENCE_LEVEL, LEVEL, NotNegative, check_arguments
from calibstat.data.sample import GivenNames, Sample
from calibstat.draws.group_sums import Layout
from calibstat.estimators.base import Estimator, all_weights
from calibstat.estimators.walks import Kuiper
from calibstat.inference.arguments import check_estimator, check_lens, check_null, check_sample, for_clusters
from calibstat.inference.direction import Direction, direction_of
from calibstat.inference.forest import Forest, ForestRow, said_and_happened
from calibstat.inference.intervals import normal_pvalue
from calibstat.inference.multiplicity import ADJUSTMENTS, Adjust, Standardize, with_enough
from calibstat.inference.results import RowCounts, picked, plain, pvalue_cell, small_pvalue
from calibstat.inference.tails import about_cells, about_detail
from calibstat.lenses.base import Lens
from calibstat.lenses.words import in_words
from calibstat.nulls.base import Null, strong_hypothesis
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.multiplier import Multiplier, check_residuals

# Events, and non-events, that a group must expect by default.
MIN_EXPECTED = 5.0


@one_bar
def subgroup_audit(
    sample: Sample,
    by: By,
    *,
    lens: Lens | None = None,
    estimator: Estimator | None = None,
    binning: Binning | Mapping[str, Binning] = EqualMass(4),
    depth: int = 1,
    min_size: int = 50,
    min_expected: NotNegative = MIN_EXPECTED,
    missing: str = "raise",
    null: Null | str | None = None,
    adjust: Adjust = "max-t",
    standardize: Standardize = "moments",
    level: float = LEVEL,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int | None = None,
    rng: RNG = None,
) -> SubgroupAudit:
    """Test every level of some variables, their crossings, and all rows together, on the same draws.

    All groups are evaluated on the same draws of the null: by default labels drawn from the predictions, so that the
    joint law of their statistics is known exactly when the predictions are calibrated in every group, however the
    groups overlap. Each statistic is standardised, so that small groups neither dominate nor drown (Guy et al. 2025).

    From 5000 rows on, statistics along the prediction (`Kuiper`, `SmoothECE`, ...) are drawn of rows pooled in 32 to
    512 steps of the prediction, and compared with the data pooled alike. Sums over steps are drawn from their joint
    normal law where a group expects at least 200 events and non-events, and label by label elsewhere. The cost of a
    draw then does not grow with n; the result says so, and ``null=Consistency(shortcuts=False)`` draws rows.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    by : str, iterable of str, or mapping
        Names of variables of the sample; or further columns by name, one value for each row, in which values may be
        missing.
    lens : Lens, optional
        Looked through before the estimator's own: `TopLabel()` for more than two classes.
    estimator : Estimator, optional
        What is measured in each group; by default `Kuiper`. Its lens is looked through first.
    binning : Binning or mapping of str to Binning
        How numbers are cut; those with at most ten distinct values are not.
    depth : int
        How many variables are crossed at most.
    min_size : int
        Groups with fewer rows are left out, and listed.
    min_expected : float
        So are groups whose predictions expect fewer events, or non-events, in effect by weights (two outcomes), unless
        all groups do. Their rare jumps would hide what is found in others. One that has far more of these than expected
        is listed first, with a bound for the p-value (Bonferroni, over all groups).
    missing : {"raise", "level"}
        What to do with missing values in further columns: an error, or a level of their own.
    null : Null or {"strong", "multiplier"}, optional
        As for `calibration_test`, of those that draw all groups together: by default ``Consistency(999)``.
        Of rows in clusters it is ``Multiplier(999)`` (asymptotic).
    adjust : {"max-t", "step-down", "holm", "fdr_bh", "fdr_by"}
        "max-t": the probability of any adjusted p-value of at most alpha is at most alpha if all groups are calibrated.
        "step-down": p-values are never larger, and for disjoint groups the same holds for the calibrated groups alone
        (Westfall & Young 1993). "holm": the same for all groups, with little power. "fdr_bh", "fdr_by": the false
        discovery rate.
    standardize : {"moments", "ranks", "none"}
        As for `multiple_test`.
    level : float
        At which groups are rejected.
    confidence_level : float
        Simultaneous confidence level of all intervals.
    n_resamples : int, optional
        Of the null, by default 999; more where no test could reject otherwise, if that costs little. Where `null` is an
        object, that says it.
    rng : int, Generator or None

    Returns
    -------
    SubgroupAudit
        With ``groups``, ``pvalue`` and ``left_out``; prints itself in words.

    Raises
    ------
    ValueError
        If a variable is not there, no variable has two levels of `min_size` rows, values are missing, the statistic
        is not a number in a group, resamples are too few for any adjusted p-value to reach the level, or the null
        gives no joint draws.

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
    check_arguments(subgroup_audit, "", min_expected=min_expected)
    check_estimator(estimator)
    check_options(adjust, standardize, level, confidence_level, depth=depth, min_size=min_size)
    asked, null = null, _checked(check_null(null, n_resamples), estimator)
    whole = check_lens(lens) | estimator
    by_counts = null.takes_counts or isinstance(null, Multiplier)
    variables, seen = look(
        sample, by, whole.lens, binning, missing, reads=lambda k: by_counts and whole.core.reads_counts(k)
    )
    groups, left_out = _groups(variables, seen, depth, min_size, min_expected, level)
    null, replaced = for_clusters(null, seen, asked)
    null, more = with_enough(null, asked, len(groups), adjust, level, len(seen))
    few = check_resamples(adjust, len(groups), null.n_resamples, level)
    layout, options = layout_of(groups, len(seen)), (adjust, standardize, confidence_level, as_generator(rng))
    measured = measure_groups(whole.core, groups, layout, seen, null, *options)
    found = seen.predictions.clusters
    clustered = "" if found is None else str(found)
    assumed = _hypothesis(null, whole, whole.core.given(seen.predictions), measured, seen.groups)
    return SubgroupAudit(
        groups=_group_findings(groups, layout, seen, measured, whole.lens, level),
        pvalue=measured.found.pvalue,
        left_out=tuple(left_out),
        adjust=adjust,
        level=level,
        confidence_level=confidence_level,
        n=seen.predictions.n_rows,
        n_resamples=measured.n_resamples,
        estimator=whole,
        assumed=f"in every group, {assumed}; all groups on the same draws",
        notes=tuple(each for each in (sample.hint, few, *replaced, *more, measured.note, clustered) if each),
        how=measured.how,
        source=seen.predictions.source,
        counts=RowCounts.of(seen, fewest_in_groups(layout, seen)),
        what=in_words(whole.lens, sample.labels, sample.known.seen),
        clusters=found,
        overall=direction_of(seen),
    )


def _checked(null: Null, estimator: Estimator) -> Null:
    """Refuse nulls that move rows between groups, and signs for what they cannot be multiplied into."""
    if isinstance(null, Consistency) and null.resample_predictions:
        raise ValueError(f"{null!r} draws rows anew, but an audit keeps its groups: use Consistency().")
    if isinstance(null, Multiplier):
        check_residuals(estimator.core)
    return null


def _hypothesis(null: Null, whole: Estimator, known: GivenNames, measured: Measured, clusters: Groups | None) -> str:
    """Say what was assumed, and how draws were made."""
    if measured.pooled and isinstance(null, Consistency):
        how = "labels drawn from the predictions, which are kept, in sums over steps of these"
        return strong_hypothesis(whole.lens, known, how)
    return null.hypothesis(whole.lens, known, clusters)


def _groups(
    variables: list[Levels], seen: Sample, depth: int, min_size: int, min_expected: float, level: float
) -> tuple[list[Group], list[LeftOut]]:
    """Form the groups, all rows among them; leave out those that show too little; refuse if there is no other one."""
    groups, left_out = form_groups(variables, len(seen), depth, min_size, seen.predictions.counts)
    groups, scarce = without_scarce(groups, seen, min_expected, level)
    left_out = [*scarce, *left_out]
    if len(groups) < 2:
        shown = "; ".join(f"{each.name} {each.reason}" for each in left_out[:5]) + ("; ..." * (len(left_out) > 5))
        raise ValueError(
            f"there is no group to audit: {shown}. Name a variable with two levels of at least {min_size} "
            "rows, or take a smaller min_size."
        )
    return groups, left_out


def _group_findings(
    groups: Sequence[Group], layout: Layout, seen: Sample, measured: Measured, lens: Lens, level: float
) -> tuple[GroupFinding, ...]:
    found, means = measured.found, means_of_groups(layout, seen)
    masses = layout.totals(all_weights(seen.predictions, None)).tolist()
    return tuple(
        GroupFinding(
            name=group.name,
            levels=group.levels,
            n=group.n,
            statistic=float(measured.values[j]),
            null_mean=float(measured.null_means[j]),
            standardized=float(found.standardized[j]),
            pvalue=float(found.pvalues[j]),
            pvalue_adjusted=float(found.pvalues_adjusted[j]),
            tail=measured.tails[j],
            confidence_interval=measured.intervals[j],
            mean_prediction=means[j].predicted,
            mean_outcome=means[j].happened,
            apart=_differs(means[j], means[0], masses[j] / masses[0], level / len(groups)),
            direction=_direction(group, seen, means[j], lens, level / len(groups))
            if found.pvalues_adjusted[j] <= level
            else "",
        )
        for j, group in enumerate(groups)
    )


def _differs(group: Means, whole: Means, share: float, level: float) -> bool:
    """Whether the error of a group with this share of all weight differs from that of all rows (normal law)."""
    if not share < 1 or np.isnan(group.residual):
        return False
    of_others = max(whole.standard_error**2 - (share * group.standard_error) ** 2, 0.0)
    error = float(np.sqrt(((1 - share) * group.standard_error) ** 2 + of_others))
    return normal_pvalue(group.residual - whole.residual, error, group.predicted) <= level


def _direction(group: Group, seen: Sample, means: Means, lens: Lens, level: float) -> str:
    """Say in which direction a group is off, of two outcomes."""
    sample = seen.take(group.rows)
    return direction(sample, means, is_top_label(lens, sample), level) if seen.predictions.n_classes == 2 else ""


@final
@dataclass(frozen=True)
class GroupFinding:
    """The finding for one group.

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
        Its mean under the null: what is expected of a calibrated model with the same predictions.
    standardized : float
        The evidence after standardisation: in standard deviations above its mean.
    pvalue : float
        Of this group alone.
    pvalue_adjusted : float
        Adjusted for all groups.
    tail : float, optional
        About how small that is, where no redraw reaches the statistic and its law is known.
    confidence_interval : (float, float), optional
        All of them cover together.
    apart : bool
        Whether its mean error differs from that of all rows beyond noise, all groups together (normal law).
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
    tail: float | None
    confidence_interval: tuple[float, float] | None
    apart: bool
    direction: str

    @property
    def means(self) -> str:
        """What was predicted and what happened, in words; "" for more than two outcomes."""
        return "" if np.isnan(self.mean_outcome) else means_text(self.mean_prediction, self.mean_outcome)

    def beyond_noise(self) -> float:
        """Return the error beyond what noise gives."""
        return max(self.statistic - self.null_mean, 0.0)

    def burden(self) -> float:
        """Return the error beyond what noise gives, times rows: how much it matters."""
        return self.n * self.beyond_noise()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; what is not known is None."""
        low, high = self.confidence_interval or (None, None)
        return plain(
            {"group": self.name, "levels": dict(self.levels)}
            | picked(self, "n mean_prediction mean_outcome statistic null_mean standardized")
            | {"low": low, "high": high}
            | picked(self, "pvalue pvalue_adjusted tail apart direction")
        )


@final
@dataclass(frozen=True, eq=False, repr=False)
class SubgroupAudit(Findings[GroupFinding]):
    """The result of `subgroup_audit`.

    Parameters
    ----------
    adjust, level, confidence_level, n, n_resamples, left_out, notes, how, source, counts, what
        As for all `Findings`.
    groups : tuple of GroupFinding
        All rows first, then the levels of each variable, then crossings.
    pvalue : float
        Of the null in every group together; exact where labels are drawn from the predictions.
    estimator : Estimator
        With its lens.
    assumed : str
        The null.
    clusters : ClusterCount, optional
        Number of clusters, and how many of equal size would be as good, where the null names them.
    overall : Direction, optional
        What was predicted and what happened over all rows, with the slope; None for more than two outcomes.
    """

    groups: tuple[GroupFinding, ...]
    pvalue: float
    estimator: Estimator
    assumed: str
    clusters: ClusterCount | None = None
    overall: Direction | None = None

    _display: ClassVar[str] = "AuditDisplay"
    _row: ClassVar[str] = "group"
    _text_columns: ClassVar[tuple[int, ...]] = (0, 9)
    _spare_columns: ClassVar[tuple[int, ...]] = (5, 8, 9, 6)

    @property
    def _findings(self) -> tuple[GroupFinding, ...]:
        return self.groups

    @property
    def lens(self) -> Lens:
        """The lens that was looked through."""
        return self.estimator.lens

    @property
    def hypothesis(self) -> str:
        """The null: of every group."""
        return self.assumed

    @property
    def ranked(self) -> list[GroupFinding]:
        """The groups, those of the strongest evidence first."""
        return sorted(self.groups, key=lambda group: (group.pvalue_adjusted, -group.standardized))

    @property
    def rejected(self) -> list[GroupFinding]:
        """The groups with evidence of miscalibration at the level, the strongest first."""
        return [group for group in self.ranked if group.pvalue_adjusted <= self.level]

    @property
    def largest(self) -> GroupFinding | None:
        """The group with evidence whose error matters most: beyond noise, times rows. All rows only if it is alone."""
        rejected = self.rejected
        return max([group for group in rejected if group.levels] or rejected, key=GroupFinding.burden, default=None)

    @property
    def verdict(self) -> str:
        """Say in how many groups there is evidence, and where the error matters most; or that there is none."""
        return f"{self._verdict_of_groups}{self._left_out_in_excess}"

    @property
    def _verdict_of_groups(self) -> str:
        m, rejected, first = len(self.groups), self.rejected, self.largest
        if first is not None:
            clear = [group for group in rejected if group.levels and not self._decided_by_pvalue(group)]
            beyond = max(clear or [first], key=GroupFinding.beyond_noise)
            found, at = f"{len(rejected)} of {counted(m, 'group')}", f"at {percent(self.level)}"
            largest = f"{beyond.name}, {self._error_of(beyond)}"
            if self._alike:
                way = self.groups[0].direction.removeprefix("predicts ")
                verbs = "are" if len(rejected) > 1 else "is"
                return sentence(
                    f"{self.what} is {way} over all rows: {self._size_of(self.groups[0])}. This is the main error: "
                    f"{found} {verbs} off {at}, but none by another mean error than all rows beyond noise."
                )
            where = f"{first.name} ({counted(first.n, 'row')}){first.direction and f': {first.direction}'}"
            most = f", {where}" if len(rejected) == 1 else f"; it weighs most in {where}"
            other = "" if beyond is first else f" The largest error is in {largest}."
            return sentence(f"{self.what} is off in {found} {at}{most}, {self._size_of(first)}.{other}{self._all_rows}")
        smallest = pvalue_cell(min(group.pvalue_adjusted for group in self.groups), self.level)
        if self.pvalue <= self.level:
            # The joint test may detect an error that the adjustment does not assign to a group.
            return sentence(
                f"{self.what} is off at {percent(self.level)} in some of {m} groups (p "
                f"{small_pvalue(self.pvalue, level=self.level)} for all together), but none can be named: the smallest "
                f"p-value adjusted {ADJUSTMENTS[self.adjust]} is {smallest}."
            )
        overall = "" if self.overall is None else str(self.overall).replace(" (", ", ").rstrip(")")
        means = ", ".join(filter(None, [overall, f"smallest adjusted p = {smallest}"]))
        return f"{self._not_rejected(f'Calibration of {self.what}')} in any of {m} groups ({means})."

    @property
    def _alike(self) -> bool:
        """Whether all rows are off on average, and no group by a mean error that differs from theirs beyond noise."""
        whole, *groups = self.groups
        way, on_average, _ = whole.direction.partition(" on average")
        rejected = [group for group in groups if group.pvalue_adjusted <= self.level]
        same = all(group.direction.startswith(way) for group in rejected)
        return bool(on_average) and same and not any(group.apart for group in groups)

    @property
    def _all_rows(self) -> str:
        """A sentence after a space: what was predicted and what happened over all rows; "" for more outcomes."""
        return "" if self.overall is None else f" Over all rows: {self.overall}."

    def _error_of(self, group: GroupFinding) -> str:
        """Write the error of a group with its interval."""
        [error] = error_cells([group.statistic])
        [interval] = interval_cells([group.confidence_interval])
        return f"{error} ({percent(self.confidence_level)}: {interval})" if interval else error

    def _size_of(self, group: GroupFinding) -> str:
        """Say how large the error of a group is, what was predicted and what happened."""
        p = f"adjusted p {small_pvalue(group.pvalue_adjusted, level=self.level)}"
        means = group.means if group.levels or self.overall is None else str(self.overall)
        return ", ".join(filter(None, [f"error {self._error_of(group)}", means, p]))

    def forest(self) -> Forest:
        """Return the groups as rows of a forest plot, those of the strongest evidence first."""
        rejected, p = self.rejected, small_pvalue(float(f"{self.pvalue:.2g}"), level=self.level)
        first = self.largest or self.ranked[0]
        most = f"{first.name}: {first.direction}" if rejected else f"joint p {p}; n = {self.n:,}"
        return Forest(
            tuple(
                ForestRow(
                    group.name,
                    group.statistic,
                    group.confidence_interval,
                    (0.0, group.null_mean),
                    group.pvalue_adjusted <= self.level,
                    said_and_happened(group.mean_prediction, group.mean_outcome),
                )
                for group in self.ranked
            ),
            answer=(found_in(len(rejected), len(self), "group"), most),
            axis=self.estimator.core.quantity.split(" (")[0],
            **self._forest_words("groups"),
        )

    def _asked(self) -> dict[str, Any]:
        asked = {"lens": repr(self.lens), "estimator": repr(self.estimator.core), "pvalue": self.pvalue}
        return asked if self.clusters is None else asked | self.clusters.to_dict()

    def _rows(self) -> list[dict[str, Any]]:
        return [{key: value for key, value in group.to_dict().items() if key != "levels"} for group in self.groups]

    def _table(self) -> list[list[str]]:
        header = [
            "group",
            "rows",
            "predicted",
            "happened",
            "error",
            "noise",
            self._ends,
            "adj. p",
            "about",
            "direction",
        ]
        groups = self._in_order[:SHOWN]
        columns = zip(
            error_cells([group.statistic for group in groups]),
            error_cells([group.null_mean for group in groups]),
            interval_cells([group.confidence_interval for group in groups]),
            strict=True,
        )
        about = about_cells([group.tail for group in groups])
        rows = [
            [
                group.name,
                str(group.n),
                mean_cell(group.mean_prediction),
                mean_cell(group.mean_outcome),
                *errors,
                self._p_cell(group.pvalue_adjusted),
                tail,
                group.direction.removeprefix("predicts "),
            ]
            for group, errors, tail in zip(groups, columns, about, strict=True)
        ]
        return [header, *rows]

    @property
    def _in_order(self) -> list[GroupFinding]:
        """All rows, the groups with evidence by how much their error matters, and the others by evidence."""
        rejected = sorted(self.rejected, key=GroupFinding.burden, reverse=True)
        found = [*rejected, *(group for group in self.ranked if group.pvalue_adjusted > self.level)]
        return sorted(found, key=lambda group: bool(group.levels))

    def _details(self) -> list[tuple[str, str]]:
        core = self.estimator.core
        above = [
            ("error", f"{core.quantity}; {core!r}, seen through {self.lens!r}"),
            ("noise", "mean of the error in a calibrated model with the same predictions"),
            ("order", "all rows; groups with evidence, by error beyond noise times rows; others, by evidence"),
            ("joint p", f"{pvalue_cell(self.pvalue, self.level)}, of no error in any group"),
        ]
        above += about_detail([group.tail for group in self.groups])
        return self._details_after(above, "each group", self.groups[0].confidence_interval is not None)
