"""Estimators, tests and intervals of a sweep, evaluated on the data sets of a few repeats.

Estimators on cells of equal mass or width share one sort of each data set, and are evaluated on all repeats of a group
at once. A group always has the same number of lanes, and each repeat has its own lane, so that the bits of a value do
not depend on which repeats are computed together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import field, fields
from typing import Any
from zlib import crc32

import numpy as np
import threadpoolctl

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning
from calibstat.data.arrays import Floats
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.estimators.tally import BinnedEstimator, Tally
from calibstat.generators.base import without_warnings
from calibstat.inference.test import calibration_test
from calibstat.lenses.base import Lens
from calibstat.sweeps._draws import Cuts, RepeatData
from calibstat.sweeps._grid import (
    INTERVAL,
    TEST,
    Items,
    NullTest,
    Study,
    Unit,
    call_plain,
    repeats_of,
    shapes,
    shares_the_sort,
)

# The stubs of threadpoolctl do not declare its limits.
_threadpoolctl: Any = threadpoolctl
# The number of lanes of a group, and that of a group with many borders, whose sums need much memory.
LANES, FEW_LANES = 100, 25
_MANY_BORDERS = 4000


@dataclass(frozen=True, eq=False)
class SharedCells:
    """Estimators on cells from one sort, through one lens: their places among the items, and all borders."""

    lens: Lens
    on_cells: dict[Binning, list[int]]
    cuts: Cuts

    @property
    def places(self) -> list[int]:
        """The places of these estimators among the items."""
        return [place for places in self.on_cells.values() for place in places]


class Estimates:
    """The values of all estimators on the repeats of one group of `lanes`, with n rows in each data set."""

    def __init__(self, items: Items, n: int) -> None:
        self.items = items
        self.shared = _shared(items, n)
        self.lanes = LANES if sum(each.cuts.size for each in self.shared) <= _MANY_BORDERS else FEW_LANES
        together = {place for each in self.shared for place in each.places}
        self.alone = [place for place in range(len(items)) if place not in together]

    @property
    def sums_suffice(self) -> bool:
        """Whether all are functions of sums over cells of the event's probability, without a lens."""
        return not self.alone and len(self.shared) == 1 and not self.shared[0].lens.parts

    def one(self, place: int, drawn: RepeatData) -> float:
        """Evaluate one estimator on one data set, in the usual way."""
        thing = self.items.each[place].thing
        if not isinstance(thing, Estimator):
            return call_plain(thing, drawn.sample)
        seen = drawn.through(thing.lens)
        return float(_one_number(thing, np.asarray(thing.core.prepare(seen.predictions)(seen.outcomes)), ()))


class GroupOfRepeats:
    """The sums of the repeats of a group, which are evaluated together."""

    def __init__(self, estimates: Estimates) -> None:
        self.estimates = estimates
        self.values = np.full((len(estimates.items), estimates.lanes), np.nan)
        self.sums: list[Floats | None] = [None] * len(estimates.shared)
        self.waiting = np.zeros((len(estimates.items), estimates.lanes), dtype=bool)

    def take(self, lane: int, drawn: RepeatData) -> None:
        """Evaluate estimators that need the rows of a repeat, and keep the sums of all others in its lane."""
        for place in self.estimates.alone:
            self.values[place, lane] = self.estimates.one(place, drawn)
        for number, each in enumerate(self.estimates.shared):
            found = drawn.sums(each.lens, each.cuts)
            kept = self.sums[number]
            if found is not None and kept is None:
                self.sums[number] = self._in_lanes(each.cuts, found[0])
            elif found is not None and kept is not None:
                kept[lane] = found[0]
            whole = found is not None and bool(found[1].all())
            for place in each.places:
                if whole or (found is not None and each.cuts.serves(_binning(self._thing(place)), found[1])):
                    self.waiting[place, lane] = True
                else:
                    self.values[place, lane] = self.estimates.one(place, drawn)

    def take_all(self, first: int, sums: Floats) -> None:
        """Keep the sums of some lanes, where every estimator is a function of sums through one lens."""
        own = slice(first, first + len(sums))
        kept = self._in_lanes(self.estimates.shared[0].cuts, sums[0])
        kept[own] = sums
        self.sums = [kept]
        self.waiting[:, own] = True

    def _in_lanes(self, cuts: Cuts, sums: Floats) -> Floats:
        """Put the first sums into all lanes, so that none is empty."""
        kept = cuts.empty((self.estimates.lanes,))
        kept[:] = sums
        return kept

    def finish(self) -> tuple[Floats, dict[int, Exception]]:
        """Evaluate all that is kept; return values (items, lanes), and by lane the errors that estimators raise."""
        errors: dict[int, Exception] = {}
        for shared, sums in zip(self.estimates.shared, self.sums, strict=True):
            for binning, places in shared.on_cells.items():
                waiting = [place for place in places if self.waiting[place].any()]
                if sums is not None and waiting:
                    tally = shared.cuts.tally(binning, sums)
                    for place in waiting:
                        errors |= self._evaluate(place, tally)
        return self.values, errors

    def _evaluate(self, place: int, tally: Tally) -> dict[int, Exception]:
        """Evaluate all lanes together; if that raises, evaluate each lane alone, with its sums in all lanes."""
        thing, waiting, errors = self._thing(place), self.waiting[place], dict[int, Exception]()
        try:
            self.values[place, waiting] = _value(thing, tally)[waiting]
        except Exception:
            for lane in np.flatnonzero(waiting).tolist():
                try:
                    self.values[place, lane] = _value(thing, _in_all_lanes(tally, lane))[lane]
                except Exception as error:
                    errors[lane] = error
        return errors

    def _thing(self, place: int) -> Estimator:
        return self.estimates.items.each[place].thing


