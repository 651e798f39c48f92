"""What a comparison of several models found, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from calibstat.inference.asked import Asked
from calibstat.inference.comparison_result import ENOUGH_ROWS
from calibstat.inference.plain_values import plain
from calibstat.inference.results import frame
from calibstat.inference.words import LEVEL, counted, number

if TYPE_CHECKING:
    import pandas as pd

_METHODS = {
    "holm": "Holm's method over pairs",
    "max-t": "the largest difference of all pairs (random signs), Bonferroni over models",
}


class PairDifference(NamedTuple):
    """Two models: the debiased squared error of the first minus that of the second, and its test.

    Parameters
    ----------
    first, second : str
        The names of the models.
    difference, standard_error : float
    statistic : float
        Their ratio.
    normal_pvalue, pvalue, adjusted : float
        Without the wrap, with it, and adjusted for all pairs.
    """

    first: str
    second: str
    difference: float
    standard_error: float
    statistic: float
    normal_pvalue: float
    pvalue: float
    adjusted: float


@final
@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison:
    """What `compare_models` found.

    Parameters
    ----------
    names : tuple of str
    values : tuple of float
        The debiased squared error of each model, in its own cells.
    own_pvalues : tuple of float
        Exact p-value of each model by itself, for "this model is calibrated".
    pairs : tuple of PairDifference
        ``pvalue`` is that of the pair by itself, ``adjusted`` that for having looked at all pairs.
    set_pvalues : tuple of float
        A model is in the model confidence set of level 1 - alpha if this exceeds alpha.
    confidence_level : float
    adjust : str
    n_resamples : int
    asked : tuple of Asked
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    own_pvalues: tuple[float, ...]
    pairs: tuple[PairDifference, ...]
    set_pvalues: tuple[float, ...]
    confidence_level: float
    adjust: str
    n_resamples: int
    asked: tuple[Asked, ...]

    @property
    def root_values(self) -> tuple[float, ...]:
        """Roots of the squared errors, those of negative ones zero: in probability units."""
        return tuple(float(np.sqrt(max(value, 0.0))) for value in self.values)

    @property
    def confidence_set(self) -> tuple[str, ...]:
        """The models that may have the smallest error."""
        alpha = 1 - self.confidence_level
        return tuple(name for name, p in zip(self.names, self.set_pvalues, strict=True) if p > alpha + 1e-12)

    @property
    def hypothesis(self) -> str:
        """Which hypotheses the p-values belong to."""
        return (
            f"the two models have the same squared calibration error through {self.asked[0].lens!r}, each binned by "
            "its own cells (both may be zero)"
        )

    @property
    def verdict(self) -> str:
        """Which models differ, or that they cannot be told apart."""
        pairs = counted(len(self.pairs), "pair")
        where = f"through {self.asked[0].lens!r} (n = {self.asked[0].n}, the same rows, {pairs}"
        differ = [pair for pair in self.pairs if pair.adjusted <= LEVEL]
        if not differ:
            smallest = min(pair.adjusted for pair in self.pairs)
            errors = f"The calibration errors of {', '.join(self.names)} cannot be told apart"
            return f"{errors} {where}, smallest adjusted p = {smallest:.3g})."
        found = ", ".join(
            f"{pair.first} {'<' if pair.difference < 0 else '>'} {pair.second} (p = {pair.adjusted:.3g})"
            for pair in differ
        )
        rest = "" if len(differ) == len(self.pairs) else "; other pairs cannot be told apart"
        return f"Evidence that calibration errors differ {where}, adjusted): {found}{rest}."

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the result."""
        found = []
        if self.asked[0].n < ENOUGH_ROWS:
            found.append(f"fewer than {ENOUGH_ROWS} rows: the normal approximation is for at least as many")
        m = len(self.names)
        smallest = (2 * len(self.pairs) if self.adjust == "holm" else max(m, 2 * (m - 2))) / (1 + self.n_resamples)
        if smallest > LEVEL:
            drawn = counted(self.n_resamples, "resample")
            found.append(f"with {drawn} no adjusted p-value can be below {min(smallest, 1):.2g}")
        return tuple(found)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each pair."""
        return frame([pair._asdict() for pair in self.pairs])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        parts = (self.names, self.values, self.root_values, self.own_pvalues, self.set_pvalues, self.asked)
        columns = zip(*parts, strict=True)
        values: dict[str, Any] = plain(
            {
                "lens": repr(self.asked[0].lens),
                "estimator": repr(self.asked[0].estimator.core),
                "n": self.asked[0].n,
                "models": [
                    {
                        "name": name,
                        "value": value,
                        "root": root,
                        "own_pvalue": own,
                        "set_pvalue": p,
                        "source": asked.source,
                    }
                    for name, value, root, own, p, asked in columns
                ],
                "pairs": [pair._asdict() for pair in self.pairs],
                "adjust": self.adjust,
                "n_resamples": self.n_resamples,
                "confidence_level": self.confidence_level,
                "confidence_set": list(self.confidence_set),
                "hypothesis": self.hypothesis,
                "notes": list(self.notes),
            }
        )
        return values

    def __str__(self) -> str:
        width = max(5, *map(len, self.names))
        columns = zip(self.names, self.values, self.root_values, self.own_pvalues, self.set_pvalues, strict=True)
        models = [
            f"  {name:{width}}  {number(value, *self.values):>10}  {number(root):>8}  {own:>6.3g}  {p:>5.3g}"
            for name, value, root, own, p in columns
        ]
        pairs = [
            f"  {pair.first} - {pair.second}: {number(pair.difference, *self.values)} (standard error "
            f"{number(pair.standard_error, *self.values)}"
            f"), p = {pair.pvalue:.3g}, adjusted {pair.adjusted:.3g}"
            for pair in self.pairs
        ]
        return "\n".join(
            [
                self.verdict,
                f"  {'model':{width}}  {'squared':>10}  {'root':>8}  {'own p':>6}  {'set p':>5}",
                *models,
                *pairs,
                f"  set        with {100 * self.confidence_level:g} % confidence the smallest error is among "
                f"{', '.join(self.confidence_set)} (model confidence set)",
                "  errors     squared, binned by each model's own cells, unbiased; own p: exact, of each model's "
                "calibration by itself",
                f"  adjusted   {_METHODS[self.adjust]}; p is the larger of a normal one and of twice the smaller own p",
                f"  null       {self.hypothesis}",
                f"  estimator  {self.asked[0].estimator!r}",
                *(f"  note       {note}" for note in self.notes),
            ]
        )

    __repr__ = __str__
