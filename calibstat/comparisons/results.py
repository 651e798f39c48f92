"""Results of a comparison of calibrators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted, percent
from calibstat.comparisons.splits import Split
from calibstat.estimators.base import Estimator
from calibstat.estimators.scores import LogScore
from calibstat.inference.compare import ENOUGH_ROWS, ComparisonTest
from calibstat.inference.forest import Forest, ForestRow, best_and_apart, model_row, models_caption
from calibstat.inference.intervals import ConfidenceInterval
from calibstat.inference.multiplicity import ADJUSTMENTS, cannot_reject, least_factor
from calibstat.inference.results import (
    CalibrationTest,
    Result,
    RowCounts,
    frame,
    interval_text,
    noted,
    number,
    picked,
    small_pvalue,
)
from calibstat.lenses.base import Lens

if TYPE_CHECKING:
    import pandas as pd

_CROSS_FITTED = (
    "cross-fitted: each row is predicted by a calibrator that has not seen it, but the fits share rows; so the null of "
    "redrawn labels, and every p-value based on it, is only approximate for calibrators"
)


@final
@dataclass(frozen=True, eq=False, repr=False)
class CalibratorComparison(Result):
    """The result of `compare_calibrators`.

    Parameters
    ----------
    models : tuple of CalibratorResult
        The original predictions ("uncalibrated") first, then the calibrators in their order.
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
    n_resamples : int
    cross_fitted : bool
        Whether all rows are test rows, each predicted by a calibrator that was fitted on the other folds.
    notes : tuple of str
        Limits of the result.
    """

    models: tuple[CalibratorResult, ...]
    pairs: tuple[PairResult, ...]
    splits: tuple[Split, ...]
    estimator: Estimator
    adjust: str
    level: float
    confidence_level: float
    n_resamples: int
    cross_fitted: bool
    notes: tuple[str, ...]

    _display: ClassVar[str] = "ComparisonDisplay"
    _row: ClassVar[str] = "pair"
    _text_columns: ClassVar[tuple[int, ...]] = (0, 3)

    def __getitem__(self, name: str) -> CalibratorResult:
        for each in self.models:
            if each.name == name:
                return each
        raise KeyError(f"there is no {name!r}; there are {[each.name for each in self.models]}")

    @property
    def verdict(self) -> str:
        """The sentences that say which calibrators are better than which, or that none can be told apart."""
        told = [pair for pair in self.pairs if pair.rejects]
        if not told:
            smallest = min(pair.pvalue_adjusted for pair in self.pairs)
            names = ", ".join(each.name for each in self.models)
            least = least_factor_of_pairs(len(self.pairs), 1 if self.cross_fitted else len(self.splits), self.adjust)
            none = cannot_reject(self.n_resamples, least, self.level)
            return (
                f"{none} No two of {names} can be told apart at {percent(self.level)} by their binned errors "
                f"{where(self.estimator.lens)} (smallest adjusted p {small_pvalue(smallest, level=self.level)})."
            ).lstrip()
        return "\n".join(pair.verdict for pair in told)

    @property
    def hypotheses(self) -> tuple[str, str]:
        """The null of each single test, and of each comparison of two."""
        pair = f"two have the same squared calibration error {where(self.estimator.lens)}, each binned by its own cells"
        own = self.models[0].tests[0].hypothesis
        if self.cross_fitted:
            own = own.replace("(exact)", "(exact for the predictions as given, approximate for cross-fitted ones)")
        return own, f"{pair} (both may be zero)"

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
            f"{models_caption(self.confidence_level, self.level, squared=True)} {' '.join(self.verdict.splitlines())}",
            interval=f"{percent(self.confidence_level)} interval" if models[0].root_interval else "",
            noise=f"{percent(1 - self.level)} if calibrated",
            apart=tuple((place[pair.first.name], place[pair.second.name]) for pair in told),
        )

    def _rows(self) -> list[dict[str, Any]]:
        return [pair.to_dict() for pair in self.pairs]

    def models_to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each calibrator."""
        return frame([each.to_dict() for each in self.models])

    def _counted(self) -> dict[str, Any]:
        return RowCounts.least(test.question.counts for each in self.models for test in each.tests)._asdict()

    def _values(self) -> dict[str, Any]:
        own, pair = self.hypotheses
        return {
            "lens": repr(self.estimator.lens),
            "estimator": repr(self.estimator.core),
            "n_fit": len(self.splits[0].fit_rows),
            "n_test": self._n_test,
            "n_splits": 1 if self.cross_fitted else len(self.splits),
            **picked(self, "cross_fitted adjust level confidence_level n_resamples models pairs"),
            "hypothesis": own,
            "pair_hypothesis": pair,
            "notes": self.all_notes,
        }

    @property
    def all_notes(self) -> tuple[str, ...]:
        """Limits of the result, also those that follow from how rows were split."""
        found = list(self.notes)
        if self.cross_fitted:
            found.append(_CROSS_FITTED)
        clipped = [each for each in self.models if each.scores.n_clipped]
        if clipped:
            rows = ", ".join(f"{each.name} in {counted(each.scores.n_clipped, 'row')}" for each in clipped)
            found.append(
                f"log takes a probability below {LogScore().clip:g} for this much, or it would be infinite; the "
                f"outcome had such a probability for {rows}"
            )
        if self._n_test < ENOUGH_ROWS:
            found.append(f"fewer than {ENOUGH_ROWS} test rows: the p-value of a difference is only about right")
        return tuple(found)

    def _sentences(self) -> list[str]:
        return [self.verdict, *apart_lines(self.pairs), f"  {self._rows_text()}"]

    def _table(self) -> list[list[str]]:
        return error_table(self.models, self.confidence_level)

    def _details(self) -> list[tuple[str, str]]:
        own, pair = self.hypotheses
        exact = "only approximate for calibrators, see the note" if self.cross_fitted else "exact"
        return [
            ("squared", "unbiased squared calibration error of cell means, in each one's own cells; root: its root"),
            ("p", f"of the test of each one by itself ({exact})"),
            (
                "scores",
                "seen through the lens; Brier = squared calibration error + refinement, which grows as sharpness is "
                "lost",
            ),
            ("null", own),
            ("pairs", f"{pair}; {self._pair_text()}"),
            ("estimator", repr(self.estimator)),
            *noted(self.all_notes),
        ]

    @property
    def _n_test(self) -> int:
        parts = self.splits if self.cross_fitted else self.splits[:1]
        return sum(len(each.test_rows) for each in parts)

    def _rows_text(self) -> str:
        if self.cross_fitted:
            return f"tested on all {counted(self._n_test, 'row')}, cross-fitted in {counted(len(self.splits), 'fold')}"
        one = f"tested on {counted(self._n_test, 'row')}, fitted on {counted(len(self.splits[0].fit_rows), 'other')}"
        return one if len(self.splits) == 1 else f"{one}, in {len(self.splits)} random splits of the same rows"

    def _pair_text(self) -> str:
        several = len(self.splits) > 1 and not self.cross_fitted
        twice = "twice the median over splits, then " if several else ""
        return (
            "p is the larger of that of the difference and of twice the smaller p of the two by themselves, "
            f"{twice}adjusted {ADJUSTMENTS[self.adjust]} over {len(self.pairs)}"
        )


