"""How often a test rejects a world, and whether that is compatible with its level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from zlib import crc32

import numpy as np

import calibstat as cs
from calibstat.nulls.base import Null
from validity import worlds

LEVEL = 0.05
# (n_resamples + 1) * level is an integer: the size is then the level itself for a statistic without ties
N_RESAMPLES = 99
KEPT = cs.Consistency(N_RESAMPLES)
RESAMPLED = cs.Consistency(N_RESAMPLES, resample_predictions=True)


@dataclass(frozen=True)
class Case:
    """A world and the question asked of it; `estimator` is a function of n."""

    name: str
    world: Callable = field(compare=False)
    estimator: Callable = field(compare=False)


def tree(n):
    return cs.ExpectedMiscalibration(cs.VarianceTree(max(20, n // 20)))


CASES = {
    case.name: case
    for case in (
        Case("uniform scores", worlds.uniform, lambda n: cs.ECE(cs.EqualMass(10))),
        Case("U-shaped scores", worlds.u_shaped, lambda n: cs.ECE(cs.EqualWidth(10))),
        Case("scores of one digit", worlds.tenths, lambda n: cs.ECE(cs.EqualWidth(10))),
        Case("top label of four", worlds.four_classes, lambda n: cs.TopLabel() | cs.ECE(cs.EqualMass(10))),
        Case("three classes", worlds.dirichlet, tree),
        Case("given a variable", worlds.with_variable, lambda n: cs.VECE("v", cs.EqualMass(10))),
    )
}


@dataclass(frozen=True)
class OtherSize(Null):
    """A wrong null, for negative controls: redraws as if there were `factor` times as many rows."""

    factor: float

    def draw(self, estimator, sample, rng, evaluator=None):
        rows = np.resize(rng.permutation(len(sample)), int(self.factor * len(sample)))
        return KEPT.draw(estimator, sample.take(rows), rng)

    def hypothesis(self, lens, given, groups=None):
        return "wrong on purpose"


@cache
def pvalues(name, n, runs, seed, null=KEPT):
    """P-values (runs,) of fresh samples of a case, each tested once."""
    case = CASES[name]
    rng = np.random.default_rng([seed, n, crc32(f"{name} {null!r}".encode())])
    estimator = case.estimator(n)
    found = [cs.calibration_test(case.world(n, rng), estimator, null=null, rng=rng).pvalue for _ in range(runs)]
    return np.array(found)


def standard_error(share, runs):
    return np.sqrt(share * (1 - share) / runs)


def assert_not_above(found, level):
    """P(p <= level) is at most the level, up to four standard errors."""
    size, slack = np.mean(found <= level + 1e-12), 4 * standard_error(level, len(found))
    assert size <= level + slack, f"size {size:.4f} at level {level}, {len(found)} runs"


def assert_not_below(found, level):
    """P(p <= level) is at least the level, up to four standard errors: for statistics without ties."""
    size, slack = np.mean(found <= level + 1e-12), 4 * standard_error(level, len(found))
    assert size >= level - slack, f"size {size:.4f} at level {level}, {len(found)} runs"
