"""For which variables is the model off?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import sparse
from calibstat._text import counted, percent
from calibstat.auditing.findings import Findings, found_in, interval_cell, means_text
from calibstat.auditing.groups import By, LeftOut, Levels, is_top_label, look, merge_levels, sign_words
from calibstat.auditing.joint import check_options, check_resamples, joint_intervals
from calibstat.auditing.pooled_groups import ROWS
from calibstat.binnings.base import Binning, Cells
from calibstat.binnings.intervals import EqualMass
from calibstat.data.arrays import RNG, Array, Floats, as_generator
from calibstat.data.parameters import CONFIDENCE_LEVEL, LEVEL, check_kind
from calibstat.data.sample import Predictions, Sample
from calibstat.draws.group_sums import ENOUGH, Layout, Partition, label_sums, sign_sums
from calibstat.draws.streams import replicate
from calibstat.estimators.base import Capabilities, Estimator, Evaluator, ResidualForm
from calibstat.estimators.tally import TallyPlan, ratio
from calibstat.inference.arguments import check_lens, check_null, check_sample
from calibstat.inference.forest import Forest, ForestRow
from calibstat.inference.multiplicity import Adjust, Standardize, joint_test, with_enough
from calibstat.inference.results import RowCounts, number_cell, picked, pvalue_cell, small_pvalue
from calibstat.lenses.base import Lens
from calibstat.nulls.base import Null, mean_of_known
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.multiplier import Weak

_SUMS = (
    f"sums over cells are drawn, from their joint normal law where a cell expects at least {ENOUGH} events and as many "
    "non-events"
)
# A categorical variable with more levels than this (names of people, codes) is not scanned.
MOST_LEVELS = 50


def scan_variables(
    sample: Sample,
    variables: By | None = None,
    *,
    lens: Lens | None = None,
    binning: Binning | Mapping[str, Binning] = EqualMass(10),
    rank_by: str = "excess",
    min_expected: float = 10,
    missing: str = "raise",
    null: Null | str | None = "weak",
    adjust: Adjust = "max-t",
    standardize: Standardize = "moments",
    level: float = LEVEL,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int | None = None,
    rng: RNG = None,
) -> VariableScan:
    """Rank variables by their variable-based calibration error (Kelly & Smyth 2023), beside what noise alone gives.

    VECE is the mean absolute difference between mean outcome and mean prediction over cells of a variable. More cells
    have more noise, so variables are ranked by the excess of VECE over its mean under redrawn labels. All variables are
    evaluated on the same draws, on which p-values are adjusted.

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
    rank_by : {"excess", "vece"}
        "vece" ranks by the raw value, as the authors do.
    min_expected : float
        Neighbouring cells are merged until each expects this many events and non-events; 0 merges none.
    missing : {"raise", "level"}
    null : Null or {"weak", "strong"}
        Which p-values are adjusted. "weak", or a `Weak`: no error on average at any value of the variable
        (asymptotic). "strong", or a `Consistency`: calibrated given the prediction and the variable (exact). An object
        brings its `n_resamples`, and a `Weak` its `min_expected`.
    adjust : {"max-t", "step-down", "holm", "fdr_bh", "fdr_by"}
        As for `subgroup_audit`.
    standardize : {"moments", "ranks", "none"}
        As for `multiple_test`.
    level : float
        At which variables are rejected.
    confidence_level : float
        Simultaneous confidence level of the intervals for the errors in these cells.
    n_resamples : int, optional
        Of each kind, by default 999; where `null` is an object, that says it.
    rng : int, Generator or None

    Returns
    -------
    VariableScan

    Raises
    ------
    ValueError, TypeError
        If an argument is not as described, or no variable has two cells that expect enough of each outcome.

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
    check_sample(sample)
    check_options(adjust, standardize, level, confidence_level)
    check_kind("rank_by", rank_by, Literal["excess", "vece"])
    chosen, weak = _null(null, n_resamples, min_expected)
    lens = check_lens(lens)
    asked = tuple(sample.predictions.variables) if variables is None else variables
    if variables is None and not asked:
        raise ValueError("the sample has no variables to scan; pass them as Sample(..., variables={name: values}).")
    cut, seen = look(sample, asked, lens, binning, missing, "variables")
    kept, left_out, notes = _usable(cut, seen, weak.min_expected)
    # One draw serves both nulls, so that they draw equally often.
    strong = None if chosen is weak else chosen
    weak, more = with_enough(weak, null, len(kept), adjust, level, len(seen))
    chosen = weak if strong is None else with_enough(strong, null, len(kept), adjust, level, len(seen))[0]
    notes += [*more, check_resamples(adjust, len(kept), weak.n_resamples, level)]
    options = (strong is None, adjust, standardize, confidence_level, as_generator(rng))
    found, said = _measured(kept, seen, weak, *options)
    return VariableScan(
        variables=tuple(sorted(found, key=lambda each: -each.vece if rank_by == "vece" else -each.excess)),
        null=chosen,
        rank_by=rank_by,
        adjust=adjust,
        level=level,
        confidence_level=confidence_level,
        top_label=is_top_label(lens, seen),
        lens=lens,
        n=len(seen),
        n_resamples=weak.n_resamples,
        left_out=tuple(left_out),
        notes=tuple(each for each in [*notes[:-1], *said, notes[-1]] if each),
        source=seen.predictions.source,
        counts=RowCounts.of(seen, min(_plan(each, seen).fewest(seen.outcomes) for each in kept)),
    )


