"""Parameters of lenses, binnings and nulls, and the warning when cells are too many."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


class SmallCellsWarning(UserWarning):
    """More cells were asked for than the rows can fill."""


def at_least_one(name: str, value: int) -> int:
    """Return an integer >= 1, which messages call `name`; else a ValueError, or a TypeError (True is no integer)."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}, but an integer of at least 1 is expected")
    if number < 1:
        raise ValueError(f"{name} is {number}, but it must be at least 1")
    return number


def true_or_false(name: str, value: bool) -> bool:
    """Return a boolean, which messages call `name`; anything else is a TypeError: the text "False" counts as true."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}, but True or False is expected")
    return bool(value)


def keep(instance: object, **parameters: Any) -> None:
    """Give a frozen dataclass, as it is made, its parameters as it keeps them: a tuple for the list that was passed."""
    for name, value in parameters.items():
        object.__setattr__(instance, name, value)
