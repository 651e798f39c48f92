"""What is said of rows in clusters: coefficients, summaries and words know that rows of a cluster are alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import rel_entr

import calibstat as cs
from calibstat.inference.band import calibration_band
from calibstat.inference.direction import direction_of
from calibstat.inference.intervals import student_quantile


def copies(number=60, times=10, power=1.0, groups=True):
    """Each of so many patients, many times with the same outcome."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, number)
    rows = np.repeat(np.arange(number), times)
    more = {"groups": rows} if groups else {}
    return cs.Sample((rng.random(number) < p).astype(int)[rows], p[rows] ** power, **more)


@pytest.mark.parametrize(("name", "place"), [("slope", "slope"), ("intercept_in_the_large", "intercept")])
def test_a_coefficient_has_one_interval_in_all_verbs(name, place):
    sample = copies()
    alone = cs.estimate(sample, cs.Cox(statistic=name), n_resamples=99, rng=0).confidence_interval
    fit = cs.Cox()(sample)
    together = cs.estimate(sample, cs.Cox(), n_resamples=99, rng=0)
    measure = {each.name: each for each in together.parts}[name]
    summary = cs.clinical_summary(sample, n_resamples=99, rng=0)[place]
    for ends in (getattr(fit, f"{name}_interval"), measure.interval, summary.interval):
        np.testing.assert_allclose(ends, alone, rtol=1e-9)
    assert "clustered" not in {each.name for each in together.parts}


def test_copies_of_rows_are_no_more_than_the_rows():
    one, many, blind = (cs.Cox()(copies(times=times, groups=known)) for times, known in ((1, 0), (10, 1), (10, 0)))
    assert many.slope == pytest.approx(one.slope)
    assert 0.8 < many.slope_error / one.slope_error < 1.25
    assert blind.slope_error == pytest.approx(one.slope_error / np.sqrt(10))
    assert np.isnan([many.score_pvalue, many.likelihood_ratio_pvalue]).all()
    assert np.isfinite([blind.score_pvalue, blind.likelihood_ratio_pvalue]).all()


def test_errors_of_coefficients_are_those_of_the_sandwich_with_sums_over_clusters():
    rng = np.random.default_rng(1)
    p, codes, weights = rng.beta(1, 2, 300), rng.integers(0, 40, 300), rng.uniform(0.5, 2.0, 300)
    sample = cs.Sample((rng.random(300) < p).astype(int), p, groups=codes, sample_weight=weights)
    fit = cs.Cox()(sample)
    design = np.column_stack([np.ones(300), np.log(p / (1 - p))])
    chance = 1 / (1 + np.exp(-design @ [fit.intercept, fit.slope]))
    bread = np.linalg.inv((weights * chance * (1 - chance) * design.T) @ design)
    meat = np.zeros((2, 2))
    for code in range(40):
        rows = codes == code
        score = (weights * (sample.outcomes - chance))[rows] @ design[rows]
        meat += np.outer(score, score) / (1 - weights[rows].sum() / weights.sum())
    errors = np.sqrt(np.diagonal(bread @ meat @ bread))
    np.testing.assert_allclose([fit.intercept_error, fit.slope_error], errors, rtol=1e-9)


def test_few_clusters_have_coefficients_without_intervals():
    fit = cs.Cox()(copies(number=11))
    assert np.isfinite([fit.slope, fit.intercept, fit.intercept_in_the_large]).all()
    assert np.isnan([*fit.slope_interval, *fit.intercept_in_the_large_interval]).all()
    summary = cs.clinical_summary(copies(number=11), n_resamples=99, rng=0)
    assert np.isnan([summary["slope"].low, summary["oe"].low]).all()
    assert "there are 11 clusters" in summary.to_text(verbose=True)


def test_direction_needs_more_of_clusters_than_of_rows():
    seen = [direction_of(copies(power=1.6, groups=known)) for known in (True, False)]
    assert "too extreme" in seen[1].words
    assert "too extreme" not in seen[0].words
    assert "too extreme" in direction_of(copies(number=600, times=3, power=2.0)).words
    assert direction_of(copies(number=11, power=3.0)).words == ""


def test_clear_is_as_unlikely_as_two_normal_errors():
    sample = copies(number=30)
    found, residual = direction_of(sample), sample.outcomes - sample.predictions.event
    sums = np.bincount(sample.groups.codes, residual) / len(sample)
    assert found.mean_error == pytest.approx(
        np.sqrt(30 / 29 * sums @ sums) * student_quantile(29, 0.97725) / 2, rel=1e-3
    )


