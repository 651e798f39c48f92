from __future__ import annotations

import json

import numpy as np
import pytest

import calibstat as cs
from suites import everything

ECE = cs.ECE(cs.EqualMass(10))


def test_estimate_is_the_estimator_beside_its_null_mean(calibrated):
    found = cs.estimate(calibrated, ECE, rng=7)
    null = cs.calibration_test(calibrated, ECE, null=cs.Consistency(999), rng=7).null_distribution
    assert found.estimate == ECE(calibrated)
    exact = cs.calibration_test(calibrated, ECE)
    assert found.null_mean == exact.null_mean
    assert abs(found.null_mean - null.mean) <= 4 * null.samples.std() / np.sqrt(999)
    assert type(found.null_mean) is float


def test_there_is_an_interval_and_the_text_says_for_what(calibrated):
    found = cs.estimate(calibrated, ECE, rng=0)
    low, high = found.confidence_interval
    assert (low, high) == (found.confidence_interval.low, found.confidence_interval.high)
    assert low == 0 < found.estimate < high
    assert f"(95 %: 0 to {high:.4g})" in str(found)
    assert "interval     for the *binned* error" in everything(found)


def test_text_shows_value_null_mean_lens_labels_and_source(miscalibrated):
    found = cs.estimate(miscalibrated, cs.TopLabel() | ECE, rng=0)
    for part in (
        f"Average calibration error: {found.estimate:.4g} (95 %: ",
        f"where noise alone gives {found.null_mean:.4g}. P(predicted class) (n = 600): ",
        "seen through TopLabel()",
        "n = 600",
        found.question.source,
    ):
        assert part in everything(found) or part in found.verdict
    assert all(label in found.question.source for label in ("cat", "dog", "car"))


def test_estimate_as_plain_values(calibrated):
    found = cs.estimate(calibrated, ECE, rng=0)
    values = found.to_dict()
    assert values["estimate"] == found.estimate
    assert values["null_mean"] == found.null_mean
    assert values["confidence_interval"] == list(found.confidence_interval)
    assert values["n"] == 400
    assert json.loads(json.dumps(values)) == values
    assert found.to_frame().shape == (1, len(values))


def test_histogram_regression_gives_a_dataset_and_null_means_of_zero(calibrated):
    cells = cs.HistogramRegression(cs.EqualWidth(4))
    found = cs.estimate(calibrated, cells, rng=0)
    expected = cells(calibrated)
    for name in expected:
        np.testing.assert_array_equal(found.estimate[name], expected[name])
    assert found.null_mean.shape == (4, 2)
    noise = 4 * 0.5 / np.sqrt(expected["count"].values * 999)  # four standard errors of a mean of 999 redraws, at most
    assert (np.abs(found.null_mean) <= noise[:, None]).all()
    assert "several numbers, in .estimate" in everything(found)


def test_histogram_regression_keeps_empty_cells():
    sample = cs.Sample([0, 1, 1], [0.1, 0.2, 0.9])
    found = cs.estimate(sample, cs.HistogramRegression(cs.EqualWidth(3)), n_resamples=9, rng=0)
    np.testing.assert_array_equal(found.estimate["count"], [2, 0, 1])
    np.testing.assert_array_equal(np.isnan(found.null_mean), [[False] * 2, [True] * 2, [False] * 2])


def test_signed_estimators_have_a_null_mean_near_zero(calibrated):
    found = cs.estimate(calibrated, cs.DebiasedL2(cs.EqualMass(10)), n_resamples=4000, rng=0)
    samples = cs.Consistency(4000).draw(cs.DebiasedL2(cs.EqualMass(10)), calibrated, np.random.default_rng(1)).samples
    assert abs(found.null_mean) <= 4 * samples.std() / np.sqrt(4000)
    assert found.null_mean < cs.estimate(calibrated, cs.RMSCE(cs.EqualMass(10)), rng=0).null_mean ** 2 / 4


def test_weights_count(calibrated):
    weights = np.where(calibrated.y_prob[:, 1] > 0.5, 3.0, 1.0)
    sample = cs.Sample(calibrated.y_true, calibrated.y_prob, sample_weight=weights, labels=["no", "yes"])
    found, plain = (cs.estimate(each, cs.ECE(cs.EqualWidth(5)), rng=0) for each in (sample, calibrated))
    residual = weights * (sample.outcomes - sample.y_prob[:, 1])
    cell = np.minimum((sample.y_prob[:, 1] * 5).astype(int), 4)
    assert found.estimate == pytest.approx(np.abs(np.bincount(cell, residual)).sum() / weights.sum(), abs=1e-14)
    assert found.null_mean > plain.null_mean


def test_same_rng_gives_the_same_null_mean(calibrated):
    seeds = (2, 2, np.random.default_rng(2), np.random.default_rng(2), 3, None)
    means = [cs.estimate(calibrated, cs.DebiasedL2(), rng=rng).null_mean for rng in seeds]
    assert (means[0], means[2]) == (means[1], means[3])
    assert len(set(means)) == 4
    assert len({cs.estimate(calibrated, ECE, rng=rng).null_mean for rng in seeds}) == 1  # computed, not drawn


@pytest.mark.parametrize("level", [0, 1, 95, -0.5])
def test_confidence_level_outside_the_unit_interval_is_refused(calibrated, level):
    with pytest.raises(ValueError, match=r"between 0 and 1, for example 0\.95"):
        cs.estimate(calibrated, ECE, confidence_level=level)


@pytest.mark.parametrize("n_resamples", [0, -3, True, 2.5])
def test_number_of_resamples_must_be_a_positive_integer(calibrated, n_resamples):
    with pytest.raises((TypeError, ValueError), match="n_resamples"):
        cs.estimate(calibrated, ECE, n_resamples=n_resamples)


def test_an_estimate_and_a_test_say_the_same_of_noise():
    """The block kernel error has a mean that is drawn; each of the two drew labels of its own for it."""
    sample = cs.generators.DirichletPredictions([1, 1, 1]).sample(200, rng=0)
    for estimator in (cs.SKCE(kind="block"), cs.TopLabel() | cs.SmoothCE()):
        found = cs.estimate(sample, estimator, rng=3), cs.calibration_test(sample, estimator, rng=3)
        assert found[0].headline_null_mean == found[1].null_mean != 0
