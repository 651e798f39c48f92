"""Every estimator against a naive one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import calibstat as cs
import reference
from estimators_compared import ELSEWHERE
from registry import ESTIMATORS, every, make_sample, parts
from strategies import fitting
from suites import examples, slow_but


def compared(entry) -> bool:
    """Whether all of it has naive versions; PAVA-BC gives no binning, and has tests of its own."""
    inside = {type(part) for part in parts(entry.thing) if isinstance(part, cs.Estimator)}
    return not inside & set(ELSEWHERE) and getattr(entry.thing, "binning", 0) is not None


COMPARED = [entry for entry in ESTIMATORS if compared(entry)]
# A linear programme is solved to 1e-7, an integral computed on a mesh.
ROUGH = {cs.SmoothCE: (1e-6, 1e-7), cs.SmoothECE: (1e-5, 1e-6)}
MAX_ROWS = {cs.SmoothCE: 12, cs.SmoothECE: 12, cs.SKCE: 14, cs.KCE: 14, cs.KDECE: 14}
# What was impossible has no covariance, and no two generalised inverses agree there; elsewhere to eight digits.
POSSIBLE = (cs.LogitScore, cs.VectorScalingScore, cs.CME)
DIGITS = ROUGH | dict.fromkeys(POSSIBLE, (1e-8, 1e-10))


def expected(entry, sample):
    try:
        if entry.naive is None:
            return reference.value(entry.thing, sample)
        return entry.naive(entry.thing.core, entry.thing.lens(sample))
    except reference.UnclearError:
        assume(False)


def agree(entry, found, naive) -> None:
    if entry.core is cs.HistogramRegression:  # the cells that have weight, in any order
        found, naive = found[~np.isnan(found[:, 0])], np.array([gaps for _, gaps in naive])
        found, naive = (rows[np.lexsort(rows.round(9).T)] for rows in (found, naive))
    rtol, atol = DIGITS.get(entry.core, (1e-9, 1e-11))
    np.testing.assert_allclose(found, naive, rtol=rtol, atol=atol)


def compare(entry, data) -> None:
    sample = data.draw(fitting(entry, max_rows=MAX_ROWS.get(entry.core, 25)))
    if entry.core in POSSIBLE:
        assume((sample.predictions.chances[np.arange(len(sample)), sample.outcomes] > 0).all())
    agree(entry, entry.numbers(sample), expected(entry, sample))


@every([entry for entry in COMPARED if entry.core not in ROUGH])
@examples(15)
@given(data=st.data())
def test_an_estimator_agrees_with_the_naive_one(entry, data):
    compare(entry, data)


@every([entry for entry in COMPARED if entry.core in ROUGH])
@examples(8)
@given(data=st.data())
def test_a_rough_estimator_agrees_with_the_naive_one(entry, data):
    compare(entry, data)


def quick(entry) -> bool:
    """The naive integral of SmoothECE takes longest, and is the same behind a lens."""
    return not (entry.core is cs.SmoothECE and entry.thing.lens.parts)


@pytest.mark.parametrize("entry", slow_but(quick, COMPARED), ids=lambda entry: entry.name)
def test_an_estimator_agrees_with_the_naive_one_on_more_rows(entry):
    for n_classes in entry.classes[:2]:
        sample = make_sample(n_classes, seed=n_classes, n=60, weighted=entry.weighted)
        agree(entry, entry.numbers(sample), expected(entry, sample))


def test_a_naive_version_of_something_else_is_told_apart():
    """The negative control."""
    one, other = (
        entry for entry in COMPARED if entry.thing in (cs.ECE(cs.EqualWidth(4)), cs.SquaredCE(cs.EqualWidth(5)))
    )
    sample = make_sample(2)
    with pytest.raises(AssertionError):
        agree(one, one.numbers(sample), expected(other, sample))


def test_naive_versions_are_all_used():
    assert not set(reference.NAIVE) & set(ELSEWHERE)
    assert {entry.core for entry in COMPARED if entry.naive is None} == set(reference.NAIVE)


@pytest.mark.parametrize("distance", [cs.TotalVariation(), cs.SquaredEuclidean(), cs.Lp(1), cs.Lp(3), cs.Lp(np.inf)])
@given(data=st.data())
def test_distances_agree_with_the_naive_ones(distance, data):
    gaps = data.draw(st.lists(st.floats(-1, 1), min_size=2, max_size=5))
    value = distance(np.array(gaps), np.zeros(len(gaps)))
    np.testing.assert_allclose(value, reference.distance(distance, gaps), rtol=1e-9, atol=1e-12)
