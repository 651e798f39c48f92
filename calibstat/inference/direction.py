"""Which way a model of two outcomes errs: what it predicts, what happened, and the slope of the log-odds."""

from __future__ import annotations

from math import isfinite, nan
from typing import NamedTuple

import numpy as np

from calibstat._logistic import clipped_logit, fit_logistic
from calibstat.data.arrays import Floats
from calibstat.data.sample import Sample
from calibstat.estimators.base import happened

# Rows of more than this many are pooled to so many steps of the log-odds before the slope is fitted.
_STEPS = 2048
_SMALLEST_SPREAD = 1e-6  # of log-odds; below, all predictions are equal and there is no slope


class Direction(NamedTuple):
    """The mean prediction, the share of events, and Cox's (1958) slope, below one where predictions are too extreme.

    The slope is NaN where predictions are all equal or the outcomes are separated.
    """

    predicted: float
    happened: float
    slope: float

    @property
    def ratio(self) -> float:
        """Observed to expected events, O/E."""
        return self.happened / self.predicted if self.predicted > 0 else nan

    def to_dict(self) -> dict[str, float]:
        """Return plain values by name."""
        return {**self._asdict(), "observed_to_expected": self.ratio}

    def __str__(self) -> str:
        numbers = [("O/E", self.ratio), ("slope", self.slope)]
        beside = ", ".join(f"{name} {value:.3g}" for name, value in numbers if isfinite(value))
        return f"{self.predicted:.3g} predicted, {self.happened:.3g} happened" + (f" ({beside})" if beside else "")


NO_DIRECTION = Direction(nan, nan, nan)


def direction_of(seen: Sample) -> Direction | None:
    """Return which way the predictions of two outcomes err; None for more outcomes."""
    predictions = seen.predictions
    if predictions.n_classes != 2:
        return None
    event, outcomes = predictions.event, happened(seen.outcomes)
    weights = np.ones(len(event)) if predictions.weights is None else predictions.weights
    total = float(weights.sum())
    means = float(weights @ event) / total, float(weights @ outcomes) / total
    return Direction(*means, _slope(clipped_logit(event), outcomes, weights / total))


def _slope(log_odds: Floats, outcomes: Floats, mass: Floats) -> float:
    kept = mass > 0
    low, high = float(log_odds.min(where=kept, initial=np.inf)), float(log_odds.max(where=kept, initial=-np.inf))
    if high - low < _SMALLEST_SPREAD:
        return nan
    if len(log_odds) > _STEPS:
        log_odds, outcomes, mass = _pooled((log_odds - low) * ((_STEPS - 1) / (high - low)), log_odds, outcomes, mass)
    design = np.column_stack([np.ones(len(log_odds)), log_odds])
    fitted = fit_logistic(design, outcomes[None], mass)
    return float(fitted.coefficients[0, 1]) if fitted.exists[0] else nan


def _pooled(steps: Floats, log_odds: Floats, outcomes: Floats, mass: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean log-odds, the mean outcome and the mass in each step that holds any."""
    place = np.clip(steps, 0, _STEPS - 1).astype(np.intp)
    total = np.bincount(place, mass).astype(float)
    held = total > 0
    means = [np.bincount(place, mass * each)[held] / total[held] for each in (log_odds, outcomes)]
    return means[0], means[1], total[held]
