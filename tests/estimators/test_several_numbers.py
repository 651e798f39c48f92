"""Laws of estimators that give several numbers, on all of them and not on the headline alone."""

from __future__ import annotations

import numpy as np
import pytest

from registry import make_sample
from registry_c import ENTRIES

SEVERAL = [entry for entry in ENTRIES if not entry.get("scalar", True)]
each_entry = pytest.mark.parametrize("entry", SEVERAL, ids=[repr(entry["thing"]) for entry in SEVERAL])


def prepared(entry, seed=0):
    sample = make_sample(entry["classes"][-1], seed=seed)
    return sample, entry["thing"].prepare(sample.predictions)


@each_entry
def test_a_batch_of_labels_gives_what_each_gives(entry):
    sample, evaluate = prepared(entry)
    labels = np.random.Generator(np.random.PCG64(1)).integers(0, sample.predictions.n_classes, (4, len(sample)))
    whole = evaluate(labels.reshape(2, 2, -1))
    assert whole.ndim == 3
    np.testing.assert_allclose(whole.reshape(4, -1), [evaluate(row) for row in labels], rtol=1e-12, atol=1e-13)


@each_entry
def test_certain_chances_and_unit_weights_change_nothing(entry):
    sample, evaluate = prepared(entry, seed=2)
    expected = evaluate(sample.outcomes)
    certain = np.eye(sample.predictions.n_classes)[sample.outcomes]
    np.testing.assert_allclose(evaluate(certain), expected, rtol=1e-12, atol=1e-13)
    if entry.get("weighted", True):
        ones = np.ones((3, len(sample)))
        for value in evaluate(sample.outcomes, ones):
            np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-12)


@each_entry
def test_users_see_a_record_with_the_headline(entry):
    sample, evaluate = prepared(entry, seed=3)
    headline = float(entry["thing"].headline(evaluate(sample.outcomes)))
    assert float(entry["thing"](sample)) == pytest.approx(headline, abs=1e-14)


@each_entry
def test_a_weighted_batch_gives_what_each_gives(entry):
    if not entry.get("weighted", True):
        return
    sample, evaluate = prepared(entry, seed=4)
    weights = np.random.Generator(np.random.PCG64(5)).integers(1, 4, (3, len(sample))).astype(float)
    whole = evaluate(sample.outcomes, weights)
    np.testing.assert_allclose(whole, [evaluate(sample.outcomes, row) for row in weights], rtol=1e-12, atol=1e-13)
