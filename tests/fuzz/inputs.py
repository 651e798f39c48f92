"""Odd columns and frames, of every library that people have data in, through every door that takes data."""

from __future__ import annotations

import array
import tempfile
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import xarray as xr

import calibstat as cs
from calibstat import calibrators as cal
from fuzz.hostile import BAD, EDGES, LEVELS, Case, several_outcomes, two_outcomes
from fuzz.objects import CHECKS, Chances

Rng = np.random.Generator


class Closed:
    """Says that it is an array, and is none."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("there is no array here")


class Bare:
    """Has a length and nothing else."""

    def __len__(self) -> int:
        return 3


class Own(np.ndarray):
    """An array of another package."""


def on_disk(values: np.ndarray) -> np.memmap[Any, Any]:
    with tempfile.TemporaryFile() as file:
        found = np.memmap(file, dtype=values.dtype, shape=values.shape, mode="w+")
    found[:] = values
    return found


def locked(values: np.ndarray) -> np.ndarray:
    found = values.copy()
    found.setflags(write=False)
    return found


def with_holes(values: np.ndarray, hole: Any) -> list[Any]:
    found = values.tolist()
    if found:
        found[len(found) // 2] = hole
    return found


def ragged(values: np.ndarray) -> list[Any]:
    return [[each] * (1 + place % 2) for place, each in enumerate(values.tolist())]


def itself(values: np.ndarray) -> list[Any]:
    found: list[Any] = values.tolist()
    found.append(found)
    return found


def dated(values: np.ndarray) -> list[Any]:
    return [date(2020, 1, 1) + timedelta(days=place) for place in range(len(values))]


def many_dimensions(values: np.ndarray) -> np.ndarray:
    return values.reshape(values.shape[:1] + (1,) * 40 + values.shape[1:])


def number(values: np.ndarray, as_one: Callable[[Any], Any]) -> Any:
    """Make another kind of number of each, or of each in each row."""
    return [number(each, as_one) if isinstance(each, np.ndarray) else as_one(each.item()) for each in values]


def strided(values: np.ndarray) -> np.ndarray:
    return np.repeat(values, 2, axis=0)[::2]


# Ways to hold the same column, or nearly: what a door cannot read it refuses.
WAYS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": lambda v: v,
    "list": lambda v: v.tolist(),
    "tuple": lambda v: tuple(v.tolist()),
    "float16": lambda v: v.astype(np.float16),
    "float32": lambda v: v.astype(np.float32),
    "longdouble": lambda v: v.astype(np.longdouble),
    "big-endian": lambda v: v.astype(v.dtype.newbyteorder(">")),
    "complex": lambda v: v.astype(complex),
    "bool": lambda v: v.astype(bool),
    "uint8": lambda v: v.astype(np.uint8),
    "int64 extremes": lambda v: np.where(v > 0, np.iinfo(np.int64).max, np.iinfo(np.int64).min),
    "uint64": lambda v: v.astype(np.uint64) + np.uint64(2**63),
    "object": lambda v: v.astype(object),
    "text": lambda v: v.astype(str),
    "bytes": lambda v: v.astype("S"),
    "not text": lambda v: np.full(v.shape, b"\xff"),
    "huge": lambda v: with_holes(v, 10**400),
    "none": lambda v: with_holes(v, None),
    "nan": lambda v: with_holes(v, float("nan")),
    "signalling": lambda v: with_holes(v, Decimal("sNaN")),
    "pd.NA": lambda v: with_holes(v, pd.NA),
    "NaT": lambda v: with_holes(v, pd.NaT),
    "word": lambda v: with_holes(v, "x"),
    "list in it": lambda v: with_holes(v, [0.5]),
    "complex in it": lambda v: with_holes(v, 0.5j),
    "fractions": lambda v: number(v, Fraction),
    "decimals": lambda v: number(v, Decimal),
    "mixed": lambda v: [str(each) if place % 2 else each for place, each in enumerate(v.tolist())],
    "true and numbers": lambda v: with_holes(v, True),
    "dates": dated,
    "datetime64": lambda v: np.zeros(v.shape, "datetime64[D]"),
    "timedelta64": lambda v: np.zeros(v.shape, "timedelta64[D]"),
    "fortran": np.asfortranarray,
    "reversed": lambda v: v[::-1][::-1],
    "strided": strided,
    "backwards": lambda v: np.ascontiguousarray(v[::-1])[::-1],
    "read-only": locked,
    "memmap": on_disk,
    "masked": lambda v: np.ma.MaskedArray(v, mask=np.zeros(v.shape, bool)),
    "masked in one row": lambda v: np.ma.MaskedArray(v, mask=np.arange(v.size).reshape(v.shape) == 0),
    "masked in all": lambda v: np.ma.MaskedArray(v, mask=True),
    "matrix": lambda v: np.matrix(v),
    "subclass": lambda v: v.view(Own),
    "structured": lambda v: np.zeros(len(v), [("y", int), ("p", float)]),
    "column": lambda v: v[:, None],
    "row": lambda v: v[None],
    "three dimensions": lambda v: v[:, None, None],
    "forty dimensions": many_dimensions,
    "zero dimensions": lambda v: np.array(0.5),
    "number": lambda v: 0.5,
    "empty": lambda v: [],
    "no columns": lambda v: np.zeros((len(v), 0)),
    "one less": lambda v: v[:-1],
    "one more": lambda v: np.concatenate([v, v[:1]]),
    "a scalar text": lambda v: "0.5",
    "a scalar bytes": lambda v: b"01",
    "nothing": lambda v: None,
    "dots": lambda v: ...,
    "mapping": lambda v: dict(enumerate(v.tolist())),
    "set": lambda v: set(np.nan_to_num(np.ravel(v)).tolist()),
    "generator": lambda v: (each for each in v.tolist()),
    "deque": lambda v: deque(v.tolist()),
    "range": lambda v: range(len(v)),
    "array.array": lambda v: array.array("d", np.ravel(v).tolist()),
    "memoryview": lambda v: memoryview(np.ascontiguousarray(v)),
    "list of arrays": lambda v: list(np.atleast_1d(v)),
    "ragged": ragged,
    "in itself": itself,
    "closed": lambda v: Closed(),
    "bare": lambda v: Bare(),
    "class": lambda v: list,
    "Series": lambda v: pd.Series(list(v)),
    "odd index": lambda v: pd.Series(list(v), index=[0] * len(v), name=("a", 1)),
    "MultiIndex": lambda v: pd.Series(list(v), index=pd.MultiIndex.from_arrays([[1] * len(v)] * 2)),
    "Index": lambda v: pd.Index(v.ravel()),
    "categorical": lambda v: pd.Series(pd.Categorical(v.ravel())),
    "nullable integers": lambda v: pd.Series(with_holes((v.ravel() > 0.5) + 0, pd.NA), dtype="Int64"),
    "nullable booleans": lambda v: pd.Series(with_holes(v.ravel() > 0.5, pd.NA), dtype="boolean"),
    "nullable floats": lambda v: pd.Series(with_holes(v.ravel() + 0.0, pd.NA), dtype="Float32"),
    "nullable without holes": lambda v: pd.Series(v.ravel() + 0.0, dtype="Float64"),
    "string": lambda v: pd.Series(v.ravel().astype(str), dtype="string"),
    "datetime": lambda v: pd.Series(pd.date_range("2020", periods=len(v), tz="UTC")),
    "Period": lambda v: pd.Series(pd.period_range("2020", periods=len(v), freq="D")),
    "Interval": lambda v: pd.Series(pd.interval_range(0, len(v), len(v))) if len(v) else pd.Series([], dtype=object),
    "sparse": lambda v: pd.Series(pd.arrays.SparseArray(v.ravel())),
    "pyarrow in pandas": lambda v: pd.Series(v.ravel().tolist(), dtype="float64[pyarrow]"),
    "DataFrame": lambda v: pd.DataFrame(v),
    "DataFrame with one name": lambda v: pd.DataFrame(v).set_axis(["a"] * len(pd.DataFrame(v).columns), axis=1),
    "polars": lambda v: pl.Series("x", v),
    "polars nulls": lambda v: pl.Series("x", with_holes(v.ravel() + 0.0, None)),
    "polars text": lambda v: pl.Series("x", v.ravel().astype(str).tolist()),
    "polars categories": lambda v: pl.Series("x", v.ravel().astype(str).tolist(), dtype=pl.Categorical),
    "polars decimals": lambda v: pl.Series("x", v.ravel().tolist()).cast(pl.Decimal(20, 3), strict=False),
    "polars frame": lambda v: pl.DataFrame(v if v.ndim == 2 else v[:, None]),
    "polars objects": lambda v: pl.Series("x", [object() for _ in v], dtype=pl.Object),
    "arrow": lambda v: pa.array(v.ravel().tolist()),
    "arrow chunks": lambda v: pa.chunked_array([v.ravel()[:1].tolist(), with_holes(v.ravel()[1:], None)], pa.float64()),
    "arrow dictionary": lambda v: pa.array(v.ravel().astype(str).tolist()).dictionary_encode(),
    "DataArray": lambda v: xr.DataArray(v),
    "named DataArray": lambda v: xr.DataArray(v.ravel(), dims="row", coords={"row": np.arange(v.size)[::-1]}),
    "Dataset": lambda v: xr.Dataset({"x": ("row", v.ravel())}),
}
ODD = list(WAYS)


def wrapped(rng: Rng, values: np.ndarray, share: float = 0.35, in_frame: bool = False) -> Any:
    """Hold a column in an odd way, now and then; as it is where that way cannot hold it."""
    if rng.random() > share:
        return values
    way = ODD[rng.integers(len(ODD))]
    if in_frame and way == "in itself":  # pyarrow ends the process
        way = "ragged"
    try:
        with np.errstate(all="ignore"):
            return WAYS[way](values)
    except Exception:  # another library cannot hold it
        return values


def columns_of(rng: Rng) -> dict[str, np.ndarray]:
    """Draw the columns of a sample."""
    n = int(rng.choice([0, 1, 2, 5, 12]))
    n_classes = int(rng.choice([1, 2, 3, 1000], p=[0.05, 0.7, 0.22, 0.03]))
    probs = two_outcomes(rng, n) if n_classes == 2 else several_outcomes(rng, n, n_classes)
    labels = rng.integers(0, n_classes, n)
    if n and rng.random() < 0.08:
        probs[rng.integers(n)] = rng.choice(BAD)
    texts = rng.random()
    if texts < 0.15:
        labels = np.array(["a", "b", "", "é"])[labels % 4]
    elif texts < 0.2:
        labels = labels + 0.0
    age = rng.choice([20.0, 30.0, 1e300, -1e300, np.inf, np.nan] if rng.random() < 0.2 else [20.0, 30.0, 5e-324], n)
    group = rng.integers(0, 3, n)
    return {"y": labels, "p": probs, "w": rng.choice(LEVELS[rng.integers(len(LEVELS))], n), "age": age, "group": group}


@dataclass
class Given:
    """What is passed to a door, by name."""

    passed: dict[str, Any] = field(default_factory=dict)

    def kept(self) -> list[str]:
        return [written(each) for each in self.passed.values()]


def written(held: Any) -> str:
    """Write everything that something holds, so that a change would be seen."""
    try:
        return _written(held)
    except Exception:  # what its library cannot write
        return type(held).__name__


def _written(held: Any) -> str:
    if isinstance(held, (pd.DataFrame, pd.Series)):
        columns = list(held.columns) if isinstance(held, pd.DataFrame) else held.name
        return repr((columns, held.index.tolist(), held.dtypes, held.astype(object).to_numpy().tolist()))
    for way in ("to_pylist", "to_dict", "to_list", "tolist"):
        if hasattr(held, way) and not isinstance(held, (type, pl.LazyFrame)):
            return repr(getattr(held, way)()) + str(getattr(held, "dtype", ""))
    if isinstance(held, (dict, MappingProxyType)):
        return repr({name: written(each) for name, each in held.items()})
    return repr(held)


def taken(sample: cs.Sample) -> Any:
    """Give what a sample holds of what was passed, and a value of it."""
    said = f"{sample!r} {sample.labels} {sample.notes}"
    if "buckets" in said:
        return said, cs.ECE(cs.UniqueValues())(sample)
    seen = sample.predictions
    shares = sample.outcomes / seen.n_classes  # below one
    weights = np.ones(1) if seen.weights is None else seen.weights
    held = {"chances": Chances(sample.y_prob), "share": shares, "weights": weights}
    return said, seen.source, held, cs.BrierScore()(sample)


def optional(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    """Draw the other arguments of a sample."""
    found: dict[str, Any] = {}
    if rng.random() < 0.3:
        found["sample_weight"] = wrapped(rng, columns["w"])
    if rng.random() < 0.3:
        names = ["age", "", "é", 3, None, ("a", "b")] if rng.random() < 0.2 else ["age"]
        found["variables"] = {name: wrapped(rng, columns["age"]) for name in names}
    elif rng.random() < 0.1:
        found["variables"] = wrapped(rng, columns["age"], 1)
    if rng.random() < 0.2:
        found["groups"] = wrapped(rng, columns["group"])
    if rng.random() < 0.3:
        found["nan_policy"] = ["omit", "raise", "drop", None, 3, ["omit"]][min(5, int(rng.exponential(1)))]
    return found


LABELS: list[Any] = [[0, 1], ["a", "b"], [1, 0], (0, 1, 2), range(2), [0, 0], [], "ab", 2, [None, 1], {0, 1}, [0, "a"]]
LABELS += [np.array([0, 1]), pd.Series(["a", "b"]), [[0], [1]], [0.0, 1.0], [False, True], [np.nan, 1], {"0": 1}]
PREVALENCE: list[Any] = [0.3, 0.0, 1.0, 1e-300, [0.5, 0.5], [0.2, 0.2], "half", np.nan, [1, 0], [0.1, 0.2, 0.7], True]


def of_sample(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    found = {"y_true": wrapped(rng, columns["y"]), "y_prob": wrapped(rng, columns["p"])} | optional(rng, columns)
    if rng.random() < 0.3:
        found["labels"] = LABELS[rng.integers(len(LABELS))]
    if rng.random() < 0.15:
        found["prevalence"] = PREVALENCE[rng.integers(len(PREVALENCE))]
    return found


def of_confidence(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    correct = columns["group"] > 0 if rng.random() < 0.7 else columns["y"]
    confidence = columns["p"] if columns["p"].ndim == 1 or rng.random() < 0.2 else columns["p"][:, 0]
    return {"correct": wrapped(rng, correct), "confidence": wrapped(rng, confidence)} | optional(rng, columns)


def of_counts(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    n = len(columns["y"])
    trials = rng.choice([0, 1, 3, 10**6, 2**53] if rng.random() < 0.3 else [1, 3, 10], n)
    found = {"y_prob": wrapped(rng, columns["p"])} | optional(rng, columns)
    if rng.random() < 0.5:
        events = rng.integers(0, trials + 1) + (rng.random() < 0.05)
        return found | {"events": wrapped(rng, events), "trials": wrapped(rng, trials)}
    return found | {"counts": wrapped(rng, np.c_[trials, trials[::-1]])}


def of_buckets(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    n = len(columns["y"])
    trials = rng.choice([0, 1, 3, 10**6] if rng.random() < 0.3 else [1, 3, 10], n)
    found: dict[str, Any] = {
        "predicted": wrapped(rng, trials * (columns["p"] if columns["p"].ndim == 1 else 0.5)),
        "events": wrapped(rng, rng.integers(0, trials + 1)),
        "trials": wrapped(rng, trials),
    }
    if rng.random() < 0.3:
        found["between"] = [([0.0] * n, [1.0] * n), (0, 1), [[0.5] * n, [0.1] * n], "ab", None][rng.integers(5)]
    return found


def of_estimator(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    predicted = columns["p"] if columns["p"].ndim == 2 else np.c_[1 - columns["p"], columns["p"]]
    classes = [[0, 1], np.array([0, 1]), np.array(["a", "b"]), range(columns["p"].shape[-1]), None][rng.integers(5)]
    given = wrapped(rng, predicted)
    model = SimpleNamespace(predict_proba=lambda _: given, classes_=classes)
    return {"estimator": model, "X": columns["age"], "y": wrapped(rng, columns["y"])} | optional(rng, columns)


def as_metric(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    found = {"sample": wrapped(rng, columns["y"]), "y_prob": wrapped(rng, columns["p"])}
    return found | ({"sample_weight": wrapped(rng, columns["w"])} if rng.random() < 0.3 else {})


def of_monitor(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    found = {"y_prob": wrapped(rng, columns["p"]), "y_true": wrapped(rng, columns["y"])}
    if rng.random() < 0.4:
        ids = [np.arange(len(columns["y"])), columns["group"], columns["age"], columns["y"]][rng.integers(4)]
        found["id"] = wrapped(rng, ids)
    if rng.random() < 0.2:
        del found[("y_prob", "y_true")[rng.integers(2)]]
    return found


def of_pair(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    found = of_monitor(rng, columns)
    if "y_prob" in found:
        found["y_prob"] = {"a": found["y_prob"], "b": wrapped(rng, columns["p"][::-1])}
        if rng.random() < 0.1:
            found["y_prob"] = wrapped(rng, columns["p"], 1)
    return found


def of_calibrator(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    return {"p": wrapped(rng, columns["p"]), "y": wrapped(rng, columns["y"]), "q": wrapped(rng, columns["p"])}


def of_pvalues(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    return {"pvalues": wrapped(rng, columns["p"], 0.6)}


def of_draws(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    draws = rng.choice([*EDGES, np.nan, -np.inf, np.inf], (7, len(columns["age"])))
    return {"values": wrapped(rng, columns["age"], 0.5), "draws": wrapped(rng, draws, 0.5)}


FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": dict,
    "MappingProxyType": MappingProxyType,
    "pandas": lambda held: pd.DataFrame({name: list(each) for name, each in held.items()}),
    "odd index": lambda held: pd.DataFrame({k: list(v) for k, v in held.items()}).sample(frac=1, random_state=0),
    "MultiIndex columns": lambda held: pd.concat({"a": pd.DataFrame(held)}, axis=1),
    "columns twice": lambda held: pd.concat([pd.DataFrame(held)] * 2, axis=1),
    "columns without names": lambda held: pd.DataFrame(held).set_axis(range(len(held)), axis=1),
    "columns None": lambda held: pd.DataFrame(held).rename(columns={"age": None, "w": np.nan, "group": ("a", 1)}),
    "objects": lambda held: pd.DataFrame(held).astype(object),
    "convert_dtypes": lambda held: pd.DataFrame(held).convert_dtypes(),
    "categories": lambda held: pd.DataFrame(held).astype("category"),
    "pyarrow types": lambda held: pd.DataFrame(held).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda held: pl.DataFrame(held),
    "LazyFrame": lambda held: pl.LazyFrame(held),
    "arrow": lambda held: pa.table(held),
    "arrow batches": lambda held: pa.table(held).to_batches(1),
    "RecordBatch": lambda held: pa.RecordBatch.from_pydict(held),
    "Dataset": lambda held: xr.Dataset({name: ("row", np.asarray(each)) for name, each in held.items()}),
    "Dataset of two": lambda held: xr.Dataset({k: ("row" if k != "p" else "other", v) for k, v in held.items()}),
    "records": lambda held: pd.DataFrame(held).to_records(),
    "list of rows": lambda held: pd.DataFrame(held).to_dict("records"),
    "list of frames": lambda held: [pd.DataFrame(held)] * 2,
    "generator of frames": lambda held: (each for each in [held, pd.DataFrame(held)]),
    "frames that differ": lambda held: [held, {"y": [0]}, None],
    "nested": lambda held: {"a": held},
    "empty": lambda held: {},
    "no frame": lambda held: 3,
    "path": lambda held: "/no/such/place.csv",
    "bytes": lambda held: b"y,p\n0,0.5\n",
    "values": lambda held: dict.fromkeys(held, 0.5),
}


def framed(rng: Rng, columns: dict[str, np.ndarray]) -> tuple[Any, list[str]]:
    """Put columns into a frame, each of them perhaps odd; also the names of the probabilities."""
    probs = columns["p"]
    wide = [f"p{place}" for place in range(probs.shape[1])] if probs.ndim == 2 else ["p"]
    parts = dict(zip(wide, probs.T, strict=True)) if probs.ndim == 2 else {"p": probs}
    held = {
        name: wrapped(rng, each, 0.1, in_frame=True)
        for name, each in ({**columns, "p": None} | parts).items()
        if each is not None
    }
    way = list(FRAMES)[rng.integers(len(FRAMES))] if rng.random() < 0.6 else ["pandas", "dict"][rng.integers(2)]
    try:
        return FRAMES[way](held), wide
    except Exception:  # the library of the frame cannot hold it
        return held, wide


def of_frame(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    frame, names = framed(rng, columns)
    found: dict[str, Any] = {"frame": frame, "y_true": "y", "y_prob": names if len(names) > 1 else names[0]}
    if rng.random() < 0.15:
        found["y_prob"] = ["p*", "*", "nothing", ["p", "p"], 3, None, ["p", 3], ("a", "p"), b"p", [], ""][
            rng.integers(11)
        ]
    if rng.random() < 0.1:
        found["y_true"] = ["", "p", None, 3, ["y"], ("a", "y"), np.nan][rng.integers(7)]
    for name, column in (("variables", "age"), ("sample_weight", "w"), ("groups", "group")):
        if rng.random() < 0.25:
            found[name] = [column, column, column, "y", "nothing", 3, ["age", "group"], "*", None][rng.integers(9)]
    if rng.random() < 0.15:
        found["labels"] = LABELS[rng.integers(len(LABELS))]
    return found | ({"nan_policy": "omit"} if rng.random() < 0.3 else {})


def of_ledger(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    asked = of_frame(rng, columns)
    found = {name: asked[name] for name in ("y_true", "y_prob", "labels", "nan_policy") if name in asked}
    by = [(), "age", "group", ["age", "group"], "nothing", 3, None, "y"][min(7, int(rng.exponential(1.5)))]
    return {"source": asked["frame"], **found, "by": by}


def of_ledger_table(rng: Rng, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    """Draw the table of a ledger, one number of it perhaps another."""
    n = len(columns["y"])
    sound = cs.Ledger.collect({"y": [0, 1, 1], "p": [0.2, 0.7, 0.7], "g": ["a", "b", "a"]}, y_true="y", y_prob="p")
    table = sound.table.copy()
    if rng.random() < 0.7 and len(table.columns):
        name = table.columns[rng.integers(len(table.columns))]
        anything = [np.nan, -1, 1e300, "x", None, 0.5, 10**30, pd.NA]
        table = table.astype(object)
        table.loc[table.index[rng.integers(len(table))], name] = anything[rng.integers(len(anything))]
    if rng.random() < 0.2:
        table = wrapped(rng, columns["p"], 1) if n else table.drop(columns=table.columns[0])
    return {"frame": table, "labels": LABELS[rng.integers(len(LABELS))] if rng.random() < 0.2 else (0, 1)}


def calibrated(p: Any, y: Any, q: Any) -> Any:
    return Chances(cal.Platt().fit(p, y).predict_proba(q)), Chances(cal.Isotonic().fit(p, y).predict_proba(q))


def watched(monitor: Any, **given: Any) -> Any:
    return monitor.update(**given), monitor, monitor.awaits(0)


def of_ledger_or_sample(ledger: Any) -> Any:
    return repr(ledger), taken(ledger.sample())


DOORS: dict[str, tuple[Callable[..., dict[str, Any]], Callable[..., Any]]] = {
    "Sample": (of_sample, lambda **given: taken(cs.Sample(**given))),
    "Sample.from_frame": (of_frame, lambda **given: taken(cs.Sample.from_frame(**given))),
    "Sample.from_counts": (of_counts, lambda **given: taken(cs.Sample.from_counts(**given))),
    "Sample.from_buckets": (of_buckets, lambda **given: taken(cs.Sample.from_buckets(**given))),
    "Sample.from_confidence": (of_confidence, lambda **given: taken(cs.Sample.from_confidence(**given))),
    "Sample.from_estimator": (of_estimator, lambda **given: taken(cs.Sample.from_estimator(**given))),
    "a metric": (as_metric, lambda **given: cs.BrierScore()(**given)),
    "Ledger.collect": (of_ledger, lambda **given: of_ledger_or_sample(cs.Ledger.collect(**given))),
    "Ledger.from_frame": (of_ledger_table, lambda **given: of_ledger_or_sample(cs.Ledger.from_frame(**given))),
    "Monitor.update": (of_monitor, lambda **given: watched(cs.Monitor(), **given)),
    "DifferenceMonitor.update": (of_pair, lambda **given: watched(cs.DifferenceMonitor(("a", "b")), **given)),
    "Calibrator.fit": (of_calibrator, calibrated),
    "holm": (of_pvalues, lambda pvalues: {"shares": cs.holm(pvalues)}),  # zeros are passed on
    "benjamini_hochberg": (of_pvalues, lambda pvalues: {"shares": cs.benjamini_hochberg(pvalues)}),
    "benjamini_yekutieli": (of_pvalues, lambda pvalues: {"shares": cs.benjamini_yekutieli(pvalues)}),
    "single_step": (of_draws, lambda **given: {"pvalues": cs.single_step(**given)}),
    "step_down": (of_draws, lambda **given: {"pvalues": cs.step_down(**given)}),
    "kuiper_sf": (of_pvalues, lambda pvalues: {"survival": cs.kuiper_sf(pvalues)}),
    "kolmogorov_smirnov_sf": (of_pvalues, lambda pvalues: {"survival": cs.kolmogorov_smirnov_sf(pvalues)}),
    "cramer_von_mises_sf": (of_pvalues, lambda pvalues: {"survival": cs.cramer_von_mises_sf(pvalues)}),
    "anderson_darling_sf": (of_pvalues, lambda pvalues: {"survival": cs.anderson_darling_sf(pvalues)}),
    "precision_n": (of_pvalues, lambda pvalues: cs.precision_n(pvalues)),
}
# Half of the cases are those of samples, of frames and of monitors.
OFTEN = ["Sample", "Sample.from_frame", "Monitor.update"]


def make(rng: Rng) -> Case:
    """Draw a door, and what is passed to it."""
    name = OFTEN[rng.integers(len(OFTEN))] if rng.random() < 0.5 else list(DOORS)[rng.integers(len(DOORS))]
    arguments, door = DOORS[name]
    given = Given(arguments(rng, columns_of(rng)))
    return Case(name, given, lambda given: door(**given.passed), checked_by=CHECKS if name == "Calibrator.fit" else "")
