"""Which numbers a result may hold: none that is silently missing, and none outside its range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np

import calibstat as cs
from fuzz.hostile import Case

Numbers: TypeAlias = list[tuple[str, np.ndarray]]
ROUNDING = 1e-9
MOST = 2**1000

# Numbers that may be missing (NaN), as their docstrings say, and why.
_COX = "outcomes are separated, predictions are all equal, or one is 0 or 1"
_MEASURES = (
    "ici",
    "e50",
    "e90",
    "emax",
    "c_index",
    "brier",
    "reliability",
    "resolution",
    "uncertainty",
    "scaled_brier",
)
MISSING = {
    **{f"CoxFit.{name}": _COX for name in ("intercept", "slope", "intercept_in_the_large")},
    **{f"CoxFit.{name}_interval": _COX for name in ("intercept", "slope", "intercept_in_the_large")},
    **{f"CoxFit.{name}_error": _COX for name in ("intercept", "slope", "intercept_in_the_large")},
    **{f"Dataset.{name}": "a cell has no rows" for name in ("mean_prediction", "mean_outcome", "deviation")},
    **{f"IntervalDeviation.{name}": "the walk never leaves the origin" for name in ("low", "high")},
    "NamedValues.values": "a group has too few rows for a value",
    **dict.fromkeys(("intercept", "slope", "intercept_in_the_large"), _COX),  # measures of a summary
    **dict.fromkeys(_MEASURES, "an interval, or a value under calibration, that a measure does not have"),
    "survival": "of NaN, as of the laws of scipy.stats",
    "Desiderata.misranked": "no pair is ranked",
    "Desiderata.misranked_expected": "no pair is ranked",
}


def numbers(found: Any, name: str = "") -> Numbers:
    """List the numbers of a result, with the class and field that hold them."""
    return list(_numbers(found, name))


def _numbers(found: Any, name: str) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(found, (bool, np.bool_, str, bytes)) or found is None:
        return
    if isinstance(found, int) and abs(found) > MOST:  # a parameter
        return
    if isinstance(found, (int, float, np.number)):
        yield name, np.asarray(found, dtype=float)
    elif isinstance(found, np.ndarray):
        if found.dtype.kind in "fiu":
            yield name, found
    elif isinstance(found, (tuple, list)):
        if found and all(isinstance(each, (int, float, np.number)) for each in found):
            yield name, np.array(found, dtype=float)
        else:
            for each in found:
                yield from _numbers(each, name)
    elif isinstance(found, Mapping):
        for key, each in found.items():
            yield from _numbers(each, key if isinstance(key, str) else name)
    elif hasattr(found, "data_vars"):
        for key, each in found.variables.items():
            yield from _numbers(np.asarray(each.values), f"Dataset.{key}")
    elif is_dataclass(found) and not isinstance(found, (type, cs.Sample)):
        for each in fields(found):
            yield from _numbers(getattr(found, each.name, None), f"{type(found).__name__}.{each.name}")


def unsound(held: Numbers) -> str:
    """Say which number is missing or outside its range; "" if none is."""
    for name, values in held:
        missing = np.isnan(values)
        if missing.any() and name not in MISSING:
            return f"{name} is not a number: {values}"
        known = values[~missing]
        low, high = limits(name)
        if known.size and not (low <= known.min() and known.max() <= high):
            return f"{name} is {values}, outside [{low:g}, {high:g}]"
        if name.endswith("interval") and values.shape == (2,) and values[0] > values[1]:
            return f"{name} is {values}, which ends below where it begins"
        if name == "Chances.chances" and values.ndim == 2 and not np.allclose(values.sum(axis=1), 1, atol=2e-4):
            return f"{name} has rows with sums of {values.sum(axis=1)}"
    return ""


def limits(name: str) -> tuple[float, float]:
    """Return between which numbers those of this name lie."""
    field = name.rpartition(".")[2]
    if "pvalue" in field:
        return (0.0 if "interval" in field or name in ZERO else TINIEST), 1.0
    if field in ("chances", "survival", "share", "shares", "confidence_level", "level", "proportion"):
        return 0.0, 1 + 1e-6
    if field in ("weights", "standard_error", "errors", "n", "count"):
        return 0.0, np.inf
    return -np.inf, np.inf


TINIEST = 5e-324
# P-values that may be 0: by a law without end, of statistics that are infinite, or nearly so.
ZERO = {"Belt.asymptotic_pvalue", *(f"BridgeComponents.{name}" for name in ("pvalue", "pvalue_mean", "pvalue_bridge"))}

# Estimators whose headline may leave the declared range, and why.
BEYOND = {
    cs.LOESS: "a parabola leaves [0, 1]",
    cs.ICI: "its curve leaves [0, 1]",
    cs.Jackknifed: "a correction is added",
    cs.Cox: "of certain predictions it has no bound",
}


def out_of_range(found: Any, made: Case) -> str:
    """Say which value of an estimator is outside the range that it declares; "" if none is."""
    entry = made.entry
    if entry is None or not entry.headline or type(entry.thing.core) in BEYOND:
        return ""
    core, seen = entry.thing.core, entry.thing.lens(made.rows.named())
    value = np.asarray(found if entry.scalar else core.headline(np.asarray(entry.numbers(made.rows.named()))))
    low, high = core.value_range(seen.predictions.n_classes)
    low = -np.inf if entry.signed else low
    if ((value < low - ROUNDING) | (value > high * (1 + ROUNDING) + ROUNDING)).any():
        return f"its value is {value}, outside [{low:g}, {high:g}]"
    return ""
