"""Restricting the question to some of the rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.lenses.base import Lens, View
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class Region(Lens):
    """Keep only the rows in a region of predictions or variables (Vaicenavicius et al. 2019, eq. 5).

    The choice may depend on everything but the outcomes, so every test stays exact.

    Parameters
    ----------
    predicate : callable
        Takes the `Predictions` seen so far and returns (n,) booleans: which rows to keep.
    name : str
        What results print for the region; by default the name of the function.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1], [0.2, 0.7, 0.9], variables={"age": [20, 60, 40]})
    >>> len(cs.Region.between("age", 30, 65)(sample))
    2
    """

    predicate: Callable[[Predictions], Array]
    name: str = field(default="", compare=False)

    @classmethod
    def between(cls, column: Hashable, low: float, high: float) -> Region:
        """Keep the rows with low <= column <= high.

        Parameters
        ----------
        column : str or label
            The name of a variable, or the label of the class whose probability is meant.
        low, high : float
            Both ends belong to the region.
        """
        if not low <= high:
            raise ValueError(f"Region.between({column!r}, {low!r}, {high!r}): low must not exceed high.")
        return cls(_Between(column, low, high), f"{low} <= {column} <= {high}")

    def look(self, predictions: Predictions) -> View:
        """Keep the rows where the predicate holds."""
        kept = np.asarray(self.predicate(predictions))
        if kept.dtype != bool or kept.shape != (len(predictions),):
            raise ValueError(
                f"{self!r}: the predicate returned {kept.dtype} of shape {kept.shape}, "
                f"but one boolean for each of the {len(predictions)} rows was expected."
            )
        rows = np.flatnonzero(kept)
        return View(predictions.take(rows), rows=rows)

    def __repr__(self) -> str:
        return f"Region({self.name or getattr(self.predicate, '__name__', repr(self.predicate))})"


@dataclass(frozen=True)
class _Between:
    column: Hashable
    low: float
    high: float

    def __call__(self, predictions: Predictions) -> Array:
        values = self._values(predictions)
        return (values >= self.low) & (values <= self.high)

    def _values(self, predictions: Predictions) -> Floats:
        variable = predictions.variables.get(self.column) if isinstance(self.column, str) else None
        if variable is not None and not variable.categorical:
            return variable.values
        if variable is None and self.column in predictions.classes:
            return predictions.probabilities[:, predictions.classes.index(self.column)]
        raise ValueError(
            f"Region.between({self.column!r}, ...): this is neither a numeric variable nor a class; "
            f"the variables are {tuple(predictions.variables)!r}, the classes {predictions.classes!r}."
        )
