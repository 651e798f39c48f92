"""Variables from outside: what else is known of each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibstat.arrays import Array
from calibstat.checks.columns import Column, column, occurring, refuse_lazy
from calibstat.variable import Variable


def named_columns(variables: Any) -> dict[str, Column]:
    """One column for each variable, from a mapping of names or a data frame.

    Raises
    ------
    TypeError
        If it is neither, or a name is not a string.
    ValueError
        If a column does not hold one number or one name for each row.
    """
    if variables is None:
        return {}
    return {name: _column(name, variables[name]) for name in _names(variables)}


def _names(variables: Any) -> list[str]:
    refuse_lazy("variables", variables)
    if isinstance(variables, Mapping):
        names = list(variables)
    elif hasattr(variables, "columns"):
        names = list(getattr(variables, "column_names", variables.columns))
    else:
        raise TypeError(
            f"variables is of type {type(variables).__name__}, but names are needed: "
            'pass a mapping such as {"age": age}, or a data frame'
        )
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"variables has the name {name!r}, but names must be strings")
        if names.count(name) > 1:
            raise ValueError(f"variables names {name!r} more than once: rename one of the columns")
    return names


def _column(name: str, values: Any) -> Column:
    called = f"variable {name!r}"
    # pandas: categories are an accessor of a series, but an attribute of an index or an array of categories.
    categorical = getattr(values, "cat", values)
    if hasattr(categorical, "categories") and hasattr(categorical, "codes"):
        return Column(np.asarray(categorical.codes, dtype=np.intp), tuple(map(str, categorical.categories)))
    found = column(called, values)
    if found.names is None and np.isinf(found.values).any():
        row = int(np.argmax(np.isinf(found.values)))
        raise ValueError(f"{called} is infinite in row {row} (rows count from 0): pass finite numbers")
    return found


def as_variable(found: Column) -> Variable:
    """A variable from a column without missing values, in memory of its own; levels that do not occur are dropped."""
    positions, names = found.values, found.names
    if found.boolean:
        positions, names = found.values.astype(np.intp), ("False", "True")
    if names is None:
        return Variable(_own(found.values))
    positions, levels = occurring(positions, names)
    return Variable(_own(positions), levels)


def _own(values: Array) -> Array:
    owned = np.array(values, dtype=np.float64)
    owned.setflags(write=False)
    return owned
