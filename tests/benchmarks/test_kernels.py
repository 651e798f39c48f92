"""The kernel calibration error, against all pairs by scipy and plain loops."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import calibstat as cs
from benchmarks.timing import fresh_process, interleaved, stable_argsort
from benchmarks.worlds import binary_arrays, of_classes

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


@pytest.mark.parametrize(("kernel", "goal"), [(cs.LaplaceKernel(), 1.8), (cs.GaussianKernel(), 4)], ids=repr)
def test_unbiased_error_against_cdist(sample, kernel, goal, ratios):
    rows, residuals = sample.y_prob, np.eye(N_CLASSES)[sample.outcomes] - sample.y_prob
    estimator = cs.SKCE(BANDWIDTH, kernel=kernel)
    value = estimator(sample)
    assert value == pytest.approx(all_pairs(rows, residuals, kernel), rel=1e-9)
    name = f"SKCE, {kernel!r}, n = 1e4, K = 10; cdist"
    ratios.faster(name, lambda: estimator(sample), lambda: all_pairs(rows, residuals, kernel), goal, rounds=5)


def test_null_against_a_bootstrap_loop(sample, ratios):
    """The loop draws rows with replacement and computes all pairs anew, as resampling implementations do."""
    estimator, rng = cs.SKCE(BANDWIDTH), np.random.default_rng(8)
    rows, residuals = sample.y_prob, np.eye(N_CLASSES)[sample.outcomes] - sample.y_prob

    def loop():
        drawn = rng.integers(0, N, N)
        all_pairs(rows[drawn], residuals[drawn], estimator.kernel)

    def whole():
        return cs.calibration_test(sample, estimator, null=cs.Consistency(N_RESAMPLES), rng=0)

    fast, slow = interleaved([whole, loop], rounds=2)
    name = "null of SKCE, 999 replicates, n = 1e4, K = 10; plain bootstrap loop"
    ratios.record(name, fast, slow * N_RESAMPLES, 60, "s", at_least=True, note="reference scaled by 999")


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


def test_memory_is_that_of_tiles(ratios):
    """30 000 rows: the full matrix of distances would take 7200 MB."""
    pytest.importorskip("resource")
    code = f"import sys; sys.path.insert(0, 'tests'){CODE.format(bandwidth=BANDWIDTH)}"
    peak, before = json.loads(fresh_process(code))
    ratios.record("memory of SKCE, n = 3e4, K = 10, of the 7200 MB of all pairs", peak - before, 7200, 0.004, unit="MB")


def test_along_a_line_in_argsorts(ratios):
    """Sums over all pairs of ten thousand rows of two classes, at the cost of putting them in order."""
    y, p = binary_arrays(N)
    estimator = cs.SKCE(BANDWIDTH)
    ratios.at_most(
        "SKCE along a line, n = 1e4; a stable argsort",
        lambda: estimator(cs.Sample(y, p)),
        lambda: stable_argsort(p),
        2.5,
    )
