"""The exact null rejects calibrated worlds as often as its level says, and no more often, with ties and without.

2000 sets of labels drawn from fixed predictions (the test is exact given these); checks fail beyond four standard
errors (0.0195 at 5 %).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.base import Headline
from calibstat.nulls.exact import Exact
from validity.sizes import LEVEL, assert_not_above, assert_not_below

SEED = 20261121
RUNS = 2000
LEVELS = [0.01, 0.05, 0.1, 0.25, 0.5, 0.9]
# three cells of 30 equal scores: the statistic has few values, each with much mass
TIED = np.repeat([0.2, 0.5, 0.8], 30)
UNTIED = np.random.Generator(np.random.PCG64(SEED)).random(300)
CELLS = cs.EqualMass(10)
CASES = {
    "ECE, ties": (TIED, cs.ECE(cs.UniqueValues())),
    "RMSCE, ties": (TIED, cs.RMSCE(cs.UniqueValues())),
    "maximum, ties": (TIED, cs.MaximumMiscalibration(cs.UniqueValues())),
    "ECE": (UNTIED, cs.ECE(CELLS)),
    "RMSCE": (UNTIED, cs.RMSCE(CELLS)),
    "DebiasedCE": (UNTIED, cs.DebiasedCE(CELLS)),
    "Pigeon-Heyse": (UNTIED, cs.PigeonHeyse(10)),
}
WITHOUT_TIES = ["ECE", "RMSCE", "DebiasedCE", "Pigeon-Heyse"]


@cache
def pvalues(name, boldness=1.0):
    """P-values (RUNS,) of labels drawn from the scores; from others, if the scores are too bold."""
    scores, estimator = CASES[name]
    rng = np.random.default_rng([SEED, sorted(CASES).index(name)])
    estimator, predictions = Headline(estimator), sample(scores).predictions
    evaluator = estimator.prepare(predictions)
    distribution = Exact().draw(estimator, sample(scores), None, evaluator)
    chance = 0.5 + (scores - 0.5) / boldness
    values = evaluator((rng.random((RUNS, len(scores))) < chance).astype(int))
    return np.array([distribution.pvalue(value) for value in values])


def sample(scores):
    return cs.Sample(np.arange(len(scores)) % 2, scores)


@pytest.mark.parametrize("name", CASES)
def test_pvalues_are_super_uniform(name):
    found = pvalues(name)
    for level in LEVELS:
        assert_not_above(found, level)


@pytest.mark.parametrize("name", WITHOUT_TIES)
def test_size_is_the_level_without_ties(name):
    found = pvalues(name)
    for level in LEVELS:
        assert_not_below(found, level)


@pytest.mark.parametrize("name", CASES)
def test_negative_control_bold_scores_are_found_out(name):
    with pytest.raises(AssertionError, match=r"size 0\.\d+ at level 0\.05"):
        assert_not_above(pvalues(name, 1.5), LEVEL)


@pytest.mark.parametrize("name", WITHOUT_TIES)
def test_negative_control_pvalues_that_are_too_large_are_found_out(name):
    with pytest.raises(AssertionError, match=r"size 0\.\d+ at level 0\.05"):
        assert_not_below(pvalues(name) * 2, LEVEL)


# Mass that is split between neighbouring grid points, which keeps the mean: what must not be done


def split_pvalue(value, scores, events):
    """P(sum of |count - expected| / n >= value), terms split linearly on a grid of sd / 256."""
    n, law = len(scores), np.ones(1)
    sizes = np.unique(scores, return_counts=True)
    deviation = np.sqrt((scores * (1 - scores)).sum()) / n
    step = deviation / 256
    for score, rows in zip(*sizes, strict=True):
        count = np.arange(rows + 1)
        masses = np.bincount((events[:, scores == score]).sum(axis=1), minlength=rows + 1) / len(events)
        point = np.abs(count - score * rows) / n / step
        below = np.floor(point).astype(int)
        term = np.zeros(below.max() + 2)
        np.add.at(term, below, masses * (1 - (point - below)))
        np.add.at(term, below + 1, masses * (point - below))
        law = np.convolve(law, term)
    return law[step * np.arange(len(law)) >= value - 1e-12].sum()


def test_splitting_mass_is_anticonservative_where_the_value_is_an_atom():
    """Three of four events at 0.25: 13/256 = 0.0508; half of that atom falls below the value, and more."""
    scores = np.full(4, 0.25)
    events = np.array([[int(bit) for bit in f"{code:04b}"] for code in range(16)])
    exactly = cs.calibration_test(cs.Sample([1, 1, 1, 0], scores), cs.ECE(cs.FixedEdges([0, 1])), null=Exact())
    assert exactly.pvalue == pytest.approx(13 / 256, abs=1e-12)
    chances = np.repeat(events, 3 ** (4 - events.sum(axis=1)), axis=0)  # 1/4 and 3/4, as counts out of 256
    assert len(chances) == 256
    assert split_pvalue(0.5, scores, chances) == pytest.approx(0.0136, abs=5e-5)