@final
@dataclass(frozen=True, eq=False)
class Scores:
    """Proper scores of the test rows, seen through the lens; smaller is better.

    `calibration` is the part of the Brier score that vanishes if each cell's mean residual is added to its predictions
    (unbiased, binned). `refinement` is the rest, which grows as sharpness is lost. `n_clipped` is the number of rows,
    over all splits, whose outcome had such a small probability that the log score replaces it by a larger one.
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
    squared error under its own null. `root_interval` is the interval of the root error, for a single split.
    """

    name: str
    calibrator: str
    tests: tuple[CalibrationTest, ...]
    scores: Scores
    root_interval: ConfidenceInterval | None

    _no_display: ClassVar[str] = "the plot() of its comparison draws it beside the others"

    @property
    def value(self) -> float:
        """The debiased squared error."""
        return float(np.mean([test.statistic for test in self.tests]))

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
        """One sentence with the root error and the p-value."""
        interval = f" ({_root_ends(self)})" if self.root_interval else ""
        return f"{self.name}: root calibration error {self.root:.3g}{interval}, p = {self.pvalue:.3g}"

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
    """Two calibrators on the same test rows, with one test for each split; `pvalue_adjusted` is over all pairs."""

    first: CalibratorResult
    second: CalibratorResult
    tests: tuple[ComparisonTest, ...]
    pvalue_adjusted: float
    level: float
    n_fit: int
    n_test: int

    _no_display: ClassVar[str] = "the plot() of its comparison shows which pairs are told apart"

    @property
    def verdict(self) -> str:
        """One sentence: which of the two is better and by how much, or that they cannot be told apart."""
        lens = where(self.tests[0].questions[0].lens)
        if not self.rejects:
            names = f"{self.first.name} and {self.second.name}"
            at = f"at {percent(self.level)}"
            return f"{names} cannot be told apart {at} by their binned errors {lens} ({_adjusted(self)})."
        better, worse = (self.first, self.second) if self.difference < 0 else (self.second, self.first)
        difference = number(abs(self.difference), better.value, worse.value)
        return (
            f"{better.name} is better calibrated than {worse.name} {lens}: binned squared calibration error lower by "
            f"{difference} ({_spread(self)}root errors {_root(better)} and {_root(worse)}), adjusted p "
            f"{small_pvalue(self.pvalue_adjusted, level=self.level)} (at most {percent(self.level)})."
        )

    @property
    def difference(self) -> float:
        """The squared error of the first minus that of the second; with several splits, the mean."""
        return float(np.mean([test.difference for test in self.tests]))

    @property
    def pvalue(self) -> float:
        """The wrapped p-value of this pair by itself; with several splits, twice the median."""
        return pair_pvalue(self.tests)

    @property
    def rejects(self) -> bool:
        """Whether the adjusted p-value tells the two apart."""
        return self.pvalue_adjusted <= self.level

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
            "differences": [test.difference for test in self.tests],
            "pvalues": [test.pvalue for test in self.tests],
            "brier_difference": self.first.scores.brier - self.second.scores.brier,
            "refinement_difference": self.first.scores.refinement - self.second.scores.refinement,
        }


