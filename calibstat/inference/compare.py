"""Is one model better calibrated than another, or is the difference noise?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat._progress import one_bar
from calibstat._text import counted, percent
from calibstat.data.arrays import RNG, Array, Floats, as_generator
from calibstat.data.groups import Groups
from calibstat.data.parameters import CONFIDENCE_LEVEL, LEVEL, check_share, repeats, true_or_false
from calibstat.data.rounding import ROUNDING, SAME, rounded_up
from calibstat.data.sample import Predictions, Sample
from calibstat.draws.alike_rows import AlikeRows
from calibstat.draws.labels import LabelLaw
from calibstat.draws.streams import Streams, replicate
from calibstat.draws.whole_cells import redraw_squares
from calibstat.estimators.base import Estimator, Evaluator, Headline
from calibstat.estimators.panels import default_comparison
from calibstat.estimators.tally import Tally, over_components
from calibstat.inference.arguments import behind, check_sample, look_through, refuse_counted, with_counts
from calibstat.inference.by_lens import one_lens
from calibstat.inference.cluster_values import ClusterValue, PairsOfClusters, error_in_clusters
from calibstat.inference.differences import (
    FEW_OTHERS,
    Expanded,
    apart,
    difference_error,
    error_of_rows,
    kept_rows,
    merging_note,
    midway_variance,
    prepared,
    same_rows,
    taken,
    unseen_rows_variance,
    with_labels,
    wrapped_pvalue,
)
from calibstat.inference.equal_errors import Common, Difference, Erring, Rows, means_of_cells
from calibstat.inference.forest import Forest, ForestRow
from calibstat.inference.intervals import ConfidenceInterval, NoInterval, normal_pvalue, standardized
from calibstat.inference.multiplicity import cannot_reject, enough_redraws
from calibstat.inference.results import (
    CalibrationTest,
    Inquiry,
    Result,
    RowCounts,
    number,
    number_cell,
    picked,
    pvalue_cell,
    small_pvalue,
)
from calibstat.inference.tails import far_below, normal_tail, tail_text
from calibstat.lenses.base import Lens
from calibstat.nulls.base import EmpiricalNull, monte_carlo_pvalue, tie_slack
from calibstat.nulls.multiplier import LargerPValue, Multiplier


@one_bar
def comparison_test(
    a: Sample,
    b: Sample,
    estimator: Estimator | None = None,
    *,
    lens: Lens | None = None,
    paired: bool = True,
    names: tuple[str, str] = ("A", "B"),
    level: float = LEVEL,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int = 999,
    rng: RNG = None,
) -> ComparisonTest:
    """Test the hypothesis that two models have the same squared calibration error, or the same score.

    The difference of two debiased squared errors, each in the cells of its own model, is compared with its noise where
    both errors are equal: labels are redrawn at the chances nearest to those seen at which they are (`equal_errors`),
    so that few events and heavy weights keep the noise that they have. Two models of the same rows read the same drawn
    label, also where each asks something else about it, as behind `TopLabel`. If both models are calibrated, the
    difference is noise of a smaller order. Therefore the p-value is wrapped: it is the larger of that of the difference
    and of twice the smaller exact p-value of "this model is calibrated" (intersection-union of the two cases;
    Dimitriadis & Puke 2026). It rejects only where the models differ and not both are calibrated. The ends of the
    interval are the differences that the noise there hardly reaches. Scores, the area under the ROC curve (DeLong et
    al. 1988) and the slope have a normal p-value, from the influence of each row; with weights one of Student's law,
    with a correction for rows with a large share of the weight (CR2, Bell & McCaffrey 2002).

    For two outcomes the result also has the difference of what a linear recalibration would gain each model: more
    powerful against errors that a straight line removes, blind to others. It is a second test of the same rows: choose
    one of the two p-values beforehand.

    Where rows come in clusters (`Sample.groups`) only pairs of rows of different clusters count, the noise of the
    difference is that of leaving out one cluster at a time (Efron & Stein 1981) by Student's law, and each model by
    itself is tested by `Multiplier`; there is no difference of linear recalibrations.

    Exchanging the models' predictions row by row tests whether they are interchangeable, which is another question,
    and the difference of Brier scores, shown apart, is one of skill: calibration and sharpness together.

    Parameters
    ----------
    a, b : Sample
        What two models said about the same rows (paired), or about different ones. Where the same labels stand in
        another order, the columns of the second model are taken by their labels.
    estimator : Estimator, optional
        With its lens: ``TopLabel() | DebiasedL2(EqualMass(15))``; `ECE`, `RMSCE` and other errors of cells are compared
        by that squared form. Or one whose rows have an influence: ``BrierScore()``, ``LogScore()``, ``AUC()``,
        ``Cox(statistic="slope")``. By default ``DebiasedL2(EqualMass(15))``; without a `lens` too, and with more than
        two classes, of the top label.
    lens : Lens, optional
        Looked through before the estimator's own: the same as ``lens | estimator``.
    paired : bool
        Whether the rows are the same, in the same order.
    names : (str, str)
        What to call the models in texts.
    level : float
        The largest p-value for which the verdict says that there is evidence; p-values do not depend on it.
    confidence_level : float
        Of the interval of the difference.
    n_resamples : int
        For the exact p-values, and for the noise of the difference.
    rng : int, Generator or None

    Returns
    -------
    ComparisonTest
        With ``difference`` (the first minus the second), ``pvalue``, ``confidence_interval``; prints itself in words.

    Raises
    ------
    ValueError
        If paired rows are not the same, labels differ, the estimator has no expansion, a cell holds too few rows, or
        one row has more than half of the weight.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.inference.compare import comparison_test
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p
    >>> good, bad = cs.Sample(y, p), cs.Sample(y, p**2)
    >>> result = comparison_test(good, bad, cs.DebiasedL2(cs.EqualMass(15)), rng=0)
    >>> round(result.difference, 3), result.pvalue <= 0.002
    (-0.036, True)
    >>> comparison_test(good, good, cs.DebiasedL2(cs.EqualMass(15)), rng=0).pvalue
    1.0
    """
    check_share("level", level, LEVEL)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    n_resamples = repeats("n_resamples", n_resamples)
    true_or_false("paired", paired)
    if isinstance(names, str) or len(names) != 2 or names[0] == names[1]:
        raise ValueError(f"names is {names!r}; it must be two different names, for example ('raw', 'calibrated').")
    refuse_counted("comparison_test", a, b)
    check_sample(a)
    check_sample(b)
    b = with_labels(a.labels, b)
    estimator = to_compare(a, lens, estimator)
    looked = look_through(a, estimator), look_through(b, estimator)
    seen = looked[0][1], looked[1][1]
    if paired:
        same_rows(a, b, estimator, "use paired=False")
    generator = as_generator(rng)
    estimator, evaluators = prepared(estimator, seen)
    first, second = (expanded(estimator, *each) for each in zip(seen, evaluators, strict=True))
    values = first, second
    own, gains, rows = None, None, None
    clusters = ClusterValue.of_all(values, "comparison_test")
    if first.squared:
        n_resamples = enough_redraws(n_resamples, 2, level, sum(map(len, seen)))
        in_lines = clusters is None and first.seen.predictions.n_classes == 2
        lines = [_Line.of(each.predictions) if in_lines else None for each in seen]
        each_model = zip(seen, evaluators, lines, strict=True)
        streams = Streams(generator)  # the same for both, so that the same predictions have the same p-value
        laws = [own_nulls(estimator, *model, n_resamples, streams[0]) for model in each_model]
        own = laws[0][0].pvalue(first.value), laws[1][0].pvalue(second.value)
        common = Common.of((a, b), estimator.lens) if paired else None
        rows = both_rows(values, seen, evaluators, paired, common)
        gains = recalibration_difference(rows, seen, evaluators, lines, laws, paired, generator)
    return _compared(
        estimator,
        values,
        evaluators,
        rows,
        clusters,
        own,
        generator,
        recalibration_difference=gains,
        score_difference=score_difference(a, b, estimator, paired) if own else None,
        questions=tuple(
            with_counts(replace(asked, estimator=estimator), each, evaluator.capabilities)
            for (asked, each), evaluator in zip(looked, evaluators, strict=True)
        ),
        paired=paired,
        names=names,
        level=level,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
    )


def compare_tested(
    tested: tuple[CalibrationTest, CalibrationTest],
    samples: tuple[Sample, Sample],
    names: tuple[str, str],
    level: float,
    confidence_level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> ComparisonTest:
    """Compare two models on the same rows, whose own exact p-values are known from `n_resamples` resamples each.

    Otherwise it is `comparison_test`, without the difference that a linear recalibration makes.
    """
    estimator = tested[0].question.estimator
    seen = estimator.lens(samples[0]), estimator.lens(samples[1])
    evaluators = [Headline(estimator.core).prepare(each.predictions) for each in seen]
    values = expanded(estimator, seen[0], evaluators[0]), expanded(estimator, seen[1], evaluators[1])
    return _compared(
        estimator,
        values,
        evaluators,
        both_rows(values, seen, evaluators, paired=True, common=Common.of(samples, estimator.lens)),
        ClusterValue.of_all(values, "compare_calibrators"),
        (tested[0].pvalue, tested[1].pvalue),
        rng,
        recalibration_difference=None,
        score_difference=score_difference(*samples, estimator, paired=True),
        questions=(tested[0].question, tested[1].question),
        paired=True,
        names=names,
        level=level,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
    )


def _compared(
    estimator: Estimator,
    values: tuple[Expanded, Expanded],
    evaluators: Sequence[Evaluator],
    rows: tuple[Rows, Rows] | None,
    clusters: Sequence[ClusterValue] | None,
    own: tuple[float, float] | None,
    rng: np.random.Generator,
    paired: bool,
    confidence_level: float,
    n_resamples: int,
    **more: Any,
) -> ComparisonTest:
    """Test the difference of two values; `more` are the fields of the result that do not follow from it."""
    first, second = clusters or values
    difference, tail = first.value - second.value, None
    size = max(each.size for each in values)
    law = None if own is None or rows is None else Difference(both_erring(values, rows, evaluators), paired)
    if law is None:
        error, freedom = difference_error(*values, paired)
        single, ends = _by_student(difference, error, freedom, size, confidence_level)
    elif clusters is not None:
        error, freedom = error_in_clusters(clusters, paired, law.noise(n_resamples, rng))
        single, ends = _by_student(difference, error, freedom, size, confidence_level)
    else:
        noise = law.noise(n_resamples, rng)
        error, single = root_mean_square(noise), pvalue_of_difference(difference, noise, size, paired)
        tail = normal_tail(difference, noise)
        reaches = _reached(noise, confidence_level, paired)
        low, high = (  # with the noise at zero too, so that zero is left out only where it is rejected
            max(reach, _reached(law.noise(n_resamples, rng, difference + sign * reach), confidence_level, paired)[k])
            for k, (reach, sign) in enumerate(zip(reaches, (-1, 1), strict=True))
        )
        ends = difference - low, difference + high
    smallest, largest = estimator.value_range(values[0].seen.predictions.n_classes)
    width = largest - smallest
    return ComparisonTest(
        difference=difference,
        pvalue=single if own is None else wrapped_pvalue(single, own),
        statistic=standardized(difference, error, size),
        difference_pvalue=single,
        normal_tail=tail,
        own_pvalues=own,
        values=(first.value, second.value),
        standard_error=error,
        confidence_interval=ConfidenceInterval(max(ends[0], -width), min(ends[1], width)),
        confidence_level=confidence_level,
        paired=paired,
        n_resamples=n_resamples,
        **more,
    )


def _by_student(
    difference: float, error: float, freedom: float, size: float, confidence_level: float
) -> tuple[float, tuple[float, float]]:
    """Return the p-value and the ends of the interval of a difference of numbers of such a size, by Student's law."""
    reach = float(special.stdtrit(freedom, 0.5 + confidence_level / 2)) * error
    return normal_pvalue(difference, error, size, freedom), (difference - reach, difference + reach)


