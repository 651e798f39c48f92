"""The kernel calibration error, against all pairs by scipy and plain loops."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import calibstat as cs
from benchmarks.timing import fresh_process, interleaved
from benchmarks.worlds import arrays, binary, of_classes

N, N_CLASSES, BANDWIDTH, N_RESAMPLES = 10_000, 10, 0.3, 999


@pytest.fixture(scope="module")
def sample():
    return of_classes(N, N_CLASSES)


def all_pairs(rows, residuals, kernel):
    """The unbiased error from the whole matrix of distances, without further copies of it."""
    if isinstance(kernel, cs.GaussianKernel):
        matrix = cdist(rows, rows, "sqeuclidean")
        matrix /= -2 * BANDWIDTH**2
    else:
        matrix = cdist(rows, rows, "cityblock")
        matrix /= -2 * BANDWIDTH
    np.exp(matrix, out=matrix)
    np.fill_diagonal(matrix, 0)
    return (residuals * (matrix @ residuals)).sum() / (len(rows) * (len(rows) - 1))


@pytest.mark.parametrize(("kernel", "goal"), [(cs.LaplaceKernel(), 1.8), (cs.GaussianKernel(), 3)], ids=repr)
def test_unbiased_error_against_cdist(sample, kernel, goal, ratios, benchmark):
    rows, residuals = sample.y_prob, np.eye(N_CLASSES)[sample.outcomes] - sample.y_prob
    estimator = cs.SKCE(BANDWIDTH, kernel=kernel)
    value = benchmark.pedantic(lambda: estimator(sample), rounds=2)
    assert value == pytest.approx(all_pairs(rows, residuals, kernel), rel=1e-9)
    name = f"SKCE, {kernel!r}, n = 1e4, K = 10; cdist"
    ratios.faster(name, lambda: estimator(sample), lambda: all_pairs(rows, residuals, kernel), goal, rounds=5)


def test_null_against_a_bootstrap_loop(sample, ratios, benchmark):
    """The loop draws rows with replacement and computes all pairs anew, as resampling implementations do."""
    estimator, rng = cs.SKCE(BANDWIDTH), np.random.default_rng(8)
    rows, residuals = sample.y_prob, np.eye(N_CLASSES)[sample.outcomes] - sample.y_prob

    def loop():
        drawn = rng.integers(0, N, N)
        all_pairs(rows[drawn], residuals[drawn], estimator.kernel)

    def whole():
        return cs.calibration_test(sample, estimator, null=cs.Consistency(N_RESAMPLES), rng=0)

    benchmark.pedantic(lambda: None, rounds=1)
    fast, slow = interleaved([whole, loop], rounds=2)
    name = "null of SKCE, 999 replicates, n = 1e4, K = 10; plain bootstrap loop"
    ratios.record(name, fast, slow * N_RESAMPLES, 40, "s", at_least=True, note="reference scaled by 999")


CODE = """
import json
from pathlib import Path
import calibstat as cs
from benchmarks.worlds import of_classes

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

sample = of_classes(30_000, 10)
before = peak()
cs.SKCE({bandwidth}, kernel=cs.GaussianKernel())(sample)
print(json.dumps([peak(), before]))
"""


def test_memory_is_that_of_tiles(ratios, benchmark):
    """30 000 rows: the full matrix of distances would take 7200 MB."""
    pytest.importorskip("resource")
    code = f"import sys; sys.path.insert(0, 'tests'){CODE.format(bandwidth=BANDWIDTH)}"
    peak, before = benchmark.pedantic(lambda: json.loads(fresh_process(code)), rounds=1)
    ratios.record("memory of SKCE, n = 3e4, K = 10, of the 7200 MB of all pairs", peak - before, 7200, 0.05, unit="MB")


def test_along_a_line_against_a_double_loop(ratios, benchmark):
    """The loop takes 300 of the 10 000 rows as i."""
    sample, estimator = binary(N), cs.SKCE(BANDWIDTH)
    y, p = arrays(sample)
    y, p, share = y.tolist(), p.tolist(), 300

    def loop():
        total, decay = 0.0, -1 / BANDWIDTH
        for i in range(0, N, N // share):
            for j in range(N):
                if i != j:
                    total += (y[i] - p[i]) * (y[j] - p[j]) * np.e ** (decay * abs(p[i] - p[j]))

    benchmark.pedantic(lambda: estimator(sample), rounds=3, warmup_rounds=1)
    name = "SKCE along a line, n = 1e4; double loop in Python"
    ratios.faster(name, lambda: estimator(sample), loop, 1000, rounds=2, times=N / len(range(0, N, N // share)))
