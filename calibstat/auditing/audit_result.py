"""What an audit found: a frozen record that prints itself in words. Words never accept a null hypothesis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from calibstat.auditing.audit_table import left_out, means, table
from calibstat.auditing.group_finding import GroupFinding
from calibstat.auditing.groups import LeftOut
from calibstat.auditing.joint import ADJUSTMENTS, alpha
from calibstat.auditing.tables import hang
from calibstat.estimators.base import Estimator
from calibstat.inference.results import frame
from calibstat.inference.words import pvalue_cell
from calibstat.lenses.base import Lens

if TYPE_CHECKING:
    import pandas as pd


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