def both_erring(
    values: tuple[Expanded, Expanded], rows: tuple[Rows, Rows], evaluators: Sequence[Evaluator]
) -> tuple[Erring, Erring]:
    """Return two models with their squared errors of cells."""
    return erring(values[0], rows[0], evaluators[0]), erring(values[1], rows[1], evaluators[1])


def both_rows(
    values: tuple[Expanded, Expanded],
    seen: tuple[Sample, Sample],
    evaluators: Sequence[Evaluator],
    paired: bool,
    common: Common | None = None,
) -> tuple[Rows, Rows]:
    """Return the rows of two models, those that are alike together: in both models where their rows are the same.

    `common` are the outcomes of both models, where they read different ones.
    """
    if any(each.groups is not None for each in seen):
        groups: list[AlikeRows | None] = [None, None]
    elif paired:
        both = AlikeRows.of(evaluators, *((seen[0].outcomes,) if common is None else common.events))
        groups = [both, both]
    else:
        pairs = zip(evaluators, seen, strict=True)
        groups = [AlikeRows.of([evaluator], each.outcomes) for evaluator, each in pairs]
    each = zip(seen, values, groups, (0, int(paired)), strict=True)
    first, second = (Rows.of(sample, value.index, alike, model, common) for sample, value, alike, model in each)
    return first, second


