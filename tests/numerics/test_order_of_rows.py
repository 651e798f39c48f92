"""P-values of the same rows in another order, with the same seed: what is computed stays, what is drawn is drawn anew.

A law that is computed (whole cells, sums over rows, large samples) gives the same p-value up to rounding. Labels that
are redrawn belong to other rows, so that a p-value of redraws changes within its Monte Carlo error, and no more.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import calibstat as cs
from suites import slow_but

REDRAWS = 999
COMPUTED = {
    "two": {
        "ECE": (cs.ECE(), None),
        "ECE, Exact": (cs.ECE(cs.EqualWidth(5)), cs.Exact()),
        "Kuiper, Asymptotic": (cs.Kuiper(), cs.Asymptotic()),
        "MeanCalibration": (cs.MeanCalibration(), None),
        "Spiegelhalter": (cs.Spiegelhalter(), None),
        "HosmerLemeshow": (cs.HosmerLemeshow(), None),
    },
    "ten": {"TopLabel": (cs.TopLabel() | cs.ECE(), None), "BrierZ": (cs.BrierZ(), None)},
    "thousand": {"TopLabel": (cs.TopLabel() | cs.ECE(), None), "BrierZ": (cs.BrierZ(), None)},
}
DRAWN = {
    "two": {"KS": cs.KS(), "DebiasedL2": cs.DebiasedL2(), "MultiscaleL2": cs.MultiscaleL2()},
    "weighted": {"ECE": cs.ECE(), "Kuiper": cs.Kuiper()},
    "ten": {"ECE of cells": cs.ECE(cs.VarianceTree(100)), "each class": cs.EachClass(cs.ECE(cs.EqualWidth(15)))},
}
SIZES = {"two": 2000, "weighted": 2000, "ten": 1000, "thousand": 400}


def drawn(kind, n):
    """Predictions, labels and weights, of a model that is slightly wrong."""
    rng = np.random.default_rng(7)
    if kind in ("two", "weighted"):
        p = rng.random(n)
        return p, (rng.random(n) < p**1.05).astype(int), rng.random(n) + 0.5 if kind == "weighted" else None
    k = {"ten": 10, "thousand": 1000}[kind]
    p = rng.dirichlet(np.full(k, 0.5), n)
    return p, (p.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1), None


@cache
def both_orders(kind, n, dtype):
    p, y, w = drawn(kind, n)
    order, labels = np.random.default_rng(8).permutation(n), range(p.shape[1]) if p.ndim == 2 else (0, 1)
    there = [np.arange(n), order]
    return [
        cs.Sample(y[rows], p.astype(dtype)[rows], sample_weight=None if w is None else w[rows], labels=labels)
        for rows in there
    ]


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize(
    ("kind", "name"),
    slow_but(
        lambda case: case != ("thousand", "BrierZ"),
        [(kind, name) for kind, tests in COMPUTED.items() for name in tests],
    ),
)
def test_a_pvalue_that_is_computed_does_not_depend_on_the_order(kind, name, dtype):
    estimator, null = COMPUTED[kind][name]
    asked = {} if null is None else {"null": null}
    first, other = (
        cs.calibration_test(one, estimator, rng=1, **asked) for one in both_orders(kind, SIZES[kind], dtype)
    )
    assert float(other.statistic) == pytest.approx(float(first.statistic), rel=1e-10, abs=1e-13)
    assert other.pvalue == pytest.approx(first.pvalue, rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "name"),
    slow_but(lambda case: case[0] == "two", [(kind, name) for kind, tests in DRAWN.items() for name in tests]),
)
def test_a_pvalue_of_redraws_moves_within_its_monte_carlo_error(kind, name):
    """Four standard errors of the difference of two independent ones."""
    null = cs.Consistency(REDRAWS)
    first, other = (
        cs.calibration_test(one, DRAWN[kind][name], null=null, rng=1) for one in both_orders(kind, SIZES[kind], float)
    )
    np.testing.assert_allclose(np.ravel(other.statistic), np.ravel(first.statistic), rtol=1e-10, atol=1e-13)
    mean = (first.pvalue + other.pvalue) / 2
    assert abs(other.pvalue - first.pvalue) <= 4 * np.sqrt(2 * mean * (1 - mean) / REDRAWS)


def test_negative_control_another_seed_or_order_gives_other_redraws():
    """And the same seed the same, in the same order."""
    one, other = both_orders("two", SIZES["two"], float)
    asked = [(one, 1), (one, 1), (one, 2), (other, 1)]
    found = [
        cs.calibration_test(rows, cs.KS(), null=cs.Consistency(REDRAWS), rng=seed).null_mean for rows, seed in asked
    ]
    assert found[0] == found[1]
    assert len(set(found)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [float, np.float32])
def test_a_million_rows_of_ten_classes(dtype):
    first, other = (
        cs.calibration_test(one, cs.TopLabel() | cs.ECE(), rng=1) for one in both_orders("ten", 10**6, dtype)
    )
    assert float(other.statistic) == pytest.approx(float(first.statistic), rel=1e-10, abs=1e-13)
    assert other.pvalue == pytest.approx(first.pvalue, rel=1e-9)
    both_orders.cache_clear()
