"""Squared walks: worked values, ties, laws in large samples, sizes, and what they see."""

from __future__ import annotations

from fractions import Fraction
from math import log, pi, sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import binom, erfc
from scipy.stats import kstest

import calibstat as cs
from calibstat.estimators.large_sample import anderson_darling_sf, cramer_von_mises_sf, quadratic_rule, survival_of
from calibstat.estimators.walks import AndersonDarling, CramerVonMises
from calibstat.generators import FinitePredictions
from published.enumeration import law_of_labels
from validity.sizes import LEVEL, assert_not_above, assert_not_below
from validity.worlds import two_classes

TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)
BOTH = [CramerVonMises(), AndersonDarling()]
LAWS = [(CramerVonMises(), cramer_von_mises_sf), (AndersonDarling(), anderson_darling_sf)]
both = pytest.mark.parametrize("estimator", BOTH, ids=repr)


def walk_of_ten() -> tuple[list[Fraction], list[Fraction], Fraction]:
    """Walk and clock of ten rows in fractions, and the sum of variances."""
    p = [Fraction(2 * i + 1, 20) for i in range(10)]
    v = [each * (1 - each) for each in p]
    gaps = [int(y) - each for y, each in zip(TEN.outcomes, p, strict=True)]
    return (
        [sum(gaps[:k], Fraction(0)) / 10 for k in range(11)],
        [sum(v[:k], Fraction(0)) / sum(v) for k in range(11)],
        sum(v, Fraction(0)),
    )


def test_cramer_von_mises_of_ten_rows_by_hand():
    walk, clock, total = walk_of_ten()
    area = sum((walk[k] ** 2 + walk[k + 1] ** 2) / 2 * (clock[k + 1] - clock[k]) for k in range(10))
    assert total == Fraction(67, 40)
    assert CramerVonMises()(TEN) == pytest.approx(float(area), rel=1e-13)
    result = cs.calibration_test(TEN, CramerVonMises(), null=cs.Asymptotic())
    assert result.standardized == pytest.approx(float(area / total * 100), rel=1e-12)
    assert [result.standardized, result.pvalue] == pytest.approx([0.294513, 0.495305], abs=1e-6)


def test_anderson_darling_of_ten_rows_by_hand():
    walk, clock, total = walk_of_ten()
    middles = [float(clock[k] + clock[k + 1]) / 2 for k in range(10)]
    odds = [log(each / (1 - each)) for each in middles]
    around = [float(walk[k] - clock[k] * walk[10]) for k in range(11)]
    value = 0.1**2 + sum(around[k] ** 2 * (odds[k] - odds[k - 1]) for k in range(1, 10))
    assert AndersonDarling()(TEN) == pytest.approx(value, rel=1e-12)
    result = cs.calibration_test(TEN, AndersonDarling(), null=cs.Asymptotic())
    assert result.standardized == pytest.approx(value / float(total) * 100, rel=1e-12)
    assert [result.standardized, result.pvalue] == pytest.approx([0.880586, 0.761116], abs=1e-6)


@both
def test_the_drawn_pvalue_of_ten_rows_is_that_of_all_label_vectors(estimator):
    exact = law_of_labels(estimator, TEN).pvalue(estimator(TEN))
    drawn = cs.calibration_test(TEN, estimator, null=cs.Consistency(9999), rng=0).pvalue
    assert drawn == pytest.approx(exact, abs=4 * sqrt(exact * (1 - exact) / 9999))


def test_the_mean_under_calibration_is_half_the_scale_for_every_n_and_with_ties():
    for p in ([0.2], [0.1, 0.5, 0.5, 0.9], [0.3, 0.3, 0.4, 0.8, 0.8, 0.95]):
        sample = cs.Sample(np.zeros(len(p), int), p, labels=[0, 1])
        scale = CramerVonMises().prepare(sample.predictions).capabilities.scale
        assert law_of_labels(CramerVonMises(), sample).mean == pytest.approx(scale / 2, rel=1e-12)
        assert scale == pytest.approx(sum(each * (1 - each) for each in p) / len(p) ** 2)


@both
def test_ties_are_read_at_their_end(estimator):
    assert estimator(cs.Sample([1, 0, 1, 0], [0.5] * 4)) == 0
    rows = cs.Sample([1, 0, 0, 1, 1], [0.3, 0.3, 0.6, 0.6, 0.9])
    assert estimator(rows.take(np.array([1, 0, 3, 2, 4]))) == pytest.approx(estimator(rows), rel=1e-14)
    nearly = cs.Sample([1, 0, 0, 1, 1], [0.3, 0.3 + 1e-6, 0.6, 0.6, 0.9])
    assert abs(estimator(nearly) - estimator(rows)) > 1e-3  # the negative control


