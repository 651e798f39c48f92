"""Which calibrator is best? Fitted on some rows, tested and compared on others."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any

from calibstat.arrays import RNG, as_generator
from calibstat.checks import at_least_one
from calibstat.comparisons.cells import with_large_cells
from calibstat.comparisons.fitting import UNCALIBRATED, check_calibrators
from calibstat.comparisons.judging import (
    default_estimator,
    enough_resamples,
    floor_note,
    judge_models,
    judge_pairs,
)
from calibstat.comparisons.plans import chosen_splits, recalibrated_samples
from calibstat.comparisons.result import CalibratorComparison
from calibstat.estimators.base import Estimator
from calibstat.inference.estimation import level_between
from calibstat.lenses.base import Lens
from calibstat.progress import part, track
from calibstat.sample import Sample

# Where fitting ends, and testing: shares of the time they usually take.
_FITTED, _TESTED = 0.6, 0.9


def compare_calibrators(
    calibrators: Mapping[str, Any],
    y_true: Any,
    y_prob: Any,
    *,
    variables: Any = None,
    sample_weight: Any = None,
    labels: Sequence[Hashable] | None = None,
    lens: Lens | None = None,
    estimator: Estimator | None = None,
    test_size: float | None = None,
    cv: int | None = None,
    n_splits: int = 1,
    fitted_rows: Mapping[str, Any] | None = None,
    confidence_level: float = 0.95,
    n_resamples: int | None = None,
    rng: RNG = None,
) -> CalibratorComparison:
    """Fit calibrators on some rows; test each, and compare each two, on rows that none of them was fitted on.

    Rows are split at random, evenly over the predictions and without a look at labels, so that redrawn labels have the
    law of the labels of the test rows. There the predictions as given ("uncalibrated") and those of every calibrator
    are tested for calibration, each under its own exact null, and each two are compared as by `comparison_test`: the
    difference of debiased squared errors, each binned by its own cells, with a p-value that holds also where both are
    calibrated, adjusted by Holm's method over all pairs. Proper scores stand beside it, with the part that is
    calibration and the rest (refinement), so that lost sharpness is seen.

    P-values belong to one split that is chosen beforehand by `rng`; do not draw another when you do not like them.
    With several splits they are twice the median over splits (Rueger 1978), and standard errors widened for the shared
    rows (Nadeau & Bengio 2003) describe how fits vary; they enter no p-value.

    Parameters
    ----------
    calibrators : mapping of str to calibrator
        By name; copies of them are fitted.
    y_true, y_prob, variables, sample_weight, labels
        As for `Sample`. Variables are for calibrators that name one, such as ``VariableBased("age")``.
    lens : Lens, optional
        By default ``Canonical()`` for two classes and, where the binning cuts one column, ``TopLabel()`` for more.
    estimator : Estimator, optional
        ``DebiasedL2`` with a binning, by default ``DebiasedL2(EqualMass(15))``, fewer cells for few rows; with a lens
        of its own instead of `lens`. Cells of fewer than 8 rows are merged with their neighbours.
    test_size : float, optional
        Share of the rows that are tested on, by default 0.5.
    cv : int, optional
        Instead of a split, cross-fit in so many folds and test on all rows: then p-values of calibrators are only
        approximate, and the result says so.
    n_splits : int
        Number of random splits.
    fitted_rows : mapping of str to ints, optional
        Calibrators that are fitted already, and the rows of `y_true` that they were fitted on (empty for none). They
        are not fitted again, and none of these rows is tested on.
    confidence_level : float
    n_resamples : int, optional
        For the exact p-values; by default 999, or as many as adjusted p-values of 0.02 need.
    rng : int, Generator or None
        Chooses rows and redraws labels.

    Returns
    -------
    CalibratorComparison
        With ``models``, ``pairs``, ``verdict``; prints itself in words.

    Raises
    ------
    ValueError
        If rows would be tested on that a calibrator was fitted on, or a calibrator cannot be fitted.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat import calibrators as cal, generators
    >>> from calibstat.comparisons.compare import compare_calibrators
    >>> sample = generators.BetaPredictions(1, 1, generators.LogitShift(0.5)).sample(4000, rng=0)
    >>> found = compare_calibrators(
    ...     {"platt": cal.Platt(), "beta": cal.Beta()}, sample.y_true, sample.y_prob, n_resamples=999, rng=0
    ... )
    >>> [(pair.first.name, pair.second.name, pair.rejects) for pair in found.pairs]
    [('uncalibrated', 'platt', True), ('uncalibrated', 'beta', True), ('platt', 'beta', False)]
    >>> found["uncalibrated"].pvalue <= 0.001, found["beta"].pvalue > 0.05
    (True, True)
    """
    check_calibrators(calibrators)
    level_between(confidence_level)
    at_least_one("n_splits", n_splits)
    sample = Sample(y_true, y_prob, variables=variables, sample_weight=sample_weight, labels=labels)
    split_stream, *streams = as_generator(rng).spawn(1 + n_splits)
    plans = chosen_splits(sample, calibrators, test_size, cv, n_splits, fitted_rows, split_stream)
    with part(0.0, _FITTED):
        seen = [recalibrated_samples(calibrators, sample, plan, fitted_rows or {}) for plan in track(plans, n_splits)]
    asked = default_estimator(sample, lens, estimator, len(next(iter(seen[0].values()))))
    asked, merged = with_large_cells(asked, (each for models in seen for each in models.values()))
    texts = {UNCALIBRATED: ""} | {name: " ".join(repr(each).split()) for name, each in calibrators.items()}
    chosen = list(combinations(texts, 2))
    if n_resamples is None:
        n_resamples = enough_resamples(len(chosen), n_splits)
    with part(_FITTED, _TESTED):
        models = judge_models(texts, seen, asked, confidence_level, n_resamples, streams)
    sizes = (len(plans[0][0].fit_rows), sum(len(each.test_rows) for each in plans[0]))
    with part(_TESTED, 1.0):
        pairs = judge_pairs(chosen, models, seen, asked, confidence_level, sizes)
    return CalibratorComparison(
        models=tuple(models.values()),
        pairs=pairs,
        splits=tuple(split for plan in plans for split in plan),
        estimator=asked,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        cross_fitted=cv is not None,
        notes=tuple(note for note in (merged, floor_note(len(chosen), n_splits, n_resamples)) if note),
    )
