"""Kernel errors with compiled loops: sums over all pairs of rows.

Run on one thread: ``OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python -m pytest tests/benchmarks/test_accelerated_rows.py``.
"""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from benchmarks.acceleration import compiled, in_numpy
from benchmarks.test_kernels import BANDWIDTH, N_CLASSES, N, all_pairs
from benchmarks.worlds import of_classes

pytest.importorskip("numba")


def faster_than_numpy(name, work, goal, ratios, rounds=5):
    ratios.faster(f"{name}; numpy", compiled(work), in_numpy(work), goal, rounds=rounds)


@pytest.fixture(scope="module")
def sample():
    return of_classes(N, N_CLASSES)


@pytest.mark.parametrize(("kernel", "goal"), [(cs.LaplaceKernel(), 8), (cs.GaussianKernel(), 12)], ids=repr)
def test_unbiased_error_against_cdist(sample, kernel, goal, ratios):
    rows, residuals = sample.y_prob, np.eye(N_CLASSES)[sample.outcomes] - sample.y_prob
    estimator = cs.SKCE(BANDWIDTH, kernel=kernel)
    run = compiled(lambda: estimator(sample))
    value = run()
    assert value == pytest.approx(all_pairs(rows, residuals, kernel), rel=1e-9)
    name = f"SKCE compiled, {kernel!r}, n = 1e4, K = 10"
    faster_than_numpy(name, lambda: estimator(sample), 2.5, ratios)
    ratios.faster(f"{name}; cdist", run, lambda: all_pairs(rows, residuals, kernel), goal, rounds=5)


@pytest.mark.parametrize(("kernel", "goal"), [(cs.LaplaceKernel(), 3), (cs.GaussianKernel(), 1.4)], ids=repr)
def test_many_classes(kernel, goal, ratios):
    sample, estimator = of_classes(N // 2, 100), cs.SKCE(BANDWIDTH, kernel=kernel)
    name = f"SKCE compiled, {kernel!r}, n = 5e3, K = 100"
    faster_than_numpy(name, lambda: estimator(sample), goal, ratios, rounds=3)


def test_error_with_the_median_bandwidth(sample, ratios):
    """The whole call, with the choice of the bandwidth."""
    faster_than_numpy("SKCE() compiled, median bandwidth, n = 1e4, K = 10", lambda: cs.SKCE()(sample), 3, ratios)
