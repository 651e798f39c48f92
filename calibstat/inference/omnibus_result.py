"""What a test of several statistics at once found, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from calibstat.estimators.base import Estimator
from calibstat.inference.results import frame
from calibstat.inference.words import LEVEL, counted, number
from calibstat.lenses.base import Lens

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, eq=False, repr=False)
class OmnibusTest:
    """What `omnibus_test` found; unpacks to ``(statistic, pvalue)``.

    Parameters
    ----------
    statistic : float
        The smallest p-value of the panel, before adjustment.
    pvalue : float
        Its own exact p-value.
    names : tuple of str
    estimators : tuple of Estimator
    values : tuple of float
        The value of each member.
    pvalues : tuple of float
        Exact p-value of each member by itself: not adjusted for the others.
    adjusted : tuple of float
        Adjusted by single-step min-p for having looked at all of them.
    kinds : tuple of str
        What an extreme value of each member means.
    lens : Lens
    n : int
    n_resamples : int
    hypothesis, source : str
    """

    statistic: float
    pvalue: float
    names: tuple[str, ...]
    estimators: tuple[Estimator, ...]
    values: tuple[float, ...]
    pvalues: tuple[float, ...]
    adjusted: tuple[float, ...]
    kinds: tuple[str, ...]
    lens: Lens
    n: int
    n_resamples: int
    hypothesis: str
    source: str

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def strongest(self) -> str:
        """The name of the member with the smallest p-value; the first of several."""
        return self.names[int(np.argmin(self.pvalues))]

    @property
    def kind(self) -> str | None:
        """The kind of miscalibration that the strongest member is most sensitive to; None unless 5 % reject."""
        return None if self.pvalue > LEVEL else self.kinds[self.names.index(self.strongest)]

    @property
    def verdict(self) -> str:
        """One sentence: evidence of miscalibration and its kind, or no evidence."""
        where = (
            f"through {self.lens!r} (n = {self.n}, p = {self.pvalue:.3g}, {counted(self.n_resamples, 'resample')}, "
            f"{counted(len(self.names), 'statistic')})"
        )
        if self.pvalue > LEVEL:
            return f"No evidence of miscalibration {where}."
        return f"Evidence of miscalibration {where}. Strongest: {self.strongest}, which points to {self.kind}."

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each member."""
        columns = ("statistic", "value", "pvalue", "adjusted", "kind")
        rows = zip(self.names, self.values, self.pvalues, self.adjusted, self.kinds, strict=True)
        return frame([dict(zip(columns, row, strict=True)) for row in rows]).set_index("statistic")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; what is not finite is None."""
        parts = zip(self.names, self.estimators, self.values, self.pvalues, self.adjusted, strict=True)
        return {
            "lens": repr(self.lens),
            "n": self.n,
            "n_resamples": self.n_resamples,
            "source": self.source,
            "hypothesis": self.hypothesis,
            "statistic": self.statistic,
            "pvalue": self.pvalue,
            "strongest": self.strongest,
            "kind": self.kind,
            "panel": {
                name: {
                    "estimator": repr(each),
                    "value": value if np.isfinite(value) else None,
                    "pvalue": own,
                    "adjusted": joint,
                }
                for name, each, value, own, joint in parts
            },
        }

    def __str__(self) -> str:
        width = max(map(len, self.names))
        rows = [
            f"  {name:{width}}  {number(value):>9}  p = {own:.3g}, adjusted {joint:.3g}"
            for name, value, own, joint in zip(self.names, self.values, self.pvalues, self.adjusted, strict=True)
        ]
        return "\n".join([self.verdict, *rows, f"  data  n = {self.n}; {self.source}", f"  null  {self.hypothesis}"])

    __repr__ = __str__