@both
def test_outcomes_of_almost_certain_rows_are_seen_once(estimator):
    """A row of chance 1e-12 that happens is one residual of a hundred, at either end."""
    p = np.linspace(0.05, 0.95, 99)
    y = (np.arange(99) * 7 % 99 < 99 * p).astype(int)
    for chance, outcome in [(1e-12, 1), (1 - 1e-12, 0)]:
        sample = cs.Sample(np.append(y, outcome), np.append(p, chance))
        scale = estimator.prepare(sample.predictions).capabilities.scale
        assert estimator(sample) / scale < 5


def test_certain_rows_that_are_wrong_are_seen():
    wrong, right = cs.Sample([1, 1, 1, 0], [0.0, 0.0, 1.0, 1.0]), cs.Sample([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0])
    for estimator in BOTH:
        assert estimator(wrong) > 0 == estimator(right)
        assert estimator.prepare(wrong.predictions).capabilities.scale is None
        assert cs.calibration_test(wrong, estimator, null=cs.Asymptotic()).pvalue == 0
        assert cs.calibration_test(right, estimator, null=cs.Asymptotic()).pvalue == 1


def test_a_population_is_the_truth_of_the_estimand():
    model = FinitePredictions([0.1, 0.3, 0.6, 0.8], [0.3, 0.2, 0.5, 0.95], mass=[0.4, 0.3, 0.2, 0.1])
    walk = np.cumsum([0, 0.4 * 0.2, 0.3 * -0.1, 0.2 * -0.1, 0.1 * 0.15])
    variance = np.array([0.09, 0.21, 0.24, 0.16]) * [0.4, 0.3, 0.2, 0.1]
    clock = np.append(0, np.cumsum(variance)) / variance.sum()
    area = (np.diff(clock) * (walk[1:] ** 2 + walk[:-1] ** 2) / 2).sum()
    assert model.truth(CramerVonMises()).value == pytest.approx(area, rel=1e-12)
    for estimator in BOTH:
        assert estimator(model.sample(200_000, rng=0)) == pytest.approx(model.truth(estimator).value, rel=0.1)


# Laws in large samples


@pytest.mark.parametrize("x", [0.004, 0.01, 0.1, 0.5, 1.0, 3.0, 8.0])
def test_the_law_of_a_squared_motion_is_the_series_of_its_transform(x):
    """E exp(-s Q) is the inverse root of cosh(sqrt(2 s)), expanded in exp(-sqrt(2 s)) (Cameron & Martin 1944)."""
    k = np.arange(400)
    below = sqrt(2) * (binom(-0.5, k) * erfc((2 * k + 0.5) / sqrt(2 * x))).sum()
    assert cramer_von_mises_sf(x) == pytest.approx(1 - below, abs=1e-12)


def test_anderson_darling_1952_points_of_the_bridge():
    """Points of ten and five percent, 1.933 and 2.492, by the same rule without the squared mean."""
    j = np.arange(1.0, 61.0)
    rule = quadratic_rule(j * (j + 1), lambda u: np.cos(pi / 2 * np.sqrt(1 + 4 * u)) / (pi * u))
    assert survival_of(np.array([1.933, 2.492]), *rule, 0.03) == pytest.approx([0.1, 0.05], abs=3e-5)


def test_means_tails_and_shapes_of_the_laws():
    for (estimator, survival), mean in zip(LAWS, (0.5, 2.0), strict=True):
        assert quad(survival, 0, 100, limit=400)[0] == pytest.approx(mean, abs=1e-9)
        x = np.linspace(0, 30, 301)
        assert (np.diff(survival(x)) <= 1e-13).all()
        assert survival(0.0) == 1
        assert survival(x.reshape(7, 43)).shape == (7, 43)
        assert np.isnan(survival(np.nan))
        assert estimator.prepare(TEN.predictions).capabilities.large_sample(cs.as_generator(0)).mean > 0
    # far out the largest squared normal variable decides: ratios of tails are those of its exponential
    assert log(cramer_von_mises_sf(300.0) / cramer_von_mises_sf(301.0)) == pytest.approx(pi**2 / 8, rel=2e-3)
    assert log(anderson_darling_sf(600.0) / anderson_darling_sf(601.0)) == pytest.approx(0.5, rel=2e-3)


