"""Everything that a user makes of parameters: random ones, sound and unsound, and then it is used."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

import calibstat as cs
from calibstat import calibrators as cal
from calibstat import generators as gen
from fuzz.hostile import Case, Hostile, rows_of
from registered.entries import TREE

# What may stand anywhere. No whole number between a thousand and what no parameter allows: it would only take long.
ANYTHING: list[Any] = [
    *(0, 1, 2, 3, 10, -1, 10**30, -(10**30), 10**400, True, False, None, ..., NotImplemented),
    *(0.0, -0.0, 0.5, 1.0, 1.5, -0.5, 1e-300, 1e300, 5e-324, float("nan"), float("inf"), -float("inf"), 1j),
    *("", "median", "age", "é\N{COLLISION SYMBOL}", b"x", date(2020, 1, 1), Fraction(1, 3), Decimal("0.3"), object()),
    *([], [0.5], [0, 1], [1, "a"], [[0.5, 0.5]], [[1], [2, 3]], [None], [float("nan")], (), (0.2, 0.8), {}, {"a": 1}),
    *({0}, range(3), slice(2), len, float, cs.ECE, np.array([]), np.array([0.2, 0.8]), np.array(0.5), np.array(3)),
    *(np.float32(0.5), np.int8(3), np.bool_(True), np.datetime64("2020"), np.eye(2), np.full((2, 2, 2), 0.5)),
    *(cs.ECE(), cs.TopLabel(), cs.EqualWidth(3), cs.Consistency(19), cal.Platt(), gen.Identity()),
]
BINNINGS = [
    cs.EqualWidth(3),
    cs.EqualMass(2),
    cs.UniqueValues(),
    cs.SimplexGrid(2),
    cs.VarianceTree(2),
    cs.FixedEdges([0, 0.5, 1]),
    cs.EqualMass(2) * cs.EqualWidth(2),
    cs.Categories(),
]
ESTIMATORS = [cs.BrierScore(), cs.ECE(cs.EqualWidth(2)), cs.Kuiper(), cs.TopLabel() | cs.AUC(), cs.SKCE(0.3), cs.Cox()]
WORLDS = [gen.BetaPredictions(1, 2), gen.DirichletPredictions([1, 2, 3]), gen.FinitePredictions([0.2, 0.7], [0.3, 0.6])]
MAPS = [gen.Identity(), gen.LogitShift(1.0), gen.TemperatureShift(2.0)]
MANY = {"n_points", "n_resamples", "n_anchors", "n_cells", "n_restarts", "restart_every", "max_waiting", "most"}
# Sound values, by the names of parameters.
SOUND: dict[str, list[Any]] = {
    "binning": BINNINGS,
    "estimator": ESTIMATORS,
    "measure": ESTIMATORS,
    "score": [cs.BrierScore(), cs.LogScore(), cs.ZeroOneLoss()],
    "distance": [cs.TotalVariation(), cs.Lp(3)],
    "kernel": [cs.GaussianKernel(), cs.LaplaceKernel()],
    "curve": [cs.LOESS(n_points=10), cs.IsotonicCurve(), cs.LogisticSpline(3)],
    "members": [{"a": cs.BrierScore(), "b": cs.Kuiper()}],
    "world": WORLDS,
    "recalibration": MAPS,
    "recalibrations": [(gen.Identity(), gen.Slope(2.0))],
    "calibrator": [cal.Platt(), cal.Isotonic(), cal.HistogramBinning()],
    "edges": [[0, 0.5, 1], [0, 1], [0.2, 0.4], [-np.inf, 0.5, np.inf], [0, 0.5, 0.5, 1], [1, 0]],
    "groups": [[[0], [1]], [[0, 1]], {"a": [0], "b": 1}, [[0]], [[0, 0], [1]]],
    "label": [0, 1, "a"],
    "labels": [(0, 1), [1, 0], ("a", "b"), (0, 0), (0, 1, 2)],
    "names": ["age", ("a", "b"), ("age", "sex")],
    "predicate": [lambda seen: seen.event > 0.5, lambda seen: [True], lambda seen: seen.event],
    "function": [lambda sample: 0.5, lambda sample: sample.outcomes.mean(), lambda sample: "x", lambda sample: np.nan],
    "h": [lambda seen: seen.event, lambda seen: 0, lambda seen: np.full(len(seen), np.nan)],
    "tree": [TREE, {}],
    "variable": ["age", "sex", -1, 0],
    "variables": [("age",), ("age", ...), ("sex",), (0,)],
    "bandwidth": [0.1, 2.0, "median", (0.1, 0.5)],
    "locations": [3, [0.2, 0.8], [0.5]],
    "alpha": [[1, 2], [0.1, 0.1, 0.1], [1e-300, 1], [1e300, 1e300]],
    "matrix": [np.eye(2), np.full((2, 2), 0.5), np.eye(3), [[1, 0], [0, np.nan]]],
    "distribution": [[0.5, 0.5], [1, 0], [0.2, 0.3, 0.5], [0.5, 0.6]],
    "predictions": [[0.2, 0.7], [[0.2, 0.8], [0.5, 0.5]], [0.5, 0.5], [0, 1], "varying", "constant"],
    "truths": [[0.3, 0.6], [[0.3, 0.7], [0.5, 0.5]], [0, 1], [0.5, 1.5]],
    "mass": [[1, 1], [0.2, 0.8], [0, 1], [1e300, 1e-300], [0, 0]],
    "y_prob": [[0.2, 0.7], [[0.2, 0.8], [0.5, 0.5]]],
    "probabilities": [np.array([0.2, 0.7]), np.eye(2)],
    "chances": [np.array([[0.2, 0.8], [0.5, 0.5]]), np.eye(2)],
    "size": [2, 5, gen.ParetoSizes()],
    "correlation": [0.0, 0.5, 1.0],
    "sharpness": [(1.0, 0.7), (0.0, 0.0), (1e300, 1.0)],
    "bets": [cs.LikelihoodRatioBets(2, 5, 2), cs.KernelBets(n_anchors=5)],
    "lens": [cs.TopLabel(), cs.Canonical(), cs.ClassWise(1)],
    "learner": [None],
    "classifier": [None],
    "cv": [2, 3],
    "smallest": [1e-6, None, 0.1],
}
# Texts that some parameter takes.
WORDS = [
    *("quantile", "uniform", "mean", "median", "left", "right", "pairs", "counts", "biased", "block", "unbiased"),
    *("score", "slope", "e90", "outcome", "null", "tau_a", "strict", "raise", "omit", "log", "brier", "overconfident"),
    *("prediction", "arrival", "logits", "probability", "exact", "sample", "percentile", "basic", "bca", "hard", "am"),
]


def drawn(rng: np.random.Generator, name: str, parameter: inspect.Parameter) -> Any:
    """Draw a value: the default, a sound one, or anything."""
    fate = rng.random()
    if fate < 0.3 and parameter.default is not parameter.empty and repr(parameter.default) != "<factory>":
        return parameter.default
    if fate < 0.8:
        if name in SOUND:
            return SOUND[name][rng.integers(len(SOUND[name]))]
        if name in MANY:
            return int(rng.choice([1, 2, 20]))
        if isinstance(parameter.default, str) or "Literal" in str(parameter.annotation):
            return WORDS[rng.integers(len(WORDS))]
        if isinstance(parameter.default, bool):
            return bool(rng.integers(2))
        return [1, 2, 3, 0.1, 0.5, 1.0, 0.9, 2.5, float(rng.random()), float(rng.normal())][rng.integers(10)]
    return ANYTHING[rng.integers(len(ANYTHING))]


def arguments(rng: np.random.Generator, maker: Any) -> tuple[list[Any], dict[str, Any]]:
    """Draw the arguments of a constructor, by position where it takes any number of them."""
    one_by_one, named = [], {}
    for name, parameter in inspect.signature(maker).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            one_by_one += [drawn(rng, name, parameter) for _ in range(rng.integers(0, 3))]
        elif name != "self" and (parameter.default is parameter.empty or rng.random() < 0.6):
            named[name] = drawn(rng, name, parameter)
    return one_by_one, named


# How what was made is used.


def sampled(world: Any, raw: Hostile) -> Any:
    n = [raw.n, raw.n, 7, 0, -1, 2.5, "3", None, True, 10**30][raw.rng.integers(10)]
    return (found := world.sample(n, rng=0)), found.y_prob, found.outcomes


def updated(monitor: Any, raw: Hostile) -> Any:
    alarm = monitor.update(raw.arrays[1], raw.arrays[0])
    return alarm, monitor


def fitted(calibrator: Any, raw: Hostile) -> Any:
    calibrator.fit(raw.arrays[1], raw.arrays[0])
    found = calibrator.predict_proba(raw.second)
    if isinstance(calibrator, cal.OneVsRest) and not calibrator.normalize:
        return {"shares": found}  # rows that need not sum to one
    return Chances(found)


@dataclass(frozen=True)
class Chances:
    """Probabilities that something gave: each in [0, 1], and rows that sum to one."""

    chances: Any


def many_bets(bets: Any, raw: Hostile) -> Any:
    return updated(cs.Monitor(bets=bets), raw)


# The first class that fits says how.
USES: list[tuple[Any, Callable[[Any, Hostile], Any]]] = [
    (cs.Lens, lambda made, raw: (seen := made(raw.grouped()), seen.y_prob, seen.outcomes)),
    (cs.Binning, lambda made, raw: cs.ExpectedMiscalibration(made)(raw.grouped())),
    (cs.Estimator, lambda made, raw: made(raw.grouped())),
    (cs.Null, lambda made, raw: cs.calibration_test(raw.grouped(), cs.ECE(cs.EqualWidth(2)), null=made, rng=0)),
    (cs.Resampler, lambda made, raw: cs.estimate(raw.grouped(), cs.BrierScore(), interval=made, rng=0)),
    (cs.Kernel, lambda made, raw: cs.SKCE(0.3, kernel=made)(raw.grouped())),
    (
        (cs.TotalVariation, cs.SquaredEuclidean, cs.Lp),
        lambda made, raw: cs.ExpectedMiscalibration(cs.SimplexGrid(2), made)(raw.grouped()),
    ),
    ((cs.CellMeans, cs.LogisticSpline), lambda made, raw: cs.ICI(made)(raw.grouped())),
    (cs.Bets, many_bets),
    ((cs.Monitor, cs.DifferenceMonitor), updated),
    (gen.SyntheticModel, sampled),
    (gen.ModelPair, lambda made, _: [taken.y_prob for taken in made.sample(7, rng=0)]),
    (gen.Recalibration, lambda made, raw: sampled(gen.BetaPredictions(2, 2, made), raw)),
    (gen.SimplexMap, lambda made, raw: sampled(gen.DirichletPredictions([1, 2], made), raw)),
    (gen.ParetoSizes, lambda made, raw: sampled(gen.Clustered(WORLDS[0], made, 0.3), raw)),
    (cs.ErrorFamily, lambda made, raw: sampled(made(float(raw.rng.choice([0.01, 0.1, 0.0, 2.0]))), raw)),
    (cal.Calibrator, fitted),
    (np.random.Generator, lambda made, _: made.random(3)),
]


def used(made: Any, raw: Hostile) -> Any:
    """Use what was made, and give it with what came of it."""
    for kind, use in USES:
        if isinstance(made, kind):
            return type(made), use(made, raw)
    return made


MAKERS: dict[str, Any] = {
    name: getattr(home, name)
    for home in (cs, cal, gen)
    for name in home.__all__
    if inspect.isclass(getattr(home, name))
    and not inspect.isabstract(getattr(home, name))
    and issubclass(getattr(home, name), tuple(each for kind, _ in USES for each in np.ravel(np.array(kind, object))))
}
MAKERS |= {
    name: getattr(cs, name)
    for name in ("ACE", "KS", "MCE", "RMSCE", "CubicScore", "VCE", "VECE", "as_generator", "scorer")
}
MAKERS |= {
    name: getattr(gen, name)
    for name in (
        *("kelly_smyth_theorem_5_1", "kelly_smyth_theorem_5_2", "kelly_smyth_theorem_5_4"),
        *("vaicenavicius_example_1", "ModelPair", "RegressionFunction"),
    )
}


# Where scikit-learn checks the arrays of its estimators.
CHECKS = "sklearn/utils/"


def make(rng: np.random.Generator) -> Case:
    """Draw a constructor with its arguments, and the rows on which what it makes is used."""
    name = list(MAKERS)[rng.integers(len(MAKERS))]
    one_by_one, named = arguments(rng, MAKERS[name])
    said = ", ".join([*map(repr, one_by_one), *(f"{key}={value!r}" for key, value in named.items())])
    rows = rows_of(rng, 2 + (rng.random() < 0.2))
    return Case(f"{name}({said})"[:300], rows, lambda raw: used(MAKERS[name](*one_by_one, **named), raw), None, CHECKS)
