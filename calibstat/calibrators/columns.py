"""Columns of X that are not probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calibstat.arrays import Floats
from calibstat.calibrators.inputs import as_simplex


def split_columns(fitted: Any, X: Floats, variables: Sequence[int | str]) -> tuple[Floats, Floats]:
    """Rows of probabilities (n, K), and the variables (n, d) in the order in which they are named.

    Parameters
    ----------
    fitted : estimator
        It knows the names of columns, where X was a data frame.
    X : (n, c) floats
    variables : sequence of int or str
        Columns by position (from the end if negative) or by name.

    Raises
    ------
    ValueError
        If there is no such column, or nothing else is left.
    """
    positions = [_position(fitted, X.shape[1], each) for each in variables]
    if len(set(positions)) >= X.shape[1]:
        raise ValueError(
            f"X has shape {X.shape}, but of its columns {list(variables)} are variables: the probabilities must be "
            f"beside them (n_features = {X.shape[1]}, at least {len(set(positions)) + 1} are required)"
        )
    return as_simplex(np.delete(X, positions, axis=1)), X[:, positions]


def _position(fitted: Any, n_columns: int, named: int | str) -> int:
    if isinstance(named, str):
        names = list(getattr(fitted, "feature_names_in_", ()))
        if named not in names:
            raise ValueError(f"variable {named!r} is not a column of X: pass a data frame that has it, got {names}")
        return names.index(named)
    if not -n_columns <= named < n_columns:
        raise ValueError(f"variable {named} is not a column of X, which has {n_columns} (n_features = {n_columns})")
    return named % n_columns