@pytest.mark.parametrize(("estimator", "survival"), LAWS, ids=["CvM", "AD"])
def test_large_samples_follow_the_laws(estimator, survival):
    rng = np.random.default_rng(11)
    n, p = 4000, rng.beta(2, 1, 4000)
    evaluate = estimator.prepare(cs.Sample([0, 1] * (n // 2), p).predictions)
    values = np.concatenate([evaluate((rng.random((100, n)) < p).astype(np.int8)) for _ in range(5)])
    cdf = lambda x: 1 - survival(x)
    assert kstest(values / evaluate.capabilities.scale, cdf).pvalue > 1e-3
    assert kstest(values / evaluate.capabilities.scale * 1.6, cdf).pvalue < 1e-6


def test_weighted_rows_have_no_law_in_closed_form():
    sample = cs.Sample(TEN.outcomes, TEN.predictions.event, sample_weight=np.arange(0.1, 1.1, 0.1))
    for estimator in BOTH:
        assert estimator.prepare(sample.predictions).capabilities.scale is None
        with pytest.raises(ValueError, match=r"no large-sample law here.*without weights"):
            cs.calibration_test(sample, estimator, null=cs.Asymptotic())


# Sizes and power


def pvalues(estimator, runs, weighted, power=1.0):
    """P-values of redrawn labels; chances are the predictions raised to a power."""
    rng, found = np.random.default_rng(3), []
    for _ in range(runs):
        p = rng.random(60)
        more = {"sample_weight": rng.uniform(0.5, 3, 60)} if weighted else {}
        sample = two_classes(p, rng, chance=p**power, **more)
        found.append(cs.calibration_test(sample, estimator, null=cs.Consistency(99), rng=rng).pvalue)
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@both
def test_size_of_redrawn_labels(estimator, weighted):
    """800 runs; fails beyond four standard errors (3.1 % at level 5 %)."""
    found = pvalues(estimator, 800, weighted)
    assert_not_above(found, LEVEL)
    assert_not_below(found, LEVEL)


@both
def test_negative_control_a_world_that_is_off_is_rejected(estimator):
    with pytest.raises(AssertionError):
        assert_not_above(pvalues(estimator, 100, False, power=2.0), LEVEL)


def test_anderson_darling_sees_what_the_other_does_not():
    """Errors at the highest predictions only, where the walk of the other ends."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.3, 1.0, 2000)
    y = rng.random(2000) < np.where(p > 0.97, p - 0.12, p)
    sample = cs.Sample(y, p)
    tests = [cs.calibration_test(sample, each, null=cs.Asymptotic()).pvalue for each in BOTH]
    assert tests[1] < tests[0] / 3


@both
def test_many_replicates_give_the_values_of_each(estimator):
    rng = np.random.default_rng(4)
    scores = rng.random(3000).round(3)
    evaluator = estimator.prepare(cs.Sample(rng.random(3000) < scores, scores).predictions)
    labels, weights = rng.integers(0, 2, size=(60, 3000)), rng.random((60, 3000))
    for moved in (None, weights):
        together = evaluator(labels, moved)
        for row in (0, 42, 43, 59):
            alone = evaluator(labels[row], None if moved is None else moved[row])
            np.testing.assert_allclose(together[row], alone, rtol=1e-12)


def measure(runs=300, n=400):
    """Print the powers in the docstring of `AndersonDarling`; ``python -m estimators.test_squared_walks``."""
    logit = lambda p: np.log(p) - np.log1p(-p)
    worlds = {
        "shifted": lambda p: 1 / (1 + np.exp(-logit(p) - 0.25)),
        "stretched": lambda p: 1 / (1 + np.exp(-0.75 * logit(p))),
        "at both ends": lambda p: p + 0.12 * ((p < 0.1) * 1.0 - (p > 0.9)),
    }
    for name, chance in worlds.items():
        rng, found = np.random.default_rng(0), {}
        for _ in range(runs):
            p = rng.random(n)
            sample = two_classes(p, rng, chance=chance(p))
            for estimator in (*BOTH, cs.Kuiper(), cs.BrownianBridge()):
                pvalue = cs.calibration_test(sample, estimator, null=cs.Consistency(99), rng=rng).pvalue
                found.setdefault(repr(estimator), []).append(pvalue <= LEVEL)
        print(name, {each: round(float(np.mean(rejected)), 2) for each, rejected in found.items()})


if __name__ == "__main__":
    measure()


def test_predictions_below_all_normal_numbers_are_seen_like_others():
    """Half of the smallest number is zero, whose logarithm is infinite: a test had no draws, and a p-value of one."""
    rng = np.random.default_rng(0)
    p = rng.random(500)
    tiny, calibrated = [0, 2e-322, 2e-322, 2e-322, 5e-324], (rng.random(500) < p).astype(int)
    found = AndersonDarling()(cs.Sample([0] * 5 + [*calibrated], [*tiny, *p]))
    assert found == pytest.approx(AndersonDarling()(cs.Sample([0] * 5 + [*calibrated], [0] * 5 + [*p])), rel=1e-9)
    wrong = cs.Sample([1] + [0] * 4 + [*calibrated], [*tiny, *p])
    test = cs.calibration_test(wrong, AndersonDarling(), rng=0)
    assert np.isfinite(test.null_distribution.samples).all()
    assert test.pvalue < 0.05


def test_the_panel_sees_a_naive_bayes_classifier():
    """Its probabilities go down to 1e-300 and below."""
    from sklearn.datasets import load_digits
    from sklearn.naive_bayes import GaussianNB

    X, y = load_digits(return_X_y=True)
    fitted = GaussianNB(var_smoothing=1e-2).fit(X[::2], y[::2])
    found = cs.omnibus_test(cs.Sample.from_estimator(fitted, X[1::2], y[1::2]), lens=cs.ClassWise(7), rng=0)
    assert not np.isnan(found.values).any()  # one is infinite: what had a chance of 0 happened
    assert found.pvalue < 0.05
