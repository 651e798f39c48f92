"""The large-sample null: its laws against worked numbers, moments, enumeration, and what it refuses."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2, gamma, norm, pearson3

import calibstat as cs
from calibstat.estimators import _kernel_sums as cumulants
from calibstat.estimators._kernel_sums import third_cumulant
from calibstat.estimators.belt import belt_law, belt_survival
from calibstat.estimators.large_sample import (
    KOLMOGOROV_SMIRNOV_MEAN,
    KUIPER_MEAN,
    anderson_darling_sf,
    chi_square_law,
    cramer_von_mises_sf,
    kolmogorov_smirnov_sf,
    kuiper_sf,
    normal_law,
    pearson_law,
    saddlepoint_law,
    scaled_law,
    upper_point,
)
from calibstat.nulls.asymptotic import Asymptotic, LargeSampleNull
from calibstat.nulls.consistency import Consistency
from calibstat.nulls.multiplier import Multiplier
from suites import everything

TEN = cs.Sample(
    [0, 0, 1, 0, 1, 1, 0, 1, 1, 1],
    [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95],
)
SIX = cs.Sample(
    [0, 1, 0, 2, 0, 1],
    [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]],
)
SERVED = [
    cs.MeanCalibration(),
    cs.ScoreExcess("log"),
    cs.Spiegelhalter(),
    cs.BrierZ(),
    cs.LogLossZ(),
    cs.LogitScore(1),
    cs.CubicScore(),
    cs.VectorScalingScore(),
    cs.HosmerLemeshow(5),
    cs.PigeonHeyse(5),
    cs.Kuiper(),
    cs.KolmogorovSmirnov(),
    cs.BrownianBridge(),
    cs.CramerVonMises(),
    cs.AndersonDarling(),
    cs.StandardizedL2(cs.EqualMass(5)),
    cs.CalibrationBelt(),
    cs.CME(3),
    cs.SKCE(0.3),
    cs.SKCE(0.3, kind="block", block_size=3),
]


def pvalue(sample, estimator):
    return cs.calibration_test(sample, estimator, null=Asymptotic(), rng=0).pvalue


def law_of(sample, estimator):
    return estimator.prepare(sample.predictions).capabilities.large_sample(cs.as_generator(0))


# Numbers worked out from the papers' formulas


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (cs.Spiegelhalter(), 0.93182),  # Spiegelhalter 1986
        (cs.LogitScore(1), float(chi2.sf(0.59861, 2))),  # Cox 1958, score form
        (cs.PigeonHeyse(5), float(chi2.sf(3.24843, 5))),  # Pigeon & Heyse 1999, external rows
        (cs.Kuiper(), 0.887285),  # Arrieta-Ibarra et al. 2022, ECCE-R
        (cs.KolmogorovSmirnov(), 0.696833),  # the same, ECCE-MAD
        (cs.BrownianBridge(), 0.798570),  # Sadatsafavi & Petkau 2024
        (cs.StandardizedL2(cs.EqualMass(5)), float(norm.sf(-0.40793))),  # Lee et al. 2023
    ],
    ids=repr,
)
def test_ten_rows_have_the_pvalues_of_the_papers(estimator, expected):
    assert pvalue(TEN, estimator) == pytest.approx(expected, abs=6e-6)


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [(cs.BrierZ(), 0.7035), (cs.VectorScalingScore(), 0.431)],
    ids=repr,
)
def test_six_rows_of_three_classes_have_the_pvalues_of_the_papers(estimator, expected):
    assert pvalue(SIX, estimator) == pytest.approx(expected, abs=6e-4)


# The laws themselves


@pytest.mark.parametrize("estimator", SERVED, ids=repr)
def test_quantiles_invert_the_survival_function(estimator):
    law = law_of(TEN, estimator)
    two_sided = "two-sided" in law.name
    for q in (0.7, 0.95, 0.999):
        assert law.survival(law.quantile(q)) == pytest.approx((1 - q) * (2 if two_sided else 1), rel=1e-6)


# Quantiles of these are had by bisection of series; their means are integrals, which other tests take.
IN_SERIES = (
    cs.CalibrationBelt(),
    cs.Kuiper(),
    cs.KolmogorovSmirnov(),
    cs.CramerVonMises(),
    cs.AndersonDarling(),
)
IN_CLOSED_FORM = [each for each in SERVED if each not in IN_SERIES]


@pytest.mark.parametrize("estimator", IN_CLOSED_FORM, ids=repr)
def test_the_mean_is_that_of_the_quantiles(estimator):
    law = law_of(TEN, estimator)
    levels = (np.arange(2000) + 0.5) / 2000
    quantiles = np.array([law.quantile(q) for q in levels])
    assert quantiles.mean() == pytest.approx(law.mean, rel=2e-3, abs=2e-3 * quantiles.std())


def test_brownian_means_are_integrals_of_the_survival_functions():
    x = (np.arange(100_000) + 0.5) / 10_000
    assert kuiper_sf(x).sum() / 10_000 == pytest.approx(KUIPER_MEAN, rel=1e-6)
    assert kolmogorov_smirnov_sf(x).sum() / 10_000 == pytest.approx(KOLMOGOROV_SMIRNOV_MEAN, rel=1e-6)


@pytest.mark.parametrize("skewness", [-1.5, -0.2, 1e-6, 0.3, 2.5])
def test_the_pearson_law_is_that_of_scipy(skewness):
    law, reference = pearson_law(4.0, 8.0 * skewness), pearson3(skewness, scale=2.0)
    for value in (-3.0, -0.5, 0.0, 1.0, 7.0):
        assert law.survival(value) == pytest.approx(reference.sf(value), rel=1e-4, abs=1e-6)
    assert law.quantile(0.95) == pytest.approx(reference.ppf(0.95), rel=1e-5)


def test_the_belt_law_mixes_the_degrees_as_forward_selection_does():
    chances = [0.95, 0.05 * 0.95, 0.05**2 * 0.95, 0.05**3]
    expected = sum(chance * belt_survival(7.0, degree) for degree, chance in enumerate(chances, 1))
    assert belt_law(4).survival(7.0) == pytest.approx(expected, rel=1e-12)
    assert belt_law(4).survival(0.0) == pytest.approx(1.0)
    integral = sum(belt_law(4).survival(value) for value in np.arange(0.25, 40, 0.5)) * 0.5
    assert integral == pytest.approx(belt_law(4).mean, rel=5e-3)


def test_upper_point_finds_far_tails():
    assert upper_point(lambda x: float(np.exp(-x)), 1e-200) == pytest.approx(200 * np.log(10), rel=1e-10)


# The exact third cumulant of SKCE


def enumerated(sample, estimator):
    """Moments of an estimator over all labels, given the predictions: mean, variance, third central moment."""
    chances = sample.predictions.chances
    labels = np.array(list(product(range(chances.shape[1]), repeat=len(chances))))
    masses = chances[np.arange(len(chances)), labels].prod(axis=1)
    values = estimator.prepare(sample.predictions)(labels)
    mean = masses @ values
    return mean, masses @ (values - mean) ** 2, masses @ (values - mean) ** 3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["unbiased", "block"])
@pytest.mark.parametrize("kernel", [cs.LaplaceKernel(), cs.GaussianKernel()], ids=repr)
@pytest.mark.parametrize(("n_classes", "n"), [(2, 7), (3, 5), (4, 4)])
def test_skce_law_has_the_enumerated_moments(n_classes, n, kernel, kind, weighted):
    rng = np.random.default_rng(n_classes)
    rows = rng.dirichlet(np.ones(n_classes), n)
    weights = rng.random(n) + 0.5 if weighted else None
    sample = cs.Sample(np.arange(n) % n_classes, rows, sample_weight=weights, labels=list(range(n_classes)))
    estimator = cs.SKCE(0.4, kind, kernel, block_size=3)
    _, variance, third = enumerated(sample, estimator)
    evaluator = estimator.prepare(sample.predictions)
    masses = evaluator._masses(None)
    found, error = third_cumulant(evaluator.predictions.chances, masses[0], evaluator.sums, rng)
    assert evaluator.capabilities.scale**2 == pytest.approx(variance, rel=1e-9)
    assert found / evaluator._pairs(masses)[0] ** 3 == pytest.approx(third, rel=1e-9)
    assert error == 0


def test_random_probes_come_near_the_exact_trace(monkeypatch):
    rng = np.random.default_rng(1)
    sample = cs.Sample(rng.integers(0, 3, 200), rng.dirichlet([1, 1, 1], 200), labels=[0, 1, 2])
    exact = law_of(sample, cs.SKCE(0.3))
    monkeypatch.setattr(cumulants, "_MOST_ROWS_OF_H", 0)
    probed = law_of(sample, cs.SKCE(0.3))
    for q in (0.5, 0.95, 0.999):
        assert probed.quantile(q) == pytest.approx(exact.quantile(q), rel=0.05)
    assert probed.quantile(0.95) != exact.quantile(0.95)
    assert exact.moved is None
    near = [probed.moved(z).quantile(0.999) for z in (-3, 3)]
    assert near[0] < exact.quantile(0.999) < near[1]


def sharp_sample(n, n_classes=10):
    """Predictions that are all but certain, as those of networks: the sums over few pairs have heavy tails."""
    rng = np.random.default_rng(2)
    rows = rng.dirichlet(np.full(n_classes, 0.02), n)
    return cs.Sample((rng.random((n, 1)) > np.cumsum(rows, axis=1)[:, :-1]).sum(axis=1), rows, labels=range(n_classes))


def test_an_error_of_random_probes_is_stated():
    sample = sharp_sample(400)
    first, again, other = (cs.calibration_test(sample, cs.SKCE(0.5), null=Asymptotic(), rng=seed) for seed in (1, 1, 2))
    assert first.pvalue == again.pvalue != other.pvalue
    low, high = first.pvalue_interval
    assert low < first.pvalue < high
    assert low < other.pvalue < high
    assert "Monte Carlo 99 % interval" in everything(first)
    assert "random probes" in everything(first)
    assert "no Monte Carlo error" not in everything(first)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_blocks_need_no_random_numbers(size):
    sample, estimator = sharp_sample(2000), cs.SKCE(0.5, "block", block_size=size)
    found = [cs.calibration_test(sample, estimator, null=Asymptotic(), rng=seed) for seed in (0, 1)]
    assert found[0].pvalue == found[1].pvalue
    assert "no Monte Carlo error" in everything(found[0])


@pytest.mark.parametrize("size", [2, 5])
def test_the_tail_of_blocks_is_that_of_redrawn_labels(size):
    sample, estimator = sharp_sample(800), cs.SKCE(0.5, "block", block_size=size)
    law = law_of(sample, estimator)
    drawn = cs.Consistency(1999).draw(estimator, sample, np.random.default_rng(3)).samples
    for share in (0.1, 0.01, 0.002):
        error = np.sqrt(share * (1 - share) / 1999)
        assert law.survival(np.quantile(drawn, 1 - share)) == pytest.approx(share, abs=4 * error)
    if size == 2:  # two moments would not do
        assert norm.sf(np.quantile(drawn, 0.998) / drawn.std()) < 0.002 / 3


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_classes", "n"), [(2, 8), (3, 6), (4, 4)])
def test_pairs_of_rows_have_the_enumerated_law(n_classes, n, weighted):
    rng = np.random.default_rng(n_classes)
    rows = rng.dirichlet(np.full(n_classes, 0.5), n)
    weights = rng.random(n) + 0.5 if weighted else None
    sample = cs.Sample(np.arange(n) % n_classes, rows, sample_weight=weights, labels=list(range(n_classes)))
    estimator = cs.SKCE(0.4, "block")
    labels = np.array(list(product(range(n_classes), repeat=n)))
    chances = sample.predictions.chances[np.arange(n), labels].prod(axis=1)
    evaluator = estimator.prepare(sample.predictions)
    values = evaluator(labels)
    masses = evaluator._masses(None)
    (pairs,) = evaluator.sums.pairs_of_labels(evaluator.predictions.chances, masses[0])
    unit = evaluator._pairs(masses)[0] / 2
    assert pairs.third() / unit**3 == pytest.approx(chances @ values**3, rel=1e-9)
    for t in (-2.0, 0.0, 1.5):
        tilted = chances * np.exp(t * values)
        mean = tilted @ values / tilted.sum()
        spread = tilted @ (values - mean) ** 2 / tilted.sum()
        found = pairs.cumulants(t / unit)
        assert found == pytest.approx((np.log(tilted.sum()), mean * unit, spread * unit**2), rel=1e-9, abs=1e-12)


def test_the_saddlepoint_law_of_a_gamma_variable():
    """K(t) = -k log(1 - t) - k t: Barndorff-Nielsen's formula is nearly exact for gamma variables."""
    law = saddlepoint_law(
        "gamma", lambda t: (-4 * np.log1p(-t) - 4 * t, 4 / (1 - t) - 4, 4 / (1 - t) ** 2), (-50, 0.999)
    )
    for x in (-2, -0.5, -1e-3, 0, 1e-3, 1.5, 5, 20, 40):
        assert law.survival(x) == pytest.approx(gamma.sf(x + 4, 4), rel=1e-2)
    for q in (0.01, 0.3, 0.5, 0.9, 0.999):
        assert law.quantile(q) == pytest.approx(gamma.ppf(q, 4) - 4, abs=0.01)


