"""Variables cut into levels, each with a name that can be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, final

import numpy as np

from calibstat.arrays import Array, Bools, Floats, Ints
from calibstat.binnings.base import Binning, Cells, expect_binning
from calibstat.checks.variables import as_variable, named_columns
from calibstat.predictions import Predictions
from calibstat.sample import Sample
from calibstat.variable import Variable

By: TypeAlias = str | Iterable[str] | Mapping[str, Any]
MISSING = "missing"
# A number with at most so many distinct values counts as categories.
FEW_VALUES = 10


@final
@dataclass(frozen=True, eq=False)
class Column:
    """A variable, known in some of the rows.

    Parameters
    ----------
    variable : Variable
        Its values in the rows where it is known.
    known : (n,) booleans
        Which rows these are.
    """

    variable: Variable
    known: Bools

    def take(self, rows: Array) -> Column:
        """The same at `rows`, indices without repetition in increasing order."""
        kept = np.zeros(len(self.known), dtype=bool)
        kept[rows] = True
        return Column(self.variable.take(kept[self.known]), self.known[rows])


@final
@dataclass(frozen=True, eq=False)
class Levels:
    """A variable cut into levels.

    Parameters
    ----------
    variable : str
    names : tuple of str
    index : (n,) ints
        The level of each row.
    ends : (L, 2) floats, optional
        The ends of levels that are numbers or intervals; a level of missing values has none (NaN).
    """

    variable: str
    names: tuple[str, ...]
    index: Ints
    ends: Floats | None = None

    @property
    def size(self) -> int:
        """Number of levels."""
        return len(self.names)


def read_columns(sample: Sample, by: By, missing: str, argument: str = "by") -> dict[str, Column]:
    """Find the variables that are asked for.

    Parameters
    ----------
    sample : Sample
    by : str, iterable of str, or mapping
        Names of variables of the sample, or further columns by name, in which values may be missing.
    missing : {"raise", "level"}
        What to do with rows in which a further column is missing.
    argument : str
        What `by` is called, for messages.

    Raises
    ------
    ValueError
        If there is no such variable, a column has another length, or something is missing and may not be.
    """
    expect_sample(sample)
    if missing not in ("raise", "level"):
        raise ValueError(
            f"missing is {missing!r}; it must be 'raise' or 'level' (missing values as a level of their own)."
        )
    if isinstance(by, Mapping) or hasattr(by, "columns"):
        return {
            name: _further(argument, name, found, len(sample), missing) for name, found in named_columns(by).items()
        }
    if not isinstance(by, Iterable):
        raise TypeError(
            f"{argument} is {by!r}, but names of variables are expected: for example {argument}=['age', 'sex']."
        )
    names = [by] if isinstance(by, str) else list(by)
    if not names:
        raise ValueError(f"{argument} is empty; name at least one variable, for example {argument}=['age', 'sex'].")
    known = sample.predictions.variables
    for name in names:
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise ValueError(
                f"{argument}: the sample has no variable {name!r}; its variables are: {listed}. Pass it as "
                f"Sample(..., variables={{name: values}}), or as {argument}={{name: values}}."
            )
    everywhere = np.ones(len(sample), dtype=bool)
    return {name: Column(known[name], everywhere) for name in dict.fromkeys(names)}


def expect_sample(sample: Any) -> None:
    """Refuse anything but a sample."""
    if not isinstance(sample, Sample):
        raise TypeError(
            f"sample is of type {type(sample).__name__}, but a Sample is expected: for example Sample(y_true, y_prob)."
        )


def _further(argument: str, name: str, found: Any, n: int, missing: str) -> Column:
    if len(found.values) != n:
        raise ValueError(
            f"{argument}: variable {name!r} has {len(found.values)} rows, but the sample has {n}: pass one value each."
        )
    holes = found.missing()
    if holes is None:
        return Column(as_variable(found), np.ones(n, dtype=bool))
    if missing == "raise":
        raise ValueError(
            f"{argument}: variable {name!r} is missing in {int(holes.sum())} of {n} rows, first in row "
            f"{int(np.argmax(holes))} (rows count from 0): fill them in, or pass missing='level' to make them a level "
            "of their own."
        )
    if holes.all():
        raise ValueError(f"{argument}: variable {name!r} is missing in all {n} rows; leave it out.")
    return Column(as_variable(replace(found, values=found.values[~holes])), ~holes)


def cut_levels(name: str, column: Column, predictions: Predictions, binning: Binning) -> Levels:
    """Cut a variable: categories and numbers of few values into these, other numbers by the binning.

    Parameters
    ----------
    name : str
    column : Column
        In the rows of `predictions`.
    predictions : Predictions
    binning : Binning
    """
    found = _cut(name, column.variable, predictions, column.known, expect_binning(binning))
    if column.known.all():
        return found
    index = np.full(len(column.known), found.size)
    index[column.known] = found.index
    ends = None if found.ends is None else np.vstack([found.ends, [np.nan, np.nan]])
    return Levels(name, (*found.names, MISSING), index, ends)


def _cut(name: str, variable: Variable, predictions: Predictions, known: Bools, binning: Binning) -> Levels:
    values, index = np.unique(variable.values, return_inverse=True)
    if variable.levels is not None:
        return Levels(name, tuple(variable.levels[int(value)] for value in values), index.astype(np.intp))
    if len(values) <= FEW_VALUES:
        return Levels(name, distinct_texts(values), index.astype(np.intp), np.column_stack([values, values]))
    there = replace(predictions.take(known), variables={name: variable}, given=(name,))
    cells = binning.cut(there)
    filled, index = np.unique(cells.index, return_inverse=True)
    low, high = _ends(cells, filled, variable.values)
    lower, upper = np.split(np.array(distinct_texts(np.concatenate([low, high]))), 2)
    names = tuple(f"{a} to {b}" for a, b in zip(lower, upper, strict=True))
    if cells.names is not None:
        names = tuple(cells.names[cell] for cell in filled)
    return Levels(name, names, index.astype(np.intp), np.column_stack([low, high]))


def _ends(cells: Cells, filled: Ints, values: Floats) -> tuple[Floats, Floats]:
    """Return the borders of the cells that hold rows, or without borders the smallest and largest value in each."""
    if cells.edges is not None:
        return cells.edges[filled], cells.edges[filled + 1]
    inside = [values[cells.index == cell] for cell in filled]
    return np.array([each.min() for each in inside]), np.array([each.max() for each in inside])


def distinct_texts(values: Floats) -> tuple[str, ...]:
    """Write numbers with as few digits, at least four, as tell them apart.

    Examples
    --------
    >>> distinct_texts(np.array([1.0, 2.5, 30.0]))
    ('1', '2.5', '30')
    >>> distinct_texts(np.array([10000.1, 10000.2]))
    ('10000.1', '10000.2')
    """
    for digits in range(4, 18):
        texts = tuple(f"{value:.{digits}g}" for value in values)
        if len(set(texts)) == len(set(values.tolist())):
            break
    return texts
