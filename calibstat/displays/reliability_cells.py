"""The numbers of a reliability diagram; nothing is drawn here."""

from __future__ import annotations

from typing import Any

from calibstat.arrays import RNG
from calibstat.binnings.base import Binning
from calibstat.displays.cell_axis import cell_axis
from calibstat.displays.consistency_bars import drawn_bars, exact_bars
from calibstat.estimators.cells.histogram import HistogramRegression
from calibstat.lenses.base import Lens
from calibstat.sample import Sample


def reliability_cells(
    sample: Sample, binning: Binning, *, lens: Lens, n_resamples: int, coverage: float, rng: RNG
) -> dict[str, Any]:
    """Cut a sample into cells, and work out the consistency bars.

    Parameters
    ----------
    sample, binning, lens, n_resamples, coverage, rng
        As for ``ReliabilityDisplay.from_sample``.

    Returns
    -------
    dict
        The arguments of `ReliabilityDisplay`, for the cells that hold rows.
    """
    if not 0 < coverage < 1:
        raise ValueError(f"coverage is {coverage!r}, but it must lie between 0 and 1, for example 0.9.")
    seen = _two_classes(lens, sample)
    axis = cell_axis(seen.predictions, binning, lens)
    estimator = HistogramRegression(binning)
    cells = estimator(seen).isel(label=-1)
    filled = cells["count"].values > 0
    if seen.predictions.weights is None:
        shares = exact_bars(seen.predictions, binning, coverage)
        low, high = (end - cells["mean_prediction"].values for end in shares)
    else:
        low, high = drawn_bars(seen, estimator, n_resamples=n_resamples, coverage=coverage, rng=rng)
    observed = {name: cells[name].values[filled] for name in ("mean_prediction", "mean_outcome", "count")}
    return observed | {"low": low[filled], "high": high[filled], "axis": axis.take(filled), "coverage": coverage}


def _two_classes(lens: Lens, sample: Sample) -> Sample:
    """What is seen through the lens, if a reliability diagram can show it."""
    seen = lens(sample)
    if seen.predictions.n_classes != 2:
        raise ValueError(
            f"a reliability diagram needs 2 classes, got {seen.predictions.n_classes} through {lens!r}: look through "
            "a lens first, for example lens=TopLabel()."
        )
    if not len(seen):
        raise ValueError(f"no row is left to look at through {lens!r}; widen its region.")
    return seen