# What it says and refuses


def test_words_say_that_it_is_an_approximation():
    result = cs.calibration_test(TEN, cs.Kuiper(), null=Asymptotic())
    assert "large-sample approximation" in result.hypothesis
    assert "large-sample law: range of a Brownian motion" in everything(result)
    assert result.pvalue_interval == (result.pvalue, result.pvalue)
    assert result.null_mean == pytest.approx(KUIPER_MEAN * cs.Kuiper().prepare(TEN.predictions).capabilities.scale)


def test_tiny_pvalues_are_printed():
    rng = np.random.default_rng(0)
    scores = rng.random(20_000)
    sample = cs.Sample(rng.random(20_000) < scores**1.2, scores)
    result = cs.calibration_test(sample, cs.MeanCalibration(), null=Asymptotic())
    assert 0 < result.pvalue < 1e-20
    assert f"p = {result.pvalue:.3g}" in everything(result)
    worst = cs.calibration_test(cs.Sample([0, 1], [1.0, 0.0]), cs.CubicScore(), null=Asymptotic())
    assert worst.pvalue == 0
    assert "p < 1e-300" in everything(worst)


@pytest.mark.parametrize(
    "estimator",
    [
        cs.ECE(cs.EqualMass(5)),
        cs.SKCE(0.3, "biased"),
        cs.SKCE([0.3, 0.1]),
        cs.AverageTwoBin(),
        cs.MultiscaleL2(),
    ],
    ids=repr,
)
def test_statistics_without_a_law_are_refused(estimator):
    with pytest.raises(ValueError, match=r"no large-sample law here.*Consistency\(\)"):
        pvalue(TEN, estimator)


