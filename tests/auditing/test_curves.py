from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats
from scipy.stats import chi2
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_linear_model import GLM

import calibstat as cs
from calibstat._logistic import clipped_logit
from calibstat.auditing.curves import (
    Comparison,
    ComparisonInSteps,
    PooledCurve,
    equal_curves_test,
    log_odds,
    spline_basis,
)
from calibstat.draws.streams import replicate


def world(n=1000, seed=0, levels=2, shift=0.0):
    """Groups differ in their predictions; the model is off, by `shift` on the logit in the first group besides."""
    rng = np.random.default_rng(seed)
    g = rng.integers(0, levels, n)
    z = rng.normal(0, 1.2, n) + 0.8 * (g == 1)
    chance = 1 / (1 + np.exp(-(0.6 * z + shift * (g == 0))))
    return cs.Sample(rng.random(n) < chance, 1 / (1 + np.exp(-z)), variables={"g": np.array(list("abcd"))[g]})


def rare(n, small, flip=False):
    """Events of 5 % (or of 95 %), the first `small` rows in a group of their own."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 19, n)
    y = rng.random(n) < p
    variables = {"g": np.where(np.arange(n) < small, "b", "a")}
    return cs.Sample(y ^ flip, 1 - p if flip else p, variables=variables, labels=[False, True])


def test_groups_of_few_expected_events_are_left_out():
    sample = rare(6000, 100)
    third = np.where(np.arange(6000) < 100, "few", np.where(np.arange(6000) < 2000, "x", "y"))
    found = equal_curves_test(sample, {"g": third}, n_resamples=19, rng=0)
    assert found.groups == ("x", "y")
    assert [each.name for each in found.left_out] == ["g few"]
    assert found.left_out[0].reason.endswith("events, fewer than 10")
    assert "g few (n = 100) expects" in " ".join(str(found).split())
    assert len(equal_curves_test(sample, {"g": third}, min_expected=0, n_resamples=19, rng=0).groups) == 3


def test_groups_of_few_rows_in_effect_are_left_out():
    given = world(900, levels=3)
    groups = np.array(list("abc"))[given.predictions.variables["g"].values.astype(int)]
    in_a = groups == "a"
    weights = np.where(np.arange(900) == np.flatnonzero(in_a)[0], 100.0, 1.0)
    heavy = cs.Sample(given.outcomes, given.predictions.event, sample_weight=weights, variables={"g": groups})
    rows = (99 + in_a.sum()) ** 2 / (9999 + in_a.sum())
    options = {"min_expected": 0, "n_resamples": 19, "rng": 0}
    found = equal_curves_test(heavy, "g", **options)
    assert found.groups == ("b", "c")
    assert found.left_out[0].reason == f"is by weights as good as {rows:.3g} rows, fewer than 50"
    assert equal_curves_test(heavy, "g", min_size=int(rows), **options).groups == ("a", "b", "c")


def weighted(sample, seed=0):
    weights = np.random.default_rng(seed).lognormal(0, 1, len(sample))
    return cs.Sample(
        sample.outcomes,
        sample.predictions.event,
        sample_weight=weights,
        variables={"g": sample.predictions.variables["g"].values},
    )


@pytest.mark.parametrize("sample", [world(150), weighted(world(150))], ids=["plain", "weighted"])
def test_the_covariance_statistic_is_that_of_a_naive_loop(sample):
    index = sample.predictions.variables["g"].values.astype(int)
    event, y = sample.predictions.event, sample.outcomes.astype(float)
    weights = np.ones(150) if sample.predictions.weights is None else sample.predictions.weights
    weights = weights / weights.mean()
    curve = PooledCurve.fit(sample)
    basis = spline_basis(event, 7)
    eta = GLM(y, basis, family=Binomial(), freq_weights=weights).fit(tol=1e-12).fittedvalues
    np.testing.assert_allclose(curve.chance, eta, atol=1e-6)
    root = np.sqrt(weights * eta * (1 - eta))[:, None]
    member = (index == 0) - basis @ np.linalg.lstsq(root * basis, root[:, 0] * (index == 0), rcond=None)[0]
    total, sums = 0.0, [0.0]
    for i in np.argsort(event):
        total += weights[i] * (y[i] - eta[i]) * member[i]
        sums.append(total)
    value = Comparison.of(curve, index)(curve.residual[None])[0, 0]
    scale = np.sqrt((weights**2 * eta * (1 - eta) * member**2).sum())
    assert value == pytest.approx((max(sums) - min(sums)) / scale, rel=1e-5)


def test_the_score_statistic_is_that_of_statsmodels():
    sample = world(200, shift=0.5)
    index = sample.predictions.variables["g"].values.astype(int)
    event, y = sample.predictions.event, sample.outcomes.astype(float)
    curve = PooledCurve.fit(sample)
    compare = Comparison.of(curve, index)
    extra = np.column_stack([index, index * clipped_logit(event)])
    statistic, _, freedom = (
        GLM(y, curve.basis, family=Binomial())
        .fit(tol=1e-12)
        .model.score_test(_null_parameters(y, curve.basis), exog_extra=extra)
    )
    assert compare.roots.shape[1] == freedom == 2
    assert compare(curve.residual[None])[0, -1] == pytest.approx(float(np.squeeze(statistic)), rel=1e-5)


def _null_parameters(y, basis):
    return GLM(y, basis, family=Binomial()).fit(tol=1e-12).params


def test_a_step_of_newton_leaves_nothing_to_the_curve():
    curve = PooledCurve.fit(world(300))
    drawn = np.random.default_rng(1).normal(size=(3, 300))
    assert curve.refitted(drawn) @ curve.basis == pytest.approx(np.zeros((3, curve.basis.shape[1])), abs=1e-8)
    mass = curve.weights * curve.chance * (1 - curve.chance)
    assert curve.basis.T @ (mass[:, None] * curve.without(drawn.T)) == pytest.approx(0, abs=1e-8)


def test_the_basis_is_orthogonal_and_holds_the_logit():
    event = np.random.default_rng(0).beta(0.5, 0.5, 300)
    basis = spline_basis(event, 8)
    assert basis.T @ basis / 300 == pytest.approx(np.eye(basis.shape[1]), abs=1e-9)
    assert left_by(basis, clipped_logit(event)) == pytest.approx(np.zeros(300), abs=1e-8)
    few = np.repeat([0.1, 0.5, 0.9], 10)
    assert spline_basis(few, 8).shape == (30, 3)
    assert left_by(spline_basis(few, 8), few**3) == pytest.approx(np.zeros(30), abs=1e-12)


def left_by(basis, values):
    return values - basis @ (basis.T @ values) / len(basis)


def test_equal_curves_of_a_bad_model_and_unequal_ones():
    alike = equal_curves_test(world(2000), "g", n_resamples=199, rng=0)
    assert alike.pvalue > 0.05
    assert alike.verdict.startswith(
        "That as much happens at the same prediction in all 2 groups of 'g' is not rejected at"
    )
    apart = equal_curves_test(world(2000, shift=0.8), "g", n_resamples=199, rng=0)
    assert apart.pvalue <= 0.01
    assert "it happens most in a (+0." in apart.verdict
    assert apart.gaps[0] > 0 > apart.gaps[1]
    assert "the model may be off in all groups alike" in " ".join(str(apart).split())
    statistic, pvalue = apart
    assert (statistic, pvalue) == (apart.covariance_statistic, apart.pvalue)
    assert min(apart.covariance_pvalue, apart.regression_pvalue) <= pvalue <= 2 * apart.covariance_pvalue


def test_clusters_have_signs():
    sample, patient = world(600), np.repeat(np.arange(60), 10)
    variables = {"g": sample.predictions.variables["g"].values}
    both = cs.Sample(sample.outcomes, sample.predictions.event, variables=variables, groups=patient)
    found = equal_curves_test(both, "g", n_resamples=99, rng=0)
    assert found.n_resamples == 99
    assert "one random sign for each cluster" in found.hypothesis
    assert found.to_dict()["n_clusters"] == 60
    assert "60 clusters" in str(found)


def test_weights_count_rows_in_effect():
    heavy = weighted(rare(3000, 400))
    assert equal_curves_test(rare(3000, 400), "g", n_resamples=19, rng=0).groups == ("a", "b")
    with pytest.raises(ValueError, match=r"b \(n = 400\) expects .* events, fewer than 10"):
        equal_curves_test(heavy, {"g": np.where(np.arange(3000) < 400, "b", "a")}, n_resamples=19, rng=0)


def test_several_levels_name_the_one_that_differs():
    found = equal_curves_test(world(6000, levels=4, shift=0.8), "g", n_resamples=199, rng=0)
    assert found.regression_df == 6
    assert found.groups == ("a", "b", "c", "d")
    assert found.group_pvalues[0] == 0.005
    assert found.gaps[0] == max(found.gaps)
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.to_frame().loc["a", "n"] == found.sizes[0]


def test_numbers_are_cut_and_small_groups_left_out():
    sample = world(400)
    found = equal_curves_test(sample, {"age": np.arange(400.0)}, n_resamples=19, rng=0)
    assert len(found.groups) == 4
    few = equal_curves_test(sample, {"g": ["x"] * 3 + ["y", "z"] * 198 + ["y"]}, n_resamples=19, rng=0)
    assert few.groups == ("y", "z")
    assert few.n == 397
    assert few.left_out[0].name == "g x"


@pytest.mark.parametrize(
    ("make", "by", "message"),
    [
        (lambda: world(), {"g": ["a"] * 1000}, "fewer than two groups of at least 50 rows.*it has one level"),
        (lambda: rare(1000, 100), "g", r"g b \(n = 100\) expects \d.*events, fewer than 10"),
        (lambda: rare(1000, 100, flip=True), "g", r"g b \(n = 100\) expects \d.* non-events, fewer than 10"),
        (lambda: world(), {"a": ["x", "y"] * 500, "b": ["x", "y"] * 500}, "by names 2 variables"),
        (
            lambda: cs.Sample([0, 1, 2], np.eye(3), variables={"g": [1, 2, 3]}),
            "g",
            "needs two outcomes, but 3 are seen",
        ),
    ],
)
def test_what_cannot_be_compared_is_said(make, by, message):
    with pytest.raises(ValueError, match=message):
        equal_curves_test(make(), by, rng=0)


def test_the_same_rng_gives_the_same_test():
    first, second = (equal_curves_test(world(), "g", n_resamples=49, rng=3).to_dict() for _ in range(2))
    assert first == second


def test_few_clusters_are_refused():
    few = cs.Sample(
        world().outcomes,
        world().predictions.event,
        variables={"g": np.arange(1000) % 2},
        groups=np.arange(1000) % 5,
    )
    with pytest.raises(ValueError, match=r"there are 5 clusters \(groups\), but a test by signs needs at least 12"):
        equal_curves_test(few, "g", n_resamples=99, rng=0)


def groups_of(sample):
    return np.unique(sample.predictions.variables["g"].values, return_inverse=True)[1]


@pytest.mark.parametrize("levels", [2, 4])
def test_odds_ratios_are_those_of_a_regression_of_statsmodels(levels):
    """The mean of the others' log-odds is a contrast; statsmodels gives its standard error."""
    sample = world(1200, levels=levels, shift=0.8)
    found, index = equal_curves_test(sample, "g", n_resamples=19, rng=0), groups_of(sample)
    member = (index[:, None] == np.arange(levels)).astype(float)  # the basis holds the constant: leave one of it out
    basis = PooledCurve.fit(sample).basis
    assert np.ptp(basis[:, 0]) == pytest.approx(0, abs=1e-9)
    fit = GLM(sample.outcomes.astype(float), np.column_stack([member, basis[:, 1:]]), family=Binomial()).fit(
        tol=1e-12, cov_type="HC0"
    )
    correction = np.sqrt(1200 / (1200 - fit.params.size))
    for g in range(levels):
        others = np.where(np.arange(levels) == g, 0, found.sizes)
        contrast = np.zeros(fit.params.size)
        contrast[:levels] = np.eye(levels)[g] - others / others.sum()
        tested = fit.t_test(contrast)
        assert np.log(found.odds_ratios[g]) == pytest.approx(float(np.squeeze(tested.effect)), rel=1e-6)
        assert found.standard_errors[g] == pytest.approx(correction * float(np.squeeze(tested.sd)), rel=1e-6)
    if levels == 2:
        assert found.odds_ratios[0] * found.odds_ratios[1] == pytest.approx(1)


