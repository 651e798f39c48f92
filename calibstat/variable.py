"""A variable that accompanies the rows of a sample: age, sex, hospital."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibstat.arrays import Array, Floats


@dataclass(frozen=True, eq=False)
class Variable:
    """One value for each row, as numbers.

    Parameters
    ----------
    values : (n,) floats
        The numbers themselves, or for a categorical variable the position of each row's level in `levels`.
    levels : tuple of str, optional
        The level names of a categorical variable; None for a numeric one.
    """

    values: Floats
    levels: tuple[str, ...] | None = None

    @property
    def categorical(self) -> bool:
        """Whether the values are names without an order."""
        return self.levels is not None

    def take(self, rows: Array) -> Variable:
        """The same variable at `rows`."""
        return Variable(self.values[rows], self.levels)

    @cached_property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value (NaN, NaN without rows)."""
        if not self.values.size:
            return np.nan, np.nan
        return float(self.values.min()), float(self.values.max())
