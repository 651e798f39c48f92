"""Texts are read in the same way however many distinct values they have, and whatever holds them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibstat.data.columns import _few_texts, _of_objects, column
from calibstat.data.frames import select
from calibstat.data.sample import Sample

FEW = ["yes", "no", "yes", "maybe"]
HOLDERS = [list, tuple, np.array, lambda texts: np.array(texts, dtype=object), pd.Series, pd.Categorical]


@pytest.mark.parametrize("held", HOLDERS)
@pytest.mark.parametrize("texts", [FEW, FEW + list("abcdef"), ["one"]])
def test_texts_are_positions_among_the_sorted_names(held, texts):
    found = column("y_true", held(texts))
    assert found.names == tuple(sorted(set(texts)))
    assert [found.names[place] for place in found.values] == texts
    assert found.values.dtype == np.intp


@pytest.mark.parametrize("kind", ["U1", "U3", ">U3", "U8", "U9", "U40"])
def test_texts_of_numpy_are_told_apart_by_every_letter(kind):
    array = np.array(["a", "b", "ab", "abc", "abd", "", "abc"] * 50, dtype=kind)
    for held in (array, array[::2], array[::-1]):
        found = column("y_true", held)
        assert found.names == tuple(sorted(set(held.tolist())))
        assert [found.names[place] for place in found.values] == held.tolist()
    three = column("y_true", np.array(["abd", "abc", "abd"], dtype=kind))
    assert [three.names[place] for place in three.values] == np.array(["abd", "abc", "abd"], dtype=kind).tolist()


@pytest.mark.parametrize("odd", [None, np.nan, 1, True, pd.NA, pd.NaT, "x" * 3])
def test_a_value_after_many_texts_is_seen(odd):
    items = FEW * 100 + [odd]
    array = np.array(items, dtype=object)
    assert (_few_texts(array) is None) == (not isinstance(odd, str))
    if not isinstance(odd, int):
        found, expected = column("y_true", array), _of_objects("y_true", items)
        assert (found.names, found.values.tolist()) == (expected.names, expected.values.tolist())
    else:
        with pytest.raises(ValueError, match="mixture of types"):
            column("y_true", array)


def test_the_number_of_classes_costs_no_square():
    k = 3000
    labels = [f"class {number}" for number in range(k)]
    compared = 0

    class Counted(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    names = [Counted(label) for label in labels]
    select(["y", *names], y_true="y", y_prob=names, variables=None, sample_weight=None, where="it")
    assert compared < 40 * k
    sample = Sample([labels[-1], labels[0]], np.full((2, k), 1 / k), labels=labels)
    assert sample.outcomes.tolist() == [k - 1, 0]
