"""Labels as they came: integers, booleans or strings, one for each row."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calibstat.arrays import Array, Ints
from calibstat.checks.columns import Column

# Labels further apart than this are looked up in a dictionary, not in a table.
WIDEST_TABLE = 1_000_000


@dataclass(frozen=True, eq=False)
class Labels:
    """One label for each row, as whole numbers.

    Parameters
    ----------
    values : (n,) ints
        The labels themselves, or for others the position of each row's label in `names`.
    names : tuple, optional
        Distinct labels that are text, or integers far apart, sorted; None for integers and booleans.
    boolean : bool
        Whether 0 and 1 stand for False and True.
    """

    values: Array
    names: tuple[Hashable, ...] | None = None
    boolean: bool = False

    @cached_property
    def span(self) -> tuple[int, int]:
        """The smallest and the largest of `values`."""
        return int(self.values.min()), int(self.values.max())

    @cached_property
    def distinct(self) -> tuple[Hashable, ...]:
        """The labels that occur, sorted, as Python scalars."""
        low = 0 if self.names is not None else self.span[0]
        occur = (np.flatnonzero(np.bincount(self.values - low)) + low).tolist()
        if self.names is not None:
            return tuple(self.names[position] for position in occur)
        return tuple(map(bool, occur)) if self.boolean else tuple(occur)

    @property
    def text(self) -> bool:
        """Whether the labels are strings."""
        return self.names is not None and isinstance(self.names[0], str)

    def within(self, n_classes: int) -> bool:
        """Whether the labels are numbers that can be positions of that many columns."""
        return self.names is None and self.span[0] >= 0 and self.span[1] < n_classes

    def columns(self, classes: tuple[Hashable, ...]) -> Ints:
        """The column number of each row's label; every label that occurs is among the classes."""
        if self.names is None and classes == tuple(range(len(classes))):
            return np.array(self.values, dtype=np.intp)
        position = {label: column for column, label in enumerate(classes)}
        if self.names is not None:
            table = np.array([position.get(label, -1) for label in self.names], dtype=np.intp)
            return np.take(table, self.values)
        low, high = self.span
        table = np.zeros(high - low + 1, dtype=np.intp)
        for label in self.distinct:
            table[int(label) - low] = position[label]  # type: ignore[call-overload]
        return np.take(table, self.values - low)


def as_labels(found: Column) -> Labels:
    """Take a column without missing values for labels.

    Raises
    ------
    ValueError
        If numbers are not whole.
    """
    if found.names is not None:
        return Labels(found.values, found.names)
    if found.boolean:
        return Labels(found.values.astype(np.intp), boolean=True)
    low, high = found.values.min(), found.values.max()
    if np.isinf(low) or np.isinf(high):
        raise ValueError("y_true holds an infinite label: labels must be integers, booleans or strings")
    whole = _whole(found.values)
    # Python integers: the difference of two small machine integers may overflow.
    if int(high) - int(low) > WIDEST_TABLE:
        return _far_apart(whole)
    return Labels(whole)


def _whole(values: Array) -> Array:
    if values.dtype.kind == "i":
        return values if values.dtype.itemsize == 8 else values.astype(np.int64)
    if max(abs(int(values.min())), abs(int(values.max()))) >= 2**63:
        raise ValueError("y_true holds integers beyond 64 bits: pass smaller ones, or strings")
    whole = values.astype(np.int64)
    fraction = whole != values
    if fraction.any():
        row = int(np.argmax(fraction))
        raise ValueError(
            f"y_true is {values[row]:.6g} in row {row} (rows count from 0), but labels must be integers, "
            "booleans or strings; the order of arguments is (y_true, y_prob)"
        )
    return whole


def _far_apart(values: Array) -> Labels:
    items: list[Any] = values.tolist()
    names = tuple(sorted(set(items)))
    lookup = {name: position for position, name in enumerate(names)}
    return Labels(np.fromiter(map(lookup.__getitem__, items), np.intp, len(items)), names)
