"""Intervals and comparisons by the influence of rows: scores, the area under the ROC curve, the slope."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit
from statsmodels.regression.linear_model import OLS

import calibstat as cs
from calibstat.inference.compare import comparison_test
from calibstat.inference.compare_models import compare_models
from calibstat.inference.equivalence import equivalence_test
from calibstat.inference.estimate import estimate
from calibstat.inference.intervals import cluster_error

Z = stats.norm.ppf(0.975)


def rows(n=300, seed=0, groups=None):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = rng.random(n) < p
    return cs.Sample(y, p, labels=[False, True], groups=groups)


def noisy(sample, seed=9, size=0.3):
    p = sample.y_prob[:, 1] + size * np.random.default_rng(seed).uniform(-1, 1, len(sample))
    return cs.Sample(sample.y_true, np.clip(p, 0.01, 0.99), labels=sample.labels)


def interval(sample, estimator, **options):
    return estimate(sample, estimator, n_resamples=9, rng=0, **options).confidence_interval


def around(value, error, low=0.0, high=1.0, z=Z):
    """Z standard errors about a value on the logit of its range."""
    middle, rate = logit((value - low) / (high - low)), (high - low) / ((value - low) * (high - value))
    return tuple(low + (high - low) * expit(middle + np.array([-z, z]) * error * rate))


def standard_error(ends, value):
    """Of a value in [0, 1], from its interval."""
    return np.diff(logit(ends))[0] * value * (1 - value) / (2 * Z)


def event(sample):
    return sample.y_prob[:, 1], sample.outcomes.astype(float)


def losses(name, p, y):
    called = np.where(y == 1, p, 1 - p)
    return {"brier": (y - p) ** 2, "log": -np.log(called), "zero-one": (p >= 0.5) != y}[name].astype(float)


SCORES = {"brier": cs.BrierScore(), "log": cs.LogScore(), "zero-one": cs.ZeroOneLoss()}


@pytest.mark.parametrize("name", SCORES)
def test_mean_of_rows_by_hand(name):
    sample = rows()
    found = losses(name, *event(sample))
    error = found.std() / np.sqrt(len(sample))
    high = -np.log(1e-15) if name == "log" else 1.0
    assert interval(sample, SCORES[name]) == pytest.approx(around(found.mean(), error, 0.0, high), rel=3e-3)
    assert interval(sample, SCORES[name]) != pytest.approx((found.mean() - Z * error, found.mean() + Z * error))


def test_weighted_mean_of_rows_by_hand():
    sample, w = rows(), np.random.default_rng(1).gamma(2, 1, 300)
    weighted = cs.Sample(sample.y_true, sample.y_prob, sample_weight=w, labels=[False, True])
    found, share = losses("brier", *event(sample)), w / w.sum()
    error = np.sqrt((share**2 * (found - share @ found) ** 2 / (1 - share)).sum())  # CR2, of clusters of one row
    centring = np.eye(300) - np.outer(share, np.ones(300))
    spread = centring.T @ np.diag(1 / (1 - share)) @ centring @ np.diag(share**2)
    freedom = np.trace(spread) ** 2 / np.trace(spread @ spread)
    expected = around(share @ found, error, z=stats.t(freedom).ppf(0.975))
    assert interval(weighted, cs.BrierScore()) == pytest.approx(expected)


def test_root_by_the_rule_of_the_chain():
    squared, value = cs.BrierScore()(rows()), cs.RMSE()(rows())
    error = standard_error(interval(rows(), cs.BrierScore()), squared) / (2 * value)
    assert interval(rows(), cs.RMSE()) == pytest.approx(around(value, error))


def placements(p, y):
    """The share of pairs that each row is in on the right side, ties one half: by brute force over pairs."""
    right = (p[y == 1][:, None] > p[y == 0]) + 0.5 * (p[y == 1][:, None] == p[y == 0])
    return right.mean(axis=1), right.mean(axis=0)


def test_auc_by_delong_over_all_pairs():
    p, y = event(rows(80))
    p = np.round(p, 1)
    sample = cs.Sample(y, p, labels=[0, 1])
    of_events, of_others = placements(p, y)
    value = of_events.mean()
    error = np.sqrt(of_events.var() / len(of_events) + of_others.var() / len(of_others))
    assert cs.AUC()(sample) == pytest.approx(value)
    assert interval(sample, cs.AUC()) == pytest.approx(around(value, error))


def test_two_areas_of_the_same_rows_by_delong():
    a = rows(120)
    b = noisy(a)
    parts = [placements(*event(each)) for each in (a, b)]
    differences = [parts[0][k] - parts[1][k] for k in (0, 1)]
    error = np.sqrt(sum(each.var() / len(each) for each in differences))
    found = comparison_test(a, b, cs.AUC(), rng=0)
    assert found.difference == pytest.approx(cs.AUC()(a) - cs.AUC()(b))
    assert found.standard_error == pytest.approx(error)
    assert found.pvalue == pytest.approx(2 * stats.norm.sf(abs(found.difference) / error))


def test_slope_has_the_error_of_the_fit_under_its_model():
    """The interval by influence does not assume the logistic line; for many rows under it both are the same."""
    sample = rows(20_000)
    fit = cs.Cox()(sample)
    low, high = interval(sample, cs.Cox(statistic="slope"))
    assert (low + high) / 2 == pytest.approx(fit.slope)
    assert high - low == pytest.approx(np.diff(fit.slope_interval)[0], rel=0.03)


def test_the_intercept_in_the_large_has_the_error_of_its_fit():
    sample = rows(20_000, 4)
    fit = cs.Cox()(sample)
    low, high = interval(sample, cs.Cox(statistic="intercept_in_the_large"))
    assert (low + high) / 2 == pytest.approx(fit.intercept_in_the_large)
    assert high - low == pytest.approx(np.diff(fit.intercept_in_the_large_interval)[0], rel=0.03)


def test_a_score_statistic_comes_with_its_coefficients():
    sample = rows()
    fit, found = cs.Cox()(sample), estimate(sample, cs.Cox(), n_resamples=9, rng=0)
    low, high = fit.slope_interval
    assert found.confidence_interval is None
    assert re.search(rf"slope +{fit.slope:.4g} +1 +{low:.4g} to {high:.4g}\n", str(found))
    separated = cs.Sample([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9])
    assert re.search(r"slope +not defined", str(estimate(separated, cs.Cox(), n_resamples=9, rng=0)))


# What rows do not show


def test_without_an_error_the_bound_is_near_the_rule_of_three():
    p = np.repeat([0.1, 0.9], 100)
    low, high = interval(cs.Sample(p > 0.5, p), cs.ZeroOneLoss())
    assert low == 0
    assert 0.01 < high < 0.04


def test_complete_separation_leaves_room_for_an_area_below_one():
    p = np.linspace(0.01, 0.99, 200)
    low, high = interval(cs.Sample(p > 0.5, p), cs.AUC())
    assert high == 1
    assert 0.95 < low < 1


def test_one_class_alone_has_no_area():
    found = estimate(cs.Sample([0] * 20, np.linspace(0.1, 0.4, 20), labels=[0, 1]), cs.AUC(), n_resamples=9, rng=0)
    assert found.confidence_interval is None
    assert "area under the ROC curve: this is nan here" in found.interval_note


def test_intervals_end_where_values_end():
    sample = cs.Sample([0, 1] * 10, [0.4, 0.6] * 10)
    assert interval(sample, cs.SphericalScore()).low >= -1
    assert interval(rows(12), cs.ZeroOneLoss()).low >= 0


def test_few_events_are_noted_and_their_interval_is_skew():
    p = np.full(200, 0.03)
    sample = cs.Sample(np.arange(200) < 8, p)
    found = estimate(sample, cs.ObservedToExpected(), n_resamples=9, rng=0)
    (low, high), value = found.confidence_interval, found.headline
    assert value / low == pytest.approx(high / value)
    assert found.notes == (
        "the rarest outcome was seen in 8 rows, fewer than 20: with so few, intervals of 95 % held the truth in 80 to "
        "96 % of simulated samples",
    )
    weighted = cs.Sample(np.arange(200) % 4 == 0, p, sample_weight=np.where(np.arange(200) % 40 == 0, 9.0, 0.5))
    assert "rows in effect (by weights), fewer than 20" in estimate(weighted, cs.AUC(), n_resamples=9, rng=0).notes[0]
    assert estimate(rows(), cs.AUC(), n_resamples=9, rng=0).notes == ()


# Clusters


def test_rows_that_are_repeated_in_clusters_add_nothing():
    once = rows(100)
    known, alone = (
        cs.Sample(np.repeat(once.y_true, 4), np.repeat(once.y_prob, 4, axis=0), groups=groups)
        for groups in (np.repeat(np.arange(100), 4), None)
    )
    plain, repeated = interval(once, cs.BrierScore()), interval(known, cs.BrierScore())
    student = stats.t(99).ppf(0.975) / stats.norm.ppf(0.975)
    assert np.diff(logit(repeated)) == pytest.approx(np.diff(logit(plain)) * np.sqrt(100 / 99) * student)
    assert np.diff(interval(alone, cs.BrierScore())) < 0.6 * np.diff(repeated)


def test_the_standard_error_over_clusters_is_that_of_statsmodels():
    groups = np.arange(600) % 60  # of equal size, where CR2 is what statsmodels has
    sample = rows(600, groups=groups)
    loss = losses("brier", *event(sample))
    fit = OLS(loss, np.ones((600, 1))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    ends = interval(sample, cs.BrierScore())
    found = standard_error(ends, cs.BrierScore()(sample)) * stats.norm.ppf(0.975) / stats.t(59).ppf(0.975)
    assert found == pytest.approx(fit.bse[0], rel=1e-9)


def test_the_variance_over_clusters_is_unbiased_with_the_freedom_of_its_quadratic_form():
    """Bell & McCaffrey 2002: A = (I - h 1')' diag(1 / (1 - h)) (I - h 1') for cluster sums of covariance diag(m^2)."""
    sizes = np.array([1.0, 2, 3, 5, 8, 13, 21])
    h = sizes / sizes.sum()
    centring = np.eye(7) - np.outer(h, np.ones(7))
    spread = centring.T @ np.diag(1 / (1 - h)) @ centring @ np.diag(h**2)
    sums = np.random.default_rng(0).normal(size=7)
    error, freedom = cluster_error(centring @ sums, sizes)
    assert error**2 == pytest.approx(sums @ centring.T @ np.diag(1 / (1 - h)) @ centring @ sums)
    assert freedom == pytest.approx(np.trace(spread) ** 2 / np.trace(spread @ spread))


def test_few_clusters_are_refused():
    few = estimate(rows(100, groups=np.arange(100) % 5), cs.BrierScore(), n_resamples=9, rng=0)
    assert few.confidence_interval is None
    assert "there are 5 clusters (groups), but an interval needs at least 12" in few.interval_note


# Comparisons


@pytest.mark.parametrize(
    "estimator", [cs.ECE(cs.EqualMass(5)), cs.RMSCE(cs.EqualMass(5)), cs.SquaredCE(cs.EqualMass(5))]
)
def test_errors_of_cells_are_compared_by_their_squared_form(estimator):
    a = rows()
    by_form = comparison_test(a, noisy(a), cs.DebiasedL2(cs.EqualMass(5)), n_resamples=19, rng=0)
    assert str(comparison_test(a, noisy(a), estimator, n_resamples=19, rng=0)) == str(by_form)


def test_squared_errors_share_one_interval():
    by_form = interval(rows(), cs.DebiasedL2(cs.EqualMass(5)))
    assert interval(rows(), cs.SquaredCE(cs.EqualMass(5))) == by_form
    assert interval(rows(), cs.DebiasedCE(cs.EqualMass(5))) == by_form


@pytest.mark.parametrize("paired", [True, False])
def test_words_of_a_comparison_of_scores(paired):
    a = rows(400)
    b = noisy(a, size=0.5)
    found = comparison_test(a, b, cs.BrierScore(), names=("raw", "noisy"), paired=paired, rng=0)
    assert "raw and noisy differ: Brier score" in found.verdict
    assert found.difference < 0
    assert found.own_pvalues is None
    assert found.root_values is None
    assert found.pvalue == found.difference_pvalue
    assert "squared calibration" not in str(found)
    same = comparison_test(a, a, cs.BrierScore(), rng=0)
    assert (same.difference, same.pvalue) == (0, 1)
    assert same.verdict.startswith("A and B cannot be told apart at 5 %: Brier score")


@pytest.mark.parametrize("adjust", ["holm", "max-t"])
@pytest.mark.parametrize("estimator", [cs.BrierScore(), cs.LogScore(), cs.AUC()], ids=repr)
def test_the_best_of_several_models(estimator, adjust):
    a = rows(600)
    models = {"raw": a, "noisy": noisy(a, size=0.4), "worst": noisy(a, size=0.9)}
    found = compare_models(models, estimator, adjust=adjust, rng=0)
    assert found.confidence_set == ("raw",)
    assert all(pair.pvalue_adjusted < 0.05 for pair in found.pairs)
    assert str(found).startswith("raw is better than both other models at 5 %: ")


def test_what_has_no_best_end_is_not_ranked():
    a = rows()
    with pytest.raises(ValueError, match="has no best value"):
        compare_models({"a": a, "b": noisy(a)}, cs.Cox(statistic="slope"))
    assert comparison_test(a, noisy(a), cs.Cox(statistic="slope"), rng=0).standard_error > 0


def test_a_score_is_no_error_whose_size_could_be_bounded():
    with pytest.raises(ValueError, match="is no error"):
        equivalence_test(rows(), cs.BrierScore(), 0.2, rng=0)


def test_what_has_no_expansion_is_refused_in_words():
    a = rows()
    with pytest.raises(ValueError, match=r"Kuiper.*no expansion in the influence of rows"):
        comparison_test(a, noisy(a), cs.Kuiper())


def test_one_row_with_most_of_the_weight_has_no_normal_interval():
    rng = np.random.default_rng(3)
    p, weights = rng.random(300), np.r_[400.0, np.ones(299)]
    labels = (rng.random(300) < p).astype(int)
    heavy = cs.Sample(labels, p, sample_weight=weights, labels=[0, 1])
    found = cs.estimate(heavy, cs.BrierScore(), n_resamples=19, rng=0)
    assert found.confidence_interval is None
    assert "one row has 57.2 % of the weight" in found.interval_note
    lighter = cs.Sample(labels, p, sample_weight=np.r_[100.0, np.ones(299)], labels=[0, 1])
    found = cs.estimate(lighter, cs.BrierScore(), n_resamples=19, rng=0)
    assert "Student's law" in found.interval_note
    equal = cs.estimate(cs.Sample(labels, p, labels=[0, 1]), cs.BrierScore(), n_resamples=19, rng=0)
    assert np.diff(found.confidence_interval) > 5 * np.diff(equal.confidence_interval)


def test_heavy_rows_without_an_event_do_not_narrow_the_interval():
    """Twenty rows with two thirds of the weight have by chance missed an event of one in ten."""
    p = np.full(200, 0.1)
    weights = np.where(np.arange(200) < 180, 1.0, 20.0)
    sample = cs.Sample(np.arange(200) < 20, p, sample_weight=weights)
    found = cs.estimate(sample, cs.BrierScore(), n_resamples=9, rng=0)
    share, loss = weights / weights.sum(), np.array([0.01, 0.81])
    noise = np.sqrt((share**2).sum() * 0.1 * 0.9) * (loss[1] - loss[0])
    high = found.confidence_interval.high
    odds = (high / (1 - high)) / (found.estimate / (1 - found.estimate))
    assert np.log(odds) == pytest.approx(1.959964 * noise / (found.estimate * (1 - found.estimate)), rel=1e-4)
    assert "outcomes are drawn from the predictions" in found.interval_note
    plain = cs.estimate(cs.Sample(np.arange(200) < 20, p), cs.BrierScore(), n_resamples=9, rng=0)
    assert "drawn from the predictions" not in plain.interval_note
