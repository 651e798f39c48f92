"""The calibration belt: selection, statistic, its law, and the bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

import calibstat as cs
from calibstat.estimators.belt import CalibrationBelt, belt_quantile, belt_survival
from registry import make_sample


def world(n, seed, curve):
    rng = np.random.Generator(np.random.PCG64(seed))
    p = rng.uniform(0.02, 0.98, n)
    return cs.Sample(rng.random(n) < curve(p), p)


def naive_belt(sample, threshold=0.95, max_degree=4):
    """Nattino, Finazzi & Bertolini (2014): forward selection with a general optimiser."""
    p, y = sample.predictions.event, sample.outcomes
    linear = np.log(p / (1 - p))

    def log_likelihood(eta):
        return (y * eta - np.logaddexp(0, eta)).sum()

    def best(degree):
        scaled = linear / np.abs(linear).max()
        design = scaled[:, None] ** np.arange(degree + 1)
        gradient = lambda beta: -design.T @ (y - 1 / (1 + np.exp(-design @ beta)))
        fits = minimize(lambda beta: -log_likelihood(design @ beta), np.zeros(degree + 1), jac=gradient, tol=1e-12)
        return -fits.fun

    degree, value = 1, best(1)
    while degree < max_degree:
        higher = best(degree + 1)
        if 2 * (higher - value) <= stats.chi2.ppf(threshold, 1):
            break
        degree, value = degree + 1, higher
    return 2 * (value - log_likelihood(linear)), degree


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "curve",
    [
        lambda p: p,
        lambda p: p**2,
        lambda p: p + 0.15 * np.sin(2 * np.pi * p),
        lambda p: np.clip(p + 0.2 * np.cos(9 * p), 0, 1),
    ],
    ids=["right", "bent", "wave", "waves"],
)
def test_statistic_and_degree_agree_with_a_general_optimiser(curve, seed):
    sample = world(400, seed, curve)
    statistic, degree = naive_belt(sample)
    found = CalibrationBelt()(sample)
    assert found.degree == degree
    assert found.statistic == pytest.approx(statistic, abs=1e-5)
    assert float(found) == found.statistic


def powers(*coefficients):
    """Chances whose logit is a polynomial in the logit of the prediction."""
    return lambda p: 1 / (1 + np.exp(-np.polyval(coefficients[::-1], np.log(p / (1 - p)))))


def test_degrees_above_one_are_reached():
    for degree, curve in ((2, powers(0, 1, 0.3)), (3, powers(0, 1, 0.3, 0.15)), (4, powers(0, 1, 0.5, 0.15, -0.1))):
        sample = world(4000, 1, curve)
        assert CalibrationBelt()(sample).degree == degree
        assert naive_belt(sample)[1] == degree
        assert CalibrationBelt(max_degree=1)(sample).degree == 1


def test_the_law_of_degree_two_has_a_closed_form():
    """Integrated by hand: the increment's density times exp(d / 2) is 1 / sqrt(2 pi d)."""
    t, q = np.array([5.0, 8.0, 12.0]), stats.chi2.ppf(0.95, 1)
    tail = np.sqrt(2 / np.pi) * np.exp(-t / 2) * (np.sqrt(t) - np.sqrt(q))
    expected = (stats.chi2.cdf(t, 1) - 0.95 - tail) / 0.05
    np.testing.assert_allclose([1 - belt_survival(each, 2) for each in t], expected, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_the_law_agrees_with_simulation(degree):
    rng = np.random.Generator(np.random.PCG64(degree))
    increments = stats.chi2.ppf(rng.uniform(0.9, 1, (200_000, degree - 1)), 1)
    drawn = rng.chisquare(2, 200_000) + increments.sum(axis=1)
    for level in (0.5, 0.9, 0.99):
        value = belt_quantile(level, degree, threshold=0.9)
        assert abs((drawn <= value).mean() - level) < 4 * np.sqrt(level * (1 - level) / 200_000)
        assert belt_survival(value, degree, threshold=0.9) == pytest.approx(1 - level, abs=1e-9)


def test_asymptotic_and_exact_pvalues_are_near():
    sample = world(1500, 3, lambda p: p + 0.04 * np.sin(np.pi * p))
    found = CalibrationBelt()(sample)
    assert found.degree == 1
    result = cs.calibration_test(sample, CalibrationBelt(), null=cs.Consistency(199), rng=0)
    assert result.statistic == found.statistic
    assert abs(result.pvalue - found.asymptotic_pvalue) < 0.1


def test_the_belt_holds_the_curve_and_the_levels_are_nested():
    found = CalibrationBelt()(world(800, 4, lambda p: p**1.5))
    assert found.levels == (0.8, 0.95)
    assert (found.low[1] < found.low[0]).all()
    assert (found.low[0] < found.curve).all()
    assert (found.curve < found.high[0]).all()
    assert (found.high[0] < found.high[1]).all()
    logit = np.log(found.x / (1 - found.x))
    fitted = (logit[:, None] ** np.arange(found.degree + 1)) @ found.coefficients
    np.testing.assert_allclose(1 / (1 + np.exp(-fitted)), found.curve, atol=1e-9)


def test_the_belt_of_a_rejected_model_leaves_the_bisector_out():
    found = CalibrationBelt()(world(2000, 5, lambda p: p**2))
    assert found.asymptotic_pvalue < 1e-6
    outside = (found.low[1] > found.x) | (found.high[1] < found.x)
    assert outside.mean() > 0.5
    assert "Belt(statistic=" in repr(found)


def test_known_chances_that_are_the_predictions_give_zero():
    sample = make_sample(2)
    values = CalibrationBelt().prepare(sample.predictions)(sample.predictions.chances)
    assert abs(values[0]) < 1e-9


@pytest.mark.parametrize(
    ("labels", "p"),
    [
        ([0, 0, 0], [0.2, 0.5, 0.6]),
        ([0, 1, 1], [0.0, 1.0, 0.5]),
        ([1, 0, 1, 0], [0.5] * 4),
        ([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]),
    ],
    ids=["one label", "zero and one", "one prediction", "separated"],
)
def test_it_is_finite_on_awkward_samples(labels, p):
    found = CalibrationBelt()(cs.Sample(labels, p, labels=[0, 1]))
    assert np.isfinite([found.statistic, *found.curve]).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CalibrationBelt(max_degree=0), "max_degree is 0"),
        (lambda: CalibrationBelt(max_degree=5), "max_degree is 5"),
        (lambda: CalibrationBelt(threshold=1), "threshold is 1"),
        (lambda: CalibrationBelt()(make_sample(3)), "needs 2 classes"),
        (lambda: CalibrationBelt()(make_sample(2, weighted=True)), "no weighted version"),
    ],
)
def test_what_it_needs(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_moving_weights_are_refused():
    sample = make_sample(2)
    with pytest.raises(ValueError, match="no weighted version"):
        CalibrationBelt().prepare(sample.predictions)(sample.outcomes, np.ones(len(sample)))
