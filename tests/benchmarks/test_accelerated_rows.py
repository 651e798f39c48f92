"""Statistics of rows with compiled loops: sums over pairs, sums along a line, labels of many classes.

Run on one thread: ``OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python -m pytest tests/benchmarks/test_accelerated_rows.py``.
"""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from benchmarks.acceleration import compiled, in_numpy
from benchmarks.test_kernels import BANDWIDTH, N_CLASSES, N, all_pairs
from benchmarks.worlds import binary, of_classes
from calibstat.draws.labels import LabelLaw, draw_label_counts
from calibstat.estimators._kernel_sums import LineSums

pytest.importorskip("numba")
pytestmark = pytest.mark.usefixtures("numpy_at_the_end")


def faster_than_numpy(name, work, goal, ratios, rounds=5):
    ratios.faster(f"{name}; numpy", compiled(work), in_numpy(work), goal, rounds=rounds)


@pytest.fixture(scope="module")
def sample():
    return of_classes(N, N_CLASSES)


@pytest.mark.parametrize(("kernel", "goal"), [(cs.LaplaceKernel(), 4), (cs.GaussianKernel(), 15)], ids=repr)
def test_unbiased_error_against_cdist(sample, kernel, goal, ratios, benchmark):
    rows, residuals = sample.y_prob, np.eye(N_CLASSES)[sample.outcomes] - sample.y_prob
    estimator = cs.SKCE(BANDWIDTH, kernel=kernel)
    run = compiled(lambda: estimator(sample))
    value = benchmark.pedantic(run, rounds=2)
    assert value == pytest.approx(all_pairs(rows, residuals, kernel), rel=1e-9)
    name = f"SKCE compiled, {kernel!r}, n = 1e4, K = 10"
    faster_than_numpy(name, lambda: estimator(sample), 2, ratios)
    ratios.faster(f"{name}; cdist", run, lambda: all_pairs(rows, residuals, kernel), goal, rounds=5)


@pytest.mark.parametrize(("kernel", "goal"), [(cs.LaplaceKernel(), 3), (cs.GaussianKernel(), 1.4)], ids=repr)
def test_many_classes(kernel, goal, ratios, benchmark):
    sample, estimator = of_classes(N // 2, 100), cs.SKCE(BANDWIDTH, kernel=kernel)
    benchmark.pedantic(lambda: None, rounds=1)
    name = f"SKCE compiled, {kernel!r}, n = 5e3, K = 100"
    faster_than_numpy(name, lambda: estimator(sample), goal, ratios, rounds=3)


def test_error_with_the_median_bandwidth(sample, ratios, benchmark):
    """The whole call, with the choice of the bandwidth."""
    benchmark.pedantic(lambda: None, rounds=1)
    faster_than_numpy("SKCE() compiled, median bandwidth, n = 1e4, K = 10", lambda: cs.SKCE()(sample), 2, ratios)


def test_sums_along_a_line(ratios, benchmark):
    rng = np.random.default_rng(1)
    values, vectors = rng.random(N), rng.normal(size=(13, N))
    sums = LineSums(np.argsort(values), values, (BANDWIDTH,))
    benchmark.pedantic(lambda: sums(vectors), rounds=3)
    faster_than_numpy("sums along a line compiled, 13 vectors, n = 1e4", lambda: sums(vectors), 4, ratios, rounds=25)


def test_null_along_a_line(ratios, benchmark):
    """Drawing labels, most of what is left, is numpy's either way."""
    sample, null = binary(N), cs.Consistency(999)

    def whole():
        return cs.calibration_test(sample, cs.SKCE(BANDWIDTH), null=null, rng=0)

    benchmark.pedantic(whole, rounds=1)
    faster_than_numpy("null of SKCE along a line compiled, 999 replicates, n = 1e4", whole, 1.3, ratios)


@pytest.mark.parametrize(("n_classes", "goal"), [(10, 3), (100, 4)])
def test_labels_of_many_classes(n_classes, goal, ratios, benchmark):
    law = LabelLaw(of_classes(N, n_classes).predictions)
    uniforms = np.random.default_rng(2).random((26, N))
    benchmark.pedantic(lambda: law.invert(uniforms), rounds=3)
    name = f"labels from uniforms compiled, n = 1e4, K = {n_classes}"
    faster_than_numpy(name, lambda: law.invert(uniforms), goal, ratios, rounds=15)


def test_counts_of_labels(sample, ratios, benchmark):
    """The uniform numbers, a third of what is left, are numpy's either way."""
    plan = cs.ECE(cs.SimplexGrid(2)).prepare(sample.predictions).capabilities.tally

    def whole():
        return sum(counts[0, 0, 0] for counts in draw_label_counts(plan, 260, np.random.default_rng(0)))

    benchmark.pedantic(whole, rounds=1)
    faster_than_numpy("labels drawn and counted compiled, n = 1e4, K = 10", whole, 1.3, ratios)
