"""How often verbs are right where rows come in clusters, and where the same rows are taken as independent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from zlib import crc32

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.tree import DecisionTreeRegressor

import calibstat as cs
from validity.clustered import WORLDS, Clustered
from validity.tables.rows import Row, count

TITLE = "Rows in clusters"
TEXT = """\
How often public verbs are right where rows come in clusters; n is the number of clusters, whose sizes are 8, or
quantiles of Pareto's law (index 1.5) in the worlds that are unequal. Predictions follow Beta(2, 2), rare ones
Beta(1, 19), five classes Dirichlet(2, ..., 2), and repeats have one prediction for each cluster. The normal numbers
behind outcomes have the correlation 0.05 (weak), 0.9 (repeats) or 0.3 in a cluster.

*Rejects*: a test at level 5 % rejects a true null hypothesis (several tests at once: one of them does; bars and limits:
one of them does not hold the outcomes of a calibrated model). *Holds*: a 95 % interval holds the truth (several at
once: each of them does), where the odds are those of logit p + 0.4 with slope 0.7, or of five classes as predicted.
*Refused*: the verb says that there are too few clusters, rows or events, or gives no interval; that counts as right.
*Alone*: the same rows without `groups`, where the correlation is 0.3 or more and 60 clusters are there.

Asserted: *rejects* at most 5 %, *holds* at least 93 %, with every number of clusters; of all worlds together too. Where
rows of a cluster have one prediction, tests of rows *alone* reject far more often, and intervals hold far less often;
a rare event, or one of five classes, depends less on its cluster, and there they differ by little."""
RUNS = 100
N_RESAMPLES = 99
NUMBERS = (12, 20, 60)
SIZE, COVERAGE = 0.05, 0.93
MOVED = 0.4, 0.7
ROUNDING = 1e-9
CELLS = cs.EqualMass(6)
SMOOTHER = cs.LOESS(n_points=50, n_cells=64)


@dataclass(frozen=True)
class Drawn:
    """Rows in clusters, seen as two outcomes and whole, beside their chances; a verb may need another random number."""

    whole: cs.Sample
    seen: cs.Sample
    chances: np.ndarray  # of the event that is seen
    sex: np.ndarray  # a variable of the sample
    truths: dict[str, float]
    rng: np.random.Generator = field(repr=False)


def drawn(world: Clustered, moved: bool, clusters: bool, rng: np.random.Generator) -> Drawn:
    """Draw rows with a variable of clusters and one of rows, to which predictions are blind, as they may be."""
    shift, slope = MOVED if moved and world.n_classes == 2 else (0.0, 1.0)
    predictions, groups = world.predictions(rng)
    event = predictions if predictions.ndim == 1 else predictions[:, 2]
    chances = expit(shift + slope * logit(event))
    labels = world.labels(chances if predictions.ndim == 1 else predictions, groups, rng)
    sex = np.array(["f", "m"])[rng.permutation(np.arange(world.number) % 2)[groups]]
    variables = {"sex": sex, "age": rng.uniform(20, 80, len(groups))}
    more = {"groups": groups} if clusters else {}
    whole = cs.Sample(labels, predictions, labels=range(world.n_classes), variables=variables, **more)
    seen = whole if world.n_classes == 2 else cs.ClassWise(2)(whole)
    known = truths(world.law, shift, slope) if world.n_classes == 2 else {"slope": 1.0, "intercept": 0.0}
    return Drawn(whole, seen, chances, sex, known, rng)


@cache
def truths(law: tuple[float, float], shift: float, slope: float) -> dict[str, float]:
    """Values in a large sample, with chances in place of labels."""
    p = np.random.default_rng(1).beta(*law, 400_000)
    q = expit(shift + slope * logit(p))
    order = np.argsort(p)
    events, others = q[order], 1 - q[order]
    area = float(events @ (np.cumsum(others) - others / 2) / (events.sum() * others.sum()))
    return {
        "slope": slope,
        "intercept": brentq(lambda moved: (expit(moved + logit(p)) - q).mean(), -3, 3),
        "c_index": area,
        "brier": float((q * (1 - p) ** 2 + (1 - q) * p**2).mean()),
        "accuracy": float(np.where(p >= 0.5, 1 - q, q).mean()),
        "tau": 1 - 4 * (1 - area) * float(q.mean() * (1 - q.mean())),
    }


def error_of(estimator: cs.Estimator, sample: cs.Sample, chances: np.ndarray) -> float:
    """The error at the predictions of a sample, with chances in place of labels."""
    return float(np.ravel(estimator.prepare(sample.predictions)(np.column_stack([1 - chances, chances])))[0])


def within(ends: tuple[float, float] | None, truth: float) -> bool | None:
    """Whether an interval holds a number; None where there is none."""
    if ends is None or np.isnan(ends[0]):
        return None
    return ends[0] - ROUNDING <= truth <= ends[1] + ROUNDING


# What verbs say of calibrated rows: whether one of their tests rejects, or one of their bars is left.

Said = dict[str, "bool | None"]


def of_test(d: Drawn) -> Said:
    """One test."""
    return {"": cs.calibration_test(d.seen, cs.ECE(CELLS), n_resamples=N_RESAMPLES, rng=d.rng).pvalue <= SIZE}


def of_omnibus(d: Drawn) -> Said:
    """A panel, of all classes."""
    return {"": cs.omnibus_test(d.whole, n_resamples=N_RESAMPLES, rng=d.rng).pvalue <= SIZE}


def of_several(d: Drawn) -> Said:
    """Classes, or the values of a variable."""
    asked = cs.EachClass(cs.ECE(CELLS)) if len(d.whole.labels) > 2 else cs.Within("sex", cs.Kuiper())
    found = cs.multiple_test(d.whole, asked, n_resamples=N_RESAMPLES, rng=d.rng)
    return {"": bool(min(found.pvalues_adjusted) <= SIZE)}


def of_audit(d: Drawn) -> Said:
    """Groups of two variables."""
    found = cs.subgroup_audit(d.seen, ["sex", "age"], min_size=20, n_resamples=N_RESAMPLES, rng=d.rng)
    return {"": any(each.pvalue_adjusted <= SIZE for each in found)}


def of_scan(d: Drawn) -> Said:
    """Errors along two variables."""
    return {"": len(cs.scan_variables(d.whole, n_resamples=N_RESAMPLES, rng=d.rng).rejected) > 0}


def of_learner(d: Drawn) -> Said:
    """Errors that a tree has learned."""
    learner = DecisionTreeRegressor(max_depth=3, min_samples_leaf=10)
    found = cs.learner_audit(d.seen, learner=learner, n_blocks=2, n_resamples=N_RESAMPLES, rng=d.rng)
    return {"": found.pvalue <= SIZE}


def of_curves(d: Drawn) -> Said:
    """Equal curves of two groups of clusters."""
    return {"": cs.equal_curves_test(d.seen, "sex", n_resamples=N_RESAMPLES, rng=d.rng).pvalue <= SIZE}


def of_bars(d: Drawn) -> Said:
    """All bars of a diagram at once."""
    found = cs.ReliabilityDisplay.compute(d.seen, CELLS, n_resamples=2 * N_RESAMPLES + 1, rng=d.rng)
    gap = found.mean_outcome - found.mean_prediction
    return {"": bool(((gap < found.all_low - ROUNDING) | (gap > found.all_high + ROUNDING)).any())}


def of_walk(d: Drawn) -> Said:
    """The walk of cumulated errors leaves its strip."""
    found = cs.CumulativeDisplay.compute(d.seen, n_resamples=N_RESAMPLES, rng=d.rng)
    return {"": bool(np.ptp(found.walk) > found.height + ROUNDING)}


def of_validity(d: Drawn) -> Said:
    """The area above a validity curve."""
    return {"": cs.ValidityCurveDisplay.compute(d.seen, CELLS, n_resamples=N_RESAMPLES, rng=d.rng).pvalue <= SIZE}


def of_variable(d: Drawn) -> Said:
    """Errors along a variable, smoothed."""
    asked = {"lens": cs.Canonical(), "smoother": SMOOTHER}
    return {"": cs.VariableDisplay.compute(d.seen, "age", **asked, n_resamples=N_RESAMPLES, rng=d.rng).pvalue <= SIZE}


def of_simplex(d: Drawn) -> Said:
    """All arrows of three classes."""
    if len(d.whole.labels) < 3:
        return {}
    lens = cs.Partition([[0], [1, 2], [3, 4]])
    found = cs.SimplexDisplay.compute(d.whole, lens=lens, coverage=1 - SIZE, n_resamples=N_RESAMPLES, rng=d.rng)
    return {"": bool(found.cells["outside"].any())}


# Intervals where the model is off


def of_equivalence(d: Drawn) -> Said:
    """The error is as large as the margin, and the test says that it is smaller."""
    truth = error_of(cs.ECE(CELLS), d.seen, d.chances)
    if truth < 1e-6:
        return {}
    found = cs.equivalence_test(d.seen, cs.ECE(CELLS), margin=truth, n_resamples=N_RESAMPLES, rng=d.rng)
    return {"": None if np.isnan(found.pvalue) else found.pvalue <= SIZE}


def of_estimate(d: Drawn) -> Said:
    """The interval of a calibration error."""
    found = cs.estimate(d.seen, cs.ECE(CELLS), n_resamples=N_RESAMPLES, rng=d.rng)
    return {"": within(found.confidence_interval, error_of(cs.ECE(CELLS), d.seen, d.chances))}


def of_measures(d: Drawn) -> Said:
    """Measures that are no errors."""
    known: dict[str, tuple[cs.Estimator, float]] = {
        "O/E": (cs.ObservedToExpected(), float(d.chances.sum() / d.seen.predictions.event.sum())),
        "slope": (cs.Cox(statistic="slope"), d.truths["slope"]),
        "intercept": (cs.Cox(statistic="intercept_in_the_large"), d.truths["intercept"]),
    }
    if len(d.whole.labels) == 2:
        known |= {"AUC": (cs.AUC(), d.truths["c_index"]), "Brier score": (cs.BrierScore(), d.truths["brier"])}
    found = {name: cs.estimate(d.seen, each, n_resamples=N_RESAMPLES, rng=d.rng) for name, (each, _) in known.items()}
    return {name: within(each.confidence_interval, known[name][1]) for name, each in found.items()}


def of_desiderata(d: Drawn) -> Said:
    """Accuracy and order."""
    if len(d.whole.labels) > 2:
        return {}
    found = {each.name: each.confidence_interval for each in cs.desiderata(d.seen, n_resamples=19, rng=d.rng).measures}
    truth = {"accuracy": d.truths["accuracy"], "monotonicity": d.truths["tau"]}
    return {name: within(found[name], value) for name, value in truth.items()}


def of_joint_intervals(d: Drawn) -> Said:
    """All groups of an audit at once."""
    found = cs.subgroup_audit(d.seen, "sex", min_size=20, min_expected=0, n_resamples=N_RESAMPLES, rng=d.rng)
    held = []
    for each in found:
        level = dict(each.levels).get("sex")
        rows = np.flatnonzero(d.sex == level) if level else np.arange(len(d.seen))
        held.append(within(each.confidence_interval, error_of(cs.Kuiper(), d.seen.take(rows), d.chances[rows])))
    return {"": None if None in held else all(held)}


def of_monotone_band(d: Drawn) -> Said:
    """The band of a chance that does not decrease, at all predictions."""
    band = cs.calibration_band(d.seen, digits=2)
    chance = d.chances[np.unique(d.seen.predictions.event, return_index=True)[1]]
    return {"": bool(((band.lower <= chance + ROUNDING) & (chance <= band.upper + ROUNDING)).all())}


def of_leaves(d: Drawn) -> Said:
    """All leaves of a tree that was grown on other clusters, which differ by chance alone."""
    found = cs.grow_leaf_table(d.seen, max_depth=2, min_size=10, rng=d.rng)
    return {"": not found.rejected}


def of_band(d: Drawn) -> Said:
    """The band of a smooth curve, at its middle."""
    curve = cs.LOESS(n_points=11)(d.seen)
    return {"": within((float(curve.low[5]), float(curve.high[5])), float(curve.prediction[5]))}


# Each verb, whether it is asked about rows that the model is off for, and what it may say.
VERBS: dict[str, tuple[Callable[[Drawn], Said], bool, str]] = {
    "calibration_test": (of_test, False, "rejects"),
    "omnibus_test": (of_omnibus, False, "rejects"),
    "multiple_test": (of_several, False, "rejects"),
    "subgroup_audit": (of_audit, False, "rejects"),
    "scan_variables": (of_scan, False, "rejects"),
    "learner_audit": (of_learner, False, "rejects"),
    "equal_curves_test": (of_curves, False, "rejects"),
    "ReliabilityDisplay": (of_bars, False, "rejects"),
    "CumulativeDisplay": (of_walk, False, "rejects"),
    "ValidityCurveDisplay": (of_validity, False, "rejects"),
    "VariableDisplay": (of_variable, False, "rejects"),
    "SimplexDisplay": (of_simplex, False, "rejects"),
    "equivalence_test": (of_equivalence, True, "rejects"),
    "estimate": (of_estimate, True, "holds"),
    "estimate, measures": (of_measures, True, "holds"),
    "desiderata": (of_desiderata, True, "holds"),
    "subgroup_audit, intervals": (of_joint_intervals, True, "holds"),
    "LOESS": (of_band, False, "holds"),
    "calibration_band": (of_monotone_band, True, "holds"),
    "grow_leaf_table": (of_leaves, False, "holds"),
}


# Verbs that take rows as independent, and say so.
REFUSES: dict[str, Callable[[cs.Sample], object]] = {
    "precision_n": cs.precision_n,
    "Ledger.count": cs.Ledger.count,
}
# Verbs whose numbers are those of others, or that other tests draw samples for.
ELSEWHERE = {
    "clinical_summary": "inference/test_clusters.py::test_a_coefficient_has_one_interval_in_all_verbs",
    "leaf_table": "interpretability/test_leaves.py::test_a_bound_of_clusters_is_where_their_divergence_is_the_budget",
    "trajectory": "inference/test_clusters.py::test_a_step_of_a_trajectory_is_tested_as_its_sample_is",
    "report": "inference/test_clusters.py::test_a_report_tests_clusters",
    "comparison_test": "validity/test_cluster_comparisons.py::test_models_of_equal_errors",
    "compare_models": "validity/test_cluster_comparisons.py::test_three_calibrated_models",
    "compare_calibrators": "comparisons/test_splits.py::test_no_cluster_is_on_both_sides_in_any_verb",
    "recommend_calibrator": "validity/test_evidence.py::test_where_none_is_better_one_is_rarely_recommended",
    "variable_based_protocol": "comparisons/test_splits.py::test_no_cluster_is_on_both_sides_in_any_verb",
    "simplify": "validity/test_clusters.py::"
    "test_the_expected_error_of_simpler_predictors_is_no_smaller_than_that_of_calibrated_ones",
}


@dataclass(frozen=True)
class Job:
    """One verb on fresh rows of one world, with so many clusters."""

    world: str
    number: int
    verb: str

    @property
    def times(self) -> int:
        """How many times as many runs this verb has: few of its intervals miss where clusters are not known."""
        return 5 if self.verb == "grow_leaf_table" else 1

    def measure(self, runs: int, seed: int) -> list[Row]:
        """Ask the verb with groups, and in some worlds without."""
        rng = np.random.default_rng([seed, self.number, crc32(f"{self.world}, {self.verb}".encode())])
        world = WORLDS[self.world]._replace(number=self.number)
        ask, moved, method = VERBS[self.verb]
        said = [answers(ask, drawn(world, moved, True, rng)) for _ in range(runs)]
        rows = [*self._rows(said, method, seed), *self._refusals(said, seed)]
        if self.number == max(NUMBERS) and world.correlation >= 0.3:
            alone = [answers(ask, drawn(world, moved, False, rng)) for _ in range(runs)]
            rows += self._rows(alone, f"{method} alone", seed)
        return rows

    def _rows(self, said: list[Said], method: str, seed: int) -> Iterator[Row]:
        right = method.startswith("holds")  # what counts as said where the verb refuses
        for key, part in self._parts(said):
            found = [right if each.get(part) is None else each[part] for each in said]
            yield count((*key, method), found, seed, **BOUNDS.get(method, {}))

    def _refusals(self, said: list[Said], seed: int) -> Iterator[Row]:
        for key, part in self._parts(said):
            yield count((*key, "refused"), [each.get(part) is None for each in said], seed)

    def _parts(self, said: list[Said]) -> Iterator[tuple[tuple[str, int, str], str]]:
        """Yield what each number of the verb is about; nothing where the verb is not asked."""
        named = dict.fromkeys(part for each in said for part in each if part != REFUSED)
        if not named and any(REFUSED in each for each in said):
            named = {"": None}
        for part in named:
            yield (self.world, self.number, f"{self.verb.split(',')[0]}, {part}" if part else self.verb), part


BOUNDS = {"rejects": {"at_most": SIZE}, "holds": {"at_least": COVERAGE}}
REFUSED = "refused"


def answers(ask: Callable[[Drawn], Said], d: Drawn) -> Said:
    """What a verb says; it may refuse so few clusters, rows or events, by name."""
    try:
        return ask(d)
    except ValueError as error:
        if not any(words in str(error) for words in ("cluster", "fewer than", "too few", "at least")):
            raise
        return {REFUSED: True}


def jobs() -> Iterator[Job]:
    """Yield everything that the table holds."""
    for world in WORLDS:
        for number in NUMBERS:
            for verb in VERBS:
                yield Job(world, number, verb)
