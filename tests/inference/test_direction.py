"""Which way a model errs: words that rest on many rows, and nothing where log-odds are infinite."""

import numpy as np
import pytest
from scipy.stats import binom

import calibstat as cs
from calibstat.inference.direction import direction_of
from tests.suites import everything

RNG = np.random.default_rng(0)


def calibrated(n):
    p = RNG.random(n)
    return RNG.random(n) < p, p


def test_a_prediction_of_zero_or_one_has_no_slope_and_no_intercept():
    happened, p = calibrated(2000)
    p[:3], happened[:3] = 0.0, [True, False, False]
    sample = cs.Sample(happened, p)
    found = direction_of(sample)
    assert np.isnan(found.slope)
    assert found.certain
    assert not found.inclined()
    assert str(found).endswith("; no slope, as some predictions are 0 or 1)")
    summary = cs.clinical_summary(sample, n_resamples=19, rng=0)
    assert np.isnan([summary["slope"].value, summary["intercept"].value]).all()
    assert "no slope, as some predictions are 0 or 1." in summary.verdict
    fit = cs.Cox()(sample)
    assert np.isnan([fit.slope, fit.intercept, fit.intercept_in_the_large]).all()
    assert "intercept in the large      not defined" in everything(cs.estimate(sample, cs.Cox(), n_resamples=19, rng=0))


def test_predictions_of_zero_and_one_hide_no_slope_of_the_others():
    happened, p = calibrated(5000)
    told = p**2 / (p**2 + (1 - p) ** 2)
    told[told < 0.05], told[told > 0.95] = 0.0, 1.0
    found = direction_of(cs.Sample(happened, told))
    assert np.isnan(found.slope)
    assert found.inner[0] < 1 - 4 * found.inner[1]
    assert found.inclined() == "too extreme"
    assert "without the most extreme rows, and those of 0 and 1, it is " in found.of_slope


def test_rows_without_weight_do_not_count_as_certain():
    happened, p = calibrated(500)
    p[0] = 1.0
    assert np.isfinite(direction_of(cs.Sample(happened, p, sample_weight=1.0 * (np.arange(500) > 0))).slope)


def test_few_extreme_rows_do_not_make_predictions_too_extreme():
    happened, p = calibrated(20_000)
    p[:15], happened[:15] = 1e-102, True
    found = direction_of(cs.Sample(happened, p))
    assert found.slope < 1 - 4 * found.slope_error
    assert found.words in ("", "too low")
    assert found.n_clipped == 15
    assert "without the most extreme 0.1 % of the rows it is" in found.of_slope
    summary = cs.clinical_summary(cs.Sample(happened, p), n_resamples=19, rng=0)
    assert "too extreme" not in summary.verdict
    assert "the slope is not taken for an error" in everything(summary)


@pytest.mark.parametrize(("power", "word"), [(2.0, "too extreme"), (0.5, "too timid"), (-1.0, "in the wrong order")])
@pytest.mark.filterwarnings("ignore:y_prob taken")
def test_an_error_of_all_rows_is_found_in_its_direction(power, word):
    happened, p = calibrated(5000)
    told = p**power / (p**power + (1 - p) ** power)
    assert direction_of(cs.Sample(happened, told)).inclined() == word


def test_equal_predictions_are_tested_by_one_binomial_count():
    sample = cs.Sample([1] * 413 + [0] * 2587, np.full(3000, 0.15))
    count, away = np.arange(3001), 450 - 413
    expected = binom.pmf(count, 3000, 0.15)[np.abs(count - 450) >= away].sum()
    tests = [cs.calibration_test(sample, rng=seed) for seed in (0, 1)]
    assert [test.pvalue for test in tests] == pytest.approx([expected] * 2, rel=1e-9)
    assert tests[0].n_resamples is None
    summary = cs.clinical_summary(sample, n_resamples=19, rng=0)
    assert summary.average_pvalue == pytest.approx(expected, rel=1e-9)
    assert summary.belt is None
    assert "exact test of the mean error has p = 0.0619" in everything(summary)


def test_equal_predictions_that_are_rejected_are_rejected_by_both():
    sample = cs.Sample([1] * 100 + [0] * 900, np.full(1000, 0.15))
    assert cs.calibration_test(sample, rng=0).pvalue < 0.001
    assert cs.clinical_summary(sample, n_resamples=19, rng=0).verdict.startswith("Predictions are too high: 15 %")


def test_an_end_that_is_not_quite_one_is_not_rounded_to_it():
    sample = cs.Sample([1] * 413 + [0] * 2587, np.full(3000, 0.15))
    assert "O/E 0.918 (95 %: 0.839 to 1.004)" in cs.clinical_summary(sample, n_resamples=19, rng=0).verdict


def test_the_same_ratio_is_written_with_the_same_digits_everywhere():
    sample = cs.Sample([1] * 43 + [0] * 157, np.full(200, 0.2))
    assert "O/E 1.07 (" in cs.clinical_summary(sample, n_resamples=19, rng=0).verdict
    assert "O/E 1.07)" in cs.calibration_test(sample, rng=0).verdict


def test_a_clinical_summary_of_many_classes_is_of_the_predicted_one():
    sample = cs.generators.DirichletPredictions([1, 1, 1]).sample(200, rng=0)
    found = cs.clinical_summary(sample, n_resamples=19, rng=0)
    assert found.to_text().splitlines()[3].startswith("of P(predicted class)")
    seen = cs.clinical_summary(sample, lens=cs.TopLabel(), n_resamples=19, rng=0)
    assert found.verdict == seen.verdict


def test_statistics_are_named_as_what_they_are():
    sample = cs.Sample(*calibrated(60))
    assert "in standard errors: " in cs.estimate(sample, cs.Spiegelhalter(), n_resamples=19, rng=0).verdict
    belt = cs.estimate(sample, cs.CalibrationBelt(), n_resamples=19, rng=0)
    assert "p-value, about (many rows only)" in belt.to_text()


def test_either_class_may_be_called_the_event():
    """1.0 beside 1e-94 is no certainty, whichever of the two columns is that of the event."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.05, 0.95, 400)
    y, p[0] = rng.random(400) < p**2, 1e-94
    y[0] = False
    columns = np.column_stack([1 - p, p])
    assert columns[0, 0] == 1
    one = direction_of(cs.Sample(y.astype(int), columns, labels=[0, 1]))
    other = direction_of(cs.Sample(y.astype(int), columns[:, ::-1], labels=[1, 0]))
    assert np.isfinite(one.slope)
    assert other.slope == pytest.approx(one.slope)
    assert other.inner == pytest.approx(one.inner)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_chances_above_one_by_rounding_and_weights_of_one_prediction_have_a_direction():
    beyond = direction_of(cs.Sample([0, 1], [1 + 1e-9, 1 + 1e-9], labels=[0, 1]))
    assert beyond.happened == 0.5
    rng = np.random.default_rng(0)
    p = np.repeat([0.1, 0.3, 0.7], 10)
    weights = np.where(p == 0.3, 1e300, 1.0)
    one = direction_of(cs.Sample(rng.random(30) < 0.5, p, sample_weight=weights))
    assert one.predicted == pytest.approx(0.3)
    assert np.isnan(one.slope)
