"""What compiled sums over pairs are made of: tiles of products and minima, powers of two, wide vectors, memory."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba")
from numba import njit

from calibstat._fast.pairs import LINE, lined_up, power_of_two, products, wide, without_minima

RNG = np.random.default_rng(0)
ROWS, COLUMNS, OFFSETS = RNG.random((12, 10)), RNG.random((10, 32)), RNG.random(32)


@pytest.mark.parametrize("width", [32, 8, 1, 0])
@pytest.mark.parametrize("i", [0, 4, 8])
def test_tiles_are_those_of_numpy(i, width):
    found = np.full((4, 32), 7.0)
    products(ROWS, i, COLUMNS, OFFSETS, found, width)
    np.testing.assert_allclose(found[:, :width], (OFFSETS + ROWS[i : i + 4] @ COLUMNS)[:, :width], rtol=1e-14)
    without_minima(ROWS, i, COLUMNS, OFFSETS, found, width)
    minima = np.minimum(ROWS[i : i + 4, :, None], COLUMNS).sum(axis=1)
    np.testing.assert_allclose(found[:, :width], (OFFSETS - minima)[:, :width], rtol=1e-14)
    assert (found[:, width:] == 7).all()


def test_powers_of_two():
    powers = np.concatenate([RNG.uniform(-1000, 1000, 20_000), np.arange(-1000, 1001), np.arange(-1000, 1000) + 0.5])
    found = np.array([power_of_two(power) for power in powers])
    np.testing.assert_allclose(found, np.exp2(powers), rtol=2.5e-14)


@njit(fastmath={"contract"})
def multiply(first, second):
    wide()
    for j in range(len(first)):
        first[j] = first[j] * second[j] + second[j]


def test_wide_vectors_are_asked_for():
    first = np.ones(100)
    multiply(first, first.copy())
    assert (first == 2).all()
    assert '"prefer-vector-width"="512"' in next(iter(multiply.inspect_llvm().values()))


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 16), (2, 4, 8)])
def test_memory_begins_with_a_line(shape):
    for _ in range(5):
        found = lined_up(*shape)
        assert found.shape == shape
        assert found.ctypes.data % (8 * LINE) == 0
        assert (found == 0).all()
