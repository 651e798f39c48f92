"""Names for the arrays that travel through calibstat, and the one door through which randomness enters."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calibstat._dataclass import dataclass

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.intp]
Bools: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = NDArray[Any]
RNG: TypeAlias = "int | np.random.Generator | None"  # a text: numpy imports its random numbers when they are used

ROWS_IN_CACHE: Final = 2**15
"""Rows that are gone through at once, so that a few columns of them stay in the cache of most processors."""

NUMBERS_IN_CACHE: Final = 2**16
"""Numbers that are handled together, so that they stay in the cache."""

NUMBERS_IN_MEMORY: Final = 2**21
"""Numbers of a batch of replicates that are held in memory at once."""


def as_generator(rng: RNG) -> np.random.Generator:
    """Turn what a user passes as ``rng`` into a Generator; below the public functions a Generator is required.

    Parameters
    ----------
    rng : int, Generator or None
        A seed, a Generator (returned as it is), or None for one that differs on every call.

    Returns
    -------
    numpy.random.Generator

    Raises
    ------
    TypeError
        If `rng` is none of these.

    Examples
    --------
    >>> import calibstat as cs
    >>> bool(cs.as_generator(0).random() == cs.as_generator(0).random())
    True
    """
    check_rng(rng)
    return np.random.default_rng(rng)  # a Generator as it is


def check_rng(rng: Any) -> None:
    """Refuse what `as_generator` cannot take."""
    if rng is None or (isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0):
        return
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng is {rng!r}, but it must be None, a non-negative integer or a numpy.random.Generator; "
            "pass for example rng=0"
        )


# With fewer rows numpy sorts faster; up to so many, two bytes of a place tell most rows apart.
_ROWS_FOR_RADIX, _ROWS_FOR_TWO_BYTES = 500, 2**16


def increasing_order(values: Floats) -> Ints:
    """Return ``np.argsort(values, kind="stable")`` of numbers (n,), two to five times as fast for many.

    Their places in the range are sorted first, as numbers of two or four bytes; a merge sort then takes hardly more
    than one pass over what is nearly in order. Numbers that are in order already are only looked at.
    """
    if (values[1:] >= values[:-1]).all():
        return np.arange(len(values))
    if len(values) >= _ROWS_FOR_RADIX:
        low = values.min()
        with np.errstate(all="ignore"):
            scale = (2**32 - 1) / (values.max() - low)
        if 0 < scale < np.inf:
            order = _rough_order(((values - low) * scale).astype(np.uint32))
            return order[np.argsort(values[order], kind="stable")]
    return np.argsort(values, kind="stable")


def _rough_order(places: Array) -> Ints:
    """Return the stable order of places of four bytes, or of their upper two where few rows are equal in these."""
    if len(places) <= _ROWS_FOR_TWO_BYTES:
        upper = (places >> 16).astype(np.uint16)
        order = np.argsort(upper, kind="stable")
        there = upper[order]
        if 2 * np.count_nonzero(there[1:] == there[:-1]) <= len(there):
            return order
    return order_of_bytes(places)


def order_of_bytes(numbers: Array) -> Ints:
    """Return the stable order of whole numbers (n,) of four bytes: two at a time, which numpy sorts by counting."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    upper = (numbers >> 16).astype(np.uint16)
    return order[np.argsort(upper[order], kind="stable")] if upper.any() else order


def effective_rows(weights: Array) -> float:
    """Return how many equally weighted rows would be as good as rows of these weights (n,) (Kish 1965).

    >>> effective_rows(np.array([1.0, 1.0, 0.0])), round(effective_rows(np.array([1.0, 1.0, 10.0])), 2)
    (2.0, 1.41)
    """
    return float(effective_number(weights.sum(), (weights**2).sum()))


def effective_number(total: Array, squares: Array) -> Floats:
    """Return W^2 / sum w^2 (Kish 1965) from sums (...,) of weights and of their squares; 0 without weight."""
    return np.asarray(total**2 / np.where(squares > 0, squares, 1.0))


def numbered_codes(codes: Ints) -> tuple[Ints, Ints]:
    """Return the codes that occur and the place of each row's among them, without a sort where codes are small."""
    if codes.max() > len(codes):
        found, place = np.unique(codes, return_inverse=True)
        return found, place
    occurs = np.bincount(codes) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


def two_columns(event: Array) -> Floats:
    """Write chances of the event (n,) out as both columns (n, 2), columns together in memory; keep (n, K)."""
    if event.ndim == 2:
        return event
    columns = np.empty((len(event), 2), order="F")
    columns[:, 1] = event
    np.subtract(1.0, columns[:, 1], out=columns[:, 0])
    return columns


class Top(NamedTuple):
    """The most probable class of each row."""

    columns: Ints  # (n,), the first of equally probable ones
    largest: Array  # (n,), its probability


# So many rows at least are looked at together.
_ROWS_TOGETHER = 128


def top_of(rows: Array) -> Top:
    """Find the largest number of each row (n, K)."""
    columns, largest = np.empty(len(rows), dtype=np.intp), np.empty(len(rows), dtype=rows.dtype)
    step = max(_ROWS_TOGETHER, 2 * NUMBERS_IN_CACHE // rows.shape[1])
    each = np.arange(step)
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        found = columns[start : start + step] = some.argmax(axis=1)
        largest[start : start + step] = some[each[: len(some)], found]
    return Top(columns, largest)


@dataclass(frozen=True, eq=False)
class Variable:
    """One value for each row (age, sex, hospital), as numbers."""

    values: Floats  # (n,), the numbers themselves, or the position of each row's level
    levels: tuple[str, ...] | None = None  # their names, of a categorical variable

    @property
    def categorical(self) -> bool:
        """Whether the values are names without an order."""
        return self.levels is not None

    @property
    def written(self) -> Array:
        """(n,) the numbers, or the texts of the levels."""
        return self.values if self.levels is None else np.asarray(self.levels)[self.values.astype(np.intp)]

    def take(self, rows: Array) -> Variable:
        """The same variable at `rows`."""
        return Variable(self.values[rows], self.levels)

    @cached_property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value (NaN, NaN without rows)."""
        if not self.values.size:
            return np.nan, np.nan
        return float(self.values.min()), float(self.values.max())
