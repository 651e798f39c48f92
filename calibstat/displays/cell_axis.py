"""Where cells lie on the axis of what is conditioned on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Bools, Floats
from calibstat.binnings.base import Binning
from calibstat.estimators.tally import ratio
from calibstat.lenses.base import Lens
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True, eq=False)
class CellAxis:
    """The axis that cells are laid out on.

    Parameters
    ----------
    position : (L,) floats
        The mean, in each cell, of what is conditioned on; for categories 0, 1, 2, ...
    label : str
        What the axis shows.
    event : str
        What an axis of predicted probabilities shows.
    categories : tuple of str, optional
        Names of the cells of a categorical variable.
    """

    position: Floats
    label: str
    event: str
    categories: tuple[str, ...] | None = None

    def take(self, kept: Bools) -> CellAxis:
        """The same axis for some of the cells."""
        if self.categories is None:
            return CellAxis(self.position[kept], self.label, self.event)
        names = tuple(name for name, stays in zip(self.categories, kept, strict=True) if stays)
        return CellAxis(np.arange(len(names), dtype=float), self.label, self.event, names)


def cell_axis(predictions: Predictions, binning: Binning, lens: Lens) -> CellAxis:
    """Lay out the cells of one conditioned column.

    Raises
    ------
    ValueError
        If several columns are conditioned on.
    """
    if len(predictions.keys) != 1:
        raise ValueError(
            f"a diagram has one axis, but {len(predictions.keys)} columns are conditioned on "
            f"({predictions.condition}); condition on one of them, for example Given('age')."
        )
    key, cells = predictions.keys[0], binning.cut(predictions)
    through = f"\nseen through {lens!r}"
    event = f"predicted probability of {predictions.classes[-1]} (mean of the cell){through}"
    label = f"{key} (mean of the cell){through}" if isinstance(key, str) else event
    if cells.names is not None:
        return CellAxis(np.arange(cells.size, dtype=float), f"{key}{through}", event, cells.names)
    weights = np.ones(len(predictions)) if predictions.weights is None else predictions.weights
    mass = np.bincount(cells.index, weights, minlength=cells.size)
    total = np.bincount(cells.index, weights * predictions.column(key).values, minlength=cells.size)
    return CellAxis(ratio(total, mass, empty=np.nan), label, event)
