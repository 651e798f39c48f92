"""For which variables is the model off?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import sparse
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
    LeftOut,
    Levels,
    Means,
    is_top_label,
    look,
    means_of_groups,
    merge_levels,
    sign_words,
)
from calibstat.auditing.joint import check_options, check_resamples, joint_intervals
from calibstat.auditing.pooled_groups import ROWS
from calibstat.binnings.base import Binning, Cells
from calibstat.binnings.intervals import EqualMass
from calibstat.data.arrays import RNG, Array, Floats, as_generator
from calibstat.data.groups import ClusterCount
from calibstat.data.parameters import CONFIDENCE_LEVEL, LEVEL, check_kind
from calibstat.data.sample import Predictions, Sample
from calibstat.draws.group_sums import ENOUGH, Layout, Partition, label_sums, sign_sums
from calibstat.draws.streams import replicate
from calibstat.estimators.base import Capabilities, Estimator, Evaluator, ResidualForm, all_weights, is_chances
from calibstat.estimators.tally import TallyPlan, ratio
from calibstat.inference.arguments import check_lens, check_null, check_sample
from calibstat.inference.direction import Direction, direction_of
from calibstat.inference.forest import Forest, ForestRow
from calibstat.inference.intervals import cluster_error, normal_pvalue
from calibstat.inference.multiplicity import Adjust, JointTest, Standardize, joint_test, with_enough
from calibstat.inference.results import RowCounts, picked, small_pvalue
from calibstat.inference.tails import about_cells, about_detail, adjusted_tails, beyond, cells_tail
from calibstat.lenses.base import Lens
from calibstat.lenses.words import in_words
from calibstat.nulls.base import Null, mean_of_known
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.multiplier import Weak

_SUMS = (
    f"sums over cells are drawn, from their joint normal law where a cell expects at least {ENOUGH} events and as many "
    "non-events"
)
# A categorical variable with more levels than this (names of people, codes) is not scanned.
MOST_LEVELS = 50


@one_bar
def scan_variables(
    sample: Sample,
    variables: By | None = None,
    *,
    lens: Lens | None = None,
    binning: Binning | Mapping[str, Binning] = EqualMass(10),
    rank_by: str = "varying",
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
    """Rank variables by how much the error of the model varies along them, beside what noise alone gives.

    VECE is the mean absolute difference between mean outcome and mean prediction over cells of a variable (Kelly &
    Smyth 2023). A model that errs in one direction has the same VECE for all variables: its overall bias. So that bias
    is stated once, and variables are ranked by the mean difference that is left in their cells when it is taken off.
    More cells have more noise, of which the mean under redrawn labels is subtracted. All variables are evaluated on the
    same draws, on which p-values are adjusted.

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
    rank_by : {"varying", "excess", "vece"}
        "varying" ranks by what is left beyond the overall bias and noise, "excess" by VECE beyond noise, and "vece" by
        the raw value, as the authors do. The text is about what ranks.
    min_expected : float
        Neighbouring cells are merged until each expects this many events and non-events; 0 merges none.
    missing : {"raise", "level"}
    null : Null or {"weak", "strong"}
        Of which null the p-values of VECE are adjusted. "weak", or a `Weak`: no error on average at any value of the
        variable (asymptotic). "strong", or a `Consistency`: calibrated given the prediction and the variable (exact).
        An object brings its `n_resamples`, and a `Weak` its `min_expected`.
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
    check_kind("rank_by", rank_by, Literal["varying", "excess", "vece"])
    chosen, weak = _null(null, n_resamples, min_expected, sample)
    lens = check_lens(lens)
    asked = tuple(sample.known.variables) if variables is None else variables
    if variables is None and not asked:
        raise ValueError("the sample has no variables to scan; pass them as Sample(..., variables={name: values}).")
    cut, seen = look(sample, asked, lens, binning, missing, "variables", reads=lambda _: True)
    kept, left_out, merged = _usable(cut, seen, weak.min_expected)
    # One draw serves both nulls, so that they draw equally often.
    strong = None if chosen is weak else chosen
    weak, more = with_enough(weak, null, len(kept), adjust, level, len(seen))
    chosen = weak if strong is None else with_enough(strong, null, len(kept), adjust, level, len(seen))[0]
    options = (strong is None, adjust, standardize, confidence_level, as_generator(rng))
    found, note, how = _measured(kept, seen, weak, *options)
    clusters = None if seen.groups is None else seen.groups.counted(seen.predictions.weights)
    within = "" if clusters is None else str(clusters)
    notes = (check_resamples(adjust, len(kept), weak.n_resamples, level), *more, note, within)
    means = means_of_groups(Layout([Partition(np.zeros(len(seen), dtype=np.intp), 1)]), seen)[0]
    return VariableScan(
        variables=tuple(sorted(found, key=lambda each: -_RANKS[rank_by](each))),
        mean_prediction=means.predicted,
        mean_outcome=means.happened,
        pvalue_overall=_pvalue_overall(means, seen),
        null=chosen,
        rank_by=rank_by,
        adjust=adjust,
        level=level,
        confidence_level=confidence_level,
        top_label=is_top_label(lens, seen),
        lens=lens,
        n=seen.predictions.n_rows,
        n_resamples=weak.n_resamples,
        left_out=tuple(left_out),
        notes=tuple(filter(None, (sample.hint, *notes))),
        how=tuple(filter(None, (merged, how))),
        source=seen.predictions.source,
        counts=RowCounts.of(seen, min(_plan(each, seen).fewest(seen.outcomes) for each, _ in kept)),
        what=in_words(lens, sample.labels, sample.known.seen),
        overall=direction_of(seen),
        clusters=clusters,
    )


