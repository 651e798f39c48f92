"""Parameters of lenses, binnings and nulls, and the warning when cells are too many."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


class SmallCellsWarning(UserWarning):
    """More cells were asked for than the rows can fill."""


def at_least_one(name: str, value: int) -> int:
    """Return an integer of at least one, which messages call `name`.

    Anything that is not an integer (True is none) is a TypeError, a smaller one a ValueError.
    """
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
    """Return a boolean, which messages call `name`.

    What Python would take for one is a TypeError: the text "False" counts as true.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}, but True or False is expected")
    return bool(value)


def keep(instance: object, **parameters: Any) -> None:
    """Give a frozen dataclass its parameters in the form in which it keeps them: in its `__init__` or `__post_init__`.

    Parameters
    ----------
    instance : object
    **parameters
        Such as a tuple in place of the list that was passed.
    """
    for name, value in parameters.items():
        object.__setattr__(instance, name, value)
