"""Predictions that leave [0, 1] by rounding are moved to its ends, in a copy."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs

BEYOND = 1e-9
OVER = {
    "event": np.array([1 + BEYOND, -BEYOND, 0.5]),
    "two": np.array([[-BEYOND, 1 + BEYOND], [1 + BEYOND, -BEYOND], [0.5, 0.5]]),
    "three": np.array([[-BEYOND, 0, 1 + BEYOND], [1 + BEYOND, 0, -BEYOND], [0.25, 0.25, 0.5]]),
    "long": np.pad(np.array([[-BEYOND, 1 + BEYOND], [1 + BEYOND, -BEYOND], [0.5, 0.5]]), ((0, 0), (0, 198))),
}


@pytest.mark.parametrize("kind", OVER)
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_they_are_moved_to_the_ends(kind, dtype):
    given = OVER[kind].astype(dtype)
    before = given.copy()
    labels = range(given.shape[1]) if given.ndim == 2 else (0, 1)
    kept = cs.Sample([0, 1, 0], given, labels=labels).predictions.probabilities
    assert kept.min() == 0
    assert kept.max() == 1
    np.testing.assert_array_equal(given, before)


def test_no_error_exceeds_one():
    sample = cs.Sample([0, 0, 0, 1], [1 + BEYOND, 1 + BEYOND, 1 + BEYOND, -BEYOND])
    assert cs.ECE(cs.EqualWidth(2), p=1)(sample) == 1
    assert cs.BrierScore()(sample) == 1


def test_a_monitor_does_the_same():
    evidence = []
    for p in (1 + BEYOND, 1.0):
        monitor = cs.Monitor()
        monitor.update([p, 0.5, p], [1, 0, 1])
        evidence.append(monitor.log_e)
    assert evidence[0] == evidence[1]


def test_numbers_farther_outside_are_refused():
    """Beside some that are outside by rounding."""
    with pytest.raises(ValueError, match=r"outside \[0, 1\]: the worst row is 1 .* with 1\.1"):
        cs.Sample([0, 1, 0], [1 + BEYOND, 1.1, 0.5])
