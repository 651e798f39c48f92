"""Results of a comparison of calibrators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted, percent
from calibstat.comparisons.splits import UNCALIBRATED, Split
from calibstat.data.groups import ClusterCount
from calibstat.estimators.base import Estimator
from calibstat.estimators.scores import LogScore
from calibstat.inference.compare import CLUSTERED, ENOUGH_ROWS, ComparisonTest
from calibstat.inference.forest import Forest, ForestRow, best_and_apart, model_row, models_caption
from calibstat.inference.intervals import ConfidenceInterval
from calibstat.inference.multiplicity import ADJUSTMENTS, cannot_reject, least_factor
from calibstat.inference.results import (
    CalibrationTest,
    Result,
    RowCounts,
    frame,
    interval_text,
    number,
    picked,
    pvalue_cell,
    small_pvalue,
)
from calibstat.inference.tails import far_below, pair_note

if TYPE_CHECKING:
    import pandas as pd

_CROSS_FITTED = (
    "cross-fitted: each row is predicted by a calibrator that has not seen it, but the fits share rows; so the null of "
    "redrawn labels, and every p-value based on it, is only approximate for calibrators"
)


@final
@dataclass(frozen=True, eq=False, repr=False)
class CalibratorComparison(Result):
    """The result of `compare_calibrators` and of `recommend_calibrator`.

    Parameters
    ----------
    models : tuple of CalibratorResult
        The original predictions ("uncalibrated") first, then the calibrators in their order.
    changes : tuple of Changes
        What each calibrator changes, with p-values that are adjusted over all calibrators.
    pairs : tuple of PairResult
        One for each pair of models.
    splits : tuple of Split
        The rows that calibrators were fitted on and those that they were tested on.
    estimator : Estimator
        The estimator with its lens.
    adjust : str
        How the p-values of pairs are adjusted.
    level : float
        Two models are told apart if their adjusted p-value is at most this.
    confidence_level : float
        Of the intervals: those of all `models` hold together, and those of each score in `changes`.
    n_resamples : int
    cross_fitted : bool
        Whether all rows are test rows, each predicted by a calibrator that was fitted on the other folds.
    notes : tuple of str
        Limits of the result.
    other_advice : tuple of str
        The names that other random splits, each by itself, recommend.
    fitted : calibrator, optional
        The recommended calibrator, fitted on all rows by `recommend_calibrator`; None if none is recommended.
    """

    models: tuple[CalibratorResult, ...]
    changes: tuple[Changes, ...]
    pairs: tuple[PairResult, ...]
    splits: tuple[Split, ...]
    estimator: Estimator
    adjust: str
    level: float
    confidence_level: float
    n_resamples: int
    cross_fitted: bool
    notes: tuple[str, ...]
    other_advice: tuple[str, ...] = ()
    fitted: Any = None

    _display: ClassVar[str] = "ComparisonDisplay"
    _row: ClassVar[str] = "pair"
    _text_columns: ClassVar[tuple[int, ...]] = (0, 2)
    _spare_columns: ClassVar[tuple[int, ...]] = (8, 9, 7, 5)

    def __getitem__(self, name: str) -> CalibratorResult:
        for each in self.models:
            if each.name == name:
                return each
        raise KeyError(f"there is no {name!r}; there are {[each.name for each in self.models]}")

    @property
    def calibrator(self) -> str:
        """The name of the recommended calibrator, or "uncalibrated" if the model's own probabilities are to be kept.

        Of the calibrators that are shown to be better, it is the one with the smallest Brier score.
        """
        return recommended(self.changes, self.level)

    @property
    def ranked(self) -> tuple[CalibratorResult, ...]:
        """The calibrators and the original predictions, the smallest Brier score first."""
        return tuple(sorted(self.models, key=lambda each: each.scores.brier))

    @property
    def verdict(self) -> str:
        """The recommendation: which calibrator to use and what it improves, or to keep the model's probabilities."""
        if self.calibrator == UNCALIBRATED:
            return self._advice_to_keep
        change = next(each for each in self.changes if each.name == self.calibrator)
        new, own = self[self.calibrator], self.models[0]
        lower, ends = -change.brier.difference, change.brier.confidence_interval
        between = "" if ends is None else f"{-ends[1]:.3g} to {-ends[0]:.3g}, "
        error_p, brier_p = (
            small_pvalue(each.pvalue_adjusted, level=self.level) for each in (change.error, change.brier)
        )
        return (
            f"Use {new.name}: calibration error{self._of} {_root(new)} instead of {_root(own)} (adjusted p {error_p}), "
            f"Brier score lower by {lower:.3g} ({between}adjusted p {brier_p}).{self._decided(change)}"
            f"{self._not_told_apart}{_direction(' Before', own)}"
        )

    def _decided(self, change: Changes) -> str:
        """Say which measure decided that this one is recommended, and that the Brier score chose among several."""
        said, better = "", sum(each.better(self.level) for each in self.changes)
        shown = f"is shown to be smaller at {percent(self.level)}"
        if not change.error.lower(self.level):
            said = f" Only its Brier score {shown}."
        elif not change.brier.lower(self.level):
            said = f" Only its error {shown}."
        chosen = f" Of {better} that are shown to be better it has the smallest Brier score."
        return said + (chosen if better > 1 else "")

    @property
    def _of(self) -> str:
        return f" of {self.models[0].tests[0].question.what}"

    @property
    def _not_told_apart(self) -> str:
        """Name the other calibrators from which the recommended one cannot be told apart."""
        both = [pair for pair in self.pairs if self.calibrator in pair.names and UNCALIBRATED not in pair.names]
        alike = {name for pair in both if not pair.told_apart for name in pair.names}
        names = [each.name for each in self.ranked if each.name in alike and each.name != self.calibrator]
        others = len({name for pair in both for name in pair.names}) - 1
        if not names:
            by_score = all(pair.brier_pvalue_adjusted <= self.level for pair in both)
            how = "by Brier score" if by_score else "by calibration error or Brier score"
            return f" It is told apart from all {others} others {how}." if others > 1 else ""
        return f" Not told apart from {', '.join(names)}."

    @property
    def _advice_to_keep(self) -> str:
        """Say that no calibrator is shown to be better, how near the best one is, and which ones are worse."""
        blurring = [each for each in self.changes if each.shown_lower(self.level)]
        improving = [each for each in self.changes if each not in blurring]
        several = len(self.changes) > 1
        which = (
            f"none of {len(self.changes)} calibrators is shown" if several else f"{self.changes[0].name} is not shown"
        )
        nearest = self._nearest(improving)
        said = [f"Keep the model's own probabilities: {which} to be better at {percent(self.level)}{nearest}."]
        for each in blurring:
            p = small_pvalue(each.pvalue_of_better, level=self.level)
            cost = "a larger Brier score" if each.brier.difference > 0 else "a larger calibration error"
            gain = "calibration error" if each.brier.difference > 0 else "Brier score"
            said.append(f"{each.name} has a smaller {gain} (adjusted p {p}), but {cost}.")
        worse = [each for each in self.changes if each not in blurring and each.shown_higher(self.level)]
        if worse:
            p = small_pvalue(max(each.pvalue_of_worse for each in worse), level=self.level)
            verb, p = ("are", p.replace("= ", "at most ")) if len(worse) > 1 else ("is", p)
            said.append(f"{', '.join(each.name for each in worse)} {verb} shown to be worse (adjusted p {p}).")
        own = self.models[0]
        zero = "" if own.root else f", which {counted(self._n_test, 'row')} cannot tell from 0"
        said.append(f"Calibration error{self._of} {_root(own)}{zero}.{_direction('', own)}")
        return " ".join(said)

    def _nearest(self, improving: Sequence[Changes]) -> str:
        """Say which calibrator comes nearest to being shown to be better, and by which p-value; nothing if none is."""
        if not improving:
            return ""
        nearest = min(improving, key=lambda each: each.pvalue_of_better)
        p = f"adjusted p {small_pvalue(nearest.pvalue_of_better, level=self.level)}"
        alone = len(self.changes) == 1 or nearest.pvalue_of_better >= 1
        return f" ({p})" if alone else f" ({nearest.name} comes nearest: {p})"

    @property
    def hypotheses(self) -> tuple[str, str]:
        """The null of each single test, and of each comparison of two."""
        of = self._of
        own = self.models[0].tests[0].hypothesis
        if self.cross_fitted:
            own = own.replace("(exact)", "(exact for the predictions as given, approximate for cross-fitted ones)")
        return own, f"two have the same squared calibration error{of}, each binned by its own cells (both may be zero)"

    def forest(self) -> Forest:
        """Return the calibrators as rows of a forest plot, the smallest error first, with the pairs told apart."""
        models = sorted(self.models, key=lambda each: each.value)
        place = {each.name: row for row, each in enumerate(models)}
        told = [pair for pair in self.pairs if pair.rejects]
        worse = {(pair.second if pair.difference < 0 else pair.first).name for pair in told}
        return Forest(
            tuple(each.row(self.level) for each in models),
            axis="root calibration error",
            answer=best_and_apart(
                [name for name in place if name not in worse], len(told), len(self.pairs), self._n_test
            ),
            caption=f"{self._rows_text()[0].upper()}{self._rows_text()[1:]}. "
            f"{models_caption(self.confidence_level, self.level, squared=True, of='that holds for all together')} "
            f"{self.verdict}",
            interval=f"{percent(self.confidence_level)} interval" if models[0].root_interval else "",
            noise=f"{percent(1 - self.level)} if calibrated",
            apart=tuple((place[pair.first.name], place[pair.second.name]) for pair in told),
        )

    def _rows(self) -> list[dict[str, Any]]:
        return [pair.to_dict() for pair in self.pairs]

    def models_to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each calibrator, and what it changes."""
        changes = {each.name: each.to_dict() for each in self.changes}
        return frame([each.to_dict() | changes.get(each.name, {}) for each in self.models])

    def _counted(self) -> dict[str, Any]:
        return RowCounts.least(test.question.counts for each in self.models for test in each.tests)._asdict()

    def _values(self) -> dict[str, Any]:
        own, pair = self.hypotheses
        return {
            **picked(self, "calibrator verdict"),
            "lens": repr(self.estimator.lens),
            "estimator": repr(self.estimator.core),
            "n_fit": len(self.splits[0].fit_rows),
            "n_test": self._n_test,
            **({} if self._clusters is None else self._clusters.to_dict()),
            "n_splits": 1 if self.cross_fitted else len(self.splits),
            **picked(self, "other_advice cross_fitted adjust level confidence_level n_resamples models changes pairs"),
            "hypothesis": own,
            "pair_hypothesis": pair,
            "notes": self._notes(),
        }

    def _table(self) -> list[list[str]]:
        level = percent(self.confidence_level)
        heads = ["", "error", level, "p error", "Brier", "change", "p Brier", "log loss", "change log", "p log"]
        changes = {each.name: each for each in self.changes}
        return [heads, *(self._table_row(each, changes.get(each.name)) for each in self.ranked)]

    def _table_row(self, model: CalibratorResult, change: Changes | None) -> list[str]:
        def cells(found: Change | None) -> list[str]:
            return (
                ["", ""]
                if found is None
                else [signed(found.difference), pvalue_cell(found.pvalue_adjusted, self.level)]
            )

        return [
            model.name,
            f"{model.root:.3f}",
            _root_ends(model),
            cells(change and change.error)[1],
            decimals(model.scores.brier),
            *cells(change and change.brier),
            decimals(model.scores.log),
            *cells(change and change.log),
        ]

    def _notes(self) -> tuple[str, ...]:
        least = least_factor_of_changes(len(self.changes), 1 if self.cross_fitted else len(self.splits))
        none = cannot_reject(self.n_resamples, least, self.level)
        found = [f"of the calibration error: {none}"] if none else []
        found += [_CROSS_FITTED] if self.cross_fitted else []
        if self._n_test < ENOUGH_ROWS:
            found.append(f"with fewer than {ENOUGH_ROWS} test rows, p-values of differences are only about right")
        return (
            *found,
            self._rows_text(),
            *([] if self._clusters is None else [CLUSTERED]),
            *self._sharpness,
            *self._log_alone,
            *self.notes,
            *self._beyond,
            *self._clipped,
        )

    @property
    def _beyond(self) -> list[str]:
        """Say how small the p-value of the clearest difference is, where no redraw reaches it."""
        tested = [(pair, test) for pair in self.pairs for test in pair.tests]
        pair, clearest = max(tested, key=lambda each: abs(each[1].statistic))
        tail = clearest.normal_tail
        return [pair_note(self.n_resamples, pair.names, tail)] if far_below(tail, self.n_resamples) else []

    @property
    def _sharpness(self) -> list[str]:
        """Say how sharp the recommended calibrator is, without a judgement: the difference is not tested."""
        if self.calibrator == UNCALIBRATED:
            return []
        new, own = (decimals(self[name].scores.refinement) for name in (self.calibrator, UNCALIBRATED))
        return [f"sharpness{self._of} ({_SHARPNESS}, smaller is sharper, not tested): {new}, before {own}"]

    @property
    def _log_alone(self) -> list[str]:
        """Say why a smaller log loss alone recommends nothing."""
        names = [each.name for each in self.changes if each.log.lower(self.level)]
        if self.calibrator != UNCALIBRATED or not names:
            return []
        return [
            f"log loss is smaller for {', '.join(names)}, but it depends most on the rows with the most extreme "
            "probabilities, so that it alone recommends none"
        ]

    @property
    def _clipped(self) -> list[str]:
        clipped = [each for each in self.models if each.scores.n_clipped]
        if not clipped:
            return []
        rows = ", ".join(f"{each.name} in {counted(each.scores.n_clipped, 'row')}" for each in clipped)
        return [
            f"log loss takes a probability below {LogScore().smallest:g} for this much, or it would be infinite; the "
            f"outcome had such a probability for {rows}"
        ]

    def _details(self) -> list[tuple[str, str]]:
        own, pair = self.hypotheses
        exact = "exact" if self._clusters is None else "by whole clusters"
        exact = "only approximate for calibrators, see the note" if self.cross_fitted else exact
        alone = ", ".join(f"{each.name} {pvalue_cell(each.pvalue)}" for each in self.models)
        sharp = ", ".join(f"{each.name} {decimals(each.scores.refinement)}" for each in self.ranked)
        return [
            ("error", f"root of the unbiased squared calibration error of cell means{self._of}"),
            ("", f"p of the test of each one by itself ({exact}): {alone}"),
            ("change", "calibrated minus own probabilities, the same rows: smaller is better"),
            (
                "p",
                f"of a difference from the own probabilities, by Holm's method over the {2 * len(self.changes)} "
                f"p-values of error and Brier score, and over the {len(self.changes)} of log loss",
            ),
            ("intervals", f"those of a measure hold together with {percent(self.confidence_level)} (Bonferroni)"),
            ("advice", _ADVICE),
            ("sharpness", f"{_SHARPNESS}{self._of}: {sharp}"),
            ("null", own),
            ("pairs", f"{pair}; {self._pair_text()}"),
            *(("", pair.verdict) for pair in self.pairs if UNCALIBRATED not in pair.names and pair.rejects),
            ("estimator", repr(self.estimator)),
        ]

    @property
    def _n_test(self) -> int:
        parts = self.splits if self.cross_fitted else self.splits[:1]
        return sum(len(each.test_rows) for each in parts)

    @property
    def _clusters(self) -> ClusterCount | None:
        return self.models[0].tests[0].question.clusters

    def _rows_text(self) -> str:
        rows = counted(self._n_test, "row") + ("" if self._clusters is None else f" in {self._clusters}")
        if self.cross_fitted:
            return f"tested on all {rows}, cross-fitted in {counted(len(self.splits), 'fold')}"
        one = f"tested on {rows}, fitted on {counted(len(self.splits[0].fit_rows), 'other')}"
        if len(self.splits) > 1:
            return f"{one}, in {len(self.splits)} random splits of the same rows"
        others = f"; {advice_in_words(self.other_advice)}" if self.other_advice else ""
        return f"{one}, in one random split{others}"

    def _pair_text(self) -> str:
        several = len(self.splits) > 1 and not self.cross_fitted
        twice = "twice the median over splits, then " if several else ""
        alone = ", p-values of each by itself over all of them" if self.adjust == "holm" else ""
        return (
            "p is the larger of that of the difference and of twice the smaller p of the two by themselves, "
            f"{twice}adjusted {ADJUSTMENTS[self.adjust]} over {len(self.pairs)}{alone}"
        )


_SHARPNESS = "squared error without its calibration part"
_ADVICE = (
    "of the calibrators whose calibration error or Brier score is shown to be smaller, the one with the smallest Brier "
    "score; none whose Brier score is larger than that of the own probabilities, or whose calibration error is shown "
    "to be larger"
)


class Change(NamedTuple):
    """What a calibrator changes in one measure: calibrated minus own probabilities, so that negative is better.

    Its interval and those of the other calibrators hold together; it is None for the squared error and for several
    splits. The adjusted p-value is by Holm's method: over the errors and Brier scores of all calibrators together, or
    over the log losses of all.
    """

    difference: float
    confidence_interval: tuple[float, float] | None
    pvalue: float
    pvalue_adjusted: float

    def lower(self, level: float) -> bool:
        """Whether the measure is shown to be smaller."""
        return self.difference < 0 and self.pvalue_adjusted <= level

    def higher(self, level: float) -> bool:
        """Whether the measure is shown to be larger."""
        return self.difference > 0 and self.pvalue_adjusted <= level


@final
@dataclass(frozen=True, eq=False)
class Changes:
    """What a calibrator changes on rows that it was not fitted on, with several splits on average.

    `error` is the squared calibration error through the lens; `brier` and `log` are scores of the whole predictions,
    paired by row.
    """

    name: str
    error: Change
    brier: Change
    log: Change

    def better(self, level: float) -> bool:
        """Whether error or Brier score is shown to be smaller, and neither speaks against the calibrator."""
        return self.shown_lower(level) and self.brier.difference <= 0 and not self.error.higher(level)

    def shown_lower(self, level: float) -> bool:
        """Whether the error or the Brier score is shown to be smaller."""
        return self.error.lower(level) or self.brier.lower(level)

    def shown_higher(self, level: float) -> bool:
        """Whether the error or the Brier score is shown to be larger."""
        return self.error.higher(level) or self.brier.higher(level)

    @property
    def pvalue_of_better(self) -> float:
        """The smallest adjusted p-value of error and Brier score, of those that are smaller; 1 if none is."""
        return min([1.0, *(each.pvalue_adjusted for each in (self.error, self.brier) if each.difference < 0)])

    @property
    def pvalue_of_worse(self) -> float:
        """The smallest adjusted p-value of error and Brier score, of those that are larger; 1 if none is."""
        return min([1.0, *(each.pvalue_adjusted for each in (self.error, self.brier) if each.difference > 0)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        each = {"error": self.error, "brier": self.brier, "log": self.log}
        return {"name": self.name} | {
            f"{name}_{field}": value for name, change in each.items() for field, value in change._asdict().items()
        }


@final
@dataclass(frozen=True, eq=False)
class Scores:
    """Proper scores of the test rows; smaller is better.

    `brier` and `log` are of the whole predictions, the other two of what is seen through the lens: `calibration` is the
    part of the Brier score that vanishes if each cell's mean residual is added to its predictions (unbiased, binned),
    and `refinement` is the rest, which grows as sharpness is lost. `n_clipped` is the number of rows, over all splits,
    whose outcome had such a small probability that the log score replaces it by a larger one.
    """

    brier: float
    log: float
    calibration: float
    refinement: float
    n_clipped: int


@final
@dataclass(frozen=True, eq=False, repr=False)
class CalibratorResult(Result):
    """The results of one calibrator on rows that it was not fitted on; with several splits, their means.

    `calibrator` is its repr, or "" for the original predictions. `tests` has one test for each split, of the debiased
    squared error under its own null, and `values` these errors; of rows in clusters the values count only pairs of rows
    of different clusters, as comparisons do. `root_interval` is the interval of the root error, for a single split;
    those of all calibrators hold together.
    """

    name: str
    calibrator: str
    tests: tuple[CalibrationTest, ...]
    values: tuple[float, ...]
    scores: Scores
    root_interval: ConfidenceInterval | None

    _no_display: ClassVar[str] = "the plot() of its comparison draws it beside the others"

    @property
    def value(self) -> float:
        """The debiased squared error."""
        return float(np.mean(self.values))

    @property
    def root(self) -> float:
        """The root of the squared error, or 0 if that is negative."""
        return float(np.sqrt(max(0.0, self.value)))

    @property
    def pvalue(self) -> float:
        """The exact p-value of "this model is calibrated"; with several splits, twice the median."""
        return twice_median([test.pvalue for test in self.tests])

    def row(self, level: float) -> ForestRow:
        """Return the row of a forest plot; with several splits noise is the mean of its limits."""
        limit = float(np.mean([test.null_distribution.quantile(1 - level) for test in self.tests]))
        found = model_row(self.name, self.value, None, limit, self.pvalue <= level)
        return found._replace(interval=self.root_interval)

    @property
    def verdict(self) -> str:
        """One sentence with the error and the p-value."""
        of = f" of {self.tests[0].question.what}"
        return f"{self.name}: calibration error{of} {_root(self)}, p {small_pvalue(self.pvalue)}.{_direction('', self)}"

    def _details(self) -> list[tuple[str, str]]:
        scores = self.scores
        return [
            ("scores", f"Brier {decimals(scores.brier)}, log loss {decimals(scores.log)}"),
            ("sharpness", f"{_SHARPNESS}: {decimals(scores.refinement)}"),
            ("calibrator", self.calibrator or "none: the model's own probabilities"),
        ]

    def _counted(self) -> dict[str, Any]:
        return RowCounts.least(test.question.counts for test in self.tests)._asdict()

    def _values(self) -> dict[str, Any]:
        return {
            **picked(self, "name calibrator value root root_interval pvalue"),
            "pvalues": [test.pvalue for test in self.tests],
            "null_mean": float(np.mean([test.null_mean for test in self.tests])),
            **picked(self.scores, "brier log calibration refinement"),
            "log_clipped_rows": self.scores.n_clipped,
        }


@final
@dataclass(frozen=True, eq=False, repr=False)
class PairResult(Result):
    """Two calibrators on the same test rows, with one test for each split.

    `pvalue_adjusted` of the squared errors and `brier_pvalue_adjusted` of the Brier scores are each adjusted over all
    pairs. The interval is of this pair alone.
    """

    first: CalibratorResult
    second: CalibratorResult
    tests: tuple[ComparisonTest, ...]
    pvalue_adjusted: float
    brier_pvalue_adjusted: float
    level: float
    n_fit: int
    n_test: int

    _no_display: ClassVar[str] = "the plot() of its comparison shows which pairs are told apart"

    @property
    def names(self) -> tuple[str, str]:
        """The names of both."""
        return self.first.name, self.second.name

    @property
    def verdict(self) -> str:
        """One sentence: which of the two is better and by how much, or that they cannot be told apart."""
        of, p = f" of {self.tests[0].questions[0].what}", small_pvalue(self.pvalue_adjusted, level=self.level)
        if not self.rejects:
            return (
                f"{self.first.name} and {self.second.name} cannot be told apart at {percent(self.level)} by their "
                f"calibration errors{of} (adjusted p {p})."
            )
        better, worse = (self.first, self.second) if self.difference < 0 else (self.second, self.first)
        return (
            f"{better.name} is better calibrated than {worse.name}: calibration error{of} {_root(better)} instead of "
            f"{_root(worse)}, adjusted p {p} (at most {percent(self.level)})."
        )

    def _notes(self) -> tuple[str, ...]:
        interval = self.confidence_interval
        if self.rejects or interval is None or interval.low <= 0 <= interval.high:
            return ()
        return ("the interval of the difference excludes 0, but the p-value decides",)

    def _details(self) -> list[tuple[str, str]]:
        difference = number(self.difference, self.first.value, self.second.value)
        error, interval = self.split_standard_error, self.confidence_interval
        if interval is not None:
            difference += f" ({interval_text(interval, self.tests[0].confidence_level)}, of this pair alone)"
        elif error is not None:
            difference += (
                f" (mean over {len(self.tests)} splits, their standard error {number(error, self.difference)})"
            )
        brier = pvalue_cell(self.brier_pvalue_adjusted, self.level)
        return [
            ("squared", f"difference of the squared errors, {self.first.name} minus {self.second.name}: {difference}"),
            ("Brier", f"adjusted p of the difference of Brier scores: {brier}"),
        ]

    @property
    def difference(self) -> float:
        """The squared error of the first minus that of the second; with several splits, the mean."""
        return float(np.mean([test.difference for test in self.tests]))

    @property
    def pvalue(self) -> float:
        """The wrapped p-value of this pair by itself; with several splits, twice the median."""
        return twice_median([test.pvalue for test in self.tests])

    @property
    def rejects(self) -> bool:
        """Whether the calibration errors are told apart."""
        return self.pvalue_adjusted <= self.level

    @property
    def told_apart(self) -> bool:
        """Whether calibration errors or Brier scores are."""
        return min(self.pvalue_adjusted, self.brier_pvalue_adjusted) <= self.level

    @property
    def confidence_interval(self) -> ConfidenceInterval | None:
        """The interval of the difference, not wrapped, for a single split; None for several."""
        return self.tests[0].confidence_interval if len(self.tests) == 1 else None

    @property
    def split_standard_error(self) -> float | None:
        """The standard error of the mean difference over several splits (Nadeau & Bengio 2003); no p-value uses it."""
        return corrected_standard_error([test.difference for test in self.tests], self.n_fit, self.n_test)

    def _counted(self) -> dict[str, Any]:
        return RowCounts.least(asked.counts for test in self.tests for asked in test.questions)._asdict()

    def _values(self) -> dict[str, Any]:
        return {
            "first": self.first.name,
            "second": self.second.name,
            **picked(self, "difference confidence_interval split_standard_error pvalue pvalue_adjusted"),
            "brier_pvalue_adjusted": self.brier_pvalue_adjusted,
            "differences": [test.difference for test in self.tests],
            "pvalues": [test.pvalue for test in self.tests],
            "brier_difference": self.first.scores.brier - self.second.scores.brier,
            "refinement_difference": self.first.scores.refinement - self.second.scores.refinement,
        }


def recommended(changes: Sequence[Changes], level: float) -> str:
    """Return the name of the best of the calibrators that are shown to be better, or that of the own probabilities."""
    better = [each for each in changes if each.better(level)]
    return min(better, key=lambda each: each.brier.difference).name if better else UNCALIBRATED


def advice_in_words(advice: Sequence[str]) -> str:
    """Say what other splits recommend, the most frequent advice first.

    >>> advice_in_words(["beta", "uncalibrated", "beta"])
    'advice of 3 other splits: 2 for beta, 1 for none'
    """
    named = Counter("none" if each == UNCALIBRATED else each for each in advice)
    said = [f"{n} for {name}" for name, n in named.most_common()]
    return f"advice of {counted(len(advice), 'other split')}: {', '.join(said)}"


def over_splits(n_splits: int) -> int:
    """Return how many times the p-value of a split counts: twice the median."""
    return 2 if n_splits > 1 else 1


def least_factor_of_changes(n_calibrators: int, n_splits: int) -> float:
    """Return the smallest adjusted p-value of an error that a calibrator changes, times 1 + R; twice a model's."""
    return 2 * over_splits(n_splits) * least_factor("holm", 2 * n_calibrators)


