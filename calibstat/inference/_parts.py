"""The numbers of a record, each with an interval of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from calibstat._progress import track
from calibstat.binnings.values import Categories
from calibstat.data.arrays import Floats, Variable
from calibstat.data.checks import locked
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator, Evaluator, all_weights
from calibstat.inference.finite import chance_bounds
from calibstat.inference.intervals import (
    Interval,
    Measure,
    NoInterval,
    NormalInterval,
    UniformInterval,
    cluster_error,
)
from calibstat.lenses.restrict import Given

NO_ENDS = (nan, nan)


class Parts(NamedTuple):
    """The numbers of a record, why some have no interval, and whether noise that rows hide was added."""

    measures: tuple[Measure, ...] = ()
    reasons: tuple[str, ...] = ()
    hidden: bool = False


def parts_of(
    core: Estimator,
    seen: Sample,
    evaluator: Evaluator,
    redraws: Floats | None,
    confidence_level: float,
    n_resamples: int,
    rng: np.random.Generator,
    own: tuple[float, float] | None = None,
    mean: float = nan,
) -> Parts:
    """Return the numbers of a record with their intervals.

    `core` is without its lens, `seen` what that shows, and the evaluator prepared on it; `redraws` are values (R, ...)
    of the estimator under redraws of the labels, if there are any. `own` is the interval of its headline, and `mean`
    what a calibrated model has there, where these are known.
    """
    value = evaluator(seen.outcomes)
    shown, headline = evaluator.present(value), float(core.headline(value))
    numbers, words = _numbers(shown), getattr(shown, "words", {})
    names = (name for name, each in numbers.items() if each == headline and core.numbers.get(name, core) == core)
    asked = getattr(core, "statistic", "")  # by name, as two numbers may both be infinite
    main = asked if asked in numbers else next(names, "")
    ends: dict[str, tuple[float, float]] = {} if own is None else {main: own}
    others = {name: part for name, part in core.numbers.items() if name not in ends}
    found, reasons = _intervals(others, seen, evaluator, redraws, n_resamples, rng)
    for name, one in found.items():
        try:
            ends[name] = one.interval(confidence_level)
        except NoInterval as reason:
            reasons.append(str(reason))
    if "uncertainty" in numbers and seen.predictions.n_classes == 2:
        ends["uncertainty"] = _of_uncertainty(core.numbers["score"], seen, confidence_level)
    if "sharpness" in numbers and seen.predictions.n_classes == 2:
        ends["sharpness"] = _of_sharpness(core, seen, confidence_level, n_resamples, rng)
    ends = {each: getattr(shown, f"{each}_interval") for each in numbers if hasattr(shown, f"{each}_interval")} | ends
    drawn = redraws is not None and core.numbers
    means = _numbers(evaluator.present(redraws.mean(axis=0))) if drawn and redraws is not None else {}
    means |= ({} if mean != mean else {main: mean}) | dict(core.calibrated)
    measures = [
        Measure.of(
            name,
            words.get(name, name.replace("_", " ")),
            numbers[name],
            ends.get(name, NO_ENDS),
            means.get(name, nan),
        )
        for name in dict.fromkeys([*words, *numbers])
    ]
    return Parts(tuple(measures), tuple(reasons), any(one.hidden for one in found.values()))


def _numbers(shown: Any) -> dict[str, float]:
    """Return the numbers of a record, without standard errors and truths."""
    values = {each.name: getattr(shown, each.name) for each in fields(shown)} if is_dataclass(shown) else {}
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not name.endswith("_error")
    }


def _intervals(
    parts: Mapping[str, Estimator],
    seen: Sample,
    evaluator: Evaluator,
    redraws: Floats | None,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[dict[str, Interval], list[str]]:
    """Return what the intervals of the parts are made of, and why some have none."""
    from calibstat.inference.estimate import interval_of  # it needs this file

    found: dict[str, Interval] = {}
    of_form: dict[Estimator, Interval] = {}
    reasons = []
    # of the same rows, the noise of one quantile bounds that of others
    last = sorted(parts.items(), key=lambda each: each[1].noise_form not in (None, each[1]))
    for name, part in track(last, len(last)):
        own = part.prepare(seen.predictions)
        bounding = None if part.noise_form is None else of_form.get(part.noise_form)
        try:
            if isinstance(bounding, UniformInterval):
                value, nearby = float(part.headline(own(seen.outcomes))), own.capabilities.nearby
                found[name] = replace(bounding, value=value, nearby=nearby and nearby(seen.outcomes))
            else:
                drawn = None if redraws is None or own.shape != evaluator.shape else part.headline(redraws)
                found[name] = interval_of(part, seen, n_resamples, drawn, rng)
        except NoInterval as reason:
            reasons.append(str(reason))
        if part.noise_form == part and name in found:
            of_form[part] = found[name]
    return found, reasons


def _of_uncertainty(score: Any, seen: Sample, level: float) -> tuple[float, float]:
    """Bound the score of the best constant by the shares of events that are not rejected, which holds at every n.

    In clusters the shares are those of a normal interval on the log-odds.
    """
    low, high = chance_bounds(seen, _share(seen), (1 - level) / 2) if seen.groups is None else _shares(seen, level)
    if isnan(low):
        return NO_ENDS
    chance = np.array([low, high, min(max(0.5, low), high)])  # the score of a constant is largest at one half
    rows = np.column_stack([1 - chance, chance])
    losses = (rows * np.where(rows > 0, score.losses(rows), 0.0)).sum(axis=1)
    return float(losses[:2].min()), float(losses[2])


def _of_sharpness(
    core: Estimator, seen: Sample, level: float, n_resamples: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Bound the sharpness: the squared error of the share of events, if predicted for every row, in the cells."""
    from calibstat.inference.estimate import interval_of  # it needs this file

    binning, form = core.cut_by, core.squared_form
    assert binning is not None
    assert form is not None
    cell = Variable(locked(binning.cut(seen.predictions).index.astype(float)))
    rows = locked(np.full(len(seen), _share(seen)))
    same = replace(seen.predictions, rows=rows, variables={"cell": cell}, given=(...,), powers=None)
    constant = Sample.of(same, seen.outcomes)
    try:
        return interval_of(form.recut(Categories()), Given("cell")(constant), n_resamples, None, rng).interval(level)
    except NoInterval:  # that of the calibration says why
        return NO_ENDS


def _shares(seen: Sample, level: float) -> tuple[float, float]:
    """Return the normal interval of the share of events on the log-odds, by sums over clusters; NaN of too few."""
    groups, weights, share = seen.groups, seen.predictions.weights, _share(seen)
    if groups is None or groups.counted(weights).too_few:
        return NO_ENDS
    masses = groups.sums(weights)
    influence = groups.sums((seen.outcomes - share) * all_weights(seen.predictions, None)) / masses.sum()
    error, freedom = cluster_error(influence, masses)
    return NormalInterval(share, error, "", 0.0, 1.0, on_range=True, freedom=freedom).interval(level)


def _share(seen: Sample) -> float:
    return float(np.average(seen.outcomes, weights=seen.predictions.weights))
