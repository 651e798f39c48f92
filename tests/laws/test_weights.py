"""Law 4: weights are relative, and whole ones are repetitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibstat as cs
from registry import ESTIMATORS, LABELS, Entry, every, make_sample
from strategies import counts, samples


def weighted(sample: cs.Sample, weights: np.ndarray | None) -> cs.Sample:
    seen = sample.predictions
    variables = {
        name: each.values if each.levels is None else np.array(each.levels)[each.values.astype(int)]
        for name, each in seen.variables.items()
    }
    return cs.Sample(
        sample.y_true, seen.probabilities, variables=variables, sample_weight=weights, labels=LABELS[: seen.n_classes]
    )


def plain(value):
    return value["deviation"].values if hasattr(value, "coords") else value


@every(ESTIMATORS)
@settings(max_examples=15)
@given(data=st.data())
def test_unit_weights_change_nothing(entry: Entry, data):
    sample = data.draw(samples(entry.classes))
    evaluate = entry.thing.prepare(sample.predictions)
    ones = np.ones((2, len(sample)))
    expected = evaluate(sample.outcomes)
    for value in evaluate(sample.outcomes, ones):
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-15)
    if sample.predictions.weights is None:
        again = plain(entry.thing(weighted(sample, ones[0])))
        np.testing.assert_array_equal(again, plain(entry.thing(sample)))


@every(ESTIMATORS)
@settings(max_examples=15)
@given(data=st.data(), factor=st.sampled_from([1e-3, 0.5, 7.0, 1e4]))
def test_a_common_factor_changes_nothing(entry: Entry, data, factor):
    sample = data.draw(samples(entry.classes, weighted=True))
    seen = sample.predictions
    own = np.ones(len(sample)) if seen.weights is None else seen.weights
    np.testing.assert_allclose(
        plain(entry.thing(weighted(sample, own * factor))), plain(entry.thing(sample)), rtol=1e-9, atol=1e-12
    )
    drawn = data.draw(counts(len(sample), smallest=1))
    evaluate = entry.thing.prepare(seen)
    np.testing.assert_allclose(
        evaluate(sample.outcomes, drawn * factor), evaluate(sample.outcomes, drawn), rtol=1e-9, atol=1e-12
    )


PLUG_INS = [entry for entry in ESTIMATORS if entry.cells_move_with == "nothing" and not entry.pairs]


@every(PLUG_INS)
@settings(max_examples=15)
@given(data=st.data())
def test_whole_weights_are_repeated_rows(entry: Entry, data):
    sample = data.draw(samples(entry.classes, weighted=False))
    times = data.draw(counts(len(sample), 1, smallest=1))[0].astype(int)
    repeated = sample.take(np.repeat(np.arange(len(sample)), times))
    expected = plain(entry.thing(repeated))
    np.testing.assert_allclose(plain(entry.thing(weighted(sample, times))), expected, rtol=1e-10, atol=1e-13)
    evaluate = entry.thing.prepare(sample.predictions)
    np.testing.assert_allclose(evaluate(sample.outcomes, times.astype(float)), expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(
    "estimator",
    [
        cs.ECE(cs.EqualWidth(4)),
        cs.RMSCE(cs.FixedEdges([0, 0.5, 1])),
        cs.MaximumMiscalibration(cs.EqualWidth(4)),
        cs.DebiasedCE(cs.EqualWidth(4)),
        cs.DebiasedL2(cs.EqualWidth(4)),
        cs.PDE(cs.EqualWidth(4)),
    ],
    ids=repr,
)
@given(data=st.data())
def test_rows_without_weight_are_not_there(estimator, data):
    sample = data.draw(samples((2,), weighted=False, min_rows=2))
    weights = data.draw(counts(len(sample), 1))[0]
    evaluate = estimator.prepare(sample.predictions)
    kept = weights > 0
    expected = estimator.prepare(sample.take(kept).predictions)(sample.outcomes[kept], weights[kept])
    np.testing.assert_allclose(evaluate(sample.outcomes, weights), expected, rtol=1e-10, atol=1e-13)


@every([entry for entry in ESTIMATORS if entry.pairs])
def test_statistics_of_pairs_tell_a_weight_of_two_from_two_rows(entry: Entry):
    """Why they are exempt: a row does not make a pair with itself, its copy does."""
    sample = entry.sample(seed=7)
    times = np.arange(len(sample)) % 3 + 1
    repeated = entry.thing(sample.take(np.repeat(np.arange(len(sample)), times)))
    assert abs(entry.thing(weighted(sample, times)) - repeated) > 1e-4


@every([entry for entry in ESTIMATORS if entry.scalar])
def test_weights_matter(entry: Entry):
    """The negative control of this file; a maximum may sit in a cell of one row, but not in every sample."""
    changes = []
    for seed in range(4):
        sample = make_sample(entry.classes[0], n=150, seed=seed)
        uneven = np.where(np.arange(len(sample)) % 2 == 0, 1.0, 9.0)
        changes.append(abs(entry.thing(weighted(sample, uneven)) - entry.thing(sample)))
    assert max(changes) > 1e-6
