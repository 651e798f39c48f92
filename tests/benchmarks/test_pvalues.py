"""A p-value from a thousand replicates, against the loops of other packages and a plain one."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from benchmarks.timing import bincount_pass, interleaved
from benchmarks.worlds import arrays, binary

N_RESAMPLES, N_BINS = 1000, 15
EQUAL_MASS = cs.ECE(cs.EqualMass(N_BINS))
REDRAWN = cs.Consistency(N_RESAMPLES, resample_predictions=True)


def equal_width_loop(p, replicates, rng):
    """T-Cal's loop (Lee et al. 2023), written out: rows by choice, labels by binomial draws, cells by a histogram."""
    for _ in range(replicates):
        drawn = rng.choice(p, len(p))
        labels = rng.binomial(1, drawn)
        place = np.clip(np.digitize(drawn, np.linspace(0, 1, N_BINS + 1)) - 1, 0, N_BINS - 1)
        counts, gaps = np.bincount(place, minlength=N_BINS), np.bincount(place, drawn - labels, N_BINS)
        np.abs(gaps[counts > 0]).sum()


def equal_mass_loop(p, replicates, rng):
    """Rows with replacement, labels, a sort and the error: the least that plain numpy can do."""
    borders = np.linspace(0, len(p), N_BINS + 1).astype(int)[:-1]
    for _ in range(replicates):
        drawn = p[rng.integers(0, len(p), len(p))]
        residual = ((rng.random(len(p)) < drawn) - drawn)[np.argsort(drawn)]
        np.abs(np.add.reduceat(residual, borders)).sum()


@pytest.mark.parametrize(("null", "goal"), [(cs.Exact(), 1000), (cs.Consistency(N_RESAMPLES), 1500)], ids=repr)
def test_predictions_kept_against_pycalib(null, goal, ratios):
    """pycalib draws labels and evaluates its class-wise error on both columns; here in one process, not a pool."""
    metrics = pytest.importorskip("pycalib.metrics")
    sample = binary(100_000)
    rng, rows = np.random.default_rng(6), sample.predictions.chances

    def peer():
        drawn = (rng.random((len(rows), 1)) < rows[:, 1:]).astype(float)
        metrics.classwise_ECE(np.hstack([1 - drawn, drawn]), rows, bins=N_BINS)

    def whole():
        return cs.calibration_test(sample, EQUAL_MASS, null=null, rng=0)

    name = f"p-value, {type(null).__name__}, 15 cells of equal mass, n = 1e5; pycalib"
    ratios.faster(name, whole, peer, goal, rounds=5, times=N_RESAMPLES)


def test_exact_has_no_error_of_monte_carlo():
    sample = binary(100_000)
    pvalues = {cs.calibration_test(sample, EQUAL_MASS, null=cs.Exact(), rng=seed).pvalue for seed in range(3)}
    assert len(pvalues) == 1
    drawn = cs.calibration_test(sample, EQUAL_MASS, null=cs.Consistency(9999), rng=0).pvalue
    assert abs(pvalues.pop() - drawn) < 4 * np.sqrt(0.25 / 9999)


@pytest.mark.parametrize(
    ("n", "loop", "replicates", "goal"),
    [
        (100_000, equal_width_loop, 10, 1000),
        (100_000, equal_mass_loop, 10, 300),
        (1_000_000, equal_width_loop, 2, 2000),
        (1_000_000, equal_mass_loop, 2, 1200),
    ],
)
def test_predictions_drawn_anew_against_loops(n, loop, replicates, goal, ratios):
    sample, rng = binary(n), np.random.default_rng(4)
    p = sample.predictions.event.copy()

    def whole():
        return cs.calibration_test(sample, EQUAL_MASS, null=REDRAWN, rng=0)

    peer = "T-Cal's loop" if loop is equal_width_loop else "numpy loop"
    name = f"p-value, predictions drawn anew, cells cut again, n = {n:g}; {peer}"
    ratios.faster(name, whole, lambda: loop(p, replicates, rng), goal, rounds=3, times=N_RESAMPLES / replicates)


@pytest.mark.parametrize("binning", [cs.EqualMass(N_BINS), cs.EqualWidth(N_BINS)], ids=repr)
def test_predictions_drawn_anew_against_a_pass_over_the_data(binning, ratios):
    """With the observed value, which alone takes several passes."""
    sample, estimator = binary(1_000_000), cs.ECE(binning)
    labels, p = arrays(sample)

    def whole():
        return cs.calibration_test(sample, estimator, null=REDRAWN, rng=0)

    fast, one = interleaved([whole, lambda: bincount_pass(labels, p)], rounds=9)
    name = f"p-value, predictions drawn anew, {binning!r}, n = 1e6; one bincount pass"
    ratios.record(name, 1e3 * fast, 1e3 * one, 4)


@pytest.mark.parametrize(("n", "replicates", "goal"), [(10_000, 20, 1000), (100_000, 3, 10_000)])
def test_bootstrap_of_the_debiased_error_against_uncertainty_calibration(n, replicates, goal, ratios):
    calibration, utils = pytest.importorskip("calibration"), pytest.importorskip("calibration.utils")
    sample = binary(n)
    rows = list(zip(*(each.tolist() for each in reversed(arrays(sample))), strict=True))
    edges, debiased = utils.get_equal_bins([p for p, _ in rows], num_bins=N_BINS), cs.DebiasedCE(cs.EqualMass(N_BINS))

    def peer():
        calibration.bootstrap_uncertainty(
            rows, lambda drawn: utils.unbiased_l2_ce(utils.bin(drawn, edges)), num_samples=replicates
        )

    def whole():
        return cs.Bootstrap(N_RESAMPLES).replicates(debiased, sample, rng=0)

    name = f"bootstrap of the debiased error, n = {n:g}; uncertainty-calibration"
    # the peer evaluates the sample itself twice besides
    ratios.faster(name, whole, peer, goal, rounds=3, times=N_RESAMPLES / (replicates + 2))
