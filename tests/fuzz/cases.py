"""One seed makes one case: an estimator or a public function, called on arrays that nobody should have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import calibstat as cs
from benchmarks.verbs import VERBS, Raw
from registry import ESTIMATORS

TINY = np.finfo(float).tiny
EDGES = [0.0, 1.0, 0.5, 1 - 1e-16, 1e-300, TINY, 5e-324, 0.1, 0.3]
BAD = [np.nan, np.inf, -np.inf, -0.1, 1.5, 1 + 1e-9]
# These take seconds whatever the rows are, start from no arrays at all, or fit another package's tree to them first.
DEAR = {
    "calibration_band", "clinical_summary", "compare_calibrators", "recommend_calibrator", "report",
    "leaf_table", "learner_audit", "required_n", "minimum_detectable", "Sweep.run", "summarise", "side_by_side",
}  # fmt: skip
CHEAP = [name for name in VERBS if name not in DEAR]


@dataclass
class Hostile(Raw):
    """Few rows, whose labels, predictions and weights are drawn from what breaks arithmetic."""

    rng: np.random.Generator

    @cached_property
    def arrays(self) -> tuple[Any, Any]:
        rng, n = self.rng, self.n
        p = [rng.random(n), rng.choice(EDGES, n), np.full(n, rng.choice(EDGES)), rng.integers(0, 4, n) / 3]
        probs = p[rng.integers(len(p))]
        labels = rng.integers(0, 2, n) if rng.random() < 0.9 else np.full(n, rng.integers(0, 2))
        if n and rng.random() < 0.15:
            probs[rng.integers(n)] = rng.choice(BAD)
        shape = rng.random()
        if shape < 0.03:
            probs = probs[:, None, None]
        elif shape < 0.06:
            labels = labels[: n // 2]
        elif shape < 0.09:
            probs = probs.astype(str)
        elif shape < 0.2:
            probs = probs.astype(np.float32)
        elif shape < 0.23:
            labels = labels.astype(object)
        return labels, probs

    @cached_property
    def second(self) -> Any:
        return self.rng.random(self.n)

    @cached_property
    def weights(self) -> np.ndarray | None:
        if self.rng.random() < 0.5:
            return None
        levels = [[1.0], [1e300, 1.0], [1e-300, 1.0], [0.0, 1.0], [0.5, 2.0], [1.0, np.nan], [1.0, -1.0], [0.0]]
        return self.rng.choice(levels[self.rng.integers(len(levels))], self.n)

    def sample(self) -> cs.Sample:
        return cs.Sample(*self.arrays, sample_weight=self.weights, labels=[0, 1])

    def grouped(self) -> cs.Sample:
        return cs.Sample(*self.arrays, variables=self.variables, sample_weight=self.weights, labels=[0, 1])


@dataclass(frozen=True)
class Case:
    """What is called, on which rows, and how it is called again."""

    name: str
    rows: Hostile
    call: Callable[[Hostile], Any]


def case(seed: int, kinds: str = "estimators") -> Case:
    """Make the case of a seed, of an estimator (cheap) or of a public function (dear)."""
    rng = np.random.Generator(np.random.PCG64(seed))
    rows = Hostile(int(rng.choice([0, 1, 2, 3, 8, 30])), rng)
    if kinds == "estimators":
        entry = ESTIMATORS[rng.integers(len(ESTIMATORS))]
        return Case(entry.name, rows, lambda raw: entry.thing(raw.grouped()))
    name = CHEAP[rng.integers(len(CHEAP))]
    return Case(
        name, rows, lambda raw: (raw.grouped(), VERBS[name].call(raw))[1]
    )  # no other package sees bad rows first


def lines(seed: int, kinds: str = "estimators") -> str:
    """Three lines of Python that do the case again, from the folder tests."""
    return f"from fuzz.cases import case\nfound = case({seed}, {kinds!r})\nprint(found.name, found.call(found.rows))"
