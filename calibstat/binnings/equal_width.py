"""Cells of equal width."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.binnings.base import Binning, Cells, Finder, Moves, one_column, warn_of_small_cells
from calibstat.binnings.intervals import borders, closed_left, is_probability
from calibstat.checks import at_least_one
from calibstat.compiled import has_twin
from calibstat.predictions import Predictions

# Cells are divided into 2**bits steps, as many as rounding allows; only values in a step beside an edge are compared
# with the edges. With fewer than 2**6 steps all are.
_MOST_BITS, _FEWEST_BITS, _ALL_BITS = 20, 6, 30
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
        return Cells(self.n_bins, _placed(values, edges), moves, edges)


@final
@dataclass(frozen=True, eq=False)
class ByArithmetic(Finder):
    """Finds cells of equal width without a search.

    Parameters
    ----------
    values : (n,) floats
    edges : (L + 1,) floats
    bits : int
        Each cell is divided into ``2 ** bits`` steps.
    """

    values: Floats
    edges: Floats
    bits: int

    def index(self) -> Ints:
        """Do as `closed_left`."""
        return _by_arithmetic(self.values, self.edges, self.bits)


def _placed(values: Floats, edges: Floats) -> Ints | Finder:
    """Do as `closed_left`, by arithmetic where floats allow it."""
    width = float(edges[-1] - edges[0])
    if not width > 0:
        return np.zeros(len(values), dtype=np.intp)
    bits = _bits(edges, width)
    return ByArithmetic(values, edges, bits) if bits >= _FEWEST_BITS else closed_left(values, edges)


def _bits(edges: Floats, width: float) -> int:
    """Return the power of two into which cells can be divided so that rounding moves nothing by half a step.

    Positions and edges together are off by less than 16 units in the last place of the largest edge.
    """
    n_bins = len(edges) - 1
    with np.errstate(over="ignore"):
        scale = np.float64(n_bins << _MOST_BITS) / width  # infinite: then there is no such power
        off = math.ldexp(16 * float(scale * np.spacing(np.abs(edges).max())), -_MOST_BITS)
    return min(_MOST_BITS, _ALL_BITS - n_bins.bit_length(), -math.frexp(off)[1] - 1)


@has_twin("calibstat.accel.cells:by_arithmetic")
def _by_arithmetic(values: Floats, edges: Floats, bits: int) -> Ints:
    """Multiply by the number of steps for each unit; search only for values in a step beside an edge."""
    index, end, mask = np.empty(len(values), dtype=np.intp), (len(edges) - 1) << bits, (1 << bits) - 1
    scale = end / (edges[-1] - edges[0])
    for start in range(0, len(values), _ROWS):
        some = values[start : start + _ROWS]
        step = ((some if edges[0] == 0 else some - edges[0]) * scale).astype(np.int32)
        beside = (step + 1) & mask
        # nothing lies below the first edge
        near = np.flatnonzero((beside <= 1) & (step > 1)) if beside.min() <= 1 else ()
        if step.view(np.uint32).max() >= end:  # negative numbers are large ones there
            np.clip(step, 0, end - 1, out=step)
        step >>= bits
        if len(near):
            step[near] = closed_left(some[near], edges)
        index[start : start + _ROWS] = step
    return index
