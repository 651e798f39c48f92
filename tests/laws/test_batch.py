"""Law 1: a batch of replicates gives what its members give one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from registry import ESTIMATORS, REGIONAL, Entry, every
from strategies import counts, fitting, labelled
from suites import examples

# Steps towards a maximum that separated labels do not have magnify the last digit.
EXACT, FIT = dict(rtol=1e-12, atol=1e-13, equal_nan=True), dict(rtol=1e-8, atol=1e-8, equal_nan=True)


def agree(entry: Entry, found, expected) -> None:
    np.testing.assert_allclose(found, expected, **(FIT if entry.fitted else EXACT))


@every(ESTIMATORS + REGIONAL)
@examples(5)
@given(data=st.data())
def test_evaluating_a_batch_of_labels_is_evaluating_each(entry, data):
    sample = data.draw(fitting(entry, min_rows=4))
    if entry in REGIONAL:
        sample = entry.thing.lens.parts[0](sample)
    if not len(sample):
        return
    evaluate = entry.thing.prepare(sample.predictions)
    outcomes = data.draw(labelled(sample, 4))
    whole = evaluate(outcomes.reshape(2, 2, -1))
    each = np.array([evaluate(row) for row in outcomes])
    assert whole.shape == (2, 2, *evaluate.shape)
    agree(entry, whole.reshape(each.shape), each)


@every([entry for entry in ESTIMATORS if entry.weighted])
@examples(5)
@given(data=st.data())
def test_evaluating_a_batch_of_weights_is_evaluating_each(entry, data):
    sample = data.draw(fitting(entry, min_rows=2))
    evaluate = entry.thing.prepare(sample.predictions)
    own = sample.predictions.weights
    drawn = data.draw(counts(len(sample), 3, smallest=0 if own is None else 1))
    shared = evaluate(sample.outcomes, drawn)
    agree(entry, shared, [evaluate(sample.outcomes, row) for row in drawn])
    outcomes = data.draw(labelled(sample, 3))
    paired = evaluate(outcomes, drawn)
    each = [evaluate(row, weight) for row, weight in zip(outcomes, drawn, strict=True)]
    agree(entry, paired, each)


@every([entry for entry in ESTIMATORS if entry.chances])
def test_evaluating_a_batch_of_chances_is_evaluating_each(entry):
    sample = entry.sample(seed=1)
    rng = np.random.Generator(np.random.PCG64(2))
    chances = rng.dirichlet(np.ones(sample.predictions.n_classes), size=(3, len(sample)))
    evaluate = entry.thing.prepare(sample.predictions)
    agree(entry, evaluate(chances), [evaluate(one) for one in chances])


@every(ESTIMATORS)
def test_labels_may_be_integers_of_any_size(entry):
    """Lenses hand out codes of one byte: none may be added, or taken away, beyond what a byte holds."""
    sample = entry.sample(seed=1)
    evaluate = entry.thing.prepare(sample.predictions)
    expected = evaluate(sample.outcomes)
    for kind in (np.uint8, np.int8, np.int64):
        np.testing.assert_array_equal(evaluate(sample.outcomes.astype(kind)), expected)
