"""How often tests reject worlds that satisfy their null, at level 5 %."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np

import calibstat as cs
from calibstat.nulls.base import Null
from validity.tables import worlds
from validity.tables.rows import Row, count

TITLE = "Size of the tests at level 5 %"
TEXT = """\
How often tests reject a model that satisfies their null by construction, in percent, with its Monte Carlo standard
error. *Redrawn labels* (`Consistency(99)`), the *exact law* (`Exact()`) and *sequential* (`Sequential(99, 10)`) are
exact: at most 5 %, less where statistics have ties. The *multiplier* and the *weak null* are asymptotic, asserted at
500 rows for at most 6.5 %, in worlds that satisfy their weaker null only as well; the multiplier is out of its range
where cells expect fewer than 10 events (ECE of rare events, classes that are rare: up to 13 % at 500 rows), which is
reported as it is, like *large-sample laws* (`Asymptotic()`) and *redrawn predictions* (`Consistency(99,
resample_predictions=True)`)."""
RUNS = 1000
LEVEL = 0.05
SIZES = (100, 500)
KEPT = cs.Consistency(99)
REDRAWN = cs.Consistency(99, resample_predictions=True)
CELLS = cs.EqualMass(15)
MULTI = (1, 0.3, 0.1, 0.03)

BINARY: dict[str, cs.Estimator] = {
    "ECE": cs.ECE(CELLS),
    "RMSCE": cs.RMSCE(CELLS),
    "MaximumMiscalibration": cs.MaximumMiscalibration(CELLS),
    "DebiasedL2": cs.DebiasedL2(CELLS),
    "MultiscaleL2": cs.MultiscaleL2(),
    "PDE": cs.PDE(CELLS),
    "ECESweep": cs.ECESweep(),
    "HosmerLemeshow": cs.HosmerLemeshow(),
    "PigeonHeyse": cs.PigeonHeyse(),
    "Kuiper": cs.Kuiper(),
    "KolmogorovSmirnov": cs.KolmogorovSmirnov(),
    "AverageTwoBin": cs.AverageTwoBin(),
    "BrownianBridge": cs.BrownianBridge(),
    "SKCE": cs.SKCE(),
    "SKCE of four bandwidths": cs.SKCE(multiples=MULTI),
    "KCE": cs.KCE(0.2),
    "SmoothECE": cs.SmoothECE(),
    "CORP": cs.CORP(),
    "Spiegelhalter": cs.Spiegelhalter(),
    "MeanCalibration": cs.MeanCalibration(),
    "LogitScore": cs.LogitScore(),
    "CubicScore": cs.CubicScore(),
}
CLASSES: dict[str, cs.Estimator] = {
    "top-label ECE": cs.TopLabel() | cs.ECE(CELLS),
    "top-label Kuiper": cs.TopLabel() | cs.Kuiper(),
    "class-wise ECE": cs.EachClass(cs.ECE(CELLS)),
    "largest class-wise Kuiper": cs.EachClass(cs.Kuiper(), norm=np.inf),
    "ECE of the simplex grid": cs.ECE(cs.SimplexGrid(3)),
    "SKCE": cs.SKCE(),
    "SKCE of four bandwidths": cs.SKCE(multiples=MULTI),
    "VectorScalingScore": cs.VectorScalingScore(),
    "LogLossZ": cs.LogLossZ(),
    "BrierZ": cs.BrierZ(),
}
MULTIPLIED = ("ECE", "RMSCE", "DebiasedL2", "Kuiper", "KCE", "SKCE")
EXACT = ("ECE", "MaximumMiscalibration")
MOVED = ("ECE", "DebiasedL2", "Kuiper")


@dataclass(frozen=True)
class Ask:
    """One test of a table."""

    subject: str
    method: str
    estimator: cs.Estimator
    null: Null
    at_most: float = np.nan


@dataclass(frozen=True)
class Job:
    """Tests on the same samples of a world."""

    world: str
    n: int
    sample: Callable[[int, np.random.Generator], cs.Sample]
    asks: tuple[Ask, ...]

    def measure(self, runs: int, seed: int) -> list[Row]:
        """Test fresh samples."""
        rng = np.random.default_rng([seed, self.n, crc32(self.world.encode())])
        rejected = np.array([self._rejections(rng) for _ in range(runs)])
        return [
            count((self.world, self.n, ask.subject, ask.method), column, seed, at_most=ask.at_most)
            for ask, column in zip(self.asks, rejected.T, strict=True)
        ]

    def _rejections(self, rng: np.random.Generator) -> list[bool]:
        sample = self.sample(self.n, rng)
        found = [cs.calibration_test(sample, ask.estimator, null=ask.null, rng=rng).pvalue for ask in self.asks]
        return [p <= LEVEL + 1e-12 for p in found]


def jobs() -> Iterator[Job]:
    """Yield everything that the table holds."""
    for n in SIZES:
        for scores in worlds.SCORES:
            yield Job(scores, n, worlds.binary(scores).sample, tuple(_binary(n, scores)))
            yield Job(f"{scores}, a variable", n, _strong(scores), tuple(_given(n)))
        for name, world in worlds.SHAPES.items():
            yield Job(name, n, world, tuple(_shaped()))
        for name in worlds.CLASSES:
            yield Job(name, n, _classes(name), tuple(_of_classes(n, name)))
    yield Job("weak null only, a variable", 500, worlds.weak, (_weak(),))
    example = cs.generators.vaicenavicius_example_1()
    yield Job("weak null only, class-wise", 500, example.sample, tuple(_class_wise()))


def _binary(n: int, scores: str) -> Iterator[Ask]:
    for name, estimator in BINARY.items():
        yield Ask(name, "redrawn labels", estimator, KEPT, LEVEL)
        if name in EXACT:
            yield Ask(name, "exact law", estimator, cs.Exact(), LEVEL)
        if large_sample(estimator):
            yield Ask(name, "large-sample law", estimator, cs.Asymptotic())
    yield Ask("Kuiper", "sequential", cs.Kuiper(), cs.Sequential(99, 10), LEVEL)
    for name in MULTIPLIED:
        yield Ask(name, "multiplier", BINARY[name], cs.Multiplier(99), _in_range(n, scores, name))
    for name in MOVED:
        yield Ask(name, "redrawn predictions", BINARY[name], REDRAWN)


def _shaped() -> Iterator[Ask]:
    cells = cs.ECE(cs.EqualWidth(10))
    exact = ("exact law", cs.Exact(), LEVEL)
    for method, null, bound in (("redrawn labels", KEPT, LEVEL), exact, ("redrawn predictions", REDRAWN, np.nan)):
        yield Ask("ECE of equal widths", method, cells, null, bound)


def _of_classes(n: int, world: str) -> Iterator[Ask]:
    for name, estimator in CLASSES.items():
        yield Ask(name, "redrawn labels", estimator, KEPT, LEVEL)
        if large_sample(estimator):
            yield Ask(name, "large-sample law", estimator, cs.Asymptotic())
    yield Ask(
        "class-wise ECE",
        "multiplier",
        CLASSES["class-wise ECE"],
        cs.Multiplier(99),
        _in_range(n, world, "class-wise ECE"),
    )


def _given(n: int) -> Iterator[Ask]:
    yield Ask("VECE", "redrawn labels", cs.VECE("v"), KEPT, LEVEL)
    yield Ask("VECE", "weak null", cs.VECE("v"), cs.Weak(99), _bound(n))


def _class_wise() -> Iterator[Ask]:
    cells = cs.EachClass(cs.ECE(cs.UniqueValues()))
    yield Ask("class-wise ECE", "multiplier", cells, cs.Multiplier(99), 0.065)


def _weak() -> Ask:
    return Ask("VECE", "weak null", cs.VECE("v"), cs.Weak(99), 0.065)


def _bound(n: int) -> float:
    return 0.065 if n >= 500 else np.nan


# Cells of these expect fewer than 10 events: out of the range that the multiplier states.
FEW_EVENTS = {("rare", "ECE"), ("Dirichlet(0.3 x 10)", "class-wise ECE")}


def _in_range(n: int, world: str, subject: str) -> float:
    return np.nan if (world, subject) in FEW_EVENTS else _bound(n)


def large_sample(estimator: cs.Estimator) -> bool:
    """Whether the estimator has a large-sample law."""
    return estimator in _ANALYTIC


_ANALYTIC = (
    *(BINARY[name] for name in ("HosmerLemeshow", "PigeonHeyse", "Kuiper", "KolmogorovSmirnov", "BrownianBridge")),
    *(BINARY[name] for name in ("SKCE", "Spiegelhalter", "MeanCalibration", "LogitScore", "CubicScore")),
    *(CLASSES[name] for name in ("top-label Kuiper", "SKCE", "VectorScalingScore", "LogLossZ", "BrierZ")),
)


def _strong(scores: str) -> Callable[[int, np.random.Generator], cs.Sample]:
    return lambda n, rng: worlds.strong(scores, n, rng)


def _classes(name: str) -> Callable[[int, np.random.Generator], cs.Sample]:
    return lambda n, rng: worlds.classes(name, n, rng)
