"""Computed p-values where predictions are (almost) certain, and where values are tiny, in calibrated worlds.

4000 sets of labels drawn from fixed predictions (the test is exact given these); checks fail beyond four standard
errors (0.0138 at 5 %).
"""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.base import Headline
from calibstat.nulls.exact import Exact
from suites import slow_but
from validity.sizes import LEVEL, assert_not_above, assert_not_below

SEED = 20261121
RUNS = 4000
LEVELS = [0.01, 0.05, 0.1, 0.25, 0.5, 0.9]
MIDDLE = np.random.Generator(np.random.PCG64(SEED)).uniform(0.1, 0.9, 200)
CERTAIN = np.concatenate([np.zeros(50), MIDDLE, np.ones(50)])
ALMOST = np.clip(CERTAIN, 1e-13, 1 - 1e-13)
CASES = {
    "Pigeon-Heyse, certain rows": (CERTAIN, cs.PigeonHeyse(6)),
    "Pigeon-Heyse, almost certain rows": (ALMOST, cs.PigeonHeyse(6)),
    "chi-square distance, certain rows": (CERTAIN, cs.PearsonCE(cs.EqualMass(6))),
    "sixth powers": (MIDDLE, cs.LpCE(cs.EqualMass(6), 6)),
}
QUICK = ["Pigeon-Heyse, almost certain rows"]


def pvalues(name, mistakes=0.0):
    """P-values (RUNS,) of labels drawn from the scores; so many of them are replaced by coins."""
    scores, estimator = CASES[name]
    rng = np.random.default_rng([SEED, list(CASES).index(name)])
    estimator, sample = Headline(estimator), cs.Sample(np.arange(len(scores)) % 2, scores)
    evaluator = estimator.prepare(sample.predictions)
    distribution = Exact().draw(estimator, sample, None, evaluator)
    chance = (1 - mistakes) * scores + mistakes / 2
    values = evaluator((rng.random((RUNS, len(scores))) < chance).astype(int))
    return np.array([distribution.pvalue(value) for value in values])


@pytest.mark.parametrize("name", slow_but(QUICK, CASES))
def test_size_is_the_level(name):
    found = pvalues(name)
    for level in LEVELS:
        assert_not_above(found, level)
        assert_not_below(found, level)


@pytest.mark.parametrize("name", slow_but(QUICK, CASES))
def test_negative_control_mistakes_are_found_out(name):
    """Of certain rows one per cent is enough: what is impossible is seen in most samples."""
    with pytest.raises(AssertionError, match=r"size 0\.\d+ at level 0\.05"):
        assert_not_above(pvalues(name, 0.3 if name == "sixth powers" else 0.01), LEVEL)
