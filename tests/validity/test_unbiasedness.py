"""Debiased estimators are right on average; 2000 runs each, checks fail beyond four standard errors."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pytest

import calibstat as cs
from suites import slow_but
from validity import worlds

RUNS, SEED = 2000, 20260702


def mean_of_squared_cells(n_bins):
    """Sum of P(cell) E[score ** 2 - score | cell] ** 2 for uniform scores in cells of equal width."""
    edges = np.linspace(0, 1, n_bins + 1)
    integral = np.diff(edges**3 / 3 - edges**2 / 2)
    return float((integral**2).sum() * n_bins)


TENTHS = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
NOISY = partial(worlds.dirichlet, noise=0.4)
# name: world, n, estimator, its plug-in, the truth
TRUTHS = {
    "Kumar et al. 2019, one score a cell": (
        worlds.squared_tenths,
        150,
        cs.DebiasedCE(cs.UniqueValues()),
        cs.SquaredCE(cs.UniqueValues()),
        np.mean((TENTHS**2 - TENTHS) ** 2),
    ),
    "Kumar et al. 2019, no error": (
        worlds.tenths,
        200,
        cs.DebiasedCE(cs.UniqueValues()),
        cs.SquaredCE(cs.UniqueValues()),
        0.0,
    ),
    "Lee et al. 2023, scores vary inside cells": (
        worlds.squared,
        100,
        cs.DebiasedL2(cs.EqualWidth(4)),
        cs.SquaredCE(cs.EqualWidth(4)),
        mean_of_squared_cells(4),
    ),
    "Lee et al. 2023, no error": (
        worlds.uniform,
        100,
        cs.DebiasedL2(cs.EqualWidth(4)),
        cs.SquaredCE(cs.EqualWidth(4)),
        0.0,
    ),
    # four congruent triangles, whose mean predictions are (2/3, 1/6, 1/6) in the corners and (1/3, 1/3, 1/3)
    "Lee et al. 2023, three classes": (
        NOISY,
        100,
        cs.DebiasedL2(cs.SimplexGrid(2)),
        cs.SquaredCE(cs.SimplexGrid(2)),
        0.75 * 0.4**2 / 6,
    ),
}
QUICK = ["Kumar et al. 2019, one score a cell", "Lee et al. 2023, no error"]


@cache
def values(name):
    """Values (runs, 2) of the debiased estimator and of the plug-in on the same samples."""
    world, n, debiased, plug_in, _ = TRUTHS[name]
    rng = np.random.default_rng([SEED, list(TRUTHS).index(name)])
    samples = (world(n, rng) for _ in range(RUNS))
    return np.array([(debiased(sample), plug_in(sample)) for sample in samples])


def distance_in_standard_errors(found, truth):
    return (found.mean() - truth) / (found.std() / np.sqrt(len(found)))


@pytest.mark.parametrize("name", slow_but(QUICK, TRUTHS))
def test_debiased_estimator_is_unbiased(name):
    assert abs(distance_in_standard_errors(values(name)[:, 0], TRUTHS[name][-1])) <= 4


@pytest.mark.parametrize("name", slow_but(QUICK, TRUTHS))
def test_negative_control_plug_in_is_biased_upward(name):
    assert distance_in_standard_errors(values(name)[:, 1], TRUTHS[name][-1]) > 4


@pytest.mark.parametrize("name", slow_but(QUICK, [name for name in TRUTHS if "no error" in name]))
def test_debiased_estimator_is_negative_about_half_the_time_without_error(name):
    assert 0.4 < np.mean(values(name)[:, 0] < 0) < 0.8
