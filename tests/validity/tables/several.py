"""How often the best of several is chosen where none is better: calibrators, alone and for clusters, and models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any
from zlib import crc32

import numpy as np
from scipy.special import expit, logit, ndtr

import calibstat as cs
from calibstat.inference.compare_models import compare_models
from validity.clustered import WORLDS as CLUSTERED
from validity.clustered import Clustered
from validity.tables.rows import Row, count

TITLE = "The best of several"
TEXT = """\
How often one of several is called better where none is, in percent, with its Monte Carlo standard error.

`recommend_calibrator`: in the world *coins* the outcomes are fair, and the model and eight calibrators say 0.4 or 0.6
by independent bits; in *calibrated*, *rare* and *three* (classes) each fit to a calibrated model does some harm; in
*bold* the log-odds are twice too large, so that the usual calibrators help. n counts rows, of which half judge. In the
worlds of *clusters*, n counts clusters; two classes have four calibrators by independent bits, five classes the usual
ones; *alone* are the same rows without `groups`.

*Recommended*: one is. *Smallest p-value*: one would be, if p-values were not adjusted. *Error missed*: the interval of
an error misses it. *Change missed*: that of the largest improvement of the Brier score misses zero; *alone*: the
interval of that calibrator by itself does.

`compare_models`: of eight models, two of equal calibration error are *told apart*, at the defaults.

Asserted: *recommended* (except in *bold*), *error missed*, *change missed* and *told apart* at most 5 %."""
RUNS = 200
LEVEL = 0.05
ERROR, UNIT = 0.1, 1e-6
N_ROWS, N_COMPARED = 1200, 500
FEWEST_PARETO = 240  # sixty clusters of very unequal size are too few, in effect, among the rows that judge


class Bit:
    """A calibrator that says the base rate plus or minus an error, by one bit of what tells the rows apart."""

    def __init__(self, place: int, base: float = 0.5, error: float = ERROR) -> None:
        self.place, self.base, self.error = place, base, error

    def fit(self, X: object, y: object, sample_weight: object = None) -> Bit:
        """Learn nothing."""
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Read the bit behind each prediction."""
        steps = (np.asarray(X)[:, 0] - self.base) / self.error
        hidden = (steps - np.round(steps)) / UNIT
        event = self.base + self.error * (2 * (np.floor(hidden * 2.0**self.place) % 2) - 1)
        return np.column_stack([1 - event, event])


def said(rng: np.random.Generator, n: int, base: float = 0.5, error: float = ERROR) -> np.ndarray:
    """Say the base rate plus or minus an error, with hidden bits for calibrators to read."""
    return base + error * (rng.choice([-1, 1], n) + UNIT * rng.random(n))


Drawn = tuple[np.ndarray, np.ndarray, dict[str, Bit] | None]


def coins(rng: np.random.Generator, n: int) -> Drawn:
    """Fair coins; the model and eight calibrators err alike."""
    p = said(rng, n)
    return rng.integers(0, 2, n), p, {f"bit{k}": Bit(k) for k in range(1, 9)}


def calibrated(rng: np.random.Generator, n: int) -> Drawn:
    """Every fit to a calibrated model does some harm."""
    p = rng.beta(1, 1, n)
    return (rng.random(n) < p).astype(int), p, None


def rare(rng: np.random.Generator, n: int) -> Drawn:
    """The same for rare events."""
    p = rng.beta(1, 15, n)
    return (rng.random(n) < p).astype(int), p, None


def three(rng: np.random.Generator, n: int) -> Drawn:
    """The same for three classes."""
    p = rng.dirichlet([1, 1, 1], n)
    return (p.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1), p, None


def bold(rng: np.random.Generator, n: int) -> Drawn:
    """Log-odds are twice too large."""
    p = rng.uniform(0.02, 0.98, n)
    return (rng.random(n) < expit(logit(p) / 2)).astype(int), p, None


@dataclass(frozen=True)
class Recommended:
    """A calibrator for independent rows."""

    world: Callable[[np.random.Generator, int], Drawn]

    def measure(self, runs: int, seed: int) -> list[Row]:
        """Ask for advice on fresh rows."""
        name = self.world.__name__
        rng = np.random.default_rng([seed, crc32(name.encode())])
        found: dict[str, list[bool]] = {}
        for _ in range(runs):
            for method, happened in self._happened(rng).items():
                found.setdefault(method, []).append(happened)
        bounded = {"error missed", "change missed"} | ({"recommended"} if self.world is not bold else set())
        return [
            count(
                (name, N_ROWS, "recommend_calibrator", method),
                each,
                seed,
                at_most=LEVEL if method in bounded else np.nan,
            )
            for method, each in found.items()
        ]

    def _happened(self, rng: np.random.Generator) -> dict[str, bool]:
        y, p, calibrators = self.world(rng, N_ROWS)
        sample = cs.Sample(y, p, labels=range(p.shape[1] if p.ndim == 2 else 2))
        advice = cs.recommend_calibrator(sample, calibrators, n_other_splits=0, n_resamples=1499, rng=rng)
        tried = [each for change in advice.changes for each in (change.error, change.brier)]
        happened = {
            "recommended": advice.calibrator != "uncalibrated",
            "smallest p-value": any(each.difference < 0 and each.pvalue <= LEVEL for each in tried),
        }
        if self.world is coins:
            best = min((each.brier for each in advice.changes), key=lambda each: each.difference)
            low, high = best.confidence_interval
            intervals = [each.root_interval for each in advice.models]
            happened["error missed"] = not all(each.low <= ERROR <= each.high for each in intervals)
            happened["change missed"] = not low <= 0 <= high
            happened["change missed alone"] = best.pvalue <= LEVEL
        return happened


