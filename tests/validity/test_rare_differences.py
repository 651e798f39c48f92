"""Two models with equal errors, where events are so rare that some samples, or cells, have none.

400 samples of 400 rows with 2 to 6 events expected: both models are off by as much, in opposite directions.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import calibstat as cs
from calibstat.inference import compare as comparison
from calibstat.inference import compare_models as several_models
from calibstat.inference.differences import difference_variance

SEED = 20261121
RUNS = 400
N = 400
L2 = cs.DebiasedL2(cs.EqualMass(4))


def two_models(expected, rng):
    chance = rng.uniform(0.5, 1.5, N) * expected / N
    y = (rng.random(N) < chance).astype(int)
    return tuple(cs.Sample(y, factor * chance, labels=[0, 1]) for factor in (0.2, 1.8))


def share_error(share, runs):
    """Four standard errors of a share."""
    return 4 * np.sqrt(share * (1 - share) / runs)


@cache
def compared(expected):
    rng = np.random.default_rng([SEED, expected])
    return [comparison.comparison_test(*two_models(expected, rng), L2, n_resamples=99, rng=rng) for _ in range(RUNS)]


@pytest.mark.slow
@pytest.mark.parametrize("expected", [2, 4, 6])
def test_size_where_events_are_rare(expected):
    """Of all four p-values, the wrapped one and the normal ones of difference, Brier scores and line."""
    found = compared(expected)
    for pvalues in (
        [each.pvalue for each in found],
        [each.normal_pvalue for each in found],
        [each.score_difference.pvalue for each in found],
        [each.recalibration_difference.normal_pvalue for each in found],
    ):
        assert np.mean(np.array(pvalues) <= 0.05) <= 0.05 + share_error(0.05, RUNS)


@pytest.mark.slow
def test_negative_control_the_noise_that_outcomes_show_is_too_small(monkeypatch):
    """Without the floor samples with few events pass for certainty."""
    monkeypatch.setattr(comparison, "difference_error", lambda *cells: float(np.sqrt(difference_variance(*cells))))
    rng = np.random.default_rng([SEED, 4])
    found = [comparison.comparison_test(*two_models(4, rng), L2, n_resamples=99, rng=rng) for _ in range(600)]
    assert np.mean([each.normal_pvalue <= 0.05 for each in found]) > 0.05 + share_error(0.05, 600)


@pytest.mark.slow
def test_size_of_the_largest_difference_where_events_are_rare():
    """Pairs of three models of which the first and the last are off by as much."""
    rng, runs, rejected = np.random.default_rng([SEED, 7]), 250, 0
    for _ in range(runs):
        first, last = two_models(4, rng)
        between = cs.Sample(first.outcomes, (first.y_prob[:, 1] + last.y_prob[:, 1]) / 2, labels=[0, 1])
        models = {"low": first, "calibrated": between, "high": last}
        found = several_models.compare_models(models, L2, adjust="max-t", n_resamples=99, rng=rng)
        (pair,) = (each for each in found.pairs if (each.first, each.second) == ("low", "high"))
        rejected += pair.adjusted <= 0.05
    assert rejected / runs <= 0.05 + share_error(0.05, runs)
