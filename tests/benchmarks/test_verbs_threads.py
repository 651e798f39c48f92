"""Blocks of replicates on two threads: time on the clock, which needs two idle cores, and the same bits."""

from __future__ import annotations

import os
from time import perf_counter

import numpy as np
import pytest

import calibstat as cs
from benchmarks.worlds import binary_arrays

pytestmark = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="two threads need two cores")


@pytest.mark.parametrize(
    ("estimator", "n"),
    [(cs.ECE(cs.EqualMass(15)), 1000), (cs.ECE(cs.EqualMass(15)), 100_000), (cs.LpCE(cs.EqualMass(15), 2), 100_000)],
    ids=repr,
)
def test_two_threads(estimator, n, ratios):
    """The bootstrap of rows: two threads at least 1.8 times as fast as one."""
    y, p = binary_arrays(n)
    bootstrap, sample = cs.Bootstrap(9999 if n == 1000 else 999, shortcuts=False), cs.Sample(y, p)
    seconds, values = {1: np.inf, 2: np.inf}, {}
    try:
        for _ in range(5):
            for n_threads in seconds:
                cs.accelerate(False, n_threads=n_threads)
                start = perf_counter()
                values[n_threads] = bootstrap.replicates(estimator, sample, rng=0)
                seconds[n_threads] = min(seconds[n_threads], perf_counter() - start)
    finally:
        cs.accelerate(False)
    np.testing.assert_array_equal(values[1], values[2])
    ratios.record(
        f"two threads / one: bootstrap of {estimator!r}, n = {n:g} (clock)",
        1e3 * seconds[2],
        1e3 * seconds[1],
        1.8,
        at_least=True,
    )
