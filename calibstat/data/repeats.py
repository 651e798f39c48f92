"""What suggests that rows come in clusters where nobody said so: rows that repeat, and columns that look like names."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from calibstat._text import shown
from calibstat.data.arrays import Array, Ints
from calibstat.data.columns import ABSENT, as_array, as_text

# So many rows are looked at, and so many columns.
_LOOKED_AT, _COLUMNS = 10_000, 64
# Fewer different values are groups, or the values of a coarse score, and no clusters.
_FEWEST = 20
# Clusters have this size or more: that of the cluster of a row, on average over rows.
_SMALLEST = 1.5
# More equal rows are those of a coarse score, where the file does not say otherwise by its order.
_LARGEST = 500.0
# Standard deviations that are no chance.
_FAR = 5.0


# Rows.


def hint_of_rows(columns: Sequence[Array], outcomes: Ints) -> str:
    """Say that rows repeat as those of clusters do; "" where they do not."""
    size = rows_repeat(columns, outcomes)
    said = f"rows repeat, the same one about {size:.0f} times"
    return f"{said}: if these come in clusters (one patient, one question), give groups=" if size else ""


def rows_repeat(columns: Sequence[Array], outcomes: Ints) -> float:
    """Return how many rows are alike, on average over rows, where independent rows would not repeat like that; else 0.

    Rows repeat too where predictions have few values. But if rows are independent, the numbers of equal ones are
    multinomial, and vary at least as much as Poisson numbers, and equal rows stand anywhere among the others. Those of
    clusters are as many in each, eight of each question, or stand together, those of a patient one below the other.

    Parameters
    ----------
    columns : sequence of (n,) arrays of numbers
        What is known of each row.
    outcomes : (n,) ints
        What happened, by which the file may be sorted.
    """
    n, columns = len(columns[0]), columns[:: -(-len(columns) // _COLUMNS)]
    first = [column[:_LOOKED_AT] for column in columns]
    keys = _keys(first)
    if _mean_size(keys, len(keys)) >= _SMALLEST and _stand_together(keys, outcomes[:_LOOKED_AT], first):
        return _mean_size(keys, len(keys))
    if n > _LOOKED_AT:
        some = _anywhere(n)
        keys = _keys([column[some] for column in columns])
    if not _SMALLEST <= _mean_size(keys, n) <= _LARGEST:
        return 0.0
    if n > _LOOKED_AT:  # all rows that are like one of these
        keys = _keys(columns)
        keys = keys[keys % np.uint64(-(-n // _LOOKED_AT)) == 0]
    return _mean_size(keys, len(keys)) if _too_even(keys) else 0.0


def _keys(columns: Sequence[Array]) -> Array:
    """Return a number (n,) that is the same for equal rows, and another one for others."""
    found = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        found = _mixed(found + (column.astype(np.float64) + 0.0).view(np.uint64))
    return found


def _mixed(numbers: Array) -> Array:
    """Scramble whole numbers, as SplitMix64 does."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _anywhere(n: int) -> Ints:
    """Return some of n places, in no order that a file could have, each once."""
    steps = np.arange(1, _LOOKED_AT + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.unique(_mixed(steps) % np.uint64(n)).astype(np.intp)


def _mean_size(keys: Array, n: int) -> float:
    """Return how many of n rows have the key of a row, on average over rows, by the keys of some of them."""
    some = len(keys)
    if some < 2:
        return 1.0
    sizes = np.unique(keys, return_counts=True)[1]
    pairs = float(sizes @ (sizes - 1)) if len(sizes) >= _FEWEST else 0.0
    return 1 + pairs * (n - 1) / (some * (some - 1))


def _stand_together(keys: Array, outcomes: Ints, columns: Sequence[Array]) -> bool:
    """Whether equal rows are neighbours, most of them, in a file that is not sorted by what is known of its rows."""
    alike = keys[1:] == keys[:-1]
    beside = int(np.count_nonzero(alike))
    if 2 * beside <= len(keys) - len(np.unique(keys)):
        return False
    _, one, sizes = np.unique(_mixed(keys + outcomes.astype(np.uint64)), return_index=True, return_counts=True)
    by_chance = float((sizes * (sizes - 1) / np.bincount(outcomes)[outcomes[one]]).sum())
    clear = beside > by_chance + _FAR * (1 + math.sqrt(by_chance))
    return clear and not any(map(_sorted, columns)) and not _written_out(np.diff(outcomes)[alike])


def _written_out(changes: Ints) -> bool:
    """Whether outcomes of equal neighbours only go up, or only down, as in rows that were counted before."""
    return bool(changes.any() and (changes.min() >= 0 or changes.max() <= 0))


def _sorted(column: Array) -> bool:
    changes = np.diff(column.astype(np.float64))
    up, down = np.count_nonzero(changes > 0), np.count_nonzero(changes < 0)
    return bool(max(up, down) > 9 * min(up, down) and max(up, down) > 4)


def _too_even(keys: Array) -> bool:
    """Whether equal rows are of more even numbers than those of independent rows can be.

    These are Poisson numbers, of which nobody sees the zeros, or more uneven; their variance is compared with the
    smallest ones of as many (Wilson & Hilferty's approximation of chi-squared).
    """
    sizes = np.unique(keys, return_counts=True)[1]
    if len(sizes) < _FEWEST:
        return False
    mean = float(sizes.mean())
    rate = mean
    for _ in range(100):
        rate = mean * -math.expm1(-rate)
    narrow = 2 / (9 * (len(sizes) - 1))
    least = max(0.0, 1 - narrow - _FAR * math.sqrt(narrow)) ** 3
    return float(sizes.var()) < least * mean * (1 + rate - mean)


# Columns.

_WHO = (
    "patient|subject|person|participant|customer|client|user|member|household|family|question|prompt|item|document|"
    "session|student|speaker|author|video|image|site|hospital|clinic|center|centre"
)
_NUMBER = "id|ids|uid|uuid|guid"
_IDENTIFIER = re.compile(rf"(.*[^a-z])?({_NUMBER}|({_WHO})s?([^a-z]*({_NUMBER}|number|num|nr|no))?)")
# Names of kinds, and of what has as many rows as there are.
_OTHERS = re.compile(
    r"(?:.*[^a-z])?(?:class|label|target|category|kind|type|fold|split|model|row|run|batch)[^a-z]*ids?"
)


def identifiers(names: Collection[Any], used: Collection[Any]) -> list[Any]:
    """Return the names, but for those that are used, that a column of identifiers may have.

    >>> identifiers(["question_id", "patientId", "subject", "patient_age", "class_id", "p", "id"], ["id"])
    ['question_id', 'patientId', 'subject']
    """
    return [name for name in names if name not in used and _looks_like_identifier(as_text(name))]


def _looks_like_identifier(name: str) -> bool:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().strip()
    return bool(_IDENTIFIER.fullmatch(words)) and not _OTHERS.fullmatch(words)


def hint_of_column(name: Any, values: Any) -> str:
    """Say that the values of a column repeat, where it is one of identifiers; "" where they do not."""
    size = rows_of_identifier(values)
    said = f"the column {shown(repr(as_text(name)))} has about {size:.0f} rows for each value"
    return f"{said}: if these belong together, give groups={as_text(name)!r}" if size else ""


def rows_of_identifier(values: Any) -> float:
    """Return how many rows have the identifier of a row, on average over rows; 0 for what is none, or for single rows.

    An identifier is a whole number or a text, of many values of which some have several rows.
    """
    try:
        column = as_array("identifiers", values)
    except (ValueError, TypeError):
        return 0.0
    if column.ndim != 1 or not len(column):
        return 0.0
    n = len(column)
    some = column if n <= _LOOKED_AT else column[_anywhere(n)]
    some = np.array([value for value in some.tolist() if not _missing(value)])
    if some.dtype.kind not in "iuUf" or (some.dtype.kind == "f" and (some != np.floor(some)).any()):
        return 0.0
    size = _mean_size(some, n)
    return size if size >= _SMALLEST else 0.0


def _missing(value: Any) -> bool:
    return type(value).__name__ in ABSENT or value != value
