"""How often default intervals hold what they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np

import calibstat as cs
from calibstat import generators as g
from validity.tables import worlds
from validity.tables.rows import Row, count

TITLE = "Coverage of the 95 % intervals"
TEXT = """\
How often the interval of `estimate` holds the limit of the estimator (for binned errors the population's binned error,
for the others the error itself), in percent, with its Monte Carlo standard error. Asserted for the *default* interval:
at least 95 %, at every number of rows. The *percentile bootstrap* is reported as it is."""
RUNS = 200
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
BOUND = 0.95
N_RESAMPLES = 199


@dataclass(frozen=True)
class Ask:
    """An interval, and what it is to hold."""

    subject: str
    method: str
    estimator: cs.Estimator
    truth: float
    interval: cs.Bootstrap | None = None


@dataclass(frozen=True)
class Job:
    """Intervals from the same samples of a world."""

    world: str
    n: int
    model: g.SyntheticModel
    truths: Callable[[g.SyntheticModel, int], list[Ask]]

    def measure(self, runs: int, seed: int) -> list[Row]:
        """Make intervals of fresh samples."""
        rng = np.random.default_rng([seed, self.n, crc32(self.world.encode())])
        asks = self.truths(self.model, self.n)
        held = np.array([[holds(sample, ask, rng) for ask in asks] for sample in self._samples(runs, rng)])
        return [
            count((self.world, self.n, ask.subject, ask.method), column, seed, at_least=self._bound(ask))
            for ask, column in zip(asks, held.T, strict=True)
        ]

    def _samples(self, runs: int, rng: np.random.Generator) -> Iterator[cs.Sample]:
        return (self.model.sample(self.n, rng) for _ in range(runs))

    def _bound(self, ask: Ask) -> float:
        return BOUND if ask.method == "default" else np.nan


def holds(sample: cs.Sample, ask: Ask, rng: np.random.Generator) -> bool:
    """Whether the interval holds the truth; without an interval (cells too small, said in the result) it does."""
    found = cs.estimate(sample, ask.estimator, interval=ask.interval, n_resamples=N_RESAMPLES, rng=rng)
    ends = found.confidence_interval
    return ends is None or ends.low - 1e-12 <= ask.truth <= ends.high + 1e-12


def jobs() -> Iterator[Job]:
    """Yield everything that the table holds."""
    for n in (100, 500, 2000):
        for scores in worlds.SCORES:
            for curve in worlds.CURVES:
                yield Job(f"{scores}, {curve}", n, worlds.binary(scores, curve), of_events)
        for share in (0.0, 0.15):
            mixture = g.Mixture(share, (1 / 3, 1 / 3, 1 / 3))
            model = g.DirichletPredictions((1, 1, 1), mixture)
            yield Job(f"three classes, {share:.0%} labels at random", n, model, of_classes)
        for vece in (0.0, 0.1):
            given = g.VariableMiscalibration(ece=0.02, vece=vece)
            yield Job(f"a variable, VECE {vece:g}", n, given, of_variable)


def of_events(model: g.SyntheticModel, n: int) -> list[Ask]:
    """Default intervals of two classes, and the percentile bootstrap."""
    named = ESTIMATORS | (SLOW if n == 500 else {})
    asks = [Ask(name, "default", each, float(model.limit(each).value)) for name, each in named.items()]
    bootstrap = cs.Bootstrap(N_RESAMPLES, allow_invalid=True)
    return asks + [
        Ask(ask.subject, "percentile bootstrap", ask.estimator, ask.truth, bootstrap)
        for ask in asks
        if ask.subject in BOOTSTRAPPED
    ]


def of_classes(model: g.SyntheticModel, n: int) -> list[Ask]:
    """The mean of class-wise errors: its limit is the mean of theirs, which are alike here."""
    one = float(model.limit(cs.ClassWise(0) | cs.ECE(CELLS)).value)
    return [Ask("class-wise ECE", "default", cs.EachClass(cs.ECE(CELLS)), one)]


def of_variable(model: g.SyntheticModel, n: int) -> list[Ask]:
    """The error given a variable."""
    return [Ask("VECE", "default", cs.VECE("v"), float(model.limit(cs.VECE("v")).value))]
