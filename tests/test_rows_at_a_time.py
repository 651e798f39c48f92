"""What is done some rows at a time, so that they stay in the cache, gives what is had from all rows at once."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.binnings import intervals as equal_width
from calibstat.estimators import _local_fits as local_cells
from calibstat.estimators import _local_fits as runs
from calibstat.estimators import tally as adding
from calibstat.estimators._local_fits import LocalCells
from calibstat.lenses import relabel as top_k

N = 1000
SHAPES = {
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: rng.beta(1, 19, n),
    "lattice": lambda rng, n: rng.integers(0, 11, n) / 10,
    "all equal": lambda rng, n: np.full(n, 0.3),
}
each_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


@pytest.fixture
def few_rows(monkeypatch):
    for module in (equal_width, local_cells, runs):
        monkeypatch.setattr(module, "ROWS_IN_CACHE", 64)
    monkeypatch.setattr(adding, "_ROWS", 64)
    monkeypatch.setattr(top_k, "NUMBERS_IN_CACHE", 64)


def sample_of(shape, n=N, weighted=False):
    rng = np.random.default_rng(0)
    weights = rng.random(n) if weighted else None
    return cs.Sample(rng.integers(0, 2, n), shape(rng, n), sample_weight=weights, labels=[0, 1])


@each_shape
def test_cells_of_equal_width(shape, few_rows):
    sample = sample_of(shape)
    found = cs.EqualWidth(7).cut(sample.predictions).index
    edges = np.linspace(0, 1, 8)
    np.testing.assert_array_equal(found, np.digitize(sample.predictions.event, edges[1:-1]))


@each_shape
def test_counts_of_outcomes(shape, few_rows):
    sample = sample_of(shape)
    evaluator = cs.ECE(cs.EqualWidth(7)).prepare(sample.predictions)
    events = [sample.outcomes[evaluator.capabilities.tally.cells.index == cell].sum() for cell in range(7)]
    np.testing.assert_array_equal(evaluator.capabilities.tally(sample.outcomes).outcome[:, 0], events)


@pytest.mark.parametrize("k", [1, 2])
def test_the_most_probable_classes(k, few_rows):
    rng = np.random.default_rng(1)
    rows = np.round(rng.dirichlet(np.ones(5), N), 1)  # with ties
    rows[:, -1] = 1 - rows[:, :-1].sum(axis=1)
    rows = rows[(rows >= 0).all(axis=1)]
    sample = cs.Sample(rng.integers(0, 5, len(rows)), rows, labels=range(5))
    seen = cs.TopK(k)(sample)
    order = np.argsort(-sample.y_prob, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(seen.y_prob[:, 1:], np.take_along_axis(sample.y_prob, order, axis=1))
    total = 1 if k == 1 else sample.y_prob.sum(axis=1)  # of two outcomes one has what is left of one
    np.testing.assert_array_equal(seen.y_prob[:, 0], total - seen.y_prob[:, 1:].sum(axis=1))
    rank = (order == sample.outcomes[:, None]) @ np.arange(1, k + 1)
    np.testing.assert_array_equal(seen.outcomes, rank)


@each_shape
@pytest.mark.parametrize("n", [1, 2, 17, N, 70_000])
def test_quantiles_along_x_are_those_of_numpy(shape, n):
    predictions = sample_of(shape, n).predictions
    for n_cells in (16, 512):
        found = LocalCells.cut(cs.LOESS(), predictions, n_cells)
        for trim in (0.01, 0.05, 0.3, 0.499):
            assert found.range(trim) == tuple(np.quantile(predictions.event, [trim, 1 - trim]))


@each_shape
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_centres_of_cells_along_x(shape, weighted, few_rows):
    predictions = sample_of(shape, weighted=weighted).predictions
    found = LocalCells.cut(cs.LOESS(), predictions, 20)
    weights = np.ones(N) if predictions.weights is None else predictions.weights
    index, size = found.plan.cells.index, found.plan.cells.size
    naive = [np.average(predictions.event[index == cell], weights=weights[index == cell]) for cell in range(size)]
    np.testing.assert_allclose(found.centres, naive, rtol=1e-12)


def test_intervals_put_together_hold_the_rows_of_runs(few_rows):
    values = np.random.default_rng(2).random(70_000)
    index, counts = runs._from_intervals(values, 100)
    ordered = index[np.argsort(values)]
    assert (np.diff(ordered) >= 0).all()
    np.testing.assert_array_equal(np.bincount(index), counts)
    assert len(counts) == 100
    assert abs(counts - 700).max() < 20
