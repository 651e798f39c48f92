"""Kernel calibration errors: three ways to one sum, exact variances, several bandwidths, memory, parameters."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.estimators import _kernel_sums as kernel_sums
from calibstat.estimators._kernel_sums import BlockSums, LineSums, PanelSums
from calibstat.estimators.kernel import SKCE, KernelErrors
from calibstat.estimators.kernels import GaussianKernel, Kernel, LaplaceKernel, features, median_distance
from published.enumeration import law_of_labels
from registry import make_sample
from strategies import samples
from suites import examples


class SlowLaplace(Kernel):
    """The Laplace kernel, not known to be one along a line."""

    def distance(self, first, second):
        return np.abs(first[:, None, :] - second[None, :, :]).sum(axis=-1) / 2

    def profile(self, ratio):
        return np.exp(-ratio)


SLOW = SlowLaplace()


@pytest.mark.parametrize("bandwidth", [1e-6, 1e-4, 0.003, 0.1, 5.0])
@pytest.mark.parametrize("power", [1, 2])
def test_the_recursion_along_a_line_is_the_sum_over_pairs(bandwidth, power):
    """With the smallest bandwidths the exponentials of one segment would overflow."""
    rng = np.random.Generator(np.random.PCG64(1))
    values = np.concatenate([rng.random(300).round(2), rng.random(300) ** 8, [0.0, 1.0]])
    vectors = rng.normal(size=(4, len(values)))
    line = LineSums(np.argsort(values, kind="stable"), values, (bandwidth,))
    kernel = np.exp(-np.abs(values[:, None] - values) / bandwidth) ** power
    np.fill_diagonal(kernel, 0)
    expected = ((vectors @ kernel) * vectors).sum(axis=1)
    np.testing.assert_allclose(line(vectors[:, line.rows], power)[0], expected, rtol=1e-10, atol=1e-10)


def test_one_segment_would_overflow():
    """The negative control of the test above."""
    with np.errstate(over="ignore"):
        assert np.isinf(np.exp(1 / 0.001))


@pytest.mark.parametrize("kind", ["unbiased", "biased"])
@examples(20)
@given(sample=samples((2, 3)), bandwidth=st.sampled_from([0.01, 0.3, 2.0]))
def test_the_line_and_the_panels_agree(kind, sample, bandwidth):
    for lens in (cs.TopLabel(), cs.Given("age")):
        fast, slow = (lens | SKCE(bandwidth, kind, kernel) for kernel in (LaplaceKernel(), SLOW))
        np.testing.assert_allclose(fast(sample), slow(sample), rtol=1e-10, atol=1e-13)
        several, paneled = ((lens | SKCE((bandwidth, 0.1), kind, each))(sample) for each in (LaplaceKernel(), SLOW))
        np.testing.assert_allclose(several.standardized, paneled.standardized, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kept", [0, 2**25])
@pytest.mark.parametrize("size", [7, 512])
def test_tiles_kept_or_made_anew_give_the_same(monkeypatch, kept, size):
    sample = make_sample(3, seed=2, n=50)
    labels = np.stack([sample.outcomes, sample.outcomes[::-1]])
    expected = SKCE(0.3).prepare(sample.predictions)(labels)
    monkeypatch.setattr(kernel_sums, "_KEPT_NUMBERS", kept)
    monkeypatch.setattr(kernel_sums, "_TILE", size)
    evaluate = SKCE(0.3).prepare(sample.predictions)
    np.testing.assert_allclose(evaluate(labels), expected, rtol=1e-12)
    np.testing.assert_allclose(evaluate(labels), expected, rtol=1e-12)


def test_a_kernel_matrix_is_not_held():
    sample = make_sample(5, seed=3, n=9000)
    evaluate = SKCE(0.3).prepare(sample.predictions)
    tracemalloc.start()
    evaluate(sample.outcomes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 9000**2 * 8 / 4


@pytest.mark.parametrize("kernel", [LaplaceKernel(), GaussianKernel()], ids=repr)
def test_blocks_of_all_rows_are_the_unbiased_error(kernel):
    sample = make_sample(4, seed=4)
    whole = SKCE(0.3, "block", kernel, block_size=40)
    assert whole(sample) == pytest.approx(SKCE(0.3, kernel=kernel)(sample), rel=1e-12)
    assert SKCE(0.3, "block", kernel, block_size=1000)(sample) == pytest.approx(whole(sample), rel=1e-12)


def test_blocks_leave_out_a_partial_one():
    sample = make_sample(3, seed=5, n=11)
    block = SKCE(0.3, "block", block_size=3)
    assert block(sample) == block(sample.take(np.arange(9)))
    one_by_one = [SKCE(0.3)(sample.take(np.arange(start, start + 3))) for start in (0, 3, 6)]
    assert block(sample) == pytest.approx(np.mean(one_by_one), rel=1e-12)


@pytest.mark.parametrize("kernel", [LaplaceKernel(), GaussianKernel()], ids=repr)
@pytest.mark.parametrize(("kind", "size"), [("unbiased", 2), ("biased", 2), ("block", 3)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_standardised_errors_have_mean_zero_and_variance_one_under_calibration(n_classes, kind, size, kernel):
    sample = make_sample(n_classes, seed=6, n=6, weighted=kind != "block")
    law = law_of_labels(SKCE((0.2, 0.7), kind, kernel, size), sample)
    standardized = law.values[..., 1]
    np.testing.assert_allclose(law.masses @ standardized, 0, atol=1e-10)
    np.testing.assert_allclose(law.masses @ standardized**2, 1, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_scale_of_a_single_bandwidth_is_the_exact_standard_deviation(n_classes):
    sample = make_sample(n_classes, seed=7, n=6, weighted=True)
    law = law_of_labels(SKCE(0.4), sample)
    assert law.mean == pytest.approx(0, abs=1e-15)
    assert SKCE(0.4).prepare(sample.predictions).capabilities.scale ** 2 == pytest.approx(
        law.values**2 @ law.masses, rel=1e-10
    )


def test_the_value_at_known_chances_is_the_mean_over_labels():
    """A U-statistic of independent labels: its mean is its value at the mean residuals."""
    sample = make_sample(3, seed=8, n=5)
    truths = np.random.Generator(np.random.PCG64(9)).dirichlet(np.ones(3), 5)
    law = law_of_labels(SKCE(0.4), sample, truths)
    assert law.mean == pytest.approx(float(SKCE(0.4).prepare(sample.predictions)(truths)), rel=1e-10)


def test_several_bandwidths_are_a_record_of_single_ones():
    sample = make_sample(3, seed=10)
    found = SKCE([0.5, 0.1, 0.02])(sample)
    assert isinstance(found, KernelErrors)
    np.testing.assert_allclose(found.squared, [SKCE(each)(sample) for each in (0.5, 0.1, 0.02)], rtol=1e-12)
    scales = [SKCE(each).prepare(sample.predictions).capabilities.scale for each in (0.5, 0.1, 0.02)]
    np.testing.assert_allclose(found.standardized, found.squared / scales, rtol=1e-10)
    assert found.headline == float(found) == max(found.standardized)
    result = cs.calibration_test(sample, SKCE([0.5, 0.1, 0.02]), null=cs.Consistency(99), rng=0)
    assert result.statistic == pytest.approx(found.headline)


def test_multiples_are_of_the_median():
    sample = make_sample(3, seed=11)
    rows = sample.y_prob
    distances = [np.abs(rows[i] - rows[j]).sum() / 2 for i in range(40) for j in range(i)]
    found = SKCE(multiples=(1, 0.5))(sample)
    np.testing.assert_allclose(found.bandwidths, np.median(distances) * np.array([1, 0.5]), rtol=1e-12)


def test_the_median_of_many_rows_is_close_to_that_of_all():
    p = np.random.Generator(np.random.PCG64(12)).random(3000)
    sample = cs.Sample((p > 0.5).astype(int), p)
    found = median_distance(sample.predictions, features(sample.predictions), LaplaceKernel())
    gaps = np.abs(p[:, None] - p)[np.triu_indices(3000, 1)]
    assert found == pytest.approx(np.median(gaps), rel=0.01)


def test_the_median_of_mostly_equal_rows_is_that_of_different_ones():
    sample = cs.Sample([0, 1, 0, 1, 1], [0.5, 0.5, 0.5, 0.5, 0.9])
    assert median_distance(sample.predictions, features(sample.predictions), LaplaceKernel()) == pytest.approx(0.4)
    constant = cs.Sample([0, 1], [0.5, 0.5])
    assert median_distance(constant.predictions, features(constant.predictions), LaplaceKernel()) == 1.0


def test_the_median_does_not_depend_on_the_order_of_rows():
    sample = make_sample(3, seed=13, n=1500)
    order = np.random.Generator(np.random.PCG64(14)).permutation(1500)
    first, second = (
        median_distance(each.predictions, features(each.predictions), LaplaceKernel())
        for each in (sample, sample.take(order))
    )
    assert first == pytest.approx(second, rel=1e-12)


def test_a_single_row_has_no_pairs():
    sample = cs.Sample([1], [0.4])
    assert SKCE()(sample) == 0
    assert SKCE(kind="block")(sample) == 0
    assert SKCE(kind="biased")(sample) == pytest.approx(2 * 0.36)


def test_certain_predictions_have_no_spread():
    sample = cs.Sample([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0])
    assert SKCE(0.1)(sample) == 0
    assert SKCE(0.1).prepare(sample.predictions).capabilities.scale is None
    assert (SKCE([0.1, 1])(sample).standardized == 0).all()
    wrong = cs.Sample([1, 1, 1, 0], [0.0, 1.0, 0.0, 0.0], labels=[0, 1])
    assert np.isfinite(SKCE([0.1, 1])(wrong).standardized).all()


def test_a_rotated_oscillation_is_found_by_the_small_bandwidth():
    """Errors that cancel over a tenth of the range: the reason for several bandwidths."""
    rng = np.random.Generator(np.random.PCG64(15))
    p = rng.uniform(0.2, 0.8, 1500)
    y = (rng.random(1500) < p + 0.2 * np.sin(2 * np.pi * 12 * p)).astype(int)
    found = SKCE([0.3, 0.02])(cs.Sample(y, p))
    assert found.standardized[1] > 5 > found.standardized[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SKCE("mean"), "bandwidth is 'mean'"),
        (lambda: SKCE(0.0), "bandwidth is"),
        (lambda: SKCE([]), "bandwidth is"),
        (lambda: SKCE([0.1, -1]), "bandwidth is"),
        (lambda: SKCE(float("nan")), "bandwidth is"),
        (lambda: SKCE(kind="linear"), "kind is 'linear'"),
        (lambda: SKCE(block_size=0), "block_size is 0"),
        (lambda: SKCE([0.1, 0.2], multiples=(1, 2)), "multiples are of a single bandwidth"),
        (lambda: SKCE(multiples=(0,)), "multiples is"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_sums_over_blocks_and_panels_know_their_rows():
    rows = make_sample(3, n=11).y_prob
    assert len(BlockSums(LaplaceKernel(), rows, (0.1,), 4).rows) == 8
    assert len(PanelSums(LaplaceKernel(), rows, (0.1,)).rows) == 11


def test_agreement_with_probcal():
    metrics = pytest.importorskip("probcal.metrics.kernel")
    sample = make_sample(2, seed=16, n=200)
    y, p = sample.outcomes, sample.predictions.event
    for ours, theirs in (("unbiased", "uq"), ("biased", "biased")):
        assert SKCE(0.3, ours)(sample) == pytest.approx(metrics.skce(y, p, estimator=theirs, bandwidth=0.3), rel=1e-10)
        gaussian = metrics.skce(y, p, estimator=theirs, kernel="gaussian", bandwidth=0.3)
        scalar = SKCE(0.3 * np.sqrt(2), ours, GaussianKernel())  # ours measures vectors of two
        assert scalar(sample) == pytest.approx(gaussian, rel=1e-10)


def test_the_kernel_error_is_a_seminorm():
    sample = make_sample(3, seed=6)
    evaluate, rows = cs.KCE(0.3).prepare(sample.predictions), sample.y_prob
    rng = np.random.Generator(np.random.PCG64(7))
    for _ in range(20):
        first, second = (gap - gap.mean(axis=1, keepdims=True) for gap in rng.normal(size=(2, *rows.shape)))
        one, other = evaluate(rows + first), evaluate(rows + second)
        assert abs(one - other) <= evaluate(rows + first - second) + 1e-12
        assert evaluate(rows - 3 * first) == pytest.approx(3 * one)


@pytest.mark.parametrize("bandwidth", [5e-324, 2.4e-310, 1e-300, 1e-160, 1e160, 1e300, 1.7e308])
@pytest.mark.parametrize("make", [cs.SKCE, cs.SmoothECE, cs.KDECE, lambda h: cs.SKCE(h, kernel=cs.GaussianKernel())])
def test_bandwidths_at_the_ends_of_floats_are_limits(make, bandwidth):
    rng = np.random.default_rng(0)
    p = np.append(rng.random(50), [1e-310, 2e-310, 3e-310])
    sample = cs.Sample(rng.random(53) < p, p, labels=[False, True])
    if bandwidth > 1:
        assert make(bandwidth)(sample) == pytest.approx(make(1e6)(sample), rel=1e-4)
    else:
        found = make(bandwidth)(sample)
        assert np.isfinite(found)
        assert make is not cs.SKCE or abs(found) < 1e-12  # no two rows are alike


@pytest.mark.parametrize("unit", [1e100, 1e200, 1e300, 1e-170, 1e-300])
def test_a_variable_beside_predictions_has_no_unit(unit):
    rng = np.random.default_rng(0)
    p, age = rng.beta(2, 2, 200), rng.uniform(20, 80, 200)
    y = rng.random(200) < np.clip(p + (age - 50) / 100, 0, 1)
    for estimator in (cs.SKCE(), cs.UCME(5)):
        own, other = (
            (cs.Given(..., "age") | estimator)(cs.Sample(y, p, variables={"age": each})) for each in (age, age * unit)
        )
        assert other == pytest.approx(own)
