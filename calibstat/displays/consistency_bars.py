"""Where the point of each cell falls if the model is calibrated: exact for counts, drawn for weighted rows."""

from __future__ import annotations

import math

import numpy as np

from calibstat.arrays import RNG, Floats, as_generator
from calibstat.binnings.base import Binning
from calibstat.estimators.cells.histogram import HistogramRegression
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.poisson_binomial import CellCounts
from calibstat.predictions import Predictions
from calibstat.sample import Sample

# Rounding of sums of probabilities must not widen a bar by an event.
_ROUNDING = 1e-12


def exact_bars(predictions: Predictions, binning: Binning, coverage: float) -> tuple[Floats, Floats]:
    """Return the ends of the bars from the law of the number of events in each cell (Poisson-binomial).

    Below the lower end and above the upper one the number of events falls with probability (1 - coverage) / 2 each, at
    most: ends are possible numbers of events, so a bar holds its point with probability `coverage` at least.

    Parameters
    ----------
    predictions : Predictions
        Of two classes, without weights.
    binning : Binning
    coverage : float

    Returns
    -------
    low, high : (L,) floats
        Shares of events; NaN in cells without rows.

    Examples
    --------
    >>> import numpy as np
    >>> import calibstat as cs
    >>> low, high = exact_bars(cs.Sample([0, 1] * 50, np.full(100, 0.3)).predictions, cs.EqualMass(1), 0.9)
    >>> low, high
    (array([0.23]), array([0.38]))
    """
    cells, tail = binning.cut(predictions), (1 - coverage) / 2
    laws = CellCounts(predictions.chances[:, 1], cells).laws
    counts = np.bincount(cells.index, minlength=cells.size)
    ends = [
        _ends(first, masses, tail) if n else (np.nan, np.nan) for n, (first, masses) in zip(counts, laws, strict=True)
    ]
    low, high = np.array(ends, dtype=float).T / np.maximum(counts, 1)
    return low, high


def _ends(first: int, masses: Floats, tail: float) -> tuple[float, float]:
    """Return the largest count with at most `tail` below it, and the smallest one with at most `tail` above it."""
    upto, onwards = np.cumsum(masses), np.cumsum(masses[::-1])
    limit = tail + _ROUNDING
    low = np.searchsorted(upto / upto[-1], limit, side="right")
    high = np.searchsorted(onwards / onwards[-1], limit, side="right")
    return float(first + low), float(first + len(masses) - 1 - high)


def drawn_bars(
    sample: Sample, estimator: HistogramRegression, *, n_resamples: int, coverage: float, rng: RNG
) -> tuple[Floats, Floats]:
    """Return the ends of the bars, as deviations, from redrawn labels: order statistics, without interpolation.

    The k-th smallest and the k-th largest of R redraws, k = (R + 1)(1 - coverage) / 2 rounded down: a further redraw
    falls below the one, or above the other, with probability k / (R + 1) each, at most.

    Parameters
    ----------
    sample : Sample
        Of two classes.
    estimator : HistogramRegression
    n_resamples, coverage, rng
        As for ``ReliabilityDisplay.from_sample``.

    Returns
    -------
    low, high : (L,) floats

    Raises
    ------
    ValueError
        If there are too few redraws for the coverage.
    """
    tail = (1 - coverage) / 2
    rank = math.floor((n_resamples + 1) * tail + _ROUNDING)
    if rank < 1:
        raise ValueError(
            f"n_resamples is {n_resamples!r}, too few for bars of coverage {coverage!r}: take "
            f"{math.ceil(1 / tail - _ROUNDING) - 1} or more."
        )
    null = Consistency(n_resamples).draw(estimator, sample, as_generator(rng))
    ordered = np.sort(null.samples[..., -1], axis=0)
    return ordered[rank - 1], ordered[-rank]
