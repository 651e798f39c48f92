"""Many rows, ties and classes: the same numbers in single precision, in any order of rows, and from whole counts."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs

ROWS = 10**6
FAST = {
    "ECE": cs.ECE(),
    "ECE, equal width": cs.ECE(cs.EqualWidth(20), p=2),
    "DebiasedL2": cs.DebiasedL2(),
    "Kuiper": cs.Kuiper(),
    "KS": cs.KS(),
    "BrierScore": cs.BrierScore(),
    "AUC": cs.AUC(),
    "ObservedToExpected": cs.ObservedToExpected(),
    "SmoothECE": cs.SmoothECE(),
}
every_fast = pytest.mark.parametrize("name", FAST)


def drawn(n, rng, p=None):
    p = rng.random(n) if p is None else p
    return (rng.random(n) < p).astype(int), p


@pytest.mark.slow
@every_fast
def test_a_million_rows_in_another_order_give_the_same(name):
    y, p = drawn(ROWS, np.random.default_rng(1))
    order = np.random.default_rng(2).permutation(ROWS)
    value = float(FAST[name](cs.Sample(y, p)))
    assert float(FAST[name](cs.Sample(y[order], p[order]))) == pytest.approx(value, rel=1e-11, abs=1e-14)


@every_fast
def test_single_precision_is_read_exactly(name):
    """The numbers of an array of float32 are those of the same array as float64."""
    y, p = drawn(5000, np.random.default_rng(3))
    single = p.astype(np.float32)
    assert float(FAST[name](cs.Sample(y, single))) == float(FAST[name](cs.Sample(y, single.astype(float))))


@pytest.mark.slow
@every_fast
def test_a_million_ties_give_what_their_counts_give(name):
    """Three predictions, each of which is that of hundreds of thousands of rows.

    A walk adds up a million steps, each of which is rounded: its height has an error of 1e-11 at most.
    """
    rng = np.random.default_rng(4)
    values = np.array([0.1, 0.3, 0.9])
    y, p = drawn(ROWS, rng, rng.choice(values, ROWS))
    trials = [int((p == value).sum()) for value in values]
    events = [int(y[p == value].sum()) for value in values]
    counts = cs.Sample.from_counts(values, events=events, trials=trials)
    value = float(FAST[name](counts))
    assert float(FAST[name](cs.Sample(y, p))) == pytest.approx(value, rel=1e-10, abs=1e-11)


THOUSAND = {
    "ECE": cs.TopLabel() | cs.ECE(),
    "KS": cs.TopLabel() | cs.KS(),
    "each class": cs.EachClass(cs.ECE(cs.EqualWidth(15))),
    "BrierScore": cs.BrierScore(),
}


@pytest.mark.parametrize("name", THOUSAND)
def test_a_thousand_classes(name):
    """Single precision, whose rows sum to one up to 1e-6, differs by as much; the order of rows does not matter."""
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(1000, 0.05), 400).clip(1e-300)
    p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1)[:, :-1] < rng.random((400, 1))).sum(axis=1)
    value = float(THOUSAND[name](cs.Sample(y, p, labels=range(1000))))
    order = rng.permutation(400)
    assert 0 < value < 2
    assert float(THOUSAND[name](cs.Sample(y[order], p[order], labels=range(1000)))) == pytest.approx(value, rel=1e-12)
    single = float(THOUSAND[name](cs.Sample(y, p.astype(np.float32), labels=range(1000))))
    assert single == pytest.approx(value, rel=1e-4)
