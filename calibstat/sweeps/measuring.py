"""Everything that is swept, evaluated on the data sets of a few repeats.

Estimators on cells of equal mass or width share one sort of each data set, and are then evaluated on all repeats of a
group at once. A group has always the same number of lanes, and a repeat its own lane, so that the bits of a value do
not depend on which repeats are computed together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from calibstat.arrays import Floats
from calibstat.binnings.base import Binning
from calibstat.estimators.base import Estimator
from calibstat.estimators.binned import BinnedEstimator
from calibstat.estimators.tally import Tally
from calibstat.inference.testing import calibration_test
from calibstat.lenses.base import Lens
from calibstat.sample import Sample
from calibstat.sweeps import nested
from calibstat.sweeps.drawing import Drawn
from calibstat.sweeps.nested import Cuts
from calibstat.sweeps.slots import Asked, Plain, Slots, call_plain

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
