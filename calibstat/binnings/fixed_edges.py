"""Cells with edges that the user gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.binnings.base import Binning, Cells, one_column, warn_of_small_cells
from calibstat.binnings.intervals import closed_left
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class FixedEdges(Binning):
    """Cut one column at given edges: [edge_i, edge_i+1), the last cell closed.

    Parameters
    ----------
    edges : sequence of at least two increasing numbers
        They must cover the values.

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

    def __init__(self, edges: Iterable[float]) -> None:
        given = tuple(float(edge) for edge in edges)
        if len(given) < 2 or not all(np.diff(given) > 0):
            raise ValueError(f"edges are {given!r}; give at least two strictly increasing numbers.")
        object.__setattr__(self, "edges", given)

    def cut(self, predictions: Predictions) -> Cells:
        """Cut the one conditioned column."""
        values = one_column(self, predictions)
        warn_of_small_cells(self, len(self.edges) - 1, len(values))
        outside = np.flatnonzero((values < self.edges[0]) | (values > self.edges[-1]))
        if outside.size:
            raise ValueError(
                f"{self!r} covers [{self.edges[0]:g}, {self.edges[-1]:g}], but row {outside[0]} has the value "
                f"{values[outside[0]]:g} ({outside.size} rows lie outside); widen the first or the last edge."
            )
        edges = np.array(self.edges)
        return Cells(len(edges) - 1, closed_left(values, edges), "fixed", edges)
