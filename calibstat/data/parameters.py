"""Parameters of lenses, binnings and nulls, and the warning when cells are too many."""

from __future__ import annotations

import operator

import numpy as np


class SmallCellsWarning(UserWarning):
    """More cells were asked for than the rows can fill."""


def at_least_one(name: str, value: int) -> int:
    """An integer of at least one.

    Parameters
    ----------
    name : str
        What to call it in messages.
    value : int

    Raises
    ------
    TypeError
        If it is not an integer (True is none).
    ValueError
        If it is smaller than one.
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
    """A boolean, and nothing that Python would take for one: the text "False" counts as true.

    Parameters
    ----------
    name : str
        What to call it in messages.
    value : bool

    Raises
    ------
    TypeError
        If it is anything else.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}, but True or False is expected")
    return bool(value)
