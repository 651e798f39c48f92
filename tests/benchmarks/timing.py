"""How benchmarks measure, and what they measure against.

A benchmark calls a verb as a user does, from raw arrays, and states its goal before it measures:

    @pytest.mark.parametrize("n", SIZES)
    def test_kuiper_in_argsorts(n, ratios):
        y, p = binary_arrays(n)
        whole = lambda: cs.calibration_test(cs.Sample(y, p), cs.Kuiper(), rng=0)
        ratios.at_most(f"test of Kuiper, n = {n:g}; a stable argsort", whole, lambda: stable_argsort(p), 3)

The fixture `ratios` (conftest.py) asserts the goal, and keeps the row for the table of docs/performance.md:
`at_most` (multiples of a reference), `faster` (so many times as fast as a peer), `within` (seconds of the processor),
and `record`, if the two times are there already. worlds.py makes the arrays.

Contender and reference take turns in one process. Processor time counts, not time on the clock, and the least of
several turns: what other processes use does not count, and a disturbed turn neither. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from time import process_time

import numpy as np

SIZES = (1000, 100_000)
SHORTEST = 2e-3  # seconds of a turn; shorter calls are repeated
WARM = 3_500_000  # numbers, of the most memory that the C library learns from (32 MB)
PATIENCE = 10.0  # seconds, after which no further turn begins


def interleaved(contenders, rounds=9):
    """Return the least processor seconds of a call of each function over `rounds` turns, after two calls to warm up."""
    gc.collect()
    gc.disable()
    np.ones(WARM)  # from now on the C library keeps freed memory: nobody waits for new pages
    try:
        second = [timed(contender) for _ in range(2) for contender in contenders][len(contenders) :]
        repeats = [max(1, min(1000, int(SHORTEST / max(seconds, 1e-9)))) for seconds in second]
        best, spent = [np.inf] * len(repeats), 0.0
        for _ in range(rounds):
            for place, contender in enumerate(contenders):
                found = [timed(contender) for _ in range(repeats[place])]
                best[place] = min(best[place], *found)
                spent += sum(found)
            if spent > PATIENCE:
                break
    finally:
        gc.enable()
    return best


def timed(contender):
    """Return the processor seconds of one call."""
    start = process_time()
    contender()
    return process_time() - start


# References: the elementary operations that goals count in.


def stable_argsort(p):
    """Order rows. ``numpy.sort`` of floats alone is vectorised on processors with AVX-512, and no measure."""
    return np.argsort(p, kind="stable")


def bincount_pass(y, p, n_bins=15):
    """Pass over the data once: the cell of equal width of each row, and the sum of residuals in each."""
    return np.bincount(np.minimum((p * n_bins).astype(np.intp), n_bins - 1), y - p, n_bins)


def redraw_loop(p, n_redraws, n_bins=15):
    """Redraw labels and add up residuals by cell, so many times: the plain way to a p-value."""
    rng, place = np.random.default_rng(0), np.minimum((p * n_bins).astype(np.intp), n_bins - 1)
    return [np.abs(np.bincount(place, (rng.random(len(p)) < p) - p, n_bins)).sum() for _ in range(n_redraws)]


# Other processes.


def fresh_process(code):
    """Run code in a new interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    return done.stdout.strip()


def process_seconds(arguments, rounds=5):
    """Return the least processor seconds (user and system) of a command, such as ``[sys.executable, "-c", code]``."""
    import resource  # not on Windows

    def used():
        return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])

    found = []
    for _ in range(rounds):
        before = used()
        subprocess.run(arguments, capture_output=True, check=True, env=dict(os.environ))
        found.append(used() - before)
    return min(found)