def erring(value: Expanded, rows: Rows, evaluator: Evaluator) -> Erring:
    """Return a model with its squared error of cells, as the lens shows it: a sum over pairs of different rows.

    `evaluator` is that of the estimator's headline.
    """
    pairs, columns = value.expansion.degenerate, value.prediction.shape[1]
    assert pairs is not None
    scale = pairs.scale if rows.alike is None else pairs.rate[rows.cells]

    def truth(chances: Floats) -> float:
        moved = scale[:, None] * rows.own(chances - rows.announced)[:, -columns:]
        sums = [np.bincount(rows.cells, rows.counts * column) for column in moved.T]
        return float(np.square(sums).sum() - rows.counts @ ((moved**2).sum(axis=1) + scale**2 * rows.spread))

    def residual(chances: Floats) -> Floats:
        apart = rows.own(chances - rows.announced)
        return means_of_cells(rows.cells, rows.weights * rows.counts, apart)[rows.cells]

    if rows.groups is not None:
        apart = PairsOfClusters.of(value)
        return Erring(
            rows,
            lambda labels: apart.of_labels(rows.outcomes(labels)),
            lambda chances: apart.of_residuals(rows.own(chances - rows.announced)[:, -columns:]),
            residual,
        )
    alike, from_tallies = rows.alike, evaluator.capabilities.from_tallies
    if alike is not None and from_tallies is not None:
        return Erring(rows, lambda drawn: from_tallies(alike.tally(drawn, rows.model)), truth, residual)
    return Erring(rows, lambda labels: evaluator(rows.outcomes(labels)), truth, residual)