def _null(null: Null | str | None, n_resamples: int | None, min_expected: float) -> tuple[Null, Weak]:
    """Return the null of the adjusted p-values, and the weak null by which both kinds of noise are drawn."""
    chosen = check_null(null, n_resamples, "weak", min_expected=min_expected)
    if isinstance(chosen, Weak) and chosen.groups is None:
        return chosen, chosen
    if isinstance(chosen, Consistency) and not chosen.resample_predictions:
        return chosen, Weak(chosen.n_resamples, min_expected=min_expected)
    raise ValueError(
        f"null is {null!r}, but a scan looks at labels drawn anew and signs of rows together: it must be 'weak' or "
        "'strong', or a null of these: Weak() without groups, or Consistency() with the predictions kept."
    )


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


def _measured(
    kept: list[Levels],
    seen: Sample,
    weak: Weak,
    of_weak: bool,  # whether p-values of the weak null are adjusted, or those of the strong one
    adjust: str,
    standardize: str,
    confidence_level: float,
    rng: np.random.Generator,
) -> tuple[list[VariableFinding], list[str]]:
    """Evaluate all variables on the data, on redrawn labels and on random signs; with what the result is to note."""
    estimator = _OfVariables(tuple(kept))
    evaluator = estimator.prepare(seen.predictions)
    values = evaluator(seen.outcomes)[:, 0]
    # One draw of labels and one of signs serve both nulls.
    in_sums = _may_add_up(seen.predictions)
    draw = evaluator.drawn if in_sums else partial(_drawn_by_rows, estimator, evaluator)
    redraws, signs = draw(seen, weak, rng)
    kinds, means = [redraws[..., 0], signs[..., 0]], mean_of_known(redraws)
    strong, both = (joint_test(values, each, adjust, standardize) for each in (kinds[:1], kinds))
    intervals, note = joint_intervals(values, kinds, confidence_level, largest=1.0)
    adjusted = (both if of_weak else strong).adjusted
    findings = [
        VariableFinding(
            variable=levels.variable,
            vece=float(values[j]),
            null_mean=float(means[j, 0]),
            confidence_interval=intervals[j],
            pvalue_weak=float(both.pvalues[j]),
            pvalue_strong=float(strong.pvalues[j]),
            pvalue_adjusted=float(adjusted[j]),
            cells=_cell_findings(levels, seen),
            worst_expected=float(means[j, 1]),
        )
        for j, levels in enumerate(kept)
    ]
    notes = [_SUMS] if in_sums else []
    return findings, [*notes, note]


