"""Arrays of a saved state, held against what a part of a monitor can have written."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np

from calibstat.data.arrays import Array, Floats, Ints

ROUNDED_ONE = 1 + 1e-6
"""The largest chance: behind a lens it is a sum of probabilities, which is rounded."""


def stored(
    state: Mapping[str, Array], name: str, shape: tuple[int | None, ...], low: float = -inf, high: float = inf
) -> Array:
    """Return an array of numbers from `low` to `high`, of a shape whose lengths may be left open (None).

    A number that is missing (NaN), and another type, shape or range, are a ValueError.

    >>> stored({"levels": np.array([0.2, 1.0])}, "levels", (None,), 0, 1).tolist()
    [0.2, 1.0]
    """
    array = state[name]
    fits = len(array.shape) == len(shape) and all(
        open_or_length in (None, found) for open_or_length, found in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype.kind not in "fiu" or not np.all((array >= low) & (array <= high)):
        raise ValueError(f"{name} has the shape {array.shape}, or numbers, that no monitor writes")
    return array


def stored_ints(
    state: Mapping[str, Array], name: str, shape: tuple[int | None, ...], low: int = 0, high: int = 2**62
) -> Ints:
    """Return an array as `stored` does, of integers."""
    array = stored(state, name, shape, low, high)
    expect(array.dtype.kind in "iu", f"{name} are integers")
    return array.astype(np.int64)


def stored_rows(state: Mapping[str, Array], which: str, n_classes: int, n_outcomes: int) -> tuple[Floats, Ints]:
    """Return the chances (n, n_classes) and outcomes (n,) of rows, -1 where the label is not known."""
    outcomes = stored_ints(state, f"{which}_outcomes", (None,), -1, n_outcomes - 1)
    return stored(state, f"{which}_chances", (len(outcomes), n_classes), 0, ROUNDED_ONE), outcomes.astype(np.intp)


def expect(holds: Any, what: str) -> None:
    """Refuse a state of which something does not hold that is true of all that monitors write."""
    if not holds:
        raise ValueError(f"it is not so that {what}")
