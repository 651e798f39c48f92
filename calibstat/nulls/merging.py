"""Nulls that change the statistic a little before they test it, and cells that are merged until they can be tested."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.binnings.base import Binning, Cells
from calibstat.estimators.base import Estimator
from calibstat.nulls.base import Null
from calibstat.predictions import Predictions
from calibstat.sample import Sample


class Restating(Null):
    """A null that is tested with a version of the statistic that suits it."""

    @abstractmethod
    def restate(self, estimator: Estimator, sample: Sample) -> tuple[Estimator, str]:
        """Return the statistic to use and a note for the result, "" if it is the one that was asked for."""


@final
@dataclass(frozen=True)
class MergedCells(Binning):
    """Cells of another binning, neighbours merged until each expects enough rows of every outcome.

    Which cells are merged depends on the predictions, never on outcomes.

    Parameters
    ----------
    binning : Binning
    expected : float
        Sum of the predictions, and of one minus the predictions, in each cell, for every class.
    """

    binning: Binning
    expected: float = 10
    columns: ClassVar[int | None] = None

    def cut(self, predictions: Predictions) -> Cells:
        """Cut, then go through the cells in order and close one when it expects enough."""
        cells = self.binning.cut(predictions)
        scarcest = np.concatenate([predictions.components, 1 - predictions.components], axis=1)
        sums: Floats = np.stack([np.bincount(cells.index, each, minlength=cells.size) for each in scarcest.T], axis=-1)
        joined = join(sums, self.expected)
        return Cells(int(joined.max()) + 1, joined[cells.index], "data")


def join(sums: Floats, expected: float) -> Ints:
    """Number neighbouring cells (L, k) alike until all k sums reach `expected`; a remainder joins the last one."""
    joined, number, open_sums = np.empty(len(sums), dtype=np.intp), 0, np.zeros(sums.shape[1])
    for cell, own in enumerate(sums):
        joined[cell] = number
        open_sums = open_sums + own
        if (open_sums >= expected).all():
            number, open_sums = number + 1, np.zeros(sums.shape[1])
    return np.minimum(joined, max(number - 1, 0))


def merge_cells(estimator: Estimator, sample: Sample, expected: float) -> tuple[Estimator, str]:
    """Return the estimator on merged cells, where it has cells, and a note that says how many remain."""
    binning = getattr(estimator, "binning", None)
    if not isinstance(binning, Binning):
        return estimator, ""
    merged = MergedCells(binning, expected)
    before, after = (each.cut(sample.predictions).size for each in (binning, merged))
    says = f"cells that expect fewer than {expected:g} events or non-events are merged: {after} of {before} remain"
    restated: Estimator = replace(estimator, binning=merged)  # type: ignore[type-var]
    return restated, f"; {says}"
