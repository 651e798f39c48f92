"""Law 3: chances that are certain give the value of the labels; known chances give the expectation of sums."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from registry import ESTIMATORS, Entry, every, make_sample, parts
from strategies import counts, fitting, labelled
from suites import examples

ON_CHANCES = [entry for entry in ESTIMATORS if entry.chances]


# A fit to labels that are separated ends wherever it ends, which the last digit decides.
EXACT, FIT = dict(rtol=1e-12, atol=1e-13, equal_nan=True), dict(rtol=1e-6, atol=1e-7, equal_nan=True)


@every(ON_CHANCES)
@examples(5)
@given(data=st.data())
def test_one_hot_chances_give_the_value_of_the_labels(entry, data):
    sample = data.draw(fitting(entry))
    evaluate = entry.thing.prepare(sample.predictions)
    outcomes = data.draw(labelled(sample))
    certain = np.eye(sample.predictions.n_classes)[outcomes]
    near = FIT if entry.fitted else EXACT
    np.testing.assert_allclose(evaluate(certain), evaluate(outcomes), **near)
    if entry.weighted:
        weights = data.draw(counts(len(sample), smallest=1))
        np.testing.assert_allclose(evaluate(certain, weights), evaluate(outcomes, weights), **near)


@every([entry for entry in ESTIMATORS if not entry.chances])
def test_chances_are_refused_where_only_labels_serve(entry):
    seen = entry.sample().predictions
    with pytest.raises(TypeError, match="known chances"):
        entry.thing.prepare(seen)(seen.chances)


# The spread of single rows stays (PDE); chances in disorder leave a single cell (ECESweep).
NOT_ZERO = (cs.PDE, cs.ECESweep)


def zero_at_its_own(entry: Entry) -> bool:
    """Whether the value itself, not the estimand alone, is neutral where chances are the predictions."""
    inner = [part for part in parts(entry.thing) if isinstance(part, NOT_ZERO)]
    return entry.chances and entry.headline and entry.neutral is not None and not entry.pairs and not inner


@every([entry for entry in ESTIMATORS if zero_at_its_own(entry)])
def test_the_predictions_themselves_as_chances_give_zero(entry):
    sample = entry.sample(seed=5)
    evaluate, chances = entry.thing.prepare(sample.predictions), sample.predictions.chances
    value = entry.thing.headline(evaluate(chances))
    assert value == pytest.approx(entry.neutral, abs=1e-7 if entry.fitted else 1e-12)
    wrong = np.roll(chances, 1, axis=0)
    assert abs(entry.thing.headline(evaluate(wrong**2)) - entry.neutral) > 1e-3


def test_the_u_statistic_at_chances_is_not_the_mean_over_labels_but_their_sums_are():
    """Cell sums are linear in the chances, so their mean over all label vectors is their value at the chances."""
    sample = make_sample(2, n=8, seed=6)
    plan = cs.DebiasedL2(cs.EqualWidth(2)).prepare(sample.predictions).capabilities.tally
    event = sample.predictions.chances[:, 1]
    labels = np.array(list(product([0, 1], repeat=8)))
    chance = np.prod(np.where(labels == 1, event, 1 - event), axis=1)
    tally, expected = plan(labels), plan(sample.predictions.chances)
    np.testing.assert_allclose(np.einsum("r,rlc->lc", chance, tally.outcome), expected.outcome, atol=1e-12)
    np.testing.assert_allclose(chance @ tally.square, expected.square, atol=1e-12)
