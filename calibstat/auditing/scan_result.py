"""What a scan of variables found: a frozen record that prints itself in words. Words never accept a null hypothesis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from calibstat.auditing.direction import sign_words
from calibstat.auditing.groups import LeftOut
from calibstat.auditing.joint import ADJUSTMENTS, alpha
from calibstat.auditing.scan_findings import CellFinding, VariableFinding
from calibstat.auditing.tables import hang, layout, number_cell
from calibstat.inference.results import frame
from calibstat.inference.words import pvalue_cell
from calibstat.lenses.base import Lens

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, eq=False, repr=False)
class VariableScan:
    """What `scan_variables` found.

    Parameters
    ----------
    variables : tuple of VariableFinding
        The first is the one that the model is off for most.
    null, rank_by, adjust : str
    confidence_level : float
    top_label : bool
        Whether the event is that the top label is right.
    lens : Lens
    n, n_resamples : int
    left_out : tuple of LeftOut
    notes : tuple of str
    source : str
        What was taken for what when the sample was made.
    """

    variables: tuple[VariableFinding, ...]
    null: str
    rank_by: str
    adjust: str
    confidence_level: float
    top_label: bool
    lens: Lens
    n: int
    n_resamples: int
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    source: str

    def __iter__(self) -> Iterator[VariableFinding]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def __getitem__(self, name: str) -> VariableFinding:
        for found in self.variables:
            if found.variable == name:
                return found
        raise KeyError(f"there is no variable {name!r}; the variables are {[v.variable for v in self.variables]!r}")

    @property
    def rejected(self) -> list[VariableFinding]:
        """The variables with evidence at one minus the confidence level, in order of rank."""
        return [found for found in self.variables if found.pvalue_adjusted <= alpha(self.confidence_level)]

    @property
    def hypothesis(self) -> str:
        """The null of the adjusted p-values."""
        if self.null == "weak":
            return (
                f"given each variable alone, the mean of outcome - prediction seen through {self.lens!r} is zero (weak "
                "null); the larger p of redrawn labels and of centred random signs (asymptotic)"
            )
        return (
            f"given the prediction and each variable, the outcome seen through {self.lens!r} follows the prediction "
            "(strong null); labels drawn from the predictions, which are kept (exact)"
        )

    @property
    def verdict(self) -> str:
        """Say for how many variables there is evidence of an error, and which comes first; or that there is none."""
        m, rejected = len(self.variables), self.rejected
        kind = f"error on average at some value ({self.null} null)" if self.null == "weak" else "error (strong null)"
        where = f"through {self.lens!r} (n = {self.n}, {self.n_resamples} redraws)"
        if not rejected:
            smallest = min(found.pvalue_adjusted for found in self.variables)
            return f"No evidence of an {kind} for any of {m} variables {where}; smallest adjusted p = {smallest:.3g}."
        first = rejected[0]
        worst = first.worst
        means = "" if not first.consistency else f": {self._signs(worst)} ({_means(worst)})"
        return (
            f"Evidence of an {kind} for {len(rejected)} of {m} variables {where}. First: {first.variable}, VECE "
            f"{first.vece:.4f} where {first.null_mean:.4f} is expected of noise; worst at {worst.level}{means}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "lens": repr(self.lens),
            "n": self.n,
            "n_resamples": self.n_resamples,
            "null": self.null,
            "rank_by": self.rank_by,
            "adjust": self.adjust,
            "confidence_level": self.confidence_level,
            "hypothesis": self.hypothesis,
            "source": self.source,
            "notes": list(self.notes),
            "variables": [found.to_dict() for found in self.variables],
            "left_out": [{"name": each.name, "n": each.n, "reason": each.reason} for each in self.left_out],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each variable, in order of rank."""
        return frame([found.to_dict() for found in self.variables]).set_index("variable")

    def __str__(self) -> str:
        level = 100 * self.confidence_level
        rank = "VECE - expected" if self.rank_by == "excess" else "VECE, as Kelly & Smyth (2023) do"
        known = self.variables[0].confidence_interval is not None
        notes = [
            (
                "VECE",
                "mean |happened - predicted| over cells of the variable (binned); expected: what noise alone gives",
            ),
            ("rank", f"by {rank}"),
            (f"{level:g} %", "intervals for the error in these cells that cover all together" if known else ""),
            ("worst", "the cell of the largest error, beside the largest that noise alone gives on average"),
            ("adjusted p", f"{ADJUSTMENTS[self.adjust]}; {self.null} null; * at most {100 - level:.3g} %"),
            ("null", self.hypothesis),
            ("left out", "; ".join(f"{each.name} {each.reason}" for each in self.left_out[:6])),
            ("data", f"n = {self.n}; {self.source}"),
            *[("note", note) for note in self.notes],
        ]
        lines = [line for name, text in notes if text for line in hang(name, text)]
        rows = [[*_HEADER], *[self._row(found) for found in self.variables]]
        return "\n".join([*hang("", self.verdict, 0), "", *layout(rows, numbers=(1, 2, 3, 4, 6, 7)), "", *lines])

    __repr__ = __str__

    def _row(self, found: VariableFinding) -> list[str]:
        interval, worst = found.confidence_interval, found.worst
        star = " *" if found.pvalue_adjusted <= alpha(self.confidence_level) else ""
        return [
            found.variable,
            number_cell(found.vece),
            number_cell(found.null_mean),
            "" if interval is None else f"{number_cell(interval[0])} to {number_cell(interval[1])}",
            pvalue_cell(found.pvalue_adjusted) + star,
            worst.level,
            number_cell(worst.error),
            number_cell(found.worst_expected),
            self._direction(found),
        ]

    def _direction(self, found: VariableFinding) -> str:
        """Say whether all cells are off in the same direction, as observed."""
        high, low = (sign_words(sign, self.top_label).removeprefix("predicts ") for sign in (-1, 1))
        if found.consistency in ("", "mixed"):
            return found.consistency and f"{high} in {found.too_high} of {len(found.cells)} cells"
        return f"consistently {high if found.consistency == 'over' else low}"

    def _signs(self, cell: CellFinding) -> str:
        return sign_words(cell.mean_outcome - cell.mean_prediction, self.top_label)


_HEADER = ("variable", "VECE", "expected", "interval", "adjusted p", "worst at", "error", "expected", "observed")


def _means(cell: CellFinding) -> str:
    return f"{cell.mean_prediction:.3f} predicted, {cell.mean_outcome:.3f} happened"
