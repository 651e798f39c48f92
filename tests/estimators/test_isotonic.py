"""CORP and its curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import calibstat as cs
from calibstat.estimators.isotonic import CORP, IsotonicCurve
from calibstat.estimators.scores import BrierScore, LogScore, SphericalScore, ZeroOneLoss
from calibstat.generators import FinitePredictions
from strategies import samples

SCORES = [BrierScore(), LogScore(), SphericalScore(), ZeroOneLoss()]


@pytest.mark.parametrize("score", SCORES, ids=repr)
@given(sample=samples((2,)))
def test_the_parts_add_up_and_have_their_signs(score, sample):
    found = CORP(score)(sample)
    assert found.score == pytest.approx(score(sample), abs=1e-12)
    whole = found.miscalibration - found.discrimination + found.uncertainty
    assert whole == pytest.approx(found.score, abs=1e-9)
    assert found.miscalibration >= 0
    assert found.discrimination >= 0


@given(sample=samples((2,), weighted=False))
def test_recalibrated_predictions_have_no_miscalibration(sample):
    curve = IsotonicCurve()(sample)
    again = np.interp(sample.predictions.event, curve.prediction, curve.recalibrated)
    mapped = cs.Sample(sample.outcomes, again, labels=[0, 1])
    assert CORP()(mapped).miscalibration == pytest.approx(0, abs=1e-9)
    assert CORP()(mapped).discrimination == pytest.approx(CORP()(sample).discrimination, abs=1e-9)


@given(sample=samples((2,)))
def test_the_curve_rises_and_keeps_the_mean(sample):
    curve = IsotonicCurve()(sample)
    assert (np.diff(curve.prediction) > 0).all()
    assert (np.diff(curve.recalibrated) >= -1e-12).all()
    rate = np.average(sample.outcomes, weights=sample.predictions.weights)
    assert np.average(curve.recalibrated, weights=curve.weight) == pytest.approx(rate, abs=1e-12)


def test_populations():
    """Where chances rise with the prediction it is the whole miscalibration; where they fall, less."""
    rising = FinitePredictions([0.1, 0.4, 0.8], [0.2, 0.3, 0.9], mass=[0.5, 0.3, 0.2])
    whole = 0.5 * 0.01 + 0.3 * 0.01 + 0.2 * 0.01
    assert rising.truth(CORP()).value[1] == pytest.approx(whole, abs=1e-15)
    falling = FinitePredictions([0.1, 0.4, 0.8], [0.3, 0.2, 0.9], mass=[0.5, 0.3, 0.2])
    pooled = (0.5 * 0.3 + 0.3 * 0.2) / 0.8
    expected = 0.5 * (0.04 - (0.3 - pooled) ** 2) + 0.3 * (0.04 - (0.2 - pooled) ** 2) + 0.2 * 0.01
    assert falling.truth(CORP()).value[1] == pytest.approx(expected, abs=1e-15)
    np.testing.assert_allclose(falling.truth(IsotonicCurve()).value, [pooled, pooled, 0.9], atol=1e-15)


def test_a_variable_has_a_curve_but_no_miscalibration():
    sample = cs.Sample([0, 1, 0, 1], [0.2, 0.5, 0.7, 0.4], variables={"age": [1.0, 2.0, 3.0, 4.0]})
    curve = (cs.Given("age") | IsotonicCurve())(sample)
    np.testing.assert_array_equal(curve.prediction, [1, 2, 3, 4])
    np.testing.assert_array_equal(curve.recalibrated, [0, 0.5, 0.5, 1])
    with pytest.raises(ValueError, match=r"maps the prediction itself.*IsotonicCurve"):
        (cs.Given("age") | CORP())(sample)


def test_rows_without_weight_are_bridged_by_straight_lines():
    sample = cs.Sample([0, 1, 1], [0.0, 0.4, 1.0])
    evaluate = IsotonicCurve().prepare(sample.predictions)
    np.testing.assert_allclose(evaluate(sample.outcomes, np.array([1.0, 0.0, 1.0])), [0, 0.4, 1])


def test_an_impossible_event_costs_infinitely_much_without_clipping():
    sample = cs.Sample([1, 0], [0.0, 0.4], labels=[0, 1])
    found = CORP(LogScore(smallest=0))(sample)
    assert found.score == np.inf == found.miscalibration
    assert found.uncertainty == pytest.approx(np.log(2))


def test_consistency_bands_of_the_curve():
    rng = np.random.Generator(np.random.PCG64(4))
    p = np.repeat(np.linspace(0.1, 0.9, 9), 60)
    sample = cs.Sample((rng.random(540) < p).astype(int), p)
    null = cs.Consistency(400).draw(IsotonicCurve(), sample, cs.as_generator(1))
    low, high = null.quantile(0.002), null.quantile(0.998)
    assert ((low < np.unique(p)) & (np.unique(p) < high)).all()
    curve = IsotonicCurve()(sample).recalibrated
    assert ((low <= curve) & (curve <= high)).all()