def _pvalue_overall(means: Means, seen: Sample) -> float:
    """Return the two-sided p-value of no error over all rows: normal, the larger variance of labels and residuals.

    Of rows in clusters it is by sums of residuals over these, with Student's law.
    """
    if seen.predictions.n_classes != 2:
        return np.nan
    mass = all_weights(seen.predictions, None)
    spread = mass * (seen.outcomes - seen.predictions.event - means.residual) / mass.sum()
    if (groups := seen.groups) is not None:
        error, freedom = cluster_error(groups.sums(spread), groups.sums(mass))
        return normal_pvalue(means.residual, error, means.predicted, freedom)
    error = float(np.sqrt((spread**2 / seen.predictions.multiplicity).sum()))
    return normal_pvalue(means.residual, max(means.standard_error, error), means.predicted)


def _null(null: Null | str | None, n_resamples: int | None, min_expected: float, sample: Sample) -> tuple[Null, Weak]:
    """Return the null of the adjusted p-values, and the weak null by which both kinds of noise are drawn.

    Of rows in clusters it is the same: no null takes these as independent.
    """
    chosen = check_null(null, n_resamples, "weak", min_expected=min_expected)
    if isinstance(chosen, Weak):
        return chosen, chosen
    if isinstance(chosen, Consistency) and not chosen.resample_predictions:
        weak = Weak(chosen.n_resamples, min_expected=min_expected)
        return (chosen if sample.groups is None else weak), weak
    raise ValueError(
        f"null is {null!r}, but a scan looks at labels drawn anew and signs of rows together: it must be 'weak' or "
        "'strong', or a null of these: Weak(), or Consistency() with the predictions kept."
    )


def _usable(
    cut: list[Levels], seen: Sample, min_expected: float
) -> tuple[list[tuple[Levels, Levels]], list[LeftOut], str]:
    """Pair merged cells with the levels that they are of; leave out variables of one cell or of far too many levels."""
    n, kept, left_out, merged = seen.predictions.n_rows, [], [], []
    for levels in cut:
        if levels.ends is None and levels.size > MOST_LEVELS:
            left_out.append(LeftOut(levels.variable, n, f"has {levels.size} levels, more than {MOST_LEVELS}"))
            continue
        fewer = merge_levels(levels, seen.predictions, min_expected)
        if fewer.size == 1:
            why = f"cannot be cut into two cells of at least {min_expected:g} expected events and as many non-events"
            why = "has one level" if levels.size == 1 else why
            left_out.append(LeftOut(levels.variable, n, why))
            continue
        if fewer.size < levels.size:
            merged.append(f"{levels.variable} {fewer.size} of {levels.size}")
        kept.append((fewer, levels))
    if not kept:
        shown = "; ".join(f"{each.name} {each.reason}" for each in left_out[:5])
        raise ValueError(f"there is no variable to scan: {shown}; pass others, or a smaller min_expected.")
    says = (
        f"cells that expect fewer than {min_expected:g} events or non-events are merged, and left: {', '.join(merged)}"
    )
    return kept, left_out, says if merged else ""


