"""Binnings of one column into intervals: equal mass, equal width, and fixed edges."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, Literal, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted
from calibstat.binnings.base import (
    Binning,
    Cells,
    Moves,
    borders,
    closed_left,
    closed_right,
    edge_in_bucket,
    is_probability,
    one_column,
    warn_of_small_cells,
)
from calibstat.binnings.selection import BySteps, Numbered
from calibstat.data.arrays import ROWS_IN_CACHE, Array, Floats, Ints
from calibstat.data.checks import locked
from calibstat.data.parameters import Bins, check_kind, keep, without_defaults
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Predictions

Side: TypeAlias = Literal["left", "right"]

# From this many rows on, a histogram finds the same cells faster than a sort.
_ROWS_FOR_HISTOGRAM = 5000


@final
@dataclass(frozen=True)
class EqualMass(Binning):
    """Cut one column into cells of (almost) equal numbers of rows: (low, high], the first one closed.

    The sorted values are split as by ``numpy.array_split`` and the edges lie half-way between neighbouring groups
    (Kumar et al. 2019, Section 2). Equal values stay together, empty cells are removed. With unequal weights an edge
    is the midpoint of the lower and the upper weighted quantile. Note that `EqualWidth` closes its cells on the other
    side.

    Parameters
    ----------
    n_bins : int
        Number of cells asked for; ties, or fewer rows than cells, give fewer.

    Raises
    ------
    ValueError, TypeError
        If `n_bins` is not an integer of at least 1 and at most 10 million.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0, 1, 1], [0.3, 0.5, 0.2, 0.3, 0.5, 0.7])
    >>> cells = cs.EqualMass(3).cut(sample.predictions)
    >>> cells.index
    array([0, 1, 0, 0, 1, 2])
    """

    n_bins: Bins
    takes_counts: ClassVar[bool] = True

    def cut(self, predictions: Predictions) -> Cells:
        """Cut the one conditioned column."""
        values = one_column(self, predictions)
        warn_of_small_cells(self, self.n_bins, predictions.n_rows)
        low, high = borders(predictions)
        if not len(values):
            return Cells(1, np.zeros(0, dtype=np.intp), "ranks", np.array([low, high]))
        numbered, near = Numbered.of(values, (low, high)) if len(values) >= _ROWS_FOR_HISTOGRAM else None, None
        if predictions.weights is None:
            ranks = group_ranks(len(values), self.n_bins)
            below, above, near = _neighbours(values, ranks, numbered)
        elif predictions.unweighted:
            below, above, ranks = *_counted_neighbours(predictions, self.n_bins), None
        else:
            ranks, order = None, predictions.order
            below, above = weighted_neighbours(values[order], predictions.weights[order], self.n_bins)
        between, apart = midpoints(below, above), (below < above).all()
        edges = np.concatenate([[low], between if apart else np.unique(between), [high]])
        placed = closed_right(values, edges) if numbered is None else BySteps(numbered, edges, near)
        cells = Cells(len(edges) - 1, placed, "ranks", edges, ranks=ranks, numbered=numbered)
        # If every edge has a row on either side, no cell is empty.
        return cells if apart else _without_empty(cells, edges)


@lru_cache(maxsize=64)
def group_ranks(n: int, n_bins: int) -> Ints:
    """Return the first ranks of the groups of ``numpy.array_split``, except the first: (min(n_bins, n) - 1,)."""
    n_groups = min(n_bins, n)
    group = np.arange(1, n_groups)
    return locked(group * (n // n_groups) + np.minimum(group, n % n_groups))


def _neighbours(values: Floats, firsts: Ints, numbered: Numbered | None) -> tuple[Floats, Floats, Ints | None]:
    """Return the last value of each group but the last, the first value of the next group, and all rows near these."""
    if not len(firsts):
        return np.empty(0), np.empty(0), None
    if numbered is None:
        ordered = np.sort(values)
        return ordered[firsts - 1], ordered[firsts], None
    (below, above), near = numbered.order_statistics(np.stack([firsts - 1, firsts]))
    return below, above, near


def _counted_neighbours(predictions: Predictions, n_bins: int) -> tuple[Floats, Floats]:
    """Return the same of rows that stand for several."""
    ends = np.cumsum(np.take(predictions.multiplicity, predictions.order))
    firsts = group_ranks(predictions.n_rows, n_bins)
    below, above = (predictions.increasing[np.searchsorted(ends, each, side="right")] for each in (firsts - 1, firsts))
    return below, above


def weighted_neighbours(values: Floats, weights: Floats, n_bins: int) -> tuple[Floats, Floats]:
    """Return the lower and the upper weighted quantile of sorted values at each inner level."""
    mass = np.cumsum(weights)
    levels = np.arange(1, n_bins) * (mass[-1] / n_bins)
    slack = ROUNDING * mass[-1]  # so that rounding does not separate a level from a mass that equals it
    lower = np.searchsorted(mass, levels - slack, side="left")
    upper = np.searchsorted(mass, levels + slack, side="right")
    return values[lower], values[np.minimum(upper, len(values) - 1)]


def midpoints(below: Floats, above: Floats) -> Floats:
    """Return points half-way, but below `above` even where `below` and `above` are neighbouring floats."""
    middle = below + (above - below) / 2
    return np.where((middle < above) | (below == above), middle, below)


def _without_empty(cells: Cells, edges: Floats) -> Cells:
    filled = np.bincount(cells.index, minlength=cells.size) > 0
    if filled.all():
        return cells
    index, edges = (np.cumsum(filled) - 1)[cells.index], np.concatenate([edges[:1], edges[1:][filled]])
    return replace(cells, size=int(filled.sum()), placed=index, edges=edges)


@final
@dataclass(frozen=True)
class Quantiles(Binning):
    """Cut one column at its quantiles, (low, high], as ``pandas.qcut`` and scikit-learn's ``calibration_curve`` do.

    The edges are ``numpy.quantile(values, i / n_bins)``, interpolated between rows, where those of `EqualMass` lie
    half-way between two rows. Equal edges count once, empty cells are removed. With unequal weights the edges are those
    of `EqualMass`.

    Parameters
    ----------
    n_bins : int
        Number of cells asked for; ties, or fewer rows than cells, give fewer.

    Raises
    ------
    ValueError, TypeError
        If `n_bins` is not an integer of at least 1 and at most 10 million.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.1, 0.2, 0.4, 0.8])
    >>> cs.Quantiles(3).cut(sample.predictions).edges.round(6)
    array([0. , 0.2, 0.4, 1. ])
    """

    n_bins: Bins

    def cut(self, predictions: Predictions) -> Cells:
        """Cut the one conditioned column."""
        values = one_column(self, predictions)
        if predictions.weights is not None or not len(values):
            return EqualMass(self.n_bins).cut(predictions)
        warn_of_small_cells(self, self.n_bins, len(values))
        low, high = borders(predictions)
        inner = np.unique(np.quantile(values, np.linspace(0, 1, self.n_bins + 1)[1:-1]))
        edges = np.concatenate([[low], inner, [high]])
        return _without_empty(Cells(len(edges) - 1, closed_right(values, edges), "data", edges), edges)


# Each cell is divided into 2**bits steps, as many as rounding allows; only values in a step beside an edge are compared
# with the edges. If fewer than 2**6 steps are possible, all values are compared.
_MOST_BITS, _FEWEST_BITS, _ALL_BITS = 20, 6, 30


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

    Raises
    ------
    ValueError, TypeError
        If `n_bins` is not an integer of at least 1 and at most 10 million.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0, 1, 1], [0, 0.5, 0.2, 0.7, 1, 0.95])
    >>> cs.EqualWidth(5).cut(sample.predictions).index
    array([0, 2, 1, 3, 4, 4])
    """

    n_bins: Bins
    takes_counts: ClassVar[bool] = True

    def cuts_buckets(self, predictions: Predictions) -> str:
        """Say which edge does."""
        return edge_in_bucket(self, predictions, _equal_steps(0.0, 1.0, self.n_bins))

    def cut(self, predictions: Predictions) -> Cells:
        """Cut the one conditioned column."""
        values = one_column(self, predictions)
        warn_of_small_cells(self, self.n_bins, predictions.n_rows)
        edges = _equal_steps(*borders(predictions), self.n_bins)
        moves: Moves = "fixed" if is_probability(predictions) else "data"
        return Cells(self.n_bins, _placed(values, edges), moves, edges)


