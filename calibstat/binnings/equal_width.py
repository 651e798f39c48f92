"""Cells of equal width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.binnings.base import Binning, Cells, Moves, one_column, warn_of_small_cells
from calibstat.binnings.intervals import borders, closed_left, is_probability
from calibstat.checks import at_least_one
from calibstat.predictions import Predictions

# A value this close to an edge, in cells, is compared with the edge itself; rounding moves it by far less.
_NEAR = 1e-6
# Rows that are cut at once, so that they stay in the cache.
_ROWS = 2**15


@final
@dataclass(frozen=True)
class EqualWidth(Binning):
    """Cut [0, 1] (or a variable's range) into cells of equal width: [low, high), the last one closed.

    The edges are ``numpy.linspace(0, 1, n_bins + 1)`` and a value is compared with these floats, as ``numpy.digitize``
    does (Vaicenavicius et al. 2019). Note that `EqualMass` closes its cells on the other side.

    Parameters
    ----------
    n_bins : int
        Number of cells; empty ones are kept, with count zero.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0, 1, 1], [0, 0.5, 0.2, 0.7, 1, 0.95])
    >>> cs.EqualWidth(5).cut(sample.predictions).index
    array([0, 2, 1, 3, 4, 4])
    """

    n_bins: int

    def __post_init__(self) -> None:
        at_least_one("n_bins", self.n_bins)

    def cut(self, predictions: Predictions) -> Cells:
        """Cut the one conditioned column."""
        values = one_column(self, predictions)
        warn_of_small_cells(self, self.n_bins, len(values))
        edges = np.linspace(*borders(predictions), self.n_bins + 1)
        moves: Moves = "fixed" if is_probability(predictions) else "data"
        return Cells(self.n_bins, _equal_width_index(values, edges), moves, edges)


def _equal_width_index(values: Floats, edges: Floats) -> Ints:
    """Do as `closed_left` by arithmetic, searching only for the values next to an edge."""
    n_bins = len(edges) - 1
    width = edges[-1] - edges[0]
    if not width > 0:
        return np.zeros(len(values), dtype=np.intp)
    index = np.empty(len(values), dtype=np.intp)
    for start in range(0, len(values), _ROWS):
        some = values[start : start + _ROWS]
        position = some * (n_bins / width) if edges[0] == 0 else (some - edges[0]) * (n_bins / width)
        cell = position.astype(np.intp)
        position -= cell
        np.clip(cell, 0, n_bins - 1, out=cell)
        near = np.flatnonzero((position < _NEAR) | (position > 1 - _NEAR))
        cell[near] = closed_left(some[near], edges)
        index[start : start + _ROWS] = cell
    return index
