"""Scores, decompositions, and the measures of performance beside them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.estimators.base import all_weights
from calibstat.estimators.histogram import BrierDecomposition, FerroFricker
from calibstat.estimators.scores import AUC, RMSE, BrierScore, LogScore, SphericalScore, ZeroOneLoss
from calibstat.generators import FinitePredictions
from strategies import samples
from suites import everything

STRICT = [BrierScore(), LogScore(), SphericalScore()]


@pytest.mark.parametrize("score", STRICT, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_strictly_proper(score, n_classes):
    """The chances themselves have the least expected score of all predictions, and nothing else has."""
    rng = np.random.Generator(np.random.PCG64(n_classes))
    for truth in rng.dirichlet(np.ones(n_classes), 5):
        rows = np.vstack([truth, rng.dirichlet(np.ones(n_classes), 200)])
        assert (score.losses(rows) @ truth).argmin() == 0


def test_the_decision_loss_is_proper_but_not_strictly():
    losses = ZeroOneLoss().losses(np.array([[0.4, 0.6], [0.1, 0.9], [0.8, 0.2]])) @ [0.4, 0.6]
    assert losses[0] == losses[1] == pytest.approx(0.4)
    assert losses[2] == pytest.approx(0.6)


@given(sample=samples((2, 3, 4), weighted=True))
def test_brier_scores(sample):
    assert RMSE()(sample) ** 2 == pytest.approx(BrierScore()(sample), abs=1e-12)
    assert BrierDecomposition(cs.UniqueValues())(sample).score == pytest.approx(BrierScore()(sample), abs=1e-15)
    assert BrierDecomposition(cs.UniqueValues())(sample).residual == pytest.approx(0, abs=1e-12)
    cells = cs.SimplexGrid(3)
    assert BrierDecomposition(cells)(sample).calibration == pytest.approx(cs.SquaredCE(cells)(sample), abs=1e-13)


@given(sample=samples((2,), min_rows=4, weighted=True), n_bins=st.integers(1, 4))
def test_the_corrected_calibration_is_the_debiased_error(sample, n_bins):
    cells = cs.EqualWidth(n_bins)
    expected = cs.DebiasedCE(cells, single_rows="plugin")(sample)
    assert FerroFricker(cells)(sample).calibration == pytest.approx(expected, abs=1e-12)


def test_more_than_murphys_three_terms():
    """Predictions that vary inside a cell: the three terms do not add up, and the residual says so."""
    sample = cs.Sample([0, 1, 0, 1], [0.3, 0.7, 0.3, 0.7])
    found = BrierDecomposition(cs.FixedEdges([0, 1]))(sample)
    assert found.uncertainty - found.sharpness + found.calibration == pytest.approx(0.25)
    assert found.residual == pytest.approx(0.09 - 0.25)


def test_expected_scores_of_a_population():
    model = FinitePredictions([0.2, 0.6], [0.3, 0.5], mass=[0.75, 0.25])
    brier = 0.75 * (0.3 * 0.64 + 0.7 * 0.04) + 0.25 * (0.5 * 0.16 + 0.5 * 0.36)
    assert model.truth(BrierScore()).value == pytest.approx(brier, abs=1e-15)
    assert model.truth(RMSE()).value == pytest.approx(np.sqrt(brier), abs=1e-15)
    assert model.truth(ZeroOneLoss()).value == pytest.approx(0.75 * 0.3 + 0.25 * 0.5, abs=1e-15)
    events, others = 0.75 * 0.3 + 0.25 * 0.5, 0.75 * 0.7 + 0.25 * 0.5
    won = 0.25 * 0.5 * 0.75 * 0.7 + 0.5 * (0.75**2 * 0.21 + 0.25**2 * 0.25)
    assert model.truth(AUC()).value == pytest.approx(won / events / others, abs=1e-15)
    parts = model.truth(BrierDecomposition()).value
    assert parts[3] == pytest.approx(0.01, abs=1e-15)
    assert parts[4] == pytest.approx(0, abs=1e-15)


def weights_of(sample):
    return all_weights(sample.predictions, None)


@given(sample=samples((2,)).filter(lambda sample: len(set(sample.outcomes[weights_of(sample) > 0])) == 2))
def test_the_area_is_symmetric_and_blind_to_increasing_maps(sample):
    area, seen = AUC()(sample), sample.predictions
    mapped = cs.Sample(sample.outcomes, seen.event**3 / 2, sample_weight=seen.weights, labels=[0, 1])
    other = cs.Sample(1 - sample.outcomes, 1 - seen.event, sample_weight=seen.weights, labels=[0, 1])
    if np.diff(np.unique(seen.event)).min(initial=1) > 1e-3:
        assert AUC()(mapped) == pytest.approx(area, abs=1e-12)
    assert AUC()(other) == pytest.approx(area, abs=1e-12)
    assert 0 <= area <= 1


def test_the_area_of_one_class_has_a_reason():
    with pytest.raises(ValueError, match=r"AUC.. has no value on this sample .NaN.: it needs outcomes of both classes"):
        AUC()(cs.Sample([1, 1], [0.2, 0.7], labels=[0, 1]))


def test_the_area_ranks_predictions_whatever_is_conditioned_on():
    sample = cs.Sample([0, 1, 1], [0.1, 0.4, 0.8], variables={"age": [3.0, 2.0, 1.0]})
    assert (cs.Given("age") | AUC())(sample) == 1


def test_worse_ranking_is_evidence():
    rng = np.random.Generator(np.random.PCG64(0))
    p = rng.random(400)
    sample = cs.Sample((rng.random(400) < 0.3 + 0.4 * p).astype(int), p)
    assert cs.calibration_test(sample, AUC(), rng=0).pvalue < 0.01


@pytest.mark.parametrize("smallest", [-0.1, 0.5, 1, np.nan])
def test_the_smallest_probability_is_checked(smallest):
    with pytest.raises(ValueError, match="smallest is"):
        LogScore(smallest)


def test_clipping_decides_what_impossible_events_cost():
    sample = cs.Sample([1, 1], [0.0, 1.0], labels=[0, 1])
    assert LogScore()(sample) == pytest.approx(7.5 * np.log(10))
    assert LogScore(1e-3)(sample) == pytest.approx(1.5 * np.log(10))
    assert LogScore(0)(sample) == np.inf
    assert LogScore(0)(cs.Sample([1, 0], [1.0, 0.0])) == 0
    chances = sample.predictions.chances
    assert LogScore(0).prepare(sample.predictions)(chances) == 0


def test_thresholds_and_equal_maxima():
    sample = cs.Sample([1, 1, 0], [0.3, 0.5, 0.2])
    assert ZeroOneLoss()(sample) == pytest.approx(1 / 3)
    assert ZeroOneLoss(0.3)(sample) == 0
    three = cs.Sample([0, 1], [[0.4, 0.4, 0.2]] * 2, labels=[0, 1, 2])
    assert ZeroOneLoss()(three) == 0.5


def test_log_score_says_which_probabilities_it_does_not_take_as_they_are():
    sample = cs.Sample([0, 1, 1, 0], [0.0, 0.0, 1e-20, 0.3])
    score = cs.LogScore()
    assert "probabilities below 1e-15 count as 1e-15" in score.quantity
    assert "count as" not in cs.LogScore(smallest=0).quantity
    for estimator in (score, cs.CORP(score), cs.Canonical() | score):
        text = everything(cs.calibration_test(sample, estimator, rng=0))
        assert "in 2 of 4 rows what happened had a probability below 1e-15" in " ".join(text.split())
    fine = cs.calibration_test(cs.Sample([0, 1], [0.0, 0.7]), score, rng=0)
    assert fine.remark == ""
    assert cs.calibration_test(sample, cs.BrierScore(), rng=0).remark == ""
