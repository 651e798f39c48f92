"""Law 1: a batch of replicates gives what its members give one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from registry import ESTIMATORS, REGIONAL, every
from strategies import counts, labelled, samples

RELATIVE = 1e-12


@every(ESTIMATORS + REGIONAL)
@settings(max_examples=15)
@given(data=st.data())
def test_evaluating_a_batch_of_labels_is_evaluating_each(entry, data):
    sample = data.draw(samples(entry.classes, min_rows=4))
    if entry in REGIONAL:
        sample = entry.thing.lens.parts[0](sample)
    if not len(sample):
        return
    evaluate = entry.thing.prepare(sample.predictions)
    outcomes = data.draw(labelled(sample, 4))
    whole = evaluate(outcomes.reshape(2, 2, -1))
    each = np.array([evaluate(row) for row in outcomes])
    assert whole.shape == (2, 2, *evaluate.shape)
    np.testing.assert_allclose(whole.reshape(each.shape), each, rtol=RELATIVE, atol=1e-15)


@every(ESTIMATORS)
@settings(max_examples=15)
@given(data=st.data())
def test_evaluating_a_batch_of_weights_is_evaluating_each(entry, data):
    sample = data.draw(samples(entry.classes, min_rows=2))
    evaluate = entry.thing.prepare(sample.predictions)
    own = sample.predictions.weights
    drawn = data.draw(counts(len(sample), 3, smallest=0 if own is None else 1))
    shared = evaluate(sample.outcomes, drawn)
    np.testing.assert_allclose(
        shared, [evaluate(sample.outcomes, row) for row in drawn], rtol=RELATIVE, atol=1e-15, equal_nan=True
    )
    outcomes = data.draw(labelled(sample, 3))
    paired = evaluate(outcomes, drawn)
    each = [evaluate(row, weight) for row, weight in zip(outcomes, drawn, strict=True)]
    np.testing.assert_allclose(paired, each, rtol=RELATIVE, atol=1e-15, equal_nan=True)


@every([entry for entry in ESTIMATORS if entry.chances])
def test_evaluating_a_batch_of_chances_is_evaluating_each(entry):
    sample = entry.sample(seed=1)
    rng = np.random.Generator(np.random.PCG64(2))
    chances = rng.dirichlet(np.ones(sample.predictions.n_classes), size=(3, len(sample)))
    evaluate = entry.thing.prepare(sample.predictions)
    np.testing.assert_allclose(
        evaluate(chances), [evaluate(one) for one in chances], rtol=RELATIVE, atol=1e-15, equal_nan=True
    )


@every(ESTIMATORS)
def test_the_observed_value_is_replicate_zero(entry):
    sample = entry.sample(seed=3)
    evaluate = entry.thing.prepare(sample.predictions)
    value = entry.thing(sample)
    observed = value["deviation"].values if not entry.scalar else value
    np.testing.assert_array_equal(observed, evaluate(sample.outcomes))
    assert isinstance(value, float) == entry.scalar