def _shared(items: Items, n: int) -> list[SharedCells]:
    """Put together what looks through one lens: one sort serves all of it."""
    looks: list[tuple[Lens, list[int]]] = []
    for place, item in enumerate(items.each):
        if shares_the_sort(item.thing):
            known = next((places for lens, places in looks if lens == item.thing.lens), None)
            if known is None:
                looks.append((item.thing.lens, [place]))
            else:
                known.append(place)
    found = []
    for lens, places in looks:
        on_cells: dict[Binning, list[int]] = {}
        for place in places:
            on_cells.setdefault(_binning(items.each[place].thing), []).append(place)
        squares = any("square" in items.each[place].thing.core.needs for place in places)
        found.append(SharedCells(lens, on_cells, Cuts(on_cells, n, squares=squares)))
    return found


def _binning(thing: Any) -> Binning:
    return thing.core.binning


def _in_all_lanes(tally: Tally, lane: int) -> Tally:
    sums = (getattr(tally, each.name) for each in fields(Tally))
    return Tally(*(each if each.ndim == 1 else np.repeat(each[lane : lane + 1], len(each), axis=0) for each in sums))


def _value(thing: Any, tally: Tally) -> Floats:
    core: BinnedEstimator = thing.core
    values, lanes = np.asarray(core.functional(tally)), len(tally.outcome)
    # What depends on the numbers of rows alone is one value where all lanes have the same.
    return _one_number(thing, values if values.ndim else np.full(lanes, values), (lanes,))


def _one_number(thing: Estimator, values: Floats, shape: tuple[int, ...]) -> Floats:
    headline = np.asarray(thing.core.headline(values), dtype=float)
    if headline.shape != shape:
        found = headline.shape[len(shape) :]
        raise ValueError(f"{thing!r} gives an array of shape {found}, but a sweep needs one number.")
    return headline


@dataclass(frozen=True, eq=False)
class BlockValues:
    """The values of a unit: arrays (names, bins, repeats), NaN where a repeat failed, and the first error."""

    unit: Unit
    values: dict[str, Floats]
    error: str = ""


def work(study: Study, unit: Unit, block: int) -> BlockValues:
    """Compute a unit; the first error is recorded, and does not stop the other repeats."""
    repeats = repeats_of(study, unit, block)
    values = {name: np.full((*shape, len(repeats)), np.nan) for name, shape in shapes(study).items()}
    model, n = study.names[unit.model], study.n[unit.n]
    estimates = Estimates(study.estimators, n)
    errors: dict[int, Exception] = {}
    with small_cells_ignored:
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
    return BlockValues(unit, values, error)


def compute(
    study: Study, model: str, n: int, repeats: range, estimates: Estimates
) -> tuple[dict[str, Floats], dict[int, Exception]]:
    """Evaluate a group of repeats: values (names, bins, repeats), NaN where a repeat failed, and errors by repeat."""
    values = {name: np.full((*shape, len(repeats)), np.nan) for name, shape in shapes(study).items()}
    group, errors = GroupOfRepeats(estimates), dict[int, Exception]()
    first = repeats.start // estimates.lanes * estimates.lanes
    sums_suffice = estimates.sums_suffice and not len(study.tests) and study.interval is None
    whole = study.draw_group(model, estimates.shared[0].cuts, estimates.lanes, repeats) if sums_suffice else None
    if whole is not None:
        group.take_all(repeats.start - first, whole)
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


def _judged(study: Study, drawn: RepeatData, model: str, repeat: int) -> dict[str, Floats]:
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
    for item in study.tests.each:
        if isinstance(item.thing, NullTest):
            rng = study.stream(model, len(sample), repeat, TEST, crc32(item.name.encode()), item.n_bins)
            values.append(calibration_test(sample, item.thing.estimator, null=item.thing.null, rng=rng).pvalue)
        else:
            values.append(call_plain(item.thing, sample))
    return np.array(values)


def _intervals(study: Study, sample: Sample, model: str, repeat: int) -> Floats:
    """Return both ends of each item's interval; NaN for plain functions."""
    ends = np.full((len(study.estimators), 2), np.nan)
    for position, item in enumerate(study.estimators.each):
        if study.interval is not None and isinstance(item.thing, Estimator):
            rng = study.stream(model, len(sample), repeat, INTERVAL, crc32(item.name.encode()), item.n_bins)
            found = study.interval(sample, item.thing, rng)
            ends[position] = np.nan if found is None else found
    return ends


# While a sweep computes, the whole process ignores warnings of small cells and uses one BLAS thread.


@dataclass
class WhileAnyone:
    """A context that the first thread enters, by calling `make`, and the last thread leaves."""

    make: Callable[[], AbstractContextManager[Any]]
    lock: threading.Lock = field(default_factory=threading.Lock)
    inside: int = 0
    entered: AbstractContextManager[Any] | None = None

    def __enter__(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.entered = self.make()
                self.entered.__enter__()
            self.inside += 1

    def __exit__(self, *raised: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and self.entered is not None:
                self.entered.__exit__(None, None, None)


small_cells_ignored = WhileAnyone(without_warnings)
"""A sweep has thousands of small cells on purpose; filters of warnings belong to the process, not to a thread."""
one_blas_thread = WhileAnyone(lambda: _threadpoolctl.threadpool_limits(limits=1, user_api="blas"))
"""Matrix products round differently with another number of threads, and the sweep's own threads use all cores."""