@dataclass(frozen=True)
class RecommendedForClusters:
    """A calibrator for rows in clusters, of which half judge."""

    name: str

    def measure(self, runs: int, seed: int) -> list[Row]:
        """Ask with groups, and for repeats without."""
        world = CLUSTERED[self.name]
        if world.sizes == "Pareto":
            world = world._replace(number=FEWEST_PARETO)
        key = (f"clusters, {self.name}", world.number, "recommend_calibrator")
        rng = np.random.default_rng([seed, crc32(key[0].encode())])
        asked = [("recommended", True)] + [("recommended alone", False)] * (self.name == "repeats")
        return [
            count(
                (*key, method),
                [_is_one(world, known, rng) for _ in range(runs)],
                seed,
                at_most=LEVEL if known else np.nan,
            )
            for method, known in asked
        ]


def _is_one(world: Clustered, known: bool, rng: np.random.Generator) -> bool:
    """Whether a calibrator is recommended, with the clusters known or not."""
    chances, groups = world.predictions(rng)
    tried = None
    if world.n_classes == 2:
        base, error = (0.1, 0.05) if world.law[0] < world.law[1] else (0.5, ERROR)
        tried = {f"bit{k}": Bit(k, base, error) for k in range(1, 5)}
        chances = (
            said(rng, world.number, base, error)[groups] if world.constant else said(rng, len(groups), base, error)
        )
        labels = world.labels(np.full(len(groups), base), groups, rng)
    else:
        labels = world.labels(chances, groups, rng)
    more = {"groups": groups} if known else {}
    sample = cs.Sample(labels, chances, labels=range(world.n_classes), **more)
    advice = cs.recommend_calibrator(sample, tried, n_other_splits=0, n_resamples=499, rng=rng)
    return advice.calibrator != "uncalibrated"


Models = tuple[np.ndarray, list[np.ndarray]]


def _of_independent_scores(rng: np.random.Generator, n: int, part: float, boldness: float = 1.0) -> Models:
    """Eight models that each see one part of what decides, too bold by a factor on the probit scale."""
    z = rng.normal(size=(8, n))
    y = (rng.random(n) < ndtr(part * z.sum(axis=0))).astype(int)
    return y, list(ndtr(boldness * part / np.sqrt(1 + 7 * part**2) * z))


def eight_calibrated(rng: np.random.Generator, n: int) -> Models:
    """Eight calibrated models, alike."""
    return _of_independent_scores(rng, n, 0.7)


def eight_too_bold(rng: np.random.Generator, n: int) -> Models:
    """Eight models of independent scores, equally too bold."""
    return _of_independent_scores(rng, n, 0.5, 1.8)


def eight_of_both_kinds(rng: np.random.Generator, n: int) -> Models:
    """Four calibrated models of less and less sharpness, and four with errors of 0.1 up and down."""
    p = rng.uniform(0.2, 0.8, n)
    coarse = [0.2 + width * (np.floor((p - 0.2) / width - 1e-9) + 0.5) for width in (0.1, 0.2, 0.3)]
    return (rng.random(n) < p).astype(int), [p, *coarse, p + 0.1, p - 0.1, coarse[0] + 0.1, coarse[1] - 0.1]


ALL_PAIRS = set(combinations(range(8), 2))
EQUAL = {
    eight_calibrated: ALL_PAIRS,
    eight_too_bold: ALL_PAIRS,
    eight_of_both_kinds: {*combinations(range(4), 2), *combinations(range(4, 8), 2)},
}


@dataclass(frozen=True)
class ToldApart:
    """Eight models, of which pairs have equal errors."""

    world: Callable[[np.random.Generator, int], Models]

    def measure(self, runs: int, seed: int) -> list[Row]:
        """Compare all pairs on fresh rows."""
        name = self.world.__name__.replace("_", " ")
        rng = np.random.default_rng([seed, crc32(name.encode())])
        happened = [self._happened(rng) for _ in range(runs)]
        return [count((name, N_COMPARED, "compare_models", "told apart"), happened, seed, at_most=LEVEL)]

    def _happened(self, rng: np.random.Generator) -> bool:
        y, probabilities = self.world(rng, N_COMPARED)
        models = {str(k): cs.Sample(y, p, labels=[0, 1]) for k, p in enumerate(probabilities)}
        found = compare_models(models, cs.DebiasedL2(cs.EqualMass(10)), rng=rng)
        apart = {(int(pair.first), int(pair.second)) for pair in found.pairs if pair.pvalue_adjusted <= LEVEL}
        return bool(apart & EQUAL[self.world])


def jobs() -> Iterator[Recommended | RecommendedForClusters | ToldApart]:
    """Yield everything that the table holds."""
    yield from map(Recommended, (coins, calibrated, rare, three, bold))
    yield from map(RecommendedForClusters, CLUSTERED)
    yield from map(ToldApart, EQUAL)
