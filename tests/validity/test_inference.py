"""Coverage of intervals, and sizes of the weak null, the omnibus test, the comparison and the sequential test.

Some hundreds of runs each; bounds are those of the level plus or minus four standard errors, and each has a negative
control that must fail it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.estimators.walks import Kuiper
from calibstat.inference.compare import comparison_test
from calibstat.inference.equivalence import equivalence_test
from calibstat.inference.estimate import interval_of
from calibstat.inference.intervals import NoInterval
from calibstat.inference.multiple import omnibus_test
from calibstat.nulls.consistency import Sequential
from calibstat.nulls.multiplier import Multiplier, Weak
from suites import slow_but
from validity import worlds

SEED = 20261120
ECE = cs.ECE(cs.EqualMass(5))
CURVES = {
    "none": lambda p: p,
    "slope": lambda p: 1 / (1 + ((1 - p) / p) ** 0.7),
    "shift": lambda p: p / (p + (1 - p) * np.exp(-0.4)),
    "wiggle": lambda p: p + 0.09 * np.sin(4 * np.pi * p) * np.minimum(1, 4 * p * (1 - p)),
}
SCORES = {"uniform": (1, 1), "rare": (1, 19)}


def share_error(share, runs):
    return 4 * np.sqrt(share * (1 - share) / runs)


def drawn(scores, curve, n, rng):
    p = np.clip(rng.beta(*SCORES[scores], n), 1e-6, 1 - 1e-6)
    return p, worlds.two_classes(p, rng, chance=CURVES[curve](p))


def truth(estimator, p, curve):
    """The error of the same cells when every row has its own chance."""
    chances = CURVES[curve](p)
    sample = worlds.two_classes(p, np.random.default_rng(0))
    if estimator.residual_form == "pairs":  # the U-statistic's target: without the pairs of a row with itself
        estimator = cs.SquaredCE(estimator.binning)
    return float(estimator.prepare(sample.predictions)(np.column_stack([1 - chances, chances])))


@cache
def coverage(estimator, scores, curve, n, runs=200, interval=None):
    rng = np.random.default_rng([SEED, n, len(curve), len(scores)])
    covered = 0
    for _ in range(runs):
        p, sample = drawn(scores, curve, n, rng)
        found = cs.estimate(sample, estimator, n_resamples=99, interval=interval, rng=rng).confidence_interval
        covered += found.low - 1e-12 <= truth(estimator, p, curve) <= found.high + 1e-12
    return covered / runs


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("estimator", slow_but([], [cs.ECE(), cs.RMSCE(), Kuiper(), cs.DebiasedL2()]), ids=repr)
def test_default_intervals_cover(estimator, curve):
    assert coverage(estimator, "uniform", curve, 500) >= 0.93 - share_error(0.93, 200)


@pytest.mark.parametrize("estimator", slow_but([Kuiper()], [cs.ECE(), Kuiper()]), ids=repr)
def test_uniform_intervals_cover_zero_for_rare_events_and_few_rows(estimator):
    assert coverage(estimator, "rare", "none", 100) >= 0.93 - share_error(0.93, 200)


def test_negative_control_percentile_bootstrap_does_not_cover():
    bootstrap = cs.Bootstrap(99, allow_invalid=True)
    assert coverage(cs.ECE(), "uniform", "none", 500, 60, bootstrap) < 0.3


def test_negative_control_the_multiplier_alone_is_too_short_for_rare_events():
    """ECE of 15 cells, events of 5 %, n = 100: about 60 % where the default covers."""
    rng = np.random.default_rng(SEED)
    covered = 0
    for _ in range(200):
        _, sample = drawn("rare", "none", 100, rng)
        noise = Multiplier(99, centred=True).draw(cs.ECE(), sample, rng).samples
        covered += cs.ECE()(sample) <= np.sort(noise)[94]
    assert covered / 200 < 0.8


def weak_world(n, rng):
    """The mean residual is zero at every value of the variable, the prediction is noise about the chance."""
    v = rng.random(n)
    p = np.clip(0.2 + 0.6 * v + rng.choice([-0.15, 0.15], n), 0.02, 0.98)
    return cs.Sample(rng.random(n) < 0.2 + 0.6 * v, p, variables={"v": v}, labels=[False, True])


def rare_world(n, rng):
    """Calibrated given prediction and variable, events of 5 %."""
    p = rng.beta(1, 19, n)
    return cs.Sample(rng.random(n) < p, p, variables={"v": rng.random(n)}, labels=[False, True])


@cache
def size(make, n, null, runs=250):
    rng = np.random.default_rng([SEED, n])
    found = [cs.calibration_test(make(n, rng), cs.VECE("v"), null=null, rng=rng).pvalue for _ in range(runs)]
    return float(np.mean(np.array(found) <= 0.05))


@pytest.mark.parametrize("n", slow_but([100], [100, 500]))
@pytest.mark.parametrize("make", slow_but([rare_world], [weak_world, rare_world]))
def test_size_of_the_weak_null(make, n):
    assert size(make, n, Weak(99)) <= 0.065 + share_error(0.065, 250)


def test_negative_control_the_multiplier_alone_rejects_rare_events_too_often():
    assert size(rare_world, 100, Multiplier(99), 200) > 0.065 + share_error(0.065, 200)


def too_bold(n, rng):
    """Predictions of 0.1 or 0.9 at random about an event of chance a half: right on average given the variable."""
    p = rng.choice([0.1, 0.9], n)
    return cs.Sample(rng.random(n) < 0.5, p, variables={"v": rng.random(n)}, labels=[False, True])


@pytest.mark.slow
def test_negative_control_redrawn_labels_test_the_strong_null():
    assert size(too_bold, 500, cs.Consistency(99), 200) > 0.065 + share_error(0.065, 200)
    assert size(too_bold, 500, Weak(99)) <= 0.065 + share_error(0.065, 250)


@pytest.mark.slow
@pytest.mark.parametrize(("scores", "n"), [("uniform", 100), ("rare", 100)])
def test_size_of_the_omnibus_test(scores, n):
    rng = np.random.default_rng([SEED, n])
    found = [omnibus_test(drawn(scores, "none", n, rng)[1], n_resamples=99, rng=rng) for _ in range(300)]
    assert np.mean([each.pvalue <= 0.05 for each in found]) <= 0.05 + share_error(0.05, 300)
    unadjusted = np.mean([each.statistic <= 0.05 for each in found])
    assert unadjusted > 0.05 + share_error(0.05, 300)  # the negative control: the smallest p-value as it is


@pytest.mark.slow
@pytest.mark.parametrize("combine", ["cauchy", "fisher", "truncated"])
def test_size_of_combinations(combine):
    """The negative control takes the p-values for independent, as the laws of these combinations do."""
    rng, runs = np.random.default_rng([SEED, 7]), 400
    found = [
        omnibus_test(drawn("uniform", "none", 60, rng)[1], combine=combine, n_resamples=99, rng=rng)
        for _ in range(runs)
    ]
    assert np.mean([each.pvalue <= 0.05 for each in found]) <= 0.05 + share_error(0.05, runs)
    if combine == "fisher":
        independent = [stats.combine_pvalues(each.pvalues, "fisher").pvalue <= 0.05 for each in found]
        assert np.mean(independent) > 0.05 + share_error(0.05, runs)


def test_size_of_the_omnibus_test_for_three_classes():
    rng = np.random.default_rng(SEED)
    found = [omnibus_test(worlds.dirichlet(100, rng), n_resamples=99, rng=rng).pvalue for _ in range(100)]
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + share_error(0.05, 100)


def copies(n_clusters, rng):
    """Calibrated, every row five times: a patient who is counted at five visits."""
    p = rng.random(n_clusters)
    y = rng.random(n_clusters) < p
    five = np.repeat(np.arange(n_clusters), 5)
    return cs.Sample(y[five], p[five], groups=five, labels=[False, True])


def as_if_independent(sample):
    """The negative control: the same rows, and nobody says which belong together."""
    return cs.Sample.of(replace(sample.predictions, groups=None), sample.outcomes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("null", "known", "holds"),
    [(Multiplier(99), True, True), (Multiplier(99), False, False), (cs.Consistency(99), False, False)],
)
def test_size_for_clusters(null, known, holds):
    rng, found = np.random.default_rng(SEED), []
    for _ in range(300):
        sample = copies(200, rng)
        sample = sample if known else as_if_independent(sample)
        found.append(cs.calibration_test(sample, cs.ECE(), null=null, rng=rng).pvalue <= 0.05)
    assert (np.mean(found) <= 0.065 + share_error(0.065, 300)) == holds


@pytest.mark.slow
def test_intervals_cover_for_clusters():
    rng, covered = np.random.default_rng(SEED), 0
    for _ in range(200):
        found = cs.estimate(copies(200, rng), cs.ECE(), n_resamples=99, rng=rng)
        covered += found.confidence_interval.low == 0
    assert covered / 200 >= 0.93 - share_error(0.93, 200)


def unequal_copies(n_clusters, sizes, odds, rng):
    """Rare events: all rows of a cluster are alike; sizes are equal or of Pareto's law, odds off by a factor."""
    rows = np.full(n_clusters, 8) if sizes == "equal" else np.ceil(4 * (rng.pareto(2, n_clusters) + 1)).astype(int)
    codes, p = np.repeat(np.arange(n_clusters), rows), rng.beta(1, 9, n_clusters)
    chances = (odds * p / (1 - p + odds * p))[codes]
    y = (rng.random(n_clusters)[codes] < chances).astype(int)
    sample = cs.Sample(y, p[codes], groups=codes, labels=[0, 1])
    return sample, np.stack([1 - chances, chances], axis=1)


