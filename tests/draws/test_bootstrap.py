"""The bootstrap as weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.draws.streams import Streams, draw_blocks
from registry import make_sample


def test_weights_are_counts_of_rows_drawn_with_replacement():
    weights = np.concatenate(list(cs.Bootstrap(20_000).weights(5, cs.as_generator(0))))
    assert weights.shape == (20_000, 5)
    np.testing.assert_array_equal(weights.sum(axis=1), 5)
    counted = np.bincount(weights[:, 0].astype(int), minlength=6)
    expected = stats.binom(5, 1 / 5).pmf(np.arange(6)) * 20_000
    assert stats.chisquare(counted[:5], expected[:5] * counted[:5].sum() / expected[:5].sum()).pvalue > 1e-3
    wrong = stats.poisson(1).pmf(np.arange(5))
    assert stats.chisquare(counted[:5], wrong * counted[:5].sum() / wrong.sum()).pvalue < 1e-6  # the negative control


@pytest.mark.parametrize(
    "estimator",
    [cs.ECE(cs.EqualWidth(3)), cs.TopLabel() | cs.RMSCE(cs.FixedEdges([0, 0.7, 1])), cs.PDE(cs.EqualWidth(2))],
    ids=repr,
)
def test_replicates_are_the_estimator_on_rows_drawn_with_replacement(estimator):
    sample = make_sample(2, n=25)
    weights = np.concatenate(list(cs.Bootstrap(20).weights(25, cs.as_generator(1))))
    expected = [estimator(sample.take(np.repeat(np.arange(25), row.astype(int)))) for row in weights]
    np.testing.assert_allclose(cs.Bootstrap(20).replicates(estimator, sample, rng=1), expected, rtol=1e-10, atol=1e-13)


def test_the_spread_of_replicates_is_the_standard_error_of_a_mean():
    sample = make_sample(2, n=400)
    residual = sample.outcomes - sample.predictions.event

    def mean(seen):
        return np.average(seen.outcomes - seen.predictions.event, weights=seen.predictions.weights)

    spread = cs.Bootstrap(2000).replicates(cs.Generic(mean), sample, rng=2).std()
    assert abs(spread / (residual.std() / 20) - 1) < 4 / np.sqrt(2 * 2000)


def test_replicates_of_a_diagram_keep_its_shape():
    sample = make_sample(3)
    values = cs.Bootstrap(7).replicates(cs.HistogramRegression(cs.SimplexGrid(2)), sample, rng=3)
    cells = cs.SimplexGrid(2).cut(sample.predictions).size
    assert values.shape == (7, cells, 3)


@pytest.mark.parametrize(
    "rng", [-1, 1.5, "seed", True, np.random.RandomState(0)], ids=["-1", "1.5", "seed", "True", "old"]
)
def test_rng_is_none_a_whole_number_or_a_generator(rng):
    with pytest.raises(TypeError, match="rng is"):
        cs.Bootstrap(3).replicates(cs.ECE(cs.EqualWidth(2)), make_sample(2), rng=rng)


def test_a_generator_is_used_as_it_is_and_an_integer_is_a_seed():
    sample, estimator = make_sample(2), cs.ECE(cs.EqualWidth(2))
    by_seed = cs.Bootstrap(5).replicates(estimator, sample, rng=7)
    np.testing.assert_array_equal(cs.Bootstrap(5).replicates(estimator, sample, rng=cs.as_generator(7)), by_seed)
    generator = cs.as_generator(7)
    first, second = (cs.Bootstrap(5).replicates(estimator, sample, rng=generator) for _ in range(2))
    np.testing.assert_array_equal(first, by_seed)
    assert not np.array_equal(second, first)
    unseeded = [cs.Bootstrap(5).replicates(estimator, sample) for _ in range(2)]
    assert not np.array_equal(*unseeded)


def test_streams_are_independent():
    streams = Streams(cs.as_generator(4))
    drawn = np.array([streams[number].random(2000) for number in range(20)])
    correlation = np.corrcoef(drawn)[np.triu_indices(20, 1)]
    assert abs(correlation).max() < 5 / np.sqrt(2000)
    assert stats.kstest(drawn.ravel(), "uniform").pvalue > 1e-3


def test_blocks_hold_at_least_one_replicate_of_any_number_of_rows():
    def cut(n_resamples, n_rows):
        return [block[1:] for block in draw_blocks(lambda *block: block, n_resamples, n_rows, cs.as_generator(0))]

    assert cut(2, 10**9) == [(1, 1), (1, 1)]
    assert [kept for _, kept in cut(3, 0)] == [3]