# Comparisons of calibrators in words. Words never accept a null hypothesis.


def _direction(when: str, model: CalibratorResult) -> str:
    """Say which way a model errs, where there are two outcomes."""
    found = model.tests[0].question.direction
    return "" if found is None else f"{when + ':' if when else ''} {found}."


# Scores below this are of rare events, and differ in digits further behind.
_SMALL = 0.01
_ZERO = 1e-12


def decimals(value: float) -> str:
    """Write five decimals, or seven of what is small; a zero has no sign."""
    digits = 7 if 1e-7 <= abs(value) < _SMALL else 5
    return f"{round(value, digits) + 0.0:.{digits}f}"


def signed(value: float) -> str:
    """Write five decimals with the sign, or two significant digits of what is smaller; a zero has none."""
    if abs(value) < _ZERO:
        return f"{0.0:.5f}"
    return f"{value:+.2g}" if round(value, 5) == 0 else f"{value:+.5f}"


def _root(model: CalibratorResult) -> str:
    """Write the error with its interval, or only the upper end where removing noise leaves nothing."""
    interval = _root_ends(model)
    if model.root_interval is not None and not model.root:
        return f"at most {model.root_interval[1]:.3f}"
    return f"{model.root:.3f} ({interval})" if interval else f"{model.root:.3f}"


def _root_ends(model: CalibratorResult) -> str:
    return "" if model.root_interval is None else f"{model.root_interval[0]:.3f} to {model.root_interval[1]:.3f}"


def twice_median(pvalues: Sequence[float]) -> float:
    """Combine p-values that may depend on each other in any way: twice their median, at most 1 (Rueger 1978).

    If every single p-value is valid, the combined one is too: under all hypotheses together it is at most alpha with
    probability at most alpha. Meinshausen, Meier & Buehlmann (2009) do so for splits, with any quantile. A single
    p-value is returned as it is.
    """
    if len(pvalues) == 1:
        return float(pvalues[0])
    return min(1.0, 2 * float(np.median(pvalues)))


def corrected_standard_error(values: Sequence[float], n_fit: int, n_test: int) -> float | None:
    """Return the standard error of the mean over J random splits, widened for the rows that they share.

    It is the root of :math:`(1 / J + n_{test} / n_{fit}) S^2` (Nadeau & Bengio 2003); None for a single split. It
    describes how the mean varies over fits and rows; since no unbiased estimate of that exists, no p-value uses it.
    """
    if len(values) < 2:
        return None
    return float(np.sqrt((1 / len(values) + n_test / n_fit) * np.var(values, ddof=1)))