def _may_add_up(predictions: Predictions) -> bool:
    """Whether sums over cells are drawn instead of rows: of many rows without weights, for two outcomes."""
    return (
        len(predictions) >= ROWS and predictions.n_classes == 2 and predictions.weights is None and predictions.is_law
    )


def _drawn_by_rows(
    estimator: _OfVariables, evaluator: VariableErrors, seen: Sample, weak: Weak, rng: np.random.Generator
) -> list[Floats]:
    return [each.samples for each in weak.draw(estimator, seen, rng, evaluator).replicates]


def _cell_findings(levels: Levels, seen: Sample) -> tuple[CellFinding, ...]:
    """Describe each cell: what was predicted, what happened, and the total variation between the two."""
    tally = _plan(levels, seen)(seen.outcomes)
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


def _plan(levels: Levels, seen: Sample) -> TallyPlan:
    """Add up over the cells of a variable."""
    return TallyPlan(seen.predictions, Cells(levels.size, levels.index, "data"), ())


# The errors of all variables as one estimator, whose numbers a null draws together.


@final
@dataclass(frozen=True, eq=False)
class _OfVariables(Estimator):
    """The mean and the largest error over the cells of each variable, given these cells."""

    variables: tuple[Levels, ...]
    quantity: ClassVar[str] = "variable-based calibration errors"
    residual_form: ClassVar[ResidualForm] = "seminorm"

    def prepare(self, predictions: Predictions) -> VariableErrors:
        """Make the table that adds up residuals."""
        return VariableErrors(predictions, self.variables)


# Sums of residuals over the cells of many variables at once, for all replicates of a block by one sparse product.


