"""Every binning against a naive one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import calibstat as cs
import reference
from registry import BINNINGS, VARIABLE_BINNINGS, every
from strategies import samples
from suites import examples

CUT = [(cs.Canonical(), entry) for entry in BINNINGS] + VARIABLE_BINNINGS


def numbered(keys) -> list[int]:
    """Number keys in the order in which they appear, so that two ways of cutting can be compared."""
    seen = {}
    return [seen.setdefault(key, len(seen)) for key in keys]


@pytest.mark.parametrize(("lens", "entry"), CUT, ids=[f"{lens!r} {entry.name}" for lens, entry in CUT])
@examples(100)
@given(data=st.data())
def test_a_binning_agrees_with_the_naive_one(lens, entry, data):
    sample = lens(data.draw(samples(entry.classes, max_rows=25)))
    try:
        rows = reference.rows_of(sample)
        expected = reference.keys(entry.thing, rows) if entry.naive is None else list(entry.naive(entry.thing, sample))
    except reference.UnclearError:
        assume(False)
    assert numbered(entry.thing.cut(sample.predictions).index.tolist()) == numbered(expected)


@every([entry for entry in BINNINGS if isinstance(entry.thing, (cs.EqualWidth, cs.FixedEdges, cs.EqualMass))])
@given(data=st.data())
def test_cells_that_are_intervals_have_their_values_between_their_edges(entry, data):
    seen = data.draw(samples(entry.classes)).predictions
    cells = entry.thing.cut(seen)
    assert len(cells.edges) == cells.size + 1
    for value, cell in zip(seen.event, cells.index, strict=True):
        assert cells.edges[cell] <= value <= cells.edges[cell + 1]


@given(
    values=st.lists(st.floats(0, 1, allow_nan=False, allow_subnormal=True), min_size=1, max_size=30),
    n_bins=st.integers(1, 12),
)
def test_any_floats_are_cut_as_numpy_digitize_and_as_kumar(values, n_bins):
    seen = cs.Sample([0] * len(values), values).predictions
    edges = np.linspace(0, 1, n_bins + 1).tolist()
    assert cs.EqualWidth(n_bins).cut(seen).index.tolist() == [reference.left_closed(v, edges) for v in values]
    halves = reference.equal_mass_edges(values, n_bins, 0.0, 1.0)
    expected = numbered([reference.right_closed(v, halves) for v in values])
    assert numbered(cs.EqualMass(n_bins).cut(seen).index.tolist()) == expected
