"""Functions that take seconds whatever the rows are, and pictures: asked for little, of few rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import calibstat as cs
from benchmarks.verbs import off
from calibstat import calibrators as cal
from calibstat import generators as gen
from calibstat.testing import assert_calibrated
from fuzz.hostile import Case, Hostile, rows_of

FEW = {"n_resamples": 19, "rng": 0}
PLANS = {"n_repeats": 100, "n_resamples": 39, "rng": 0}
ECE = cs.ECE(cs.EqualMass(3))
CALIBRATORS = {"platt": cal.Platt(), "isotonic": cal.Isotonic()}


def tree(raw: Hostile) -> Any:
    """A tree that some other package has fitted to sound rows."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=2).fit(np.linspace(0, 1, 20)[:, None], np.arange(20) // 7 % 2)


def sweep(raw: Hostile) -> Any:
    world = gen.BetaPredictions(1, 1, gen.LogitShift(float(raw.rng.normal())))
    sizes = raw.rng.choice([1, 2, 7, 30], 2, replace=False).tolist()
    return cs.Sweep(world, n=sizes, n_bins=[1, 5], estimators={"e": cs.ECE}, tests={"t": ECE}, n_repeats=2, rng=0)


def swept(raw: Hostile) -> Any:
    estimators = {"e": lambda n_bins: cs.ECE(cs.EqualMass(n_bins))}
    world = gen.BetaPredictions(1, 1)
    return cs.Sweep(world, n=[raw.n], n_bins=[1, 5], estimators=estimators, n_repeats=2, rng=0).run(progress=False)


def monitored(raw: Hostile) -> Any:
    monitor = cs.Monitor()
    monitor.update(raw.arrays[1], raw.arrays[0])
    return monitor


def drawn(display: Any) -> str:
    """Draw a display on a figure that is not shown, and give what stands below it."""
    display.plot()
    try:
        display.figure_.draw_without_rendering()
    finally:
        display.close()
    return display.caption


def asserted(raw: Hostile) -> Any:
    try:
        return assert_calibrated(raw.grouped(), ECE, within=0.9, n_resamples=19)
    except AssertionError as error:  # documented
        return str(error)


def checked(raw: Hostile) -> Any:
    a, b = raw.rng.choice([0.01, 0.5, 1, 5, 100], 2)
    world = gen.BetaPredictions(a, b, gen.Slope(float(raw.rng.choice([0.5, 1, 3]))))
    return gen.check_generator(world, estimators=[ECE], n=2000)


CALLS: dict[str, Callable[[Hostile], Any]] = {
    "calibration_band": lambda raw: cs.calibration_band(raw.sample()),
    "clinical_summary": lambda raw: cs.clinical_summary(raw.sample(), **FEW),
    "compare_calibrators": lambda raw: cs.compare_calibrators(CALIBRATORS, *raw.arrays, **FEW),
    "recommend_calibrator": lambda raw: cs.recommend_calibrator(raw.sample(), CALIBRATORS, n_other_splits=1, **FEW),
    "report": lambda raw: cs.report(raw.sample(), rng=0),
    "leaf_table": lambda raw: cs.leaf_table(raw.sample(), tree(raw), variables=[...]),
    "learner_audit": lambda raw: cs.learner_audit(raw.grouped(), min_size=2, n_blocks=2, **FEW),
    "required_n": lambda raw: cs.required_n(off(float(raw.rng.normal(0, 2))), ECE, max_n=1 + 30 * raw.n, **PLANS),
    "minimum_detectable": lambda raw: cs.minimum_detectable(off, raw.n, ECE, bounds=(0.05, 2.0), **PLANS),
    "Sweep.run": lambda raw: sweep(raw).run(progress=False),
    "summarise": lambda raw: cs.summarise(swept(raw)),
    "side_by_side": lambda raw: cs.side_by_side([cs.ReliabilityDisplay.compute(raw.sample(), **FEW)]).clear(),
    "assert_calibrated": asserted,
    "check_generator": checked,
    "ReliabilityDisplay": lambda raw: drawn(cs.ReliabilityDisplay.compute(raw.sample(), cs.EqualMass(3), **FEW)),
    "CumulativeDisplay": lambda raw: drawn(cs.CumulativeDisplay.compute(raw.sample(), **FEW)),
    "SimplexDisplay": lambda raw: drawn(cs.SimplexDisplay.compute(raw.sample(), **FEW)),
    "VariableDisplay": lambda raw: drawn(cs.VariableDisplay.compute(raw.grouped(), "age", **FEW)),
    "ValidityCurveDisplay": lambda raw: drawn(cs.ValidityCurveDisplay.compute(raw.sample(), **FEW)),
    "NullDisplay": lambda raw: drawn(cs.NullDisplay.compute(cs.calibration_test(raw.sample(), ECE, **FEW))),
    "PanelDisplay": lambda raw: drawn(cs.PanelDisplay.compute(cs.omnibus_test(raw.sample(), **FEW))),
    "EstimateDisplay": lambda raw: drawn(cs.EstimateDisplay.compute(cs.estimate(raw.sample(), ECE, **FEW))),
    "AuditDisplay": lambda raw: drawn(
        cs.AuditDisplay.compute(cs.subgroup_audit(raw.grouped(), "sex", min_size=1, min_expected=0, **FEW))
    ),
    "ComparisonDisplay": lambda raw: drawn(
        cs.ComparisonDisplay.compute(cs.compare_models({"a": raw.sample(), "b": raw.other()}, ECE, **FEW))
    ),
    "ClinicalDisplay": lambda raw: drawn(cs.ClinicalDisplay.compute(cs.clinical_summary(raw.sample(), **FEW))),
    "DesiderataDisplay": lambda raw: drawn(cs.DesiderataDisplay.compute(cs.desiderata(raw.sample(), rng=0))),
    "SimplificationDisplay": lambda raw: drawn(cs.SimplificationDisplay.compute(cs.simplify(raw.sample(), 2, rng=0))),
    "MonitorDisplay": lambda raw: drawn(cs.MonitorDisplay.compute(monitored(raw))),
    "TrajectoryDisplay": lambda raw: drawn(
        cs.TrajectoryDisplay.compute(cs.trajectory({1: raw.sample(), 2: raw.other()}, {"ECE": ECE}, **FEW))
    ),
    "PowerDisplay": lambda raw: drawn(cs.PowerDisplay.compute(CALLS["required_n"](raw))),
    "PrecisionDisplay": lambda raw: drawn(cs.PrecisionDisplay.compute(cs.precision_n(raw.arrays[1]))),
    "SweepDisplay": lambda raw: drawn(cs.SweepDisplay.compute(cs.summarise(swept(raw)))),
}


def make(rng: np.random.Generator) -> Case:
    """Draw a call and its rows, which calibstat sees before any other package does."""
    name = list(CALLS)[rng.integers(len(CALLS))]
    return Case(
        name, rows_of(rng, 3 if name == "SimplexDisplay" else 2), lambda raw: (raw.grouped(), CALLS[name](raw))[1]
    )
