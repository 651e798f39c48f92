"""Results as plain values: JSON holds them, whatever the estimator gives."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.combined import EachClass
from calibstat.inference.results import plain
from suites import everything


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    p = rng.random(60)
    return cs.Sample(rng.random(60) < p, p, variables={"site": np.where(p < 0.5, "a", "b")}, labels=[False, True])


RECORDS = [
    cs.Cox(),
    cs.BrownianBridge(),
    cs.ICI(),
    cs.CORP(),
    cs.LOESS(),
    cs.BrierDecomposition(cs.EqualMass(5)),
    cs.CalibrationBelt(),
    cs.HosmerLemeshow(),
    cs.WorstInterval(),
    EachClass(cs.ECE(cs.EqualMass(5))),
    cs.Within("site", cs.ECE(cs.EqualMass(5))),
]


@pytest.mark.parametrize("estimator", RECORDS, ids=repr)
def test_records_have_a_headline_and_values(small, estimator):
    found = cs.estimate(small, estimator, n_resamples=9, rng=0)
    values = found.to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values["estimate"] == pytest.approx(cs.calibration_test(small, estimator, rng=0).statistic)
    assert values["values"]
    assert values["null_mean"] == pytest.approx(found.headline_null_mean)
    assert f"{found.headline:.4g}" in everything(found)
    assert "an array" not in everything(found)


@pytest.mark.parametrize("estimator", [cs.HistogramRegression(cs.EqualWidth(7)), cs.IsotonicCurve()], ids=repr)
def test_what_has_no_headline(small, estimator):
    found = cs.estimate(small, estimator, n_resamples=9, rng=0)
    values = found.to_dict()
    assert values["estimate"] is values["null_mean"] is None
    assert json.loads(json.dumps(values, allow_nan=False))["values"]
    assert "several numbers, in .estimate" in everything(found)


def test_a_record_shows_each_number_beside_the_headline_with_its_own_interval(small):
    fit, text = cs.Cox()(small), everything(cs.estimate(small, cs.Cox(), n_resamples=9, rng=0))
    low, high = fit.slope_interval
    assert text.startswith(f"Calibration slope {fit.slope:.4g} (95 %: {low:.4g} to {high:.4g}), intercept in the large")
    assert re.search(rf"\ncalibration slope +{fit.slope:.4g} +1 +{low:.4g} to {high:.4g}\n", text)
    assert re.search(rf"\nintercept in the large +{fit.intercept_in_the_large:.4g} +0 ", text)
    assert re.search(rf"\nscore statistic +{fit.score:.4g} ", text)
    assert "CoxFit(" not in text


@pytest.mark.parametrize(
    ("record", "alone"),
    [
        (cs.ICI(), {name: cs.ICI(statistic=name) for name in ("ici", "e50", "e90", "emax")}),
        (cs.BrierDecomposition(cs.EqualMass(10)), {"score": cs.BrierScore()}),
        (cs.CORP(cs.LogScore()), {"score": cs.LogScore()}),
    ],
    ids=repr,
)
def test_a_number_of_a_record_has_the_value_and_about_the_interval_that_it_has_alone(small, record, alone):
    parts = {each.name: each for each in cs.estimate(small, record, rng=0).parts}
    for name, estimator in alone.items():
        found = cs.estimate(small, estimator, rng=0)
        assert parts[name].value == pytest.approx(found.headline)
        assert parts[name].interval == pytest.approx(found.confidence_interval, abs=0.03)


def test_the_parts_of_a_score_have_intervals_that_hold_them(small):
    for record in (cs.BrierDecomposition(cs.EqualMass(10)), cs.CORP(), cs.CORP(cs.LogScore())):
        parts = {each.name: each for each in cs.estimate(small, record, n_resamples=99, rng=0).parts}
        for name in {"sharpness", "uncertainty"} & set(parts):
            assert parts[name].low < parts[name].value <= parts[name].high


def test_numbers_that_are_not_defined_are_said_so():
    apart = cs.Sample([0, 0, 0, 1], [0.0, 0.0, 0.2, 0.0])
    text = everything(cs.estimate(apart, cs.Cox(), n_resamples=9, rng=0))
    assert re.search(r"\ncalibration slope +not defined", text)


@pytest.mark.parametrize("estimator", [cs.Cox(), cs.Cox(statistic="likelihood_ratio")], ids=repr)
def test_what_was_called_impossible_makes_both_statistics_infinite_and_is_said_in_words(estimator):
    """The likelihood ratio was that of clipped predictions, 15.6, beside a score statistic of inf."""
    sample = cs.Sample([0, 0, 0, 1, 1], [0.0, 0.0, 0.2, 0.0, 0.9])
    assert cs.Cox()(sample).likelihood_ratio == cs.Cox()(sample).score == np.inf
    assert np.isfinite(cs.Cox()(cs.Sample([0, 0, 0, 1, 1], [0.0, 0.0, 0.2, 0.1, 0.9])).likelihood_ratio)
    why = "1 row had an outcome that was predicted with a chance of 0, as no calibrated model has"
    for found in (cs.estimate(sample, estimator, n_resamples=9, rng=0), cs.calibration_test(sample, estimator, rng=0)):
        text = " ".join(found.to_text(200).split())
        assert " of slope 1 and intercept 0: infinite" in text
        assert f"the value is infinite: {why}" in text
        assert not re.search(r"\binf\b", text)


def test_certain_predictions_that_are_right_have_no_interval_by_the_noise_of_rows():
    sure = cs.Sample([0, 1] * 50, [0.0, 1.0] * 50)
    found = cs.estimate(sure, cs.ObservedToExpected(), n_resamples=9, rng=0)
    assert found.confidence_interval is None
    assert found.notes[0].startswith("all predictions are certain and right")
    assert not np.isfinite(cs.Cox()(sure).intercept_in_the_large)


def test_events_that_nobody_expected_are_infinitely_many_times_as_many():
    found = cs.estimate(cs.Sample([0, 1], [0.0, 0.0]), cs.ObservedToExpected(), n_resamples=9, rng=0)
    assert (found.headline, found.confidence_interval) == (np.inf, None)
    assert cs.ObservedToExpected()(cs.Sample([0, 0], [0.0, 0.0], labels=[0, 1])) == 1


def test_a_statistic_that_is_infinite():
    sample = cs.Sample([1, 0, 1], [0.0, 0.3, 0.6], labels=[0, 1])
    found = cs.calibration_test(sample, cs.LogScore(smallest=0), rng=0)
    assert found.statistic == np.inf
    values = found.to_dict()
    assert values["statistic"] is None
    json.dumps(values, allow_nan=False)
    estimated = cs.estimate(sample, cs.LogScore(smallest=0), rng=0)
    assert estimated.estimate == np.inf
    assert json.loads(json.dumps(estimated.to_dict(), allow_nan=False))["estimate"] is None


def test_plain_values_of_many_kinds():
    made = {1: np.float32(0.5), "b": [np.nan, np.bool_(True), np.str_("x")], "c": {"d": np.arange(2)}, "e": None}
    assert plain(made) == {"1": 0.5, "b": [None, True, "x"], "c": {"d": [0, 1]}, "e": None}
    assert plain(3 + 4j) == "(3+4j)"
