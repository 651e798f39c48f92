"""Curves as records: their arrays as values that JSON can hold, and as a table with a row for each place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


class CurveRecord(ABC):
    """What every curve can do: a dataclass whose arrays have an entry for each place along the curve."""

    _display: ClassVar[str] = "ReliabilityDisplay"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, as JSON can hold them; a number that is not finite is None."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}  # type: ignore[arg-type]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each place along the curve."""
        import pandas as pd

        return pd.DataFrame(self._columns())

    def plot(self, **options: Any) -> Any:
        """Draw the curve by the display of its class, whose options are passed on."""
        return getattr(import_module("calibstat"), self._display).from_result(self, **options)

    @abstractmethod
    def _columns(self) -> dict[str, Any]:
        """Return the columns of the table."""


def picked(record: object, names: str) -> dict[str, Any]:
    """Return fields by name; names stand side by side in one text."""
    return {name: getattr(record, name) for name in names.split()}


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, tuple)):
        return [_plain(each) for each in np.asarray(value).tolist()] if len(value) else []
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
