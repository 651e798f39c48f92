"""The calibration function read off a population."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats
from calibstat.binnings.unique import UniqueValues
from calibstat.generators.population import Population, two_columns
from calibstat.lenses.base import Lens

_SAME = 1e-9


def induced_chances(population: Population, lens: Lens, probabilities: Floats) -> Floats:
    """Look up the mean chances of the rows whose induced prediction is the one asked for.

    Between the nodes of a quadrature the chance of an event is interpolated.

    Parameters
    ----------
    population : Population
    lens : Lens
    probabilities : (n,) or (n, k) floats

    Returns
    -------
    chances : (n,) or (n, k) floats
        NaN where no row has that prediction.
    """
    known, chances = _distinct(population, lens)
    points = as_points(probabilities, known.shape[1], lens)
    if known.shape[1] == 2 and population.method != "enumeration":
        found = two_columns(np.interp(points[:, 1], known[:, 1], chances[:, 1], left=np.nan, right=np.nan))
    else:
        found = np.array([_nearest(known, chances, point) for point in points])
    return found if probabilities.ndim == 2 else found[:, 1]


def as_points(probabilities: Floats, n_classes: int, lens: Lens) -> Floats:
    """Return induced predictions as (n, k) rows, or say how many columns are seen through the lens."""
    points = two_columns(probabilities)
    if points.ndim != 2 or points.shape[1] != n_classes:
        raise ValueError(
            f"probabilities have shape {probabilities.shape}, but {n_classes} classes are seen through {lens!r}: "
            "pass one column each (or, for two, the event's alone)."
        )
    return points


def _distinct(population: Population, lens: Lens) -> tuple[Floats, Floats]:
    """Return the distinct induced predictions in increasing order, and the mean chances of each."""
    view = lens.look(population.predictions)
    seen = view.predictions.conditioning_on((...,))
    cells = UniqueValues().cut(seen)
    mass = np.ones(len(seen)) if seen.weights is None else seen.weights
    total = np.bincount(cells.index, mass, minlength=cells.size)

    def mean(values: Floats) -> Floats:
        sums = [np.bincount(cells.index, mass * column, minlength=cells.size) for column in values.T]
        return np.stack(sums, axis=1)[total > 0] / total[total > 0, None]

    return mean(seen.probabilities), mean(view.chances(population.chances))


def _nearest(known: Floats, chances: Floats, point: Floats) -> Floats:
    gaps = np.abs(known - point).max(axis=1)
    nearest = int(gaps.argmin())
    return chances[nearest] if gaps[nearest] < _SAME else np.full(len(point), np.nan)