def _measured(
    kept: list[tuple[Levels, Levels]],  # merged cells, and the levels that they are of
    seen: Sample,
    weak: Weak,
    of_weak: bool,  # whether p-values of the weak null are adjusted, or those of the strong one
    adjust: str,
    standardize: str,
    confidence_level: float,
    rng: np.random.Generator,
) -> tuple[list[VariableFinding], str, str]:
    """Evaluate all variables on the data, on redrawn labels and on random signs; with what the result is to note."""
    estimator = _OfVariables(tuple(fewer for fewer, _ in kept))
    evaluator = estimator.prepare(seen.predictions)
    values, _, varying = evaluator(seen.outcomes).T
    # One draw of labels and one of signs serve all nulls.
    in_sums = _may_add_up(seen.predictions)
    draw = evaluator.drawn if in_sums else partial(_drawn_by_rows, estimator, evaluator)
    drawn = draw(seen, weak, rng)
    means = mean_of_known(drawn[0])
    kinds, kinds_varying = ([each[..., which] for each in drawn] for which in (0, 2))
    strong, both = (joint_test(values, each, adjust, standardize) for each in (kinds[:1], kinds))
    along = joint_test(varying, kinds_varying, adjust, standardize)
    intervals, note = joint_intervals(values, kinds, confidence_level, largest=1.0)
    intervals_varying, _ = joint_intervals(varying, kinds_varying, confidence_level, largest=1.0)
    tested, n_resamples = both if of_weak else strong, len(drawn[0])

    def tails_of(test: JointTest, found: Floats, without_bias: bool) -> Sequence[float | None]:
        def tail(j: int) -> float | None:
            if seen.groups is not None:
                return None
            return cells_tail(seen, kept[j][0].index, float(found[j]), without_bias=without_bias)

        return adjusted_tails(beyond(test.pvalues, n_resamples, tail), test.pvalues, test.pvalues_adjusted, adjust)

    tails, tails_varying = tails_of(tested, values, False), tails_of(along, varying, True)
    findings = []
    for j, (fewer, levels) in enumerate(kept):
        cells = _cell_findings(fewer, seen)
        findings.append(
            VariableFinding(
                variable=levels.variable,
                varying=float(varying[j]),
                varying_null_mean=float(means[j, 2]),
                varying_interval=intervals_varying[j],
                pvalue_varying=float(along.pvalues[j]),
                pvalue_varying_adjusted=float(along.pvalues_adjusted[j]),
                tail_varying=tails_varying[j],
                vece=float(values[j]),
                null_mean=float(means[j, 0]),
                confidence_interval=intervals[j],
                pvalue_weak=float(both.pvalues[j]),
                pvalue_strong=float(strong.pvalues[j]),
                pvalue_adjusted=float(tested.pvalues_adjusted[j]),
                tail=tails[j],
                cells=cells,
                worst=_worst(cells, fewer, levels, seen),
                worst_expected=float(means[j, 1]),
            )
        )
    return findings, note, _SUMS if in_sums else ""


def _worst(cells: Sequence[CellFinding], fewer: Levels, levels: Levels, seen: Sample) -> CellFinding:
    """Return the cell of the largest error; if it is several levels, the one whose error times rows is largest."""
    place = max(range(len(cells)), key=lambda b: cells[b].error)
    inside = np.unique(levels.index[fewer.index == place])
    if len(inside) == 1:
        return cells[place]
    each = _cell_findings(levels, seen)
    return max((each[level] for level in inside), key=lambda cell: cell.n * cell.error)


