"""Cells that hold equal numbers of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.binnings.base import Binning, Cells, one_column, warn_of_small_cells
from calibstat.binnings.intervals import borders, closed_right
from calibstat.binnings.selection import BySteps, Numbered
from calibstat.checks import at_least_one
from calibstat.predictions import Predictions

# From so many rows on a histogram finds the same cells faster than a partial sort.
_MANY = 5000


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

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0, 1, 1], [0.3, 0.5, 0.2, 0.3, 0.5, 0.7])
    >>> cells = cs.EqualMass(3).cut(sample.predictions)
    >>> cells.index
    array([0, 1, 0, 0, 1, 2])
    """

    n_bins: int

    def __post_init__(self) -> None:
        at_least_one("n_bins", self.n_bins)

    def cut(self, predictions: Predictions) -> Cells:
        """Cut the one conditioned column."""
        values = one_column(self, predictions)
        warn_of_small_cells(self, self.n_bins, len(values))
        low, high = borders(predictions)
        if not len(values):
            return Cells(1, np.zeros(0, dtype=np.intp), "ranks", np.array([low, high]))
        numbered, near = Numbered.of(values, (low, high)) if len(values) >= _MANY else None, None
        if predictions.weights is None:
            ranks = group_ranks(len(values), self.n_bins)
            below, above, near = _neighbours(predictions, values, ranks, numbered)
        else:
            ranks, order = None, predictions.order
            below, above = weighted_neighbours(values[order], predictions.weights[order], self.n_bins)
        between, apart = midpoints(below, above), (below < above).all()
        edges = np.concatenate([[low], between if apart else np.unique(between), [high]])
        placed = closed_right(values, edges) if numbered is None else BySteps(numbered, edges, near)
        cells = Cells(len(edges) - 1, placed, "ranks", edges, ranks=ranks, numbered=numbered)
        # where every edge has a row on either side, no cell is empty
        return cells if apart else _without_empty(cells, edges)


def group_ranks(n: int, n_bins: int) -> Ints:
    """Return the ranks at which the groups of ``numpy.array_split`` begin, but the first: (min(n_bins, n) - 1,)."""
    n_groups = min(n_bins, n)
    sizes = np.full(n_groups, n // n_groups)
    sizes[: n % n_groups] += 1
    return np.cumsum(sizes)[:-1]


def _neighbours(
    predictions: Predictions, values: Floats, firsts: Ints, numbered: Numbered | None
) -> tuple[Floats, Floats, Ints | None]:
    """Return the last value of each group but the last, the first one of the next, and all rows in their steps."""
    if not len(firsts):
        return np.empty(0), np.empty(0), None
    if "order" in vars(predictions):  # cached by whoever sorted before
        return values[predictions.order[firsts - 1]], values[predictions.order[firsts]], None
    ranks = np.stack([firsts - 1, firsts])
    if numbered is None:
        return *np.partition(values, ranks.ravel())[ranks], None
    (below, above), near = numbered.order_statistics_and_rows(ranks)
    return below, above, near


def weighted_neighbours(values: Floats, weights: Floats, n_bins: int) -> tuple[Floats, Floats]:
    """Return the lower and the upper weighted quantile at each of the inner levels, of sorted values."""
    mass = np.cumsum(weights)
    levels = np.arange(1, n_bins) * (mass[-1] / n_bins)
    slack = 1e-12 * mass[-1]  # rounding must not tell a level from the mass that reaches it
    lower = np.searchsorted(mass, levels - slack, side="left")
    upper = np.searchsorted(mass, levels + slack, side="right")
    return values[lower], values[np.minimum(upper, len(values) - 1)]


def midpoints(below: Floats, above: Floats) -> Floats:
    """Half-way, but below `above` even where the two are neighbouring floats."""
    middle = below + (above - below) / 2
    return np.where((middle < above) | (below == above), middle, below)


def _without_empty(cells: Cells, edges: Floats) -> Cells:
    filled = np.bincount(cells.index, minlength=cells.size) > 0
    if filled.all():
        return cells
    index, edges = (np.cumsum(filled) - 1)[cells.index], np.concatenate([edges[:1], edges[1:][filled]])
    return replace(cells, size=int(filled.sum()), placed=index, edges=edges)
