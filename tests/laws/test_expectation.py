"""Law 3: chances that are certain give the value of the labels; known chances give the expectation of sums."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import calibstat as cs
from registry import ESTIMATORS, every, make_sample
from strategies import counts, labelled, samples

ON_CHANCES = [entry for entry in ESTIMATORS if entry.chances]


@every(ON_CHANCES)
@settings(max_examples=15)
@given(data=st.data())
def test_one_hot_chances_give_the_value_of_the_labels(entry, data):
    sample = data.draw(samples(entry.classes))
    evaluate = entry.thing.prepare(sample.predictions)
    outcomes = data.draw(labelled(sample))
    certain = np.eye(sample.predictions.n_classes)[outcomes]
    np.testing.assert_allclose(evaluate(certain), evaluate(outcomes), rtol=1e-12, atol=1e-14)
    weights = data.draw(counts(len(sample), smallest=1))
    np.testing.assert_allclose(
        evaluate(certain, weights), evaluate(outcomes, weights), rtol=1e-12, atol=1e-14, equal_nan=True
    )


@every([entry for entry in ON_CHANCES if entry.scalar and not entry.pairs and "PDE" not in entry.name])
def test_the_predictions_themselves_as_chances_give_zero(entry):
    sample = entry.sample(seed=5)
    evaluate = entry.thing.prepare(sample.predictions)
    assert abs(evaluate(sample.predictions.chances)) < 1e-12
    wrong = np.roll(sample.predictions.chances, 1, axis=0)
    assert abs(evaluate(wrong**2)) > 1e-3


def test_the_u_statistic_at_chances_is_not_the_mean_over_labels_but_their_sums_are():
    """Cell sums are linear in the chances, so their mean over all label vectors is their value at the chances."""
    sample = make_sample(2, n=8, seed=6)
    plan = cs.DebiasedL2(cs.EqualWidth(2)).prepare(sample.predictions).tally
    event = sample.predictions.chances[:, 1]
    labels = np.array(list(product([0, 1], repeat=8)))
    chance = np.prod(np.where(labels == 1, event, 1 - event), axis=1)
    tally, expected = plan(labels), plan(sample.predictions.chances)
    np.testing.assert_allclose(np.einsum("r,rlc->lc", chance, tally.outcome), expected.outcome, atol=1e-12)
    np.testing.assert_allclose(chance @ tally.square, expected.square, atol=1e-12)
