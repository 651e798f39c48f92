"""Binnings of the whole probability simplex: a regular grid, and a tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning, Cells, closed_right, occupied, warn_of_small_cells
from calibstat.data.arrays import Bools, Floats, Ints
from calibstat.data.parameters import Bins, Count, without_defaults
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Predictions


@final
@dataclass(frozen=True)
class SimplexGrid(Binning):
    """Cut every coordinate into `n_bins` cells of equal width, (low, high], the first one closed.

    All K coordinates are cut, so the grid treats the classes alike: three classes give ``n_bins ** 2`` congruent
    triangles (Vaicenavicius et al. 2019, Figure 1; Widmann et al. 2019). Only cells that hold a row are numbered.

    Parameters
    ----------
    n_bins : int
        Number of cells on each axis.

    Raises
    ------
    ValueError, TypeError
        If `n_bins` is not an integer of at least 1 and at most 10 million; on cutting, if a variable is among what is
        conditioned on.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 2], [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.8, 0.2, 0.0]])
    >>> cs.SimplexGrid(2).cut(sample.predictions).index
    array([1, 0, 1])
    """

    n_bins: Bins
    columns: ClassVar[int | None] = None
    takes_counts: ClassVar[bool] = True

    def cut(self, predictions: Predictions) -> Cells:
        """Cut all conditioned columns, which must be probabilities."""
        variables = [key for key in predictions.keys if isinstance(key, str)]
        if variables:
            raise ValueError(
                f"{self!r} cuts probabilities, but {variables[0]!r} is a variable; cut it by another binning: "
                f"{self!r} * EqualMass(10)."
            )
        # A value just above an edge counts as on it: 25 * 0.28 exceeds 7 in floats; sums of thirds do the same.
        steps = closed_right(predictions.conditioned - ROUNDING, np.arange(self.n_bins + 1) / self.n_bins)
        index = np.zeros(len(predictions), dtype=np.intp)
        for column in steps.T:
            # Renumbering after each axis keeps the numbers small: n_bins ** K would overflow.
            index = occupied(index * self.n_bins + column, "fixed").index
        size = int(index.max(initial=0)) + 1
        warn_of_small_cells(self, size, len(predictions))
        return Cells(size, index, "fixed")


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
    min_samples_leaf : int
        The fewest rows of a cell: a node whose split would leave fewer on a side is not split. The cells of Widmann et
        al. (2019, with at least 10 rows) are those of ``VarianceTree(2, "median", min_samples_leaf=10)``.

    Raises
    ------
    ValueError, TypeError
        If `min_size` or `min_samples_leaf` is not an integer of at least 1, or `split` is neither "mean" nor "median".

    Examples
    --------
    >>> import calibstat as cs
    >>> rows = [[0.4, 0.1, 0.5], [0.5, 0.3, 0.2], [0.3, 0.7, 0], [0.1, 0, 0.9], [0.8, 0.1, 0.1]]
    >>> cs.VarianceTree(4).cut(cs.Sample([0, 1, 2, 0, 1], rows).predictions).index
    array([1, 0, 0, 1, 0])
    """

    min_size: Count = 100
    split: Literal["mean", "median"] = "mean"
    min_samples_leaf: Count = 1
    columns: ClassVar[int | None] = None
    __repr__ = without_defaults

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
            if min(low.sum(), (~low).sum()) >= self.min_samples_leaf:
                nodes += [node[~low], node[low]]
            else:
                yield node

    def _below(self, points: Floats) -> Bools:
        spread = points.var(axis=0)
        column = points[:, np.argmax(spread >= spread.max() * (1 - ROUNDING))]
        centre = column.mean() if self.split == "mean" else np.median(column)
        return column < centre - ROUNDING * max(1.0, abs(centre))