@final
class VariableErrors(Evaluator):
    """`ECE` and `MaximumMiscalibration` over the cells of each of V variables, (V, 2)."""

    def __init__(self, predictions: Predictions, variables: Sequence[Levels]) -> None:
        n = len(predictions)
        self.shape = (len(variables), 2)
        self.predictions, self.variables = predictions, variables
        self.weights = np.ones(n) if predictions.weights is None else predictions.weights
        self.starts = np.concatenate([[0], np.cumsum([each.size for each in variables])[:-1]]).astype(np.intp)
        rows = np.concatenate([each.index + start for each, start in zip(variables, self.starts, strict=True)])
        cells = int(rows.max()) + 1
        columns = np.tile(np.arange(n), len(variables))
        self.table = sparse.csr_array((np.tile(self.weights, len(variables)), (rows, columns)), shape=(cells, n))
        self.mass = self.table @ np.ones(n)

    def residuals(self, outcomes: Array) -> Floats:
        """Return outcome - prediction of each component: (..., n) -> (c, ..., n)."""
        first = 1 if self.predictions.n_classes == 2 else 0
        return np.stack([(outcomes == first + k) - column for k, column in enumerate(self.predictions.components.T)])

    def drawn(self, seen: Sample, weak: Weak, rng: np.random.Generator) -> list[Floats]:
        """Evaluate redrawn labels and centred signs (R, V, 2) by their sums over cells, without weights."""
        event = seen.predictions.event
        every = Partition(np.zeros(len(seen), dtype=np.intp), 1)  # all rows, whose signs have the mean zero
        layout = Layout([every, *(Partition(each.index, each.size) for each in self.variables)])
        signs = sign_sums(layout, seen.outcomes - event, None, np.zeros(layout.size, dtype=np.intp))
        return [
            replicate(lambda sums: self.of_sums(sums[:, 0, 1:][None]), *(draw, weak.n_resamples, numbers, rng))
            for draw, numbers in (label_sums(layout, event, None), signs)
        ]

    def sums(self, residuals: Floats) -> Floats:
        """Return weighted sums over cells of residuals (c, R, n): (c, R, L)."""
        return np.stack([np.ascontiguousarray((self.table @ each.T).T) for each in residuals])

    def errors(self, residuals: Floats) -> Floats:
        """Return the mean and the largest error of each variable, of residuals (c, R, n): (R, V, 2)."""
        return self.of_sums(self.sums(residuals))

    def of_sums(self, sums: Floats) -> Floats:
        """Return the same of sums over cells (c, R, L)."""
        factor = 1.0 if len(sums) == 1 else 0.5
        gaps = factor * np.abs(sums).sum(axis=0)
        mean = np.add.reduceat(gaps, self.starts, axis=1) / self.weights.sum()
        return np.stack([mean, np.maximum.reduceat(ratio(gaps, self.mass), self.starts, axis=1)], axis=-1)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:  # noqa: ARG002
        """Evaluate labels (..., n): (..., V, 2)."""
        errors = self.errors(self.residuals(np.atleast_2d(outcomes)))
        return errors.reshape((*outcomes.shape[:-1], *self.shape))

    def _signed(self, outcomes: Array, signs: Array) -> Floats:
        return self.errors(self.residuals(outcomes)[:, None] * signs)

    @property
    def capabilities(self) -> Capabilities:
        """Residuals times signs, by the same sums."""
        return Capabilities(signed=self._signed)


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
    """The finding for one variable.

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
    def name(self) -> str:
        """The variable."""
        return self.variable

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
        two, worst = bool(self.consistency), self.worst
        return {
            **picked(self, "variable vece null_mean excess"),
            "low": low,
            "high": high,
            **picked(self, "pvalue_weak pvalue_strong pvalue_adjusted"),
            "n_cells": len(self.cells),
            "worst": worst.level,
            "worst_n": worst.n,
            "worst_error": worst.error,
            "worst_expected": self.worst_expected,
            "worst_mean_prediction": worst.mean_prediction if two else None,
            "worst_mean_outcome": worst.mean_outcome if two else None,
            "consistency": self.consistency or None,
        }


@final
@dataclass(frozen=True, eq=False, repr=False)
class VariableScan(Findings[VariableFinding]):
    """The result of `scan_variables`.

    Parameters
    ----------
    adjust, level, confidence_level, n, n_resamples, left_out, notes, source, counts
        As for all `Findings`.
    variables : tuple of VariableFinding
        In order of rank: the largest excess (or VECE) first.
    null : Null
        Of the adjusted p-values.
    rank_by : str
    top_label : bool
        Whether the event is that the top label is right.
    lens : Lens
    """

    variables: tuple[VariableFinding, ...]
    null: Null
    rank_by: str
    top_label: bool
    lens: Lens

    _display: ClassVar[str] = "AuditDisplay"
    _row: ClassVar[str] = "variable"
    _text_columns: ClassVar[tuple[int, ...]] = (0, 5, 8)

    @property
    def _findings(self) -> tuple[VariableFinding, ...]:
        return self.variables

    @property
    def weak(self) -> bool:
        """Whether the adjusted p-values are of the weak null."""
        return isinstance(self.null, Weak)

    @property
    def rejected(self) -> list[VariableFinding]:
        """The variables with evidence at the level, in order of rank."""
        return [found for found in self.variables if found.pvalue_adjusted <= self.level]

    @property
    def hypothesis(self) -> str:
        """The null of the adjusted p-values."""
        if self.weak:
            return (
                f"given each variable alone, the mean of outcome - prediction seen through {self.lens!r} is zero (weak "
                "null); the larger p of redrawn labels and of centred random signs (asymptotic)"
            )
        return (
            f"given the prediction and each variable, the outcome seen through {self.lens!r} follows the prediction "
            f"(strong null); labels drawn from the predictions, which are kept{'' if self._in_sums else ' (exact)'}"
        )

    @property
    def _in_sums(self) -> bool:
        return _SUMS in self.notes

    @property
    def verdict(self) -> str:
        """Say for how many variables there is evidence of an error, and which comes first; or that there is none."""
        m, rejected = len(self.variables), self.rejected
        kind = "error on average at some value (weak null)" if self.weak else "error (strong null)"
        where = f"through {self.lens!r} (n = {self.n}, {self.n_resamples} redraws)"
        if not rejected:
            smallest = pvalue_cell(min(found.pvalue_adjusted for found in self.variables), self.level)
            none = self._not_rejected(
                "That there is no error on average at any value (the weak null)" if self.weak else "The strong null"
            )
            return f"{none} for any of {m} variables {where}; smallest adjusted p = {smallest}."
        first = rejected[0]
        worst = first.worst
        means = ""
        if first.consistency:
            signs = sign_words(worst.mean_outcome - worst.mean_prediction, self.top_label)
            means = f": {signs} ({means_text(worst.mean_prediction, worst.mean_outcome)})"
        return (
            f"Evidence of an {kind} at {percent(self.level)} for {len(rejected)} of {m} variables {where}. First: "
            f"{first.variable}, VECE {first.vece:.4f} where {first.null_mean:.4f} is expected of noise; worst at "
            f"{worst.level}{means}."
        )

    def forest(self) -> Forest:
        """Return the variables as rows of a forest plot, in order of evidence."""
        found = sorted(self.variables, key=lambda each: (each.pvalue_adjusted, -each.excess))
        first, rejected = found[0], len(self.rejected)
        smallest = small_pvalue(first.pvalue_adjusted, level=self.level)
        most = (
            f"most along {first.name}, worst at {first.worst.level}" if rejected else f"smallest adjusted p {smallest}"
        )
        return Forest(
            tuple(
                ForestRow(
                    each.name,
                    each.vece,
                    each.confidence_interval,
                    (0.0, each.null_mean),
                    each.pvalue_adjusted <= self.level,
                    each.worst.level,
                )
                for each in found
            ),
            answer=(found_in(rejected, len(self), "variable").replace("off in", "off along"), most),
            axis="mean error over cells of the variable",
            **self._forest_words("variables", "worst at"),
        )

    def _asked(self) -> dict[str, Any]:
        return {"lens": repr(self.lens), "null": "weak" if self.weak else "strong", "rank_by": self.rank_by}

    def _table(self) -> list[list[str]]:
        header = ["variable", "VECE", "expected", "interval", "adjusted p", "worst at", "error", "expected", "observed"]
        rows = [
            [
                found.variable,
                number_cell(found.vece),
                number_cell(found.null_mean),
                interval_cell(found.confidence_interval),
                self._pvalue_cell(found),
                found.worst.level,
                number_cell(found.worst.error),
                number_cell(found.worst_expected),
                self._direction(found),
            ]
            for found in self.variables
        ]
        return [header, *rows]

    def _details(self) -> list[tuple[str, str]]:
        vece = "mean |happened - predicted| over cells of the variable (binned); expected: what noise alone gives"
        rank = "VECE - expected" if self.rank_by == "excess" else "VECE, as Kelly & Smyth (2023) do"
        worst = "the cell of the largest error, beside the largest that noise alone gives on average"
        above = [("VECE", vece), ("rank", f"by {rank}"), ("worst", worst)]
        return self._details_after(above, "these cells", self.variables[0].confidence_interval is not None)

    def _direction(self, found: VariableFinding) -> str:
        """Say whether all cells are off in the same direction, as observed."""
        high, low = (sign_words(sign, self.top_label).removeprefix("predicts ") for sign in (-1, 1))
        if found.consistency in ("", "mixed"):
            return found.consistency and f"{high} in {found.too_high} of {counted(len(found.cells), 'cell')}"
        return f"consistently {high if found.consistency == 'over' else low}"
