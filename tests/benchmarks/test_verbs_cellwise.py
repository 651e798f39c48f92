"""Verbs that draw sums over cells, from raw arrays: estimates against tests, and tests against passes over the data."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs

CELLS = cs.EqualMass(15)


def arrays_of(n):
    """Labels, and the predictions of two models."""
    rng = np.random.default_rng(3)
    p = rng.random(n)
    return (rng.random(n) < p**1.05).astype(int), p, np.clip(p + 0.05 * rng.standard_normal(n), 0, 1)


def one_pass(y, p):
    """A pass of ``numpy.bincount`` over the data: the cell of each row, and the sum of its residuals."""
    np.bincount(np.minimum((p * 15).astype(np.intp), 14), y - p, 15)


@pytest.mark.parametrize(("n", "goal"), [(1000, 5), (100_000, 2), (1_000_000, 2)])
def test_an_estimate_against_a_test(n, goal, ratios):
    """The interval needs signs and redrawn labels, the test a computed law: both of sums over cells."""
    y, p, _ = arrays_of(n)
    ratios.at_most(
        f"estimate(ECE), n = {n:g}; calibration_test(ECE)",
        lambda: cs.estimate(cs.Sample(y, p), cs.ECE(CELLS), rng=0),
        lambda: cs.calibration_test(cs.Sample(y, p), cs.ECE(CELLS), rng=0),
        goal,
        rounds=7,
    )


def test_comparing_different_top_labels_does_not_grow_with_rows(ratios):
    """Ten classes, of which both models name the same in two thirds of the rows."""

    def compared(n):
        rng = np.random.default_rng(0)
        scores = 1.5 * rng.normal(size=(n, 10))
        y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
        odds = [np.exp(scores + 0.5 * rng.normal(size=scores.shape)) for _ in range(2)]
        a, b = (cs.Sample(y, each / each.sum(axis=1, keepdims=True), labels=range(10)) for each in odds)
        return lambda: cs.comparison_test(a, b, cs.TopLabel() | cs.DebiasedL2(CELLS), rng=0)

    name = "comparison through TopLabel, n = 200000; n = 50000"
    ratios.at_most(name, compared(200_000), compared(50_000), 2, rounds=2)


@pytest.mark.parametrize(("n", "goal"), [(100_000, 1.3), (1_000_000, 1)])
def test_squared_residuals_against_a_computed_law(n, goal, ratios):
    y, p, _ = arrays_of(n)
    ratios.at_most(
        f"calibration_test(DebiasedL2), n = {n:g}; calibration_test(ECE)",
        lambda: cs.calibration_test(cs.Sample(y, p), cs.DebiasedL2(CELLS), rng=0),
        lambda: cs.calibration_test(cs.Sample(y, p), cs.ECE(CELLS), rng=0),
        goal,
        rounds=7,
    )


@pytest.mark.parametrize(
    ("verb", "goal"),
    [("test", 14), ("estimate", 28), ("score", 48), ("comparison", 45)],
)
def test_verbs_against_a_pass_over_a_million_rows(verb, goal, ratios):
    y, p, q = arrays_of(1_000_000)
    calls = {
        "test": lambda: cs.calibration_test(cs.Sample(y, p), cs.DebiasedL2(CELLS), rng=0),
        "estimate": lambda: cs.estimate(cs.Sample(y, p), cs.DebiasedL2(CELLS), rng=0),
        "score": lambda: cs.estimate(cs.Sample(y, p), cs.BrierScore(), rng=0),
        "comparison": lambda: cs.comparison_test(cs.Sample(y, p), cs.Sample(y, q), cs.DebiasedL2(CELLS), rng=0),
    }
    ratios.at_most(f"{verb}, n = 1e6; one bincount pass", calls[verb], lambda: one_pass(y, p), goal, rounds=5)
