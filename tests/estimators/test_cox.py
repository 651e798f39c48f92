"""Cox's intercept and slope against a statistics package, and where there is no maximum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_linear_model import GLM

import calibstat as cs
from calibstat import _logistic
from calibstat._logistic import clipped_logit
from calibstat.estimators.cox import Cox
from calibstat.estimators.recalibration_scores import LogitScore
from numerics import exact
from registry import make_sample


def intervals(fit, row):
    return tuple(fit.conf_int()[row])


@pytest.mark.parametrize("seed", range(4))
def test_agreement_with_statsmodels(seed):
    sample = make_sample(2, seed=seed, n=150)
    linear = clipped_logit(sample.predictions.event)
    design = np.column_stack([np.ones(150), linear])
    both = GLM(sample.outcomes, design, family=Binomial()).fit(tol=1e-12, maxiter=200)
    large = GLM(sample.outcomes, design[:, :1], family=Binomial(), offset=linear).fit(tol=1e-12, maxiter=200)
    found = Cox()(sample)
    assert found.intercept == pytest.approx(both.params[0], abs=1e-7)
    assert found.slope == pytest.approx(both.params[1], abs=1e-7)
    assert found.intercept_in_the_large == pytest.approx(large.params[0], abs=1e-7)
    assert found.intercept_interval == pytest.approx(intervals(both, 0), abs=1e-6)
    assert found.slope_interval == pytest.approx(intervals(both, 1), abs=1e-6)
    assert found.intercept_in_the_large_interval == pytest.approx(intervals(large, 0), abs=1e-6)
    p = sample.predictions.event
    own = np.where(sample.outcomes == 1, np.log(p), np.log1p(-p)).sum()
    assert found.likelihood_ratio == pytest.approx(2 * (both.llf - own), abs=1e-7)
    assert found.likelihood_ratio_pvalue == pytest.approx(stats.chi2.sf(found.likelihood_ratio, 2), rel=1e-9)
    assert found.score_pvalue == pytest.approx(stats.chi2.sf(found.score, 2), rel=1e-9)
    assert found.score == pytest.approx(LogitScore(1)(sample), rel=1e-10)


def test_weighted_intervals_are_sandwich_ones():
    sample = make_sample(2, seed=5, n=150, weighted=True)
    weights, linear = sample.predictions.weights, clipped_logit(sample.predictions.event)
    design = np.column_stack([np.ones(150), linear])
    fit = GLM(sample.outcomes, design, family=Binomial(), var_weights=weights).fit(tol=1e-12, maxiter=200)
    found = Cox()(sample)
    assert found.slope == pytest.approx(fit.params[1], abs=1e-7)
    v = fit.fittedvalues * (1 - fit.fittedvalues)
    bread = np.linalg.inv(design.T @ (design * (weights * v)[:, None]))
    error = np.sqrt(np.diag(bread @ (design.T @ (design * (weights**2 * v)[:, None])) @ bread))[1]
    z = stats.t((weights**2).sum() ** 2 / (weights**4).sum()).ppf(0.975)
    assert found.slope_interval == pytest.approx((found.slope - z * error, found.slope + z * error), abs=1e-6)


def test_the_confidence_level_widens():
    sample = make_sample(2, seed=6, n=150)
    narrow, wide = Cox(0.5)(sample), Cox(0.99)(sample)
    assert wide.slope_interval[0] < narrow.slope_interval[0] < narrow.slope_interval[1] < wide.slope_interval[1]


def test_separated_outcomes_have_no_maximum():
    found = Cox()(cs.Sample([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.8]))
    assert np.isnan([found.slope, found.intercept, *found.slope_interval]).all()
    assert np.isfinite(found.intercept_in_the_large)
    # the supremum of the likelihood is one
    assert found.likelihood_ratio == pytest.approx(-2 * np.log([0.9, 0.8, 0.7, 0.8]).sum(), abs=1e-6)


def test_a_fit_ends_where_the_likelihood_grows_by_less_than_rounding(monkeypatch):
    """One class, and a prediction as near to it as log-odds are kept: all steps gain less than the last digit."""
    steps, taken = _logistic._newton_step, []
    monkeypatch.setattr(_logistic, "_newton_step", lambda *each: taken.append(1) or steps(*each))
    found = Cox()(cs.Sample([0, 0], [1e-9, 1e-9], sample_weight=[1.0, 0.0], labels=[0, 1]))
    assert len(taken) < 60  # one hundred for each fit, with thirty halvings each, before
    assert np.isnan([found.slope, found.intercept_in_the_large]).all()
    assert 0 <= found.likelihood_ratio < 1e-8


@pytest.mark.parametrize(
    ("p", "y"),
    [
        ([0.99, 1 - 1e-6, 0.5, 0.99, 1 - 1e-6, 0.99], [0, 0, 1, 1, 0, 0]),
        ([1e-6, 0.5, 1e-6, 1 - 1e-6], [1, 1, 0, 0]),
        ([1e-9, 0.99, 0.01, 0.99, 0.5, 1 - 1e-6, 1e-6, 1e-9], [1, 1, 1, 0, 0, 0, 1, 1]),
        ([1e-9, 1e-9, 1e-9, 1 - 1e-9, 0.99, 1 - 1e-6, 1 - 1e-6, 0.99], [0, 0, 0, 0, 1, 0, 0, 0]),
    ],
)
def test_newton_s_method_does_not_leave_the_range_of_logits(p, y):
    """Where predictions are almost certain and wrong, its first steps lead to where no likelihood is curved."""
    sample = cs.Sample(y, p)
    found = Cox().prepare(sample.predictions)(sample.outcomes)
    wanted = exact.cox([(Fraction(q), label, Fraction(1)) for q, label in zip(p, y, strict=True)])
    np.testing.assert_allclose(found, [float(each.exact) for each in wanted], rtol=1e-9, atol=1e-12)


def test_equal_predictions_have_no_slope():
    found = Cox()(cs.Sample([0, 0, 1, 1], [0.3, 0.3, 0.3, 0.3]))
    assert np.isnan([found.slope, found.intercept]).all()
    assert found.intercept_in_the_large == pytest.approx(-np.log(0.3 / 0.7), abs=1e-9)
    law = stats.binom.logpmf(2, 4, 0.5) - stats.binom.logpmf(2, 4, 0.3)
    assert found.likelihood_ratio == pytest.approx(2 * law, abs=1e-9)


def test_a_single_class_has_no_intercept():
    found = Cox()(cs.Sample([1, 1, 1], [0.3, 0.4, 0.8], labels=[0, 1]))
    assert np.isnan([found.intercept_in_the_large, found.slope]).all()
    assert found.score > 0


def test_intervals_cover_the_truth():
    rng = np.random.Generator(np.random.PCG64(7))
    p = rng.uniform(0.05, 0.95, 400)
    linear = np.log(p / (1 - p))
    truth = 1 / (1 + np.exp(-(0.3 + 0.7 * linear)))
    fits = [Cox()(cs.Sample((rng.random(400) < truth).astype(int), p)) for _ in range(200)]
    for name, value in (("intercept", 0.3), ("slope", 0.7)):
        intervals_found = [getattr(fit, f"{name}_interval") for fit in fits]
        assert 0.9 < np.mean([low < value < high for low, high in intervals_found]) <= 1
    assert np.mean([fit.slope_interval[0] < 1 < fit.slope_interval[1] for fit in fits]) < 0.5


def test_known_chances_give_the_population_fit():
    p = np.linspace(0.02, 0.98, 97)
    truth = 1 / (1 + np.exp(-(0.2 + 0.6 * np.log(p / (1 - p)))))
    evaluator = Cox().prepare(cs.Sample(np.arange(97) % 2, p).predictions)
    values = evaluator(np.column_stack([1 - truth, truth]))
    assert values[2] == pytest.approx(0.2, abs=1e-8)
    assert values[4] == pytest.approx(0.6, abs=1e-8)


def test_a_higher_degree_sees_what_a_lower_one_does_not():
    rng = np.random.Generator(np.random.PCG64(8))
    p = rng.uniform(0.05, 0.95, 3000)
    linear = np.log(p / (1 - p))
    truth = 1 / (1 + np.exp(-(linear + 0.25 * (linear**2 - 1.5))))
    sample = cs.Sample((rng.random(3000) < truth).astype(int), p)
    assert LogitScore(3)(sample) - LogitScore(1)(sample) > 20


def test_degrees_beyond_the_distinct_predictions_add_nothing():
    sample = cs.Sample([0, 1, 1, 0, 1], [0.2, 0.2, 0.7, 0.7, 0.7])
    assert LogitScore(6)(sample) == pytest.approx(LogitScore(1)(sample), rel=1e-9)
    assert LogitScore(6).prepare(sample.predictions).rank == 2
    with pytest.raises(ValueError, match="degree is 0"):
        LogitScore(0)


def test_agreement_with_calzone():
    metrics = pytest.importorskip("calzone.metrics")
    sample = make_sample(2, seed=9, n=200)
    rows = sample.y_prob
    slope, intercept, *_ = metrics.cox_regression_analysis(sample.outcomes, rows)
    found = Cox()(sample)
    assert (found.slope, found.intercept) == (pytest.approx(slope, abs=1e-4), pytest.approx(intercept, abs=1e-4))


def test_calzone_takes_the_second_column_whatever_the_class():
    """Where the peer is wrong: for class 0 it regresses on the probability of class 1."""
    metrics = pytest.importorskip("calzone.metrics")
    sample = make_sample(3, seed=10, n=3000)
    theirs = metrics.cox_regression_analysis(sample.outcomes.copy(), sample.y_prob, class_to_calculate=0)[0]
    ours = (cs.ClassWise("b") | Cox())(sample)
    assert theirs < 0 < 0.5 < ours.slope


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cox(confidence_level=95), "confidence_level is 95"),
        (lambda: Cox(statistic="wald"), "statistic is 'wald'"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_fit_goes_on_until_nothing_is_to_be_gained():
    """The slope grows without end, also where a first Newton step goes much too far; the likelihood ratio is known."""
    p = 1 / (1 + np.exp([1.432434797302668, -2.6162668213085016, -0.25989996684311856, -3.6642214556763997, 1.891573]))
    outcomes = np.array([1, 1, 1, 1, 0])
    found = Cox()(cs.Sample(outcomes, p))
    assert np.isnan([found.intercept, found.slope, *found.slope_interval]).all()
    own = np.where(outcomes == 1, np.log(p), np.log1p(-p)).sum()
    assert found.likelihood_ratio == pytest.approx(-2 * own, abs=1e-6)
    assert np.isfinite(found.intercept_in_the_large)


def test_the_expansion_of_a_slope_that_does_not_exist():
    sample = cs.Sample([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.8])
    expansion = Cox(statistic="slope").prepare(sample.predictions).capabilities.expansion(sample.outcomes)
    assert np.isnan(expansion.value)
    assert np.isnan(expansion.influence).all()


def test_standard_errors_are_those_of_the_intervals():
    rng = np.random.default_rng(3)
    p = rng.random(300)
    fit = cs.Cox()(cs.Sample((rng.random(300) < p).astype(int), p))
    for name in ("intercept_in_the_large", "intercept", "slope"):
        low, high = getattr(fit, f"{name}_interval")
        assert getattr(fit, f"{name}_error") == pytest.approx((high - low) / 2 / 1.959963985, rel=1e-9)
