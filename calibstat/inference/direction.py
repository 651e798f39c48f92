"""Which way a model of two outcomes errs: what it predicts, what happened, and the slope of the log-odds."""

from __future__ import annotations

from math import isfinite, isnan, nan
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from calibstat._logistic import (
    certain,
    clipped_logit,
    expit,
    fisher_information,
    fit_logistic,
    linear_predictor,
    logit,
)
from calibstat._text import counted, percent, short
from calibstat.data.arrays import Array, Floats
from calibstat.data.groups import Groups
from calibstat.data.rounding import SMALLEST_PROBABILITY
from calibstat.data.sample import Sample
from calibstat.estimators.base import happened
from calibstat.inference.intervals import cluster_error, student_quantile

# Rows of more than this many are pooled to so many steps of the log-odds before the slope is fitted.
_STEPS = 2048
_SOME = 2**16  # rows that show where they are crowded
CLEAR = 2.0  # standard errors
_CLEAR_LEVEL = NormalDist().cdf(CLEAR)
# Words on the slope must hold without this share of the rows, the most extreme, and without rows so near 0 or 1.
_MOST_EXTREME, _NEAR = 1e-3, 1e-6
_SMALLEST_SPREAD = 1e-6  # of log-odds; below, all predictions are equal and there is no slope


class Direction(NamedTuple):
    """The mean prediction, the share of events, and Cox's (1958) slope, below one where predictions are too extreme.

    The slope is NaN where predictions are all equal, the outcomes are separated, or a prediction is 0 or 1 (`certain`),
    whose log-odds are infinite. The errors are the standard deviation of the share of events under calibration, and the
    standard error of the slope; of rows in clusters both are by sums over clusters, and infinite of too few. `inner`
    are slope and error without the most extreme rows, and so of the other rows where some are predicted 0 or 1;
    `n_clipped` counts the rows whose log-odds were moved to those of 1e-9 or 1 - 1e-9.
    """

    predicted: float
    happened: float
    slope: float
    mean_error: float = nan
    slope_error: float = nan
    inner: tuple[float, float] = (nan, nan)
    certain: bool = False
    n_clipped: int = 0

    @property
    def ratio(self) -> float:
        """Observed to expected events, O/E."""
        return self.happened / self.predicted if self.predicted > 0 else nan

    @property
    def words(self) -> str:
        """What stands out from noise by two standard errors: "too high and too extreme"; "" if nothing does."""
        high, inclined = self.predicted - self.happened, self.inclined()
        if inclined == WRONG_ORDER:
            return inclined
        found = ["too high" if high > 0 else "too low"] if abs(high) > CLEAR * self.mean_error else []
        return " and ".join([*found, *filter(None, [inclined])])

    @property
    def _slopes(self) -> list[tuple[float, float]]:
        """The slopes and errors that words rest on: of all rows, if there is one, and without the most extreme rows."""
        return [self.inner] if self.certain else [(self.slope, self.slope_error), self.inner]

    def inclined(self, reach: float = CLEAR) -> str:
        """What the slope shows by so many standard errors, of all rows and without the most extreme: "too extreme"."""
        words = {_inclined(*each, reach) for each in self._slopes}
        return words.pop() if len(words) == 1 else ""

    @property
    def steepness(self) -> float:
        """How many standard errors the slope is away from one, with and without the most extreme rows; 0 if none is."""
        return min(abs(1 - slope) / error if error > 0 else 0.0 for slope, error in self._slopes)

    @property
    def of_slope(self) -> str:
        """Say what the slope is without the most extreme rows, and of which it is clipped; "" where neither matters."""
        found = []
        if self.inner[0] != self.slope and isfinite(self.inner[0]):
            rows = "rows, and those of 0 and 1," if self.certain else f"{percent(_MOST_EXTREME)} of the rows"
            found.append(f"without the most extreme {rows} it is {self.inner[0]:.3g}")
        if self.n_clipped:
            near = f"nearer than {SMALLEST_PROBABILITY:g} to 0 or 1"
            found.append(f"{counted(self.n_clipped, 'row')} with predictions {near} count as predicted that near")
        return "; ".join(found)

    def to_dict(self) -> dict[str, float]:
        """Return plain values by name."""
        return {**dict(zip(self._fields[:3], self[:3], strict=True)), "observed_to_expected": self.ratio}

    def named(self) -> list[tuple[str, float]]:
        """Return the numbers that are defined, with their names in words."""
        names = ("predicted", "happened", "O/E", "slope")
        numbers = (self.predicted, self.happened, self.ratio, self.slope)
        return [(name, each) for name, each in zip(names, numbers, strict=True) if isfinite(each)]

    def __str__(self) -> str:
        beside = ", ".join(f"{name} {short(value)}" for name, value in self.named()[2:])
        beside += f"{beside and '; '}no slope, as some predictions are 0 or 1" if self.certain else ""
        return f"{short(self.predicted)} predicted, {short(self.happened)} happened" + (
            f" ({beside})" if beside else ""
        )


