"""Cells that hold enough rows for a variance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.binnings.base import Binning, Cells
from calibstat.estimators.base import Estimator
from calibstat.estimators.tally import ratio
from calibstat.inference.total_variance import MINIMUM_ROWS
from calibstat.predictions import Predictions
from calibstat.sample import Sample


@final
@dataclass(frozen=True)
class LargeCells(Binning):
    """Cells of another binning, neighbours merged until each holds so many rows; no label is seen.

    Parameters
    ----------
    binning : Binning
    rows : float
        The least number of rows of a cell; with weights, of equally weighted ones that would be as good.
    """

    binning: Binning
    rows: float = MINIMUM_ROWS
    columns: ClassVar[int | None] = None

    def cut(self, predictions: Predictions) -> Cells:
        """Cut, then go through the cells in order and close one when it holds enough."""
        cells = self.binning.cut(predictions)
        joined = _join(_sums(cells, predictions), self.rows)
        return Cells(int(joined.max()) + 1, joined[cells.index], "data")


def with_large_cells(estimator: Estimator, samples: Iterable[Sample]) -> tuple[Estimator, str]:
    """Return the estimator, on merged cells where a cell of a sample is too small for a variance, and a note.

    Calibrators that say few values leave cells of a few rows.

    Parameters
    ----------
    estimator : Estimator
        With its lens.
    samples : iterable of Sample
    """
    core = estimator.core
    binning = getattr(core, "binning", None)
    if not isinstance(binning, Binning) or all(_smallest(binning, estimator, each) >= MINIMUM_ROWS for each in samples):
        return estimator, ""
    merged: Estimator = replace(core, binning=LargeCells(binning))  # type: ignore[type-var]
    return estimator.lens | merged, f"neighbouring cells are merged until each holds {MINIMUM_ROWS} rows"


def _sums(cells: Cells, predictions: Predictions) -> Floats:
    """(L, 2) sums of weights and of their squares."""
    mass = np.ones(len(predictions)) if predictions.weights is None else predictions.weights
    return np.stack([np.bincount(cells.index, each, minlength=cells.size) for each in (mass, mass**2)], axis=-1)


def _rows(sums: Floats) -> Floats:
    """(...,) how many equally weighted rows are as good (Kish)."""
    return np.asarray(ratio(sums[..., 0] ** 2, sums[..., 1]))


def _join(sums: Floats, rows: float) -> Ints:
    """Number neighbouring cells (L, 2) alike until they hold enough; a remainder joins the last one."""
    joined, number, start = np.empty(len(sums), dtype=np.intp), 0, 0
    for cell in range(len(sums)):
        joined[cell] = number
        if _rows(sums[start : cell + 1].sum(axis=0)) >= rows:
            number, start = number + 1, cell + 1
    return np.minimum(joined, max(number - 1, 0))


def _smallest(binning: Binning, estimator: Estimator, sample: Sample) -> float:
    predictions = estimator.lens.look(sample.predictions).predictions
    rows = _rows(_sums(binning.cut(predictions), predictions))
    return float(rows[rows > 0].min(initial=MINIMUM_ROWS))
