"""Compiled sums along a line against numpy and loops: tiny bandwidths, ties, few and many vectors, threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import calibstat as cs
from calibstat.estimators._kernel_sums import LineSums
from registry import make_sample

pytest.importorskip("numba")
from calibstat._fast import rows as twins

in_numpy, before_in_numpy = LineSums._one.__wrapped__, LineSums._before.__wrapped__
UNIT = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1, allow_subnormal=False))


def line(values, bandwidth):
    return LineSums(np.argsort(values, kind="stable"), values, (bandwidth,))


def agree(sums, vectors, bandwidth):
    """Rounding is measured by the sums of absolute terms; distances of 1e4 bandwidths have it in their exponents."""
    found, expected = twins.line_sums(sums, vectors, bandwidth), in_numpy(sums, vectors, bandwidth)
    slack = 1e-11 * in_numpy(sums, np.abs(vectors).astype(float), bandwidth) + 1e-250
    assert (np.abs(found - expected) <= slack).all()
    found, expected = twins.sums_before(sums, vectors), before_in_numpy(sums, np.asarray(vectors, dtype=float))
    slack = 1e-11 * before_in_numpy(sums, np.abs(vectors).astype(float)) + 1e-250
    assert (np.abs(found - expected) <= slack).all()


@settings(max_examples=60, deadline=None)
@given(
    values=st.integers(0, 40).flatmap(lambda n: arrays(float, n, elements=UNIT)),
    bandwidth=st.sampled_from([2.0, 0.3, 0.01, 1e-4]),
    n_vectors=st.integers(0, 21),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_twin_gives_the_sums_of_numpy(values, bandwidth, n_vectors, seed):
    vectors = np.random.default_rng(seed).normal(size=(n_vectors, len(values)))
    agree(line(values, bandwidth), vectors, bandwidth)


@pytest.mark.parametrize("bandwidth", [0.5, 0.01, 1e-6])
@pytest.mark.parametrize("n_vectors", [1, 7, 8, 9, 19])
def test_the_twin_gives_the_sums_of_loops(bandwidth, n_vectors):
    rng = np.random.default_rng(1)
    values, vectors = rng.random(25).round(2), rng.normal(size=(n_vectors, 25))
    sums = line(values, bandwidth)
    placed, expected = values[sums.rows], np.zeros(n_vectors)
    for i in range(25):
        for j in range(25):
            if i != j:
                expected += np.exp(-abs(placed[i] - placed[j]) / bandwidth) * vectors[:, i] * vectors[:, j]
    np.testing.assert_allclose(twins.line_sums(sums, vectors, bandwidth), expected, rtol=1e-11, atol=1e-13)


def test_views_and_whole_numbers_are_read_as_they_are():
    rng = np.random.default_rng(2)
    sums, vectors = line(rng.random(30), 0.2), rng.integers(-1, 2, size=(60, 11)).T[:, ::2]
    agree(sums, vectors, 0.2)
    agree(sums, np.asfortranarray(vectors.astype(float)), 0.2)
    agree(sums, vectors > 0, 0.2)


def test_what_passed_is_not_changed():
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(9, 30))
    kept, sums = vectors.copy(), line(rng.random(30), 0.2)
    twins.line_sums(sums, vectors, 0.2)
    twins.sums_before(sums, vectors)
    np.testing.assert_array_equal(vectors, kept)


@pytest.mark.parametrize("power", [1, 2])
def test_several_bandwidths_and_powers(power, accelerated):
    rng = np.random.default_rng(4)
    values, vectors = rng.random(50), rng.normal(size=(10, 50))
    sums = LineSums(np.argsort(values), values, (0.5, 0.1, 0.02))
    found, applied = sums(vectors, power), sums.apply(vectors)
    accelerated(False)
    np.testing.assert_allclose(found, sums(vectors, power), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(applied, sums.apply(vectors), rtol=1e-11, atol=1e-12)


def test_threads_change_no_bit(accelerated):
    rng = np.random.default_rng(5)
    sums, vectors, found = line(rng.random(400), 0.1), rng.normal(size=(150, 400)), []
    for n_threads in (1, 2, 3):
        accelerated(n_threads=n_threads)
        found.append((sums(vectors), sums.apply(vectors)))
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "estimator", [cs.SKCE(), cs.SKCE(0.01, kind="biased"), cs.SKCE((0.5, 0.1)), cs.KCE(0.3)], ids=repr
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_test_gives_the_same_numbers(estimator, weighted, accelerated):
    sample = make_sample(2, seed=7, n=200, weighted=weighted)
    found = cs.calibration_test(sample, estimator, null=cs.Consistency(199), rng=0)
    accelerated(False)
    expected = cs.calibration_test(sample, estimator, null=cs.Consistency(199), rng=0)
    assert found.pvalue == expected.pvalue
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-10)


def test_bootstrap_draws_are_the_same(accelerated):
    sample = make_sample(2, seed=8, n=150)
    found = cs.Bootstrap(50).replicates(cs.SKCE(0.2), sample, rng=0)
    accelerated(False)
    np.testing.assert_allclose(found, cs.Bootstrap(50).replicates(cs.SKCE(0.2), sample, rng=0), rtol=1e-9, atol=1e-14)
