"""Parameters: what levels are by default, checks, how frozen objects keep them, and a warning of small cells."""

from __future__ import annotations

import operator
from numbers import Real
from typing import Any, Final

import numpy as np

LEVEL: Final = 0.05
"""The level of tests that are not told another one."""

CONFIDENCE_LEVEL: Final = 1 - LEVEL
"""The confidence level of intervals that are not told another one."""


class SmallCellsWarning(UserWarning):
    """Warns that more cells were asked for than the rows can fill."""


def at_least_one(name: str, value: int) -> int:
    """Return an integer >= 1, called `name` in messages; raise a ValueError or a TypeError (True is no integer)."""
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
    """Return a boolean, called `name` in messages; anything else is a TypeError, since the text "False" is truthy."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}, but True or False is expected")
    return bool(value)


def check_number(name: str, value: Any, example: str) -> None:
    """Refuse what is no number."""
    if not isinstance(value, Real):
        raise TypeError(f"{name} is {value!r}, but a number is expected, for example {example}.")


def check_share(name: str, value: Any, example: float) -> None:
    """Refuse what is no number between 0 and 1, as levels and confidence levels are."""
    check_number(name, value, f"{example:g}")
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value!r}; it must lie between 0 and 1, for example {example:g}.")


def keep(instance: object, **parameters: Any) -> None:
    """Set fields of a frozen dataclass while it is made, for example a tuple in place of the list that was passed."""
    for name, value in parameters.items():
        object.__setattr__(instance, name, value)
