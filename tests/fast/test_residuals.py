"""The compiled sum over pairs of residuals against numpy and loops: values, ties, threads, what is left to others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.estimators._kernel_sums import PanelSums
from registry import make_sample
from strategies import rows_of_probabilities
from suites import examples

pytest.importorskip("numba")
from calibstat._fast import pairs as residuals

in_numpy = PanelSums.of_labels
sums_in_numpy = PanelSums.__call__


def world(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, n_classes, n), rng.dirichlet(np.ones(n_classes), n)


def panels(chances, bandwidth=0.3, kernel=None):
    return PanelSums(kernel or cs.GaussianKernel(), chances, (bandwidth,))


def compare(labels, chances, bandwidth):
    found = residuals.sums_of_labels(panels(chances, bandwidth), labels, chances)
    expected = in_numpy(panels(chances, bandwidth), labels, chances)
    sizes = np.abs((labels == np.arange(chances.shape[1])[:, None]) - chances.T)
    added_up = sums_in_numpy(panels(chances, bandwidth), sizes).sum()
    least = residuals._least_sum(sizes.T, chances * np.sqrt(np.log2(np.e)) / bandwidth)
    assert least <= added_up * (1 + 1e-9) + 1e-9
    if found is NotImplemented:
        assert least < 2e-4 * len(labels) ** 2
    else:
        assert found.shape == expected.shape == (1,)
        # exponents by numpy's matrix product are themselves right to 1e-16 / bandwidth^2
        assert abs(found[0] - expected[0]) <= 1e-12 * added_up


@examples(40)
@given(data=st.data())
def test_the_twin_gives_the_sum_of_numpy(data):
    n_classes = data.draw(st.sampled_from([3, 5, 6]))
    n = 48 * n_classes + data.draw(st.integers(0, 300))
    few = data.draw(rows_of_probabilities(data.draw(st.integers(1, 40)), n_classes))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    chances = few[rng.integers(0, len(few), n)]
    labels = rng.integers(0, data.draw(st.integers(1, n_classes)), n)  # not all labels occur
    compare(labels, chances, data.draw(st.sampled_from([0.3, 2.0, 0.15, 0.03])))


@pytest.mark.parametrize("n", [7, 8, 9, 31, 33, 255, 256, 257, 700])
def test_rows_of_a_label_are_all_counted(n):
    """In blocks of any length, beside those of another label, and none of a third."""
    labels = np.repeat([0, 2], [n, 200])
    compare(labels, world(n + 200, 3)[1], 0.3)


def test_the_twin_gives_the_sum_of_loops():
    labels, chances = world(200, 3, seed=1)
    total = 0.0
    for i in range(200):
        for j in range(200):
            if i != j:
                kernel = np.exp(-0.5 * ((chances[i] - chances[j]) ** 2).sum() / 0.2**2)
                total += kernel * (np.eye(3)[labels[i]] - chances[i]) @ (np.eye(3)[labels[j]] - chances[j])
    assert residuals.sums_of_labels(panels(chances, 0.2), labels, chances)[0] == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, float])
def test_labels_of_any_kind(dtype):
    labels, chances = world(300, 4, seed=2)
    found = residuals.sums_of_labels(panels(chances), labels.astype(dtype), chances)
    np.testing.assert_array_equal(found, residuals.sums_of_labels(panels(chances), labels, chances))


def test_what_is_left_to_others():
    labels, chances = world(144, 3)
    assert residuals.sums_of_labels(panels(chances), labels, chances) is not NotImplemented
    assert residuals.sums_of_labels(panels(chances, 0.02), labels, chances) is NotImplemented
    assert residuals.sums_of_labels(panels(chances[1:]), labels[1:], chances[1:]) is NotImplemented
    assert residuals.sums_of_labels(panels(chances[:0]), labels[:0], chances[:0]) is NotImplemented
    assert residuals.sums_of_labels(panels(chances[::-1]), labels, chances) is NotImplemented
    assert residuals.sums_of_labels(panels(chances, 0.3, cs.LaplaceKernel()), labels, chances) is NotImplemented
    several = PanelSums(cs.GaussianKernel(), chances, (0.3, 0.1))
    assert residuals.sums_of_labels(several, labels, chances) is NotImplemented
    kept = panels(chances)
    in_numpy(kept, labels, chances)
    assert residuals.sums_of_labels(kept, labels, chances) is NotImplemented


def test_threads_change_no_bit(accelerated):
    labels, chances = world(1100, 5, seed=3)
    sums, found = panels(chances), []
    for n_threads in (1, 2, 3):
        accelerated(n_threads=n_threads)
        found.append(sums.of_labels(labels, chances)[0])
    assert found[0] == found[1] == found[2]


ESTIMATORS = [
    cs.SKCE(kernel=cs.GaussianKernel()),
    cs.SKCE(0.2, kernel=cs.GaussianKernel(), kind="biased"),
    cs.SKCE((0.5, 0.1), kernel=cs.GaussianKernel()),
    cs.KCE(0.3, kernel=cs.GaussianKernel()),
    cs.Given("x") | cs.SKCE(kernel=cs.GaussianKernel()),
    cs.SKCE(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_test_gives_the_same_numbers(estimator, weighted, accelerated):
    sample = make_sample(4, seed=7, n=300, weighted=weighted)
    sample = cs.Sample(
        sample.outcomes,
        sample.y_prob,
        labels=range(4),
        sample_weight=sample.predictions.weights,
        variables={"x": np.arange(300) % 17},
    )
    found = cs.calibration_test(sample, estimator, null=cs.Consistency(99), rng=0)
    accelerated(False)
    expected = cs.calibration_test(sample, estimator, null=cs.Consistency(99), rng=0)
    assert found.pvalue == expected.pvalue
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-10)


def pvalues(sample, error, accelerated):
    found = []
    for on in (True, False):
        accelerated(on)
        found.append(cs.calibration_test(sample, error, null=cs.Consistency(999), rng=0).pvalue)
    return found


def test_ties_with_draws_stay_ties(accelerated):
    """Equal predictions: the value depends on the numbers of labels only, and draws, by numpy, tie with it."""
    chances, labels = np.tile([0.5, 0.25, 0.25], (150, 1)), np.repeat([0, 1, 2], [70, 45, 35])
    error = cs.SKCE(0.7, kernel=cs.GaussianKernel())
    drawn = error.prepare(cs.Sample(labels, chances, labels=range(3)).predictions)(
        np.random.default_rng(0).choice(3, (999, 150), p=chances[0])
    )
    observed = residuals.sums_of_labels(panels(chances, 0.7), labels, chances)[0] / (150 * 149)
    assert (np.abs(drawn - observed) < 1e-12 * abs(observed)).sum() >= 5
    with_twin, in_plain_numpy = pvalues(cs.Sample(labels, chances, labels=range(3)), error, accelerated)
    assert with_twin == in_plain_numpy


def test_sharp_predictions_that_are_right_keep_their_digits(accelerated):
    """Products of residuals of 1e-6 are lost beside 1, where nearly all draws tie with what was observed."""
    kinds = np.repeat([0, 1, 2], 100)
    chances = np.where(np.eye(3)[kinds] == 1, 1 - 2e-6, 1e-6)
    assert residuals.sums_of_labels(panels(chances), kinds, chances) is NotImplemented
    sample, error = cs.Sample(kinds, chances, labels=range(3)), cs.SKCE(0.3, kernel=cs.GaussianKernel())
    with_twin, in_plain_numpy = pvalues(sample, error, accelerated)
    assert with_twin == in_plain_numpy > 0.9
