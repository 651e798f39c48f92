"""Codes without a table do what the table does, and the largest of a row are found as a sort finds them."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.lenses.base import Listed, Ranked
from registry import make_sample


def tied(n_classes, n=200, seed=0):
    """Rows with many ties."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, 6, (n, n_classes)).astype(float)
    rows /= rows.sum(axis=1, keepdims=True)
    return cs.Sample(rng.integers(0, n_classes, n), rows, labels=range(n_classes))


@pytest.mark.parametrize("k", [1, 2, 7, 8, 9, 19])
def test_the_largest_are_those_of_a_stable_sort(k):
    sample = tied(20)
    rows = sample.y_prob
    order = [sorted(range(20), key=lambda column, row=row: (-row[column], column))[:k] for row in rows]
    codes = [columns.index(y) + 1 if y in columns else 0 for columns, y in zip(order, sample.outcomes, strict=True)]
    seen = cs.TopK(k)(sample)
    assert seen.outcomes.tolist() == codes
    np.testing.assert_array_equal(seen.y_prob[:, 1:], np.take_along_axis(rows, np.array(order), axis=1))
    np.testing.assert_allclose(seen.y_prob.sum(axis=1), 1, atol=1e-14)


@pytest.mark.parametrize("k", [1, 3])
def test_ranked_codes_are_those_of_their_table(k):
    sample, rng = tied(6), np.random.default_rng(1)
    view = cs.TopK(k).look(sample.predictions)
    ranked, listed = view.recoding, Listed(view.codes)
    assert isinstance(ranked, Ranked)
    outcomes = rng.integers(0, 6, (4, len(sample)))
    np.testing.assert_array_equal(ranked.of(outcomes), listed.of(outcomes))
    rows = rng.permutation(len(sample))[:30]
    np.testing.assert_array_equal(ranked.take(rows).of(outcomes[:, rows]), listed.take(rows).of(outcomes[:, rows]))


def test_rows_are_only_read():
    sample = tied(6)
    before = sample.y_prob.copy()
    for k in (1, 3):
        cs.TopK(k)(sample)
    np.testing.assert_array_equal(sample.y_prob, before)
    assert not sample.y_prob.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        sample.y_prob[0, 0] = 0.5


def test_rows_that_nobody_may_write_are_read_too():
    rows = make_sample(4).y_prob.copy()
    rows.setflags(write=False)  # the owner itself
    seen = cs.TopLabel().look(cs.Predictions(rows, (0, 1, 2, 3)))
    np.testing.assert_array_equal(seen.predictions.event, rows.max(axis=1))


@pytest.mark.parametrize("lens", [cs.TopLabel(), cs.ClassWise(2)], ids=repr)
def test_the_event_has_its_probability_whatever_rounding_the_row_has(lens):
    """Of two outcomes one is the event: the other has what is left of one, as in a binary sample."""
    rows = np.array([[0.1, 0.3, 0.60001], [0.2, 0.2, 0.59999]])
    seen = lens(cs.Sample([0, 2], rows, labels=[0, 1, 2])).predictions
    np.testing.assert_array_equal(seen.event, rows[:, 2])
    np.testing.assert_array_equal(seen.probabilities[:, 0], 1 - rows[:, 2])
