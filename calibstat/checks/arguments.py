"""The arguments of a sample as arrays of equal length, in which nothing is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibstat.arrays import Array, Bools
from calibstat.checks.columns import Column, absent, as_array, column
from calibstat.checks.probabilities import as_rows, check_range
from calibstat.checks.variables import named_columns

NAN_POLICIES = ("raise", "omit")


@dataclass(frozen=True, eq=False)
class Arguments:
    """The arguments as arrays of equal length, their values unchecked."""

    truth: Column
    rows: Array
    weights: Column | None
    variables: dict[str, Column]

    def columns(self) -> dict[str, Column]:
        """Everything but the probabilities, by the name it has in messages."""
        named = {"y_true": self.truth}
        if self.weights is not None:
            named["sample_weight"] = self.weights
        return named | {f"variable {name!r}": each for name, each in self.variables.items()}

    def take(self, kept: Bools) -> Arguments:
        """The rows that are kept."""
        return Arguments(
            _kept(self.truth, kept),
            self.rows[kept],
            None if self.weights is None else _kept(self.weights, kept),
            {name: _kept(each, kept) for name, each in self.variables.items()},
        )


def _kept(found: Column, kept: Bools) -> Column:
    return replace(found, values=found.values[kept])


def gather(y_true: Any, y_prob: Any, variables: Any, sample_weight: Any) -> Arguments:
    """Take the arguments for arrays, and refuse those whose shapes or types do not fit."""
    truth, prob = as_array("y_true", y_true), as_array("y_prob", y_prob)
    _refuse_shape(truth, prob)
    labels = column("y_true", truth)
    _refuse_exchange(labels.values if labels.names is None else truth, prob)
    weights = None if sample_weight is None else column("sample_weight", sample_weight)
    given = Arguments(labels, as_rows(prob), weights, named_columns(variables))
    _refuse_lengths(given)
    return given


def _refuse_shape(truth: Array, prob: Array) -> None:
    """Labels with more than one dimension."""
    if truth.ndim == 1:
        return
    _refuse_exchange(truth, prob)
    advice = "pass one label for each row, shape (n,)"
    if truth.ndim == 2 and truth.shape[1] == 1:
        advice = "pass y_true.ravel()"
    elif _one_hot(truth):
        advice = "it looks one-hot encoded: pass y_true.argmax(axis=1)"
    raise ValueError(f"y_true has shape {truth.shape}, but labels have one dimension: {advice}")


def _one_hot(truth: Array) -> bool:
    if truth.ndim != 2 or truth.dtype.kind not in "biuf":
        return False
    return bool(np.isin(truth, (0, 1)).all() and (truth.sum(axis=1) == 1).all())


def _refuse_exchange(truth: Array, prob: Array) -> None:
    """Probabilities where labels should be, and labels where probabilities should be."""
    if truth.dtype.kind != "f" or prob.ndim != 1 or not truth.size or not prob.size:
        return
    unit = np.nanmin(truth) >= 0 and np.nanmax(truth) <= 1 if not np.isnan(truth).all() else False
    fractions = (truth.ndim == 2 and truth.shape[1] > 1) or _fractions(truth)
    if unit and fractions and _only_labels(prob):
        raise ValueError(
            "y_true and y_prob look exchanged: y_true holds probabilities and y_prob labels; "
            "the order is (y_true, y_prob), as in scikit-learn"
        )


def _fractions(values: Array) -> bool:
    # A comparison with NaN is false, and so is this one with infinity.
    return bool((values > np.floor(values)).any())


def _only_labels(prob: Array) -> bool:
    if prob.dtype.kind == "O":
        found = column("y_prob", prob)
        return found.names is not None or not _fractions(found.values)
    return prob.dtype.kind in "biuSTU" or (prob.dtype.kind == "f" and not _fractions(prob))


def _refuse_lengths(given: Arguments) -> None:
    n = len(given.truth.values)
    if len(given.rows) != n:
        turned = given.rows.ndim == 2 and given.rows.shape[1] == n
        advice = "pass y_prob.T" if turned else "there must be one label for each row of probabilities"
        raise ValueError(f"y_true has {n} rows and y_prob has {len(given.rows)}: {advice}")
    for name, each in given.columns().items():
        if len(each.values) != n:
            raise ValueError(f"{name} has {len(each.values)} rows, but y_true and y_prob have {n}: pass one value each")
    if n == 0:
        raise ValueError("the sample is empty: y_true and y_prob have no rows; pass at least one")


def without_missing(given: Arguments, nan_policy: str) -> tuple[Arguments, str]:
    """The rows in which nothing is missing, and what to say about the others."""
    if nan_policy not in NAN_POLICIES:
        raise ValueError(f"nan_policy is {nan_policy!r}, but it must be one of {', '.join(map(repr, NAN_POLICIES))}")
    holes = {name: each.missing() for name, each in given.columns().items()}
    holes["y_prob"] = absent(given.rows)
    found = {name: rows for name, rows in holes.items() if rows is not None}
    if not found:
        return given, ""
    counts = ", ".join(f"{name}: {int(rows.sum())}" for name, rows in found.items())
    if nan_policy == "raise":
        name, rows = next(iter(found.items()))
        raise ValueError(
            f"values are missing ({counts}), first in row {int(np.argmax(rows))} of {name} (rows count from 0): "
            'fill them in, or pass nan_policy="omit" to leave these rows out'
        )
    if np.isinf(given.rows).any():
        check_range(np.nan_to_num(given.rows, nan=0.5, posinf=np.inf, neginf=-np.inf))
    kept = ~np.logical_or.reduce(list(found.values()))
    if not kept.any():
        raise ValueError(f"no rows are left: something is missing in each of the {len(kept)} ({counts})")
    return given.take(kept), f"; {int((~kept).sum())} of {len(kept)} rows omitted (missing in {counts})"
