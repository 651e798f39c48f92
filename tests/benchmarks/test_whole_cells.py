"""What a thousand bootstrap replicates cost with cells drawn whole."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from benchmarks.worlds import binary

N_RESAMPLES = 1000
ESTIMATOR = cs.ECE(cs.EqualMass(15))


@pytest.mark.parametrize("paired", [False, True], ids=["one model", "two models"])
def test_bootstrap_against_weighted_rows(paired, ratios, benchmark):
    sample = binary(100_000)
    other = cs.Sample(sample.outcomes, np.clip(sample.predictions.event + 0.05, 0, 1))

    def replicates(bootstrap):
        if paired:
            return bootstrap.paired_replicates(ESTIMATOR, sample, other, rng=0)
        return bootstrap.replicates(ESTIMATOR, sample, rng=0)

    whole, rows = cs.Bootstrap(N_RESAMPLES), cs.Bootstrap(10, shortcuts=False)
    benchmark.pedantic(lambda: replicates(whole), rounds=3, warmup_rounds=1)
    name = f"bootstrap of {'two models' if paired else 'one model'}, n = 1e5; weighted rows"
    ratios.faster(name, lambda: replicates(whole), lambda: replicates(rows), 20, rounds=3, times=N_RESAMPLES / 10)
