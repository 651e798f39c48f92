"""Objects are their parameters: frozen, hashable, evaluable, picklable; calling them leaves no trace."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from registry import (
    BINNINGS,
    ESTIMATORS,
    LENSES,
    NULLS,
    REGIONAL,
    RESAMPLERS,
    VARIABLE_BINNINGS,
    every,
    make_sample,
    parts,
)
from strategies import fitting
from suites import examples

EVERYTHING = [
    *LENSES,
    *{entry.name: entry for entry in BINNINGS + [each for _, each in VARIABLE_BINNINGS]}.values(),
    *ESTIMATORS,
    *REGIONAL,
    *NULLS,
    *RESAMPLERS,
]
DISTANCES = [cs.TotalVariation(), cs.SquaredEuclidean(), cs.Lp(2.5)]


class PublicNames(dict):
    """The names of the package, looked up when they are used."""

    def __missing__(self, name):
        if name not in cs.__all__:
            raise KeyError(name)
        return getattr(cs, name)


@every(EVERYTHING)
def test_things_are_frozen_and_hashable(entry):
    for part in parts(entry.thing):
        assert hash(part) == hash(copy.deepcopy(part))
        for field in fields(part):
            with pytest.raises(FrozenInstanceError):
                setattr(part, field.name, None)


@every(EVERYTHING)
def test_things_are_equal_to_their_pickles(entry):
    again = pickle.loads(pickle.dumps(entry.thing))
    assert again == entry.thing
    assert hash(again) == hash(entry.thing)
    assert repr(again) == entry.name


@pytest.mark.parametrize("thing", [entry.thing for entry in EVERYTHING if entry.evaluable] + DISTANCES, ids=repr)
def test_the_repr_makes_the_thing_again(thing):
    assert eval(repr(thing), {}, PublicNames()) == thing


@every(EVERYTHING)
def test_different_things_are_not_equal(entry):
    same = [other for other in EVERYTHING if other.thing == entry.thing]
    assert [other.name for other in same] == [entry.name]


@every(ESTIMATORS + REGIONAL)
def test_lens_and_core_put_together_are_the_estimator(entry):
    estimator = entry.thing
    assert estimator.lens | estimator.core == estimator
    assert estimator.core.lens == cs.Canonical()
    assert estimator.core.core == estimator.core


@every(ESTIMATORS + REGIONAL)
def test_an_estimand_is_an_estimator_through_the_same_lens(entry):
    estimand = entry.thing.estimand
    assert isinstance(estimand, cs.Estimator)
    assert estimand.lens == entry.thing.lens
    assert estimand == entry.thing.lens | entry.thing.core.estimand
    assert estimand.estimand == estimand


@every([entry for entry in ESTIMATORS if entry.neutral is not None and entry.headline and entry.chances])
def test_a_calibrated_world_has_no_miscalibration_to_estimate(entry):
    estimand, seen = entry.thing.estimand, entry.sample(seed=2).predictions
    value = float(estimand.headline(estimand.prepare(seen)(seen.chances)))
    assert value == pytest.approx(entry.neutral, abs=1e-7 if entry.fitted else 1e-12)


@every(ESTIMATORS + REGIONAL)
def test_an_estimator_says_what_the_number_is(entry):
    assert isinstance(entry.thing.quantity, str)
    assert len(entry.thing.quantity) > 10 or "Generic" in entry.name


def state(thing) -> list:
    return [(type(part), dict(vars(part))) for part in parts(thing)]


@every(ESTIMATORS + REGIONAL)
@examples(3)
@given(data=st.data())
def test_evaluating_is_deterministic_and_leaves_no_trace(entry, data):
    sample = data.draw(fitting(entry, min_rows=2))
    if entry in REGIONAL and not len(entry.thing.lens(sample)):
        return
    before, outcomes, rows = state(entry.thing), sample.outcomes.copy(), sample.y_prob.copy()
    evaluate = entry.thing.prepare(sample.predictions)
    first = evaluate(sample.outcomes)
    evaluate(sample.outcomes[::-1], np.full(len(sample), 2.0) if entry.weighted else None)
    np.testing.assert_array_equal(evaluate(sample.outcomes), first)
    np.testing.assert_array_equal(entry.thing.prepare(sample.predictions)(sample.outcomes), first)
    assert state(entry.thing) == before
    np.testing.assert_array_equal(sample.outcomes, outcomes)
    np.testing.assert_array_equal(sample.y_prob, rows)


@every(NULLS)
def test_drawing_leaves_no_trace(entry):
    before, sample = state(entry.thing), entry.sample(n=400)
    own = {cs.Asymptotic: cs.Kuiper(), cs.Saddlepoint: cs.LogScore()}
    statistic = own.get(type(entry.thing), cs.ECE(cs.EqualWidth(3)))
    entry.thing.draw(statistic, sample, cs.as_generator(0))
    assert state(entry.thing) == before


@every(BINNINGS)
def test_cutting_leaves_no_trace(entry):
    before, sample = state(entry.thing), entry.sample()
    rows = sample.y_prob.copy()
    entry.thing.cut(sample.predictions)
    assert state(entry.thing) == before
    np.testing.assert_array_equal(sample.y_prob, rows)


@every(ESTIMATORS)
def test_samples_survive_pickling(entry):
    sample = entry.sample(seed=9, weighted=entry.weighted)
    np.testing.assert_array_equal(entry.numbers(sample), entry.numbers(pickle.loads(pickle.dumps(sample))))


@every([entry for entry in ESTIMATORS if entry.core is not cs.Generic])
def test_a_region_without_rows_gives_nan(entry):
    sample, nobody = entry.sample(), cs.Region.between("age", 100, 101) | entry.thing
    assert np.isnan(nobody.prepare(sample.predictions)(sample.outcomes)).all()
    assert np.isnan(entry.numbers(sample.take(np.zeros(0, dtype=int)))).all()


@every([entry for entry in ESTIMATORS if entry.classes == (2,) and entry.core is not cs.Generic])
def test_many_classes_are_refused_with_the_lens_that_helps(entry):
    with pytest.raises(
        ValueError, match=r"TopLabel\(\)|Given\('age'\)|look through a lens first|cuts one column|as there are columns"
    ):
        entry.thing.prepare(make_sample(3).predictions)
