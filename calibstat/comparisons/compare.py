"""Comparisons of calibrators that are fitted on some rows and tested on others."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import bar_on_terminal, part, track
from calibstat.binnings.intervals import EqualMass
from calibstat.comparisons.results import (
    CalibratorComparison,
    CalibratorResult,
    Change,
    Changes,
    PairResult,
    Scores,
    least_factor_of_changes,
    over_splits,
    recommended,
    twice_median,
)
from calibstat.comparisons.splits import (
    UNCALIBRATED,
    check_calibrators,
    chosen_splits,
    recalibrated_samples,
    sample_from,
)
from calibstat.data.arrays import RNG, as_generator
from calibstat.data.parameters import CONFIDENCE_LEVEL, LEVEL, check_share, repeats
from calibstat.data.sample import Sample
from calibstat.draws.streams import Streams
from calibstat.estimators.base import Estimator, Headline
from calibstat.estimators.scores import BrierScore, LogScore, Score
from calibstat.estimators.squared import DebiasedL2
from calibstat.inference.arguments import behind
from calibstat.inference.cluster_values import ClusterValue
from calibstat.inference.compare import ComparisonTest, comparable, compare_tested, comparison_test, expanded
from calibstat.inference.compare_models import NOT_FOR_PAIRS
from calibstat.inference.differences import kept_rows, taken, with_large_cells
from calibstat.inference.estimate import interval_or_none
from calibstat.inference.intervals import ConfidenceInterval
from calibstat.inference.multiplicity import (
    Adjust,
    adjust_pvalues,
    check_choices,
    enough_redraws,
    holm,
    holm_of_pairs,
    joint_only,
    least_factor_of_pairs,
    more_note,
)
from calibstat.inference.results import CalibrationTest
from calibstat.inference.test import calibration_test
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import TopLabel
from calibstat.nulls.consistency import Consistency

# Fitting usually takes this share of the time, and tests this share of the rest.
_FITTED, _TESTED = 0.6, 0.75
_SCORES = (BrierScore(), LogScore())
# An interval needs so many redraws, divided by the share of cases in which it may miss.
_REDRAWS = 6
_MISSING = NOT_FOR_PAIRS | joint_only("each pair of calibrators is tested by itself")


def compare_calibrators(
    calibrators: Mapping[str, Any],
    sample: Any = None,
    y_prob: Any = None,
    *,
    y_true: Any = None,
    variables: Any = None,
    sample_weight: Any = None,
    labels: Sequence[Hashable] | None = None,
    lens: Lens | None = None,
    estimator: Estimator | None = None,
    test_size: float | None = None,
    cv: int | None = None,
    n_splits: int = 1,
    n_other_splits: int = 0,
    fitted_rows: Mapping[str, Any] | None = None,
    adjust: Adjust = "holm",
    level: float = LEVEL,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int | None = None,
    rng: RNG = None,
) -> CalibratorComparison:
    """Fit calibrators on some rows, and test and compare them on rows that none of them was fitted on.

    Rows are split at random, evenly over the predictions and without regard to the labels, so that redrawn labels have
    the law of the labels of the test rows. On the test rows the original predictions ("uncalibrated") and those of
    every calibrator are tested for calibration, each under its own exact null. Each pair is compared as by
    `comparison_test`: by the difference of debiased squared errors, each binned by its own cells, with a p-value that
    also holds where both are calibrated. These p-values are adjusted over all pairs, as in `compare_models`. Proper
    scores, split into calibration and refinement, show how sharp predictions are; their differences are tested row by
    row.

    Where rows come in clusters (`Sample.groups`) these are split whole, so that shares are about those asked for. Each
    model by itself is then tested by `Multiplier`, and pairs are compared by pairs of rows of different clusters, as
    `comparison_test` does; both are asymptotic, and at least 12 clusters are needed among the test rows.

    The result recommends one calibrator or none, as `recommend_calibrator` says, and ranks all by their Brier scores.

    The p-values belong to the split that `rng` chooses; do not draw another one because of them. With several splits
    a p-value is twice the median over splits (Rueger 1978). Standard errors, widened for the shared rows (Nadeau &
    Bengio 2003), then describe how fits vary, and enter no p-value.

    Parameters
    ----------
    calibrators : mapping of str to calibrator
        Calibrators by name; copies of them are fitted.
    sample : Sample, or (n,) labels
        A sample, with the variables that calibrators such as ``VariableBased("age")`` name; or labels, with `y_prob`
        and the other arguments of a `Sample`.
    y_prob, variables, sample_weight, labels, y_true
        As for `Sample`, if none is given; `y_true` passes the labels by name.
    lens : Lens, optional
        Looked through before the estimator's own: the same as ``lens | estimator``. If neither has one, it is
        ``TopLabel()`` for more than two classes and a binning that cuts one column.
    estimator : Estimator, optional
        ``DebiasedL2`` with a binning; by default ``DebiasedL2(EqualMass(15))``, with fewer cells for few rows. Cells
        with fewer than 8 rows are merged with their neighbours.
    test_size : float, optional
        Share of the test rows, by default 0.5.
    cv : int, optional
        Number of folds: instead of a split, cross-fit and test on all rows. P-values of calibrators are then only
        approximate, and the result says so.
    n_splits : int
        Number of random splits.
    n_other_splits : int
        With one split, the number of other random splits on which the advice is asked for again, each by itself. They
        change no number: the result only says how many give the same advice.
    fitted_rows : mapping of str to ints, optional
        For each calibrator that is fitted already, the rows of the sample that it was fitted on (empty for none). It
        is not fitted again, and these rows are not tested on, nor others of their clusters.
    adjust : {"holm", "fdr_by"}
        How the p-values of pairs are adjusted: by Holm's method (`holm_of_pairs`), or for the share of false
        discoveries (Benjamini & Yekutieli 2001).
    level : float
        Two calibrators are told apart if their adjusted p-value is at most this; p-values do not depend on it.
    confidence_level : float
        Of the intervals: those of all errors hold together, and those of what all calibrators change in a score.
    n_resamples : int, optional
        Number of resamples for the exact p-values, by default 999, or as many as the intervals need; more where no two
        could be told apart otherwise, if that costs little.
    rng : int, Generator or None
        Chooses rows and redraws labels.

    Returns
    -------
    CalibratorComparison
        With ``calibrator`` (the recommended one), ``models``, ``changes``, ``pairs``, ``verdict``; prints itself.

    Raises
    ------
    ValueError
        If too few rows are left to test on, or a calibrator cannot be fitted.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat import calibrators as cal, generators
    >>> from calibstat.comparisons.compare import compare_calibrators
    >>> sample = generators.BetaPredictions(1, 1, generators.LogitShift(0.5)).sample(4000, rng=0)
    >>> found = compare_calibrators(
    ...     {"platt": cal.Platt(), "beta": cal.Beta()}, sample, n_resamples=999, rng=0
    ... )
    >>> [(pair.first.name, pair.second.name, pair.rejects) for pair in found.pairs]
    [('uncalibrated', 'platt', True), ('uncalibrated', 'beta', True), ('platt', 'beta', False)]
    >>> found["uncalibrated"].pvalue <= 0.001, found["beta"].pvalue > 0.05
    (True, True)
    """
    check_calibrators(calibrators)
    check_choices(adjust, missing=_MISSING)
    check_share("level", level, LEVEL)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    repeats("n_splits", n_splits)
    whole = sample_from(
        sample, y_true, y_prob, {"variables": variables, "sample_weight": sample_weight, "labels": labels}
    )
    _check_other_splits(n_other_splits, n_splits, cv)
    split_stream, *streams = as_generator(rng).spawn(1 + n_splits + n_other_splits)
    every_plan = chosen_splits(whole, calibrators, test_size, cv, n_splits + n_other_splits, fitted_rows, split_stream)
    plans = every_plan[:n_splits]
    texts = {UNCALIBRATED: ""} | {name: " ".join(repr(each).split()) for name, each in calibrators.items()}
    sizes = (len(plans[0][0].fit_rows), sum(len(each.test_rows) for each in plans[0]))
    asked = max(999, round(_REDRAWS * len(texts) / (1 - confidence_level))) if n_resamples is None else n_resamples
    work = sizes[1] * len(texts) * len(every_plan)
    least = max(
        over_splits(n_splits) * least_factor_of_pairs(len(texts), adjust),
        least_factor_of_changes(len(calibrators), n_splits),
    )
    n_resamples = enough_redraws(asked, least, level, work)
    with bar_on_terminal():
        with part(0.0, _FITTED):
            each_split = track(every_plan, len(every_plan))
            every_seen = [recalibrated_samples(calibrators, whole, plan, fitted_rows or {}) for plan in each_split]
            seen = every_seen[:n_splits]
        wanted = default_estimator(whole, lens, estimator, len(next(iter(seen[0].values()))))
        large, merged = with_large_cells(wanted, (each for models in seen for each in models.values()))
        judging = Judging(large, adjust, level, confidence_level, n_resamples)
        with part(_FITTED, 1.0):
            models, pairs = judging(texts, seen, streams[:n_splits], sizes)
            changes = judging.changes({pair.second.name: pair.tests for pair in pairs[: len(calibrators)]}, seen)
            others = zip(every_seen[n_splits:], streams[n_splits:], strict=True)
            other_advice = tuple(
                replace(judging, estimator=with_large_cells(wanted, each.values())[0]).advice(each, stream)
                for each, stream in others
            )
    return CalibratorComparison(
        models=models,
        changes=changes,
        pairs=pairs,
        splits=tuple(split for plan in plans for split in plan),
        estimator=large,
        adjust=adjust,
        level=level,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        cross_fitted=cv is not None,
        other_advice=other_advice,
        notes=tuple(note for note in (merged, *more_note(n_resamples, asked, level)) if note),
    )


def _check_other_splits(n_other_splits: int, n_splits: int, cv: int | None) -> None:
    if n_other_splits:
        repeats("n_other_splits", n_other_splits)
        if n_splits > 1 or cv is not None:
            raise ValueError("n_other_splits= checks the advice of a single split: leave out n_splits and cv.")


def default_estimator(sample: Sample, lens: Lens | None, estimator: Estimator | None, n_test: int) -> Estimator:
    """Return the estimator with its lens, and refuse one that cannot be compared."""
    asked = behind(lens, DebiasedL2(EqualMass(min(15, max(1, n_test // 20)))) if estimator is None else estimator)
    if asked.core.squared_form is None:
        raise ValueError(
            f"{asked!r} cannot be compared between calibrators: use a debiased squared error, for example "
            "DebiasedL2(EqualMass(15))."
        )
    asked = comparable(asked)
    if lens is not None or asked.lens.parts:
        return asked
    one_column = asked.core.cut_by is None or asked.core.cut_by.columns == 1
    return TopLabel() | asked if len(sample.labels) > 2 and one_column else asked


@final
@dataclass(frozen=True)
class Judging:
    """Tests, scores and comparisons of models on rows that they were not fitted on."""

    estimator: Estimator
    adjust: str
    level: float
    confidence_level: float
    n_resamples: int

    def __call__(
        self,
        texts: Mapping[str, str],
        samples: Sequence[Mapping[str, Sample]],
        streams: Sequence[np.random.Generator],
        sizes: tuple[int, int],
    ) -> tuple[tuple[CalibratorResult, ...], tuple[PairResult, ...]]:
        """Test each model, described in `texts`, and compare each pair on the rows of each split.

        On each split all names have the same stream, so that the same predictions have the same numbers, and another
        order, or a further calibrator, changes no p-value.
        """
        families = [Streams(stream) for stream in streams]
        found = []
        with part(0.0, _TESTED):
            for name, text in track(texts.items(), len(texts)):
                own = [family[0] for family in families]
                found.append(self._model(name, text, [each[name] for each in samples], own, self._together(len(texts))))
        with part(_TESTED, 1.0):
            return tuple(found), self._pairs(found, samples, families, sizes)

    def _together(self, n: int) -> float:
        """Return the level of each of n intervals that hold together (Bonferroni)."""
        return 1 - (1 - self.confidence_level) / n

    def _model(
        self, name: str, calibrator: str, samples: Sequence[Sample], streams: Sequence[np.random.Generator], each: float
    ) -> CalibratorResult:
        """Test a model on the rows of each split, and score it; its interval has the level of `each`."""
        tests = tuple(self._test(*rows) for rows in track(zip(samples, streams, strict=True), len(samples)))
        squares = tuple(self._squared(sample, test) for sample, test in zip(samples, tests, strict=True))
        scores = [_scores(sample, self.estimator, each) for sample, each in zip(samples, squares, strict=True)]
        numbers = [(score.brier, score.log, score.calibration, score.refinement) for score in scores]
        brier, log, calibration, refinement = np.mean(numbers, axis=0).tolist()
        interval = self._root_interval(samples[0], tests[0], streams[0], each) if len(samples) == 1 else None
        clipped = sum(score.n_clipped for score in scores)
        found = Scores(brier, log, calibration, refinement, clipped)
        return CalibratorResult(name, calibrator, tests, squares, found, interval)

    def _squared(self, sample: Sample, test: CalibrationTest) -> float:
        """Return the squared error; of rows in clusters that by pairs of different ones, as they are compared."""
        seen = self.estimator.lens(sample)
        if seen.groups is None:
            return test.statistic
        evaluator = Headline(self.estimator.core).prepare(seen.predictions)
        verb = "compare_calibrators, on the test rows"
        return ClusterValue.of(expanded(self.estimator, seen, evaluator, verb), verb).value

    def _test(self, sample: Sample, stream: np.random.Generator) -> CalibrationTest:
        null = Consistency(self.n_resamples)
        return calibration_test(sample, self.estimator, null=null, level=self.level, rng=stream)

    def _root_interval(
        self, sample: Sample, test: CalibrationTest, rng: np.random.Generator, level: float
    ) -> ConfidenceInterval | None:
        """Return the interval of the squared error, in roots, with the labels that its test has drawn."""
        seen, law = self.estimator.lens(sample), test.null_distribution.replicates[0]
        interval = interval_or_none(self.estimator.core, seen, level, self.n_resamples, rng, law.samples)
        return interval and ConfidenceInterval(float(np.sqrt(interval.low)), float(np.sqrt(interval.high)))

    def _pairs(
        self,
        models: Sequence[CalibratorResult],
        samples: Sequence[Mapping[str, Sample]],
        families: Sequence[Streams],
        sizes: tuple[int, int],
    ) -> tuple[PairResult, ...]:
        """Compare each pair on the rows of each split, and adjust the p-values over all pairs."""
        places = list(combinations(range(len(models)), 2))
        chosen = [(models[a], models[b]) for a, b in places]
        tests = [
            tuple(
                self._pair({each.name: each.tests[split] for each in both}, samples[split], families[split])
                for split in range(len(samples))
            )
            for both in track(chosen, len(chosen))
        ]
        if self.adjust == "holm":
            differences = [twice_median([each.difference_pvalue for each in several]) for several in tests]
            errors = holm_of_pairs(differences, [model.pvalue for model in models], places)
        else:
            errors = adjust_pvalues([twice_median([each.pvalue for each in several]) for several in tests], self.adjust)
        brier = [self._change(BrierScore(), first.name, second.name, samples).pvalue for first, second in chosen]
        return tuple(
            PairResult(*both, each, float(error), float(score), self.level, *sizes)
            for both, each, error, score in zip(chosen, tests, errors, adjust_pvalues(brier, self.adjust), strict=True)
        )

    def changes(
        self, errors: Mapping[str, Sequence[ComparisonTest]], samples: Sequence[Mapping[str, Sample]]
    ) -> tuple[Changes, ...]:
        """Return what each calibrator changes, from the tests of its pair with the original predictions on each split.

        P-values of errors and Brier scores, which decide, are adjusted together, those of the log loss by themselves.
        """
        level, names = self._together(len(errors)), list(errors)
        error = [_change_of([-each.difference for each in tests], tests) for tests in errors.values()]
        brier, log = ([self._change(score, name, UNCALIBRATED, samples, level) for name in names] for score in _SCORES)
        known = _adjusted(error + brier)
        return tuple(map(Changes, names, known[: len(names)], known[len(names) :], _adjusted(log)))

    def advice(self, samples: Mapping[str, Sample], stream: np.random.Generator) -> str:
        """Return the name of the model that the rows of one split recommend."""
        family = Streams(stream)
        own, *others = ({name: self._test(sample, family[0])} for name, sample in samples.items())
        errors = {name: (self._pair(own | each, samples, family),) for each in others for name in each}
        return recommended(self.changes(errors, [samples]), self.level)

    def _change(
        self,
        score: Score,
        name: str,
        other: str,
        samples: Sequence[Mapping[str, Sample]],
        level: float = CONFIDENCE_LEVEL,
    ) -> Change:
        """Compare a score of the whole predictions of two, row by row, on the rows that the lens keeps."""
        tests = []
        for each in samples:
            rows = kept_rows(each[other], self.estimator)
            both = taken(each[name], rows), taken(each[other], rows)
            tests.append(comparison_test(*both, score, confidence_level=level))
        interval = tests[0].confidence_interval if len(tests) == 1 else None
        return _change_of([each.difference for each in tests], tests)._replace(confidence_interval=interval)

    def _pair(
        self, tests: Mapping[str, CalibrationTest], samples: Mapping[str, Sample], streams: Streams
    ) -> ComparisonTest:
        """Compare two on one split, with a stream of their own; their own exact p-values were drawn before."""
        first, second = tests
        return compare_tested(
            (tests[first], tests[second]),
            (samples[first], samples[second]),
            (first, second),
            self.level,
            self.confidence_level,
            self.n_resamples,
            streams.named(repr(sorted(map(str, tests)))),
        )


def _change_of(differences: Sequence[float], tests: Sequence[ComparisonTest]) -> Change:
    """Return the mean difference over splits, with the p-value of all."""
    return Change(float(np.mean(differences)), None, twice_median([each.pvalue for each in tests]), 1.0)


def _adjusted(changes: Sequence[Change]) -> list[Change]:
    """Adjust the p-values of all together."""
    adjusted = holm([each.pvalue for each in changes]).tolist()
    return [each._replace(pvalue_adjusted=p) for each, p in zip(changes, adjusted, strict=True)]


def _scores(sample: Sample, estimator: Estimator, squared: float) -> Scores:
    """Return the scores of the rows that the lens keeps; refinement is what is seen without its calibration part."""
    kept, brier, log = taken(sample, kept_rows(sample, estimator)), BrierScore(), LogScore()
    called = kept.predictions.probabilities[np.arange(len(kept)), kept.outcomes]
    refinement, n_clipped = float(brier(estimator.lens(sample))) - squared, int(np.count_nonzero(called < log.smallest))
    return Scores(float(brier(kept)), float(log(kept)), squared, refinement, n_clipped)