class _Clusters(NamedTuple):
    """Clusters of rows, and the weights of rows (n,)."""

    groups: Groups
    weights: Floats

    def take(self, rows: Array) -> _Clusters:
        """Return those of some rows."""
        return self._replace(groups=Groups.of(self.groups.codes[rows]), weights=self.weights[rows])

    def error(self, influence: Floats) -> float:
        """Return the standard error of a value by influences (n,), in units in which two are clear as of a normal law.

        It is infinite where there are too few clusters.
        """
        if self.groups.counted(self.weights).too_few:
            return np.inf
        error, freedom = cluster_error(self.groups.sums(influence), self.groups.sums(self.weights))
        return error * student_quantile(freedom, _CLEAR_LEVEL) / CLEAR


WRONG_ORDER = "in the wrong order"
NO_DIRECTION = Direction(nan, nan, nan)


def direction_of(seen: Sample) -> Direction | None:
    """Return which way the predictions of two outcomes err; None for more outcomes."""
    predictions = seen.predictions
    if predictions.n_classes != 2:
        return None
    event, outcomes = predictions.event, happened(seen.outcomes)
    weights = np.ones(len(event)) if predictions.weights is None else predictions.weights
    mass = weights / weights.sum()
    squares = mass**2 / predictions.multiplicity
    noise = None if predictions.groups is None else _Clusters(predictions.groups, weights)
    spread = float(np.sqrt(squares @ np.maximum(event * (1 - event), 0)))  # a chance may be above one by rounding
    spread = spread if noise is None else noise.error(mass * (outcomes - event))
    share = float(np.sqrt(squares.sum()))  # the standard error of a mean of rows with these weights, in their deviation
    found = Direction(float(mass @ event), float(mass @ outcomes), nan, spread)
    if predictions.buckets is not None:  # the mean predictions of buckets have another slope than their rows
        return found
    clipped = (event < SMALLEST_PROBABILITY) | (event > 1 - SMALLEST_PROBABILITY)
    n_clipped = int(np.sum(predictions.multiplicity * (clipped & (mass > 0))))
    (slope, error), inner = (
        (each, each_error * (share if noise is None else 1.0))
        for each, each_error in _slopes(clipped_logit(event), outcomes, mass, noise)
    )
    if certain(predictions.sure, mass):
        return found._replace(certain=True, inner=inner)
    return found._replace(slope=slope, slope_error=error, inner=inner, n_clipped=n_clipped)


def _inclined(slope: float, error: float, reach: float) -> str:
    if slope < -reach * error:
        return WRONG_ORDER
    steep = 1 - slope
    return "" if isnan(error) or abs(steep) <= reach * error else "too extreme" if steep > 0 else "too timid"


def _slopes(log_odds: Floats, outcomes: Floats, mass: Floats, noise: _Clusters | None) -> list[tuple[float, float]]:
    """Return the slope of all rows, and that without the most extreme, each with its error as `_slope` does."""
    kept = mass > 0
    low, high = float(log_odds.min(where=kept, initial=np.inf)), float(log_odds.max(where=kept, initial=-np.inf))
    if high - low < _SMALLEST_SPREAD:
        return [(nan, nan)] * 2
    if len(log_odds) > _STEPS and noise is None:
        log_odds, outcomes, mass = _pooled(log_odds, outcomes, mass, np.linspace(low, high, _STEPS // 2))
    size = np.abs(log_odds)
    order = np.argsort(size)
    reached = int(np.searchsorted(np.cumsum(mass[order]), 1 - _MOST_EXTREME))
    inner = size <= min(size[order[min(reached, len(order) - 1)]], float(logit(np.array(1 - _NEAR))))
    found = _slope(log_odds, outcomes, mass, noise)
    if inner.all():
        return [found] * 2
    return [found, _slope(log_odds[inner], outcomes[inner], mass[inner], noise and noise.take(inner))]


def _slope(log_odds: Floats, outcomes: Floats, mass: Floats, noise: _Clusters | None) -> tuple[float, float]:
    """Return the slope, and its standard error; of independent rows, that times the root of the number of rows."""
    if not len(log_odds) or np.ptp(log_odds) < _SMALLEST_SPREAD:
        return nan, nan
    design = np.column_stack([np.ones(len(log_odds)), log_odds])
    fitted = fit_logistic(design, outcomes[None], mass)
    if not fitted.exists[0]:
        return nan, nan
    linear = linear_predictor(design, fitted.coefficients)
    information = fisher_information(design, linear, mass[None])[0]
    if np.linalg.cond(information) > 1 / np.finfo(float).eps:  # all the weight is in rows of one prediction
        return nan, nan
    inverse = np.linalg.inv(information)
    if noise is None:
        error = float(np.sqrt(inverse[1, 1]))
    else:
        error = noise.error(mass * (outcomes - expit(linear[0])) * (design @ inverse[1]))
    return float(fitted.coefficients[0, 1]), error


def _pooled(log_odds: Floats, outcomes: Floats, mass: Floats, even: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean log-odds, the mean outcome and the mass in each step that holds any.

    Half of the steps are even, and the others hold equally many of some rows, so that none is wide where many rows lie.
    """
    some = np.sort(log_odds[:: max(1, len(log_odds) // _SOME)])
    crowded = some[np.linspace(0, len(some) - 1, _STEPS // 2).astype(np.intp)]
    place = np.searchsorted(np.union1d(even, crowded), log_odds)
    total = np.bincount(place, mass).astype(float)
    held = total > 0
    means = [np.bincount(place, mass * each)[held] / total[held] for each in (log_odds, outcomes)]
    return means[0], means[1], total[held]
