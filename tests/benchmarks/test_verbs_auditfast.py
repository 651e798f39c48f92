"""Audits, scans and comparisons of curves, called from raw arrays: what they cost beside one stable argsort."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from benchmarks.timing import stable_argsort

N = 100_000
FOUR = ["sex", "region", "age", "stage"]


def arrays(n):
    """Predictions, outcomes, and four variables: 13 levels, and all rows."""
    rng = np.random.default_rng(0)
    p = rng.random(n)
    variables = {
        "sex": rng.choice(["f", "m"], n),
        "region": rng.choice(list("abcd"), n),
        "age": rng.uniform(20, 80, n),
        "stage": rng.integers(0, 3, n),
    }
    return rng.random(n) < p, p, variables


@pytest.mark.parametrize(("n", "goal"), [(1000, 6000), (N, 15)])
def test_audit_in_argsorts(n, goal, ratios):
    y, p, variables = arrays(n)

    def whole():
        found = cs.subgroup_audit(cs.Sample(y, p, variables=variables), FOUR, rng=0)
        assert len(found) == 14

    ratios.at_most(f"audit of 14 groups, n = {n:g}; a stable argsort", whole, lambda: stable_argsort(p), goal)


@pytest.mark.parametrize(("n", "goal"), [(1000, 3000), (N, 6)])
def test_scan_in_argsorts(n, goal, ratios):
    y, p, variables = arrays(n)

    def whole():
        cs.scan_variables(cs.Sample(y, p, variables=variables), rng=0)

    ratios.at_most(f"scan of 4 variables, n = {n:g}; a stable argsort", whole, lambda: stable_argsort(p), goal)


@pytest.mark.parametrize(("n", "goal"), [(1000, 3000), (N, 75)])
def test_equal_curves_in_argsorts(n, goal, ratios):
    y, p, variables = arrays(n)

    def whole():
        cs.equal_curves_test(cs.Sample(y, p, variables=variables), "region", rng=0)

    ratios.at_most(f"equal curves of 4 groups, n = {n:g}; a stable argsort", whole, lambda: stable_argsort(p), goal)


def test_a_hundred_groups_of_a_million_rows(ratios):
    rng = np.random.default_rng(0)
    n = 1_000_000
    p, crossed = rng.random(n), {name: rng.integers(0, 9, n) for name in "ab"}
    y = rng.random(n) < p

    def whole():
        found = cs.subgroup_audit(cs.Sample(y, p, variables=crossed), ["a", "b"], depth=2, rng=0)
        assert len(found) == 100

    ratios.at_most("audit of 100 groups, n = 1e6; a stable argsort", whole, lambda: stable_argsort(p), 12, rounds=3)
