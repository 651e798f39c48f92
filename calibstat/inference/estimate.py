"""By how much is the model off?"""

from __future__ import annotations

from dataclasses import is_dataclass, replace
from math import nan
from typing import Any, Literal

import numpy as np

from calibstat._lazy import special
from calibstat._progress import one_bar, track
from calibstat.data.arrays import NUMBERS_IN_MEMORY, RNG, Floats, Ints, as_generator
from calibstat.data.groups import MINIMUM_CLUSTERS, Groups
from calibstat.data.parameters import CONFIDENCE_LEVEL, check_share, repeats
from calibstat.data.sample import Sample
from calibstat.draws.bootstrap import Bootstrap
from calibstat.draws.labels import redraw_in_clusters
from calibstat.draws.streams import stream_of
from calibstat.draws.whole_cells import sums_suffice
from calibstat.estimators.base import Estimator, Evaluator, Headline, why_undefined
from calibstat.estimators.tally import Tally
from calibstat.inference._parts import Parts, parts_of
from calibstat.inference.arguments import buckets_note, check_sample, in_buckets, look_through, with_counts
from calibstat.inference.differences import normal_interval
from calibstat.inference.finite import SquaredInterval, possible_noise
from calibstat.inference.forest import Noise
from calibstat.inference.intervals import (
    NO_NOISE,
    ConfidenceInterval,
    Interval,
    NoInterval,
    RootInterval,
    UniformInterval,
)
from calibstat.inference.results import Estimate
from calibstat.inference.test import (
    events_note,
    exact_law,
    fewest_rows,
    impossible_note,
    negative_note,
    size_of_error,
    undefined_note,
)
from calibstat.lenses.base import Lens
from calibstat.nulls.base import EmpiricalNull
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.multiplier import Multiplier


