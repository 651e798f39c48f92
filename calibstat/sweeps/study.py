"""A study: the whole grid, the streams of random numbers in it, and what tells it from another one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np

from calibstat.arrays import Floats
from calibstat.estimators.base import Estimator
from calibstat.generators.base import SyntheticModel
from calibstat.sample import Sample
from calibstat.sweeps.drawing import Drawn, Way, ways
from calibstat.sweeps.identity import described
from calibstat.sweeps.measuring import Estimates, is_nested
from calibstat.sweeps.slots import Slots

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