@pytest.mark.parametrize("make", [lambda sample: sample, weighted], ids=["plain", "weighted"])
@pytest.mark.parametrize("shift", [0.0, 0.8])
def test_known_odds_ratios_are_estimated(make, shift):
    """In the world the odds of group a are exp(shift) times those of all others, at every prediction."""
    sample = make(world(8000, seed=3, levels=4, shift=shift))
    estimate, error = log_odds(sample, groups_of(sample), np.arange(8000))
    weights = np.ones(8000) if sample.predictions.weights is None else sample.predictions.weights
    mass = np.bincount(groups_of(sample), weights)
    truth = np.append(shift, -shift * mass[0] / (mass.sum() - mass[1:]))
    assert (np.abs(estimate - truth) < 4 * error).all()
    assert (error < 0.12).all()


@pytest.mark.parametrize("clustered", [False, True], ids=["rows", "clusters"])
def test_standard_errors_are_those_of_a_naive_sandwich(clustered):
    """Bread from weights times variance, meat from the squared sums of weighted scores, of rows or of clusters."""
    sample = weighted(world(600, shift=0.5))
    index, y = groups_of(sample), sample.outcomes.astype(float)
    codes = np.arange(600) // 10 if clustered else np.arange(600)
    weights = sample.predictions.weights / sample.predictions.weights.mean()
    design = np.column_stack([PooledCurve.fit(sample).basis, index == 1])
    eta = GLM(y, design, family=Binomial(), var_weights=weights).fit(tol=1e-12).fittedvalues
    bread, meat = np.zeros((2, design.shape[1], design.shape[1]))
    for x, w, e in zip(design, weights, eta, strict=True):
        bread += w * e * (1 - e) * np.outer(x, x)
    for c in range(codes.max() + 1):
        score = sum(weights[i] * (y[i] - eta[i]) * design[i] for i in np.flatnonzero(codes == c))
        meat += np.outer(score, score)
    inverse, n, k = np.linalg.inv(bread), 600, design.shape[1]
    groups = codes.max() + 1
    correction = groups / (groups - 1) * (n - 1) / (n - k)
    error = np.sqrt(correction * (inverse @ meat @ inverse)[-1, -1])
    found = log_odds(sample, index, codes)[1]
    assert found == pytest.approx([error, error], rel=1e-6)


