"""Pointwise coverage of bands, and joint coverage of the intervals of an audit, where events are rare.

Seeds are fixed; what must hold fails beyond four standard errors, and each check has a negative control.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import calibstat as cs

SEED = 20261122
RUNS = 500


def least(runs=RUNS, level=0.95):
    return level - 4 * np.sqrt(level * (1 - level) / runs)


# Predictions, and weights, of calibrated worlds.
WORLDS = {
    "rare": lambda rng: (rng.beta(1, 19, 300), None),
    "almost certain": lambda rng: (1 - rng.beta(0.5, 49.5, 300), None),
    "uniform": lambda rng: (rng.random(500), None),
    "both ends": lambda rng: (rng.beta(0.2, 0.2, 500), None),
    "rare, weights": lambda rng: (rng.beta(1, 19, 500), rng.lognormal(0, 1, 500)),
}


@cache
def smooth_coverage(name):
    """Share of runs in which the band holds the smooth of the chances, at each point: as it is, and with one variance.

    In a calibrated world the smooth of the chances is that of the predictions.
    """
    rng, held = np.random.default_rng([SEED, len(name)]), []
    for _ in range(RUNS):
        p, weights = WORLDS[name](rng)
        sample = cs.Sample(rng.random(len(p)) < p, p, sample_weight=weights, labels=[False, True])
        curve = cs.LOESS(n_points=25)(sample)
        rows = cs.LOESS(n_points=25).prepare(sample.predictions).cells
        mean = np.average((sample.outcomes - np.interp(p, curve.x, curve.outcome)) ** 2, weights=weights)
        operator = rows.operator(curve.x, cs.LOESS())
        reach = 1.96 * np.sqrt(mean * rows.squares(operator.matrix(rows.mass)))
        held.append([(curve.low <= curve.prediction) & (curve.prediction <= curve.high), abs(curve.deviation) <= reach])
    return np.mean(held, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_the_band_of_a_smooth_holds_at_every_point(name):
    assert smooth_coverage(name)[0].min() >= least()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rare", "almost certain", "both ends"])
def test_negative_control_one_variance_for_all_rows_does_not(name):
    assert smooth_coverage(name)[1].min() < least()


@cache
def belt_coverage(beta, curve, n, runs=300):
    """Share of runs in which the 95 % belt holds the whole curve."""
    rng, held = np.random.default_rng([SEED, n]), []
    for _ in range(runs):
        p = rng.beta(*beta, n)
        belt = cs.CalibrationBelt()(cs.Sample(rng.random(n) < curve(p), p, labels=[False, True]))
        chance = curve(belt.x)
        held.append(((belt.low[1] <= chance + 1e-12) & (chance <= belt.high[1] + 1e-12)).all())
    return np.mean(held)


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "n"), [((1, 19), 300), ((1, 1), 100), ((1, 1), 500)])
def test_the_belt_holds_the_diagonal(beta, n):
    assert belt_coverage(beta, np.array, n) >= least(300)


@pytest.mark.slow
def test_negative_control_the_belt_does_not_hold_what_is_no_polynomial_of_the_logit():
    assert belt_coverage((1, 1), np.square, 2000) < least(300)


@cache
def coverage_of_mean_predictions(n, span, shrunk=1.0):
    """Share of runs in which the band of `LOESS` holds a line about which predictions scatter, at each point."""
    rng, held = np.random.default_rng([SEED, n]), []
    for _ in range(RUNS):
        x = rng.random(n)
        p = np.clip(0.2 + 0.5 * x + rng.normal(0, 0.1, n), 0.001, 0.999)
        sample = cs.Sample(rng.random(n) < p, p, variables={"x": x})
        curve = (cs.Given("x") | cs.LOESS(span, n_points=15))(sample)
        reach = shrunk * (curve.prediction_high - curve.prediction)
        held.append(np.abs(curve.prediction - 0.2 - 0.5 * curve.x) <= reach)
    return np.mean(held, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 500])
def test_the_band_of_mean_predictions_holds_them_with_about_its_level(n):
    """It says about 95 %: it is 93 % or more on average over its points, and 89 % or more at each."""
    share = coverage_of_mean_predictions(n, 0.75)
    assert share.mean() >= least(level=0.93)
    assert share.min() >= least(level=0.89)


@pytest.mark.slow
def test_negative_control_half_of_the_band_of_mean_predictions_holds_them_less_often():
    assert coverage_of_mean_predictions(100, 0.75, shrunk=0.5).mean() < least(level=0.89)
