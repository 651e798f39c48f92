"""Defects of other packages, as measured: what they do where they are installed, and what happens here in any case."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import calibstat as cs


def peer(name):
    """Import a peer, silencing what it warns of at import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def data(n, seed=0):
    rng = np.random.Generator(np.random.PCG64(seed))
    p = rng.random(n)
    return (rng.random(n) < p**1.3).astype(int), p


# Cells


def test_as_many_cells_as_were_asked_for():
    y, p = data(5000)
    assert cs.EqualWidth(10).cut(cs.Sample(y, p).predictions).size == 10


def test_mapie_has_one_cell_fewer():
    """MAPIE: its edges are linspace(0, 1, num_bins)."""
    mapie = peer("mapie.metrics.calibration")
    y, p = data(5000)
    ours = [cs.ECE(cs.EqualWidth(n_bins))(cs.Sample(y, p)) for n_bins in (9, 10)]
    theirs = [mapie.expected_calibration_error(y, p, num_bins=n, split_strategy="uniform") for n in (10, 11)]
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_mapie_splits_rows_that_are_not_sorted():
    """MAPIE: "array split" depends on the order of rows; cells of equal mass do not."""
    mapie = peer("mapie.metrics.calibration")
    rng = np.random.Generator(np.random.PCG64(0))
    p = rng.random(2000)
    y = (rng.random(2000) < 0.25 + p / 2).astype(int)
    order = np.argsort(p)
    theirs = [
        mapie.expected_calibration_error(y[rows], p[rows], num_bins=11, split_strategy="array split")
        for rows in (np.arange(2000), order)
    ]
    assert theirs[0] < 0.5 * theirs[1]
    ours = [cs.ECE(cs.EqualMass(10))(cs.Sample(y[rows], p[rows])) for rows in (np.arange(2000), order)]
    assert ours[0] == pytest.approx(ours[1], abs=1e-14)
    assert ours[0] > 0.05


def test_rows_that_say_zero_are_counted():
    sample = cs.Sample([1, 0, 1, 1], [0.0, 0.0, 0.4, 0.9])
    assert cs.HistogramRegression(cs.EqualWidth(5))(sample)["count"].values.tolist() == [2, 0, 1, 0, 1]
    assert cs.ECE(cs.EqualWidth(5))(sample) == pytest.approx((2 * 0.5 + 0.6 + 0.1) / 4)


def test_calzone_drops_rows_that_say_zero():
    """calzone: cells (a, b] from 0, so that certain rows are in none."""
    calzone = peer("calzone.utils")
    y, p = np.array([1, 0, 1, 1] * 50), np.array([0.0, 0.0, 0.4, 0.9] * 50)
    *_, counts = calzone.reliability_diagram(y, np.column_stack([1 - p, p]), num_bins=5, class_to_plot=1)
    assert np.sum(counts) < len(y)


def test_empty_cells_are_not_called_calibrated():
    """netcal draws them at the middle of the cell, on the diagonal."""
    table = cs.HistogramRegression(cs.EqualWidth(4))(cs.Sample([0, 1], [0.1, 0.9]))
    assert np.isnan(table["mean_outcome"].values[1:3]).all()
    assert np.isnan(table["deviation"].values[1:3]).all()


# Shapes and values that do not fit


def test_two_columns_are_the_same_predictions_as_one():
    """Binary labels with one column of predictions: the classes are not mixed up."""
    y, p = data(2000)
    values = [cs.ECE(cs.EqualWidth(10))(cs.Sample(y, rows)) for rows in (p, np.column_stack([1 - p, p]))]
    cells = (10 * p).astype(int)
    by_hand = sum(abs((y - p)[cells == cell].sum()) for cell in range(10)) / 2000
    assert values == pytest.approx([by_hand] * 2, abs=1e-14)


def test_pycalib_mixes_up_shapes():
    """PyCalib: binary_ECE agrees; ECE and full_ECE of labels in one column are silently of something else."""
    pycalib = peer("pycalib.metrics")
    y, p = data(2000)
    ours = cs.ECE(cs.EqualWidth(10))(cs.Sample(y, p))
    assert pycalib.binary_ECE(y, p, bins=10) == pytest.approx(ours, abs=1e-12)
    rows = np.column_stack([1 - p, p])
    assert pycalib.ECE(y, rows, bins=10) > 1.5 * ours
    assert pycalib.full_ECE(y, rows, bins=10) > 5 * ours


@pytest.mark.parametrize("wrong", [1.001, -0.01, np.nan, np.inf])
def test_what_is_no_probability_is_refused(wrong):
    """torchmetrics puts the whole array through a sigmoid if one value is outside [0, 1]."""
    with pytest.raises(ValueError, match="y_prob"):
        cs.Sample([0, 1, 1], [0.2, wrong, 0.9])


def test_scikit_learn_takes_missing_predictions():
    calibration = peer("sklearn.calibration")
    y, p = data(200)
    p[p.argmax()] = np.nan
    try:
        _, predicted = calibration.calibration_curve(y, p, n_bins=5)
    except ValueError:
        pytest.skip("this version refuses them too")
    assert np.isnan(predicted).any()


