"""Computed laws of linear statistics against a million draws, and the size of their tests."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.base import Headline
from calibstat.nulls.linear import linear_null

pytestmark = pytest.mark.slow

WORLDS = {
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: rng.beta(1, 19, n),
    "very rare": lambda rng, n: rng.beta(1, 199, n),
    "sharp": lambda rng, n: rng.beta(0.3, 0.3, n),
    "tenths": lambda rng, n: rng.integers(1, 10, n) / 10,
}
N_DRAWS = 1_000_000


@pytest.mark.parametrize("n", [5, 20, 100, 1000])
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_pvalues_agree_with_a_million_draws(world, n, weighted):
    """Within four standard errors, and the error that the law states."""
    rng = np.random.default_rng(n)
    p = WORLDS[world](rng, n)
    weights = rng.exponential(size=n) if weighted else None
    y = rng.random(n) < p
    sample = cs.Sample(y.astype(int), p, labels=[0, 1], sample_weight=weights)
    core = Headline(cs.Spiegelhalter())
    evaluator = core.prepare(sample.predictions)
    computed = linear_null(core, sample, evaluator)
    if computed is None:
        assert (world, n, weighted) == ("sharp", 100, True)  # rows differ in weight, and too many are not rare
        pytest.skip("labels are drawn")
    law = computed[1]
    step = evaluator.capabilities.linear()
    size, constant = step[1] - step[0], step[0].sum()
    draws = N_DRAWS if n < 1000 else N_DRAWS // 4
    values = np.concatenate([(rng.random((10_000, n)) < p) @ size + constant for _ in range(draws // 10_000)])
    gaps = np.abs(values)
    for value in values[:8]:
        found, (low, high) = law.pvalue(value), law.pvalue_interval(value)
        seen = np.mean(gaps >= abs(value) - 1e-9)
        noise = 4 * np.sqrt(max(found * (1 - found), 1 / draws) / draws)
        assert low - noise <= seen <= high + noise
        assert abs(seen - found) <= noise + 0.005 * found


def rejections(estimator, distort, seed, n_samples=1000):
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(n_samples):
        p = rng.beta(1, 9, 60)
        sample = cs.Sample((rng.random(60) < distort(p)).astype(int), p, labels=[0, 1])
        found += cs.calibration_test(sample, estimator, rng=0).pvalue <= 0.05
    return found / n_samples


def test_the_size_of_a_test_of_few_rare_events():
    """60 rows with six events: at most 5 % and four standard errors; half the chance is found."""
    assert rejections(cs.MeanCalibration(), lambda p: p, 1) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 1000)
    assert rejections(cs.MeanCalibration(), lambda p: 2.5 * p / (1 + 1.5 * p), 2) > 0.3


def test_the_size_of_a_saddlepoint():
    """200 uniform rows: 5 % within four standard errors; timid predictions are found."""
    rng = np.random.default_rng(3)
    n_samples, sizes = 3000, []
    for distort in (lambda p: p, lambda p: 0.5 + 0.7 * (p - 0.5)):
        found = 0
        for _ in range(n_samples // 2):
            p = rng.random(200)
            sample = cs.Sample((rng.random(200) < distort(p)).astype(int), p, labels=[0, 1])
            found += cs.calibration_test(sample, cs.LogLossZ()).pvalue <= 0.05
        sizes.append(2 * found / n_samples)
    assert abs(sizes[0] - 0.05) <= 4 * np.sqrt(0.05 * 0.95 / (n_samples // 2))
    assert sizes[1] > 0.3
