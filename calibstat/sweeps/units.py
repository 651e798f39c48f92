"""Units of work (a model, an n, a block of repeats)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from zlib import crc32

import numpy as np

from calibstat.arrays import Floats
from calibstat.estimators.base import Estimator
from calibstat.sample import Sample
from calibstat.sweeps.drawing import Drawn
from calibstat.sweeps.measuring import Estimates, pvalue
from calibstat.sweeps.quiet import quiet
from calibstat.sweeps.study import INTERVAL, TEST, Study


@dataclass(frozen=True)
class Unit:
    """Positions of a model and an n, and the number of a block of repeats."""

    model: int
    n: int
    block: int


@dataclass(frozen=True, eq=False)
class Found:
    """The values of a unit: arrays (names, bins, repeats), NaN where a repeat failed, and the first error."""

    unit: Unit
    values: dict[str, Floats]
    error: str = ""


def all_units(study: Study, block: int) -> list[Unit]:
    """List the units, the largest samples first, so that no long one is left for the end."""
    order = sorted(range(len(study.n)), key=lambda position: -study.n[position])
    blocks = range(-(-study.n_repeats // block))
    return [Unit(model, n, number) for n, model, number in product(order, range(len(study.models)), blocks)]


def repeats_of(study: Study, unit: Unit, block: int) -> range:
    """Return the repeats of a unit."""
    return range(unit.block * block, min((unit.block + 1) * block, study.n_repeats))


def work(study: Study, unit: Unit, block: int) -> Found:
    """Compute a unit; what raises is recorded, and the other repeats go on."""
    repeats = repeats_of(study, unit, block)
    values = {name: np.full((*shape, len(repeats)), np.nan) for name, shape in shapes(study).items()}
    model, n = study.names[unit.model], study.n[unit.n]
    estimates = Estimates(study.estimators, n)
    errors: dict[int, Exception] = {}
    with quiet:
        lanes = estimates.lanes
        for first in range(repeats.start // lanes * lanes, repeats.stop, lanes):
            group = range(max(first, repeats.start), min(first + lanes, repeats.stop))
            found, raised = compute(study, model, n, group, estimates)
            where = slice(group.start - repeats.start, group.stop - repeats.start)
            for name, value in found.items():
                values[name][..., where] = value
            errors |= raised
    repeat = min(errors, default=0)
    error = f"repeat {repeat}: {type(errors[repeat]).__name__}: {errors[repeat]}" if errors else ""
    return Found(unit, values, error)


def compute(
    study: Study, model: str, n: int, repeats: range, estimates: Estimates
) -> tuple[dict[str, Floats], dict[int, Exception]]:
    """Draw the data sets of a group of repeats and evaluate everything on them.

    Parameters
    ----------
    study : Study
    model : str
    n : int
    repeats : range
        All in one group.
    estimates : Estimates

    Returns
    -------
    values : dict of str to (names, bins, repeats) floats
        NaN where a repeat failed.
    errors : dict of int to Exception
        By repeat.
    """
    values = {name: np.full((*shape, len(repeats)), np.nan) for name, shape in shapes(study).items()}
    group, errors = estimates.group(), dict[int, Exception]()
    first = repeats.start // estimates.lanes * estimates.lanes
    whole = study.draw_group(model, n, first, estimates)
    if whole is not None:
        group.take_all(whole)
    for position, repeat in enumerate(() if whole is not None else repeats):
        try:
            drawn = study.draw(model, n, repeat)
            group.take(repeat - first, drawn)
            for name, value in _judged(study, drawn, model, repeat).items():
                values[name][..., position] = value
        except Exception as raised:
            errors[repeat] = raised
    if len(study.estimators):
        found, raised_later = group.finish()
        values["estimate"][:] = found[:, repeats.start - first : repeats.stop - first][study.estimators.where]
        errors |= {first + lane: error for lane, error in raised_later.items() if first + lane in repeats}
    for value in values.values():
        value[..., [repeat - repeats.start for repeat in errors]] = np.nan
    return values, errors


def shapes(study: Study) -> dict[str, tuple[int, int]]:
    """Return the variables that a study fills, with the shape (names, bins) of one repeat."""
    both = {"estimate": study.estimators, "pvalue": study.tests}
    found = {name: (len(slots.names), len(study.n_bins)) for name, slots in both.items() if len(slots)}
    if study.interval is not None and "estimate" in found:
        found |= {"interval_low": found["estimate"], "interval_high": found["estimate"]}
    return found


def _judged(study: Study, drawn: Drawn, model: str, repeat: int) -> dict[str, Floats]:
    """Evaluate tests and intervals on a data set: arrays (names, bins)."""
    found = {}
    if len(study.tests):
        found["pvalue"] = _pvalues(study, drawn.sample, model, repeat)[study.tests.where]
    if study.interval is not None and len(study.estimators):
        ends = _intervals(study, drawn.sample, model, repeat)[study.estimators.where]
        found |= {"interval_low": ends[..., 0], "interval_high": ends[..., 1]}
    return found


def _pvalues(study: Study, sample: Sample, model: str, repeat: int) -> Floats:
    values = []
    for slot in study.tests.each:
        rng = study.stream(model, len(sample), repeat, TEST, crc32(slot.name.encode()), slot.n_bins)
        values.append(pvalue(slot.thing, sample, rng))
    return np.array(values)


def _intervals(study: Study, sample: Sample, model: str, repeat: int) -> Floats:
    """Return both ends of each slot's interval; NaN for plain functions."""
    ends = np.full((len(study.estimators), 2), np.nan)
    for position, slot in enumerate(study.estimators.each):
        if study.interval is not None and isinstance(slot.thing, Estimator):
            rng = study.stream(model, len(sample), repeat, INTERVAL, crc32(slot.name.encode()), slot.n_bins)
            found = study.interval(sample, slot.thing, rng)
            ends[position] = np.nan if found is None else found
    return ends
