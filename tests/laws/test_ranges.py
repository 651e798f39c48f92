"""Values, truths and the ends of intervals lie in the range that an estimator declares, and the range is no wider."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.generators import FinitePredictions
from registered.entries import LABELS
from registered.worlds import WORLDS
from registry import ESTIMATORS, every, make_sample
from suites import slow_but

pytestmark = pytest.mark.filterwarnings("ignore")
TESTED = [entry for entry in ESTIMATORS if entry.headline]
FINITE = [each for each in WORLDS if isinstance(each[0], FinitePredictions)]

# Estimators whose range has an infinite end, and why.
ENDLESS = {
    **dict.fromkeys((cs.StandardizedL2, cs.MultiscaleL2), "in standard deviations"),
    **dict.fromkeys((cs.Kuiper, cs.KolmogorovSmirnov), "in standard deviations, if standardized"),
    **dict.fromkeys((cs.Spiegelhalter, cs.BrierZ, cs.LogLossZ), "in standard deviations"),
    **dict.fromkeys((cs.HosmerLemeshow, cs.PigeonHeyse, cs.CME), "in units of a covariance"),
    **dict.fromkeys((cs.LogitScore, cs.VectorScalingScore), "in units of a covariance"),
    **dict.fromkeys((cs.CalibrationBelt, cs.Cox), "a likelihood ratio, a score statistic or a slope"),
    cs.BrownianBridge: "made of logarithms of p-values",
    cs.PearsonCE: "divided by predictions, which may be zero",
    cs.ObservedToExpected: "divided by predictions, which may be zero",
    cs.AndersonDarling: "the stretches of the clock have no bound where variances vanish",
    cs.SKCE: "with several bandwidths, in standard deviations",
    cs.ProbabilisticCount: "as many cells as there are rows",
    cs.Generic: "nothing is known of a function",
}
# Estimators that do not come near the upper end on these samples, and why.
LOOSE = {
    cs.AverageTwoBin: "the edge is nearly always between rows",
    cs.CramerVonMises: "the clock must stand still while the walk rises",
    cs.SKCE: "rows that differ in a variable count less as pairs",
    cs.UCME: "few rows are near a location of the user",
    cs.EachClass: "two classes are wrong at the most",
    cs.Within: "a lens inside leaves two of the classes that the range is for",
    cs.KendallTau: "two labels tie with half of the others, which tau_a counts as one half",
    cs.AUC: "the labels of top labels are not in their order",
}


def samples(n_classes, weighted):
    """Certain, wrong and critical predictions; outcomes are chosen by `extreme_labels`."""
    n, corners = 16, np.eye(n_classes)
    critical = np.full(n_classes, 0.5 / n_classes)
    critical[0] = (n_classes + 1) / (2 * n_classes)  # where a Brier score is furthest below what is expected
    heavy = np.where(np.arange(n) < n - 2, 1.0, 50.0)
    for first, weights in ((corners[0], None), (corners[np.arange(n) % n_classes], heavy), (critical, None)):
        rows = np.broadcast_to(first, (n, n_classes)).copy()
        rows[-1] = 1 / n_classes
        yield cs.Sample(
            [LABELS[0]] * n,
            rows,
            labels=LABELS[:n_classes],
            variables={"age": np.arange(n) % 8.0, "sex": np.array(["f", "m"])[np.arange(n) % 2]},
            sample_weight=weights if weighted else None,
        )


def extreme_labels(sample):
    rows = sample.predictions.probabilities
    low, high, early = rows.argmin(axis=1), rows.argmax(axis=1), np.arange(len(rows)) < len(rows) / 2
    return np.array([low, high, np.where(early, low, high), np.where(early, high, low), early.astype(int)])


def extremes(entry, n_classes):
    """The declared range, and the smallest and largest value that the samples give."""
    found, core = [], entry.thing.core
    for sample in samples(n_classes, entry.weighted):
        view = entry.thing.lens.look(sample.predictions)
        values = core.prepare(view.predictions)(view.outcomes(extreme_labels(sample)))
        found.append(np.ravel(core.headline(np.asarray(values, dtype=float))))
    return (
        core.value_range(view.predictions.n_classes),
        np.nanmin(np.concatenate(found)),
        np.nanmax(np.concatenate(found)),
    )


@every(TESTED)
def test_values_lie_in_the_declared_range_and_reach_its_end(entry):
    (low, high), least, most = extremes(entry, entry.classes[-1])
    fits = (
        isinstance(entry.thing.core, (cs.ICI, cs.LOESS)) or "Jackknifed" in entry.name
    )  # a correction, or a parabola, goes beyond
    fits |= isinstance(entry.thing.core, cs.Cox) and not entry.thing.core.is_error  # certain predictions have none
    assert fits or most <= high * (1 + 1e-9)
    assert entry.signed or least >= low - 1e-12
    inside = {type(each) for each in (entry.thing.core, *entry.thing.core.members)}
    assert np.isfinite(high) or inside & ENDLESS.keys()
    assert np.isinf(high) or most >= 0.75 * high - 0.05 or type(entry.thing.core) in LOOSE


@pytest.mark.parametrize("kind", sorted({type(e.thing.core) for e in TESTED}, key=lambda each: each.__name__))
def test_an_estimator_without_a_range_has_a_reason(kind):
    endless = [e for e in TESTED if type(e.thing.core) is kind and not np.isfinite(e.thing.value_range(2)[1])]
    assert bool(endless) == (kind in ENDLESS)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("score", ["brier", "log"])
def test_the_excess_of_a_score_has_the_extremes_of_one_row(score, n_classes):
    """Held against a search over what a row says of its label, the others being equal."""
    a = np.linspace(1e-4, 1 - 1e-4, 5001)
    rows = np.column_stack([a, *[(1 - a) / (n_classes - 1)] * (n_classes - 1)])
    excess = cs.ScoreExcess(score)
    found = [excess(cs.Sample([0], [row], labels=range(n_classes))) for row in rows[::25]]
    low, high = excess.value_range(n_classes)
    assert low <= min(found) <= low + 1e-3
    certain = np.eye(n_classes)[:1]
    assert high - 1e-6 <= excess(cs.Sample([1], certain, labels=range(n_classes))) <= high + 1e-12


def wrong(n_classes, n=40):
    """Nearly certain predictions that are wrong but twice."""
    rng = np.random.default_rng(5)
    rows = np.full((n, n_classes), 0.02 / (n_classes - 1)) + 0.002 * rng.random((n, n_classes))
    rows[:, 0] += 0.98
    base = make_sample(n_classes, seed=3, n=n)
    return cs.Sample(
        np.array(LABELS)[np.r_[0, 1, np.full(n - 2, n_classes - 1)]],
        rows / rows.sum(axis=1, keepdims=True),
        variables={"age": base.predictions.variables["age"].values, "sex": np.array(["f", "m"])[rng.integers(0, 2, n)]},
        labels=LABELS[:n_classes],
    )


@every([entry for entry in TESTED if entry.thing.noise_form is not None or entry.thing.residual_form == "pairs"])
def test_an_interval_ends_where_values_end(entry):
    sample = wrong(entry.classes[0])
    found = cs.estimate(sample, entry.thing, n_resamples=39, rng=0).confidence_interval
    if found is not None:
        low, high = entry.thing.value_range(entry.thing.lens(sample).predictions.n_classes)
        assert low <= found.low <= found.high <= high
        assert np.isfinite(high) or type(entry.thing.core) in ENDLESS


@pytest.mark.parametrize(
    "estimator",
    [
        cs.ECE(cs.EqualMass(5)),
        cs.TopLabel() | cs.RMSCE(cs.EqualMass(5)),
        cs.AUC(),
        cs.SphericalScore(),
        cs.SKCE(0.2),
        cs.DebiasedL2(cs.EqualMass(5)),
    ],
    ids=repr,
)
def test_a_mirrored_bootstrap_interval_ends_where_values_end(estimator):
    rng = np.random.default_rng(4)
    p = np.clip(rng.beta(0.3, 0.3, 30), 0.001, 0.999)
    basic = cs.Bootstrap(99, kind="basic", allow_invalid=True)
    for labels in (p > 0.5, p < 0.5):
        sample = cs.Sample(labels.astype(int), p, labels=[0, 1])
        low, high = cs.estimate(sample, estimator, interval=basic, n_resamples=19, rng=0).confidence_interval
        least, most = estimator.value_range(2)
        assert least <= low <= high <= most


def test_intervals_of_groups_variables_and_differences_end_where_values_end():
    sample = wrong(2, n=120)
    group = cs.subgroup_audit(sample, by=["sex"], estimator=cs.ECE(cs.EqualMass(2)), n_resamples=99, rng=0).groups[0]
    assert group.confidence_interval[1] == 1
    scan = cs.scan_variables(sample, min_expected=1, n_resamples=99, rng=0)
    assert max(each.confidence_interval[1] for each in scan.variables) == 1
    y, p = [0, 1] * 6, np.tile([0.02, 0.98, 0.3, 0.7], 3)
    found = cs.comparison_test(cs.Sample(y, 1 - p), cs.Sample(y, p), cs.AUC(), confidence_level=1 - 1e-9)
    assert found.confidence_interval[0] == -1


def check_truths(entry, worlds):
    """Hold what the core of an entry estimates against its range, through each lens of a world that knows the truth."""
    core = entry.thing.core
    for world, lenses, _ in worlds:
        for lens in lenses:
            n_classes = lens.look(world.rows(2, np.random.default_rng(0)).predictions).predictions.n_classes
            try:
                value = np.asarray(world.truth(lens | core).value)
            except (ValueError, TypeError):
                continue
            low, high = core.estimand.value_range(n_classes)
            single = core.estimand.headline(value) if value.ndim else value
            assert low - 1e-9 <= single <= high * (1 + 1e-9) + 1e-9, (world, lens)


@every(TESTED)
def test_truths_lie_in_the_range_of_what_is_estimated(entry):
    """In one world of few rows by default."""
    check_truths(entry, [FINITE[TESTED.index(entry) % len(FINITE)]])


# Without sums over the pairs of nodes of a quadrature, which take minutes.
QUADRATURE = [entry for entry in TESTED if entry.core not in (cs.SKCE, cs.KCE)]
PARTS = 4


@pytest.mark.parametrize("part", slow_but([], range(PARTS), one_in=PARTS))
@every(QUADRATURE)
def test_truths_lie_in_the_range_in_every_world(entry, part):
    """Each estimator in a quarter of the worlds, and each world for a quarter of the estimators, in the slow suite."""
    check_truths(entry, WORLDS[(QUADRATURE.index(entry) + part) % PARTS :: PARTS])
