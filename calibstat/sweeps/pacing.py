"""How long a repeat takes, and how work is cut accordingly: into blocks, and bundles of about half a second."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from calibstat.sweeps.measuring import LANES, Estimates
from calibstat.sweeps.quiet import quiet
from calibstat.sweeps.study import Study
from calibstat.sweeps.units import Unit, compute, repeats_of

_SECONDS = 0.5
_ROWS_OF_THE_TRIAL = 2000
_LEAST = 0.25
_QUICK = 0.005
_BUNDLES = 32


@dataclass(frozen=True)
class Pace:
    """Seconds of one repeat: a constant, and a part that grows with n."""

    constant: float
    per_row: float

    def __call__(self, n: int) -> float:
        """Return the seconds of a repeat with n rows."""
        return self.constant + self.per_row * n


@lru_cache(maxsize=1)
def measure_pace(study: Study) -> Pace:
    """Time a repeat of few rows and one of more; decides how work is cut, never what is computed."""
    if study.draws == "cells":  # whatever n is
        return Pace(_seconds(study, min(study.n)), 0.0)
    sizes = sorted({min(study.n), min(max(study.n), _ROWS_OF_THE_TRIAL)})
    seconds = [_seconds(study, n) for n in sizes]
    if len(sizes) == 1:
        return Pace(0.0, seconds[0] / sizes[0])
    slope = max(0.0, (seconds[1] - seconds[0]) / (sizes[1] - sizes[0]))
    return Pace(max(1e-4, seconds[0] - slope * sizes[0]), slope)


def _seconds(study: Study, n: int) -> float:
    """Return the seconds of a repeat, after one that pays for what is done once; of a group where that is quick."""
    estimates = Estimates(study.estimators, n)

    def took(repeats: range) -> float:
        start = time.perf_counter()
        with _forgiving(), quiet:
            compute(study, study.names[0], n, repeats, estimates)
        return max((time.perf_counter() - start) / len(repeats), 1e-6)

    whole = range(estimates.lanes)
    if study.draws == "cells":
        return took(whole)
    took(range(1))
    alone = took(range(1))
    return took(whole) if alone < _QUICK else alone


@contextmanager
def _forgiving() -> Iterator[None]:
    """Let errors pass: they will come again where they are recorded."""
    try:
        yield
    except Exception:
        return


def block_size(study: Study, pace: Pace) -> int:
    """Return how many repeats of the largest samples take half a second; less where there is little to do.

    Whole groups, where there is more than one.
    """
    total = sum(map(pace, study.n)) * len(study.models) * study.n_repeats
    found = round(_goal(total) / pace(max(study.n)))
    return int(np.clip(found - found % LANES if found > LANES else found, 1, study.n_repeats))


def _goal(total: float) -> float:
    """Return the seconds that a task should take, of a study that takes `total` seconds."""
    return float(np.clip(total / _BUNDLES, _LEAST, _SECONDS))


def bundles(study: Study, units: Sequence[Unit], block: int, pace: Pace) -> list[list[Unit]]:
    """Put units together until they take half a second, or half that where there is little to do."""
    costs = [pace(study.n[unit.n]) * len(repeats_of(study, unit, block)) for unit in units]
    goal = _goal(sum(costs))
    found: list[list[Unit]] = []
    filled = goal
    for unit, cost in zip(units, costs, strict=True):
        if filled + cost > goal * 1.5 or filled >= goal:
            found.append([])
            filled = 0.0
        found[-1].append(unit)
        filled += cost
    return found