def least_factor_of_pairs(n_pairs: int, n_splits: int, adjust: str) -> float:
    """Return the smallest adjusted p-value of a pair, times 1 + R: twice that of a model, and again over splits."""
    return 2 * (2 if n_splits > 1 else 1) * least_factor(adjust, n_pairs)


def pair_pvalue(tests: Sequence[ComparisonTest]) -> float:
    """Combine the wrapped p-values of the splits."""
    return twice_median([test.pvalue for test in tests])


# Comparisons of calibrators in words. Words never accept a null hypothesis.

MOST_PAIRS = 6


def where(lens: Lens) -> str:
    """Name the lens in a sentence: "for the top label", or its repr."""
    return "for the top label" if repr(lens) == "TopLabel()" else f"through {lens!r}"


def apart_lines(pairs: Sequence[PairResult]) -> list[str]:
    """List the pairs that cannot be told apart; of many pairs, only those whose interval excludes 0."""
    apart = [pair for pair in pairs if not pair.rejects]
    shown = apart if len(apart) <= MOST_PAIRS else [pair for pair in apart if outvoted(pair)]
    lines = [
        f"  {pair.first.name} and {pair.second.name} cannot be told apart at {percent(pair.level)} ({_adjusted(pair)})"
        for pair in shown
    ]
    rest = len(apart) - len(shown)
    noun = "other pair" if shown else "pair"
    at = f"at {percent(pairs[0].level)}"
    return lines if not rest else [*lines, f"  {counted(rest, noun)} cannot be told apart {at} (to_frame)"]


def outvoted(pair: PairResult) -> bool:
    """Whether the interval of the difference excludes 0, but the p-value does not reject."""
    interval = pair.confidence_interval
    return not pair.rejects and interval is not None and not interval.low <= 0 <= interval.high


def _adjusted(pair: PairResult) -> str:
    note = "; the interval of the difference excludes 0, but the p-value decides" if outvoted(pair) else ""
    return f"adjusted p {small_pvalue(pair.pvalue_adjusted, level=pair.level)}{note}"


def error_table(models: Sequence[CalibratorResult], confidence_level: float) -> list[list[str]]:
    """Return the cells of a table of errors, p-values and scores, a row for each calibrator."""
    head = ["", "squared", "root", percent(confidence_level), "p", "Brier", "refinement", "log"]
    values = [each.value for each in models]
    return [
        head,
        *(
            [
                each.name,
                number(each.value, *values),
                f"{each.root:.3g}",
                _root_ends(each),
                f"{each.pvalue:.3g}",
                _decimals(each.scores.brier),
                _decimals(each.scores.refinement),
                _decimals(each.scores.log),
            ]
            for each in models
        ),
    ]


def _decimals(value: float) -> str:
    """Write five decimals; a zero has no sign."""
    return f"{round(value, 5) + 0.0:.5f}"


def _spread(pair: PairResult) -> str:
    interval = pair.confidence_interval
    if interval is not None:
        low, high = sorted(-end if pair.difference < 0 else end for end in interval)
        return f"{interval_text((low, high), pair.tests[0].confidence_level).replace(' %:', ' % interval')}; "
    error = pair.split_standard_error
    # there is such an error only for several splits
    if error is None:
        return ""
    return f"mean over {len(pair.tests)} splits, their standard error {number(error, pair.difference)}; "


def _root(model: CalibratorResult) -> str:
    interval = _root_ends(model)
    return f"{model.root:.3g} [{interval}]" if interval else f"{model.root:.3g}"


def _root_ends(model: CalibratorResult) -> str:
    return "" if model.root_interval is None else f"{model.root_interval[0]:.3g} to {model.root_interval[1]:.3g}"


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