def _may_add_up(predictions: Predictions) -> bool:
    """Whether sums over cells are drawn instead of rows: of many rows without weights, for two outcomes."""
    return (
        predictions.n_rows >= ROWS
        and predictions.n_classes == 2
        and predictions.unweighted
        and predictions.groups is None
        and predictions.is_law
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
    counts = np.bincount(levels.index, seen.predictions.counts, levels.size)
    return tuple(
        CellFinding(
            level=name,
            n=round(counts[b]),
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
    """The mean and the largest error over the cells of each variable, and what varies of it, given these cells."""

    variables: tuple[Levels, ...]
    quantity: ClassVar[str] = "variable-based calibration errors"
    residual_form: ClassVar[ResidualForm] = "seminorm"

    def prepare(self, predictions: Predictions) -> VariableErrors:
        """Make the table that adds up residuals."""
        return VariableErrors(predictions, self.variables)


# Sums of residuals over the cells of many variables at once, for all replicates of a block by one sparse product.


@final
class VariableErrors(Evaluator):
    """`ECE` and `MaximumMiscalibration` over the cells of each of V variables, and the first without bias: (V, 3)."""

    def __init__(self, predictions: Predictions, variables: Sequence[Levels]) -> None:
        n = len(predictions)
        self.shape = (len(variables), 3)
        self.predictions, self.variables = predictions, variables
        self.weights = np.ones(n) if predictions.weights is None else predictions.weights
        self.starts = np.concatenate([[0], np.cumsum([each.size for each in variables])[:-1]]).astype(np.intp)
        rows = np.concatenate([each.index + start for each, start in zip(variables, self.starts, strict=True)])
        cells = int(rows.max()) + 1
        columns = np.tile(np.arange(n), len(variables))
        self.table = sparse.csr_array((np.tile(self.weights, len(variables)), (rows, columns)), shape=(cells, n))
        self.mass = self.table @ np.ones(n)

    def residuals(self, outcomes: Array) -> Floats:
        """Return outcome - prediction of each component: labels (..., n), or shares (..., n, K), -> (c, ..., n)."""
        first = 1 if self.predictions.n_classes == 2 else 0
        columns, shares = self.predictions.components.T, is_chances(outcomes)
        hits = (outcomes[..., first + k] if shares else outcomes == first + k for k in range(len(columns)))
        return np.stack([hit - column for hit, column in zip(hits, columns, strict=True)])

    def drawn(self, seen: Sample, weak: Weak, rng: np.random.Generator) -> list[Floats]:
        """Evaluate redrawn labels and centred signs (R, V, 3) by their sums over cells, of rows of equal weight."""
        event, counts = seen.predictions.event, seen.predictions.counts
        every = Partition(np.zeros(len(seen), dtype=np.intp), 1)  # all rows, whose signs have the mean zero
        layout = Layout([every, *(Partition(each.index, each.size) for each in self.variables)])
        signs = sign_sums(layout, seen.outcomes - event, counts, np.zeros(layout.size, dtype=np.intp), counts)
        return [
            replicate(lambda sums: self.of_sums(sums[:, 0, 1:][None]), *(draw, weak.n_resamples, numbers, rng))
            for draw, numbers in (label_sums(layout, event, counts, counts), signs)
        ]

    def sums(self, residuals: Floats) -> Floats:
        """Return weighted sums over cells of residuals (c, R, n): (c, R, L)."""
        return np.stack([np.ascontiguousarray((self.table @ each.T).T) for each in residuals])

    def errors(self, residuals: Floats) -> Floats:
        """Return the errors of each variable, of residuals (c, R, n): (R, V, 3)."""
        return self.of_sums(self.sums(residuals))

    def of_sums(self, sums: Floats) -> Floats:
        """Return the same of sums over cells (c, R, L)."""
        total = self.weights.sum()
        bias = np.add.reduceat(sums, self.starts, axis=2) / total
        sizes = [each.size for each in self.variables]
        varying = self._gaps(sums - np.repeat(bias, sizes, axis=2) * self.mass)
        gaps = self._gaps(sums)
        mean, left = (np.add.reduceat(each, self.starts, axis=1) / total for each in (gaps, varying))
        largest = np.maximum.reduceat(ratio(gaps, self.mass), self.starts, axis=1)
        return np.stack([mean, largest, left], axis=-1)

    @staticmethod
    def _gaps(sums: Floats) -> Floats:
        """Return the total variation (R, L) in sums of residuals (c, R, L)."""
        return (1.0 if len(sums) == 1 else 0.5) * np.abs(sums).sum(axis=0)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:  # noqa: ARG002
        """Evaluate labels (..., n), or shares of them (..., n, K): (..., V, 3)."""
        residuals = self.residuals(outcomes)
        flat = residuals.reshape(len(residuals), -1, residuals.shape[-1])
        return self.errors(flat).reshape((*residuals.shape[1:-1], *self.shape))

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
    varying : float
        Mean error over the cells when the error over all rows is taken off: what varies along the variable.
    varying_null_mean : float
        The same on redrawn labels, on average: what noise alone gives.
    varying_interval : (float, float), optional
        For what varies over these cells; all variables' cover together.
    pvalue_varying, pvalue_varying_adjusted : float
        Of an error that is the same on average in all cells (asymptotic): of this variable by itself, and adjusted.
    tail_varying, tail : float, optional
        About how small the adjusted p-values are, where no redraw reaches the value and there are few cells.
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
        As they were tested, some of them merged.
    worst : CellFinding
        The cell of the largest error: v* in the words of the authors. Of merged levels, that with the largest error
        times rows.
    worst_expected : float
        The largest error of a cell on redrawn labels, on average.
    """

    variable: str
    varying: float
    varying_null_mean: float
    varying_interval: tuple[float, float] | None
    pvalue_varying: float
    pvalue_varying_adjusted: float
    tail_varying: float | None
    vece: float
    null_mean: float
    confidence_interval: tuple[float, float] | None
    pvalue_weak: float
    pvalue_strong: float
    pvalue_adjusted: float
    tail: float | None
    cells: tuple[CellFinding, ...]
    worst: CellFinding
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
    def varying_excess(self) -> float:
        """What varies beyond its null mean."""
        return self.varying - self.varying_null_mean

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
        varying_low, varying_high = self.varying_interval or (None, None)
        two, worst = bool(self.consistency), self.worst
        return {
            **picked(self, "variable varying varying_null_mean"),
            "varying_low": varying_low,
            "varying_high": varying_high,
            **picked(self, "pvalue_varying pvalue_varying_adjusted tail_varying vece null_mean excess"),
            "low": low,
            "high": high,
            **picked(self, "pvalue_weak pvalue_strong pvalue_adjusted tail"),
            "n_cells": len(self.cells),
            "worst": worst.level,
            "worst_n": worst.n,
            "worst_error": worst.error,
            "worst_expected": self.worst_expected,
            "worst_mean_prediction": worst.mean_prediction if two else None,
            "worst_mean_outcome": worst.mean_outcome if two else None,
            "consistency": self.consistency or None,
        }


_RANKS: dict[str, Callable[[VariableFinding], float]] = {
    "varying": lambda found: found.varying_excess,
    "excess": lambda found: found.excess,
    "vece": lambda found: found.vece,
}


@final
@dataclass(frozen=True, eq=False, repr=False)
class VariableScan(Findings[VariableFinding]):
    """The result of `scan_variables`.

    Parameters
    ----------
    adjust, level, confidence_level, n, n_resamples, left_out, notes, how, source, counts, what
        As for all `Findings`.
    variables : tuple of VariableFinding
        In order of rank, the largest first.
    mean_prediction, mean_outcome : float
        Over all rows: the overall bias. NaN for more than two outcomes.
    pvalue_overall : float
        Of no bias over all rows (normal approximation, of rows in clusters by sums over these).
    null : Null
        Of the adjusted p-values of VECE.
    rank_by : str
    top_label : bool
        Whether the event is that the top label is right.
    lens : Lens
    overall : Direction, optional
        What was predicted and what happened over all rows, with the slope; None for more than two outcomes.
    clusters : ClusterCount, optional
        Number of clusters, and how many of equal size would be as good, where the rows come in clusters.
    """

    variables: tuple[VariableFinding, ...]
    mean_prediction: float
    mean_outcome: float
    pvalue_overall: float
    null: Null
    rank_by: str
    top_label: bool
    lens: Lens
    overall: Direction | None = None
    clusters: ClusterCount | None = None

    _display: ClassVar[str] = "AuditDisplay"
    _row: ClassVar[str] = "variable"
    _text_columns: ClassVar[tuple[int, ...]] = (0, 6, 9)
    _spare_columns: ClassVar[tuple[int | tuple[int, ...], ...]] = (9, 2, 5, (7, 8), 3)

    @property
    def _findings(self) -> tuple[VariableFinding, ...]:
        return self.variables

    @property
    def weak(self) -> bool:
        """Whether the adjusted p-values of VECE are of the weak null."""
        return isinstance(self.null, Weak)

    @property
    def rejected(self) -> list[VariableFinding]:
        """The variables with evidence of an error, of whatever kind, at the level, in order of rank."""
        return [found for found in self.variables if found.pvalue_adjusted <= self.level]

    @property
    def varying(self) -> list[VariableFinding]:
        """The variables along which there is evidence that the error varies, at the level, in order of rank."""
        return [found for found in self.variables if found.pvalue_varying_adjusted <= self.level]

    @property
    def hypothesis(self) -> str:
        """The null of the adjusted p-values of VECE."""
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
        return _SUMS in self.how

    @property
    def _by_varying(self) -> bool:
        """Whether texts are about what varies along variables, rather than about VECE."""
        return self.rank_by == "varying"

    @property
    def _shown(self) -> list[VariableFinding]:
        return self.varying if self._by_varying else self.rejected

    def _judged(self, found: VariableFinding) -> tuple[float, float, tuple[float, float] | None, float]:
        """Return what ranks, its mean under the null, its interval and its adjusted p-value."""
        if self._by_varying:
            return found.varying, found.varying_null_mean, found.varying_interval, found.pvalue_varying_adjusted
        return found.vece, found.null_mean, found.confidence_interval, found.pvalue_adjusted

    def _tail(self, found: VariableFinding) -> float | None:
        """Return about how small the adjusted p-value of what ranks is, where no redraw reaches it."""
        return found.tail_varying if self._by_varying else found.tail

    @property
    def verdict(self) -> str:
        """Say along how many variables the error varies, and what the overall bias is; or that there is no evidence."""
        m, shown = len(self.variables), self._shown
        if not shown:
            return self._nothing_along(m)
        first = shown[0]
        value, _, ends, p = self._judged(first)
        size = f"by {value:.3g} on average" if self._by_varying else f"error {value:.3g}"
        beside = ([] if ends is None else [f"{ends[0]:.3g} to {ends[1]:.3g}"]) + [f"adjusted p {self._p(p)}"]
        does = "The error of {} varies" if self._by_varying else "{} is off"
        along = f"along {len(shown)} of {counted(m, 'variable')} at {percent(self.level)}"
        return sentence(
            f"{does.format(self.what)} {along}, most along {first.variable}: "
            f"{size} ({', '.join(beside)}), worst at {first.worst.level}{self._direction_there(first)}. {self._overall}"
        ).strip()

    def _p(self, pvalue: float) -> str:
        return small_pvalue(pvalue, level=self.level)

    def _direction_there(self, found: VariableFinding) -> str:
        worst = found.worst
        if not found.consistency:
            return ""
        signs = sign_words(worst.mean_outcome - worst.mean_prediction, self.top_label)
        return f": {signs} ({means_text(worst.mean_prediction, worst.mean_outcome)})"

    @property
    def _biased(self) -> bool:
        return self.pvalue_overall <= self.level

    @property
    def _overall(self) -> str:
        """Say what the overall bias is; "" for more than two outcomes."""
        if self.overall is None:
            return ""
        way = f"{sign_words(self.mean_outcome - self.mean_prediction, self.top_label)}, " if self._biased else ""
        return f"Over all rows: {way}{self.overall}."

    def _nothing_along(self, m: int) -> str:
        """Say what there is where nothing that ranks is rejected: an overall bias, another error, or no evidence."""
        smallest = f"smallest adjusted p {self._p(min(self._judged(found)[3] for found in self.variables))}"
        if self._biased:
            overall = self._overall.removesuffix(".").removesuffix(")")
            return (
                f"{overall}, p {self._p(self.pvalue_overall)}). For none of {m} variables is "
                f"there evidence of more than this overall bias ({smallest})."
            )
        kind = "on average at some value" if self.weak else "given the prediction and the variable"
        if self.rejected:
            along = f"{len(self.rejected)} of {counted(m, 'variable')} at {percent(self.level)}"
            return (
                f"There is evidence of an error {kind} along {along}, but none that it varies along one ({smallest}). "
                f"{self._overall}"
            ).strip()
        none = self._not_rejected(f"Calibration of {self.what}{'' if self.weak else f' {kind}'}")
        along = "along its one variable" if m == 1 else f"along any of {m} variables"
        return f"{none} {along} ({smallest}). {self._overall}".strip()

    def forest(self) -> Forest:
        """Return the variables as rows of a forest plot, in order of evidence."""
        found = sorted(self.variables, key=lambda each: (self._judged(each)[3], -_RANKS[self.rank_by](each)))
        first, rejected = found[0], len(self._shown)
        smallest = self._p(self._judged(first)[3])
        most = (
            f"most along {first.name}, worst at {first.worst.level}" if rejected else f"smallest adjusted p {smallest}"
        )
        rows = []
        for each in found:
            value, noise, ends, p = self._judged(each)
            rows.append(ForestRow(each.name, value, ends, (0.0, noise), p <= self.level, each.worst.level))
        left = ", beyond the overall bias" if self._by_varying else ""
        return Forest(
            tuple(rows),
            answer=(found_in(rejected, len(self), "variable").replace("off in", "off along"), most),
            axis=f"mean error over cells of the variable{left}",
            **self._forest_words("variables", "worst at"),
        )

    def _asked(self) -> dict[str, Any]:
        return {
            "lens": repr(self.lens),
            "null": "weak" if self.weak else "strong",
            **picked(self, "rank_by mean_prediction mean_outcome pvalue_overall"),
            **({} if self.clusters is None else self.clusters.to_dict()),
        }

    def _table(self) -> list[list[str]]:
        value = "varies by" if self._by_varying else "error"
        worst = ["worst at", "predicted", "happened", "direction"]
        header = ["variable", value, "noise", self._ends, "adj. p", "about", *worst]
        shown = self.variables[:SHOWN]
        judged = [self._judged(found) for found in shown]
        values, noises, intervals, pvalues = zip(*judged, strict=True)
        columns = zip(
            error_cells(values),
            error_cells(noises),
            interval_cells(intervals),
            map(self._p_cell, pvalues),
            about_cells([self._tail(found) for found in shown]),
            strict=True,
        )
        rows = [
            [
                found.variable,
                *numbers,
                found.worst.level,
                mean_cell(found.worst.mean_prediction),
                mean_cell(found.worst.mean_outcome),
                self._direction(found),
            ]
            for found, numbers in zip(shown, columns, strict=True)
        ]
        return [header, *rows]

    def _details(self) -> list[tuple[str, str]]:
        above = [
            (
                "varies by",
                "mean |happened - predicted - the same over all rows| over cells of the variable (binned); of no such "
                "difference the larger p of redrawn labels and of centred random signs (asymptotic)",
            ),
            ("error", "VECE, the mean |happened - predicted| over cells of the variable (binned)"),
            ("noise", "what noise alone gives on average"),
            ("rank", {"varying": "by varies by - noise", "excess": "by error - noise"}.get(self.rank_by, "by error")),
            ("worst at", "the cell of the largest error; of cells merged for the tests, the level with the most of it"),
        ]
        above += about_detail([self._tail(found) for found in self.variables])
        return self._details_after(above, "these cells", self._judged(self.variables[0])[2] is not None)

    def _direction(self, found: VariableFinding) -> str:
        """Say whether all cells are off in the same direction, as observed."""
        high, low = (sign_words(sign, self.top_label).removeprefix("predicts ") for sign in (-1, 1))
        if found.consistency in ("", "mixed"):
            return found.consistency and f"{high} in {found.too_high} of {counted(len(found.cells), 'cell')}"
        return f"consistently {high if found.consistency == 'over' else low}"
