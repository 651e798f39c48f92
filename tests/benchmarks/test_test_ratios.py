"""What a test of 999 redraws costs against evaluating the estimator 999 times, at a hundred thousand rows."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from benchmarks.timing import interleaved

N, N_RESAMPLES, RECOMPUTED = 100_000, 999, 20


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(2)
    p = rng.random(N)
    return cs.Sample(rng.random(N) < p, p)


@pytest.mark.parametrize("binning", [cs.EqualMass(15), cs.EqualWidth(15)], ids=repr)
def test_redraws_against_recomputing_the_estimator(sample, binning, ratios, benchmark):
    estimator = cs.ECE(binning)

    def test():
        return cs.calibration_test(sample, estimator, null=cs.Consistency(N_RESAMPLES), rng=0)

    def recompute():
        for _ in range(RECOMPUTED):
            estimator(sample)

    benchmark.pedantic(test, rounds=5, warmup_rounds=1)
    fast, slow = interleaved([test, recompute], rounds=7)
    slow *= N_RESAMPLES / RECOMPUTED
    ratios.record(f"test with 999 redraws, {binning!r}, n = 1e5", 1e3 * fast, 1e3 * slow, 20, at_least=True)
