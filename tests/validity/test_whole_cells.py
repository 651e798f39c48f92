"""Cells drawn whole: tests keep their level, and intervals cover, where rows are many.

200 runs of 3500 rows, 199 resamples each (400 of squared residuals, 100 of comparisons of 5000 rows); they fail beyond
four standard errors (0.062 at 5 % of 200).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import calibstat as cs
from calibstat.draws.whole_cells import redraw_predictions
from calibstat.nulls.base import EmpiricalNull
from suites import slow_but
from validity.worlds import tenths, two_classes, u_shaped, uniform

RUNS, SEED = 200, 20261101
EQUAL_MASS = cs.ECE(cs.EqualMass(15))


def too_bold(n, rng):
    """The negative control: outcomes are nearer to one half than predictions."""
    scores = rng.random(n)
    return two_classes(scores, rng, 0.5 + 0.85 * (scores - 0.5))


@cache
def pvalues(world, estimator):
    found = []
    for stream in np.random.SeedSequence(SEED).spawn(RUNS):
        rng = np.random.Generator(np.random.PCG64(stream))
        sample = world(3500, rng)
        null = EmpiricalNull(redraw_predictions(estimator, sample, 199, rng), estimator.evidence)
        found.append(null.pvalue(estimator(sample)))
    return np.array(found)


@pytest.mark.parametrize(
    ("world", "estimator"),
    slow_but(
        [(uniform, EQUAL_MASS)],
        [
            (uniform, EQUAL_MASS),
            (u_shaped, EQUAL_MASS),
            (tenths, EQUAL_MASS),
            (u_shaped, cs.DebiasedCE(cs.EqualWidth(10))),
        ],
    ),
)
def test_size_is_the_level(world, estimator):
    found = pvalues(world, estimator)
    for level in (0.05, 0.5):
        assert abs((found <= level).mean() - level) <= 4 * np.sqrt(level * (1 - level) / RUNS)


@pytest.mark.slow
def test_a_bold_model_is_rejected():
    assert (pvalues(too_bold, EQUAL_MASS) <= 0.05).mean() > 0.5


@cache
def pvalues_of_squares(world):
    """Of `DebiasedL2`, whose sums of squared residuals are drawn given the counts of events."""
    found = []
    for stream in np.random.SeedSequence(SEED + 1).spawn(2 * RUNS):
        rng = np.random.Generator(np.random.PCG64(stream))
        result = cs.calibration_test(world(3500, rng), cs.DebiasedL2(cs.EqualMass(15)), n_resamples=199, rng=rng)
        assert "sums of squares by their normal law" in result.hypothesis
        found.append(result.pvalue)
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("world", [uniform, u_shaped, tenths])
def test_size_of_squared_residuals(world):
    found = pvalues_of_squares(world)
    for level in (0.05, 0.5):
        assert abs((found <= level).mean() - level) <= 4 * np.sqrt(level * (1 - level) / len(found))


@pytest.mark.slow
def test_squared_residuals_reject_a_bold_model():
    assert (pvalues_of_squares(too_bold) <= 0.05).mean() > 0.5


@pytest.mark.slow
def test_intervals_by_signs_of_cells_cover():
    """The error of outcomes nearer to one half than predictions, in four cells of uniform predictions: 0.15 / 4."""
    estimator, truth, held, narrow = cs.ECE(cs.EqualWidth(4)), 0.0375, [], []
    for stream in np.random.SeedSequence(SEED + 2).spawn(RUNS):
        rng = np.random.Generator(np.random.PCG64(stream))
        found = cs.estimate(too_bold(3500, rng), estimator, n_resamples=199, rng=rng)
        low, high = found.confidence_interval
        held.append(low <= truth <= high)
        narrow.append(abs(found.estimate - truth) <= (high - found.estimate) / 4)
    assert np.mean(held) >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / len(held))
    assert np.mean(narrow) < 0.95 - 4 * np.sqrt(0.05 * 0.95 / len(held))  # the negative control


@cache
def pvalues_of_differences(shift):
    """Of two models that are off upwards and downwards, on rows that are alike."""
    found, estimator = [], cs.DebiasedL2(cs.EqualMass(10))
    for stream in np.random.SeedSequence(SEED + 3).spawn(RUNS // 2):
        rng = np.random.Generator(np.random.PCG64(stream))
        chance = 0.15 + 0.7 * rng.random(5000)
        y = (rng.random(5000) < chance).astype(int)
        pair = cs.Sample(y, chance + 0.05), cs.Sample(y, chance - shift)
        found.append(cs.comparison_test(*pair, estimator, n_resamples=199, rng=rng).pvalue)
    return np.array(found)


@pytest.mark.slow
def test_size_of_a_comparison():
    assert (pvalues_of_differences(0.05) <= 0.05).mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / (RUNS // 2))


@pytest.mark.slow
def test_a_comparison_finds_the_larger_error():
    assert (pvalues_of_differences(0.11) <= 0.05).mean() > 0.5
