"""What a monitor is given: settings, and names of rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from calibstat.arrays import Array
from calibstat.lenses.base import Lens
from calibstat.monitoring.base import Bets
from calibstat.predictions import Predictions

_CHOICES = {
    "order": ("prediction", "arrival"),
    "when_full": ("raise", "worst label"),
    "bad_rows": ("raise", "skip"),
}


def plain_labels(labels: Sequence[Any]) -> tuple[Any, ...]:
    """Return labels as integers, booleans and texts of Python, whatever array they come from."""
    return tuple(label.item() if isinstance(label, np.generic) else label for label in labels)


def check_settings(monitor: Any) -> None:
    """Refuse settings that are not what they should be."""
    if not isinstance(monitor.lens, Lens):
        raise TypeError(
            f"lens is of type {type(monitor.lens).__name__}, but a lens is expected: for example TopLabel()"
        )
    if monitor.bets is not None and not isinstance(monitor.bets, Bets):
        raise TypeError(f"bets is of type {type(monitor.bets).__name__}, but KernelBets() or another is expected")
    alpha: Any = monitor.alpha
    if not isinstance(alpha, Real):
        raise TypeError(
            f"alpha is {alpha!r}, of type {type(alpha).__name__}, but a number is expected: for example 0.05"
        )
    if not 0 < float(alpha) < 1:
        raise ValueError(f"alpha is {alpha!r}, but it must lie between 0 and 1: for example 0.05")
    for name, choices in _CHOICES.items():
        if getattr(monitor, name) not in choices:
            raise ValueError(f"{name} is {getattr(monitor, name)!r}, but it must be one of {choices}")
    labels = list(monitor.labels)
    if len(labels) < 2 or len(set(labels)) < len(labels) or not all(isinstance(each, (int, str)) for each in labels):
        raise ValueError(f"labels is {labels!r}, but at least two different integers, booleans or texts are expected")


def induced_classes(lens: Lens, labels: Sequence[Hashable]) -> int:
    """Return the number of outcomes behind a lens, and refuse a lens that conditions on a variable."""
    seen = lens.look(Predictions(np.full((1, len(labels)), 1 / len(labels)), tuple(labels))).predictions
    if seen.given != (...,):
        raise ValueError(f"{lens!r} conditions on {seen.given}, but a monitor bets on predictions alone: leave it out")
    return seen.n_classes


def read_ids(given: Any, n_rows: int | None) -> list[Hashable]:
    """Return the ids as plain integers, numbers or texts; None for each row if there are none.

    Raises
    ------
    ValueError, TypeError
        If they are something else, missing, or not one for each row.
    """
    if given is None:
        return [None] * (n_rows or 0)
    array: Array = np.asarray([given] if isinstance(given, str) or np.ndim(given) == 0 else given)
    ids: list[Any] = array.tolist()
    if array.ndim != 1 or (n_rows is not None and len(ids) != n_rows):
        raise ValueError(f"id has shape {array.shape}, but one for each of the {n_rows or 'labels'} rows is expected")
    for row, name in enumerate(ids):
        if not isinstance(name, (int, float, str)) or name != name:
            raise TypeError(f"id is {name!r} in row {row}, but integers, numbers or texts are expected")
    return ids
