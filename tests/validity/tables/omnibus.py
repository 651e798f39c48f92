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
How often `omnibus_test` (199 resamples, n = 500) rejects, in percent, with its Monte Carlo standard error: by default,
where each member is compared in its own standard deviations, and by `standardize="ranks"`, where it is compared by its
p-value. Beside them stands the exact test of each member of its panel alone, from the same draws. No member does well
everywhere; the omnibus test has the best worst case."""
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
        found: dict[str, list[bool]] = {}
        for _ in range(runs):
            sample, stream = model.sample(N, rng), int(rng.integers(2**63))
            by_moments, by_ranks = (
                cs.omnibus_test(sample, standardize=way, n_resamples=199, rng=stream) for way in ("moments", "ranks")
            )
            pvalues = {"omnibus": by_moments.pvalue, "omnibus by ranks": by_ranks.pvalue}
            for name, pvalue in {**pvalues, **dict(zip(by_moments.names, by_moments.pvalues, strict=True))}.items():
                found.setdefault(name, []).append(pvalue <= 0.05)
        world, bound = f"{self.scores}, {self.curve!r}", 0.05 if self.curve == g.Identity() else np.nan
        return [count((world, N, "panel", name), each, seed, at_most=bound) for name, each in found.items()]


def jobs() -> Iterator[Job]:
    """Yield everything that the table holds."""
    for scores, curve in NULLS + ALTERNATIVES:
        yield Job(scores, curve)