def test_a_summary_counts_clusters_and_bounds_what_it_can():
    sample = copies(number=80)
    found = cs.clinical_summary(sample, n_resamples=99, rng=0)
    assert "in 800 rows of 80 clusters (groups))" in " ".join(found.verdict.split())
    assert "too" not in found.direction
    share = sample.outcomes.mean()
    uncertainty = found["uncertainty"]
    assert uncertainty.low < share * (1 - share) < uncertainty.high
    blind = cs.clinical_summary(copies(number=80, groups=False), n_resamples=99, rng=0)["uncertainty"]
    assert uncertainty.high - uncertainty.low > 2 * (blind.high - blind.low)
    assert "sums over clusters" in " ".join(found.to_text(verbose=True).split())


def test_a_band_of_copies_is_no_narrower_than_that_of_the_rows():
    one, many, blind = (
        calibration_band(copies(times=times, groups=known)) for times, known in ((1, 0), (10, 1), (10, 0))
    )
    widths = [(each.upper - each.lower).mean() for each in (one, many, blind)]
    assert widths[0] < widths[1] < 1.2 * widths[0]
    assert widths[2] < 0.8 * widths[0]
    assert many.to_dict()["n_clusters"] == 60
    assert "600 rows in 60 clusters (groups)" in " ".join(many.to_text().split())


@pytest.mark.parametrize("seed", range(3))
def test_a_band_of_clusters_agrees_with_loops_over_runs(seed):
    rng = np.random.default_rng(seed)
    p, codes = rng.choice([0.1, 0.25, 0.4, 0.6, 0.85], 60), rng.integers(0, 25, 60)
    y = (rng.random(60) < p).astype(int)
    band = calibration_band(cs.Sample(y, p, groups=codes, labels=[0, 1]), confidence_level=0.8)
    values = np.unique(p)
    low, high, delta = np.zeros(5), np.ones(5), 0.2 / 30
    for first in range(5):
        for last in range(first, 5):
            inside = (p >= values[first]) & (p <= values[last])
            share = inside.sum() / np.bincount(codes[inside]).max()
            low[last:] = np.maximum(low[last:], chernoff(y[inside].mean(), share, delta))
            high[: first + 1] = np.minimum(high[: first + 1], 1 - chernoff(1 - y[inside].mean(), share, delta))
    np.testing.assert_allclose([band.lower, band.upper], [low, high], atol=1e-9)
    assert (band.lower > 0).any()


def chernoff(mean, shares, delta):
    """The chance below a mean at which so many equal shares are as unlikely as delta."""

    def left(chance):
        return shares * (rel_entr(mean, chance) + rel_entr(1 - mean, 1 - chance)) + np.log(delta)

    return brentq(left, 1e-300, mean) if mean > 0 and left(1e-300) > 0 else 0.0


def test_the_pvalue_of_a_band_of_clusters_is_where_the_diagonal_leaves():
    sample = copies(number=300, times=2, power=3.0)
    pvalue = calibration_band(sample, digits=1).pvalue
    assert 0 < pvalue < 0.2
    for factor, rejected in ((0.999, False), (1.001, True)):
        band = calibration_band(sample, confidence_level=1 - pvalue * factor, digits=1)
        assert band.rejects_calibration is rejected


def test_a_step_of_a_trajectory_is_tested_as_its_sample_is():
    sample = copies(power=2.0)
    steps = cs.trajectory({1: sample}, {"ECE": cs.ECE()}, n_resamples=99, rng=0)
    alone = cs.trajectory({1: copies(power=2.0, groups=False)}, {"ECE": cs.ECE()}, n_resamples=99, rng=0)
    test = cs.calibration_test(sample, cs.ECE(), n_resamples=99, rng=0)
    assert float(steps["pvalue"].squeeze()) == test.pvalue
    assert float(alone["null_mean"].squeeze()) < 0.6 * float(steps["null_mean"].squeeze()) == 0.6 * test.null_mean


def test_a_report_tests_clusters():
    known, alone = (
        cs.report(copies(groups=groups), calibrators={}, rng=0).to_dict()["answer"]["headline"]
        for groups in (True, False)
    )
    assert known.startswith("There is no evidence")
    assert not alone.startswith("There is no evidence")
