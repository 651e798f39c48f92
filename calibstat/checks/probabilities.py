"""Rows of probabilities: what they must be, and what they seem to be instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.checks.columns import as_array, column, shortened

# Single precision rounds: values may leave [0, 1] by the first, rows miss one by the second (and its own rounding).
VALUE_TOLERANCE = 1e-6
ROW_TOLERANCE = 1e-4 + 1e-12
# Numbers that are added up at once, so that they stay in the cache.
_NUMBERS = 2**16


def as_rows(y_prob: Any) -> Array:
    """(n,) or (n, K) numbers, NaN where missing, neither checked for their size nor copied if they need not be."""
    array = as_array("y_prob", y_prob)
    if array.ndim > 2:
        raise ValueError(f"y_prob has shape {array.shape}, but (n,) or (n, K) is expected: one row, one prediction")
    if array.ndim == 2 and array.shape[1] < 2:
        raise ValueError(
            f"y_prob has shape {array.shape}, but a single column does not say what it is the probability of: pass "
            "P(the event) with one dimension, y_prob.ravel(), or two columns"
        )
    if array.dtype.kind in "biuf":
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    if array.dtype.kind in "OSTU":
        return _from_objects(array)
    raise ValueError(f"y_prob holds {array.dtype} values, but probabilities are real numbers")


def _from_objects(array: Array) -> Array:
    found = column("y_prob", array.ravel())
    if found.names is not None:
        raise ValueError(
            f"y_prob holds text (such as {found.names[0]!r}), but numbers are expected: "
            "convert it, for example with y_prob.astype(float)"
        )
    return found.values.astype(np.float64).reshape(array.shape)


def own(rows: Array, single: bool = False) -> Array:
    """(n, K) floats in memory of their own: columns lie together for two classes, rows otherwise.

    One dimension is P(the last class). With `single`, rows of many classes in single precision stay so.
    """
    if rows.ndim == 2 and rows.shape[1] > 2:
        owned = np.array(rows, dtype=np.float32 if single and rows.dtype == np.float32 else np.float64, order="C")
    elif rows.ndim == 2:
        owned = np.array(rows, dtype=np.float64, order="F")
    else:
        owned = np.empty((len(rows), 2), order="F")
        owned[:, 1] = rows
        np.subtract(1.0, owned[:, 1], out=owned[:, 0])
    held = owned.view()  # not the owner itself: what is only read may then be marked writeable again (see TopK)
    held.setflags(write=False)
    return held


def check_range(rows: Array) -> None:
    """Raise if a value of (n,) or (n, K) numbers without NaN is infinite or leaves [0, 1]."""
    low, high = float(rows.min()), float(rows.max())
    if np.isinf(low) or np.isinf(high):
        raise ValueError(
            f"y_prob is infinite in row {_worst(np.isinf(rows))} (rows count from 0): probabilities lie between 0 and 1"
        )
    if low < -VALUE_TOLERANCE or high > 1 + VALUE_TOLERANCE:
        row = _worst(np.maximum(-rows, rows - 1))
        raise ValueError(
            f"y_prob has values outside [0, 1]: the worst row is {row} (rows count from 0) with {_shown(rows[row])}. "
            + _guess(rows)
        )


def check_sums(rows: Array, columns: Sequence[str] | None = None) -> None:
    """Raise if a row of (n, K) numbers misses one; `columns` are their names, if they have some."""
    sums = rows[:, 0] + rows[:, 1] if rows.shape[1] == 2 else _sums(rows)
    if max(1 - sums.min(), sums.max() - 1) <= ROW_TOLERANCE:
        return
    row = int(np.argmax(np.abs(sums - 1)))
    if not rows[row].any():
        raise ValueError(f"y_prob is all zero in row {row} (rows count from 0): a row must sum to 1")
    raise ValueError(
        f"y_prob has rows that do not sum to 1: the worst row is {row} (rows count from 0) with {_shown(rows[row])}, "
        f"which sums to {sums[row]:.6g}. {_sum_advice(columns)}"
    )


def _sums(rows: Array) -> Floats:
    """(n,) sums in double precision; a product with ones is many times faster than a sum over short rows."""
    ones, step = np.ones(rows.shape[1]), max(1, _NUMBERS // rows.shape[1])
    parts = [rows[start : start + step].astype(np.float64, copy=False) @ ones for start in range(0, len(rows), step)]
    return np.concatenate(parts)


def _sum_advice(columns: Sequence[str] | None) -> str:
    if columns is not None:
        # A pattern may have caught a column too many: normalising would hide it.
        return f"Is one of these no class probability? columns: {shortened(columns)}; pass one column for each class"
    return (
        "Pass one column for each class; scores that need not sum to 1 are to be normalised first, "
        "y_prob / y_prob.sum(axis=1, keepdims=True)"
    )


def _worst(badness: Array) -> int:
    return int(np.argmax(badness if badness.ndim == 1 else badness.max(axis=1)))


def _shown(values: Any) -> str:
    listed = [f"{value:.6g}" for value in np.atleast_1d(values)[:6]]
    return ", ".join(listed) + (", ..." if np.size(values) > 6 else "")


def _guess(rows: Array) -> str:
    """What the numbers seem to be, and what turns them into probabilities."""
    return _guess_vector(rows) if rows.ndim == 1 else _guess_matrix(rows)


def _guess_vector(values: Array) -> str:
    low, high = values.min(), values.max()
    if low < 0:
        return "If these are logits, pass scipy.special.expit(y_prob)"
    if high <= 100:
        return "If these are percentages, divide by 100: y_prob / 100"
    return "Probabilities are expected"


def _guess_matrix(rows: Array) -> str:
    values = rows.astype(np.float64)
    sums = values.sum(axis=1)
    if values.max() <= 0 and np.allclose(np.exp(values).sum(axis=1), 1, atol=1e-3):
        return "These look like log-probabilities: pass numpy.exp(y_prob)"
    if values.min() >= 0 and np.abs(sums - 100).max() <= 1:
        return "These look like percentages, divide by 100: y_prob / 100"
    if values.min() < 0 and np.abs(sums - 1).max() <= 0.01:
        return "Probabilities are expected"
    if values.min() < 0 or len(values) == 1 or np.ptp(sums) > 1e-3 * sums.max():
        return "If these are logits, pass scipy.special.softmax(y_prob, axis=1)"
    return f"Every row sums to {sums[0]:.6g}: divide by it"
