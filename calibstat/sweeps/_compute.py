"""Everything that is swept, evaluated on the data sets of a few repeats.

Estimators on cells of equal mass or width share one sort of each data set, and are then evaluated on all repeats of a
group at once. A group has always the same number of lanes, and a repeat its own lane, so that the bits of a value do
not depend on which repeats are computed together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np

from calibstat.binnings.base import Binning
from calibstat.data.arrays import Floats
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.estimators.tally import BinnedEstimator, Tally
from calibstat.generators.base import SyntheticModel
from calibstat.inference.test import calibration_test
from calibstat.lenses.base import Lens
from calibstat.sweeps import _draws as nested
from calibstat.sweeps._draws import Cuts, Drawn, Way, ways
from calibstat.sweeps._slots import Asked, Plain, Slots, call_plain, described, quiet

# Lanes of a group, and of one with many borders, whose sums would need much memory.
LANES, FEW_LANES = 100, 25
_MANY_BORDERS = 4000


def is_nested(thing: Estimator | Plain) -> bool:
    """Whether an estimator is had from sums below borders."""
    return (
        isinstance(thing, Estimator)
        and isinstance(thing.core, BinnedEstimator)
        and nested.is_nested(thing.core.binning)
    )


@dataclass(frozen=True, eq=False)
class Shared:
    """Estimators that look through one lens at cells from one sort: their places among the slots, and all borders."""

    lens: Lens
    on_cells: dict[Binning, list[int]]
    cuts: Cuts

    @property
    def places(self) -> list[int]:
        """The places of all of them."""
        return [place for places in self.on_cells.values() for place in places]


class Looks:
    """A data set, looked at once through each lens."""

    def __init__(self, drawn: Drawn) -> None:
        self.drawn = drawn
        self.known: list[tuple[Lens, Sample]] = []

    def through(self, lens: Lens) -> Sample:
        """Return what is seen."""
        found = next((seen for known, seen in self.known if known == lens), None)
        if found is None:
            found = lens(self.drawn.sample) if lens.parts else self.drawn.sample
            self.known.append((lens, found))
        return found


class Estimates:
    """The values of all estimators on the repeats of one group.

    Parameters
    ----------
    slots : Slots
    n : int
        Rows of each data set.

    Attributes
    ----------
    lanes : int
        Of a group.
    """

    def __init__(self, slots: Slots, n: int) -> None:
        self.slots = slots
        self.shared = _shared(slots, n)
        self.lanes = LANES if sum(each.cuts.size for each in self.shared) <= _MANY_BORDERS else FEW_LANES
        together = {place for each in self.shared for place in each.places}
        self.alone = [place for place in range(len(slots)) if place not in together]

    def group(self) -> Group:
        """Begin a group of repeats."""
        return Group(self)

    def one(self, place: int, looks: Looks) -> float:
        """Evaluate one estimator on one data set, in the usual way."""
        thing = self.slots.each[place].thing
        if not isinstance(thing, Estimator):
            return call_plain(thing, looks.drawn.sample)
        seen = looks.through(thing.lens)
        return float(_number(thing, np.asarray(thing.core.prepare(seen.predictions)(seen.outcomes)), ()))


class Group:
    """What the repeats of a group have left to be evaluated together.

    Parameters
    ----------
    estimates : Estimates
    """

    def __init__(self, estimates: Estimates) -> None:
        self.estimates = estimates
        self.values = np.full((len(estimates.slots), estimates.lanes), np.nan)
        self.sums: list[Floats | None] = [None] * len(estimates.shared)
        self.waiting = np.zeros((len(estimates.slots), estimates.lanes), dtype=bool)

    def take(self, lane: int, drawn: Drawn) -> None:
        """Evaluate what stands alone on the data set of a repeat, and keep the sums of the rest."""
        looks = Looks(drawn)
        for place in self.estimates.alone:
            self.values[place, lane] = self.estimates.one(place, looks)
        for number, each in enumerate(self.estimates.shared):
            found = drawn.sums(each.lens, each.cuts)
            if found is not None:
                self._keep(number, lane, found[0])
            whole = found is not None and bool(found[1].all())
            for place in each.places:
                if whole or (found is not None and each.cuts.serves(_binning(self._thing(place)), found[1])):
                    self.waiting[place, lane] = True
                else:
                    self.values[place, lane] = self.estimates.one(place, looks)

    def take_all(self, sums: Floats) -> None:
        """Take the sums of all lanes, of estimators that look through one lens and all have sums."""
        self.sums = [sums]
        self.waiting[:] = True

    def finish(self) -> tuple[Floats, dict[int, Exception]]:
        """Evaluate what waits.

        Returns
        -------
        values : (slots, lanes) floats
        errors : dict of int to Exception
            By lane, for those in which an estimator raises.
        """
        errors: dict[int, Exception] = {}
        for each, sums in zip(self.estimates.shared, self.sums, strict=True):
            if sums is not None:
                errors |= self._evaluate_all(each, sums)
        return self.values, errors

    def _evaluate_all(self, shared: Shared, sums: Floats) -> dict[int, Exception]:
        """Evaluate what waits on the same cells together."""
        errors: dict[int, Exception] = {}
        for binning, places in shared.on_cells.items():
            waiting = [place for place in places if self.waiting[place].any()]
            if waiting:
                tally = shared.cuts.tally(binning, sums)
                for place in waiting:
                    errors |= self._evaluate(place, tally)
        return errors

    def _keep(self, number: int, lane: int, sums: Floats) -> None:
        """Put the sums into their lane; the first fill all lanes, so that none is empty."""
        kept = self.sums[number]
        if kept is None:
            self.sums[number] = np.repeat(sums[None], self.estimates.lanes, axis=0)
        else:
            kept[lane] = sums

    def _evaluate(self, place: int, tally: Tally) -> dict[int, Exception]:
        """Evaluate all lanes; if that raises, each lane with its sums in all lanes."""
        waiting = self.waiting[place]
        try:
            self.values[place, waiting] = _value(self._thing(place), tally)[waiting]
        except Exception:
            return self._one_by_one(place, tally)
        return {}

    def _one_by_one(self, place: int, tally: Tally) -> dict[int, Exception]:
        errors: dict[int, Exception] = {}
        for lane in np.flatnonzero(self.waiting[place]).tolist():
            try:
                self.values[place, lane] = _value(self._thing(place), _in_all_lanes(tally, lane))[lane]
            except Exception as error:
                errors[lane] = error
        return errors

    def _thing(self, place: int) -> Estimator:
        thing: Estimator = self.estimates.slots.each[place].thing
        return thing


def pvalue(thing: Asked | Plain, sample: Sample, rng: np.random.Generator) -> float:
    """Return the p-value of one test."""
    if isinstance(thing, Asked):
        return calibration_test(sample, thing.estimator, null=thing.null, rng=rng).pvalue
    return call_plain(thing, sample)


def _shared(slots: Slots, n: int) -> list[Shared]:
    looks: list[tuple[Lens, list[int]]] = []
    for place, slot in enumerate(slots.each):
        if is_nested(slot.thing):
            known = next((places for lens, places in looks if lens == slot.thing.lens), None)
            if known is None:
                looks.append((slot.thing.lens, [place]))
            else:
                known.append(place)
    return [_shared_by(lens, places, slots, n) for lens, places in looks]


def _shared_by(lens: Lens, places: Sequence[int], slots: Slots, n: int) -> Shared:
    on_cells: dict[Binning, list[int]] = {}
    for place in places:
        on_cells.setdefault(_binning(slots.each[place].thing), []).append(place)
    squares = any("square" in slots.each[place].thing.core.needs for place in places)
    return Shared(lens, on_cells, Cuts(on_cells, n, squares=squares))


def _binning(thing: Any) -> Binning:
    binning: Binning = thing.core.binning
    return binning


def _in_all_lanes(tally: Tally, lane: int) -> Tally:
    sums = (getattr(tally, each.name) for each in fields(Tally))
    return Tally(*(np.repeat(each[lane : lane + 1], len(each), axis=0) for each in sums))


def _value(thing: Any, tally: Tally) -> Floats:
    core: BinnedEstimator = thing.core
    return _number(thing, np.asarray(core.functional(tally)), (len(tally.weight),))


def _number(thing: Estimator, values: Floats, shape: tuple[int, ...]) -> Floats:
    headline = np.asarray(thing.core.headline(values), dtype=float)
    if headline.shape != shape:
        found = headline.shape[len(shape) :]
        raise ValueError(f"{thing!r} gives an array of shape {found}, but a sweep needs one number.")
    return headline


# Units of work (a model, an n, a block of repeats).


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


# A study: the whole grid, the streams of random numbers in it, and what tells it from another one.

Interval: TypeAlias = Callable[[Sample, Estimator, np.random.Generator], tuple[float, float] | None]
# The last keys of the streams of one repeat: what it is drawn for.
SAMPLE, TEST, INTERVAL, GROUP = range(4)
_ROWS_IN_A_FINGERPRINT = 64


@dataclass(frozen=True, eq=False)
class Study:
    """What is to be computed.

    Parameters
    ----------
    models : dict of str to SyntheticModel
    n, n_bins : tuples of int
    estimators, tests : Slots
    interval : callable or None
        Takes a sample, an estimator and a Generator; returns the two ends, or None where there is no interval.
    n_repeats : int
    entropy : tuple of int
        The root of all streams.
    draws : {"rows", "sorted", "cells"}
        How data sets are drawn.
    seed : int, optional
        The integer that the streams were made from, to be shown.
    """

    models: dict[str, SyntheticModel]
    n: tuple[int, ...]
    n_bins: tuple[int, ...]
    estimators: Slots
    tests: Slots
    interval: Interval | None
    n_repeats: int
    entropy: tuple[int, ...]
    draws: str = "rows"
    seed: int | None = None
    ways: dict[str, Way] = field(init=False)

    def __post_init__(self) -> None:
        if self.draws == "cells":
            _refuse_what_needs_rows(self)
        object.__setattr__(self, "ways", ways(self.models, self.draws))

    def __reduce__(self) -> tuple[Any, ...]:
        """Send to other processes what the study is made from: they make its tables again."""
        return Study, tuple(getattr(self, each.name) for each in fields(self) if each.init)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(self.models)

    def stream(self, model: str, n: int, repeat: int, *purpose: int) -> np.random.Generator:
        """Return the stream of one repeat: named by what it is for, so that a larger grid changes nothing in it."""
        key = (crc32(model.encode()), n, repeat, *purpose)
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.entropy, spawn_key=key)))

    def draw(self, model: str, n: int, repeat: int) -> Drawn:
        """Draw the data set of one repeat; all estimators, tests and numbers of bins share it."""
        return self.ways[model].draw(n, self.stream(model, n, repeat, SAMPLE))

    def draw_group(self, model: str, n: int, first: int, estimates: Estimates) -> Floats | None:
        """Draw the sums of a whole group of repeats, if that is the way: whichever of them are wanted."""
        if self.draws != "cells":
            return None
        rng = self.stream(model, n, first, GROUP)
        return self.ways[model].draw_group(estimates.shared[0].cuts, estimates.lanes, rng)

    def sample(self, model: str, n: int, repeat: int) -> Sample:
        """Draw the data set of one repeat as rows."""
        return self.draw(model, n, repeat).sample

    def design(self, version: str) -> dict[str, Any]:
        """Return all that decides the numbers, in plain values that are the same in every process."""
        return {
            "calibstat": version,
            "models": {name: f"{described(model)} {_fingerprint(model)}" for name, model in self.models.items()},
            "n": list(self.n),
            "n_bins": list(self.n_bins),
            "estimators": [str(slot) for slot in self.estimators.each],
            "tests": [str(slot) for slot in self.tests.each],
            "interval": None if self.interval is None else described(self.interval),
            "n_repeats": self.n_repeats,
            "rng": self.seed,
            "seed": list(self.entropy),
            "draws": self.draws,
        }


def _refuse_what_needs_rows(study: Study) -> None:
    for name, slots in (("tests=", study.tests), ("interval=", study.estimators if study.interval else ())):
        if len(slots):
            raise ValueError(f"{name} needs rows, but draws='cells' draws none: take 'rows' or 'sorted'.")
    for slot in study.estimators.each:
        if not is_nested(slot.thing) or slot.thing.lens.parts:
            raise ValueError(
                f"estimators[{slot.name!r}] needs rows, but draws='cells' draws only counts, events, and sums of "
                "predictions and of squared residuals, in cells. It serves functions of these that are a "
                "BinnedEstimator, as ECE, RMSCE and DebiasedL2 are, on EqualMass or EqualWidth cells of the event's "
                "probability, without a lens; take 'rows' or 'sorted'."
            )


def _fingerprint(model: SyntheticModel) -> str:
    """Return a digest of a few rows with their chances: some reprs do not tell two models apart."""
    rng = np.random.Generator(np.random.PCG64(0))
    rows = model.rows(_ROWS_IN_A_FINGERPRINT, rng)
    contents = np.ascontiguousarray(rows.predictions.probabilities).tobytes(), np.ascontiguousarray(rows.chances)
    return hashlib.sha256(contents[0] + contents[1].tobytes()).hexdigest()[:12]
