"""The laws of the registry, over the cumulative, smooth and isotonic estimators, the scores and the sweep."""

from __future__ import annotations

from dataclasses import astuple, fields, is_dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import calibstat as cs
import reference
from calibstat.estimators.isotonic.curve import IsotonicCurve
from calibstat.estimators.smooth.errors import SmoothCE, SmoothECE
from calibstat.estimators.walks.bridge import MeanAndBridge
from laws import test_batch as batch
from laws import test_expectation as expectation
from laws import test_generic as generic
from laws import test_weights as weights
from reference_a import NAIVE
from registry import Entry, every
from registry_a import ENTRIES
from strategies import counts, samples

OURS = {field.name for field in fields(Entry)}
KNOWN = [(Entry(**{name: value for name, value in each.items() if name in OURS}), each) for each in ENTRIES]
ALL = [entry for entry, _ in KNOWN]
SCALAR = [entry for entry in ALL if entry.scalar]
VANISHING = [entry for entry, more in KNOWN if entry.scalar and more.get("vanishes", True)]
RECORDS = [entry for entry, more in KNOWN if more.get("record")]
SCALED = [entry for entry, more in KNOWN if more.get("scaled")]
PLUG_INS = [e for e in ALL if e.cells_move_with == "nothing" and not e.pairs and e not in SCALED]


def numbers(value):
    """What an estimator gives, as an array."""
    parts = astuple(value) if is_dataclass(value) else (value,)
    return np.concatenate([np.ravel(part) for part in parts])


def law(function):
    """The law itself, without the list of things it runs over."""
    return getattr(getattr(function, "hypothesis", None), "inner_test", function)


def agree(found, expected, rtol=1e-9, atol=1e-12):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


@every(ALL)
@settings(max_examples=6)
@given(data=st.data())
def test_batches(entry, data):
    law(batch.test_evaluating_a_batch_of_labels_is_evaluating_each)(entry, data)
    law(batch.test_evaluating_a_batch_of_weights_is_evaluating_each)(entry, data)


@every(ALL)
def test_batches_of_chances(entry):
    batch.test_evaluating_a_batch_of_chances_is_evaluating_each(entry)


@every(ALL)
@settings(max_examples=6)
@given(data=st.data())
def test_one_hot_chances(entry, data):
    law(expectation.test_one_hot_chances_give_the_value_of_the_labels)(entry, data)


@every([entry for entry in ALL if entry.thing.residual_form != "none"])
@settings(max_examples=6)
@given(data=st.data())
def test_signs_multiply_residuals(entry, data):
    sample = data.draw(samples(entry.classes))
    signs = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=len(sample), max_size=len(sample))))
    evaluate, predicted = entry.thing.prepare(sample.predictions), sample.predictions.probabilities
    chances = predicted + signs[:, None] * (np.eye(predicted.shape[1])[sample.outcomes] - predicted)
    expected, found = evaluate(chances), evaluate.signed(sample.outcomes, signs)
    if found is not None:
        agree(found, expected, 1e-9, 1e-12)
        agree(evaluate.signed(sample.outcomes, np.ones((2, len(sample))))[0], evaluate(sample.outcomes), 1e-9, 1e-12)
    if entry.thing.residual_form == "seminorm" and entry.scalar:
        with_signs, rest = evaluate.signed(sample.outcomes, np.stack([signs, 1 - signs]))
        assert evaluate(sample.outcomes) <= with_signs + rest + 1e-6


@every(VANISHING)
def test_chances_equal_to_the_predictions(entry):
    if "Sweep" not in entry.name:  # chances in disorder leave it with a single cell
        expectation.test_the_predictions_themselves_as_chances_give_zero(entry)
    sample = entry.sample(seed=2)
    assert abs(entry.thing.estimand.prepare(sample.predictions)(sample.predictions.chances)) < 1e-12


@every(SCALAR)
@settings(max_examples=6)
@given(data=st.data())
def test_generic(entry, data):
    law(generic.test_generic_agrees_on_labels)(entry, data)
    if entry.cells_move_with != "weights":
        law(generic.test_generic_agrees_on_weights_where_they_do_not_move_cells)(entry, data)


@every(SCALAR)
def test_weights_matter(entry):
    weights.test_weights_matter(entry)


@every(ALL)
@settings(max_examples=6)
@given(data=st.data(), factor=st.sampled_from([1e-3, 0.5, 7.0, 1e4]))
def test_weights_are_relative(entry, data, factor):
    sample = data.draw(samples(entry.classes, weighted=False))
    evaluate, outcomes = entry.thing.prepare(sample.predictions), sample.outcomes
    agree(evaluate(outcomes, np.ones(len(sample))), evaluate(outcomes), 1e-12, 1e-14)
    drawn = data.draw(counts(len(sample), smallest=1))
    agree(evaluate(outcomes, drawn * factor), evaluate(outcomes, drawn))
    thing = entry.thing
    agree(
        thing.prepare(weights.weighted(sample, drawn[0] * factor).predictions)(outcomes),
        thing.prepare(weights.weighted(sample, drawn[0]).predictions)(outcomes),
    )


