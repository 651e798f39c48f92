"""Sizes of tests of ledgers with few rows left out, and of buckets that others keep.

1000 runs each; checks fail beyond four standard errors (0.028 at 5 %).
"""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from validity.sizes import LEVEL, assert_not_above

pytestmark = pytest.mark.slow

SEED, RUNS, N, FEW = 20261123, 1000, 2000, 10
TEST = cs.ECE(cs.EqualWidth(10))


def without_short_lines(p, y):
    ledger = cs.Ledger.count(cs.Sample(y, p, labels=[False, True]))
    kept = ledger.table[ledger.table["rows"] >= FEW]
    return cs.Ledger(kept, ledger.by, ledger.classes).sample()


def without_lines_of_few_events(p, y):
    """Lines are left out by what happened: the negative control."""
    ledger = cs.Ledger.count(cs.Sample(y, p, labels=[False, True]))
    kept = ledger.table[(ledger.table["rows"] >= FEW) & (ledger.table["events"] >= 5)]
    return cs.Ledger(kept, ledger.by, ledger.classes).sample()


def buckets(p, y):
    cell = np.minimum((p * 10).astype(int), 9)
    trials, events, total = (np.bincount(cell, weights, minlength=10) for weights in (None, y, p))
    there = trials > 0
    return cs.Sample.from_counts(total[there] / trials[there], events=events[there], trials=trials[there])


def pvalues(make, digits):
    """P-values (runs,) of calibrated predictions."""
    rng, found = np.random.default_rng(SEED), np.empty(RUNS)
    for run in range(RUNS):
        p = rng.beta(1, 4, N)
        p = p if digits is None else p.round(digits)
        found[run] = cs.calibration_test(make(p, rng.random(N) < p), TEST).pvalue
    return found


def test_lines_left_out_for_few_rows_keep_the_level():
    assert_not_above(pvalues(without_short_lines, 2), LEVEL)


def test_lines_left_out_for_few_events_do_not():
    with pytest.raises(AssertionError):
        assert_not_above(pvalues(without_lines_of_few_events, 2), LEVEL)


def test_buckets_reject_no_more_often():
    assert_not_above(pvalues(buckets, None), LEVEL)