def pvalue_of_difference(difference: float, noise: Floats, size: float, paired: bool = True) -> float:
    """Return the share of noises (R,) as large as the difference of two numbers of such a size, and the data.

    Noise of the same rows is alike on both sides. That of different rows is not, since it grows with the error and the
    smaller sample has more of it; so each side is compared with its own tail, and the smaller share doubled.
    """
    beyond = abs(difference) - tie_slack(difference, size)
    reached = np.abs(noise) >= beyond if paired else noise * np.sign(difference) >= beyond
    share = float(monte_carlo_pvalue(int(np.count_nonzero(reached)), len(noise)))
    return share if paired else min(1.0, 2 * share)


def root_mean_square(noise: Floats) -> float:
    """Return the standard error: the root of the mean square."""
    return float(np.sqrt(np.mean(noise**2)))


def _reached(noise: Floats, confidence_level: float, paired: bool) -> tuple[float, float]:
    """Return the sizes that noise (R,) exceeds upwards and downwards with the rest of the confidence.

    For the same rows both are that of its size. Too few draws are replaced by a normal law.
    """
    level = confidence_level if paired else 0.5 + confidence_level / 2
    rank = rounded_up(level * (len(noise) + 1))
    if rank > len(noise):
        reach = float(special.ndtri(0.5 + confidence_level / 2)) * root_mean_square(noise)
        return reach, reach
    up, down = (
        np.partition(each, rank - 1)[rank - 1] for each in ((np.abs(noise),) * 2 if paired else (noise, -noise))
    )
    return max(0.0, float(up)), max(0.0, float(down))


def to_compare(sample: Sample, lens: Lens | None, estimator: Estimator | None) -> Estimator:
    """Return what models are compared by: with its lens, and by default that of a question that is asked once."""
    if estimator is None:
        lens, estimator = one_lens(sample, lens), default_comparison()
    return comparable(behind(lens, estimator))


def comparable(estimator: Estimator) -> Estimator:
    """Return what is compared in place of an estimator: errors of cells by their squared form, others as they are."""
    form = estimator.core.squared_form
    return estimator if form is None else estimator.lens | form


def expanded(estimator: Estimator, seen: Sample, evaluator: Evaluator, verb: str = "comparison_test") -> Expanded:
    """Expand the value of a model; raise an error that names suitable estimators if it has no expansion."""
    expand = evaluator.capabilities.expansion
    try:
        return Expanded.of(estimator.core, seen, expand and expand(seen.outcomes))
    except NoInterval as reason:
        raise ValueError(f"{verb}: {reason}.") from reason


def own_nulls(
    estimator: Estimator,
    seen: Sample,
    evaluator: Evaluator,
    line: _Line | None,
    n_resamples: int,
    rng: np.random.Generator,
) -> Sequence[EmpiricalNull | LargerPValue]:
    """Return the law of the value, and that of the gain of a line, if a model is calibrated: of the same labels.

    Of rows in clusters only the first.
    """
    if seen.groups is not None:
        return [Multiplier(n_resamples).draw(estimator.core, seen, rng, evaluator)]
    able = evaluator.capabilities

    def of_labels(labels: Array) -> Floats:
        return np.column_stack([evaluator(labels), *([] if line is None else [line.gain(labels)])])

    def of_tally(tally: Tally) -> Floats:
        assert able.from_tallies is not None
        return np.column_stack([able.from_tallies(tally), *([] if line is None else [line.gain_of_tally(tally)])])

    drawn = redraw_squares(evaluator, n_resamples, rng, of_tally)
    alone = None if drawn is not None else AlikeRows.of([evaluator], seen.outcomes, together=False)
    if alone is not None:
        draw, numbers = alone.draw(alone.announced[0])
        drawn = replicate(lambda sums: of_tally(alone.tally(sums, 0)), draw, n_resamples, numbers, rng)
    elif drawn is None:
        labels = LabelLaw(seen.predictions.chances).draw
        drawn = replicate(of_labels, labels, n_resamples, len(seen), rng, able.batch_size)
    value, *gain = np.ascontiguousarray(drawn.T)
    return [EmpiricalNull(value, estimator.core.evidence), *(EmpiricalNull(each, np.asarray) for each in gain)]


