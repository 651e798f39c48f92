"""The walk of residuals and what is made of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, kstwobign, norm

import calibstat as cs
from calibstat.estimators.large_sample import kolmogorov_smirnov_sf, kuiper_sf, log_bridge_sf, log_two_sided
from calibstat.estimators.panels import ACE, KS, MCE
from calibstat.estimators.walks import (
    AverageTwoBin,
    BrownianBridge,
    KolmogorovSmirnov,
    Kuiper,
    MeanAndBridge,
    WorstInterval,
)
from calibstat.generators import FinitePredictions
from strategies import samples
from suites import everything


def uniform_sample(n, seed, law=lambda p: p):
    rng = np.random.Generator(np.random.PCG64(seed))
    p = rng.random(n)
    return cs.Sample((rng.random(n) < law(p)).astype(int), p)


def test_the_origin_counts():
    """Ignoring it gives 0.6 instead of 0.9, less than the largest distance from it."""
    sample = cs.Sample([1, 1], [0.7, 0.4])
    assert Kuiper()(sample) == pytest.approx(0.45) == KolmogorovSmirnov()(sample)


def test_ties_are_read_at_their_end():
    """Inside the tie the walk reaches 1/4, in one order of its rows."""
    sample = cs.Sample([1, 0, 1, 0], [0.5, 0.5, 0.5, 0.5])
    assert Kuiper()(sample) == 0 == KolmogorovSmirnov()(sample)
    nearly = cs.Sample([1, 0, 1, 0], [0.5, 0.5 + 1e-14, 0.5 + 2e-14, 0.5 + 1e-6])
    assert Kuiper()(nearly) == pytest.approx(0.125, abs=1e-6)


@given(sample=samples((2,)))
def test_kuiper_is_the_range_of_the_worst_interval(sample):
    kuiper, ks, worst = Kuiper()(sample), KolmogorovSmirnov()(sample), WorstInterval()(sample)
    assert abs(worst.deviation) == pytest.approx(kuiper, abs=1e-14)
    assert ks - 1e-14 <= kuiper <= 2 * ks + 1e-14
    if kuiper > 1e-9:
        seen = sample.predictions
        weights = np.ones(len(sample)) if seen.weights is None else seen.weights
        inside = (seen.event >= worst.low - 1e-12) & (seen.event <= worst.high)
        residual = ((sample.outcomes - seen.event) * weights)[inside].sum() / weights.sum()
        assert residual == pytest.approx(worst.deviation, abs=1e-12)
        assert weights[inside].sum() / weights.sum() == pytest.approx(worst.share, abs=1e-12)


def test_a_population_is_the_truth_of_the_estimand():
    """Masses as weights, chances as outcomes: the cutoff calibration error of four atoms by hand."""
    model = FinitePredictions([0.1, 0.3, 0.6, 0.8], [0.3, 0.2, 0.5, 0.95], mass=[0.4, 0.3, 0.2, 0.1])
    steps = [0.4 * 0.2, 0.3 * -0.1, 0.2 * -0.1, 0.1 * 0.15]
    assert model.truth(Kuiper()).value == pytest.approx(0.08, abs=1e-15)
    assert model.truth(KolmogorovSmirnov()).value == pytest.approx(0.08, abs=1e-15)
    walk = np.cumsum([0, *steps])
    two_bins = np.dot(walk**2 + (walk[-1] - walk) ** 2, [0.1, 0.2, 0.3, 0.2, 0.2])
    assert model.truth(AverageTwoBin()).value == pytest.approx(two_bins, abs=1e-15)
    variance = np.array([0.09, 0.21, 0.24, 0.16]) * [0.4, 0.3, 0.2, 0.1]
    clock = np.append(0, np.cumsum(variance)) / variance.sum()
    expected = [walk[-1], np.abs(walk - clock * walk[-1]).max()]
    np.testing.assert_allclose(model.truth(BrownianBridge()).value, expected, atol=1e-15)
    assert Kuiper()(model.sample(200_000, rng=0)) == pytest.approx(0.08, abs=0.005)
    found = BrownianBridge()(model.sample(200_000, rng=0))
    assert [found.mean, found.bridge] == pytest.approx(expected, abs=0.005)


def test_weights_do_not_scale_the_population():
    model = FinitePredictions([0.1, 0.3, 0.6], [0.3, 0.2, 0.7], mass=[0.5, 0.3, 0.2])
    again = FinitePredictions([0.1, 0.3, 0.3, 0.6], [0.3, 0.25, 0.15, 0.7], mass=[0.5, 0.15, 0.15, 0.2])
    for estimator in (Kuiper(), KolmogorovSmirnov(), AverageTwoBin()):
        assert model.truth(estimator).value == pytest.approx(again.truth(estimator).value, abs=1e-15)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("estimator", "survival"), [(Kuiper(), kuiper_sf), (KolmogorovSmirnov(), kolmogorov_smirnov_sf)], ids=["R", "MAD"]
)
def test_large_samples_follow_brownian_motion(estimator, survival, weighted):
    rng = np.random.Generator(np.random.PCG64(11))
    n, p = 4000, rng.beta(2, 1, 4000)
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    evaluate = estimator.prepare(cs.Sample([0, 1] * (n // 2), p, sample_weight=weights).predictions)
    values = np.concatenate([evaluate((rng.random((100, n)) < p).astype(np.int8)) for _ in range(5)])
    cdf = lambda x: 1 - survival(x)
    assert kstest(values / evaluate.capabilities.scale, cdf).pvalue > 1e-3
    assert kstest(values / evaluate.capabilities.scale * 1.25, cdf).pvalue < 1e-6


def test_the_two_parts_of_the_bridge_are_independent_and_their_combination_is_chi_squared():
    rng = np.random.Generator(np.random.PCG64(12))
    n, p = 4000, rng.random(4000)
    evaluate = BrownianBridge().prepare(cs.Sample([0, 1] * (n // 2), p).predictions)
    mean, bridge, fisher = np.concatenate([evaluate((rng.random((100, n)) < p).astype(np.int8)) for _ in range(5)]).T
    assert abs(np.corrcoef(np.abs(mean), bridge)[0, 1]) < 0.15
    assert kstest(fisher, "chi2", args=(4,)).pvalue > 1e-3
    assert kstest(fisher * 1.3, "chi2", args=(4,)).pvalue < 1e-4


def test_survival_functions_meet_where_the_series_change():
    for survival in (kuiper_sf, kolmogorov_smirnov_sf):
        assert survival(2 - 1e-9) == pytest.approx(survival(2 + 1e-9), abs=1e-8)
        x = np.linspace(0.01, 12, 4000)
        assert (np.diff(survival(x)) <= 1e-15).all()
        assert survival(0.0) == 1
        assert 0 < survival(9.0) < 1e-16
        assert np.isnan(survival(np.nan))
        assert survival(x.reshape(2, -1)).shape == (2, 2000)


def test_tails_keep_their_digits():
    """The range beyond x is, far out, one excursion from either end: 8 normal tails; the height 4."""
    assert kuiper_sf(9.0) == pytest.approx(8 * norm.sf(9), rel=1e-9)
    assert kolmogorov_smirnov_sf(9.0) == pytest.approx(4 * norm.sf(9), rel=1e-9)
    np.testing.assert_allclose(log_bridge_sf(np.array([0.3, 0.9, 1.1, 2.0])), np.log(kstwobign.sf([0.3, 0.9, 1.1, 2])))
    assert log_bridge_sf(np.array([40.0]))[0] == pytest.approx(np.log(2) - 3200)
    assert log_two_sided(np.array([50.0]))[0] == pytest.approx(-1254.14, abs=0.01)


def test_certain_predictions_have_no_scale():
    right, wrong = cs.Sample([0, 1], [0.0, 1.0]), cs.Sample([1, 1], [0.0, 1.0], labels=[0, 1])
    assert cs.calibration_test(right, Kuiper(), null=cs.Consistency(9), rng=0).standardized is None
    assert BrownianBridge()(right).statistic == 0
    assert BrownianBridge()(wrong).statistic == np.inf
    assert BrownianBridge()(wrong).pvalue == 0


def test_a_variable_takes_the_place_of_the_prediction():
    """Overconfident above an age, underconfident below: nothing to see by the prediction alone."""
    age = np.repeat([20.0, 60.0], 50)
    y = np.concatenate([np.tile([1, 1, 1, 1, 0], 10), np.tile([0, 0, 0, 0, 1], 10)])
    sample = cs.Sample(y, np.full(100, 0.5), variables={"age": age})
    assert Kuiper()(sample) == 0
    worst = (cs.Given("age") | WorstInterval())(sample)
    assert (worst.low, worst.high, worst.share) in [(20.0, 20.0, 0.5), (60.0, 60.0, 0.5)]
    assert abs(worst.deviation) == pytest.approx(0.15)
    assert (cs.Given("age") | Kuiper())(sample) == pytest.approx(0.15)


@pytest.mark.parametrize("estimator", [Kuiper(), WorstInterval(), BrownianBridge(), AverageTwoBin(), MeanAndBridge()])
def test_what_cannot_be_ordered_is_refused(estimator):
    rows = {"age": [30.0, 40.0], "sex": ["f", "m"]}
    sample = cs.Sample([0, 1], [0.2, 0.7], variables=rows)
    with pytest.raises(ValueError, match=r"2 are conditioned on.*Given\('age'\)"):
        (cs.Given(..., "age") | estimator)(sample)
    with pytest.raises(ValueError, match=r"categorical with levels.*Categories"):
        (cs.Given("sex") | estimator)(sample)
    with pytest.raises(ValueError, match=r"needs 2 classes, got 3.*TopLabel"):
        estimator(cs.Sample([0, 1], [[0.2, 0.3, 0.5]] * 2, labels=[0, 1, 2]))


def test_power_where_it_is_claimed_and_not_where_it_is_not():
    shifted = uniform_sample(600, 1, lambda p: p**1.3)
    waves = uniform_sample(600, 2, lambda p: p + 0.8 * p * (1 - p) * np.sin(40 * np.pi * p))
    assert cs.calibration_test(shifted, Kuiper(), rng=0).pvalue < 0.01
    assert cs.calibration_test(waves, Kuiper(), rng=0).pvalue > 0.1


def test_aliases():
    assert KS() == KolmogorovSmirnov()
    assert ACE(7) == cs.ECE(cs.EqualMass(7))
    assert MCE(cs.EqualWidth(3)) == cs.MaximumMiscalibration(cs.EqualWidth(3))
    assert MCE() == cs.MaximumMiscalibration(cs.EqualMass(15))
    assert ACE() == cs.ECE()


@given(seed=st.integers(0, 100))
def test_bridge_of_weighted_rows_uses_squared_weights(seed):
    """Mean and walk are those of the weighted law; the clock and the scale are those of its noise."""
    rng = np.random.Generator(np.random.PCG64(seed))
    p, w, y = rng.random(12), rng.integers(1, 5, 12).astype(float), rng.integers(0, 2, 12)
    found = BrownianBridge()(cs.Sample(y, p, sample_weight=w, labels=[0, 1]))
    assert found.mean == pytest.approx(np.average(y - p, weights=w), abs=1e-14)
    z = (w * (y - p)).sum() / np.sqrt((w**2 * p * (1 - p)).sum())
    assert found.standardized_mean == pytest.approx(z, rel=1e-12)


def test_a_test_of_kuiper_reports_the_worst_interval_and_the_standardized_value():
    sample = cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])
    found = cs.calibration_test(sample, cs.Kuiper(), rng=0)
    assert (
        found.remark
        == "worst from 0.4 to 0.9 (75 % of the rows), where 0.3667 more happens than is predicted, on average"
    )
    assert f"where        {found.remark}" in everything(found)
    assert found.standardized == pytest.approx(0.275 * 4 / np.sqrt(0.09 + 0.24 + 0.24 + 0.09))
    assert f"(standardized {found.standardized:.4g})" in everything(found)
    assert cs.calibration_test(sample, cs.ECE(cs.FixedEdges([0, 1])), rng=0).remark == ""


@pytest.mark.parametrize(
    "estimator", [Kuiper(), KolmogorovSmirnov(), AverageTwoBin(), BrownianBridge(), MeanAndBridge()], ids=repr
)
def test_many_replicates_give_the_values_of_each(estimator):
    """More replicates than go through the cache at once; labels, and labels with weights that move."""
    rng = np.random.default_rng(4)
    scores = rng.random(3000).round(3)
    sample = cs.Sample(rng.random(3000) < scores, scores)
    evaluator = estimator.prepare(sample.predictions)
    labels, weights = rng.integers(0, 2, size=(60, 3000)), rng.random((60, 3000))
    for moved in (None, weights):
        together = evaluator(labels, moved)
        for row in (0, 42, 43, 59):
            alone = evaluator(labels[row], None if moved is None else moved[row])
            np.testing.assert_allclose(together[row], alone, rtol=1e-12)


def test_predictions_that_rounding_carried_out_of_bounds_are_certain_not_wrong():
    sample = cs.Sample([0, 1, 1, 0], [-1e-7, 1.0000001, 1.0, 0.0])
    assert float(cs.BrownianBridge()(sample)) == 0
    assert cs.calibration_test(sample, cs.BrownianBridge(), rng=0).pvalue == 1
    assert float(cs.BrownianBridge()(cs.Sample([1, 1, 1, 0], [-1e-7, 1.0000001, 1.0, 0.0]))) == np.inf
