"""The numbers of a simplex diagram; nothing is drawn here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibstat.arrays import RNG, Floats, as_generator
from calibstat.binnings.base import Binning
from calibstat.estimators.cells.histogram import HistogramRegression
from calibstat.inference.arguments import check_lens, check_sample
from calibstat.lenses.base import Lens
from calibstat.nulls.consistency import Consistency
from calibstat.sample import Sample

_ROUNDING = 1e-12


def simplex_cells(sample: Sample, binning: Binning, *, lens: Lens, n_resamples: int, coverage: float, rng: RNG) -> Any:
    """Cut a sample of three classes into cells, and work out how long arrows may be by noise alone.

    Parameters
    ----------
    sample, binning, lens, n_resamples, coverage, rng
        As for ``SimplexDisplay.from_sample``.

    Returns
    -------
    cells : xarray Dataset
        That of `HistogramRegression` without empty cells, and the variables length, limit and outside.
    """
    rank = _rank(n_resamples, coverage)
    seen = _three_classes(lens, sample)
    estimator = HistogramRegression(binning)
    cells = estimator(seen)
    drawn = Consistency(n_resamples).draw(estimator, seen, as_generator(rng)).samples
    limit = np.sort(arrow_length(drawn), axis=0)[-rank]
    length = arrow_length(cells["deviation"].values)
    outside = length > limit + _ROUNDING
    found = cells.assign(length=("cell", length), limit=("cell", limit), outside=("cell", outside))
    return found.isel(cell=found["count"].values > 0)


def on_plane(probabilities: Floats) -> Floats:
    """Place probabilities (..., 3) in the triangle with corners (0, 0), (1, 0) and (1/2, sqrt(3)/2): (..., 2).

    Examples
    --------
    >>> import numpy as np
    >>> on_plane(np.array([0.0, 0.0, 1.0])).round(6)
    array([0.5     , 0.866025])
    """
    return probabilities @ np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])


def arrow_length(deviations: Floats) -> Floats:
    """Return the lengths in the picture of deviations (..., 3): (...,)."""
    return np.hypot(*np.moveaxis(on_plane(deviations), -1, 0))


def _rank(n_resamples: int, coverage: float) -> int:
    """Return which of the longest arrows of redraws is the limit, or say how many redraws there must be."""
    if not 0 < coverage < 1:
        raise ValueError(f"coverage is {coverage!r}, but it must lie between 0 and 1, for example 0.9.")
    rank = math.floor((n_resamples + 1) * (1 - coverage) + _ROUNDING)
    if rank < 1:
        raise ValueError(
            f"n_resamples is {n_resamples!r}, too few for limits of coverage {coverage!r}: take "
            f"{math.ceil(1 / (1 - coverage) - _ROUNDING) - 1} or more."
        )
    return rank


def _three_classes(lens: Lens, sample: Sample) -> Sample:
    """What is seen through the lens, if a simplex diagram can show it."""
    check_sample(sample)
    seen = check_lens(lens)(sample)
    n_classes, keys = seen.predictions.n_classes, seen.predictions.keys
    if n_classes != 3:
        advice = (
            "for two outcomes take ReliabilityDisplay."
            if n_classes == 2
            else "put classes together by a lens, for example lens=Partition([['cat'], ['dog'], ['car', 'truck']])."
        )
        raise ValueError(
            f"a simplex diagram shows predictions of 3 classes, got {n_classes} through {lens!r}: {advice}"
        )
    if keys != (0, 1, 2):
        variables = " and ".join(repr(key) for key in keys if isinstance(key, str)) or f"columns {keys!r}"
        raise ValueError(
            f"a simplex diagram shows predictions, not variables, but seen through {lens!r} the sample is conditioned "
            f"on {variables}: leave out Given. ReliabilityDisplay shows one outcome over a variable, for example "
            "lens=TopLabel() | Given('age')."
        )
    if not len(seen):
        raise ValueError(f"no row is left to look at through {lens!r}; widen its region.")
    return seen
