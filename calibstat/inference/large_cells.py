"""Cells that are large enough for a variance: neighbours are merged until they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.binnings.base import Binning, Cells
from calibstat.data.arrays import Floats, effective_number
from calibstat.data.sample import Predictions, Sample
from calibstat.estimators.base import Estimator
from calibstat.inference.differences import MINIMUM_ROWS
from calibstat.nulls.multiplier import join


@final
@dataclass(frozen=True)
class LargeCells(Binning):
    """Cells of another binning; neighbours are merged, without labels, until each has enough rows for a variance."""

    binning: Binning
    rows: float = MINIMUM_ROWS
    columns: ClassVar[int | None] = None

    def cut(self, predictions: Predictions) -> Cells:
        """Cut, then go through the cells in order and close one when it holds enough."""
        cells = self.binning.cut(predictions)
        joined = join(_weight_sums(cells, predictions), lambda sums: bool(effective_number(*sums) >= self.rows))
        return Cells(int(joined.max()) + 1, joined[cells.index], "data")


def with_large_cells(estimator: Estimator, samples: Iterable[Sample]) -> tuple[Estimator, str]:
    """Return the estimator and a note; cells are merged where a cell of a sample is too small for a variance."""
    core = estimator.core
    binning = core.cut_by
    if binning is None or all(_smallest(binning, estimator, each) >= MINIMUM_ROWS for each in samples):
        return estimator, ""
    merged = estimator.lens | core.recut(LargeCells(binning))
    return merged, merging_note(merged)


def merging_note(estimator: Estimator) -> str:
    """Say that cells are merged, where they are; else nothing."""
    merged = isinstance(estimator.core.cut_by, LargeCells)
    return f"neighbouring cells are merged until each holds {MINIMUM_ROWS} rows" if merged else ""


def _weight_sums(cells: Cells, predictions: Predictions) -> Floats:
    """(L, 2) sums of weights and of their squares."""
    mass = np.ones(len(predictions)) if predictions.weights is None else predictions.weights
    return np.stack([np.bincount(cells.index, each, minlength=cells.size) for each in (mass, mass**2)], axis=-1)


def _smallest(binning: Binning, estimator: Estimator, sample: Sample) -> float:
    predictions = estimator.lens.look(sample.predictions).predictions
    rows = effective_number(*_weight_sums(binning.cut(predictions), predictions).T)
    return float(rows[rows > 0].min(initial=MINIMUM_ROWS))
