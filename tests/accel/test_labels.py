"""Compiled inversion of the laws of labels: the same labels, to the last one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibstat as cs
from calibstat.draws import labels as in_numpy
from calibstat.draws.labels import LabelLaw, draw_label_counts
from strategies import rows_of_probabilities

pytest.importorskip("numba")
from calibstat._fast import rows as twins

count_reached, bisect_reached = in_numpy._count_reached.__wrapped__, in_numpy._bisect_reached.__wrapped__


def of_chances(rows):
    return cs.Sample(np.zeros(len(rows), int), rows, labels=list(range(rows.shape[1]))).predictions


def cumulative(rows):
    sums = np.cumsum(rows, axis=1)
    return sums / sums[:, -1:]


def compare(rows, uniforms):
    sums = cumulative(rows)
    columns = np.ascontiguousarray(sums.T)
    expected = count_reached(columns, uniforms)
    for found in (
        twins.count_reached(columns, uniforms),
        twins.count_reached(sums.T, uniforms),
        twins.bisect_reached(sums, uniforms),
        twins.bisect_reached(np.asfortranarray(sums), uniforms),
    ):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    np.testing.assert_array_equal(bisect_reached(sums, uniforms), expected)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_labels_are_those_of_numpy(data):
    n, n_classes = data.draw(st.integers(0, 20)), data.draw(st.sampled_from([2, 3, 4, 5, 8, 9, 10, 33, 65, 66, 100]))
    rows = data.draw(rows_of_probabilities(n, n_classes))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    uniforms = rng.random((data.draw(st.integers(0, 5)), n))
    if data.draw(st.booleans()) and n:  # exactly at the sums, at 0 and just below 1
        at = cumulative(rows)[:, data.draw(st.integers(0, n_classes - 1))]
        uniforms = np.concatenate([uniforms, [np.minimum(at, np.nextafter(1, 0)), np.zeros(n)]])
    compare(rows, uniforms)


@pytest.mark.parametrize("n", [511, 512, 513, 5000])
@pytest.mark.parametrize("n_classes", [3, 11, 70])
def test_rows_of_several_tiles(n, n_classes):
    rng = np.random.default_rng(n)
    compare(rng.dirichlet(np.ones(n_classes), n), rng.random((3, n)))


def test_leading_axes_and_views():
    rng = np.random.default_rng(2)
    rows, uniforms = rng.dirichlet(np.ones(4), 6), rng.random((2, 3, 12))
    compare(rows, uniforms[..., ::2])
    compare(rows, uniforms[0, 0, :6])
    compare(rows[::-1], uniforms[:, :, 6:])


def test_one_uniform_beyond_one_is_the_last_class():
    rows, uniforms = np.array([[0.5, 0.5, 0.0]]), np.array([[1.0]])
    compare(rows, uniforms)


@pytest.mark.parametrize("n_classes", [3, 10, 64, 65, 200])
def test_a_law_gives_the_same_labels(n_classes, accelerated):
    rng = np.random.default_rng(n_classes)
    law, uniforms = LabelLaw(of_chances(rng.dirichlet(np.full(n_classes, 0.3), 700))), rng.random((4, 700))
    found = []
    for n_threads in (1, 2, 3):
        accelerated(n_threads=n_threads)
        found.append(law.invert(uniforms))
    accelerated(False)
    for labels in found:
        np.testing.assert_array_equal(labels, law.invert(uniforms))


@pytest.mark.parametrize("n_classes", [2, 3, 10, 70])
def test_counts_are_the_same(n_classes, accelerated):
    rng = np.random.default_rng(n_classes)
    predictions = of_chances(rng.dirichlet(np.ones(n_classes), 400))
    plan = cs.ECE(cs.VarianceTree(6)).prepare(predictions).capabilities.tally
    found = np.concatenate(list(draw_label_counts(plan, 40, np.random.default_rng(0))))
    accelerated(False)
    np.testing.assert_array_equal(found, np.concatenate(list(draw_label_counts(plan, 40, np.random.default_rng(0)))))


@pytest.mark.parametrize("estimator", [cs.ECE(cs.SimplexGrid(3)), cs.SKCE(0.3), cs.BrierScore()], ids=repr)
def test_a_test_gives_the_same_pvalue(estimator, accelerated):
    rng = np.random.default_rng(4)
    rows = rng.dirichlet(np.ones(5), 150)
    sample = cs.Sample(rng.integers(0, 5, 150), rows, labels=list(range(5)))
    found = cs.calibration_test(sample, estimator, null=cs.Consistency(199), rng=0)
    accelerated(False)
    expected = cs.calibration_test(sample, estimator, null=cs.Consistency(199), rng=0)
    assert found.pvalue == expected.pvalue
    assert found.null_mean == pytest.approx(expected.null_mean, rel=1e-10)
