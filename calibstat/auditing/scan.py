"""For which variables is the model off?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calibstat.arrays import RNG, Floats, as_generator
from calibstat.auditing.cells import merge_levels
from calibstat.auditing.direction import is_top_label
from calibstat.auditing.groups import LeftOut
from calibstat.auditing.joint import (
    alpha,
    check_adjust,
    check_resamples,
    few_resamples,
)
from calibstat.auditing.levels import By, Levels, expect_sample
from calibstat.auditing.looking import look
from calibstat.auditing.measured_variables import MeasuredVariables, measure_variables
from calibstat.auditing.residual_sums import ResidualSums
from calibstat.auditing.scan_findings import CellFinding, VariableFinding
from calibstat.auditing.scan_result import VariableScan
from calibstat.binnings.base import Binning, Cells
from calibstat.binnings.equal_mass import EqualMass
from calibstat.checks import at_least_one
from calibstat.estimators.tally import TallyPlan
from calibstat.inference.arguments import check_lens
from calibstat.inference.estimation import level_between
from calibstat.lenses.base import Lens
from calibstat.lenses.canonical import Canonical
from calibstat.sample import Sample

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
    level_between(confidence_level)


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
