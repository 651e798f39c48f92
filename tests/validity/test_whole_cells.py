"""Predictions drawn anew, cells drawn whole: the published test keeps its level where rows are many.

200 runs of 3500 rows, 199 resamples each; checks fail beyond four standard errors (0.062 at 5 %).
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
