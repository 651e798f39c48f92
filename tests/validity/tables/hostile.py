"""How often one-sided statements, intervals and tests are wrong in worlds that were made to break them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from scipy.special import expit, logit

import calibstat as cs
from validity.tables.rows import Row, count

TITLE = "Errors in hostile worlds, nominal 5 %"
TEXT = """\
How often a statement is wrong, in percent, with its Monte Carlo standard error: worlds in which few rows carry the
error, the weight or the noise. The estimand of every bound and interval is the error at the predictions, the weights
and the cells of the sample (for squares their unbiased version, for O/E the ratio of expected to predicted events).

*Upper bound*: that of `equivalence_test` lies below the estimand. *Interval*: that of `estimate` (of a comparison, an
audit, a band) does not hold it; *lower end* and *upper end* say on which side. *Test*: a true null hypothesis is
rejected at level 5 %. Where few rows have all the weight no bound is given, which counts as right; of comparisons the
table says how often they are *refused*. Asserted: at most 5 % in every other cell of this table."""
RUNS = 200
# the rows that the documents speak of: 5000 runs, and 1000 of those that take a tenth of a second each
HEADLINE = {
    ("three predictions, shift 0.7", "DebiasedL2"): 25,
    ("rare, wiggle", "DebiasedL2"): 25,
    ("rare, shift 0.3", "DebiasedL2"): 25,
    ("predictions of 1 - 1e-7, chance 0.95", "ECE"): 5,
    ("400 certain beside 40 rare, chance 0.03", "ECE"): 25,
    ("20 heavy rows, 0.03 for 0.001", "ECE"): 25,
    ("Pareto(1) weights, shift 0.3", "ObservedToExpected"): 25,
    ("Pareto(1) weights, calibrated", "weak null of VECE"): 25,
    ("Pareto(1) weights, calibrated", "VECE"): 5,
    ("lognormal(1.5) weights, equal errors", "comparison"): 25,
    ("rare, 600 other rows", "comparison"): 5,
    ("20 groups of 60 rows, calibrated", "equal_curves_test"): 25,
    ("60 rows of 0.001, chance 0.03", "subgroup_audit"): 25,
}
HEADLINE_SUBJECTS = {"signs, ECE": 25, "signs, Kuiper": 25, "interval of ECE": 25, "LOESS": 25}
N_RESAMPLES = 199
BOUND = 0.05
CELLS, DEBIASED = cs.ECE(), cs.DebiasedL2(cs.EqualMass(10))
Draw = Callable[[np.random.Generator], tuple[cs.Sample, np.ndarray]]


@dataclass(frozen=True)
class Job:
    """One kind of statement in one world; `wrong` says of a fresh sample which statements are wrong."""

    world: str
    n: int
    subject: str
    wrong: Callable[[np.random.Generator], dict[str, bool]]

    @property
    def times(self) -> int:
        """How many times the runs of an ordinary row."""
        return HEADLINE.get((self.world, self.subject), HEADLINE_SUBJECTS.get(self.subject, 1))

    def measure(self, runs: int, seed: int) -> list[Row]:
        """Make the statements on fresh samples."""
        rng = np.random.default_rng([seed, self.n, crc32(f"{self.world}, {self.subject}".encode())])
        found = [self.wrong(rng) for _ in range(runs)]
        return [
            count((self.world, self.n, self.subject, name), [each[name] for each in found], seed, at_most=_bound(name))
            for name in found[0]
        ]


def _bound(name: str) -> float:
    return np.nan if name == "refused" else BOUND


# Worlds: predictions, chances and weights


def draws(
    n: int,
    predictions: Callable[[int, np.random.Generator], np.ndarray],
    chances: Callable[[np.ndarray], np.ndarray],
    weights: Callable[[int, np.random.Generator], np.ndarray | None] = lambda n, rng: None,
    variables: Callable[[int, np.random.Generator], dict[str, np.ndarray]] = lambda n, rng: {},
) -> Draw:
    """Return a function that draws a sample and the chances of its rows."""

    def draw(rng: np.random.Generator) -> tuple[cs.Sample, np.ndarray]:
        p = predictions(n, rng)
        chance = np.broadcast_to(chances(p), p.shape)
        given = {"sample_weight": weights(n, rng), "variables": variables(n, rng)}
        return cs.Sample(rng.random(n) < chance, p, labels=[False, True], **given), chance

    return draw


def shift(by: float) -> Callable[[np.ndarray], np.ndarray]:
    """The chance is the prediction, moved on the logit scale."""
    return lambda p: expit(logit(p) + by)


def wiggle(p: np.ndarray) -> np.ndarray:
    """The chance of rare events swings about the prediction."""
    return p * (1 + 0.8 * np.sin(60 * p))


def same(p: np.ndarray) -> np.ndarray:
    """The prediction is right."""
    return p


def scores(n: int, rng: np.random.Generator) -> np.ndarray:
    """Three predictions."""
    return rng.choice([0.2, 0.5, 0.8], n)


def uniform(n: int, rng: np.random.Generator) -> np.ndarray:
    """Predictions that are uniform."""
    return rng.random(n)


def rare(n: int, rng: np.random.Generator) -> np.ndarray:
    """Predictions of rare events, Beta(1, 19)."""
    return rng.beta(1, 19, n)


def certain_and_rare(n: int, _: np.random.Generator) -> np.ndarray:
    """Ten of eleven rows are certain, the others have predictions of one in a thousand."""
    return np.repeat([1.0, 0.001], [n - n // 11, n // 11])


def certain_or_rare(p: np.ndarray) -> np.ndarray:
    """Certain rows are right, the rare ones happen thirty times as often as predicted."""
    return np.where(p == 1, 1.0, 0.03)


def almost_certain(n: int, _: np.random.Generator) -> np.ndarray:
    """Predictions a ten-millionth below one."""
    return np.full(n, 1 - 1e-7)


def one_in_1000(n: int, _: np.random.Generator) -> np.ndarray:
    """One prediction for all rows."""
    return np.full(n, 0.001)


def always(chance: float) -> Callable[[np.ndarray], np.ndarray]:
    """One chance for all rows."""
    return lambda p: np.full_like(p, chance)


def pareto(n: int, rng: np.random.Generator) -> np.ndarray:
    """Weights without a mean."""
    return 1 + rng.pareto(1, n)


def lognormal(n: int, rng: np.random.Generator) -> np.ndarray:
    """Weights with a heavy tail."""
    return rng.lognormal(0, 1.5, n)


def twenty_heavy(n: int, _: np.random.Generator) -> np.ndarray:
    """A hundred times the weight for twenty rows."""
    return np.where(np.arange(n) < 20, 100.0, 1.01)


# Bounds and intervals of one error


def truth(estimator: cs.Estimator, sample: cs.Sample, chance: np.ndarray) -> float:
    """The estimand: of an unbiased square its mean over labels, of other errors their value at the chances."""
    evaluator = estimator.prepare(sample.predictions)
    if not isinstance(estimator, cs.DebiasedL2):
        return float(np.ravel(estimator.headline(evaluator(np.stack([1 - chance, chance], axis=1)[None])))[0])
    cells = estimator.binning.cut(sample.predictions)
    w = np.ones(len(chance)) if sample.predictions.weights is None else sample.predictions.weights
    error, total = w * (chance - sample.predictions.event), 0.0
    for cell in np.unique(cells.index):
        own = cells.index == cell
        pairs = w[own].sum() ** 2 - (w[own] ** 2).sum()
        if pairs > 0:
            total += w[own].sum() / w.sum() * (error[own].sum() ** 2 - (error[own] ** 2).sum()) / pairs
    return total


def upper_bound(estimator: cs.Estimator, sample: cs.Sample, rng: np.random.Generator) -> float:
    """The upper bound; none where so few rows have all the weight that none is given."""
    try:
        return cs.equivalence_test(sample, estimator, 0.5, n_resamples=N_RESAMPLES, rng=rng).upper_bound
    except ValueError as reason:
        if "needs at least 7 rows (in effect, by weights)" not in str(reason):
            raise
        return np.inf


def interval(estimator: cs.Estimator, sample: cs.Sample, rng: np.random.Generator) -> tuple[float, float]:
    """The default interval; all values where none is given."""
    found = cs.estimate(sample, estimator, n_resamples=N_RESAMPLES, rng=rng).confidence_interval
    return (-np.inf, np.inf) if found is None else (found.low, found.high)


def of_error(draw: Draw, estimator: cs.Estimator) -> Callable[[np.random.Generator], dict[str, bool]]:
    """The bound and the interval of an error."""

    def wrong(rng: np.random.Generator) -> dict[str, bool]:
        sample, chance = draw(rng)
        true = truth(estimator, sample, chance)
        found = of_interval(*interval(estimator, sample, rng), true)
        if estimator.residual_form == "none":
            return found
        return {"upper bound": upper_bound(estimator, sample, rng) < true - 1e-12} | found

    return wrong


def of_interval(low: float, high: float, true: float) -> dict[str, bool]:
    """On which side the truth lies."""
    below, above = bool(true < low - 1e-12), bool(true > high + 1e-12)
    return {"interval": below or above, "lower end": below, "upper end": above}


# Comparisons


def of_pair(draw: Callable[[np.random.Generator], tuple[cs.Sample, cs.Sample]], paired: bool = True):
    """A comparison of two models whose errors are equal."""

    def wrong(rng: np.random.Generator) -> dict[str, bool]:
        try:
            found = cs.comparison_test(*draw(rng), DEBIASED, paired=paired, n_resamples=N_RESAMPLES, rng=rng)
        except ValueError as reason:
            if "too few for its variance" not in str(reason):
                raise
            return {"test": False, "refused": True} | of_interval(0.0, 0.0, 0.0)
        low, high = found.confidence_interval
        return {"test": found.pvalue <= BOUND, "refused": False} | of_interval(low, high, 0.0)

    return wrong


def opposite(n: int, weights: Callable[[int, np.random.Generator], np.ndarray | None]):
    """Two models of the same rows: the chance lies midway between what they announce."""

    def draw(rng: np.random.Generator) -> tuple[cs.Sample, cs.Sample]:
        low = rng.uniform(0.2, 0.6, n)
        happened, w = rng.random(n) < low + 0.1, weights(n, rng)
        return tuple(cs.Sample(happened, low + by, labels=[False, True], sample_weight=w) for by in (0.01, 0.19))

    return draw


def apart(first: int, second: int, by: float):
    """One model on two sets of rows."""
    draws_of = [draws(n, rare, shift(by)) for n in (first, second)]
    return lambda rng: tuple(draw(rng)[0] for draw in draws_of)


# Tests of true nulls, audits, bands


def rejected(draw: Draw, test: Callable[[cs.Sample, np.random.Generator], float]):
    """A test of a true null hypothesis."""
    return lambda rng: {"test": test(draw(rng)[0], rng) <= BOUND}


def weak_null(sample: cs.Sample, rng: np.random.Generator) -> float:
    """The weak null of a variable."""
    return cs.calibration_test(sample, cs.VECE("v"), null=cs.Weak(N_RESAMPLES), rng=rng).pvalue


def equal_curves(sample: cs.Sample, rng: np.random.Generator) -> float:
    """Equal curves of all groups."""
    return cs.equal_curves_test(sample, "g", n_resamples=N_RESAMPLES, rng=rng).pvalue


def numbered(n_groups: int):
    """A variable beside the prediction, and groups of the same size."""
    return lambda n, rng: {"v": rng.random(n), "g": np.arange(n) % n_groups}


def of_audit(small: int, large: int):
    """A small group of rare events beside a large one: all intervals hold together, and each by itself."""

    def wrong(rng: np.random.Generator) -> dict[str, bool]:
        p = np.concatenate([np.full(small, 0.001), rng.random(large)])
        chance = np.where(np.arange(len(p)) < small, 0.03, p)
        group = np.repeat(["few", "many"], [small, large])
        sample = cs.Sample(rng.random(len(p)) < chance, p, labels=[False, True], variables={"group": group})
        audit = cs.subgroup_audit(sample, "group", min_expected=0, n_resamples=N_RESAMPLES, rng=rng)
        held = []
        for each in audit:
            level = dict(each.levels).get("group")
            rows = np.full(len(p), True) if level is None else group == level
            chances = np.stack([1 - chance, chance], axis=1)[rows]
            true = float(np.ravel(cs.Kuiper().prepare(sample.predictions.take(rows))(chances))[0])
            held.append(each.confidence_interval[0] - 1e-12 <= true <= each.confidence_interval[1] + 1e-12)
        return {"interval": not all(held)}

    return wrong


def of_band(n: int, predictions: Callable[[int, np.random.Generator], np.ndarray], at: float):
    """The pointwise band of LOESS about a straight curve, at one prediction."""

    def wrong(rng: np.random.Generator) -> dict[str, bool]:
        curve = cs.LOESS()(draws(n, predictions, same)(rng)[0])
        k = int(np.abs(curve.x - at).argmin())
        return of_interval(curve.low[k], curve.high[k], curve.prediction[k])

    return wrong


def jobs() -> Iterator[Job]:
    """Yield everything that the table holds."""
    yield from of_few_rows()
    yield from of_weights()
    yield from of_clusters()
    yield Job("rare, 600 other rows", 3000, "comparison", of_pair(apart(3000, 600, 0.3), False))
    groups = draws(1200, uniform, same, variables=numbered(20))
    yield Job("20 groups of 60 rows, calibrated", 1200, "equal_curves_test", rejected(groups, equal_curves))
    yield Job("60 rows of 0.001, chance 0.03", 1060, "subgroup_audit", of_audit(60, 1000))
    for n, predictions, at in ((300, rare, 0.02), (300, rare, 0.1), (500, uniform, 0.5), (500, uniform, 0.05)):
        yield Job(f"{predictions.__name__}, calibrated, band at {at:g}", n, "LOESS", of_band(n, predictions, at))


def of_few_rows() -> Iterator[Job]:
    """Few predictions, rare events, rows that are almost certain."""
    unique = cs.UniqueValues()
    for n in (200, 500, 1000):
        for estimator in (cs.DebiasedL2(unique), cs.ECE(unique)):
            yield one_error("three predictions, shift 0.7", n, estimator, scores, shift(0.7))
    for name, chances in {"wiggle": wiggle, "shift 0.3": shift(0.3)}.items():
        for estimator in (DEBIASED, CELLS):
            yield one_error(f"rare, {name}", 2000, estimator, rare, chances)
    yield one_error("predictions of 1 - 1e-7, chance 0.95", 10, CELLS, almost_certain, always(0.95))
    for estimator in (CELLS, cs.MaximumMiscalibration(unique), cs.Kuiper(), cs.SmoothCE()):
        yield one_error("400 certain beside 40 rare, chance 0.03", 440, estimator, certain_and_rare, certain_or_rare)


def of_weights() -> Iterator[Job]:
    """A few rows have most of the weight."""
    for name, weights in {"Pareto(1)": pareto, "lognormal(1.5)": lognormal}.items():
        for estimator in (CELLS, DEBIASED, cs.Kuiper(), cs.ObservedToExpected()):
            yield one_error(f"{name} weights, shift 0.3", 300, estimator, uniform, shift(0.3), weights)
        yield one_error(f"{name} weights, shift 0.3", 1000, cs.ObservedToExpected(), uniform, shift(0.3), weights)
        calibrated = draws(500, uniform, same, weights, numbered(1))
        yield Job(f"{name} weights, calibrated", 500, "weak null of VECE", rejected(calibrated, weak_null))
        yield Job(f"{name} weights, calibrated", 500, "VECE", of_error(calibrated, cs.VECE("v")))
        yield Job(f"{name} weights, equal errors", 1000, "comparison", of_pair(opposite(1000, weights)))
    for estimator in (CELLS, DEBIASED):
        yield one_error("20 heavy rows, 0.03 for 0.001", 2000, estimator, one_in_1000, always(0.03), twenty_heavy)


def of_clusters() -> Iterator[Job]:
    """Few clusters of unequal size, whose rows are alike."""
    for n, predictions in ((60, uniform), (60, rare)):
        draw = in_clusters(n, predictions)
        world = f"{n} clusters of Pareto(2) sizes, {predictions.__name__}, calibrated"
        for name, estimator in {"ECE": CELLS, "Kuiper": cs.Kuiper()}.items():
            yield Job(world, n, f"signs, {name}", rejected(draw, by_signs(estimator)))
        yield Job(world, n, "interval of ECE", of_signs(draw, CELLS))


def in_clusters(n_clusters: int, predictions: Callable[[int, np.random.Generator], np.ndarray]) -> Draw:
    """All rows of a cluster have the same prediction and the same outcome."""

    def draw(rng: np.random.Generator) -> tuple[cs.Sample, np.ndarray]:
        cluster = np.repeat(np.arange(n_clusters), np.ceil(2 * (1 + rng.pareto(2, n_clusters))).astype(int))
        p, level = predictions(n_clusters, rng), rng.random(n_clusters)
        happened = (level < p)[cluster]
        return cs.Sample(happened, p[cluster], labels=[False, True], groups=cluster), p[cluster]

    return draw


def by_signs(estimator: cs.Estimator):
    """The test of calibration for rows in clusters."""
    null = cs.Multiplier(N_RESAMPLES)
    return lambda sample, rng: cs.calibration_test(sample, estimator, null=null, rng=rng).pvalue


def of_signs(draw: Draw, estimator: cs.Estimator):
    """The interval for rows in clusters; none where too few are in effect, which counts as right."""

    def wrong(rng: np.random.Generator) -> dict[str, bool]:
        sample, chance = draw(rng)
        found = cs.estimate(sample, estimator, n_resamples=N_RESAMPLES, rng=rng)
        if found.confidence_interval is None:
            if "clusters" not in found.interval_note:
                raise ValueError(found.interval_note)
            return of_interval(0.0, 1.0, 0.0)
        return of_interval(*found.confidence_interval, truth(estimator, sample, chance))

    return wrong


def one_error(world, n, estimator, predictions, chances, weights=lambda n, rng: None) -> Job:
    """The bound and the interval of an error."""
    name = "RMSCE" if getattr(estimator, "p", 1) == 2 else type(estimator).__name__
    return Job(world, n, name, of_error(draws(n, predictions, chances, weights), estimator))
