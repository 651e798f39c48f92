"""Is the model calibrated, in the sense of this lens?"""

from __future__ import annotations

import numpy as np

from calibstat.arrays import RNG, as_generator
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.headline import Headline
from calibstat.inference.arguments import check_asked, check_null
from calibstat.inference.asked import Asked
from calibstat.inference.exact_law import exact_law
from calibstat.inference.limits import cluster_count, cluster_note, power_note
from calibstat.inference.results import CalibrationTest
from calibstat.nulls.base import Null
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.distributions import NullDistribution
from calibstat.nulls.exact import Exact
from calibstat.nulls.merging import Restating
from calibstat.sample import Sample


def calibration_test(
    sample: Sample, estimator: Estimator, *, null: Null | None = None, rng: RNG = None
) -> CalibrationTest:
    """Test the hypothesis that a model is calibrated, in the sense of the estimator's lens.

    The sample is looked at through ``estimator.lens`` first, and labels are redrawn there. With the default null the
    p-value is exact at every n and for every estimator: under the null, P(p <= alpha) <= alpha.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    estimator : Estimator
        The statistic, a number, with its lens: for example ``TopLabel() | ECE(EqualMass(15))``.
    null : Null, optional
        How the null distribution is had. By default it is computed (`Exact`) where statistic and data allow that,
        which does not depend on the labels, and drawn with ``Consistency(999)`` where they do not; the result says
        which. Through a lens that conditions on a
        variable that is the *strong* null (calibrated given prediction and variable); ``Weak()`` tests whether the
        mean residual is zero given the variable.
    rng : int, Generator or None
        The same `rng` gives the same p-value; a distribution that is computed needs none.

    Returns
    -------
    CalibrationTest
        With ``statistic``, ``pvalue``, ``null_distribution``; prints itself in words.

    Raises
    ------
    ValueError
        If the estimator does not give a number, no row is left in the lens's region, or ``null=Exact()`` cannot serve.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(500)
    >>> sample = cs.Sample(rng.random(500) < p**2, p)
    >>> result = cs.calibration_test(sample, cs.ECE(cs.EqualMass(10)))
    >>> print(result.verdict)
    Evidence of miscalibration through Canonical() (n = 500, p < 1e-12 (exact)). Its size: 0.1777 (expected \
calibration error of cell means, total variation, binned), where 0.04501 is expected of a calibrated model with as \
many rows.
    >>> statistic, pvalue = result
    """
    check_asked(sample, estimator)
    if null is not None:
        check_null(null)
    seen = estimator.lens(sample)
    asked = describe(estimator, seen)
    inner, note = null.restate(estimator.core, seen) if isinstance(null, Restating) else (estimator.core, "")
    core = Headline(inner)
    evaluator = core.prepare(seen.predictions)
    statistic = evaluator(seen.outcomes)
    if statistic.ndim:
        raise ValueError(
            f"{estimator!r} gives an array of shape {statistic.shape}, but a test needs one number; "
            "test a summary of it, for example ExpectedMiscalibration(binning) or MaximumMiscalibration(binning)."
        )
    value = float(statistic)
    if np.isnan(value):
        raise ValueError(f"{estimator!r} is not a number (NaN) on this sample, so there is nothing to test.")
    null, distribution = _distribution(null, core, seen, as_generator(rng), evaluator)
    return CalibrationTest(
        statistic=value,
        pvalue=distribution.pvalue(value),
        null_distribution=distribution,
        pvalue_interval=distribution.pvalue_interval(value),
        hypothesis=null.hypothesis(estimator.lens, seen.predictions.given) + note,
        null=null,
        asked=asked,
        remark=evaluator.remark(seen.outcomes),
        standardized=None if evaluator.scale is None else value / evaluator.scale,
        notes=power_note(null, distribution, value) + cluster_note(cluster_count(null, seen.predictions)),
    )


def _distribution(
    null: Null | None, core: Estimator, seen: Sample, rng: np.random.Generator, evaluator: Evaluator
) -> tuple[Null, NullDistribution]:
    """Return the null with its distribution; where none was asked for, the exact one if it is to be had."""
    if null is not None:
        return null, null.draw(core, seen, rng, evaluator)
    exact = exact_law(core, seen, evaluator)
    return (Exact(), exact) if exact else (Consistency(), Consistency().draw(core, seen, rng, evaluator))


def describe(estimator: Estimator, seen: Sample) -> Asked:
    """Record what is asked, and refuse when the lens leaves no rows."""
    if not len(seen):
        raise ValueError(f"no row is left to look at through {estimator.lens!r}; widen its region.")
    predictions = seen.predictions
    if predictions.weights is not None and not predictions.weights.any():
        raise ValueError(f"all rows seen through {estimator.lens!r} have weight 0; widen its region.")
    return Asked(estimator, len(seen), predictions.n_classes, predictions.given, predictions.source)