@final
@dataclass(frozen=True, eq=False)
class ByArithmetic:
    """Finds cells of equal width without a search: each of the L cells is divided into ``2 ** bits`` steps."""

    values: Floats
    edges: Floats
    bits: int

    def index(self) -> Ints:
        """Return what `closed_left` returns."""
        index = np.empty(len(self.values), dtype=np.intp)
        for rows, cells in self.in_blocks():
            index[rows] = cells
        return index

    def in_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Multiply by the number of steps per unit; search, as `closed_left` does, only beside edges."""
        values, edges, bits = self.values, self.edges, self.bits
        end, mask = (len(edges) - 1) << bits, (1 << bits) - 1
        scale = end / float(edges[-1] - edges[0])
        for start in range(0, len(values), ROWS_IN_CACHE):
            some = values[start : start + ROWS_IN_CACHE]
            step = ((some if edges[0] == 0 else some - edges[0]) * scale).astype(np.int32)
            beside = (step + 1) & mask
            # No value lies below the first edge.
            near = np.flatnonzero((beside <= 1) & (step > 1)) if beside.min() <= 1 else ()
            if step.view(np.uint32).max() >= end:  # read as unsigned, negative numbers are large
                np.clip(step, 0, end - 1, out=step)
            step >>= bits
            if len(near):
                step[near] = closed_left(some[near], edges)
            yield slice(start, start + ROWS_IN_CACHE), step


def _placed(values: Floats, edges: Floats) -> Ints | ByArithmetic:
    """Return what `closed_left` returns, by arithmetic where floats allow it."""
    width = float(edges[-1] - edges[0])
    if not width > 0:
        return np.zeros(len(values), dtype=np.intp)
    bits = _bits(len(edges) - 1, width, float(max(-edges[0], edges[-1])))
    return ByArithmetic(values, edges, bits) if bits >= _FEWEST_BITS else closed_left(values, edges)


@lru_cache(maxsize=64)
def _equal_steps(low: float, high: float, n_bins: int) -> Floats:
    return locked(np.linspace(low, high, n_bins + 1))


@lru_cache(maxsize=64)
def _bits(n_bins: int, width: float, largest: float) -> int:
    """Return the largest power of two into which cells can be divided so that rounding errors are below half a step.

    Positions and edges together are off by less than 16 units in the last place of the largest edge.
    """
    with np.errstate(over="ignore"):
        scale = np.float64(n_bins << _MOST_BITS) / width  # if infinite, there is no such power
        off = math.ldexp(16 * float(scale * np.spacing(largest)), -_MOST_BITS)
    return min(_MOST_BITS, _ALL_BITS - n_bins.bit_length(), -math.frexp(off)[1] - 1)


@final
@dataclass(frozen=True)
class FixedEdges(Binning):
    """Cut one column at given edges: [edge_i, edge_i+1), the last cell closed; or (edge_i, edge_i+1], the first closed.

    Parameters
    ----------
    edges : sequence of at least two increasing numbers
        They must cover the values.
    closed : {"left", "right"}
        The side on which a cell is closed: the left one as in ``numpy.histogram``, the right one as in ``pandas.cut``.

    Raises
    ------
    ValueError
        If the edges do not increase; on cutting, if a value lies outside them.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1], [0.1, 0.5, 1.0])
    >>> cs.FixedEdges([0, 0.5, 1]).cut(sample.predictions).index
    array([0, 1, 1])
    """

    edges: tuple[float, ...]
    closed: Side = "left"
    takes_counts: ClassVar[bool] = True

    def __init__(self, edges: Sequence[float] | Floats, closed: Side = "left") -> None:
        check_kind("edges", edges, Sequence[float])
        check_kind("closed", closed, Side)
        given = tuple(float(edge) for edge in edges)
        if len(given) < 2 or not all(np.diff(given) > 0):
            raise ValueError(
                f"edges are {', '.join(map(str, given)) or 'none'}; give at least two strictly increasing numbers."
            )
        keep(self, edges=given, closed=closed)

    __repr__ = without_defaults

    def cuts_buckets(self, predictions: Predictions) -> str:
        """Say which edge does."""
        return edge_in_bucket(self, predictions, np.array(self.edges))

    def cut(self, predictions: Predictions) -> Cells:
        """Cut the one conditioned column."""
        values = one_column(self, predictions)
        warn_of_small_cells(self, len(self.edges) - 1, predictions.n_rows)
        outside = np.flatnonzero((values < self.edges[0]) | (values > self.edges[-1]))
        if outside.size:
            raise ValueError(
                f"{self!r} covers [{self.edges[0]:g}, {self.edges[-1]:g}], but row {outside[0]} has the value "
                f"{values[outside[0]]:g} ({counted(outside.size, 'row', 'lies', 'lie')} outside); widen the first or "
                "the last edge."
            )
        edges = np.array(self.edges)
        placed = (closed_left if self.closed == "left" else closed_right)(values, edges)
        return Cells(len(edges) - 1, placed, "fixed", edges)
