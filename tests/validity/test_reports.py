"""The interval of a difference with its sign, which a report takes from that of its size, covers at its level."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat import generators as gen
from calibstat.reports._findings import with_sign

RUNS, N = 1000, 200
MEAN = cs.ECE(cs.EqualMass(1))
WORLDS = {
    "calibrated": gen.BetaPredictions(1, 1),
    "too low": gen.BetaPredictions(1, 1, gen.LogitShift(0.3)),
    "rare": gen.BetaPredictions(1, 30, gen.LogitShift(-0.5)),
}


def true_difference(world: gen.BetaPredictions) -> float:
    at = world.sample(2_000_000, rng=1).predictions.event
    return float((world.calibration_function(at) - at).mean())


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_a_difference_with_its_sign_is_in_its_interval(name):
    world, rng = WORLDS[name], np.random.default_rng(0)
    truth, inside, narrow = true_difference(world), 0, 0
    for _ in range(RUNS):
        sample = world.sample(N, rng)
        found = cs.estimate(sample, MEAN, rng=rng)
        difference = float(sample.outcomes.mean() - sample.predictions.event.mean())
        low, high = with_sign(difference, found.estimate, found.confidence_interval)
        inside += low <= truth <= high
        narrow += (low + difference) / 2 <= truth <= (high + difference) / 2
    error = np.sqrt(0.95 * 0.05 / RUNS)
    assert inside / RUNS >= 0.95 - 4 * error
    if name != "rare":  # there the interval is wider than it must be
        assert narrow / RUNS < 0.95 - 4 * error
