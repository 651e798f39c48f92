"""Two models of the same rows whose lens shows them different outcomes: "the top class was right" is one of each.

The models name the same of five classes in about half of the rows. They are exchangeable where both are as bold, so
their errors are equal in any cells. By hand, ``python tests/validity/test_different_outcomes.py 1000`` prints a table.
"""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
import pytest

import calibstat as cs
from calibstat.inference import compare

SEED, CLASSES = 20190412, 5
ESTIMATOR = cs.TopLabel() | cs.DebiasedL2(cs.EqualMass(10))
CALIBRATED, BOLD, DIFFERENT = (1.0, 1.0), (1.8, 1.8), (1.3, 1.0)


def models(rng, n, powers):
    """Each model sees normal scores of its own and some of both; a power of 1 makes its prediction the true law."""
    y = rng.integers(0, CLASSES, n)
    own, other, shared = (rng.normal(size=(n, CLASSES)) + s * np.eye(CLASSES)[y] for s in (1.2, 1.2, 0.9))
    found = []
    for scores, power in zip((own, other), powers, strict=True):
        logs = power * (1.2 * scores + 0.9 * shared)
        odds = np.exp(logs - logs.max(axis=1, keepdims=True))
        found.append(cs.Sample(y, odds / odds.sum(axis=1, keepdims=True), labels=range(CLASSES)))
    return tuple(found)


@cache
def shares(n, powers, runs):
    """Share of runs in which the models are told apart, and in which the interval leaves out that they are equal."""
    rng = np.random.default_rng(SEED)
    found = [cs.comparison_test(*models(rng, n, powers), ESTIMATOR, n_resamples=99, rng=rng) for _ in range(runs)]
    missed = [not each.confidence_interval.low <= 0 <= each.confidence_interval.high for each in found]
    return float(np.mean([each.pvalue <= 0.05 for each in found])), float(np.mean(missed))


def limit(share, runs):
    """A share and four of its standard errors."""
    return share + 4 * np.sqrt(share * (1 - share) / runs)


def test_the_models_name_the_same_class_in_half_of_the_rows():
    first, second = models(np.random.default_rng(SEED), 20_000, BOLD)
    assert (first.y_prob.argmax(axis=1) == second.y_prob.argmax(axis=1)).mean() == pytest.approx(0.5, abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("powers", [CALIBRATED, BOLD], ids=["calibrated", "bold"])
@pytest.mark.parametrize(("n", "runs"), [(300, 400), (1000, 300), (3000, 100), (15_000, 60)])
def test_equal_errors_are_rarely_told_apart(n, runs, powers):
    """At most 5 % of runs and 4 standard errors; the interval leaves out zero as rarely, in calibrated ones more so."""
    told, missed = shares(n, powers, runs)
    assert told <= limit(0.05, runs)
    assert missed <= limit(0.05, runs)
    if powers == BOLD:  # 95 %, and not all of them
        assert missed >= 0.05 - 4 * np.sqrt(0.05 * 0.95 / runs)
        assert missed > 0


@pytest.mark.slow
def test_different_errors_are_told_apart():
    """1000 rows: 60 % of 200 runs; a fifth with the labels of one model for both."""
    assert shares(1000, DIFFERENT, 200)[0] >= 0.6 - 4 * np.sqrt(0.6 * 0.4 / 200)


@pytest.mark.slow
def test_negative_control_labels_of_one_model_for_both(monkeypatch):
    """200 runs: a fifth of equally bold models are told apart, and few of different ones."""
    monkeypatch.setattr(compare.Common, "of", lambda *_: None)
    assert shares.__wrapped__(1000, BOLD, 200)[0] > limit(0.05, 200)
    assert shares.__wrapped__(1000, DIFFERENT, 200)[0] < 0.6 - 4 * np.sqrt(0.6 * 0.4 / 200)


@pytest.mark.slow
def test_three_models_of_equal_error():
    """150 runs, three exchangeable bold models by Holm: any pair told apart in at most 5 % and 4 standard errors."""
    rng, runs, wrong = np.random.default_rng(SEED), 150, 0
    for _ in range(runs):
        y = rng.integers(0, CLASSES, 500)
        scores = 1.5 * (rng.normal(size=(3, 500, CLASSES)) + 1.5 * np.eye(CLASSES)[y])
        odds = np.exp(1.8 * (scores - scores.max(axis=2, keepdims=True)))
        each = odds / odds.sum(axis=2, keepdims=True)
        named = {f"m{k}": cs.Sample(y, p, labels=range(CLASSES)) for k, p in enumerate(each)}
        found = cs.compare_models(named, ESTIMATOR, n_resamples=199, rng=rng)
        wrong += any(pair.pvalue_adjusted <= 0.05 for pair in found.pairs)
    assert wrong / runs <= limit(0.05, runs)


if __name__ == "__main__":
    for size in (300, 1000, 3000):
        for both in (CALIBRATED, BOLD, DIFFERENT):
            print(size, both, shares(size, both, int(sys.argv[1])))