ENOUGH_ROWS = 500
_GAIN = "Brier score that a linear recalibration would gain"
CLUSTERED = (
    "the noise is that of whole clusters: where fewer than ten have an event, p and interval are only about right"
)
_SKILL = "the Brier score, calibration and sharpness together, differs by"


def short(size: float) -> str:
    """Write three digits; rounding errors of a zero are written as 0."""
    return f"{0.0 if abs(size) < ROUNDING else size:.3g}"


def ends_cell(ends: tuple[float, float] | None) -> str:
    """Write the ends of an interval for a table, nothing where there is none."""
    return "" if ends is None else f"{number_cell(ends[0])} to {number_cell(ends[1])}"


def direction_columns(questions: Sequence[Inquiry]) -> list[tuple[str, list[str]]]:
    """Return columns of a table that say which way each model errs; empty cells where that is not known."""
    known = [each.direction for each in questions]
    numbers = {
        "O/E": [np.nan if each is None else each.ratio for each in known],
        "slope": [np.nan if each is None else each.slope for each in known],
    }
    return [(name, [f"{x:.3g}" if np.isfinite(x) else "" for x in column]) for name, column in numbers.items()]


@final
@dataclass(frozen=True, eq=False, repr=False)
class ComparisonTest(Result):
    """The result of `comparison_test`; unpacks to ``(difference, pvalue)``.

    Parameters
    ----------
    difference : float
        Value of the first model minus that of the second; of squared errors each in its own cells.
    pvalue : float
        For squared errors wrapped: the larger of `difference_pvalue` and twice the smaller of `own_pvalues`.
    statistic : float
        The difference in standard errors.
    difference_pvalue : float
        Of the difference alone, against its noise at equal errors; not valid where both models are calibrated. Of other
        values normal.
    own_pvalues : (float, float) or None
        Exact p-value of each model by itself, for "this model is calibrated"; for squared errors only.
    values : (float, float)
    standard_error : float
        Root mean square of the noise of the difference, at equal errors.
    confidence_interval : ConfidenceInterval
        Interval of the difference, not wrapped.
    confidence_level : float
    recalibration_difference : RecalibrationDifference or None
        Difference of the gains by a linear recalibration; for squared errors, two outcomes.
    score_difference : ScoreDifference or None
        Difference of the Brier scores; for squared errors.
    paired : bool
    names : (str, str)
    questions : (Inquiry, Inquiry)
    n_resamples : int
        Number of resamples of the exact p-values.
    level : float
        There is evidence if the p-value is at most this.
    normal_tail : float, optional
        Of squared errors, the p-value of the difference by the normal law, where no draw of the noise reaches it and
        the noise looks normal: an approximation, for the size of what `difference_pvalue` bounds.
    """

    difference: float
    pvalue: float
    statistic: float
    difference_pvalue: float
    own_pvalues: tuple[float, float] | None
    values: tuple[float, float]
    standard_error: float
    confidence_interval: ConfidenceInterval
    confidence_level: float
    recalibration_difference: RecalibrationDifference | None
    score_difference: ScoreDifference | None
    paired: bool
    names: tuple[str, str]
    questions: tuple[Inquiry, Inquiry]
    n_resamples: int
    level: float = LEVEL
    normal_tail: float | None = None

    _display: ClassVar[str] = "ComparisonDisplay"
    _text_columns: ClassVar[tuple[int, ...]] = (0, 5)
    _spare_columns: ClassVar[tuple[int, ...]] = (3, 2)

    def __iter__(self) -> Iterator[float]:
        return iter((self.difference, self.pvalue))

    @property
    def root_values(self) -> tuple[float, float] | None:
        """Roots of squared errors, in units of probability, 0 for negative ones; None for other values."""
        if self.own_pvalues is None:
            return None
        first, second = (float(np.sqrt(max(value, 0.0))) for value in self.values)
        return first, second

    @property
    def hypothesis(self) -> str:
        """The null hypothesis."""
        first, second = self.names
        if self.own_pvalues is None:
            return f"{first} and {second} have the same {self._quantity} through {self.questions[0].lens!r}"
        return (
            f"{first} and {second} have the same squared calibration error through {self.questions[0].lens!r}, each "
            "binned by its own cells (both may be zero)"
        )

    @property
    def verdict(self) -> str:
        """One sentence: which model is better and by how much, or that there is no evidence that they differ."""
        (first, second), squared = self.names, self.own_pvalues is not None
        sizes = self.root_values or self.values
        measure = f"{'calibration error of' if squared else f'{self._quantity} for'} {self.questions[0].what}"
        where, at = f"({self._rows_text()}, p {small_pvalue(self.pvalue, level=self.level)})", percent(self.level)
        if self.pvalue > self.level:
            none = cannot_reject(self.n_resamples, 2, self.level) if squared else ""
            both = f"{measure} {short(sizes[0])} and {short(sizes[1])} {where}"
            return f"{none} {first} and {second} cannot be told apart at {at}: {both}.".lstrip()
        if not squared:
            both = f"{measure} {short(sizes[0])} and {short(sizes[1])} {where}"
            return f"Evidence at {at} that {first} and {second} differ: {both}."
        if self.difference > 0:
            first, second, sizes = second, first, sizes[::-1]
        both = f"{measure} {short(sizes[0])} against {short(sizes[1])} {where}"
        return f"{first} is better calibrated than {second} at {at}: {both}."

    @property
    def notes(self) -> tuple[str, ...]:
        """Limits of the result."""
        merged = merging_note(self.questions[0].estimator, any(asked.clusters for asked in self.questions))
        found = [merged] if merged else []
        if min(asked.n for asked in self.questions) < ENOUGH_ROWS:
            found.append(f"fewer than {ENOUGH_ROWS} rows: the p-value of a difference is only about right")
        if self.own_pvalues is None and any(asked.clusters for asked in self.questions):
            found.append(CLUSTERED)
        low, high = self.confidence_interval
        if self.pvalue > self.level and not low <= 0 <= high:
            found.append(
                "the interval excludes 0, but is not valid if both models may be calibrated: the p-value decides"
            )
        if far_below(self.normal_tail, self.n_resamples):
            found.append(
                f"{2 / (1 + self.n_resamples):.2g} is the smallest p-value that {counted(self.n_resamples, 'redraw')} "
                f"can give; by the normal law that of the difference is {tail_text(self.normal_tail)}"
            )
        return tuple(found)

    def forest(self) -> Forest:
        """Return the difference as the row of a forest plot, beside the noise of differences of equal models."""
        first, second = self.names
        rejects = self.pvalue <= self.level
        noise = 1.96 * self.standard_error
        smaller = first if self.difference < 0 else second
        told = f"smaller: {smaller}" if rejects else "cannot be told apart"
        of_what = "squared calibration error" if self.own_pvalues is not None else self._quantity
        interval = (self.confidence_interval.low, self.confidence_interval.high)
        row = ForestRow(f"{first} minus {second}", self.difference, interval, (-noise, noise), rejects)
        return Forest(
            (row,),
            axis=f"difference in {of_what}",
            answer=(told, f"p {small_pvalue(self.pvalue, level=self.level)}; {self._rows_text()}"),
            caption=f"{self.verdict} The bar in the middle is where about 95 % of such differences lie if the two are "
            f"equal; the line is the {percent(self.confidence_level)} interval of the difference.",
            interval=f"{percent(self.confidence_level)} interval",
            noise="95 % if equal",
        )

    def _counted(self) -> dict[str, Any]:
        both = zip(*(asked.counts for asked in self.questions), strict=True)
        return dict(zip(RowCounts._fields, both, strict=True))

    def _values(self) -> dict[str, Any]:
        return {
            "models": self.names,
            "lens": repr(self.questions[0].lens),
            "estimator": repr(self.questions[0].estimator.core),
            "n": [asked.n for asked in self.questions],
            "source": [asked.source for asked in self.questions],
            **picked(self, "paired difference pvalue statistic difference_pvalue own_pvalues"),
            **picked(self, "values root_values standard_error normal_tail"),
            "confidence_interval": list(self.confidence_interval),
            **picked(self, "level confidence_level n_resamples"),
            "recalibration_difference": None if (line := self.recalibration_difference) is None else line._asdict(),
            "score_difference": None if (skill := self.score_difference) is None else skill._asdict(),
            "hypothesis": self.hypothesis,
            "notes": self.notes,
        }

    @property
    def _quantity(self) -> str:
        return self.questions[0].estimator.quantity.split(" (")[0]

    def _table(self) -> list[list[str]]:
        own, roots = self.own_pvalues, self.root_values
        unknown, both = ("", ""), (self.values, self.values[::-1])
        difference = number_cell(self.difference, *self.values)
        columns = [
            ("", *self.names, "difference"),
            ("error", *(unknown if roots is None else map(number_cell, roots)), ""),
            *((name, *cells, "") for name, cells in direction_columns(self.questions)),
            ("value" if own is None else "squared", *(number_cell(*order) for order in both), difference),
            (f"{percent(self.confidence_level)} interval", *unknown, ends_cell(self.confidence_interval)),
            ("p", *(unknown if own is None else (f"{p:.3g}" for p in own)), pvalue_cell(self.pvalue, self.level)),
        ]
        return [list(row) for row in zip(*columns, strict=True)]

    def _notes(self) -> Sequence[str]:
        score = self.score_difference
        return self.notes if score is None else (*self.notes, f"{_SKILL} {self._difference_text(score)})")

    def _details(self) -> list[tuple[str, str]]:
        line, own = self.recalibration_difference, self.own_pvalues
        if own is None:
            of_values = [("value", self.questions[0].estimator.quantity)]
            each = "row" if self.questions[0].clusters is None else "cluster"
            pvalue = f"normal, from the influence of each {each}"
        else:
            clustered = any(asked.clusters for asked in self.questions)
            how = "by whole clusters" if clustered else "exact"
            pairs = ", of pairs of rows of different clusters" if clustered else ""
            of_values = [
                ("squared", f"unbiased squared errors, binned by each model's own cells{pairs}"),
                ("error", "their roots; 0 where a squared error is negative"),
            ]
            pvalue = (
                f"the larger of {pvalue_cell(self.difference_pvalue)} (of the difference) and twice the smaller of "
                f"{own[0]:.3g} and {own[1]:.3g} (each model by itself, {how})"
            )
        return [
            *of_values,
            ("p", pvalue),
            ("difference", f"{' minus '.join(self.names)}; standard error {number(self.standard_error)}"),
            *([] if line is None else [("line", f"{self._difference_text(line)}, wrapped in the same way): {_GAIN}")]),
            ("null", self.hypothesis),
            ("estimator", repr(self.questions[0].estimator)),
            *(
                ("data", f"{name}: {asked.rows}; {asked.source}")
                for name, asked in zip(self.names, self.questions, strict=True)
            ),
        ]

    def _difference_text(self, found: ScoreDifference | RecalibrationDifference) -> str:
        first, second = self.names
        difference = number(found.difference, found.standard_error)
        return f"{difference} ({first} minus {second}, p {small_pvalue(found.pvalue)}"

    def _rows_text(self) -> str:
        first, second = (asked.n for asked in self.questions)
        if not self.paired:
            return f"n = {first} and {second}, different rows"
        clusters = self.questions[0].clusters
        return f"n = {first}, the same rows" + ("" if clusters is None else f" in {clusters}")


