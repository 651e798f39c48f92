"""What miscalibration costs those who act from a cutoff on."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import calibstat as cs
from calibstat.generators import FinitePredictions

FIVE = cs.Sample([0, 1, 0, 1, 1], [0.05, 0.1, 0.15, 0.5, 0.9])
# Events of chance .1 are announced as .3, and those of chance .6 as .4.
WORLD = FinitePredictions([[0.7, 0.3], [0.6, 0.4], [0.1, 0.9]], [[0.9, 0.1], [0.4, 0.6], [0.1, 0.9]], [0.5, 0.3, 0.2])


def events(size: int, seed: int) -> cs.Sample:
    rng = np.random.Generator(np.random.PCG64(seed))
    p = rng.random(size)
    return cs.Sample((rng.random(size) < p**2).astype(int), p)


@pytest.mark.parametrize(
    ("estimator", "value"),
    [
        (cs.DecisionLoss(costs=(1, 4)), 3 / 5),  # from .1 on: a miss less, a false alarm more
        (cs.DecisionLoss(0.2), 0.6 / 5),
        (cs.DecisionLoss(0.1), 0.0),
        (cs.DecisionLoss([0.1, 0.2]), 0.6 / 5),
        (cs.DecisionLoss(), 0.9 / 5),  # just above .1
        (cs.DecisionLoss(0.95), 0.05 / 5 * 2),  # from .5 on, two events: no false alarm costs .95
    ],
    ids=repr,
)
def test_hand_computed(estimator, value):
    assert estimator(FIVE) == pytest.approx(value, abs=1e-12)


def test_truth_is_the_loss_at_known_chances():
    """Whoever acts at .2 acts in vain on half of the rows; at .5 the middle rows should be acted on."""
    assert WORLD.truth(cs.DecisionLoss(0.2)).value == pytest.approx(0.5 * 0.1, abs=1e-12)
    assert WORLD.truth(cs.DecisionLoss(0.5)).value == pytest.approx(0.3 * 0.1, abs=1e-12)
    assert WORLD.truth(cs.DecisionLoss(costs=(3, 3))).value == pytest.approx(6 * 0.3 * 0.1, abs=1e-12)
    assert WORLD.truth(cs.DecisionLoss()).value == pytest.approx(0.5 * 0.2, abs=1e-12)  # acting from .3 on, at .3


def test_whoever_predicts_the_threshold_acts():
    """A prediction of .1 + .2 is one of .3."""
    assert cs.DecisionLoss(0.3)(cs.Sample([1, 0], [0.1 + 0.2, 0.1])) == 0
    assert cs.DecisionLoss(0.1 + 0.2)(cs.Sample([1, 0], [0.3, 0.1])) == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_gain_over_all_payoffs_is_that_of_three_actions(seed):
    """One for low, one for middle and one for high probabilities, with payoffs in [0, 1]; cut at predictions."""
    sample = events(30, seed)
    p, y = sample.predictions.event, sample.outcomes
    curve = cs.IsotonicCurve()(sample)
    fitted = np.interp(p, curve.prediction, curve.recalibrated)
    best, gains = cs.CalibrationDecisionLoss()(sample), []
    for low, high in product(np.append(0, p[p <= 0.5]), np.append(1, p[p > 0.5])):
        first, second = (2 * high - 1) / (high - low), (1 - 2 * low) / (high - low)
        no = [first * low + second * high, second * high, 0.0]
        yes = [0.0, first * (1 - low), first * (1 - low) + second * (1 - high)]
        assert max(no + yes) <= 1 + 1e-12
        # besides rounding, whoever is at a threshold is on either side of it
        for at_low, at_high in product((-1e-9, 1e-9), repeat=2):
            before, after = (
                np.where(y, *np.take([yes, no], (q >= low + at_low) * 1 + (q >= high + at_high), axis=1)).mean()
                for q in (p, fitted)
            )
            gains.append(after - before)
    assert max(gains) == pytest.approx(best, abs=1e-9)
    assert cs.DecisionLoss()(sample) <= best <= 2 * cs.DecisionLoss()(sample)


def test_wrong_and_certain_predictions_lose_everything():
    """Who may abstain, with a payoff of 1 where being wrong has 0, gains 1 by predictions of one half."""
    assert cs.CalibrationDecisionLoss()(cs.Sample([1, 0], [0.0, 1.0])) == pytest.approx(1)
    assert cs.DecisionLoss()(cs.Sample([1, 0], [0.0, 1.0])) == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(5))
def test_at_most_the_cutoff_calibration_error_and_decisions_with_payoffs_at_most_twice(seed):
    """Best responses to the predictions against those to isotonic regression, for random payoffs in [0, 1]."""
    sample = events(60, seed)
    loss, rng = cs.DecisionLoss()(sample), np.random.Generator(np.random.PCG64(seed))
    assert 0 < loss <= cs.Kuiper()(sample)
    curve = cs.IsotonicCurve()(sample)
    fitted = np.interp(sample.predictions.event, curve.prediction, curve.recalibrated)
    gains = []
    for _ in range(300):
        payoffs = rng.random((rng.integers(2, 5), 2)) ** rng.choice([0.2, 1, 5])
        payoffs = (payoffs - payoffs.min(axis=0)) / np.ptp(payoffs, axis=0)
        acts = [
            (np.outer(1 - p, payoffs[:, 0]) + np.outer(p, payoffs[:, 1])).argmax(axis=1)
            for p in (sample.predictions.event, fitted)
        ]
        before, after = (payoffs[act, sample.outcomes].mean() for act in acts)
        gains.append(after - before)
    assert max(gains) <= cs.CalibrationDecisionLoss()(sample) <= 2 * loss
    assert max(gains) > loss / 2


def test_the_sentence_says_how_much_which_decision_and_where():
    found = cs.estimate(events(500, 0), cs.DecisionLoss(costs=(1, 4)), n_resamples=99, rng=0)
    low, high = found.confidence_interval
    for words in (
        "acting from 0.2 on, where a false alarm costs 1 and a miss 4",
        f"{1000 * low:.3g} to {1000 * high:.3g} per 1000 decisions (95 % confidence)"
        if low
        else f"at most {1000 * high:.3g}",
        f"{1000 * found.estimate:.3g} per 1000 in this sample",
        f"{1000 * found.null_mean:.3g} is expected of a calibrated model",
        "here a higher cutoff than this one would have cost least: acting from 0.",
    ):
        assert words in found.verdict
    assert found.verdict.startswith(f"{found.to_dict()['meaning']} P(1) (n = 500): 0.531 predicted, ")
    assert "lower cutoff" in cs.estimate(FIVE, cs.DecisionLoss(0.2), n_resamples=99, rng=0).verdict
    assert (
        "acting never"
        in cs.estimate(cs.Sample([0] * 9 + [1], [0.9] * 9 + [0.1]), cs.DecisionLoss(0.5), n_resamples=99, rng=0).verdict
    )
    assert (
        "no other cutoff"
        in cs.estimate(cs.Sample([0, 1] * 9, [0.1, 0.9] * 9), cs.DecisionLoss(0.5), n_resamples=99, rng=0).verdict
    )


def test_a_test_says_what_it_costs_where_that_is_asked_for():
    sample, decision = events(100, 1), cs.DecisionLoss(costs=(1, 4))
    plain = cs.calibration_test(sample, cs.ECE(), rng=0)
    asked = cs.calibration_test(sample, cs.ECE(), decision=decision, rng=0)
    assert asked.pvalue == plain.pvalue
    assert asked.verdict == f"{plain.verdict} {asked.decision.meaning}"
    assert asked.decision.estimate == decision(sample)
    assert asked.to_dict()["decision"]["estimate"] == decision(sample)
    assert plain.decision is None
    with pytest.raises(TypeError, match=r"decision is 0.2, a number; it must be an estimator"):
        cs.calibration_test(sample, cs.ECE(), decision=0.2)


def test_a_test_rejects_at_most_as_often_as_it_may_and_often_where_the_model_is_wrong():
    """Over all labels of five rows."""
    p = np.array([0.1, 0.2, 0.3, 0.6, 0.9])
    labels = np.array(list(product([0, 1], repeat=5)))
    decision, samples = cs.DecisionLoss(0.5), [cs.Sample(y, p, labels=[0, 1]) for y in labels]
    pvalues = [cs.calibration_test(each, decision, n_resamples=99, rng=0).pvalue for each in samples]
    reject = np.array(pvalues) <= 0.1
    assert np.where(labels, p, 1 - p).prod(axis=1) @ reject <= 0.1
    assert np.where(labels, 0.95, 0.05).prod(axis=1) @ reject > 0.3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"thresholds": 0.2, "costs": (1, 4)}, "leave one of them out"),
        ({"thresholds": []}, "thresholds is empty"),
        ({"thresholds": 1.0}, "thresholds is 1.0; it must be a number between 0 and 1"),
        ({"thresholds": [0.5, 2]}, r"thresholds is \[0.5, 2\]"),
        ({"costs": (1, 0)}, "costs is"),
    ],
)
def test_what_is_no_decision_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        cs.DecisionLoss(**arguments)


def test_arrays_of_thresholds_and_costs_are_kept_as_numbers():
    thresholds, costs = cs.DecisionLoss(np.array([0.2, 0.5])), cs.DecisionLoss(costs=np.array([1, 4]))
    assert repr(thresholds) == "DecisionLoss(thresholds=(0.2, 0.5))"
    assert repr(costs) == "DecisionLoss(costs=(1, 4))"
    assert costs == cs.DecisionLoss(costs=[1, 4])
    assert costs in {cs.DecisionLoss(costs=(1, 4))}


def test_a_variable_is_no_ground_for_decisions():
    sample = cs.Sample([0, 1], [0.2, 0.7], variables={"age": [1.0, 2.0]})
    with pytest.raises(ValueError, match="about decisions by the prediction, but 'age' is conditioned on; leave out"):
        (cs.Given("age") | cs.DecisionLoss(0.5))(sample)


def test_what_a_thousand_decisions_cost_is_written_in_digits():
    sample = cs.Sample([1, 1, 1], [0.0, 0.0, 0.0], labels=[0, 1])
    said = cs.estimate(sample, cs.DecisionLoss(costs=(100, 400)), n_resamples=19, rng=0).verdict
    assert "): 400000 per 1000 in this sample" in said
