"""Is one model better calibrated than another, or is the difference noise?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from scipy.special import ndtri

from calibstat.data.arrays import RNG, as_generator
from calibstat.data.parameters import true_or_false
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator, Headline
from calibstat.inference.differences import CellResiduals, difference_error, same_labels, same_rows, wrapped_pvalue
from calibstat.inference.estimate import level_between
from calibstat.inference.results import LEVEL, Asked, Result, interval_text, noted, number, pvalue_cell, small_pvalue
from calibstat.inference.scores_compared import (
    RecalibrationDifference,
    ScoreDifference,
    recalibration_difference,
    score_difference,
)
from calibstat.inference.spread import ConfidenceInterval, NoInterval, normal_pvalue, standardized
from calibstat.inference.test import check_asked, describe
from calibstat.nulls.consistency import Consistency


def comparison_test(
    a: Sample,
    b: Sample,
    estimator: Estimator,
    *,
    paired: bool = True,
    names: tuple[str, str] = ("A", "B"),
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: RNG = None,
) -> ComparisonTest:
    """Test the hypothesis that two models have the same squared calibration error.

    The difference of two debiased squared errors, each in the cells of its own model, is divided by the root of its
    total variance: a linear part where the models are off, and a degenerate one where they are not. Cells in which
    fewer than four rows have another outcome than the commonest show too little noise; their rows count as if outcomes
    were drawn midway between the two models' predictions, the nearest case of equal errors (with different rows: cells
    of equal outcomes as if the chance of another one were 3 / n). Both models may be
    calibrated and the difference then is noise of a smaller order, so the p-value is wrapped: it is the larger of the
    normal one and of twice the smaller exact p-value of "this model is calibrated" (intersection-union of the two
    cases; Dimitriadis & Puke 2026). It rejects only where the models differ and not both are calibrated.

    Beside it stands, for two outcomes, the difference of what a linear recalibration would gain each model: more
    powerful for errors that a straight line removes, blind to others. It is a second test of the same rows: choose
    one of the two p-values beforehand.

    Exchanging the models' predictions row by row tests whether they are interchangeable, which is another question,
    and the difference of Brier scores, shown apart, is one of skill: calibration and sharpness together.

    Parameters
    ----------
    a, b : Sample
        What two models said about the same rows (paired), or about different ones.
    estimator : Estimator
        ``DebiasedL2`` with its lens: for example ``TopLabel() | DebiasedL2(EqualMass(15))``.
    paired : bool
        Whether the rows are the same, in the same order.
    names : (str, str)
        What to call the models in texts.
    confidence_level : float
        Of the interval of the difference.
    n_resamples : int
        For the exact p-values.
    rng : int, Generator or None

    Returns
    -------
    ComparisonTest
        With ``difference`` (the first minus the second), ``pvalue``, ``confidence_interval``; prints itself in words.

    Raises
    ------
    ValueError
        If paired rows are not the same, labels differ, the estimator is not a debiased squared error, or a cell holds
        too few rows.

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
    check_asked(a, estimator)
    check_asked(b, estimator)
    level_between(confidence_level)
    true_or_false("paired", paired)
    _check_names(names)
    same_labels(a, b)
    seen = (estimator.lens(a), estimator.lens(b))
    asked = (describe(estimator, seen[0]), describe(estimator, seen[1]))
    if paired:
        same_rows(a, b, estimator, "use paired=False")
    cells = (cells_of(estimator, seen[0]), cells_of(estimator, seen[1]))
    difference = cells[0].value - cells[1].value
    error = difference_error(*cells, paired)
    size = max(each.size for each in cells)
    normal = normal_pvalue(difference, error, size)
    generator = as_generator(rng)
    own = tuple(own_pvalue(estimator, each, n_resamples, generator) for each in seen)
    reach = float(ndtri(0.5 + confidence_level / 2)) * error
    return ComparisonTest(
        difference=difference,
        pvalue=wrapped_pvalue(normal, own),
        statistic=standardized(difference, error, size),
        normal_pvalue=normal,
        own_pvalues=(own[0], own[1]),
        values=(cells[0].value, cells[1].value),
        standard_error=error,
        confidence_interval=ConfidenceInterval(difference - reach, difference + reach),
        confidence_level=confidence_level,
        recalibration_difference=recalibration_difference(seen, paired, n_resamples, generator),
        score_difference=score_difference(a, b, estimator, paired),
        paired=paired,
        names=names,
        asked=asked,
        n_resamples=n_resamples,
    )


def _check_names(names: tuple[str, str]) -> None:
    if isinstance(names, str) or len(names) != 2 or names[0] == names[1]:
        raise ValueError(f"names is {names!r}; it must be two different names, for example ('raw', 'calibrated').")


def cells_of(estimator: Estimator, seen: Sample, verb: str = "comparison_test") -> CellResiduals:
    """Cut the cells of a model, or say which estimator would do."""
    try:
        return CellResiduals.of(estimator.core, seen)
    except NoInterval as reason:
        raise ValueError(f"{verb}: {reason}.") from reason


def own_pvalue(estimator: Estimator, seen: Sample, n_resamples: int, rng: np.random.Generator) -> float:
    """Return the exact p-value of "this model is calibrated"."""
    core = Headline(estimator.core)
    evaluator = core.prepare(seen.predictions)
    value = float(evaluator(seen.outcomes))
    return Consistency(n_resamples).draw(core, seen, rng, evaluator).pvalue(value)


# What a comparison of two models found, in words.

ENOUGH_ROWS = 500


