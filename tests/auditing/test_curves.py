from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import minimize

import calibstat as cs
from calibstat._logistic import clipped_logit
from calibstat.auditing.curves import (
    _covariance,
    _regression,
    equal_curves_test,
    maximal_log_likelihood,
    spline_basis,
    spline_residuals,
)


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


def test_the_covariance_statistic_is_that_of_a_naive_loop():
    sample = world(150)
    index = sample.predictions.variables["g"].values.astype(int)
    event, y = sample.predictions.event, sample.outcomes.astype(float)
    value, _, _ = _covariance(event, y, index, 9, cs.as_generator(0))
    basis = spline_basis(event, 7)
    project = basis @ np.linalg.pinv(basis)
    ry, rg = y - project @ y, (index == 0) - project @ (index == 0)
    order, total, sums = np.argsort(event), 0.0, [0.0]
    for i in order:
        total += ry[i] * rg[i]
        sums.append(total)
    product = ry * rg
    assert value == pytest.approx((max(sums) - min(sums)) / np.sqrt(((product - product.mean()) ** 2).sum()))


def test_the_likelihood_ratio_is_that_of_a_general_optimiser():
    sample = world(200, shift=0.5)
    index = sample.predictions.variables["g"].values.astype(int)
    event, y = sample.predictions.event, sample.outcomes.astype(float)
    ratio, freedom, pvalue = _regression(event, y, index)
    small = spline_basis(event, 6)
    large = np.column_stack([small, index, index * clipped_logit(event)])

    def best(design):
        def loss(b):
            return -(y * (design @ b) - np.logaddexp(0, design @ b)).sum()

        return -minimize(loss, np.zeros(design.shape[1]), method="BFGS").fun

    assert freedom == 2
    assert ratio == pytest.approx(2 * (best(large) - best(small)), abs=1e-3)
    assert pvalue == pytest.approx(np.exp(-ratio / 2))


def test_the_maximum_of_separated_outcomes_is_a_supremum():
    x = np.linspace(-1, 1, 20)
    design = np.column_stack([np.ones(20), x])
    assert maximal_log_likelihood(design, (x > 0).astype(float)) == pytest.approx(0, abs=1e-6)


def test_the_basis_is_orthogonal_and_holds_the_logit():
    event = np.random.default_rng(0).beta(0.5, 0.5, 300)
    basis = spline_basis(event, 8)
    assert basis.T @ basis / 300 == pytest.approx(np.eye(basis.shape[1]), abs=1e-9)
    assert spline_residuals(basis, clipped_logit(event)) == pytest.approx(np.zeros(300), abs=1e-8)
    few = np.repeat([0.1, 0.5, 0.9], 10)
    assert spline_basis(few, 8).shape == (30, 3)
    assert spline_residuals(spline_basis(few, 8), few**3) == pytest.approx(np.zeros(30), abs=1e-12)


def test_equal_curves_of_a_bad_model_and_unequal_ones():
    alike = equal_curves_test(world(2000), "g", n_resamples=199, rng=0)
    assert alike.pvalue > 0.05
    assert alike.verdict.startswith("That the calibration curves of the 2 groups of 'g' are equal is not rejected at")
    apart = equal_curves_test(world(2000, shift=0.8), "g", n_resamples=199, rng=0)
    assert apart.pvalue <= 0.01
    assert "most happens in a" in apart.verdict
    assert apart.gaps[0] > 0 > apart.gaps[1]
    assert "This is not about miscalibration" in " ".join(str(apart).split())
    statistic, pvalue = apart
    assert (statistic, pvalue) == (apart.covariance_statistic, apart.pvalue)
    assert pvalue == min(1, 2 * min(apart.covariance_pvalue, apart.regression_pvalue))


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
        (
            lambda: cs.Sample([0, 1], [0.1, 0.9], sample_weight=[1, 2], variables={"g": [1, 2]}),
            "g",
            "has no weighted version",
        ),
    ],
)
def test_what_cannot_be_compared_is_said(make, by, message):
    with pytest.raises(ValueError, match=message):
        equal_curves_test(make(), by, rng=0)


def test_the_same_rng_gives_the_same_test():
    first, second = (equal_curves_test(world(), "g", n_resamples=49, rng=3).to_dict() for _ in range(2))
    assert first == second
