"""How long a repeat takes, and how work is cut accordingly: into blocks, and bundles of about half a second."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from calibstat.sweeps.quiet import quiet
from calibstat.sweeps.study import Study
from calibstat.sweeps.units import Unit, one_repeat, repeats_of

_SECONDS = 0.5
_ROWS_OF_THE_TRIAL = 2000
_BLOCKS = 8
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
    sizes = sorted({min(study.n), min(max(study.n), _ROWS_OF_THE_TRIAL)})
    seconds = [_seconds(study, n) for n in sizes]
    if len(sizes) == 1:
        return Pace(0.0, seconds[0] / sizes[0])
    slope = max(0.0, (seconds[1] - seconds[0]) / (sizes[1] - sizes[0]))
    return Pace(max(1e-4, seconds[0] - slope * sizes[0]), slope)


def _seconds(study: Study, n: int) -> float:
    """Return the seconds of a repeat, after one that pays for what is done once."""
    with _forgiving(), quiet:
        one_repeat(study, study.names[0], n, 0)
    start = time.perf_counter()
    with _forgiving(), quiet:
        one_repeat(study, study.names[0], n, 0)
    return max(time.perf_counter() - start, 1e-6)


@contextmanager
def _forgiving() -> Iterator[None]:
    """Let errors pass: they will come again where they are recorded."""
    try:
        yield
    except Exception:
        return


def block_size(study: Study, pace: Pace) -> int:
    """Return how many repeats of the largest samples take half a second; there are always several blocks."""
    most = -(-study.n_repeats // _BLOCKS)
    return int(np.clip(round(_SECONDS / pace(max(study.n))), 1, most))


def bundles(study: Study, units: Sequence[Unit], block: int, pace: Pace) -> list[list[Unit]]:
    """Put units together until they take half a second; less where there is little to do, so that all have work."""
    costs = [pace(study.n[unit.n]) * len(repeats_of(study, unit, block)) for unit in units]
    goal = min(_SECONDS, sum(costs) / _BUNDLES)
    found: list[list[Unit]] = []
    filled = goal
    for unit, cost in zip(units, costs, strict=True):
        if filled + cost > goal * 1.5 or filled >= goal:
            found.append([])
            filled = 0.0
        found[-1].append(unit)
        filled += cost
    return found
