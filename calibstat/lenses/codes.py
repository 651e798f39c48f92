"""The code of each class behind a lens, and what outcomes become by it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array, Ints


class Codes(ABC):
    """Which code each class has, possibly another one in each row."""

    @abstractmethod
    def of(self, outcomes: Array) -> Array:
        """Map outcomes (..., m) to their codes (..., m)."""

    @abstractmethod
    def as_table(self) -> Array:
        """Write the codes out: (m, K), or (1, K) when all rows share them."""

    @abstractmethod
    def take(self, rows: Ints) -> Codes:
        """Return the codes at `rows`."""


@final
@dataclass(frozen=True, eq=False)
class Listed(Codes):
    """A table.

    Parameters
    ----------
    table : (m, K) or (1, K) ints
    """

    table: Array

    def of(self, outcomes: Array) -> Array:
        """Look outcomes up."""
        if len(self.table) == 1:
            return self.table[0, outcomes]
        return self.table[np.arange(len(self.table)), outcomes]

    def as_table(self) -> Array:
        """Return the table."""
        return self.table

    def take(self, rows: Ints) -> Listed:
        """Return the codes at `rows`."""
        return self if len(self.table) == 1 else Listed(self.table[rows])


@final
@dataclass(frozen=True, eq=False)
class Ranked(Codes):
    """Codes 1, ..., k for some classes of each row and 0 for the others, without a table: its m K numbers take time.

    Parameters
    ----------
    columns : (m, k) ints
        The class with code 1, ..., k.
    n_classes : int
    """

    columns: Ints
    n_classes: int

    def of(self, outcomes: Array) -> Array:
        """Compare outcomes with the class of each code."""
        k = self.columns.shape[1]
        if k == 1:
            return (outcomes == self.columns[:, 0]).view(np.uint8)
        found = np.zeros(outcomes.shape, dtype=np.min_scalar_type(k))
        for code, column in enumerate(self.columns.T, start=1):
            found[outcomes == column] = code
        return found

    def as_table(self) -> Array:
        """Write the codes out: (m, K)."""
        m, k = self.columns.shape
        table = np.zeros((m, self.n_classes), dtype=np.min_scalar_type(k))
        table[np.arange(m)[:, None], self.columns] = np.arange(1, k + 1)
        return table

    def take(self, rows: Ints) -> Ranked:
        """Return the codes at `rows`."""
        return Ranked(self.columns[rows], self.n_classes)