@final
@dataclass(frozen=True, eq=False, repr=False)
class ComparisonTest(Result):
    """What `comparison_test` found; unpacks to ``(difference, pvalue)``.

    Parameters
    ----------
    difference : float
        Debiased squared error of the first model minus that of the second, each in its own cells.
    pvalue : float
        Wrapped: the larger of `normal_pvalue` and twice the smaller of `own_pvalues`.
    statistic : float
        The difference in standard errors.
    normal_pvalue : float
        Of the statistic alone; not valid where both models are calibrated.
    own_pvalues : (float, float)
        Exact p-value of each model by itself, for "this model is calibrated".
    values : (float, float)
        The debiased squared errors.
    standard_error : float
        Root of the total variance of the difference.
    confidence_interval : ConfidenceInterval
        Of the difference, not wrapped.
    confidence_level : float
    recalibration_difference : RecalibrationDifference or None
        Of what a linear recalibration gains; for two outcomes without weights.
    score_difference : ScoreDifference
    paired : bool
    names : (str, str)
    asked : (Asked, Asked)
    n_resamples : int
        Of the exact p-values.
    """

    difference: float
    pvalue: float
    statistic: float
    normal_pvalue: float
    own_pvalues: tuple[float, float]
    values: tuple[float, float]
    standard_error: float
    confidence_interval: ConfidenceInterval
    confidence_level: float
    recalibration_difference: RecalibrationDifference | None
    score_difference: ScoreDifference
    paired: bool
    names: tuple[str, str]
    asked: tuple[Asked, Asked]
    n_resamples: int

    _display: ClassVar[str] = "ComparisonDisplay"

    def __iter__(self) -> Iterator[float]:
        return iter((self.difference, self.pvalue))

    @property
    def root_values(self) -> tuple[float, float]:
        """Roots of the squared errors, those of negative ones zero: in probability units."""
        first, second = (float(np.sqrt(max(value, 0.0))) for value in self.values)
        return first, second

    @property
    def hypothesis(self) -> str:
        """Which hypothesis the p-value belongs to."""
        first, second = self.names
        return (
            f"{first} and {second} have the same squared calibration error through {self.asked[0].lens!r}, each binned "
            "by its own cells (both may be zero)"
        )

    @property
    def verdict(self) -> str:
        """One sentence: which model has the smaller error, or that they cannot be told apart."""
        first, second = self.names
        where = f"through {self.asked[0].lens!r} ({self._rows_text()}, p {small_pvalue(self.pvalue)})"
        if self.pvalue > LEVEL:
            return f"The calibration errors of {first} and {second} cannot be told apart {where}."
        smaller = first if self.difference < 0 else second
        differ = f"Evidence that the calibration errors of {first} and {second} differ"
        return f"{differ} {where}: that of {smaller} is smaller."

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the result."""
        found = []
        if min(asked.n for asked in self.asked) < ENOUGH_ROWS:
            found.append(f"fewer than {ENOUGH_ROWS} rows: the normal approximation is for at least as many")
        low, high = self.confidence_interval
        if self.pvalue > LEVEL and not low <= 0 <= high:
            found.append("the interval excludes 0, but not where both models may be calibrated: the p-value decides")
        return tuple(found)

    def _values(self) -> dict[str, Any]:
        return {
            "models": self.names,
            "lens": repr(self.asked[0].lens),
            "estimator": repr(self.asked[0].estimator.core),
            "n": [asked.n for asked in self.asked],
            "source": [asked.source for asked in self.asked],
            "paired": self.paired,
            "difference": self.difference,
            "pvalue": self.pvalue,
            "statistic": self.statistic,
            "normal_pvalue": self.normal_pvalue,
            "own_pvalues": self.own_pvalues,
            "values": self.values,
            "root_values": self.root_values,
            "standard_error": self.standard_error,
            "confidence_interval": list(self.confidence_interval),
            "confidence_level": self.confidence_level,
            "n_resamples": self.n_resamples,
            "recalibration_difference": None if (line := self.recalibration_difference) is None else line._asdict(),
            "score_difference": self.score_difference._asdict(),
            "hypothesis": self.hypothesis,
            "notes": self.notes,
        }

    def _details(self) -> list[tuple[str, str]]:
        first, second = self.names
        roots, score, line = self.root_values, self.score_difference, self.recalibration_difference
        return [
            (
                "difference",
                f"{number(self.difference, *self.values)} ({first} minus {second}), in units of squared probability; "
                f"{interval_text(self.confidence_interval, self.confidence_level)}",
            ),
            (
                "errors",
                f"{first} {number(*self.values)}, {second} {number(*reversed(self.values))} (squared, binned by each "
                f"model's own cells, unbiased); roots {number(roots[0])}, {number(roots[1])}",
            ),
            (
                "p-value",
                f"{pvalue_cell(self.pvalue)}: the larger of {pvalue_cell(self.normal_pvalue)} (normal) and twice the "
                f"smaller of {self.own_pvalues[0]:.3g} and {self.own_pvalues[1]:.3g} (each model by itself, exact)",
            ),
            ("null", self.hypothesis),
            ("estimator", repr(self.asked[0].estimator)),
            *([] if line is None else [("line", self._recalibration_text(line))]),
            (
                "skill",
                f"Brier score {number(score.difference, score.standard_error)} ({first} minus {second}, p "
                f"{small_pvalue(score.pvalue)}): calibration and sharpness together, not a calibration error",
            ),
            *noted(self.notes),
        ]

    def _recalibration_text(self, line: RecalibrationDifference) -> str:
        first, second = self.names
        return (
            f"{number(line.difference, line.standard_error)} ({first} minus {second}, p {small_pvalue(line.pvalue)}, "
            "wrapped likewise): Brier score that a linear recalibration would gain"
        )

    def _rows_text(self) -> str:
        first, second = (asked.n for asked in self.asked)
        return f"n = {first}, the same rows" if self.paired else f"n = {first} and {second}, different rows"
