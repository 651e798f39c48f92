"""Gates: how often a model that is off passes, and whether as many rows as are named suffice for one that is not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

import calibstat as cs
from calibstat.testing import rows_for_margin

pytestmark = pytest.mark.slow
RUNS, LEVEL = 200, 0.05

WORLDS = {
    "uniform": (cs.generators.BetaPredictions(1, 1), cs.ECE(), 0.03),
    "sure": (cs.generators.BetaPredictions(0.3, 0.3), cs.ECE(), 0.03),
    "rare": (cs.generators.BetaPredictions(1, 50), cs.ECE(), 0.01),
    "walk": (cs.generators.BetaPredictions(1, 1), cs.Kuiper(), 0.03),
    "squared": (cs.generators.BetaPredictions(1, 1), cs.DebiasedL2(cs.EqualMass(10)), 0.002),
}


def passes(world, n, estimator, margin, seed):
    """What `assert_calibrated` asks."""
    return cs.equivalence_test(world.sample(n, rng=seed), estimator, margin, n_resamples=199, rng=seed).within


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("name", WORLDS)
def test_so_many_rows_suffice_for_a_calibrated_model_in_most_samples(name, n):
    world, estimator, margin = WORLDS[name]
    sample = world.sample(n, rng=0)
    needed = rows_for_margin(sample, cs.equivalence_test(sample, estimator, margin, rng=0), rng=0)
    passed = np.mean([passes(world, needed, estimator, margin, 1000 + run) for run in range(RUNS)])
    fewer = np.mean([passes(world, needed // 8, estimator, margin, 1000 + run) for run in range(RUNS)])
    assert passed > 2 / 3
    assert fewer < passed  # negative control: the number is not just a large one


@pytest.mark.parametrize("shift", [0.2, 0.5])
@pytest.mark.parametrize("n", [200, 2000])
def test_a_model_whose_error_exceeds_the_margin_passes_no_more_often_than_the_level(shift, n):
    """Predictions are too low, so that the error in any cells is the mean distance at the predictions of a sample."""
    world = cs.generators.BetaPredictions(1, 1, cs.generators.LogitShift(shift))
    passed = 0
    for run in range(RUNS):
        p = world.sample(n, rng=run).predictions.event
        margin = 0.999 * float(np.mean(expit(logit(p) + shift) - p))
        passed += passes(world, n, cs.ECE(), margin, run)
    assert passed <= RUNS * LEVEL + 4 * np.sqrt(RUNS * LEVEL * (1 - LEVEL))
    calibrated = cs.generators.BetaPredictions(1, 1)
    assert sum(passes(calibrated, 50 * n, cs.ECE(), margin, run) for run in range(20)) > 10  # it can pass
