"""Blocks of replicates on two threads: time on the clock, which needs two idle cores, and the same bits."""

from __future__ import annotations

import os
from time import perf_counter

import numpy as np
import pytest

import calibstat as cs
from benchmarks.worlds import binary_arrays

pytestmark = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="two threads need two cores")


BINS = cs.EqualMass(15)
LOCKED = "numpy.bincount keeps the other thread waiting"
SHORT = "arrays of a block are short: much of the time threads hand over the interpreter"


@pytest.mark.parametrize(
    ("what", "n", "n_resamples", "goal", "note"),
    [
        (cs.Kuiper(), 10_000, 3999, 1.2, SHORT),
        (cs.SmoothECE(), 10_000, 1999, 1.3, SHORT),
        (cs.ICI(), 10_000, 1999, 1.3, SHORT),
        (cs.ECE(BINS), 100_000, 399, 1.0, LOCKED),
    ],
    ids=repr,
)
def test_two_threads(what, n, n_resamples, goal, note, ratios):
    """The same draws on two threads; ECE under the bootstrap of rows, the others under redrawn labels."""
    y, p = binary_arrays(n)
    sample, seconds, values = cs.Sample(y, p), {1: np.inf, 2: np.inf}, {}
    bootstrap = cs.Bootstrap(n_resamples, shortcuts=False) if isinstance(what, cs.ECE) else None
    try:
        for _ in range(5):
            for n_threads in seconds:
                cs.accelerate(False, n_threads=n_threads)
                start = perf_counter()
                if bootstrap:
                    values[n_threads] = bootstrap.replicates(what, sample, rng=0)
                else:
                    values[n_threads] = cs.Consistency(n_resamples).draw(what, sample, np.random.default_rng(0)).samples
                seconds[n_threads] = min(seconds[n_threads], perf_counter() - start)
    finally:
        cs.accelerate(False)
    np.testing.assert_array_equal(values[1], values[2])
    name = f"two threads / one: {'bootstrap' if bootstrap else 'null'} of {what!r}, n = {n:g} (clock)"
    ratios.record(name, 1e3 * seconds[2], 1e3 * seconds[1], goal, at_least=True, note=note)
