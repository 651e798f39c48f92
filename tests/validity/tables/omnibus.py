"""Power of the omnibus test and of each member of its panel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np

import calibstat as cs
from calibstat import generators as g
from validity.tables import worlds
from validity.tables.rows import Row, count

TITLE = "Power of the omnibus test at level 5 %"
TEXT = """\
How often `omnibus_test` (199 resamples, n = 500, `standardize="ranks"`) rejects, in percent, with its Monte Carlo
standard error, beside the exact test of each member of its panel alone. No member does well everywhere. The omnibus
test, which here judges the smallest p-value of the panel by redraws, has the best worst case. This table says nothing
about the default, `standardize="moments"`."""
RUNS = 1000
N = 500
NULLS = [(scores, g.Identity()) for scores in worlds.SCORES]
ALTERNATIVES = [
    ("uniform", g.LogitShift(0.3)),
    ("uniform", g.Slope(0.75)),
    ("uniform", g.Bump(0.5, 0.06, 0.22)),
    ("uniform", g.Wiggle(2, 0.09)),
    ("uniform", g.Wiggle(6, 0.14)),
    ("uniform", g.Wiggle(15, 0.2)),
    ("uniform", g.ClippedTails(0.07)),
    ("neural-net-like", g.LogitShift(-0.4)),
    ("neural-net-like", g.Slope(0.7)),
    ("neural-net-like", g.Bump(0.9, 0.06, -0.12)),
    ("neural-net-like", g.Wiggle(6, 0.25)),
    ("rare", g.LogitShift(0.4)),
    ("rare", g.Slope(0.75)),
]


@dataclass(frozen=True)
class Job:
    """The panel in one world."""

    scores: str
    curve: g.Recalibration

    def measure(self, runs: int, seed: int) -> list[Row]:
        """Test fresh samples."""
        rng = np.random.default_rng([seed, crc32(f"{self.scores} {self.curve!r}".encode())])
        model = g.BetaPredictions(*worlds.SCORES[self.scores], self.curve)
        options = {"standardize": "ranks", "n_resamples": 199, "rng": rng}
        found = [cs.omnibus_test(model.sample(N, rng), **options) for _ in range(runs)]
        world, bound = f"{self.scores}, {self.curve!r}", 0.05 if self.curve == g.Identity() else np.nan
        rows = [count((world, N, "panel", "omnibus"), [each.pvalue <= 0.05 for each in found], seed, at_most=bound)]
        for j, name in enumerate(found[0].names):
            each = [one.pvalues[j] <= 0.05 for one in found]
            rows.append(count((world, N, "panel", name), each, seed, at_most=bound))
        return rows


def jobs() -> Iterator[Job]:
    """Yield everything that the table holds."""
    for scores, curve in NULLS + ALTERNATIVES:
        yield Job(scores, curve)
