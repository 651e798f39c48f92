"""Rows from outside: sound ones as laws and codes, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibstat.arrays import Array, Bools, Floats, Ints
from calibstat.checks.columns import as_array
from calibstat.checks.probabilities import ROW_TOLERANCE, VALUE_TOLERANCE, as_rows, own
from calibstat.monitoring.base import UNKNOWN

WAITING = -2
"""The outcome of a row whose label may still arrive."""


@dataclass(frozen=True)
class Complaint:
    """What is wrong with a row.

    Parameters
    ----------
    row : int
        Its number within the call, from 0.
    reason : str
    """

    row: int
    reason: str


def read_predictions(y_prob: Any, n_classes: int) -> tuple[Floats, list[Complaint]]:
    """Return (n, K) floats, and what is wrong with rows: missing values, values outside [0, 1], sums that are not one.

    One dimension is P(the last label) of two; of more labels, a single row. Nor need a single number be in a list.

    Raises
    ------
    ValueError
        If the shape or the type is wrong.
    """
    array = as_array("y_prob", _listed(y_prob))
    raw = as_rows(array[None] if array.ndim == 1 and n_classes > 2 else array)
    rows = own(raw)
    if rows.shape[1] != n_classes:
        raise ValueError(
            f"y_prob has shape {raw.shape}, which is of {rows.shape[1]} classes, but the monitor watches {n_classes}: "
            "pass one column for each of its labels"
        )
    with np.errstate(invalid="ignore"):
        missing: Bools = np.any(~np.isfinite(rows), axis=1)
        outside: Bools = np.any((rows < -VALUE_TOLERANCE) | (rows > 1 + VALUE_TOLERANCE), axis=1)
        sums = np.abs(rows.sum(axis=1) - 1) > ROW_TOLERANCE
    given = raw if raw.ndim == 2 else raw[:, None]
    return rows, _complaints(given, missing, outside, sums)


def _listed(given: Any) -> Any:
    """Take a single value for a list of one."""
    return [given] if given is None or isinstance(given, str) or np.ndim(given) == 0 else given


def _complaints(given: Array, missing: Bools, outside: Bools, sums: Bools) -> list[Complaint]:
    found = []
    for row in np.flatnonzero(missing | outside | sums).tolist():
        values = ", ".join(f"{value:.6g}" for value in given[row, :5]) + (", ..." if given.shape[1] > 5 else "")
        if missing[row]:
            reason = f"y_prob is {values}: a probability is missing or infinite"
        elif outside[row]:
            reason = f"y_prob is {values}: probabilities lie between 0 and 1"
        else:
            reason = f"y_prob is {values}: a row must sum to 1"
        found.append(Complaint(row, reason))
    return found


def read_labels(y_true: Any, labels: Mapping[Hashable, int]) -> tuple[Ints, list[Complaint]]:
    """Return codes (n,), `WAITING` where a label is missing, `UNKNOWN` and a complaint where it is none of the labels.

    Parameters
    ----------
    y_true : (n,) labels, or a single one
        None, NaN and an empty text are missing.
    labels : mapping
        The column of each label.
    """
    values = as_array("y_true", _listed(y_true))
    if values.ndim != 1:
        raise ValueError(f"y_true has shape {values.shape}, but labels have one dimension: pass one for each row")
    items: list[Any] = values.tolist()
    codes = np.array([_code(item, labels) for item in items], dtype=np.intp)
    known = ", ".join(map(repr, list(labels)[:10]))
    bad = np.flatnonzero(codes == UNKNOWN).tolist()
    return codes, [Complaint(row, f"y_true is {items[row]!r}, which is none of the labels {known}") for row in bad]


def _code(item: Any, labels: Mapping[Hashable, int]) -> int:
    missing = item is None or item == "" or item != item  # NaN is not itself
    return WAITING if missing else labels.get(item, UNKNOWN)
