"""How often models of equal error are told apart, in the regimes in which errors can be equal.

Both errors zero (noise of a smaller order) or not, scores alike or independent, and both kinds at once. By hand,
``python tests/validity/test_several_models.py 1000`` prints the table. Eight models at the defaults are in the stored
table `several`.
"""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.inference.compare_models import compare_models

SEED = 20110301


def share_error(share, runs):
    return 4 * np.sqrt(share * (1 - share) / runs)


def independent(rng, n, parts, bold=1.0):
    """One model for each independent score, its chance of the event too bold by a factor on the probit scale."""
    z = rng.normal(size=(len(parts), n))
    y = (rng.random(n) < stats.norm.cdf(np.array(parts) @ z)).astype(int)
    scale = np.sqrt(1 + np.sum(np.square(parts)) - np.square(parts))
    return y, list(stats.norm.cdf(bold * (np.array(parts) / scale)[:, None] * z))


def opposite(rng, n):
    """Errors of 0.1: up, down, and outward."""
    p = rng.uniform(0.2, 0.8, n)
    return (rng.random(n) < p).astype(int), [p + 0.1, p - 0.1, p + np.where(p < 0.5, -0.1, 0.1)]


def both_kinds(rng, n):
    """Two calibrated models, of which one sees a rounded score, and two with errors of 0.1 in opposite directions."""
    p = rng.uniform(0.2, 0.8, n)
    coarse = 0.2 + 0.1 * np.floor((p - 0.2) / 0.1) + 0.05
    return (rng.random(n) < p).astype(int), [p, coarse, p + 0.1, p - 0.1]


# A world, and the pairs of models whose errors are equal in it.
ALL = [{"m0", "m1"}, {"m0", "m2"}, {"m1", "m2"}]
REGIMES = {
    "calibrated, alike": (lambda rng, n: independent(rng, n, (0.7, 0.7, 0.7)), ALL),
    "calibrated, of different sharpness": (lambda rng, n: independent(rng, n, (1.5, 0.5, 0.2)), ALL),
    "opposite errors": (opposite, ALL),
    "equal errors, independent scores": (lambda rng, n: independent(rng, n, (0.7, 0.7, 0.7), 1.8), ALL),
    "two calibrated, two off": (both_kinds, [{"m0", "m1"}, {"m2", "m3"}]),
}


def holm_by_loops(pvalues):
    """Adjusted p-values, in increasing order of the p-values."""
    worst, found = 0.0, []
    for k, p in enumerate(sorted(pvalues)):
        worst = max(worst, min(1.0, (len(pvalues) - k) * p))
        found.append(worst)
    return dict(zip(sorted(pvalues), found, strict=True))


@cache
def errors(regime, runs, n=500, n_resamples=199):
    """Share of runs in which a pair of equal errors is told apart: by each method, and without adjustment.

    And the share in which the model confidence set misses a model that is among the best.
    """
    world, equal = REGIMES[regime]
    rng, wrong = np.random.default_rng(SEED), {"max-t": 0, "holm": 0, "unadjusted": 0, "set": 0}
    for _ in range(runs):
        y, probabilities = world(rng, n)
        models = {f"m{k}": cs.Sample(y, p, labels=[0, 1]) for k, p in enumerate(probabilities)}
        found = compare_models(
            models, cs.DebiasedL2(cs.EqualMass(10)), adjust="max-t", n_resamples=n_resamples, rng=rng
        )
        pairs = [pair for pair in found.pairs if {pair.first, pair.second} in equal]
        adjusted = holm_by_loops([pair.pvalue for pair in found.pairs])
        wrong["max-t"] += any(pair.pvalue_adjusted <= 0.05 for pair in pairs)
        wrong["holm"] += any(adjusted[pair.pvalue] <= 0.05 for pair in pairs)
        wrong["unadjusted"] += any(pair.difference_pvalue <= 0.05 for pair in pairs)
        best = {"m0", "m1"} if len(models) == 4 else set(models)
        wrong["set"] += not best <= set(found.confidence_set)
    return {method: count / runs for method, count in wrong.items()}


@pytest.mark.slow
@pytest.mark.parametrize("regime", list(REGIMES)[2:])
def test_equal_errors_are_rarely_told_apart(regime):
    """100 runs; at most 5 % and 4 standard errors (8.7 %). Six pairs need more resamples, or Holm cannot reject."""
    found = errors(regime, 100, n_resamples=399 if regime == "two calibrated, two off" else 199)
    for method in ("max-t", "holm", "set"):
        assert found[method] <= 0.05 + share_error(0.05, 100)


def by_influence(_evaluators, values, _clusters, _seen, pairs, *_):
    """Standard errors that the influences show, and normal p-values; they take a moment, where redraws take minutes."""
    errors = np.array([np.sqrt(((values[a].influence - values[b].influence) ** 2).sum()) for a, b in pairs])
    differences = np.array([values[a].value - values[b].value for a, b in pairs])
    return errors, 2 * stats.norm.sf(np.abs(differences) / errors), [None] * len(pairs)


@pytest.mark.slow
def test_negative_control_pairs_that_are_not_adjusted(monkeypatch):
    """Six models of equal error, 15 pairs: some pair differs at 5 % in far more runs."""
    equal = [{f"m{a}", f"m{b}"} for a in range(6) for b in range(a)]
    monkeypatch.setitem(REGIMES, "six", (lambda rng, n: independent(rng, n, (0.7,) * 6, 1.8), equal))
    monkeypatch.setattr("calibstat.inference.compare_models._each_pair", by_influence)
    assert errors("six", 200, n_resamples=19)["unadjusted"] > 0.05 + share_error(0.05, 200)


def eight_bolder_and_bolder(rng, n):
    """Root errors from 0 to 0.37: all pairs differ."""
    p = rng.random(n)
    return (rng.random(n) < p).astype(int), [p ** (1 + 0.6 * k) for k in range(8)]


@pytest.mark.slow
def test_eight_models_of_different_errors_are_told_apart_at_the_defaults():
    """Almost all of 28 pairs."""
    rng, apart = np.random.default_rng(SEED), 0
    for _ in range(5):
        y, probabilities = eight_bolder_and_bolder(rng, 2000)
        models = {str(k): cs.Sample(y, p, labels=[0, 1]) for k, p in enumerate(probabilities)}
        found = compare_models(models, cs.DebiasedL2(cs.EqualMass(10)), rng=rng)
        apart += sum(pair.pvalue_adjusted <= 0.05 for pair in found.pairs)
    assert apart > 0.95 * 5 * 28


if __name__ == "__main__":
    for name in REGIMES:
        print(f"{name:40}", errors(name, int(sys.argv[1]), n_resamples=399))
