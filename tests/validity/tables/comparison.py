"""How often two models are told apart, where they differ in calibration and where they do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np

import calibstat as cs
from validity.tables import worlds
from validity.tables.rows import Row, count

TITLE = "Comparison of two models at level 5 %"
TEXT = """\
How often `comparison_test` with `DebiasedL2(EqualMass(15))` rejects equal squared calibration errors, n = 1000, in
percent, with its Monte Carlo standard error. In the first five worlds the errors are equal: at most 5 %. *wrapped* is
the p-value of the result; *difference* is what it would be without the wrap; *linear gain* is the difference of the
gains of linear recalibrations; *Brier score* is a test of skill, which is another question."""
RUNS = 1000
N = 1000
L2 = cs.DebiasedL2(cs.EqualMass(15))
NULLS = list(worlds.PAIRS)[:5]


@dataclass(frozen=True)
class Job:
    """Comparisons in one world."""

    regime: str

    def measure(self, runs: int, seed: int) -> list[Row]:
        """Compare the models on fresh rows."""
        rng = np.random.default_rng([seed, crc32(self.regime.encode())])
        found = [
            cs.comparison_test(*worlds.pair(self.regime, N, rng), L2, n_resamples=99, rng=rng) for _ in range(runs)
        ]
        pvalues = {
            "wrapped": [each.pvalue for each in found],
            "difference": [each.difference_pvalue for each in found],
            "linear gain": [each.recalibration_difference.pvalue for each in found],
            "Brier score": [each.score_difference.pvalue for each in found],
        }
        bounds = {"wrapped": 0.05, "linear gain": 0.05} if self.regime in NULLS else {}
        return [
            count((self.regime, N, "DebiasedL2", name), np.array(p) <= 0.05, seed, at_most=bounds.get(name, np.nan))
            for name, p in pvalues.items()
        ]


def jobs() -> Iterator[Job]:
    """Yield everything that the table holds."""
    for regime in worlds.PAIRS:
        yield Job(regime)