def test_clusters_have_standard_errors_of_their_own():
    """Rows ten times over say no more than rows: only clusters know it."""
    sample, copies = world(400, shift=0.8), np.repeat(np.arange(400), 10)
    once, many = equal_curves_test(sample, "g", n_resamples=19, rng=0), sample.take(copies)
    alone, found = (
        equal_curves_test(
            cs.Sample(many.outcomes, many.predictions.event, variables={"g": groups_of(many)}, groups=patient),
            "g",
            n_resamples=19,
            rng=0,
        )
        for patient in (None, copies.astype(str))
    )
    assert found.standard_errors == pytest.approx(once.standard_errors, rel=0.1)
    assert alone.standard_errors[0] < 0.4 * found.standard_errors[0]
    assert "sandwich covariance of clusters" in " ".join(found.to_text(verbose=True).split())


def test_groups_without_odds_say_why():
    rng = np.random.default_rng(0)
    g, p = rng.choice(list("abc"), 900), rng.random(900)
    never = cs.Sample((rng.random(900) < p) & ((g != "c") | (np.arange(900) < 9)), p, variables={"g": g})
    found = equal_curves_test(never, "g", n_resamples=19, rng=0)
    assert np.isnan(found.odds_ratios).tolist() == [False, False, True]
    assert found.odds_ratios[0] * found.odds_ratios[1] == pytest.approx(1)  # what is left are two groups
    (few,) = found.without_odds
    assert (few.name, few.n) == ("g c", found.sizes[2])
    assert few.reason.endswith("events, fewer than 10")
    assert f"no odds ratio: g c (n = {few.n}) {few.reason}" in " ".join(str(found).split())
    assert "nan" not in str(found)
    json.dumps(found.to_dict(), allow_nan=False)
    two = equal_curves_test(never, {"g": np.where(g == "c", "c", "ab")}, n_resamples=19, rng=0)
    assert [each.reason[:18] for each in two.without_odds] == ["has no other group", few.reason[:18]]


