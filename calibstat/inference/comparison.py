"""Is one model better calibrated than another, or is the difference noise?"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from calibstat.arrays import RNG, as_generator
from calibstat.checks import true_or_false
from calibstat.estimators.base import Estimator
from calibstat.estimators.headline import Headline
from calibstat.inference.arguments import check_asked
from calibstat.inference.comparison_result import ComparisonTest
from calibstat.inference.estimation import level_between
from calibstat.inference.linear_recalibration import recalibration_difference
from calibstat.inference.normal_test import normal_pvalue, standardized
from calibstat.inference.paired_rows import same_labels, same_rows
from calibstat.inference.score_difference import score_difference
from calibstat.inference.spread import ConfidenceInterval, NoInterval
from calibstat.inference.testing import describe
from calibstat.inference.total_variance import CellResiduals, difference_error
from calibstat.inference.wrapped import wrapped_pvalue
from calibstat.nulls.consistency import Consistency
from calibstat.sample import Sample


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
    >>> from calibstat.inference.comparison import comparison_test
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
