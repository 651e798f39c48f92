"""For which variables is the model off?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from calibstat.auditing._variables import MeasuredVariables, ResidualSums, measure_variables
from calibstat.auditing.groups import By, LeftOut, Levels, expect_sample, is_top_label, look, merge_levels, sign_words
from calibstat.auditing.joint import ADJUSTMENTS, alpha, check_adjust, check_resamples, few_resamples
from calibstat.binnings.base import Binning, Cells
from calibstat.binnings.intervals import EqualMass
from calibstat.data.arrays import RNG, Floats, as_generator
from calibstat.data.parameters import at_least_one
from calibstat.data.sample import Sample
from calibstat.estimators.tally import TallyPlan
from calibstat.inference.arguments import check_lens, check_share
from calibstat.inference.results import CONFIDENCE_LEVEL, frame, hang, layout, number_cell, pvalue_cell
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical

if TYPE_CHECKING:
    import pandas as pd

# A categorical variable with more levels (names of people, codes) is not a variable to scan.
MOST_LEVELS = 50
NULLS = ("weak", "strong")
RANKS = ("excess", "vece")


def scan_variables(
    sample: Sample,
    variables: By | None = None,
    *,
    lens: Lens | None = None,
    binning: Binning | Mapping[str, Binning] = EqualMass(10),
    null: str = "weak",
    rank_by: str = "excess",
    adjust: str = "max-t",
    min_expected: float = 10,
    missing: str = "raise",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: RNG = None,
) -> VariableScan:
    """Rank variables by their variable-based calibration error (Kelly & Smyth 2023), beside what noise alone gives.

    VECE is the mean absolute difference between what happened and what was predicted over cells of a variable. More
    cells have more noise, so variables are ranked by its excess over its mean under redrawn labels. All variables are
    evaluated on the same draws, and p-values adjusted on them.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    variables : str, iterable of str, or mapping, optional
        By default all of the sample; else names of these, or further columns by name.
    lens : Lens, optional
        Looked through first; the authors' measure is of `TopLabel()`.
    binning : Binning or mapping of str to Binning
        How numbers are cut; those with at most ten distinct values, and categories, are not.
    null : {"weak", "strong"}
        Which p-values are adjusted. "weak": no error on average at any value of the variable (see `Weak`, asymptotic).
        "strong": calibrated given the prediction and the variable (exact).
    rank_by : {"excess", "vece"}
        "vece" ranks by the raw value, as the authors do.
    adjust : {"max-t", "step-down", "holm", "fdr_bh"}
        As for `subgroup_audit`.
    min_expected : float
        Neighbouring cells are merged until each expects so many events and non-events; 0 leaves them.
    missing : {"raise", "level"}
    confidence_level : float
        With which all intervals cover together the errors in these cells.
    n_resamples : int
    rng : int, Generator or None

    Returns
    -------
    VariableScan

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.auditing.scan import scan_variables
    >>> rng = np.random.default_rng(0)
    >>> p, age, shoe = rng.random(2000), rng.uniform(20, 80, 2000), rng.uniform(30, 50, 2000)
    >>> happened = rng.random(2000) < np.clip(p - (age - 50) / 200, 0, 1)
    >>> found = scan_variables(cs.Sample(happened, p, variables={"shoe": shoe, "age": age}), rng=0)
    >>> [(each.variable, each.pvalue_adjusted <= 0.05) for each in found]
    [('age', True), ('shoe', False)]
    >>> found["age"].worst.level, found["age"].consistency
    ('20.01 to 25.79', 'mixed')
    """
    expect_sample(sample)
    _check(null, rank_by, adjust, confidence_level, n_resamples)
    lens = Canonical() if lens is None else check_lens(lens)
    asked = tuple(sample.predictions.variables) if variables is None else variables
    if variables is None and not asked:
        raise ValueError("the sample has no variables to scan; pass them as Sample(..., variables={name: values}).")
    cut, seen = look(sample, asked, lens, binning, missing, "variables")
    kept, left_out, notes = _usable(cut, seen, min_expected)
    level = alpha(confidence_level)
    check_resamples(adjust, len(kept), n_resamples, level)
    sums = ResidualSums(seen.predictions, kept)
    measured = measure_variables(sums, seen, adjust, confidence_level, n_resamples, as_generator(rng))
    findings = _findings(kept, seen, measured, measured.weak if null == "weak" else measured.strong)
    key = (lambda found: -found.vece) if rank_by == "vece" else (lambda found: -found.excess)
    notes += [measured.note, few_resamples(adjust, len(kept), n_resamples, level)]
    return VariableScan(
        variables=tuple(sorted(findings, key=key)),
        null=null,
        rank_by=rank_by,
        adjust=adjust,
        confidence_level=confidence_level,
        top_label=is_top_label(lens, seen),
        lens=lens,
        n=len(seen),
        n_resamples=n_resamples,
        left_out=tuple(left_out),
        notes=tuple(each for each in notes if each),
        source=seen.predictions.source,
    )


def _check(null: str, rank_by: str, adjust: str, confidence_level: float, n_resamples: int) -> None:
    check_adjust(adjust)
    at_least_one("n_resamples", n_resamples)
    if null not in NULLS:
        raise ValueError(f"null is {null!r}; it must be 'weak' or 'strong'.")
    if rank_by not in RANKS:
        raise ValueError(f"rank_by is {rank_by!r}; it must be 'excess' or 'vece'.")
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)


def _usable(cut: list[Levels], seen: Sample, min_expected: float) -> tuple[list[Levels], list[LeftOut], list[str]]:
    """Merge cells, and leave out variables that have one cell or far too many levels."""
    kept, left_out, merged = [], [], []
    for levels in cut:
        if levels.ends is None and levels.size > MOST_LEVELS:
            left_out.append(LeftOut(levels.variable, len(seen), f"has {levels.size} levels, more than {MOST_LEVELS}"))
            continue
        fewer = merge_levels(levels, seen.predictions, min_expected)
        if fewer.size == 1:
            why = "has one level" if levels.size == 1 else f"has one cell that expects {min_expected:g} of each outcome"
            left_out.append(LeftOut(levels.variable, len(seen), why))
            continue
        if fewer.size < levels.size:
            merged.append(f"{levels.variable} {fewer.size} of {levels.size}")
        kept.append(fewer)
    if not kept:
        shown = "; ".join(f"{each.name} {each.reason}" for each in left_out[:5])
        raise ValueError(f"there is no variable to scan: {shown}; pass others, or a smaller min_expected.")
    says = (
        f"cells that expect fewer than {min_expected:g} events or non-events are merged, and left: {', '.join(merged)}"
    )
    return kept, left_out, [says] if merged else []


def _findings(
    kept: list[Levels], seen: Sample, measured: MeasuredVariables, chosen: tuple[Floats, Floats]
) -> list[VariableFinding]:
    return [
        VariableFinding(
            variable=levels.variable,
            vece=float(measured.values[j]),
            null_mean=float(measured.null_means[j]),
            confidence_interval=measured.interval(j),
            pvalue_weak=float(measured.weak[0][j]),
            pvalue_strong=float(measured.strong[0][j]),
            pvalue_adjusted=float(chosen[1][j]),
            cells=_cells(levels, seen),
            worst_expected=float(measured.worst_expected[j]),
        )
        for j, levels in enumerate(kept)
    ]


def _cells(levels: Levels, seen: Sample) -> tuple[CellFinding, ...]:
    """Describe each cell: what was predicted, what happened, and the total variation between the two."""
    tally = TallyPlan(seen.predictions, Cells(levels.size, levels.index, "data"), ())(seen.outcomes)
    predicted, happened = tally.mean_prediction, tally.mean_outcome
    two = predicted.shape[-1] == 1
    errors = np.abs(happened - predicted).sum(axis=-1) / (1 if two else 2)
    counts = np.bincount(levels.index, minlength=levels.size)
    return tuple(
        CellFinding(
            level=name,
            n=int(counts[b]),
            mean_prediction=float(predicted[b, 0]) if two else np.nan,
            mean_outcome=float(happened[b, 0]) if two else np.nan,
            error=float(errors[b]),
        )
        for b, name in enumerate(levels.names)
    )


# What a scan of variables found: a frozen record that prints itself in words. Words never accept a null hypothesis.


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


# What a scan found for one variable, and in one of its cells.


@final
@dataclass(frozen=True)
class CellFinding:
    """A cell of a variable.

    Parameters
    ----------
    level : str
    n : int
    mean_prediction, mean_outcome : float
        NaN for more than two outcomes.
    error : float
        Absolute difference of the two (total variation for more outcomes): VCE in the words of Kelly & Smyth (2023).
    """

    level: str
    n: int
    mean_prediction: float
    mean_outcome: float
    error: float


@final
@dataclass(frozen=True)
class VariableFinding:
    """What was found for one variable.

    Parameters
    ----------
    variable : str
    vece : float
        Mean error over the cells, each counted by its weight.
    null_mean : float
        The same on redrawn labels, on average: what noise alone gives.
    confidence_interval : (float, float), optional
        For the error in these cells; all variables' cover together.
    pvalue_weak, pvalue_strong : float
        Of this variable by itself.
    pvalue_adjusted : float
        Of the null that was chosen, adjusted for all variables.
    cells : tuple of CellFinding
    worst_expected : float
        The largest error of a cell on redrawn labels, on average.
    """

    variable: str
    vece: float
    null_mean: float
    confidence_interval: tuple[float, float] | None
    pvalue_weak: float
    pvalue_strong: float
    pvalue_adjusted: float
    cells: tuple[CellFinding, ...]
    worst_expected: float

    @property
    def excess(self) -> float:
        """VECE minus its null mean."""
        return self.vece - self.null_mean

    @property
    def worst(self) -> CellFinding:
        """The cell of the largest error: v* in the words of the authors."""
        return max(self.cells, key=lambda cell: cell.error)

    @property
    def too_low(self) -> int:
        """In how many cells more happened than was predicted."""
        return sum(cell.mean_outcome > cell.mean_prediction for cell in self.cells)

    @property
    def too_high(self) -> int:
        """In how many cells less happened than was predicted."""
        return sum(cell.mean_outcome < cell.mean_prediction for cell in self.cells)

    @property
    def consistency(self) -> str:
        """Whether all cells are off in the same direction (Kelly & Smyth 2023, Definition 5.3), as observed.

        "over" where the prediction is at least the outcome in every cell, "under" for the opposite, else "mixed"; ""
        for more than two outcomes. If it is not "mixed", VECE is the difference of the means over all rows.
        """
        if any(cell.mean_outcome != cell.mean_outcome for cell in self.cells):
            return ""
        if not self.too_low:
            return "over"
        return "mixed" if self.too_high else "under"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; what is not known is None."""
        low, high = self.confidence_interval or (None, None)
        two = bool(self.consistency)
        return {
            "variable": self.variable,
            "vece": self.vece,
            "null_mean": self.null_mean,
            "excess": self.excess,
            "low": low,
            "high": high,
            "pvalue_weak": self.pvalue_weak,
            "pvalue_strong": self.pvalue_strong,
            "pvalue_adjusted": self.pvalue_adjusted,
            "n_cells": len(self.cells),
            "worst": self.worst.level,
            "worst_n": self.worst.n,
            "worst_error": self.worst.error,
            "worst_expected": self.worst_expected,
            "worst_mean_prediction": self.worst.mean_prediction if two else None,
            "worst_mean_outcome": self.worst.mean_outcome if two else None,
            "consistency": self.consistency or None,
        }