def test_events_of_few_clusters_are_few():
    """A group of 300 rows whose events all stem from 3 patients has no standard error that large samples justify."""
    rng = np.random.default_rng(0)
    patient, p = np.arange(1200) // 10, rng.uniform(0.05, 0.3, 1200)
    happened = np.where(patient < 30, patient % 10 == 0, rng.random(1200) < p)
    variables = {"g": np.where(patient < 30, "few", "many")}
    alone, sample = (cs.Sample(happened, p, variables=variables, groups=groups) for groups in (None, patient))
    found = equal_curves_test(sample, "g", n_resamples=19, rng=0)
    assert found.without_odds[0].reason == "has events in as good as 3 clusters of equal size, fewer than 10"
    assert np.isfinite(equal_curves_test(alone, "g", n_resamples=19, rng=0).odds_ratios).all()


def test_odds_that_the_prediction_hides_are_not_given():
    """A group with a prediction of its own, and outcomes that follow from the prediction."""
    rng = np.random.default_rng(0)
    g = rng.choice(list("abc"), 900)
    p = np.where(g == "c", 0.8, rng.choice([0.2, 0.4, 0.6], 900))
    apart = equal_curves_test(cs.Sample(rng.random(900) < p, p, variables={"g": g}), "g", n_resamples=19, rng=0)
    p = rng.random(900)
    perfect = equal_curves_test(cs.Sample(p > 0.5, p, variables={"g": g}), "g", n_resamples=19, rng=0)
    for found in (apart, perfect):
        assert np.isnan(found.odds_ratios + found.standard_errors).all()
        assert "shares hardly any predictions with the others" in found.without_odds[2].reason


