"""Power of the omnibus test, by each way to combine its panel, and of single statistics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np

import calibstat as cs
from calibstat import generators as g
from calibstat.estimators.panels import default_panel
from calibstat.inference.multiple import draw_together
from calibstat.inference.multiplicity import COMBINATIONS, joint_test
from validity.tables import worlds
from validity.tables.rows import Row, count

TITLE = "Power of the omnibus test at level 5 %"
TEXT = """\
How often `omnibus_test` (199 resamples) rejects, in percent, with its Monte Carlo standard error: by default, where the
strongest member decides and each is compared in its own standard deviations; by `standardize="ranks"`, where each is
compared by its p-value (min-p); and by each other `combine=`. Beside them stands the exact test of each member of its
panel alone, and of `Kuiper()` and `ECE()`, which are no members, from the same draws. Five calibrated worlds
(`Identity()`) come first, then thirteen kinds of miscalibration with 500 rows, then ten more with 150 to 2000 rows."""
RUNS = 1000
SCORES = worlds.SCORES | {"U-shaped": (0.5, 0.5)}
NULLS = [(scores, g.Identity(), 500) for scores in SCORES] + [("uniform", g.Identity(), 150)]
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
FURTHER = [
    ("uniform", g.LogitShift(0.3), 300),
    ("uniform", g.Slope(1.4), 300),
    ("uniform", g.Slope(0.7), 150),
    ("rare", g.LogitShift(0.8), 150),
    ("U-shaped", g.LogitShift(0.4), 500),
    ("U-shaped", g.Slope(0.8), 500),
    ("uniform", g.Bump(0.2, 0.1, 0.12), 500),
    ("rare", g.Bump(0.1, 0.03, 0.12), 500),
    ("neural-net-like", g.Wiggle(2, 0.1), 500),
    ("uniform", g.LogitShift(0.15), 2000),
]
# How the panel is judged: the name of the column, and arguments of `omnibus_test`.
WAYS = {"omnibus": {}, "by ranks": {"standardize": "ranks"}} | {
    name: {"combine": name} for name in COMBINATIONS if name != "max-t"
}


@dataclass(frozen=True)
class Job:
    """The panel in one world."""

    scores: str
    curve: g.Recalibration
    n: int

    def measure(self, runs: int, seed: int) -> list[Row]:
        """Test fresh samples."""
        rng = np.random.default_rng([seed, crc32(f"{self.scores} {self.curve!r} {self.n}".encode())])
        model = g.BetaPredictions(*SCORES[self.scores], self.curve)
        found: dict[str, list[bool]] = {}
        for _ in range(runs):
            for name, pvalue in pvalues(model.sample(self.n, rng), rng).items():
                found.setdefault(name, []).append(pvalue <= 0.05)
        world, bound = f"{self.scores}, {self.curve!r}", 0.05 if self.curve == g.Identity() else np.nan
        return [count((world, self.n, "panel", name), each, seed, at_most=bound) for name, each in found.items()]


def pvalues(sample: cs.Sample, rng: np.random.Generator, n_resamples: int = 199) -> dict[str, float]:
    """Return the p-values of the panel in each way, and of single statistics, all from the same draws."""
    panel = {member.name: member.estimator for member in default_panel(2, len(sample))}
    family = cs.Family(panel | {"Kuiper": cs.Kuiper(), "ECE": cs.ECE()})
    evaluator = family.prepare(sample.predictions)
    (drawn,) = draw_together(cs.Consistency(n_resamples), family, sample, rng, evaluator)
    values, draws = family.evidences(evaluator(sample.outcomes)), family.evidences(drawn.samples)
    members = slice(0, len(panel))
    together = {name: joint_test(values[members], [draws[:, members]], **way).pvalue for name, way in WAYS.items()}
    return together | dict(zip(family.names, joint_test(values, [draws]).pvalues, strict=True))


def jobs() -> Iterator[Job]:
    """Yield everything that the table holds."""
    for scores, curve, n in [*NULLS, *((*each, 500) for each in ALTERNATIVES), *FURTHER]:
        yield Job(scores, curve, n)
