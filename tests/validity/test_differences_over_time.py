"""False alarms and intervals of the monitor of two models, when one looks a hundred times.

Checks fail beyond four standard errors. ``python tests/validity/test_differences_over_time.py`` takes 400 runs.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from calibstat.estimators.scores import BrierScore, LogScore
from calibstat.monitoring.difference import DifferenceMonitor

SEED, N, STEP, LEVEL, RUNS = 20261124, 2000, 20, 0.05, 40
LOG = LogScore(smallest=0.001)


def equally_far(n, rng):
    """Both models err by as much, on either side: their Brier scores are equal in expectation, row by row."""
    truth, error = rng.uniform(0.2, 0.8, n), rng.uniform(-0.2, 0.2, n)
    return truth, truth + error, truth - error


def alike(n, rng):
    """One model is a little worse."""
    truth = rng.uniform(0.1, 0.9, n)
    return truth, truth + rng.uniform(-0.05, 0.05, n), truth + rng.uniform(-0.02, 0.02, n)


def changing(n, rng):
    """The better model becomes the worse one half-way."""
    truth, error = rng.uniform(0.3, 0.7, n), rng.uniform(-0.3, 0.3, n)
    first = np.arange(n) < n // 2
    return truth, truth + np.where(first, error, 0), truth + np.where(first, 0, error)


def rare(n, rng):
    truth = rng.beta(1, 19, n)
    return truth, truth**1.2, np.clip(truth * rng.uniform(0.5, 2, n), 0, 1)


WORLDS = {
    "equally far": (equally_far, BrierScore()),
    "alike": (alike, BrierScore()),
    "changing": (changing, BrierScore()),
    "changing, log": (changing, LOG),
    "rare, log": (rare, LOG),
}


@cache
def looks(world, runs, seed):
    """Return, for each run, whether there was an alarm, and how often an interval, or a usual one, missed the mean."""
    draw, score = WORLDS[world]
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(runs):
        truth, first, second = draw(N, rng)
        y = (rng.random(N) < truth).astype(int)
        losses = [score.losses(np.stack([1 - each, each], axis=1)) for each in (first, second)]
        differences = losses[0] - losses[1]
        expected = np.cumsum((1 - truth) * differences[:, 0] + truth * differences[:, 1])
        seen = differences[np.arange(N), y]
        monitor = DifferenceMonitor(("a", "b"), score, level=LEVEL)
        missed = usual = 0
        for start in range(0, N, STEP):
            end = start + STEP
            monitor.update({"a": first[start:end], "b": second[start:end]}, y[start:end])
            low, high = monitor.interval
            mean = expected[end - 1] / end
            missed += not low <= mean <= high
            usual += abs(seen[:end].mean() - mean) > 1.96 * seen[:end].std() / np.sqrt(end)
        found.append((monitor.alarm, missed > 0, usual > 0))
    return np.mean(found, axis=0)


def assert_rare(share, runs):
    assert share <= LEVEL + 4 * np.sqrt(LEVEL * (1 - LEVEL) / runs), f"{share:.3f} of {runs} runs"


@pytest.mark.slow
def test_false_alarms_are_rare():
    alarms, *_ = looks("equally far", RUNS, SEED)
    assert_rare(alarms, RUNS)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_the_interval_covers_at_all_looks_together(world):
    _, missed, _ = looks(world, RUNS, SEED + 1)
    assert_rare(missed, RUNS)


@pytest.mark.slow
def test_negative_control_usual_intervals_do_not():
    *_, usual = looks("equally far", RUNS, SEED + 1)
    with pytest.raises(AssertionError, match="of 40 runs"):
        assert_rare(usual, RUNS)


@pytest.mark.slow
def test_negative_control_a_difference_is_no_false_alarm():
    alarms, *_ = looks("changing", RUNS, SEED + 1)
    with pytest.raises(AssertionError, match="of 40 runs"):
        assert_rare(alarms, RUNS)


if __name__ == "__main__":
    for name in WORLDS:
        print(name, *(f"{100 * share:.1f} %" for share in looks(name, 400, SEED)))
