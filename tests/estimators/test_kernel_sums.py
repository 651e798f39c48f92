"""Sums over pairs against loops: recursion along a line, tiles, blocks; kernels from matrix products."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators import _kernel_sums as kernel_sums
from calibstat.estimators._kernel_sums import BlockSums, LineSums, PanelSums


def kernel_matrix(kernel, rows, bandwidth):
    return np.array(
        [[float(kernel.profile(kernel.distance(a[None], b[None]) / bandwidth)[0, 0]) for b in rows] for a in rows]
    )


def simplex(n, n_classes=3, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(n_classes), n)


def line(values, bandwidth):
    return LineSums(np.argsort(values, kind="stable"), values, (bandwidth,))


VECTORS = np.random.default_rng(5).normal(size=(4, 23))


@pytest.mark.parametrize("bandwidth", [0.5, 0.01, 1e-4])
@pytest.mark.parametrize("long", [False, True], ids=["kept", "a few rows at a time"])
def test_line_sums_are_those_of_loops(bandwidth, long, monkeypatch):
    if long:
        monkeypatch.setattr(kernel_sums, "_KEPT_LINE", 0)
        monkeypatch.setattr(kernel_sums, "ROWS_IN_CACHE", 5)
    values = np.random.default_rng(1).random(23).round(2)
    sums = line(values, bandwidth)
    placed = values[sums.rows]
    matrix = np.exp(-np.abs(placed[:, None] - placed) / bandwidth)
    np.fill_diagonal(matrix, 0)
    np.testing.assert_allclose(sums(VECTORS)[0], ((VECTORS @ matrix) * VECTORS).sum(axis=1), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sums.apply(VECTORS), VECTORS @ matrix, rtol=1e-10, atol=1e-12)
    weighted = matrix * np.abs(VECTORS[0])
    triple = np.trace(weighted @ weighted @ weighted)
    assert sums.triangles(np.abs(VECTORS[0])) == pytest.approx(triple, rel=1e-10, abs=1e-15)


@pytest.mark.parametrize("n", [1, 16, 17, 250])
@pytest.mark.parametrize("bandwidth", [0.5, 0.01, 1e-7])
def test_many_vectors_have_the_sums_of_single_ones(n, bandwidth, monkeypatch):
    """By matrices of blocks, and by the recursion."""
    rng = np.random.default_rng(2)
    sums, vectors = line(rng.random(n).round(2), bandwidth), rng.normal(size=(kernel_sums._MANY_VECTORS, n))
    monkeypatch.setattr(LineSums, "_one", None)
    together = sums(vectors, 2)
    monkeypatch.undo()
    alone = np.concatenate([sums(each[None], 2) for each in vectors], axis=1)
    np.testing.assert_allclose(together, alone, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("tile", [5, 23, 512])
@pytest.mark.parametrize("kernel", [cs.LaplaceKernel(), cs.GaussianKernel()], ids=repr)
def test_tiles_are_those_of_loops(monkeypatch, kernel, tile):
    monkeypatch.setattr(kernel_sums, "_TILE", tile)
    rows = simplex(23)
    matrix = kernel_matrix(kernel, rows, 0.3)
    np.fill_diagonal(matrix, 0)
    sums = PanelSums(kernel, rows, (0.3, 0.1))
    np.testing.assert_allclose(sums(VECTORS)[0], ((VECTORS @ matrix) * VECTORS).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(sums(VECTORS, 2)[0], ((VECTORS @ matrix**2) * VECTORS).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(sums.apply(VECTORS), VECTORS @ matrix, rtol=1e-10)


def test_blocks_are_those_of_loops():
    rows, kernel = simplex(23), cs.GaussianKernel()
    matrix = kernel_matrix(kernel, rows, 0.3)[:20, :20]
    same = np.arange(20) // 5
    matrix[(same[:, None] != same) | np.eye(20, dtype=bool)] = 0
    sums, vectors = BlockSums(kernel, rows, (0.3,), 5), VECTORS[:, :20]
    np.testing.assert_allclose(sums(vectors)[0], ((vectors @ matrix) * vectors).sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(sums.apply(vectors), vectors @ matrix, rtol=1e-10)
    assert sums.triangles(vectors[0]) is None


@pytest.mark.parametrize("bandwidth", [1.0, 0.01, 2e-3, 1e-4, 1e-7])
def test_gaussian_kernels_of_near_rows_keep_their_digits(bandwidth):
    """By a matrix product where rounding allows it, and by differences where the bandwidth is tiny."""
    rows = simplex(30, 10)
    near = np.abs(rows + bandwidth * np.random.default_rng(2).normal(size=rows.shape))
    kernel = cs.GaussianKernel()
    expected = np.exp(-0.5 * ((rows[:, None] - near) ** 2).sum(axis=-1) / bandwidth**2)
    np.testing.assert_allclose(kernel.matrices(rows, near, (bandwidth,))[0], expected, atol=2e-10)


def test_batches_of_replicates_change_no_value():
    rng = np.random.default_rng(3)
    for n_classes in (2, 3):
        sample = cs.Sample(rng.integers(0, n_classes, 300), simplex(300, n_classes), labels=list(range(n_classes)))
        evaluator = cs.SKCE(0.3).prepare(sample.predictions)
        labels = rng.integers(0, n_classes, size=(500, 300))
        one_by_one = np.array([evaluator(each) for each in labels[:20]])
        np.testing.assert_allclose(evaluator(labels)[:20], one_by_one, rtol=1e-11, atol=1e-16)


def test_costly_kernels_ask_for_many_replicates_at_once():
    rows = simplex(2000, 5)
    sample = cs.Sample(np.arange(2000) % 5, rows, labels=list(range(5)))
    assert cs.SKCE(0.3).prepare(sample.predictions).capabilities.batch_size == 2**25 // (5 * 2000)
    assert cs.KCE(0.3).prepare(sample.predictions).capabilities.batch_size == 2**25 // (5 * 2000)
    seen = cs.TopLabel()(sample)
    assert cs.SKCE(0.3).prepare(seen.predictions).capabilities.batch_size == 1
