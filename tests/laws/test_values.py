"""What users see is replicate zero: the number, or a record of the numbers with the one that a test is about."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.draws.labels import LabelLaw
from calibstat.estimators.base import Headline
from calibstat.nulls.multiplier import signed_values
from registry import ESTIMATORS, every
from strategies import fitting, labelled
from suites import examples

RECORDS = [entry for entry in ESTIMATORS if entry.record]
TESTED = [entry for entry in ESTIMATORS if entry.headline]


def held(record) -> Iterator[float]:
    """Every number in a record."""
    for field in fields(record):
        part = getattr(record, field.name)
        yield from (float(each) for each in np.ravel(part) if isinstance(each, (float, int, np.number)))


@every(ESTIMATORS)
def test_the_observed_value_is_replicate_zero(entry):
    sample = entry.sample(seed=3)
    value, found = entry.thing(sample), entry.numbers(sample)
    assert isinstance(value, float) == entry.scalar
    assert found.shape == entry.thing.prepare(sample.predictions).shape
    if not entry.record:
        np.testing.assert_array_equal(value["deviation"].values if hasattr(value, "coords") else value, found)


@every(RECORDS)
def test_records_are_frozen_and_survive_pickling(entry):
    value = entry.thing(entry.sample(seed=3))
    for field in fields(value):
        with pytest.raises(AttributeError):
            setattr(value, field.name, 0)
    assert list(held(pickle.loads(pickle.dumps(value)))) == list(held(value))


@every(RECORDS)
def test_a_record_holds_the_headline_or_every_number(entry):
    sample = entry.sample(seed=4)
    value, found = entry.thing(sample), entry.numbers(sample)
    assert hasattr(value, "__float__") == entry.headline
    if entry.headline:
        assert float(value) == pytest.approx(float(entry.thing.headline(found)), rel=1e-12, abs=1e-14)
    else:
        assert set(found.tolist()) <= set(held(value))


@every(ESTIMATORS)
def test_only_values_with_a_sign_are_ever_negative(entry):
    """Of labels without any relation to the predictions, and of calibrated ones; where there is a sign, some are."""
    found = []
    for seed in range(4):
        sample = entry.sample(seed=seed)
        uniforms = np.random.Generator(np.random.PCG64(seed)).random((15, len(sample)))
        evaluate, n_classes = entry.thing.prepare(sample.predictions), sample.predictions.n_classes
        for labels in ((uniforms * n_classes).astype(int), LabelLaw(sample.predictions.chances).invert(uniforms)):
            found.append(np.ravel(evaluate(labels)))
    assert (np.nanmin(np.concatenate(found)) < -1e-12) == entry.signed


@every(TESTED)
def test_a_test_is_about_the_headline(entry):
    sample = entry.sample(n=60)
    result = cs.calibration_test(sample, entry.thing, null=cs.Consistency(19), rng=0)
    assert 0.05 <= result.pvalue <= 1
    assert np.isfinite(result.null_mean)
    assert result.statistic == pytest.approx(float(entry.thing.headline(entry.numbers(sample))), rel=1e-12)


@every([entry for entry in ESTIMATORS if not entry.headline])
def test_what_has_no_headline_cannot_be_tested(entry):
    with pytest.raises(ValueError, match="a test needs one number"):
        cs.calibration_test(entry.sample(), entry.thing, null=cs.Consistency(19), rng=0)


# Signs of residuals. A U-statistic of cells is no function of chances, and has a fast way always.
OF_RESIDUALS = [entry for entry in ESTIMATORS if entry.thing.residual_form != "none"]
OF_CHANCES = [
    entry for entry in OF_RESIDUALS if entry.thing.residual_form != "pairs" and "DebiasedL2" not in entry.name
]


@every(OF_CHANCES)
@examples(5)
@given(data=st.data())
def test_signs_multiply_residuals(entry, data):
    sample = data.draw(fitting(entry))
    signs = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=len(sample), max_size=len(sample))))
    evaluate, predicted = entry.thing.prepare(sample.predictions), sample.predictions.probabilities
    chances = predicted + signs[:, None] * (np.eye(predicted.shape[1])[sample.outcomes] - predicted)
    expected, signed = evaluate(chances), evaluate.capabilities.signed
    found = None if signed is None else signed(sample.outcomes, signs)
    assume(np.isfinite([*np.ravel(expected), *np.ravel(evaluate(sample.outcomes))]).all())  # what is impossible is not
    if found is not None:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        ones = np.ones((2, len(sample)))
        once = evaluate.capabilities.signed(sample.outcomes, ones)[0]
        np.testing.assert_allclose(once, evaluate(sample.outcomes), rtol=1e-9, atol=1e-12)


@every(OF_RESIDUALS)
def test_functions_of_residuals_know_what_a_sign_does(entry):
    """As the multiplier passes them."""
    sample = entry.sample(seed=5, n=30)
    evaluate = entry.thing.prepare(sample.predictions)
    each = np.repeat([[1.0], [-1.0], [2.0]], len(sample), axis=1)
    value, opposite, double = entry.thing.headline(signed_values(evaluate, sample, each))
    np.testing.assert_allclose(value, entry.thing.headline(evaluate(sample.outcomes)), rtol=1e-9, atol=1e-12)
    if entry.odd is not None:
        np.testing.assert_allclose(opposite, -value if entry.odd else value, rtol=1e-9, atol=1e-12)
    assert not np.isclose(double, value, rtol=1e-3, atol=0)


@every([each for each in ESTIMATORS if each.thing.core.noise_form and each.thing.residual_form != "seminorm"])
@examples(5)
@given(data=st.data())
def test_noise_moves_a_value_at_most_as_far_as_its_noise_form_says(entry, data):
    sample = data.draw(fitting(entry, max_rows=12))
    labels = data.draw(labelled(sample, 1))[0]
    core, seen = entry.thing.core, entry.thing.lens(sample)
    other = entry.thing.lens(cs.Sample.of(sample.predictions, labels))
    value, noise = (Headline(each).prepare(seen.predictions) for each in (core, core.noise_form))
    rows = np.eye(seen.predictions.n_classes)
    gap = noise(seen.predictions.probabilities + rows[seen.outcomes] - rows[other.outcomes])
    peaks = value.capabilities.peaks
    if peaks is not None:
        (heights, scales), (others, _) = (peaks(each.outcomes) for each in (seen, other))
        assert heights.max() == pytest.approx(float(value(seen.outcomes)), abs=1e-12)
        assert (np.abs(heights - others) <= gap * scales + 1e-9).all()
        return
    nearby = value.capabilities.nearby
    if nearby is not None:
        for one, another in ((seen, other), (other, seen)):
            low, high = nearby(one.outcomes)
            assert low - gap - 1e-9 <= float(value(another.outcomes)) <= high + gap + 1e-9
        return
    root = 1 / core.noise_power
    values = [max(float(value(each.outcomes)), 0.0) ** root for each in (seen, other)]
    if np.isfinite(values).all():
        assert abs(values[0] - values[1]) <= max(gap, 0.0) ** root + 1e-6


@every([entry for entry in ESTIMATORS if entry.thing.residual_form == "seminorm"])
@examples(5)
@given(data=st.data())
def test_seminorms_have_a_triangle(entry, data):
    sample = data.draw(fitting(entry, max_rows=12))
    labels = data.draw(labelled(sample, 1))[0]
    thing, evaluate, rows = entry.thing, entry.thing.prepare(sample.predictions), sample.predictions.probabilities
    first, second = (np.eye(rows.shape[1])[each] - rows for each in (sample.outcomes, labels))
    norm = lambda gap: thing.evidence(thing.headline(evaluate(rows + gap)))
    assert abs(norm(first) - norm(second)) <= norm(first - second) + 1e-6
    np.testing.assert_allclose(norm(-3 * first), 3 * norm(first), rtol=1e-6, atol=1e-6)
    signs = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=len(sample), max_size=len(sample))))
    with_signs, rest = thing.headline(signed_values(evaluate, sample, np.stack([signs, 1 - signs])))
    assert norm(first) <= with_signs + rest + 1e-6