def test_where_no_redraws_could_reject_more_are_taken_or_that_is_said():
    taken = equal_curves_test(world(300), "g", n_resamples=1, rng=0)
    assert taken.n_resamples == 99
    assert "99 redraws were taken, since with 1" in " ".join(str(taken).split())
    assert equal_curves_test(world(300), "g", n_resamples=19, rng=0).notes == ()
    said = equal_curves_test(world(300), "g", n_resamples=19, level=1e-9, rng=0).verdict
    assert said.startswith("No test could reject at 1e-07 %, whatever the data: with 19 redraws")


def many_rows(n=6000, apart=0.0):
    rng = np.random.default_rng(5)
    p, group = rng.random(n), rng.choice(["a", "b", "c"], n)
    chance = np.clip(p**1.3 + np.where(group == "a", apart, 0), 0, 1)
    return cs.Sample(rng.random(n) < chance, p, variables={"group": group}, labels=[False, True])


def test_sums_over_steps_have_the_law_of_rows():
    sample = many_rows()
    comparison = Comparison.of(
        PooledCurve.fit(sample), np.unique(sample.predictions.variables["group"].values, return_inverse=True)[1]
    )
    steps = ComparisonInSteps.of(comparison)
    draws = replicate(steps, steps.law.draw, 3000, steps.law.scale.size, cs.as_generator(1))
    # steps that are read at the same places: residuals of rows, added up
    curve = comparison.curve
    rows = comparison(curve.weights * ((np.random.default_rng(2).random((1000, 6000)) < curve.chance) - curve.chance))
    assert steps(steps.data[None])[0, :3] == pytest.approx(comparison(curve.residual[None])[0, :3], rel=0.1)
    assert steps(steps.data[None])[0, 3] == pytest.approx(comparison(curve.residual[None])[0, 3], rel=1e-9)
    for group in range(3):
        assert stats.ks_2samp(draws[:, group] * 1.04, rows[:, group]).pvalue > 1e-3  # walks miss a little at steps
        assert stats.ks_2samp(draws[:, group] * 1.2, rows[:, group]).pvalue < 1e-6  # the negative control
    assert stats.ks_2samp(draws[:, 3], rows[:, 3]).pvalue > 1e-3
    assert stats.ks_2samp(draws[:, 3], chi2(4).rvs(3000, random_state=0)).pvalue > 1e-3
    np.testing.assert_allclose(np.corrcoef(draws.T), np.corrcoef(rows.T), atol=0.15)


def test_many_rows_are_compared_in_steps_and_the_result_says_so():
    alike, apart = (equal_curves_test(many_rows(apart=apart), "group", rng=0) for apart in (0.0, 0.1))
    assert alike.pvalue > 0.05 > apart.pvalue
    assert "drawn from their joint normal law" in " ".join(alike.to_text(verbose=True).split())
    assert "normal law" not in str(alike)
    few = many_rows()
    few = cs.Sample(few.outcomes, few.predictions.event, variables={"group": [f"g{i % 40}" for i in range(6000)]})
    assert equal_curves_test(few, "group", n_resamples=19, min_expected=0, rng=0).how == ()