@cache
def clusters_rejected(n_clusters, sizes, runs=300):
    """How often a test rejects a calibrated model at 5 %: as it is, and by its signs alone."""
    rng, found = np.random.default_rng(SEED), []
    for _ in range(runs):
        sample, _ = unequal_copies(n_clusters, sizes, 1, rng)
        tested = cs.calibration_test(sample, Kuiper(), null=Multiplier(99), rng=rng)
        found.append([tested.pvalue, tested.null_distribution.multiplier.pvalue(tested.statistic)])
    return np.mean(np.array(found) <= 0.05, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", ["equal", "Pareto"])
@pytest.mark.parametrize("n_clusters", [12, 20, 60])
def test_size_for_clusters_of_rare_events(n_clusters, sizes):
    assert clusters_rejected(n_clusters, sizes)[0] <= 0.05 + share_error(0.05, 300)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", ["equal", "Pareto"])
def test_negative_control_signs_alone_miss_the_skewness_of_clusters(sizes):
    assert clusters_rejected(20, sizes)[1] > 0.05 + share_error(0.05, 300)


@pytest.mark.slow
@pytest.mark.parametrize("odds", [1, 2])
def test_intervals_cover_for_clusters_of_unequal_size(odds):
    """Of 200 samples, those with an interval: a few have one cluster that outweighs the others, and are refused."""
    rng, covered = np.random.default_rng(SEED), []
    for _ in range(200):
        sample, chances = unequal_copies(80, "Pareto", odds, rng)
        truth, ends = float(ECE.prepare(sample.predictions)(chances)), []
        try:
            for seen in (sample, as_if_independent(sample)):
                ends.append(interval_of(ECE, seen, 99, None, rng).interval(0.95))
        except NoInterval:
            continue
        covered.append([each.low - 1e-9 <= truth <= each.high for each in ends])
    (clusters, rows), runs = np.mean(covered, axis=0), len(covered)
    assert runs >= 180
    assert clusters >= 0.95 - share_error(0.95, runs)
    assert rows < 0.95 - share_error(0.95, runs)  # the negative control: rows as if they were independent


def two_models(kind, n, rng):
    """Two models of the same rows whose calibration errors are equal."""
    z, w = rng.normal(size=(2, n))
    chance = stats.norm.cdf(z + 0.7 * w)
    first, second = stats.norm.cdf(z / np.sqrt(1.49)), stats.norm.cdf(0.7 * w / np.sqrt(2))
    if kind == "equal and opposite":
        first, second = (1 / (1 + (1 - chance) / chance * np.exp(shift)) for shift in (0.4, -0.4))
    if kind == "itself and noise":
        first = 1 / (1 + (1 - chance) / chance * np.exp(0.4))
        second = np.clip(first + 1e-4 * rng.normal(size=n), 0, 1)
    y = (rng.random(n) < chance).astype(int)
    return tuple(cs.Sample(y, p, labels=[0, 1]) for p in (first, second))


KINDS = ["different sharpness", "equal and opposite", "itself and noise"]


@cache
def comparisons(kind, runs=250):
    rng = np.random.default_rng([SEED, len(kind)])
    l2 = cs.DebiasedL2(cs.EqualMass(15))
    return [comparison_test(*two_models(kind, 1000, rng), l2, n_resamples=99, rng=rng) for _ in range(runs)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_size_of_the_comparison(kind):
    assert np.mean([each.pvalue <= 0.05 for each in comparisons(kind)]) <= 0.05 + share_error(0.05, 250)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_size_of_the_difference_of_linear_gains(kind):
    found = [each.recalibration_difference.pvalue <= 0.05 for each in comparisons(kind)]
    assert np.mean(found) <= 0.065 + share_error(0.065, 250)


@pytest.mark.slow
def test_negative_control_brier_scores_differ_where_calibration_does_not():
    assert np.mean([each.score_difference.pvalue <= 0.05 for each in comparisons("different sharpness")]) > 0.9


@pytest.mark.slow
def test_sequential_stopping_is_exact():
    rng = np.random.default_rng(SEED)
    null = Sequential(199, 10)
    found = [
        cs.calibration_test(drawn("uniform", "none", 50, rng)[1], Kuiper(), null=null, rng=rng) for _ in range(800)
    ]
    for level in (0.05, 0.2):
        assert np.mean([each.pvalue <= level for each in found]) <= level + share_error(level, 800)
    assert np.mean([len(each.null_distribution.samples) for each in found]) < 80


@pytest.mark.slow
def test_equivalence_errs_at_most_as_often_as_its_level():
    rng = np.random.default_rng(SEED)
    wrong = 0
    for _ in range(200):
        p, sample = drawn("uniform", "slope", 500, rng)
        margin = truth(Kuiper(), p, "slope") * (1 - 1e-9)
        wrong += equivalence_test(sample, Kuiper(), margin, n_resamples=99, rng=rng).within
    assert wrong / 200 <= 0.07 + share_error(0.07, 200)
