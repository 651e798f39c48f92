"""What a thousand replicates with predictions drawn anew cost, cells drawn whole, and cells of equal mass."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

import calibstat as cs
from benchmarks.timing import interleaved
from calibstat.nulls.redrawn_predictions import redraw_predictions

N_RESAMPLES, N_BINS = 1000, 15
ESTIMATOR = cs.ECE(cs.EqualMass(N_BINS))


def sample_of(n):
    rng = np.random.default_rng(3)
    p = rng.beta(0.7, 0.7, n)
    return cs.Sample(rng.random(n) < p, p)


def one_by_one(p, replicates, rng):
    """Rows with replacement, labels, a sort and the error: plain numpy."""
    borders = np.linspace(0, len(p), N_BINS + 1).astype(int)[:-1]
    for _ in range(replicates):
        drawn = p[rng.integers(0, len(p), len(p))]
        residual = ((rng.random(len(p)) < drawn) - drawn)[np.argsort(drawn)]
        np.abs(np.add.reduceat(residual, borders)).sum()


@pytest.mark.parametrize(("n", "replicates", "goal"), [(100_000, 10, 80), (1_000_000, 2, 300)])
def test_predictions_drawn_anew_against_a_loop(n, replicates, goal, ratios, benchmark):
    sample = sample_of(n)

    def whole():
        return redraw_predictions(ESTIMATOR, sample, N_RESAMPLES, cs.as_generator(0))

    benchmark.pedantic(whole, rounds=3, warmup_rounds=1)
    rng = np.random.default_rng(4)
    fast, slow = interleaved([whole, lambda: one_by_one(sample.predictions.event, replicates, rng)], rounds=3)
    slow *= N_RESAMPLES / replicates
    ratios.record(f"1000 replicates, cells cut again, n = {n:g}", 1e3 * fast, 1e3 * slow, goal, at_least=True)


@pytest.mark.parametrize("paired", [False, True], ids=["one model", "two models"])
def test_bootstrap_against_weighted_rows(paired, ratios, benchmark):
    sample = sample_of(100_000)
    other = cs.Sample(sample.outcomes, np.clip(sample.predictions.event + 0.05, 0, 1))

    def replicates(bootstrap):
        if paired:
            return bootstrap.paired_replicates(ESTIMATOR, sample, other, rng=0)
        return bootstrap.replicates(ESTIMATOR, sample, rng=0)

    whole, rows = cs.Bootstrap(N_RESAMPLES), cs.Bootstrap(10, shortcuts=False)
    benchmark.pedantic(lambda: replicates(whole), rounds=3, warmup_rounds=1)
    fast, slow = interleaved([lambda: replicates(whole), lambda: replicates(rows)], rounds=3)
    name = "two models" if paired else "one model"
    ratios.record(f"bootstrap of {name}, n = 1e5", 1e3 * fast, 1e3 * slow * 100, 20, at_least=True)


def test_cells_of_equal_mass_against_scikit_learn(ratios, benchmark):
    sample = sample_of(1_000_000)
    p, y = sample.predictions.event.copy(), sample.outcomes
    benchmark.pedantic(lambda: ESTIMATOR(sample), rounds=5, warmup_rounds=1)
    fast, slow = interleaved(
        [lambda: ESTIMATOR(sample), lambda: calibration_curve(y, p, n_bins=N_BINS, strategy="quantile")], rounds=7
    )
    ratios.record("ECE(EqualMass(15)), n = 1e6, calibration_curve", 1e3 * fast, 1e3 * slow, 5, at_least=True)
