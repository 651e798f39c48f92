"""Tails beyond the smallest p-value of redraws are no smaller than the true ones, also of few events."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.inference.multiple import multiple_test
from calibstat.inference.tails import cells_tail, tail_of

SEED = 19520701
LEVELS = (1e-2, 1e-3, 1e-4)
WALKS = (cs.Kuiper(), cs.KolmogorovSmirnov())


def worlds(rng):
    """Predictions: of many events, of about five among few and among many rows, of twenty, and nearly equal ones."""
    return {
        "100 uniform": rng.random(100),
        "500 uniform": rng.random(500),
        "5 of 100": rng.beta(1, 19, 100),
        "5 of 1000": rng.beta(1, 199, 1000),
        "20 of 1000": rng.beta(1, 49, 1000),
        "10 of 500, alike": 0.02 + 0.001 * rng.random(500),
    }


@cache
def shares(world, walk, runs=200_000, corrected=True):
    """How often the tail of labels drawn from the predictions is at most each level."""
    rng = np.random.default_rng([SEED, walk])
    p = worlds(rng)[world]
    estimator = WALKS[walk]
    evaluator = estimator.prepare(cs.Sample(np.zeros(len(p), dtype=int), p).predictions)
    draws = [evaluator((rng.random((10_000, len(p))) < p).astype(np.int64)) for _ in range(runs // 10_000)]
    values = np.sort(np.concatenate(draws))[::-1]
    sample = cs.Sample((rng.random(len(p)) < p).astype(int), p)
    law = evaluator.capabilities.law_of_walk()

    def tail(value):
        return tail_of(estimator, sample, float(value)) if corrected else law.survival(float(value))

    found = []
    for level in LEVELS:  # tails fall as values rise: the number of values whose tail is at most the level
        low, high = 0, runs
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if tail(values[middle]) <= level else (low, middle)
        found.append(low / runs)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("walk", range(len(WALKS)))
@pytest.mark.parametrize("world", worlds(np.random.default_rng(0)))
def test_tails_of_walks_are_not_too_small(world, walk):
    """200 000 samples of calibrated models: at 1 % the law has its own error, of at most 0.8 %; farther out none."""
    for level, share in zip(LEVELS, shares(world, walk), strict=True):
        allowed = 1.8 * level if level == 1e-2 else 1.5 * level
        assert share <= allowed + 4 * np.sqrt(allowed / 200_000)


@pytest.mark.slow
def test_the_law_of_many_rows_alone_is_too_light_for_few_events():
    """The negative control: without the sum of residuals tails of five events are too small several times over."""
    assert shares("5 of 1000", 0, corrected=False)[2] > 5e-4
    assert shares("5 of 1000", 0)[2] < 1.5e-4 + 4 * np.sqrt(1.5e-4 / 200_000)


@pytest.mark.parametrize("walk", [cs.AndersonDarling(), cs.CramerVonMises()], ids=repr)
def test_areas_of_walks_have_no_tail(walk):
    """They weigh one end of the predictions, where events may be rare: no sum of all residuals is as heavy as that."""
    sample = cs.Sample.from_counts([0.002, 0.5], events=[7, 5], trials=[300, 10])
    assert tail_of(walk, sample, float(walk(sample))) is None
    # seven rare events or more have a chance of 3e-6; the law of many rows says 1e-7 or less
    law = walk.prepare(sample.predictions).capabilities.large_sample(np.random.default_rng(0))
    assert law.survival(float(walk(sample))) < 1e-6 < stats.binom.sf(6, 300, 0.002)


@pytest.mark.slow
@pytest.mark.parametrize("adjust", ["max-t", "holm"])
def test_adjusted_tails_are_not_too_small(adjust):
    """With 19 redraws tails matter at once: 4000 calibrated samples of four sites, one of them with five events."""
    runs, n_small = 4000, 0
    rng = np.random.default_rng(SEED)
    site = np.repeat(["a", "b", "c", "d"], 100)
    p = np.concatenate([rng.random(300), rng.beta(1, 19, 100)])
    within = cs.Within("site", cs.Kuiper())
    for _ in range(runs):
        sample = cs.Sample((rng.random(400) < p).astype(int), p, variables={"site": site})
        found = multiple_test(sample, within, adjust=adjust, n_resamples=19, rng=rng)
        n_small += min((each for each in found.tails if each is not None), default=1.0) <= 0.004
    assert n_small / runs <= 0.004 + 4 * np.sqrt(0.004 / runs)


@cache
def shares_of_cells(world, without_bias, size=5, runs=100_000):
    """How often the tail of the mean error over cells, of labels of a calibrated model, is at most each level."""
    rng = np.random.default_rng([SEED, 7])
    p = worlds(rng)[world]
    cells = np.arange(len(p)) % size
    counts = np.bincount(cells)
    found = []
    for _ in range(runs // 10_000):
        labels = (rng.random((10_000, len(p))) < p).astype(np.int8)
        sums = np.stack([(labels[:, cells == b] - p[cells == b]).sum(axis=1) for b in range(size)], axis=1)
        sums -= without_bias * sums.sum(axis=1, keepdims=True) * counts / len(p)
        values = np.abs(sums).sum(axis=1) / len(p)
        for place in np.argsort(-values)[:200]:
            sample = cs.Sample(labels[place].astype(int), p)
            found.append(cells_tail(sample, cells, float(values[place]), without_bias=without_bias))
    return [np.mean(np.array(found) <= level) * len(found) / runs for level in LEVELS]


@pytest.mark.slow
@pytest.mark.parametrize(("without_bias", "size"), [(False, 5), (True, 5), (False, 20)])
@pytest.mark.parametrize("world", worlds(np.random.default_rng(0)))
def test_tails_of_errors_over_cells_are_not_too_small(world, without_bias, size):
    """100 000 samples of calibrated models, of which the 2000 with the largest errors are looked at."""
    for level, share in zip(LEVELS, shares_of_cells(world, without_bias, size), strict=True):
        allowed = 1.5 * level
        assert share <= allowed + 4 * np.sqrt(allowed / 100_000)
