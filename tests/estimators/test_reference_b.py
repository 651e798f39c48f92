"""Kernel, multi-scale, score and goodness-of-fit estimators against naive ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference_b
import registry_b
from registry import Entry, make_sample
from strategies import samples

FIELDS = set(Entry.__dataclass_fields__)
UNWEIGHTED = [each["thing"] for each in registry_b.ENTRIES + registry_b.MORE if not each.get("weighted", True)]
ENTRIES = [Entry(**{key: each[key] for key in each.keys() & FIELDS}) for each in registry_b.ENTRIES + registry_b.MORE]
COMPARED = [
    entry
    for entry in ENTRIES
    if not isinstance(entry.thing.core, reference_b.WITHOUT) and getattr(entry.thing, "binning", 0) is not None
]


def numbers(entry, sample):
    evaluator = entry.thing.prepare(sample.predictions)
    return evaluator(sample.outcomes)


@pytest.mark.parametrize("entry", COMPARED, ids=lambda entry: entry.name)
@settings(max_examples=25)
@given(data=st.data())
def test_an_estimator_agrees_with_the_naive_one(entry, data):
    weighted = False if entry.thing in UNWEIGHTED else None
    sample = data.draw(samples(entry.classes, max_rows=14, weighted=weighted))
    if "Score()" in entry.name or "LogitScore" in entry.name:
        # what was impossible has no covariance, and no two generalised inverses agree there
        assume((sample.predictions.chances[np.arange(len(sample)), sample.outcomes] > 0).all())
    np.testing.assert_allclose(numbers(entry, sample), reference_b.value(entry.thing, sample), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("entry", COMPARED, ids=lambda entry: entry.name)
def test_an_estimator_agrees_with_the_naive_one_on_more_rows(entry):
    for n_classes in entry.classes[:2]:
        sample = make_sample(n_classes, seed=n_classes, n=60, weighted=entry.thing not in UNWEIGHTED)
        expected = reference_b.value(entry.thing, sample)
        np.testing.assert_allclose(numbers(entry, sample), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("thing", UNWEIGHTED, ids=repr)
def test_weights_are_refused_where_no_theory_exists(thing):
    with pytest.raises(ValueError, match="no weighted version"):
        thing(make_sample(2, weighted=True))
    evaluate = thing.prepare(make_sample(2).predictions)
    with pytest.raises(ValueError, match="no weighted version"):
        evaluate(make_sample(2).outcomes, np.ones(40))
    with pytest.raises(TypeError, match="known chances"):
        evaluate(make_sample(2).predictions.chances)


TWO_CLASSES = [entry.thing for entry in ENTRIES if entry.classes == (2,)]


@pytest.mark.parametrize("thing", [thing for thing in TWO_CLASSES if "SKCE" not in repr(thing)], ids=repr)
def test_estimators_of_two_classes_name_a_lens(thing):
    with pytest.raises(ValueError, match=r"TopLabel\(\)|Given\('age'\)"):
        thing(make_sample(3))
