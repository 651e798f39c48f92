"""The test rejects calibrated worlds as often as its level says, and no more often.

2000 runs (1000 with three classes), 99 resamples each; checks fail beyond four standard errors (0.0195, 0.0276 at 5 %).
"""

from __future__ import annotations

from itertools import product

import pytest

import calibstat as cs
from suites import slow_but
from validity.sizes import CASES, LEVEL, N_RESAMPLES, OtherSize, assert_not_above, assert_not_below, pvalues

SEED = 20260701
RUNS = dict.fromkeys(CASES, 2000) | {"three classes": 1000}
CONTINUOUS = ["uniform scores", "top label of four", "three classes", "given a variable"]
QUICK = ("three classes", 50)
WITH_TIES = ["scores of one digit"]
LEVELS = [0.01, 0.05, 0.1, 0.25, 0.5, 0.9]


@pytest.mark.parametrize(("name", "n"), slow_but([QUICK], product(CONTINUOUS, [50, 300, 2000])))
def test_size_is_the_level(name, n):
    found = pvalues(name, n, RUNS[name], SEED)
    assert_not_above(found, LEVEL)
    assert_not_below(found, LEVEL)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("name", "n"), slow_but([QUICK], product(CONTINUOUS, [50, 300, 2000])))
def test_pvalues_are_super_uniform(name, n, level):
    assert_not_above(pvalues(name, n, RUNS[name], SEED), level)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", WITH_TIES)
def test_pvalues_are_super_uniform_with_ties(name, level):
    assert_not_above(pvalues(name, 50, 2000, SEED), level)


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 300])
@pytest.mark.parametrize("name", ["uniform scores", "top label of four", "given a variable"])
def test_size_is_the_level_without_shortcuts(name, n):
    """With three classes labels are always drawn, so the first test covers that case."""
    found = pvalues(name, n, 2000, SEED, cs.Consistency(N_RESAMPLES, shortcuts=False))
    assert_not_below(found, LEVEL)
    for level in LEVELS:
        assert_not_above(found, level)


@pytest.mark.parametrize("name", slow_but([], CONTINUOUS))
def test_negative_control_null_of_more_rows_is_found_out(name):
    found = pvalues(name, 300, 400, SEED, OtherSize(2))
    with pytest.raises(AssertionError, match=r"size 0\.\d+ at level 0\.05, 400 runs"):
        assert_not_above(found, LEVEL)


@pytest.mark.parametrize("name", slow_but([], CONTINUOUS))
def test_negative_control_null_of_fewer_rows_is_found_out(name):
    found = pvalues(name, 300, 1000, SEED, OtherSize(0.5))
    with pytest.raises(AssertionError, match=r"size 0\.\d+ at level 0\.05, 1000 runs"):
        assert_not_below(found, LEVEL)
