"""Law 5: lenses compose with each other and with estimators; calibrated labels stay calibrated."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import calibstat as cs
from calibstat.draws.labels import LabelLaw
from registry import ESTIMATORS, LENSES, every, make_sample
from strategies import fitting, samples
from suites import at_once, examples

PAIRS = list(product(LENSES, LENSES))
SIMPLE = [entry for entry in LENSES if len(entry.thing.parts) <= 1]
TRIPLES = list(product(SIMPLE[:11:2], SIMPLE[1:11:3], SIMPLE[::4]))
UNIT = cs.Canonical()


def assert_same_sample(first: cs.Sample, second: cs.Sample) -> None:
    a, b = first.predictions, second.predictions
    np.testing.assert_allclose(a.probabilities, b.probabilities, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(first.outcomes, second.outcomes)
    assert (a.classes, a.given, list(a.variables)) == (b.classes, b.given, list(b.variables))
    for name in a.variables:
        np.testing.assert_array_equal(a.variables[name].values, b.variables[name].values)
    assert (a.weights is None) == (b.weights is None)
    if a.weights is not None:
        np.testing.assert_array_equal(a.weights, b.weights)


def seen_or_error(look, sample):
    try:
        return look(sample)
    except ValueError as error:
        return str(error)


@at_once([(*pair, weighted) for pair in PAIRS for weighted in (False, True)])
def test_a_chain_is_one_lens_after_the_other(case):
    first, second, weighted = case
    sample = make_sample(first.classes[-1], seed=1, n=25, weighted=weighted)
    l1, l2 = first.thing, second.thing
    together, apart = seen_or_error(l1 | l2, sample), seen_or_error(lambda s: l2(l1(s)), sample)
    if isinstance(apart, str):
        assert together == apart
        return
    assert_same_sample(together, apart)
    view = (l1 | l2).look(sample.predictions)
    batch = np.stack([sample.outcomes, sample.outcomes[::-1]])
    np.testing.assert_array_equal(view.outcomes(batch)[0], apart.outcomes)
    reversed_rows = cs.Sample.of(sample.predictions, sample.outcomes[::-1])
    np.testing.assert_array_equal(view.outcomes(batch)[1], l2(l1(reversed_rows)).outcomes)
    certain = np.eye(sample.predictions.n_classes)[batch]
    np.testing.assert_array_equal(view.chances(certain)[0].argmax(axis=-1), apart.outcomes)
    if weighted:
        np.testing.assert_array_equal(view.weights(sample.predictions.weights), apart.predictions.weights)


@at_once(TRIPLES)
def test_composition_is_associative(case):
    a, b, c = case
    assert (a.thing | b.thing) | c.thing == a.thing | (b.thing | c.thing)


@every(LENSES)
def test_canonical_is_the_unit(entry):
    lens = entry.thing
    assert UNIT | lens == lens
    assert lens | UNIT == lens
    assert_same_sample(UNIT(lens(entry.sample())), lens(entry.sample()))


@every(ESTIMATORS)
def test_estimators_are_behind_the_whole_chain(entry):
    estimator, first, second = entry.thing, cs.Region.between("age", 1, 6), cs.Given(..., "sex")
    assert (first | second) | estimator == first | (second | estimator)
    assert (first | second | estimator).lens == first | second | estimator.lens
    assert (first | second | estimator).core == estimator.core
    assert UNIT | estimator == estimator


def value_as_bytes(estimator, sample):
    """What users see of the value, or None where the estimator says that it has none."""
    try:
        return pickle.dumps(estimator(sample))
    except ValueError as error:
        if "has no value on this sample" not in str(error):
            raise
        return None


@every(ESTIMATORS)
@examples(3)
@given(data=st.data())
def test_looking_first_gives_the_value_of_the_estimator_behind_the_lens(entry, data):
    sample = data.draw(fitting(entry))
    estimator = entry.thing
    seen = estimator.lens(sample)
    assert value_as_bytes(estimator, sample) == value_as_bytes(estimator.core, seen)
    np.testing.assert_array_equal(entry.numbers(sample), estimator.core.prepare(seen.predictions)(seen.outcomes))


@every(LENSES)
@given(data=st.data())
def test_induced_rows_sum_to_one(entry, data):
    sample = data.draw(samples(entry.classes))
    seen = entry.thing(sample).predictions
    np.testing.assert_allclose(seen.probabilities.sum(axis=1), 1, atol=1e-12)
    assert seen.probabilities.shape == (len(seen), seen.n_classes)


@every(LENSES)
@given(data=st.data())
def test_the_image_of_the_calibrated_law_is_the_calibrated_law_of_the_image(entry, data):
    """Redraw then look and look then redraw have the same chances, row by row."""
    sample = data.draw(samples(entry.classes))
    view = entry.thing.look(sample.predictions)
    np.testing.assert_allclose(
        view.chances(sample.predictions.chances), view.predictions.chances, rtol=1e-12, atol=1e-12
    )


TABLES = [entry for entry in LENSES if "Given" not in entry.name and entry.thing != UNIT]


def draws(entry, shift=0.0, n_replicates=20_000):
    """Joint codes of two rows: redrawn before looking, and after."""
    sample = make_sample(entry.classes[-1], seed=3, n=2, weighted=False)
    view = entry.thing.look(sample.predictions)
    rng = np.random.Generator(np.random.PCG64(4))
    before = view.outcomes(LabelLaw(sample.predictions.chances).invert(rng.random((n_replicates, 2))))
    after = LabelLaw(view.predictions.chances).invert(rng.random((n_replicates, before.shape[1])) * (1 - shift))
    return [codes @ (view.predictions.n_classes ** np.arange(codes.shape[1])) for codes in (before, after)]


def law_pvalue(first, second):
    found = np.union1d(first, second)
    table = [[np.count_nonzero(codes == each) for each in found] for codes in (first, second)]
    return stats.chi2_contingency(table).pvalue if len(found) > 1 else 1.0


@every(TABLES)
def test_redrawing_and_looking_commute_in_law(entry):
    assert law_pvalue(*draws(entry)) > 1e-4


def test_a_wrong_law_is_told_apart():
    assert law_pvalue(*draws(LENSES[1], shift=0.05)) < 1e-6