@one_bar
def estimate(
    sample: Sample,
    estimator: Estimator | None = None,
    *,
    lens: Lens | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    interval: Bootstrap | Literal["finite"] | None = None,
    n_resamples: int = 999,
    rng: RNG = None,
) -> Estimate:
    """Estimate a calibration error, with an interval where one is known to cover, and show what noise alone would give.

    Seminorms of the residuals (ECE, RMSCE and other binned errors, Kuiper, smooth errors, `ICI`) get the uniform
    interval: by the triangle inequality the error of the value is at most the same seminorm of the noise, whose law
    comes from multiplying centred signs into the residuals; the half-width is the larger of that quantile and the one
    of exactly redrawn labels. So it covers at zero, and excludes zero only where the exact test rejects at the same
    level; it is wider than need be for large errors. `AUCV`, one minus the ECE, has the same. `DebiasedL2` gets the
    total-variance interval, and stands for other squared errors in the same cells. Means of rows (`BrierScore`,
    `LogScore`, `ZeroOneLoss`), `RMSE`, `AUC` (DeLong et al. 1988) and the coefficients of `Cox` get normal intervals
    by the influence of each row, for many rows. All others get none, and ``interval_note`` says why.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on.
    estimator : Estimator, optional
        With its lens: for example ``TopLabel() | ECE(EqualMass(15))``. By default ``ECE(EqualMass(15))``, or
        `ExpectedMiscalibration` in the cells of a tree where more than two outcomes are seen, as in `calibration_test`.
    lens : Lens, optional
        Looked through before the estimator's own: the same as ``lens | estimator``. Without both there are several for
        more than two classes, as in `calibration_test`.
    confidence_level : float
    interval : "finite" or Bootstrap, optional
        "finite" for an interval that holds at every n, whatever the chances, of independent rows;
        ``Bootstrap(999, kind="percentile", allow_invalid=True)`` for an interval that is known not to cover.
    n_resamples : int
        Number of redraws of the labels, for the null mean and the interval.
    rng : int, Generator or None

    Returns
    -------
    Estimate
        With ``estimate``, ``confidence_interval`` and ``null_mean``; prints itself in words. Where there are several
        lenses it is the value that exceeds noise by most, and all of them are in ``by_lens``.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as described, or the estimator does not fit what is seen through the lens.

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
    if estimator is None:
        check_sample(sample)
        if lens is None and len(sample.labels) > 2:
            asked = {"confidence_level": confidence_level, "interval": interval, "n_resamples": n_resamples, "rng": rng}
            return _through_each_lens(sample, asked)
        estimator = size_of_error(sample, lens)
    by_rows = isinstance(interval, Bootstrap)
    question, seen = look_through(sample, estimator, lens, counted=not by_rows, labelled=True, buckets=True)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    repeats("n_resamples", n_resamples)
    if not (interval in (None, "finite") or isinstance(interval, Bootstrap)):
        raise TypeError(
            f"interval is {interval!r}, but 'finite', a Bootstrap or None (the default interval) is expected: for "
            "example 'finite'."
        )
    generator = as_generator(rng)
    core = question.estimator.core
    evaluator = core.prepare(seen.predictions)
    value = evaluator(seen.outcomes)
    # the law of a number is computed where it can be, as in a test
    law = None if evaluator.shape or seen.groups is not None else exact_law(core, seen, evaluator)
    stream = stream_of(rng, question.estimator)  # as in a test, so that both say the same of noise
    redraws = None if law else redrawn(core, seen, evaluator, n_resamples, stream)
    draws = () if redraws is None else (redraws.samples,)
    drawn = None if redraws is None else core.headline(redraws.samples)
    found, note, notes = _interval(
        core, seen, drawn, confidence_level, interval, n_resamples, generator, evaluator, value
    )
    headline = core.headline(value)
    single, shown, say = np.ndim(headline) == 0, evaluator.present(value), evaluator.capabilities.meaning
    law = law or EmpiricalNull(np.asarray(drawn), core.evidence)
    middle = float(law.mean) if single else None
    mean = float(law.mean) if redraws is None or redraws.samples.ndim == 1 else redraws.mean
    known = single and np.isfinite(headline)
    parts = Parts()
    if is_dataclass(shown) and single and interval is None:
        samples, known_mean = None if redraws is None else redraws.samples, nan if middle is None else middle
        settings = (confidence_level, n_resamples, generator)
        parts = parts_of(core, seen, evaluator, samples, *settings, found, known_mean)
    numbers = [each.value for each in parts.measures] or shown
    return Estimate(
        estimate=shown,
        null_mean=mean,
        headline=float(headline) if single else None,
        headline_null_mean=middle,
        noise=Noise.of(law, core.extreme, float(headline), confidence_level) if known else None,
        confidence_interval=found,
        confidence_level=confidence_level,
        interval_note=note,
        question=with_counts(question, seen, evaluator.capabilities),
        parts=parts.measures,
        notes=buckets_note(seen)
        + notes
        + (impossible_note(float(headline), seen) if single else ())
        + _reads_note(core, seen)
        + undefined_note(core, numbers, *draws),
        meaning="" if say is None or middle is None else say(seen.outcomes, middle, found, confidence_level),
    )


def _through_each_lens(sample: Sample, options: dict[str, Any]) -> Estimate:
    """Estimate through each recommended lens."""
    from calibstat.inference.by_lens import EstimatesByLens, recommended_lenses  # it is for several classes

    lenses = recommended_lenses(sample.labels)
    found = [estimate(sample, lens=lens, **options) for lens in track(lenses, len(lenses))]
    several = EstimatesByLens(tuple(found))
    return replace(several.largest, by_lens=several)


def _reads_note(core: Estimator, seen: Sample) -> tuple[str, ...]:
    """Say whose error the value is where cells read more than is conditioned on."""
    more = [repr(name) for name in core.given(seen.predictions) if name not in seen.predictions.given]
    if not more:
        return ()
    return (f"cells depend on {' and '.join(more)}: this is about the error of predictions given these too",)


def redrawn(
    core: Estimator, seen: Sample, evaluator: Evaluator, n_resamples: int, rng: np.random.Generator
) -> EmpiricalNull:
    """Evaluate on labels of a calibrated model, which depend on each other in clusters where there are any."""
    if seen.groups is None:
        return Consistency(n_resamples).draw(core, seen, rng, evaluator)
    return EmpiricalNull(redraw_in_clusters(evaluator, seen, n_resamples, rng), core.evidence)


def _interval(
    core: Estimator,
    seen: Sample,
    numbers: Floats | None,
    level: float,
    asked: Bootstrap | Literal["finite"] | None,
    n_resamples: int,
    rng: np.random.Generator,
    evaluator: Evaluator,
    value: Floats,
) -> tuple[ConfidenceInterval | None, str, tuple[str, ...]]:
    """Return the interval and what it is, or none and why; and what limits it."""
    if isinstance(asked, Bootstrap):
        found = bootstrap_interval(Headline(core), seen, level, asked, rng)
        return found, f"{asked.kind} bootstrap: known not to cover the true error", events_note(fewest_rows(seen))
    try:
        given = None if evaluator.shape else evaluator
        chosen = interval_of(core, seen, n_resamples, numbers, rng, given, finite=asked == "finite")
        notes = negative_note(float(core.headline(value))) if chosen.of_error else ()
        what = "rows" if seen.groups is None else "clusters"
        about = seen.groups is not None or not chosen.of_error
        few = events_note(fewest_rows(seen), chosen.of_error, what) if about else ()
        return chosen.interval(level), chosen.method, notes + few + (HIDDEN if chosen.hidden else ())
    except NoInterval as reason:
        if asked is not None:
            raise
        remark = evaluator.capabilities.remark
        record = is_dataclass(evaluator.present(value))  # it shows its numbers itself
        said = "" if remark is None or record else remark(seen.outcomes)
        usual = evaluator.capabilities.expansion or core.noise_form or core.squared_form
        return None, str(reason), tuple(filter(None, (said, str(reason) if usual else "")))


def _why_none(core: Estimator) -> str:
    """Say why an estimator has no interval, and what has one instead."""
    if not core.has_headline:
        return f"{core!r} gives several numbers, and an interval is for one; calibration_band bounds a whole curve"
    if core.test_statistic:
        reason = (
            f"{core!r} is a test statistic: it grows with the number of rows where the model is off, so that there is "
            "no true value that an interval could hold"
        )
        return f"{reason}; {core.no_interval or 'an error, such as ECE() or Kuiper(), has one'}"
    return (
        f"no interval is known to cover for {core!r}{core.no_interval}. Those of ECE, RMSCE, DebiasedL2, Kuiper, "
        "SmoothECE and ICI cover; read this value against its null mean"
    )


def _about(core: Estimator) -> str:
    """Say what the interval is for, if that is not the estimand; of a combination, as its first member says it."""
    return core.interval_about or next(filter(None, map(_about, core.members)), "")


def interval_of(
    core: Estimator,
    seen: Sample,
    n_resamples: int,
    redraws: Floats | None,
    rng: np.random.Generator,
    evaluator: Evaluator | None = None,
    finite: bool = False,
) -> Interval:
    """Return what the default interval of an estimator is made of, or raise `NoInterval` with the reason.

    The sample is seen through the lens, and `core` is without it. `redraws` (R,) are headline values under redraws of
    the labels, if there are any yet. An evaluator of the headline is taken where it is prepared already. With `finite`
    the interval of a seminorm holds at every n; otherwise it does where noise is hidden, and as large samples have it
    elsewhere.
    """
    evaluator = evaluator or Headline(core).prepare(seen.predictions)
    form = core.noise_form or core.squared_form or core
    if in_buckets(seen) and not form.reads_buckets:
        raise NoInterval(f"the interval of {core!r} is that of {form!r}, which needs the prediction of each row")
    whole, own = Headline(form), evaluator
    if form != core:
        evaluator, redraws = whole.prepare(seen.predictions), None
    expand, expansion = evaluator.capabilities.expansion, None
    if core.noise_form is None:
        if expand is None:
            raise NoInterval(_why_none(core))
        expansion = expand(seen.outcomes)
    refuse_few_clusters(seen)
    if finite and seen.groups is not None:
        raise NoInterval(
            "no interval is known to hold at every n where rows come in clusters; the default one is asymptotic"
        )
    clustered = seen.groups is not None
    if expansion is not None and expansion.degenerate is None:
        return normal_interval(core, seen, expansion)
    value = float(own(seen.outcomes))
    if not np.isfinite(value):
        raise NoInterval(f"{core!r} is {value:g} on this sample")
    if expansion is not None and clustered:
        raise NoInterval(
            f"no theory gives an interval of the {core.quantity} where rows come in clusters; that of ECE is known"
        )
    if finite and expansion is None:
        redraws = np.empty(0)  # not needed where bounds hold at every n
    if redraws is None:  # those of another form, or none yet
        redraws = redrawn(whole, seen, evaluator, n_resamples, rng).samples
    if expansion is not None:
        square = SquaredInterval.of(form, seen, expansion, redraws, rng)
        return RootInterval(square, f"root of the interval {square.method}") if core.root else square
    noises, possible = _noises(whole, seen, evaluator, n_resamples, redraws, rng, finite)
    largest = max(value, core.value_range(seen.predictions.n_classes)[1])
    if np.isinf(largest) and any(np.isinf(noise).any() for noise in possible):
        raise NoInterval(f"{core!r} has no largest value, and too few rows (in effect, by weights) for a bound")
    about = _about(core)
    return UniformInterval(
        value,
        noises,
        f"{about and f'for {about}; '}uniform{' for its root' if core.noise_power != 1 else ''}: half-width "
        + _half_width(seen.groups, finite),
        largest,
        of_error=core.extreme == "large",
        power=core.noise_power,
        possible=possible,
        peaks=None if own.capabilities.peaks is None else own.capabilities.peaks(seen.outcomes),
        nearby=None if own.capabilities.nearby is None else own.capabilities.nearby(seen.outcomes),
    )


def interval_or_none(
    core: Estimator,
    seen: Sample,
    confidence_level: float,
    n_resamples: int,
    rng: np.random.Generator,
    redraws: Floats | None = None,
    evaluator: Evaluator | None = None,
) -> ConfidenceInterval | None:
    """Return the default interval, or None where none is known; redraws and evaluator are as for `interval_of`."""
    try:
        return interval_of(core, seen, n_resamples, redraws, rng, evaluator).interval(confidence_level)
    except NoInterval:
        return None


def _noises(
    whole: Estimator,
    seen: Sample,
    evaluator: Evaluator,
    n_resamples: int,
    redraws: Floats,
    rng: np.random.Generator,
    finite: bool,
) -> tuple[list[Floats], list[Floats]]:
    """Return draws of a seminorm of the noise, as large samples have it and at possible chances; refuse all zeros."""
    centred = Multiplier(n_resamples, centred=True)
    noises = [] if finite else [centred.signs(whole, seen, rng, evaluator).samples, redraws]
    possible = [] if seen.groups is not None else possible_noise(seen, evaluator, n_resamples, rng, finite)
    if not any(noise.any() for noise in (*noises, *possible)):
        raise NoInterval(NO_NOISE)
    return noises, possible


def _half_width(groups: Groups | None, finite: bool) -> str:
    """Say what the half-width of a uniform interval is."""
    if finite:
        return "the quantile of noise at the most variable chances that the labels leave possible (at every n)"
    if groups is not None:
        return (
            f"the larger quantile of one sign for each value of {groups.name!r} and of labels redrawn as "
            "dependent within these as they may be (asymptotic)"
        )
    return "the larger of the multiplier quantile and the exact label-redraw quantile"


def refuse_few_clusters(seen: Sample) -> None:
    """Raise where there are too few clusters for an interval."""
    count = seen.predictions.clusters
    if count is not None and count.too_few:
        raise NoInterval(f"there are {count}, but an interval needs at least {MINIMUM_CLUSTERS}; a test needs fewer")


HIDDEN = (
    "few rows of similar predictions have another outcome than most: the interval has the noise that they may hide",
)
REFUSED = (
    "a bootstrap interval of a calibration error does not cover: resampled rows add noise to an error that noise has "
    "already made too large (percentile: 0 to 9 % instead of 95 % for nearly calibrated models); the default interval "
    "of ECE, RMSCE, DebiasedL2 or Kuiper does. To see it nevertheless: Bootstrap(..., allow_invalid=True)"
)


def bootstrap_interval(
    core: Estimator, seen: Sample, level: float, bootstrap: Bootstrap, rng: np.random.Generator
) -> ConfidenceInterval:
    """Return the interval of the kind that the bootstrap names; `core` gives a number."""
    if not bootstrap.allow_invalid:
        raise NoInterval(f"{bootstrap!r} is refused: {REFUSED}")
    evaluator = core.prepare(seen.predictions)
    observed = evaluator(seen.outcomes)
    if observed.ndim:
        raise NoInterval(f"{core!r} gives several numbers, and an interval is for one")
    value = float(observed)
    if np.isnan(value):
        raise NoInterval(f"{core!r} is not a number (NaN) on this sample: {why_undefined(core)}")
    drawn = bootstrap.replicates(core, seen, rng=rng)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if bootstrap.kind == "basic":
        ends = core.value_range(seen.predictions.n_classes)
        high, low = np.clip(2 * value - np.nanquantile(drawn, tails), *ends)
        return ConfidenceInterval(float(low), float(high))
    if bootstrap.kind == "bca":
        tails = _accelerated(tails, drawn, value, leaving_one_out(evaluator, seen))
    low, high = np.nanquantile(drawn, tails)
    return ConfidenceInterval(float(low), float(high))


def _accelerated(tails: Floats, drawn: Floats, value: float, left_out: Floats) -> Floats:
    """Move the tails for bias and skewness (Efron 1987)."""
    share = (np.count_nonzero(drawn < value) + np.count_nonzero(drawn == value) / 2) / len(drawn)
    bias = special.ndtri(np.clip(share, 1 / (len(drawn) + 1), 1 - 1 / (len(drawn) + 1)))
    pull = left_out.mean() - left_out
    spread = (pull**2).sum()
    skewness = 0.0 if spread == 0 else float((pull**3).sum() / (6 * spread**1.5))
    z = bias + special.ndtri(tails)
    return special.ndtr(bias + z / (1 - skewness * z))


def leaving_one_out(evaluator: Evaluator, seen: Sample) -> Floats:
    """Return the value without each row in turn, (n,), what was prepared being fixed: O(n L) where cells suffice."""
    n, plan, from_tallies = len(seen), evaluator.capabilities.tally, evaluator.capabilities.from_tallies
    if plan is None or from_tallies is None or not sums_suffice(evaluator):
        parts = _parts(n, n)
        return np.concatenate([evaluator(seen.outcomes, 1.0 - (part[:, None] == np.arange(n))) for part in parts])
    whole, event, cells = plan(seen.outcomes), seen.predictions.event, np.arange(plan.cells.size)
    values = []
    for part in _parts(n, plan.cells.size):
        row = (plan.cells.index[part][:, None] == cells).astype(float)
        without = Tally(
            whole.weight - row,
            whole.prediction - (row * event[part, None])[..., None],
            whole.outcome - (row * seen.outcomes[part, None])[..., None],
            whole.weight - row,
        )
        values.append(from_tallies(without))
    return np.concatenate(values)


def _parts(n: int, width: int) -> list[Ints]:
    size = max(1, NUMBERS_IN_MEMORY // width)
    return [np.arange(start, min(start + size, n)) for start in range(0, n, size)]
