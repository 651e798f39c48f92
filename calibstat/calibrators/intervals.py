"""Cells of a binning, kept so that new predictions fall into them too."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.binnings.base import Binning
from calibstat.predictions import Predictions


def edges_of(binning: Binning, probabilities: Floats, weights: Floats) -> tuple[Floats, bool]:
    """The borders of the cells of a binning, and whether cells are closed on the right.

    Raises
    ------
    ValueError
        If the cells are not intervals of one column.
    """
    # Weights are always passed: a row of weight two is then a row that is there twice.
    cells = binning.cut(Predictions(probabilities, (0, 1), weights))
    if cells.edges is None:
        raise ValueError(f"{binning!r} does not cut into intervals: use EqualMass, EqualWidth or FixedEdges")
    return cells.edges, cells.moves == "ranks"


def place(values: Floats, edges: Floats, closed_right: bool) -> Ints:
    """The cell of each value; what lies outside joins the end cells."""
    return np.searchsorted(edges[1:-1], values, side="left" if closed_right else "right")


def cell_means(values: Floats, index: Ints, weights: Floats, edges: Floats) -> Floats:
    """The mean of the values in each cell; an empty cell has its middle."""
    mass = np.bincount(index, weights, minlength=len(edges) - 1)
    totals = np.bincount(index, weights * values, minlength=len(edges) - 1)
    middle = (edges[:-1] + edges[1:]) / 2
    return np.where(mass > 0, np.divide(totals, mass, out=middle.copy(), where=mass > 0), middle)
