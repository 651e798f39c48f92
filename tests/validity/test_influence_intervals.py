"""Intervals by influence hold the truth of a world, and half as wide ones do not."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import calibstat as cs
from calibstat.inference.differences import normal_interval

WORLD = cs.generators.BetaPredictions(1, 1, cs.generators.Slope(0.6))
ESTIMATORS = {
    "Brier": cs.BrierScore(),
    "log": cs.LogScore(),
    "zero-one": cs.ZeroOneLoss(),
    "RMSE": cs.RMSE(),
    "AUC": cs.AUC(),
}
RUNS, ROWS = 600, 300


@cache
def samples():
    rng = np.random.default_rng(20)
    return [WORLD.sample(ROWS, rng) for _ in range(RUNS)]


@cache
def truth(name):
    """Of the world where it is a mean of rows; else of very many rows."""
    if name == "AUC":
        return ESTIMATORS[name](WORLD.sample(2_000_000, np.random.default_rng(21)))
    return float(WORLD.truth(ESTIMATORS[name]))


def coverage(name, shrink=1.0):
    held = 0
    for sample in samples():
        found = normal_interval(ESTIMATORS[name], sample)
        low, high = found.interval(0.95)
        middle = (low + high) / 2
        held += abs(truth(name) - middle) <= shrink * (high - low) / 2
    return held / RUNS


@pytest.mark.parametrize("name", ESTIMATORS)
def test_intervals_cover(name):
    """95 % less one for the normal approximation and 3 standard errors of 600 runs (2.7 %), and not always."""
    assert 0.913 <= coverage(name) <= 0.985


@pytest.mark.parametrize("name", ESTIMATORS)
def test_half_as_wide_intervals_would_not_cover(name):
    """The negative control: they hold the truth in 67 % of samples."""
    assert coverage(name, 0.5) <= 0.75
