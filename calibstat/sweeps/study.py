"""A study: the whole grid, the streams of random numbers in it, and what tells it from another one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np

from calibstat.estimators.base import Estimator
from calibstat.generators.base import SyntheticModel
from calibstat.sample import Sample
from calibstat.sweeps.slots import Slots, described

Interval: TypeAlias = Callable[[Sample, Estimator, np.random.Generator], tuple[float, float] | None]

# The last keys of the streams of one repeat: what it is drawn for.
SAMPLE, TEST, INTERVAL = 0, 1, 2
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
    """

    models: dict[str, SyntheticModel]
    n: tuple[int, ...]
    n_bins: tuple[int, ...]
    estimators: Slots
    tests: Slots
    interval: Interval | None
    n_repeats: int
    entropy: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(self.models)

    def stream(self, model: str, n: int, repeat: int, *purpose: int) -> np.random.Generator:
        """Return the stream of one repeat: named by what it is for, so that a larger grid changes nothing in it."""
        key = (crc32(model.encode()), n, repeat, *purpose)
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.entropy, spawn_key=key)))

    def sample(self, model: str, n: int, repeat: int) -> Sample:
        """Draw the sample of one repeat; all estimators, tests and numbers of bins share it."""
        return self.models[model].sample(n, self.stream(model, n, repeat, SAMPLE))

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
            "seed": list(self.entropy),
        }


def _fingerprint(model: SyntheticModel) -> str:
    """Return a digest of a few rows with their chances: some reprs do not tell two models apart."""
    rng = np.random.Generator(np.random.PCG64(0))
    rows = model.rows(_ROWS_IN_A_FINGERPRINT, rng)
    contents = np.ascontiguousarray(rows.predictions.probabilities).tobytes(), np.ascontiguousarray(rows.chances)
    return hashlib.sha256(contents[0] + contents[1].tobytes()).hexdigest()[:12]
