"""A sample as a list of rows, written out for plain loops."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import calibstat as cs


class UnclearError(Exception):
    """What rounding decides: a split, the end of an interval, a bandwidth."""


def written(naive: Mapping[type, Any], thing: Any) -> Any:
    """Look up the naive version of a thing by its type, or say where one goes."""
    if type(thing) not in naive:
        raise LookupError(
            f"{thing!r} has no naive version: give it to each Entry of it as naive=, or to tests/reference."
        )
    return naive[type(thing)]


@dataclass(frozen=True)
class Row:
    """One row of a sample."""

    p: tuple[float, ...]
    y: int
    weight: float
    variables: dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """A sample as a list of rows."""

    rows: list[Row]
    classes: tuple[Hashable, ...]
    given: tuple[Any, ...] = (...,)
    weighted: bool = False


def rows_of(sample: cs.Sample) -> Rows:
    """Write a sample out row by row; levels of categories stay numbers, in the order of their names."""
    seen = sample.predictions
    values = {name: variable.values.tolist() for name, variable in seen.variables.items()}
    rows = [
        Row(
            tuple(seen.probabilities[i].tolist()),
            int(sample.outcomes[i]),
            1.0 if seen.weights is None else float(seen.weights[i]),
            {name: column[i] for name, column in values.items()},
        )
        for i in range(len(sample))
    ]
    return Rows(rows, seen.classes, seen.given, seen.weights is not None)


def keyed(seen: Rows) -> list[tuple[float, Row]]:
    """Rows with what they are ordered by, in order."""
    name = seen.given[0]
    value = lambda row: row.p[-1] if name is ... else row.variables[name]
    return sorted(((value(row), row) for row in seen.rows), key=lambda pair: pair[0])


def ties(seen: Rows) -> list[tuple[float, list[Row]]]:
    """Rows with equal values together."""
    found: list[tuple[float, list[Row]]] = []
    first = math.nan
    for value, row in keyed(seen):
        if found and same(first, value):
            found[-1] = (value, [*found[-1][1], row])
        else:
            first = value
            found.append((value, [row]))
    return found


def same(low: float, high: float, tolerance: float = 0.0) -> bool:
    """Whether two numbers are one besides rounding: four units in the last place of the smaller one."""
    return high - low <= max(tolerance, 4 * 2.0**-52 * abs(low))


def unit(seen: Rows, value: float) -> float:
    """A value as a part of the range."""
    if seen.given[0] is ...:
        return min(max(value, 0), 1)
    values = [value for value, _ in keyed(seen)]
    low, high = min(values), max(values)
    return (value - low) / ((high - low) or 1)


def total(seen: Rows) -> float:
    """The weight of all rows."""
    return sum(row.weight for row in seen.rows)


def residual(rows: list[Row]) -> float:
    """The weighted sum of residuals of the event."""
    return sum(row.weight * (row.y - row.p[-1]) for row in rows)


def residuals(row: Row) -> list[float]:
    """Outcome minus prediction, of every class; for two classes both from the event."""
    if len(row.p) == 2:
        gap = row.y - row.p[1]
        return [-gap, gap]
    return [(row.y == k) - p for k, p in enumerate(row.p)]


def law(row: Row) -> list[float]:
    """The chances of the classes."""
    everything = sum(row.p)
    return [p / everything for p in row.p]


def covariance(row: Row) -> list[list[float]]:
    """The covariance of the outcome."""
    chances = law(row)
    return [[(p if k == m else 0.0) - p * q for m, q in enumerate(chances)] for k, p in enumerate(chances)]


def trace(a: list[list[float]], b: list[list[float]]) -> float:
    """The trace of a product of two matrices."""
    return sum(a[k][m] * b[m][k] for k in range(len(a)) for m in range(len(a)))
