"""Every lens against a naive one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import reference
from registry import LENSES, every
from strategies import samples


@every([entry for entry in LENSES if "older" not in entry.name])
@given(data=st.data())
def test_a_lens_agrees_with_the_naive_one(entry, data):
    sample = data.draw(samples(entry.classes))
    found = entry.thing(sample)
    if entry.naive is not None:
        assert found.outcomes.tolist() == list(entry.naive(entry.thing, sample))
        return
    expected = reference.look(entry.thing, reference.rows_of(sample))
    seen = found.predictions
    assert seen.classes == expected.classes
    assert seen.given == expected.given
    assert found.outcomes.tolist() == [row.y for row in expected.rows]
    np.testing.assert_allclose(
        seen.probabilities, np.reshape([row.p for row in expected.rows], (-1, seen.n_classes)), rtol=0, atol=1e-15
    )
    if seen.weights is not None:
        assert seen.weights.tolist() == [row.weight for row in expected.rows]
    for name, variable in seen.variables.items():
        assert variable.values.tolist() == [row.variables[name] for row in expected.rows]