@pytest.mark.parametrize("estimator", [each for each in SERVED if each != cs.CalibrationBelt()], ids=repr)
def test_certain_predictions_that_came_true_are_no_evidence(estimator):
    certain = cs.Sample([0, 1, 1, 0, 0, 1], [0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    assert pvalue(certain, estimator) == 1


@pytest.mark.parametrize("null", [Asymptotic(), Consistency(199)], ids=repr)
@pytest.mark.parametrize(
    "estimator",
    [cs.MeanCalibration(), cs.Spiegelhalter(), cs.LogLossZ(), cs.LogitScore(1), cs.CubicScore(), cs.BrownianBridge()],
    ids=repr,
)
def test_certain_predictions_that_failed_reject(estimator, null):
    certain = cs.Sample([0, 1, 1, 1, 1, 1], [1.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    assert cs.calibration_test(certain, estimator, null=null, rng=0).pvalue <= 1 / 200


@pytest.mark.parametrize("null", [Asymptotic(), Consistency(199), Multiplier(199)], ids=repr)
def test_an_impossible_class_rejects_through_the_vector_scaling_score(null):
    rng = np.random.default_rng(0)
    rows = rng.dirichlet([1, 1, 1], 60)
    labels = (np.cumsum(rows, axis=1) < rng.random((60, 1))).sum(axis=1)
    rows[0] = [0, 0.5, 0.5]
    for label, rejects in ((0, True), (1, False)):
        sample = cs.Sample(np.append(label, labels[1:]), rows, labels=[0, 1, 2])
        result = cs.calibration_test(sample, cs.VectorScalingScore(), null=null, rng=0)
        assert (result.pvalue <= 1 / 200) == rejects
        assert np.isinf(result.statistic) == rejects


def test_impossible_rows_without_weight_do_not_count():
    sample = cs.Sample([1, 0, 1, 1, 0], [0.0, 0.3, 0.6, 0.8, 0.5], sample_weight=[0, 1, 1, 1, 1])
    assert np.isfinite(cs.CubicScore()(sample))
    assert np.isinf(cs.CubicScore()(cs.Sample([1, 0, 1, 1, 0], [0.0, 0.3, 0.6, 0.8, 0.5])))


def test_nothing_is_drawn():
    for estimator in (cs.Kuiper(), cs.SKCE()):
        assert len({pvalue(TEN, estimator) for _ in range(3)}) == 1


def test_plain_laws_at_known_points():
    assert normal_law(2.0, two_sided=True).survival(-3.919928) == pytest.approx(0.05, abs=1e-6)
    assert chi_square_law(4).survival(9.487729) == pytest.approx(0.05, abs=1e-6)
    exponential = scaled_law("exponential", lambda x: float(np.exp(-x)), 1.0, 3.0)
    assert exponential.quantile(0.5) == pytest.approx(2.079442, abs=1e-6)
    assert exponential.survival(3.0) == pytest.approx(np.exp(-1))
    assert pearson_law(1.0, 0.0).survival(1.644854) == pytest.approx(0.05, abs=1e-6)
    assert belt_survival(5.991465, 1) == pytest.approx(0.05, abs=1e-6)
    assert belt_law(1).survival(5.991465) == pytest.approx(0.05, abs=1e-6)
    assert kuiper_sf(1.5) == pytest.approx(0.512941, abs=1e-6)
    assert kolmogorov_smirnov_sf(1.0) == pytest.approx(0.629223, abs=1e-6)
    assert cramer_von_mises_sf(1.0) == pytest.approx(0.136102, abs=1e-6)
    assert anderson_darling_sf(2.0) == pytest.approx(0.365112, abs=1e-6)


def test_plain_laws_at_their_ends():
    assert normal_law(0.0, two_sided=True).survival(0.0) == 1
    assert normal_law(0.0, two_sided=True).survival(-0.2) == 0
    assert chi_square_law(0).survival(0.0) == 1
    assert chi_square_law(0).survival(0.1) == 0
    assert chi_square_law(0).quantile(0.9) == 0
    assert scaled_law("unit", lambda x: float(np.exp(-x)), 1.0, 0.0).survival(0.5) == 0
    assert LargeSampleNull(normal_law(2.0, two_sided=True)).pvalue(np.inf) == 0


@pytest.mark.parametrize(("kind", "a", "b", "n"), [("unbiased", 0.05, 20, 500), ("block", 0.1, 20, 2000)])
def test_laws_that_are_far_too_skewed_are_refused(kind, a, b, n):
    """Their tails rejected 88 and 100 % of calibrated models of rare events."""
    rng = np.random.default_rng(1)
    p = rng.beta(a, b, n)
    sample = cs.Sample((rng.random(n) < p).astype(int), p, labels=[0, 1])
    with pytest.raises(ValueError, match=r"the statistic has skewness \d+.* no large-sample law follows it"):
        cs.calibration_test(sample, cs.SKCE(kind=kind), null=cs.Asymptotic(), rng=0)


def test_the_saddlepoint_is_straight_next_to_the_mean():
    """At some scales rounding asked for the straight part again and again."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = rng.beta(2, 20, 300)
        y = (rng.random(300) < p).astype(int)
        found = cs.calibration_test(cs.Sample(y, p, labels=[0, 1]), cs.SKCE(kind="block"), null=cs.Asymptotic(), rng=0)
        assert 0 < found.pvalue < 1