class ScoreDifference(NamedTuple):
    """The difference of the mean Brier scores, which measure calibration and sharpness together."""

    difference: float
    standard_error: float
    pvalue: float


def score_difference(a: Sample, b: Sample, estimator: Estimator, paired: bool) -> ScoreDifference:
    """Compare Brier scores of the whole predictions, on the rows that the estimator's lens keeps."""
    first, second = (_Scored.of(each, estimator) for each in (a, b))
    difference = first.mean - second.mean
    if paired:
        influence = first.share * (first.score - second.score - difference)
        error, freedom = error_of_rows(influence, first.weights, groups=first.groups)
        if first.others < FEW_OTHERS:
            slope = first.slope - second.slope
            midway = midway_variance(first.share, slope, first.prediction, second.prediction)
            error = max(error, float(np.sqrt(midway)))
    else:
        shown = [(each.influence, each.weights, None, each.groups) for each in (first, second)]
        error, freedom = apart(*zip(shown, (first.unseen, second.unseen), strict=True))
    return ScoreDifference(difference, error, normal_pvalue(difference, error, max(first.mean, second.mean), freedom))


@dataclass(frozen=True, eq=False)
class _Scored:
    """The rows of one model with their scores: the squared distance of outcome and prediction.

    For two classes it is the distance for the event alone. `others` is the number of rows whose outcome is not the most
    frequent one.
    """

    score: Floats
    weights: Floats | None
    prediction: Floats
    others: int
    groups: Groups | None

    @classmethod
    def of(cls, sample: Sample, estimator: Estimator) -> _Scored:
        seen = taken(sample, kept_rows(sample, estimator))
        components, weights = seen.predictions.components, seen.predictions.weights
        happened = seen.predictions.happened(seen.outcomes)
        counted = happened if weights is None else happened[weights > 0]
        counts = counted.sum(axis=0)
        commonest = max(counts.max(), len(counted) - counts.sum())  # of two classes the event alone has a column
        happened -= components
        score = over_components(np.square(happened, out=happened))
        return cls(score, weights, components, int(len(counted) - commonest), seen.groups)

    @property
    def share(self) -> Floats | float:
        """(n,) the share of each row in the weight, or the same of all rows."""
        return 1 / len(self.score) if self.weights is None else self.weights / self.weights.sum()

    @property
    def slope(self) -> Floats:
        """(n, c) what one more outcome of a class adds to the score of its row: of the event, of two classes."""
        return 1 - 2 * self.prediction

    @cached_property
    def mean(self) -> float:
        return float(self.score.mean() if self.weights is None else self.share @ self.score)

    @property
    def influence(self) -> Floats:
        return self.share * (self.score - self.mean)

    @property
    def unseen(self) -> float:
        """The variance of the mean that equal outcomes may hide."""
        return unseen_rows_variance(np.broadcast_to(self.share, len(self.score)), self.slope, self.others == 0)


