"""Which calibrator to use: the usual ones are tried, and the recommended one is fitted on all rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calibstat.calibrators.isotonic import Isotonic
from calibstat.calibrators.meta import OneVsRest
from calibstat.calibrators.scaling import Beta, Platt
from calibstat.calibrators.softmax import Dirichlet, Temperature, VectorScaling
from calibstat.calibrators.spline import Spline
from calibstat.comparisons.compare import compare_calibrators
from calibstat.comparisons.results import CalibratorComparison
from calibstat.comparisons.splits import TEST_SIZE, UNCALIBRATED, fitted_on
from calibstat.data.arrays import RNG
from calibstat.data.parameters import CONFIDENCE_LEVEL, LEVEL
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.inference.arguments import check_sample
from calibstat.lenses.base import Lens

# With fewer expected rows of some class to fit on, a curve of each class follows the noise.
_ROWS_OF_A_CURVE = 50
_ROWS_OF_A_PARAMETER = 10
# Advice depends on the random split, so that so many others are asked too.
OTHER_SPLITS = 4


def recommend_calibrator(
    sample: Sample,
    calibrators: Mapping[str, Any] | None = None,
    *,
    lens: Lens | None = None,
    estimator: Estimator | None = None,
    test_size: float = TEST_SIZE,
    n_other_splits: int = OTHER_SPLITS,
    level: float = LEVEL,
    confidence_level: float = CONFIDENCE_LEVEL,
    n_resamples: int | None = None,
    rng: RNG = None,
) -> CalibratorComparison:
    """Try calibrators on rows that they were not fitted on, recommend one or none, and fit that one on all rows.

    Calibrators are compared as by `compare_calibrators`, with what that says of splits, estimators and resamples. Of
    those whose calibration error or Brier score is shown to be smaller than that of the model's own probabilities, the
    one with the smallest Brier score is recommended, unless its Brier score is larger than theirs or its error is shown
    to be larger. The p-values of both are adjusted over all calibrators together (Holm 1979), and intervals of a
    measure hold together, so that they are valid for the calibrator that was selected: where none is better, one is
    recommended with a probability of at most `level`. The log loss recommends nothing by itself, since few rows may
    decide it.

    Parameters
    ----------
    sample : Sample
        Rows that the model was not fitted on.
    calibrators : mapping of str to calibrator, optional
        By default those of `usual_calibrators`, for this number of classes and rows.
    lens, estimator
        As for `compare_calibrators`.
    test_size : float
        Share of the test rows.
    n_other_splits : int
        Number of other random splits on which the advice is asked for again: the result says how many agree.
    level : float
        The largest adjusted p-value with which a calibrator is recommended.
    confidence_level : float
        Of all intervals together.
    n_resamples, rng
        As for `compare_calibrators`.

    Returns
    -------
    CalibratorComparison
        With ``calibrator``, the name of the recommended one or "uncalibrated", and ``fitted``, fitted on all rows, or
        None; prints the recommendation and a ranked table.

    Raises
    ------
    ValueError
        If too few rows are left to test on, or a calibrator cannot be fitted.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat import generators
    >>> sample = generators.BetaPredictions(1, 1, generators.LogitShift(0.5)).sample(4000, rng=0)
    >>> found = cs.recommend_calibrator(sample, {"platt": cs.calibrators.Platt()}, rng=0)
    >>> found.calibrator
    'platt'
    >>> found.fitted.predict_proba([0.5]).round(2)
    array([[0.37, 0.63]])
    """
    check_sample(sample)
    tried = usual_calibrators(sample, test_size) if calibrators is None else calibrators
    found = compare_calibrators(
        tried,
        sample,
        lens=lens,
        estimator=estimator,
        test_size=test_size,
        n_other_splits=n_other_splits,
        level=level,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        rng=rng,
    )
    if found.calibrator == UNCALIBRATED:
        return found
    return replace(found, fitted=fitted_on(tried[found.calibrator], found.calibrator, sample))


def usual_calibrators(sample: Sample, test_size: float = TEST_SIZE) -> dict[str, Any]:
    """Return the calibrators that are worth a try, by name, for this number of classes and rows; no label is looked at.

    For two classes these are Platt, beta and temperature scaling; for more, temperature scaling, and vector scaling and
    Dirichlet where there are ten rows of the fit for each parameter, and ten of each class are expected. Where fifty
    rows of each class are expected in the fit, isotonic regression and a spline are tried too; for more classes
    isotonic regression and beta, each class against the others.
    """
    k, share = len(sample.labels), 1 - test_size
    rows = round(share * len(sample))
    rarest = share * float(sample.predictions.probabilities.sum(axis=0).min())
    curves, each_seen = rarest >= _ROWS_OF_A_CURVE, rarest >= _ROWS_OF_A_PARAMETER
    if k == 2:
        known: dict[str, tuple[Any, bool]] = {
            "platt": (Platt(), True),
            "beta": (Beta(), True),
            "temperature": (Temperature(), True),
            "isotonic": (Isotonic(), curves),
            "spline": (Spline(), curves),
        }
    else:
        known = {
            "temperature": (Temperature(), True),
            "vector": (VectorScaling(), each_seen and rows >= _ROWS_OF_A_PARAMETER * 2 * k),
            "dirichlet": (Dirichlet(), each_seen and rows >= _ROWS_OF_A_PARAMETER * k * (k + 1)),
            "beta": (OneVsRest(Beta()), curves),
            "isotonic": (OneVsRest(Isotonic()), curves),
        }
    return {name: calibrator for name, (calibrator, tried) in known.items() if tried}
