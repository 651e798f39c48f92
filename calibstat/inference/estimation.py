"""By how much is the model off?"""

from __future__ import annotations

import numpy as np

from calibstat.arrays import RNG, Floats, as_generator
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.estimators.headline import Headline
from calibstat.inference.arguments import check_asked, check_number
from calibstat.inference.bootstrap_interval import bootstrap_interval
from calibstat.inference.exact_law import exact_law
from calibstat.inference.intervals import spread_of
from calibstat.inference.limits import events_note, fewest_rows, negative_note
from calibstat.inference.results import Estimate
from calibstat.inference.spread import ConfidenceInterval, NoInterval
from calibstat.inference.testing import describe
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.distributions import EmpiricalNull
from calibstat.nulls.multiplier import Multiplier
from calibstat.resampling.bootstrap import Bootstrap
from calibstat.sample import Sample


def estimate(
    sample: Sample,
    estimator: Estimator,
    *,
    confidence_level: float = 0.95,
    interval: Bootstrap | Multiplier | None = None,
    n_resamples: int = 999,
    rng: RNG = None,
) -> Estimate:
    """Estimate a calibration error, with an interval where one is known to cover, and show what noise alone would give.

    Seminorms of the residuals (ECE, RMSCE and other binned errors, Kuiper, smooth errors) get the uniform interval:
    by the triangle inequality the error of the value is at most the same seminorm of the noise, whose law is had by
    multiplying centred signs into the residuals; the half-width is the larger of that quantile and the one of exactly
    redrawn labels. So it covers at zero, and excludes zero only where the exact test rejects at the same level; it is
    wider than need be for large errors. `DebiasedL2` gets the total-variance interval. All others get none, and
    ``interval_note`` says why.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    estimator : Estimator
        With its lens: for example ``TopLabel() | ECE(EqualMass(15))``.
    confidence_level : float
    interval : Multiplier or Bootstrap, optional
        ``Multiplier(groups="patient")`` for rows in clusters; ``Bootstrap(999, kind="percentile",
        allow_invalid=True)`` for an interval that is known not to cover.
    n_resamples : int
        Number of redraws of the labels, for the null mean and the interval.
    rng : int, Generator or None

    Returns
    -------
    Estimate
        With ``estimate``, ``confidence_interval`` and ``null_mean``; prints itself in words.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(500)
    >>> found = cs.estimate(cs.Sample(rng.random(500) < p, p), cs.ECE(cs.EqualMass(10)), rng=0)  # a calibrated world
    >>> round(found.estimate, 4), round(found.null_mean, 4)
    (0.0542, 0.045)
    >>> found.confidence_interval.low
    0.0
    """
    check_asked(sample, estimator)
    level_between(confidence_level)
    if not (interval is None or isinstance(interval, (Bootstrap, Multiplier))):
        raise TypeError(
            f"interval is {interval!r}, but a Multiplier, a Bootstrap or None (the default interval) is expected, for "
            "example Multiplier(groups='patient')."
        )
    seen = estimator.lens(sample)
    asked = describe(estimator, seen)
    generator = as_generator(rng)
    core = estimator.core
    evaluator = core.prepare(seen.predictions)
    value = evaluator(seen.outcomes)
    redraws = Consistency(n_resamples).draw(core, seen, generator, evaluator)
    found, note = _interval(core, seen, redraws.samples, confidence_level, interval, generator, evaluator)
    mean = _mean(core, seen, redraws, evaluator)
    headline, noise = core.headline(value), core.headline(redraws.samples)
    single = np.ndim(headline) == 0
    return Estimate(
        estimate=evaluator.present(value),
        null_mean=mean,
        headline=float(headline) if single else None,
        headline_null_mean=None if not single else mean if isinstance(mean, float) else float(noise.mean()),
        confidence_interval=found,
        confidence_level=confidence_level,
        interval_note=note,
        asked=asked,
        notes=_notes(float(headline), found, seen) if single else (),
    )


def level_between(confidence_level: float) -> None:
    """Refuse a level outside (0, 1)."""
    check_number("confidence_level", confidence_level, "0.95")
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level is {confidence_level!r}; it must lie between 0 and 1, for example 0.95.")


def _mean(core: Estimator, seen: Sample, redraws: EmpiricalNull, evaluator: Evaluator) -> float | Floats:
    """Return the mean under the null: the exact one of a number where it is to be had, as in `calibration_test`."""
    if evaluator.shape:
        return redraws.mean
    return float((exact_law(core, seen, evaluator) or redraws).mean)


def _notes(value: float, found: ConfidenceInterval | None, seen: Sample) -> tuple[str, ...]:
    """Say what limits an interval."""
    if found is None:
        return ()
    return negative_note(value) + events_note(fewest_rows(seen))


def _interval(
    core: Estimator,
    seen: Sample,
    redraws: Floats,
    level: float,
    asked: Bootstrap | Multiplier | None,
    rng: np.random.Generator,
    evaluator: Evaluator,
) -> tuple[ConfidenceInterval | None, str]:
    """Return the interval and what it is, or none and why."""
    if isinstance(asked, Bootstrap):
        found = bootstrap_interval(Headline(core), seen, level, asked, rng)
        return found, f"{asked.kind} bootstrap: known not to cover the true error"
    multiplier = Multiplier(len(redraws)) if asked is None else asked
    numbers = None if multiplier.groups is not None else core.headline(redraws)
    try:
        spread = spread_of(core, seen, multiplier, numbers, rng, None if evaluator.shape else evaluator)
        return spread.interval(level), spread.method
    except NoInterval as reason:
        if asked is not None:
            raise
        return None, str(reason)
