"""What the comparison of calibration curves found: a frozen record that prints itself in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from calibstat.auditing.groups import LeftOut
from calibstat.auditing.tables import hang, layout
from calibstat.inference.results import frame
from calibstat.inference.words import LEVEL, pvalue_cell, small_pvalue
from calibstat.lenses.base import Lens

if TYPE_CHECKING:
    import pandas as pd

_QUESTION = (
    "does as much happen in every group where the prediction is the same? (This is not about miscalibration: the model "
    "may be off in all groups alike.)"
)


@final
@dataclass(frozen=True, eq=False, repr=False)
class EqualCurvesTest:
    """What `equal_curves_test` found; unpacks to ``(statistic, pvalue)`` with the covariance statistic.

    Parameters
    ----------
    variable : str
    groups : tuple of str
    sizes : tuple of int
    gaps : tuple of float
        For each group, how much more happens than in all rows of the same predictions, on average.
    group_pvalues : tuple of float
        Of the cumulated covariance of each group, adjusted for the others.
    covariance_statistic, covariance_pvalue : float
        Range of the cumulated covariance, standardised, the largest over groups; against Gaussian multipliers.
    regression_statistic, regression_pvalue : float
        Likelihood ratio of the logistic regression; chi-squared.
    regression_df : int
    pvalue : float
        Twice the smaller of the two, at most 1.
    left_out : tuple of LeftOut
    lens : Lens
    n, n_resamples : int
    source : str
    """

    variable: str
    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    gaps: tuple[float, ...]
    group_pvalues: tuple[float, ...]
    covariance_statistic: float
    covariance_pvalue: float
    regression_statistic: float
    regression_df: int
    regression_pvalue: float
    pvalue: float
    left_out: tuple[LeftOut, ...]
    lens: Lens
    n: int
    n_resamples: int
    source: str

    def __iter__(self) -> Iterator[float]:
        return iter((self.covariance_statistic, self.pvalue))

    @property
    def hypothesis(self) -> str:
        """The null."""
        return (
            f"given the prediction, the outcome seen through {self.lens!r} does not depend on {self.variable!r}; the "
            "prediction itself may be off (asymptotic)"
        )

    @property
    def verdict(self) -> str:
        """One sentence: evidence that the curves differ, or no evidence."""
        where = f"through {self.lens!r} (n = {self.n}, p {small_pvalue(self.pvalue)})"
        what = f"that the calibration curves of the {len(self.groups)} groups of {self.variable!r} differ {where}"
        if self.pvalue > LEVEL:
            return f"No evidence {what}."
        low, high = min(self.gaps), max(self.gaps)
        least, most = self.groups[self.gaps.index(low)], self.groups[self.gaps.index(high)]
        return (
            f"Evidence {what}: "
            f"at the same prediction most happens in {most} ({high:+.3f} on average), least in {least} ({low:+.3f})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        groups = zip(self.groups, self.sizes, self.gaps, self.group_pvalues, strict=True)
        return {
            "lens": repr(self.lens),
            "variable": self.variable,
            "n": self.n,
            "n_resamples": self.n_resamples,
            "pvalue": self.pvalue,
            "covariance_statistic": self.covariance_statistic,
            "covariance_pvalue": self.covariance_pvalue,
            "regression_statistic": self.regression_statistic,
            "regression_df": self.regression_df,
            "regression_pvalue": self.regression_pvalue,
            "hypothesis": self.hypothesis,
            "source": self.source,
            "groups": [{"group": name, "n": n, "gap": gap, "pvalue_adjusted": p} for name, n, gap, p in groups],
            "left_out": [{"name": each.name, "n": each.n, "reason": each.reason} for each in self.left_out],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each group."""
        return frame(self.to_dict()["groups"]).set_index("group")

    def __str__(self) -> str:
        rows = [["group", "n", "more happens by", "adjusted p"]]
        rows += [
            [f"{self.variable} {name}", str(n), f"{gap:+.4f}", pvalue_cell(p)]
            for name, n, gap, p in zip(self.groups, self.sizes, self.gaps, self.group_pvalues, strict=True)
        ]
        covariance = pvalue_cell(self.covariance_pvalue)
        notes = [
            ("question", _QUESTION),
            ("more by", "mean of outcome minus what happens in all rows at the same prediction (a spline)"),
            (
                "adjusted p",
                f"cumulated covariance of outcome and group given the prediction; the largest: p = {covariance}",
            ),
            (
                "regression",
                f"group and group x logit beside a spline of the prediction: likelihood ratio "
                f"{self.regression_statistic:.4g}, {self.regression_df} degrees of freedom, "
                f"p {small_pvalue(self.regression_pvalue)}",
            ),
            ("p", "twice the smaller of the two"),
            ("null", self.hypothesis),
            ("left out", "; ".join(f"{each.name} (n = {each.n}) {each.reason}" for each in self.left_out[:6])),
            ("data", f"n = {self.n}; {self.source}"),
        ]
        lines = [line for name, text in notes if text for line in hang(name, text)]
        return "\n".join([*hang("", self.verdict, 0), "", *layout(rows, numbers=(1, 2, 3)), "", *lines])

    __repr__ = __str__
