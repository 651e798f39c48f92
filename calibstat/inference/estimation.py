"""By how much is the model off?"""

from __future__ import annotations

from calibstat.arrays import RNG, as_generator
from calibstat.estimators.base import Estimator
from calibstat.inference.results import Estimate
from calibstat.inference.testing import describe
from calibstat.nulls.consistency import Consistency
from calibstat.sample import Sample

_NO_INTERVAL = (
    "percentile bootstrap intervals of a calibration error do not cover the truth (0 to 9 % of the time for small "
    "errors), and intervals that do are not part of this version; read the value against its null mean"
)


def estimate(
    sample: Sample, estimator: Estimator, *, confidence_level: float = 0.95, n_resamples: int = 999, rng: RNG = None
) -> Estimate:
    """Estimate a calibration error, and show what noise alone would give.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    estimator : Estimator
        With its lens: for example ``TopLabel() | ECE(EqualMass(15))``.
    confidence_level : float
        Kept for the interval; there is none yet (``confidence_interval`` is None and the text says why).
    n_resamples : int
        Number of redraws of the labels for the null mean.
    rng : int, Generator or None

    Returns
    -------
    Estimate
        With ``estimate`` and ``null_mean``; prints itself in words.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(500)
    >>> found = cs.estimate(cs.Sample(rng.random(500) < p, p), cs.ECE(cs.EqualMass(10)), rng=0)  # a calibrated world
    >>> round(found.estimate, 4), round(found.null_mean, 4)
    (0.0542, 0.0447)
    """
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level is {confidence_level!r}; it must lie between 0 and 1, for example 0.95.")
    seen = estimator.lens(sample)
    asked = describe(estimator, seen)
    distribution = Consistency(n_resamples).draw(estimator.core, seen, as_generator(rng))
    mean = distribution.mean
    return Estimate(
        estimate=estimator.core(seen),
        null_mean=float(mean) if mean.ndim == 0 else mean,
        confidence_interval=None,
        confidence_level=confidence_level,
        interval_note=_NO_INTERVAL,
        asked=asked,
    )