def test_inputs_stay_as_they_are():
    """MAPIE overwrote labels {1, 2} by {0, 1} in the caller's array."""
    y, p = data(100)
    labels = y + 1
    before, rows = labels.copy(), p.copy()
    cs.calibration_test(cs.Sample(labels, p), cs.ECE(cs.EqualWidth(5)), null=cs.Consistency(9), rng=0)
    np.testing.assert_array_equal(labels, before)
    np.testing.assert_array_equal(p, rows)


def test_mapie_overwrites_labels():
    mapie = peer("mapie.metrics.calibration")
    y, p = data(100)
    labels = y + 1
    mapie.expected_calibration_error(labels, p, num_bins=5)
    if set(labels) == {1, 2}:
        pytest.skip("this version leaves them")
    assert set(labels) == {0, 1}


def test_rows_go_by_position_and_not_by_the_index_of_a_frame():
    y, p = data(300)
    labels, scores = pd.Series(y), pd.Series(p, index=np.arange(300)[::-1])
    assert cs.SmoothECE()(cs.Sample(labels, scores)) == cs.SmoothECE()(cs.Sample(y, p))


def test_relplot_aligns_the_index_of_a_frame():
    relplot = peer("relplot")
    y, p = data(300)
    theirs = relplot.smECE(pd.Series(p, index=np.arange(300)[::-1]), pd.Series(y))
    assert abs(theirs - cs.SmoothECE()(cs.Sample(y, p))) > 0.05


# Statements about uncertainty


def calibrated(n, seed):
    rng = np.random.Generator(np.random.PCG64(seed))
    p = rng.random(n)
    return cs.Sample((rng.random(n) < p).astype(int), p)


def test_an_estimate_lies_in_its_interval():
    """probcal: percentile intervals of biased statistics lie beside the estimate. An error is not negative."""
    for seed in range(10):
        found = cs.estimate(calibrated(500, seed), cs.DebiasedL2(cs.EqualMass(10)), rng=seed)
        low, high = found.confidence_interval
        assert low <= max(found.estimate, 0.0) <= high


def test_the_confidence_level_is_a_fraction():
    """A higher level gives a wider interval, and a per cent is refused."""
    sample, estimator = calibrated(500, 1), cs.DebiasedL2(cs.EqualMass(10))
    widths = [
        float(np.diff(cs.estimate(sample, estimator, confidence_level=level, rng=0).confidence_interval)[0])
        for level in (0.8, 0.99)
    ]
    assert widths[0] < widths[1]
    with pytest.raises(ValueError, match="confidence_level is 90"):
        cs.estimate(sample, estimator, confidence_level=90, rng=0)


def test_uncertainty_calibration_takes_a_fraction_for_per_cent():
    """uncertainty-calibration: its 1 - alpha = 90 % interval has the ends of the 99.9 % one."""
    calibration = peer("calibration")
    sample = calibrated(200, 2)
    p, y = sample.predictions.event.tolist(), sample.outcomes.tolist()
    state = np.random.get_state()  # noqa: NPY002 (the peer draws from the global generator)
    np.random.seed(0)  # noqa: NPY002
    (low, _, high), (inner, _, outer) = (
        calibration.get_calibration_error_uncertainties(p, y, alpha=alpha) for alpha in (0.1, 10)
    )
    np.random.set_state(state)  # noqa: NPY002
    assert high - low > 1.2 * (outer - inner)


@pytest.mark.slow
def test_two_calibrated_models_of_different_sizes_are_not_told_apart():
    """calibstats compares plug-in errors, whose bias depends on n: 200 and 2000 rows differ in every run."""
    pvalues = [
        cs.comparison_test(
            calibrated(200, seed),
            calibrated(2000, 1000 + seed),
            cs.DebiasedL2(cs.EqualMass(10)),
            paired=False,
            rng=seed,
        ).pvalue
        for seed in range(40)
    ]
    assert np.mean(np.array(pvalues) < 0.05) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 40)


def test_a_pvalue_is_never_zero():
    """k / B can be; (k + 1) / (B + 1) cannot."""
    y, p = np.ones(200, dtype=int), np.full(200, 0.01)
    sample = cs.Sample(y, p, labels=[0, 1])
    assert cs.calibration_test(sample, cs.ECE(cs.UniqueValues()), null=cs.Consistency(99), rng=0).pvalue == 0.01


def test_large_negative_estimates_are_no_evidence():
    """CalibrationTests.jl squares the signed estimate in its distribution-free bound."""
    p = np.full(40, 0.5)
    sample = cs.Sample(np.tile([0, 1], 20), p)
    assert cs.SKCE(0.5)(sample) < 0
    assert cs.calibration_test(sample, cs.SKCE(0.5), null=cs.Consistency(99), rng=0).pvalue > 0.5


def test_a_calibrated_model_has_no_kernel_error_in_either_shape():
    """netcal: the kernel error of one column compares the chance of class 1 with being right."""
    sample = calibrated(2000, 3)
    both = cs.Sample(sample.outcomes, sample.predictions.probabilities)
    assert abs(cs.SKCE(0.2)(sample)) < 0.002
    assert cs.SKCE(0.2)(both) == pytest.approx(cs.SKCE(0.2)(sample), rel=1e-9)
