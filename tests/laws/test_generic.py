"""Law 2: an estimator prepared once agrees with the same estimator as a plain function of a sample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from registry import ESTIMATORS, every, gap, make_sample
from strategies import counts, fitting, labelled
from suites import examples

SCALAR = [entry for entry in ESTIMATORS if entry.scalar]


@every(SCALAR)
@examples(5)
@given(data=st.data())
def test_generic_agrees_on_labels(entry, data):
    sample = data.draw(fitting(entry))
    outcomes = data.draw(labelled(sample))
    slow = cs.Generic(entry.thing).prepare(sample.predictions)
    fast = entry.thing.prepare(sample.predictions)
    np.testing.assert_allclose(fast(outcomes), slow(outcomes), rtol=1e-12, atol=1e-13)


@every([entry for entry in SCALAR if entry.cells_move_with != "weights" and entry.weighted])
@examples(5)
@given(data=st.data())
def test_generic_agrees_on_weights_where_they_do_not_move_cells(entry, data):
    sample = data.draw(fitting(entry, zero_weights=False))
    weights = data.draw(counts(len(sample)))
    slow = cs.Generic(entry.thing).prepare(sample.predictions)
    fast = entry.thing.prepare(sample.predictions)
    np.testing.assert_allclose(
        fast(sample.outcomes, weights), slow(sample.outcomes, weights), rtol=1e-12, atol=1e-13, equal_nan=True
    )


@pytest.mark.parametrize("lens", [cs.Canonical(), cs.TopLabel(), cs.Given("age")], ids=repr)
def test_generic_behind_a_lens_sees_the_induced_sample(lens):
    sample = make_sample(2, seed=4)
    assert (lens | cs.Generic(gap))(sample) == gap(lens(sample))


def test_generic_refuses_chances():
    sample = make_sample(2)
    with pytest.raises(TypeError, match="function of labels"):
        cs.Generic(gap).prepare(sample.predictions)(sample.predictions.chances)


def test_generic_of_an_array_keeps_its_shape():
    def both(sample):
        return np.array([gap(sample), 2 * gap(sample), 0.0])

    sample = make_sample(2)
    evaluate = cs.Generic(both).prepare(sample.predictions)
    assert evaluate(np.stack([sample.outcomes] * 4)).shape == (4, 3)
    np.testing.assert_array_equal(cs.Generic(both)(sample), both(sample))
