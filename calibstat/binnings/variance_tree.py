"""Data-dependent cells of the simplex: split where the predictions vary most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np

from calibstat.arrays import Bools, Floats, Ints
from calibstat.binnings.base import Binning, Cells
from calibstat.checks import at_least_one
from calibstat.predictions import Predictions

# Sums of floats depend on the order of rows in the last digits; what differs by less is taken as equal.
_NOISE = 1e-12


@final
@dataclass(frozen=True)
class VarianceTree(Binning):
    """Split the rows at the mean (or median) of the coordinate of largest variance, until nodes are small.

    The data-dependent binning of Vaicenavicius et al. (2019, Appendix B). It sees predictions only.

    Parameters
    ----------
    min_size : int
        The smallest node that is still split; it is *not* a minimum size of cells, which hold 1 to ``min_size - 1``
        rows unless all their predictions are equal.
    split : {"mean", "median"}
        Rows strictly below go to one side, the rest to the other.

    Examples
    --------
    >>> import calibstat as cs
    >>> rows = [[0.4, 0.1, 0.5], [0.5, 0.3, 0.2], [0.3, 0.7, 0], [0.1, 0, 0.9], [0.8, 0.1, 0.1]]
    >>> cs.VarianceTree(4).cut(cs.Sample([0, 1, 2, 0, 1], rows).predictions).index
    array([1, 0, 0, 1, 0])
    """

    min_size: int = 100
    split: Literal["mean", "median"] = "mean"
    columns: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        at_least_one("min_size", self.min_size)
        if self.split not in ("mean", "median"):
            raise ValueError(f"split is {self.split!r}, but it must be 'mean' or 'median'.")

    def cut(self, predictions: Predictions) -> Cells:
        """Cut all conditioned columns together."""
        index = np.zeros(len(predictions), dtype=np.intp)
        size = 0
        for rows in self._leaves(predictions.conditioned):
            index[rows] = size
            size += 1
        return Cells(max(1, size), index, "data")

    def _leaves(self, points: Floats) -> Iterator[Ints]:
        """Yield the rows of each leaf, the lower side of every split first."""
        nodes = [np.arange(len(points))] if len(points) else []
        while nodes:
            node = nodes.pop()
            low = self._below(points[node]) if len(node) >= self.min_size else np.zeros(len(node), dtype=bool)
            if low.any() and not low.all():
                nodes += [node[~low], node[low]]
            else:
                yield node

    def _below(self, points: Floats) -> Bools:
        spread = points.var(axis=0)
        column = points[:, np.argmax(spread >= spread.max() * (1 - _NOISE))]
        centre = column.mean() if self.split == "mean" else np.median(column)
        return column < centre - _NOISE * max(1.0, abs(centre))