class RecalibrationDifference(NamedTuple):
    """The difference of two gains: how much a linear recalibration would lower the Brier score of each model.

    The gain of the least-squares line of outcomes on 1 and the prediction is the squared length of the residuals
    projected on these two columns. Since the line is optimal, its estimation error is of second order (Dimitriadis &
    Puke 2026).
    """

    difference: float
    standard_error: float
    pvalue: float
    difference_pvalue: float
    own_pvalues: tuple[float, float]


def recalibration_difference(
    rows: tuple[Rows, Rows],
    seen: tuple[Sample, Sample],
    evaluators: Sequence[Evaluator],
    lines: Sequence[_Line | None],
    laws: Sequence[Sequence[EmpiricalNull | LargerPValue]],
    paired: bool,
    rng: np.random.Generator,
) -> RecalibrationDifference | None:
    """Compare the gains of two models; return None for more than two outcomes.

    The difference is tested as that of the squared errors is: against its noise where both gains are equal, with
    chances that are fitted in cells, and wrapped by the exact p-value of each gain by itself, of its law in `laws`.
    """
    known = [line for line in lines if line is not None]
    if len(known) < 2:
        return None
    first, second = (_gaining(*each) for each in zip(known, rows, strict=True))
    gains = [float(line.gain_of(*each)) for line, each in zip(known, zip(seen, evaluators, strict=True), strict=True)]
    difference = gains[0] - gains[1]
    noise = Difference((first, second), paired).noise(len(laws[0][1].samples), rng)
    single = pvalue_of_difference(difference, noise, max(gains), paired)
    own = laws[0][1].pvalue(gains[0]), laws[1][1].pvalue(gains[1])
    return RecalibrationDifference(difference, root_mean_square(noise), wrapped_pvalue(single, own), single, own)


