"""One cell for each distinct value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.binnings.base import Binning, Cells, occupied
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class UniqueValues(Binning):
    """One cell for each distinct value of what is conditioned on: binned errors then become unbinned ones.

    Values closer than `tolerance` are the same value (float noise would otherwise turn a true zero into 0.1).

    Parameters
    ----------
    tolerance : float

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1], [0.3, 0.1 + 0.2, 0.5])
    >>> cs.UniqueValues().cut(sample.predictions).size
    2
    """

    tolerance: float = 1e-12
    columns: ClassVar[int | None] = None

    def cut(self, predictions: Predictions) -> Cells:
        """Pool equal rows."""
        index = np.zeros(len(predictions), dtype=np.intp)
        for column in predictions.conditioned.T:
            pooled = self._pool(column)
            index = occupied(index * (int(pooled.max(initial=0)) + 1) + pooled, "data").index
        return Cells(int(index.max(initial=0)) + 1, index, "data")

    def _pool(self, values: Floats) -> Ints:
        """Number the groups of values without a gap above the tolerance, from small to large."""
        order = np.argsort(values, kind="stable")
        group = np.concatenate([[0], np.cumsum(np.diff(values[order]) > self.tolerance)])
        index = np.empty(len(values), dtype=np.intp)
        index[order] = group[: len(values)]
        return index

    def __repr__(self) -> str:
        return "UniqueValues()" if self.tolerance == 1e-12 else f"UniqueValues({self.tolerance!r})"
