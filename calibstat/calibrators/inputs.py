"""What calibrators are given, examined: rows of probabilities, and labels that belong to their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from calibstat.arrays import Array, Floats, Ints
from calibstat.checks.probabilities import check_range, check_sums


def as_column(X: Any) -> Any:
    """Probabilities of the last class with one dimension, as one column; anything else as it is."""
    dimensions = getattr(X, "ndim", None)
    if dimensions is None and isinstance(X, (list, tuple)) and X and np.ndim(X[0]) == 0:
        X, dimensions = np.asarray(X), 1
    return np.asarray(X).reshape(-1, 1) if dimensions == 1 else X


def as_simplex(columns: Floats) -> Floats:
    """(n, K) rows of probabilities from (n, K) or (n, 1) numbers, or an error that names the worst row.

    Raises
    ------
    ValueError
        If a value lies outside [0, 1] or a row does not sum to one, beyond rounding.
    """
    try:
        if columns.shape[1] == 1:
            check_range(columns[:, 0])
            return np.column_stack([1 - columns, columns])
        check_range(columns)
        check_sums(columns)
    except ValueError as error:
        raise ValueError(str(error).replace("y_prob", "X")) from None
    return columns


def classes_of(y: Array, n_columns: int) -> Array:
    """The class of each column: 0, 1, ... where the labels are such positions, else the labels that occur, sorted.

    Raises
    ------
    ValueError
        If there are not as many classes as columns.
    """
    found = np.unique(y)
    if found.dtype.kind in "iu" and found[0] >= 0 and found[-1] < n_columns:
        return np.arange(n_columns, dtype=found.dtype)
    if len(found) != n_columns:
        raise ValueError(
            f"y has {len(found)} classes, but X has the probabilities of {n_columns} classes: pass one column for each "
            "class, and where a class does not occur, pass the labels as positions of the columns, 0 to K - 1"
        )
    return found


def refuse_more_than_two(name: str, y: Array, n_columns: int) -> None:
    """Say how a calibrator of two classes is used for more.

    Raises
    ------
    ValueError
        If there are more than two classes or columns.
    """
    if n_columns > 2 or len(np.unique(y)) > 2:
        kind = type_of_target(y)
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}, and there are "
            f"{max(n_columns, len(np.unique(y)))} classes: use OneVsRest({name}()), or Dirichlet()"
        )


def refuse_missing_classes(targets: Ints, weights: Floats, classes: Array, every: bool) -> None:
    """Say which classes do not occur.

    Raises
    ------
    ValueError
        If fewer than two occur, or one is missing where `every` is needed.
    """
    mass = np.bincount(targets, weights, minlength=len(classes))
    missing = [str(name) for name, each in zip(classes, mass, strict=True) if each <= 0]
    if len(classes) - len(missing) < 2:
        raise ValueError("only one class occurs in y with positive weight: a calibrator needs at least two")
    if every and missing:
        raise ValueError(
            f"class {missing[0]} does not occur in y: this calibrator needs a row of every class; use "
            "Temperature() or Dirichlet(), or merge classes"
        )
