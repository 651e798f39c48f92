"""Compiled sums over all pairs against numpy and loops: values, ties, several bandwidths, threads, what is left."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.estimators._kernel_sums import PanelSums
from calibstat.estimators.kernels import Kernel
from registry import make_sample
from strategies import rows_of_probabilities
from suites import examples

pytest.importorskip("numba")
from calibstat._fast import pairs

KERNELS = [cs.LaplaceKernel(), cs.GaussianKernel()]
in_numpy = PanelSums.__call__
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def bounds(kernel, rows, bandwidths, vectors, power):
    """The sums of absolute terms, by which rounding is measured."""
    return in_numpy(PanelSums(kernel, rows, bandwidths), np.abs(vectors), power)


def compare(kernel, rows, bandwidths, vectors, power=1):
    sums = PanelSums(kernel, rows, bandwidths)
    found, expected = pairs.panel_sums(sums, vectors, power), in_numpy(sums, vectors, power)
    assert found.shape == expected.shape == (len(bandwidths), len(vectors))
    # the twin takes 2^-1000 = 1e-301 for any smaller kernel value
    slack = 1e-10 * bounds(kernel, rows, bandwidths, vectors, power) + 1e-290
    assert (np.abs(found - expected) <= slack).all()


@each_kernel
@examples(40)
@given(data=st.data())
def test_the_twin_gives_the_sums_of_numpy(kernel, data):
    n, n_classes = data.draw(st.integers(1, 40)), data.draw(st.sampled_from([2, 3, 5, 7, 10]))
    rows = data.draw(rows_of_probabilities(n, n_classes))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    vectors = rng.normal(size=(data.draw(st.integers(1, 12)), n)) * rng.integers(0, 3, n)
    bandwidths = data.draw(st.sampled_from([(0.3,), (2.0,), (0.01,), (0.5, 0.1, 0.02)]))
    compare(kernel, rows, bandwidths, vectors, data.draw(st.sampled_from([1, 2, 3])))


@each_kernel
@pytest.mark.parametrize("n", [223, 224, 225, 700])
def test_blocks_of_columns_are_all_counted(kernel, n):
    rng = np.random.default_rng(n)
    compare(kernel, rng.dirichlet(np.ones(10), n), (0.3, 0.05), rng.normal(size=(10, n)))


@each_kernel
def test_the_twin_gives_the_sums_of_loops(kernel):
    rng = np.random.default_rng(1)
    rows, vector = rng.dirichlet(np.ones(4), 9), rng.normal(size=9)
    total = 0.0
    for i in range(9):
        for j in range(9):
            if i != j:
                gap = kernel.distance(rows[i : i + 1], rows[j : j + 1])[0, 0]
                total += kernel.profile(np.array([gap / 0.2]))[0] * vector[i] * vector[j]
    found = pairs.panel_sums(PanelSums(kernel, rows, (0.2,)), vector[None])
    assert found[0, 0] == pytest.approx(total, rel=1e-12)


@each_kernel
def test_views_and_whole_numbers_are_read_as_they_are(kernel):
    rng = np.random.default_rng(2)
    rows = rng.dirichlet(np.ones(6), 60)[::2, ::-1]
    vectors = rng.integers(-1, 2, size=(30, 8)).T
    compare(kernel, rows, (0.3,), vectors)
    compare(kernel, rows, (0.3,), np.asfortranarray(vectors.astype(float)))
    compare(kernel, rows, (0.3,), vectors > 0)


@each_kernel
@pytest.mark.parametrize("scale", [50.0, 1e6])
def test_variables_in_any_units(kernel, scale):
    x = scale * np.random.default_rng(3).normal(size=(100, 1))
    rng = np.random.default_rng(4)
    compare(kernel, np.concatenate([-x, x, rng.random((100, 3))], axis=1), (0.3 * scale,), rng.normal(size=(2, 100)))


def test_far_rows_are_not_alike():
    rows, vectors = np.eye(3), np.ones((1, 3))
    found = pairs.panel_sums(PanelSums(cs.LaplaceKernel(), rows, (1e-3,)), vectors)
    assert 0 <= found[0, 0] < 1e-290


@each_kernel
def test_what_is_left_to_numpy(kernel):
    rows = np.random.default_rng(5).dirichlet(np.ones(3), 20)
    few, many = np.ones((3, 20)), np.ones((129, 20))
    assert pairs.panel_sums(PanelSums(kernel, rows, (0.3,)), many) is NotImplemented
    assert pairs.panel_sums(PanelSums(kernel, rows, (0.3,)), few[:0]) is NotImplemented
    assert pairs.panel_sums(PanelSums(kernel, rows, (0.3, 1e-5)), few) is NotImplemented
    assert pairs.panel_sums(PanelSums(kernel, rows[:0], (0.3,)), few[:, :0]) is NotImplemented
    assert pairs.panel_sums(PanelSums(Cauchy(), rows, (0.3,)), few) is NotImplemented
    kept = PanelSums(kernel, rows, (0.3,))
    in_numpy(kept, few)
    assert pairs.panel_sums(kept, few) is NotImplemented


class Cauchy(Kernel):
    """A kernel of one's own."""

    def distance(self, first, second):
        return cs.GaussianKernel().distance(first, second)

    def profile(self, ratio):
        return 1 / (1 + ratio**2)


@each_kernel
def test_threads_change_no_bit(kernel, accelerated):
    rng = np.random.default_rng(6)
    rows, vectors = rng.dirichlet(np.ones(5), 1100), rng.normal(size=(5, 1100))
    sums, found = PanelSums(kernel, rows, (0.3, 0.1)), []
    for n_threads in (1, 2, 3):
        accelerated(n_threads=n_threads)
        found.append(sums(vectors))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


ESTIMATORS = [
    cs.SKCE(),
    cs.SKCE(0.2, kernel=cs.GaussianKernel()),
    cs.SKCE(0.2, kind="biased"),
    cs.SKCE((0.5, 0.1)),
    cs.KCE(0.3),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_test_gives_the_same_numbers(estimator, weighted, accelerated):
    sample = make_sample(4, seed=7, n=120, weighted=weighted)
    found = cs.calibration_test(sample, estimator, null=cs.Consistency(99), rng=0)
    accelerated(False)
    expected = cs.calibration_test(sample, estimator, null=cs.Consistency(99), rng=0)
    assert found.pvalue == expected.pvalue
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-10)


def test_ties_with_draws_stay_ties(accelerated):
    """Few different values on a lattice: half of the draws tie with what was observed, or nearly so."""
    rows = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])[[0, 0, 0, 1, 1, 2, 2, 2]]
    sample = cs.Sample([0, 0, 1, 0, 0, 1, 1, 1], rows, labels=[0, 1, 2])
    pvalues = {}
    for on in (True, False):
        accelerated(on)
        test = cs.calibration_test(sample, cs.SKCE(0.7, kernel=cs.GaussianKernel()), null=cs.Consistency(999), rng=0)
        pvalues[on] = test.pvalue
    assert pvalues[True] == pvalues[False]
    assert 0.2 < pvalues[True] < 1
