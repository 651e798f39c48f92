"""Intervals: worked examples, agreement with the exact test, and refusals with reasons."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import calibstat as cs
from calibstat.estimators.combined import EachClass
from calibstat.estimators.walks import Kuiper
from calibstat.inference import differences as tv
from calibstat.inference.estimate import interval_of
from calibstat.inference.intervals import NoInterval, NormalInterval, UniformInterval
from suites import everything

TENTHS = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], TENTHS)
SEMINORMS = [
    cs.ECE(cs.EqualMass(10)),
    cs.RMSCE(cs.EqualMass(10)),
    cs.MaximumMiscalibration(cs.EqualMass(5)),
    cs.VECE("age"),
    Kuiper(),
]


def test_half_width_is_the_quantile_of_rank_level_times_resamples_plus_one():
    noise = np.arange(1.0, 100.0)  # 99 of them, in order
    assert UniformInterval(0.0, [noise], "").half_width(0.95) == 95
    assert UniformInterval(0.0, [noise, noise + 3], "").half_width(0.9) == 93
    assert UniformInterval(200.0, [noise], "").interval(0.95) == (105, 295)
    assert UniformInterval(20.0, [noise], "").interval(0.95) == (0, 115)


def test_too_few_resamples_for_the_level():
    with pytest.raises(NoInterval, match=r"18 resamples are too few for level 0\.95; take at least 19"):
        UniformInterval(0.0, [np.arange(18.0)], "").half_width(0.95)
    assert UniformInterval(0.0, [np.arange(19.0)], "").half_width(0.95) == 18


def test_pvalue_above_a_margin_agrees_with_the_bound():
    rng = np.random.default_rng(0)
    spread = UniformInterval(0.3, [rng.random(99), rng.random(99)], "")
    for margin in (0.2, 0.5, 1.1, 1.25, 1.4):
        for alpha in (0.01, 0.05, 0.1, 0.5):
            assert (spread.upper(1 - alpha) <= margin) == (spread.pvalue_above(margin) <= alpha + 1e-12)
    normal = NormalInterval(0.3, 0.1, "")
    assert normal.upper(0.95) == pytest.approx(0.3 + 0.1 * 1.6448536)
    assert normal.pvalue_above(normal.upper(0.95)) == pytest.approx(0.05)


def test_total_variance_of_ten_rows_worked_by_hand(monkeypatch):
    """theta = -0.0325; psi = 2 g r - g^2 - theta; the root of the mean of psi^2 / n is 0.05957."""
    monkeypatch.setattr(tv, "MINIMUM_ROWS", 2)
    found = tv.Expanded.of(cs.DebiasedL2(cs.EqualMass(5)), TEN)
    residual = np.array(TEN.outcomes) - TENTHS
    mean = np.repeat(residual.reshape(5, 2).mean(axis=1), 2)
    psi = 2 * mean * residual - mean**2 + 0.0325
    assert found.value == pytest.approx(-0.0325)
    error = np.sqrt(found.linear)
    assert error == pytest.approx(np.sqrt((psi**2).mean() / 10))
    assert error == pytest.approx(0.05957, abs=5e-6)
    assert NormalInterval(found.value, error, "", smallest=0.0).interval(0.95) == pytest.approx((0, 0.08426), abs=5e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_value_and_variances_agree_with_plain_loops(monkeypatch, n_classes, weighted):
    monkeypatch.setattr(tv, "MINIMUM_ROWS", 0)
    rng = np.random.default_rng(1)
    prob = rng.dirichlet(np.ones(n_classes), 30)
    w = rng.gamma(2, 1, 30) * (rng.random(30) < 0.9) if weighted else np.ones(30)
    labels = rng.integers(0, n_classes, 30)
    sample = cs.Sample(labels, prob, labels=range(n_classes), sample_weight=w if weighted else None)
    estimator = cs.DebiasedL2(cs.SimplexGrid(2))
    cells = tv.Expanded.of(estimator, sample)
    assert cells.value == pytest.approx(estimator(sample))
    r = (np.eye(n_classes)[labels] - prob)[:, -1:] if n_classes == 2 else np.eye(n_classes)[labels] - prob
    index, linear, pairs = cells.index, 0.0, 0.0
    for i in range(30):
        near = [j for j in range(30) if index[j] == index[i]]
        mass = sum(w[j] for j in near)
        mean = sum(w[j] * r[j] for j in near) / mass if mass else 0 * r[i]
        psi = 2 * mean @ r[i] - mean @ mean - cells.value
        linear += (w[i] / w.sum() * psi) ** 2
        both = mass**2 - sum(w[j] ** 2 for j in near)
        for j in near:
            if i != j:
                pairs += 2 * (w[i] * w[j] * mass / w.sum() / both * (r[i] - mean) @ (r[j] - mean)) ** 2
    assert cells.linear == pytest.approx(linear)
    assert cells.expansion.degenerate.variance == pytest.approx(pairs)


@pytest.mark.parametrize("estimator", SEMINORMS, ids=repr)
@pytest.mark.parametrize("power", [1.0, 1.1, 1.2])
def test_zero_is_excluded_only_if_the_exact_test_rejects(estimator, power):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        p = rng.random(150)
        sample = cs.Sample(rng.random(150) < p**power, p, variables={"age": rng.random(150)})
        found = cs.estimate(sample, estimator, n_resamples=99, rng=1)
        pvalue = cs.calibration_test(sample, estimator, null=cs.Consistency(99), rng=1).pvalue
        assert found.confidence_interval.low == 0 or pvalue <= 0.05
        assert found.confidence_interval.high - found.estimate > 0


@pytest.mark.parametrize("estimator", SEMINORMS, ids=repr)
def test_a_large_error_is_far_from_zero(estimator):
    rng = np.random.default_rng(0)
    p = rng.random(400)
    sample = cs.Sample(rng.random(400) < p**6, p, variables={"age": p})
    assert cs.estimate(sample, estimator, rng=0).confidence_interval.low > 0.05


def test_text_says_binned_only_of_cells(calibrated):
    assert "binned" in cs.estimate(calibrated, cs.ECE(), rng=0).interval_note
    assert "squared *binned*" in cs.estimate(calibrated, cs.DebiasedL2(), rng=0).interval_note
    assert "binned" not in cs.estimate(calibrated, Kuiper(), rng=0).interval_note


def test_mean_over_classes_has_an_interval_for_its_headline(miscalibrated):
    found = cs.estimate(miscalibrated, EachClass(cs.ECE(cs.EqualMass(5))), rng=0)
    assert 0 < found.confidence_interval.low < float(found.estimate) < found.confidence_interval.high


def test_level_and_rows_move_the_width(calibrated):
    levels = [0.5, 0.9, 0.99]
    widths = [np.diff(cs.estimate(calibrated, cs.ECE(), confidence_level=c, rng=0).confidence_interval) for c in levels]
    assert widths[0] < widths[1] < widths[2]


def test_clusters_are_drawn_whole():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(50), 20)
    p = rng.random(1000)
    chance = np.clip(p + np.repeat(rng.choice([-0.2, 0.2], 50), 20), 0, 1)
    happened = rng.random(1000) < chance
    alone, sample = (cs.Sample(happened, p, groups=groups) for groups in (None, pd.Series(group, name="patient")))
    few = cs.ECE(cs.EqualMass(2))
    rows = cs.estimate(alone, few, rng=0)
    clustered = cs.estimate(sample, few, rng=0)
    width, narrow = (found.confidence_interval.high - found.estimate for found in (clustered, rows))
    assert width > 1.3 * narrow
    assert "one sign for each value of 'patient'" in clustered.interval_note
    assert "labels redrawn as dependent within these" in clustered.interval_note
    squared = cs.estimate(sample, cs.DebiasedL2(), rng=0)
    assert squared.confidence_interval is None
    assert "no theory" in squared.interval_note
    with pytest.raises(ValueError, match="no interval is known to hold at every n where rows come in clusters"):
        cs.estimate(sample, few, interval="finite", rng=0)


@pytest.mark.parametrize(
    ("estimator", "reason"),
    [
        (cs.PDE(cs.EqualMass(5), p=2), "no interval is known to cover .* for p other than 1"),
        (cs.HistogramRegression(cs.EqualMass(5)), "gives several numbers, .*; calibration_band bounds a whole curve"),
        (cs.CORP(), r"no interval is known to cover for CORP\("),
        (cs.Spiegelhalter(), r"is a test statistic: it grows .*; ScoreExcess\(score='brier'\), the same excess"),
        (cs.Cox(), r"is a test statistic: .*; Cox\(statistic='slope'\) and .* have one"),
        (cs.ICI(cs.LogisticSpline(3)), r"whose curve is not linear in the outcomes as that of ICI\(\) is"),
    ],
    ids=["PDE", "HistogramRegression", "CORP", "Spiegelhalter", "Cox", "ICI"],
)
def test_no_interval_and_the_reason(calibrated, estimator, reason):
    found = cs.estimate(calibrated, estimator, n_resamples=99, rng=0)
    assert found.confidence_interval is None
    assert found.to_dict()["confidence_interval"] is None
    with pytest.raises(NoInterval, match=reason):
        raise NoInterval(found.interval_note)
    assert re.search(r"\ninterval +none: ", everything(found))


# Values that a seminorm of the noise moves at most as far


@pytest.fixture
def off(miscalibrated):
    return cs.TopLabel()(miscalibrated)


def test_the_area_under_the_validity_curve_has_the_interval_of_its_error_mirrored(off):
    area, error = (cs.estimate(off, each(cs.EqualMass(10)), rng=0) for each in (cs.AUCV, cs.ECE))
    assert area.estimate == pytest.approx(1 - error.estimate)
    mirrored = [1 - end for end in error.confidence_interval[::-1]]
    assert area.confidence_interval == pytest.approx(mirrored, abs=0.005)  # each has draws of its own
    assert "*binned* area, in these cells (an upper bound" in area.interval_note
    with pytest.raises(ValueError, match="is no error: zero does not mean that nothing is wrong"):
        cs.equivalence_test(off, cs.AUCV(cs.EqualMass(10)), 0.1, n_resamples=99, rng=0)


def test_an_area_of_one_is_excluded_only_where_the_exact_test_rejects():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        p = rng.random(150)
        sample = cs.Sample(rng.random(150) < p**1.3, p)
        low, high = cs.estimate(sample, cs.AUCV(cs.EqualMass(10)), n_resamples=99, rng=1).confidence_interval
        pvalue = cs.calibration_test(sample, cs.AUCV(cs.EqualMass(10)), null=cs.Consistency(99), rng=1).pvalue
        assert low < high <= 1
        assert high == 1 or pvalue <= 0.07  # the draws are not the same


def test_a_deviation_moves_as_far_as_the_error_of_its_cells(off):
    found, error = (cs.estimate(off, each(cs.EqualMass(10)), rng=0) for each in (cs.PDE, cs.ECE))
    reach = error.confidence_interval.high - error.estimate
    assert found.confidence_interval.high - found.estimate == pytest.approx(reach, abs=0.005)


@pytest.mark.parametrize("estimator", [cs.ICI(), cs.LOESS(n_points=50), cs.SmoothECE()], ids=repr)
def test_smoothed_errors_have_intervals(off, estimator):
    found = cs.estimate(off, estimator, n_resamples=199, rng=0)
    low, high = found.confidence_interval
    assert 0 < low < found.headline < high
    assert ("*smoothed* curve" in found.interval_note) == (estimator != cs.SmoothECE())


def test_the_interval_of_a_square_is_that_of_its_root():
    noise = np.arange(1.0, 100.0) / 100
    root, square = UniformInterval(0.5, [noise / 4], ""), UniformInterval(0.25, [(noise / 4) ** 2], "", power=2)
    low, high = root.interval(0.95)
    assert square.interval(0.95) == pytest.approx((low**2, high**2))
    for margin in (0.3, 0.55, 0.7):
        assert square.pvalue_above(margin**2) == root.pvalue_above(margin)


@pytest.mark.parametrize(
    "estimator",
    [cs.CramerVonMises(), cs.AndersonDarling(), cs.AverageTwoBin(), cs.PearsonCE(cs.EqualMass(5))],
    ids=repr,
)
def test_squares_of_seminorms_have_intervals(off, estimator):
    found = cs.estimate(off, estimator, n_resamples=99, rng=0)
    low, high = found.confidence_interval
    assert 0 < low < found.estimate < high
    assert "uniform for its root: half-width" in found.interval_note


def test_an_infinite_distance_has_no_interval():
    certain = cs.Sample([1] + [0] * 19, np.r_[0.0, np.zeros(9), np.full(10, 0.3)], labels=[0, 1])
    found = cs.estimate(certain, cs.PearsonCE(cs.EqualMass(2)), n_resamples=9, rng=0)
    assert found.confidence_interval is None
    assert found.interval_note.endswith("is inf on this sample")


def test_weights(calibrated):
    weights = np.where(calibrated.y_prob[:, 1] > 0.5, 3.0, 1.0)

    def found(estimator, weight):
        sample = cs.Sample(calibrated.y_true, calibrated.y_prob, sample_weight=weight, labels=["no", "yes"])
        return cs.estimate(sample, estimator, rng=0)

    assert found(cs.ECE(), weights).confidence_interval.high > 0
    plain, weighted = (found(cs.DebiasedL2(), each).confidence_interval for each in (None, weights))
    assert weighted.high > 0
    assert weighted.high != pytest.approx(plain.high)
    for common in (np.ones(400), np.full(400, 7.0)):
        assert found(cs.DebiasedL2(), common).confidence_interval == pytest.approx(plain)
    few = found(cs.DebiasedL2(), np.where(np.arange(400) % 40 == 0, 100.0, 0.01))
    assert few.confidence_interval.high > 4 * plain.high  # ten rows have nearly all the weight


def test_spread_takes_the_larger_quantile(calibrated):
    redraws = np.full(99, 0.5)
    found = interval_of(cs.ECE(), calibrated, 99, redraws, np.random.default_rng(0))
    assert found.half_width(0.95) == 0.5


# Bootstrap intervals, by name only


def test_bootstrap_is_refused_with_the_reason(calibrated):
    with pytest.raises(ValueError, match=r"does not cover.*allow_invalid=True"):
        cs.estimate(calibrated, cs.ECE(), interval=cs.Bootstrap(99), rng=0)


def test_an_interval_is_an_object(calibrated):
    with pytest.raises(TypeError, match="'finite', a Bootstrap or None"):
        cs.estimate(calibrated, cs.ECE(), interval="bca")


def test_percentile_and_basic_are_mirror_images(calibrated):
    percentile, basic = (
        cs.estimate(calibrated, cs.ECE(), interval=cs.Bootstrap(199, kind=kind, allow_invalid=True), rng=3)
        for kind in ("percentile", "basic")
    )
    value = percentile.estimate
    assert basic.confidence_interval == pytest.approx([2 * value - end for end in percentile.confidence_interval[::-1]])
    assert "known not to cover" in percentile.interval_note


def test_bca_agrees_with_scipy():
    from scipy import stats

    rng = np.random.default_rng(2)
    p = rng.random(80)
    y = (rng.random(80) < p**2).astype(int)
    sample = cs.Sample(y, p, labels=[0, 1])
    bootstrap = cs.Bootstrap(9999, kind="bca", allow_invalid=True)
    found = cs.estimate(sample, cs.RMSCE(cs.FixedEdges([0, 1])), interval=bootstrap, n_resamples=9, rng=0)
    naive = stats.bootstrap(
        (y - p,), lambda r, axis: abs(r.mean(axis=axis)), method="BCa", rng=np.random.default_rng(1)
    )
    np.testing.assert_allclose(found.confidence_interval, naive.confidence_interval, atol=0.004)