@dataclass(frozen=True, eq=False)
class _Line:
    """The predictions of a model as a linear recalibration sees them.

    Deviations of predictions from their mean are orthogonal to 1, so that the gain is :math:`d_0^2 + d_1^2 / v`, with
    the mean :math:`d_0` of the residuals, that of residuals times deviations, :math:`d_1`, and the variance v of these.
    """

    event: Floats  # (n,), the predictions
    share: Floats | None  # (n,), of the rows in the total weight, where they have weights
    mean: float
    variance: float  # of the predictions; infinite if all are equal, as then there is no second direction
    square: float  # the sum of the squared predictions

    @classmethod
    def of(cls, predictions: Predictions) -> _Line:
        event, weights = np.ascontiguousarray(predictions.event), predictions.weights
        share = None if weights is None else weights / weights.sum()
        mean = float(event.mean() if share is None else share @ event)
        apart = event - mean
        variance = float(apart @ apart / len(event) if share is None else share @ apart**2)
        return cls(event, share, mean, variance if variance > SAME**2 else np.inf, float(event @ event))

    def gain(self, labels: Array) -> Floats:
        """Return the gain at labels (..., n)."""
        share = np.full(len(self.event), 1 / len(self.event)) if self.share is None else self.share
        residual = labels - self.event
        return self.of_means(residual @ share, residual @ (share * (self.event - self.mean)))

    def gain_of(self, seen: Sample, evaluator: Evaluator) -> Floats:
        """Return the gain at the labels of a sample, of the sums of its cells where these are known."""
        plan = evaluator.capabilities.tally
        if self.share is None and plan is not None and "square" in plan.needs:
            return self.gain_of_tally(plan(seen.outcomes))
        return self.gain(seen.outcomes)

    def gain_of_tally(self, tally: Tally) -> Floats:
        """Return the gain at events and squared residuals of cells (R, L), of rows that have no weights."""
        n, events = len(self.event), tally.outcome.sum(axis=(-2, -1))
        along = (self.square + events - tally.square.sum(axis=-1)) / 2  # the predictions of events
        level = events / n - self.mean
        return self.of_means(level, (along - self.square) / n - self.mean * level)

    def of_means(self, level: Floats, slope: Floats) -> Floats:
        """Return the gain at the means of residuals, and of residuals times deviations of predictions: (R,)."""
        return np.asarray(level**2 + slope**2 / self.variance)


def _gaining(line: _Line, rows: Rows) -> Erring:
    """Return a model with its gain."""
    share, event = rows.share, rows.own(rows.announced)[:, 1]
    apart = event - line.mean

    def means(chances: Floats) -> tuple[float, float]:
        residual = rows.own(chances)[:, 1] - event
        return float(share @ residual), float(share @ (residual * apart - rows.spread))

    def truth(chances: Floats) -> float:
        return float(line.of_means(*map(np.asarray, means(chances))))

    def along(chances: Floats) -> Floats:
        level, slope = means(chances)
        found = level + slope / line.variance * apart
        return np.column_stack([-found, found])

    alike = rows.alike
    if alike is not None:
        return Erring(rows, lambda drawn: line.gain_of_tally(alike.tally(drawn, rows.model)), truth, along)
    return Erring(rows, lambda labels: line.gain(rows.outcomes(labels)), truth, along)