@every(PLUG_INS)
@settings(max_examples=6)
@given(data=st.data())
def test_whole_weights_are_repeated_rows(entry, data):
    sample = data.draw(samples(entry.classes, weighted=False))
    times = data.draw(counts(len(sample), 1, smallest=1))[0]
    repeated = sample.take(np.repeat(np.arange(len(sample)), times.astype(int)))
    expected = entry.thing.prepare(repeated.predictions)(repeated.outcomes)
    agree(entry.thing.prepare(sample.predictions)(sample.outcomes, times), expected, 1e-10, 1e-13)
    weighty = weights.weighted(sample, times).predictions
    agree(entry.thing.prepare(weighty)(sample.outcomes), expected, 1e-10, 1e-13)


@every([entry for entry in ALL if "Isotonic" not in entry.name and entry.cells_move_with == "nothing"])
@settings(max_examples=6)
@given(data=st.data())
def test_rows_without_weight_are_not_there(entry, data):
    sample = data.draw(samples(entry.classes, weighted=False, min_rows=2))
    drawn = data.draw(counts(len(sample), 1))[0]
    kept = drawn > 0
    if "Given" in entry.name:  # the range of the variable stays
        values = sample.predictions.variables["age"].values
        assume((values[kept].min(), values[kept].max()) == (values.min(), values.max()))
    found = entry.thing.prepare(sample.predictions)(sample.outcomes, drawn)
    expected = entry.thing.prepare(sample.take(kept).predictions)(sample.outcomes[kept], drawn[kept])
    if "WorstInterval" in entry.name:  # rows without weight may lie at its ends
        found, expected = found[[0, 3]], expected[[0, 3]]
    agree(found, expected, 1e-10, 1e-13)


@every(ALL)
@settings(max_examples=6)
@given(data=st.data())
def test_the_order_of_rows_does_not_matter(entry, data):
    sample = data.draw(samples(entry.classes))
    shuffled = sample.take(np.array(data.draw(st.permutations(range(len(sample))))))
    agree(numbers(entry.thing(shuffled)), numbers(entry.thing(sample)), 1e-9, 1e-11)


# A linear programme is solved to 1e-7, an integral computed on a mesh.
ROUGH = {SmoothCE: (1e-6, 1e-7), SmoothECE: (1e-5, 1e-6)}


@every(ALL)
@settings(max_examples=12)
@given(data=st.data())
def test_the_naive_reference(entry, data):
    n = 12 if "Smooth" in entry.name else 20
    sample = data.draw(samples(entry.classes, max_rows=n))
    seen = reference.look(entry.thing.lens, reference.rows_of(sample))
    try:
        expected = NAIVE[type(entry.thing.core)](entry.thing.core, seen)
    except reference.UnclearError:
        assume(False)
    found = entry.thing.prepare(sample.predictions)(sample.outcomes)
    agree(found, expected, *ROUGH.get(type(entry.thing.core), (1e-9, 1e-11)))


@every(RECORDS)
def test_records_hold_the_numbers(entry):
    sample = entry.sample(seed=3)
    value = entry.thing(sample)
    found = entry.thing.prepare(sample.predictions)(sample.outcomes)
    first = numbers(value) if "Isotonic" not in entry.name else value.recalibrated
    np.testing.assert_array_equal(first[: len(found)], found)
    with pytest.raises(AttributeError):
        setattr(value, fields(value)[0].name, 0)


@every(ALL)
def test_estimands_settle(entry):
    estimand = entry.thing.estimand
    assert estimand.estimand == estimand
    assert estimand.lens == entry.thing.lens
    assert entry.thing.lens | entry.thing.core == entry.thing
    assert hash(entry.thing) == hash(eval(repr(entry.thing), {}, Names()))


class Names(dict):
    """Names of the package and of these estimators."""

    def __missing__(self, name):
        known = {type(entry.thing.core).__name__: type(entry.thing.core) for entry in ALL}
        return known[name] if name in known else getattr(cs, name)


@every(ALL)
def test_no_rows_give_nan(entry):
    sample = entry.sample().take(np.zeros(0, dtype=int))
    found = entry.thing.prepare(sample.predictions)(sample.outcomes)
    assert np.isnan(found).all()


@every(ALL)
def test_no_weight_gives_nan(entry):
    sample = entry.sample()
    found = entry.thing.prepare(sample.predictions)(sample.outcomes, np.zeros(len(sample)))
    assert np.isnan(np.ravel(found)[0])


@every([entry for entry in ALL if entry.classes == (2,)])
def test_many_classes_are_refused_with_the_lens_that_helps(entry):
    sample = Entry(None, (3,)).sample()
    with pytest.raises(ValueError, match=r"2 classes, got 3: look through a lens first|cuts one column"):
        entry.thing.prepare(sample.predictions)


TESTED = [entry for entry in ALL if entry.scalar or type(entry.thing.core) not in (IsotonicCurve, MeanAndBridge)]


@every(TESTED)
def test_a_test_is_about_one_number(entry):
    sample = entry.sample(n=60)
    result = cs.calibration_test(sample, entry.thing, null=cs.Consistency(19), rng=0)
    assert 0.05 <= result.pvalue <= 1
    assert np.isfinite(result.null_mean)
