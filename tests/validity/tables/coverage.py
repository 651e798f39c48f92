"""How often default intervals hold what they are for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import calibstat as cs
from validity.tables import worlds
from validity.tables.rows import Row, count

TITLE = "Coverage of the 95 % intervals"
TEXT = """\
How often the interval of `estimate` holds the limit of the estimator (for binned errors the population's binned error,
for the others the error itself), in percent, with its Monte Carlo standard error. Asserted for the *default* interval:
at least 93 % at 500 and 2000 rows (2000 where events are rare). At 100 rows, and for the *percentile bootstrap*, it is
reported as it is."""
RUNS = 1000
CELLS = cs.EqualMass(15)
ESTIMATORS: dict[str, cs.Estimator] = {
    "ECE": cs.ECE(CELLS),
    "RMSCE": cs.RMSCE(CELLS),
    "MaximumMiscalibration": cs.MaximumMiscalibration(CELLS),
    "DebiasedL2": cs.DebiasedL2(cs.EqualMass(10)),
    "Kuiper": cs.Kuiper(),
    "KolmogorovSmirnov": cs.KolmogorovSmirnov(),
    "KCE": cs.KCE(0.2),
}
SLOW: dict[str, cs.Estimator] = {"SmoothCE": cs.SmoothCE()}
BOOTSTRAPPED = ("ECE", "DebiasedL2")
BOUND = 0.93
N_RESAMPLES = 199


@dataclass(frozen=True)
class Job:
    """Intervals from the same samples of a world."""

    scores: str
    curve: str
    n: int

    def measure(self, runs: int, seed: int) -> list[Row]:
        """Make intervals of fresh samples."""
        rng = np.random.default_rng([seed, self.n, len(self.scores), len(self.curve)])
        model = worlds.binary(self.scores, self.curve)
        named = ESTIMATORS | (SLOW if self.n == 500 and self.scores == "uniform" else {})
        truths = {name: float(model.limit(estimator).value) for name, estimator in named.items()}
        held: dict[tuple[str, str], list[bool]] = {}
        for _ in range(runs):
            sample = model.sample(self.n, rng)
            for name, estimator in named.items():
                for method, interval in _intervals(name):
                    held.setdefault((name, method), []).append(_holds(sample, estimator, interval, truths[name], rng))
        world = f"{self.scores}, {self.curve}"
        return [
            count((world, self.n, name, method), each, seed, at_least=self._bound(method))
            for (name, method), each in held.items()
        ]

    def _bound(self, method: str) -> float:
        asserted = method == "default" and self.n >= (2000 if self.scores == "rare" else 500)
        return BOUND if asserted else np.nan


def jobs() -> Iterator[Job]:
    """Yield everything that the table holds."""
    for scores in worlds.SCORES:
        for curve in worlds.CURVES:
            for n in (100, 500, 2000):
                yield Job(scores, curve, n)


def _intervals(name: str) -> Iterator[tuple[str, cs.Bootstrap | None]]:
    yield "default", None
    if name in BOOTSTRAPPED:
        yield "percentile bootstrap", cs.Bootstrap(N_RESAMPLES, allow_invalid=True)


def _holds(
    sample: cs.Sample, estimator: cs.Estimator, interval: cs.Bootstrap | None, truth: float, rng: np.random.Generator
) -> bool:
    found = cs.estimate(sample, estimator, interval=interval, n_resamples=N_RESAMPLES, rng=rng).confidence_interval
    # no interval: cells too small for it, said in the result; counted as the whole line
    return found is None or found.low - 1e-12 <= truth <= found.high + 1e-12
