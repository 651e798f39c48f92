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


def audit(y, p, variables):
    assert len(cs.subgroup_audit(cs.Sample(y, p, variables=variables), FOUR, rng=0)) == 14


def scan(y, p, variables):
    cs.scan_variables(cs.Sample(y, p, variables=variables), rng=0)


def curves(y, p, variables):
    cs.equal_curves_test(cs.Sample(y, p, variables=variables), "region", rng=0)


VERBS = {
    "audit of 14 groups": (audit, 15, 0.4),
    "scan of 4 variables": (scan, 6, 0.1),
    "equal curves": (curves, 75, 0.1),
}


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_in_argsorts(verb, ratios):
    call, goal, _ = VERBS[verb]
    given = arrays(N)
    ratios.at_most(f"{verb}, n = 1e5; a stable argsort", lambda: call(*given), lambda: stable_argsort(given[1]), goal)


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_of_a_thousand_rows(verb, ratios):
    call, _, seconds = VERBS[verb]
    given = arrays(1000)
    ratios.within(f"{verb}, n = 1000", lambda: call(*given), seconds)


def test_a_hundred_groups_of_a_million_rows(ratios):
    rng = np.random.default_rng(0)
    n = 1_000_000
    p, crossed = rng.random(n), {name: rng.integers(0, 9, n) for name in "ab"}
    y = rng.random(n) < p

    def whole():
        found = cs.subgroup_audit(cs.Sample(y, p, variables=crossed), ["a", "b"], depth=2, rng=0)
        assert len(found) == 100

    ratios.at_most("audit of 100 groups, n = 1e6; a stable argsort", whole, lambda: stable_argsort(p), 12, rounds=3)
