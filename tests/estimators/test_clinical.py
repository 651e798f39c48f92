"""The integrated calibration index, its smoothers and its quantiles."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logit
from sklearn.isotonic import IsotonicRegression

import calibstat as cs
from calibstat._logistic import fit_logistic, natural_spline, orthonormal
from calibstat.estimators.loess import ICI, LOESS, CellMeans, weighted_quantiles
from calibstat.estimators.logistic_spline import LogisticSpline
from registry import make_sample

CURVES = [LogisticSpline(), cs.Cox(), cs.CalibrationBelt(), cs.IsotonicCurve()]


def indices(gaps):
    return [np.mean(gaps), np.quantile(gaps, 0.5), np.quantile(gaps, 0.9), np.max(gaps)]


def world(n, seed=0):
    rng = np.random.Generator(np.random.PCG64(seed))
    p = rng.random(n)
    return cs.Sample(rng.random(n) < p**1.5, p)


def test_the_indices_are_of_the_curve_at_every_row():
    """The whole definition of Austin & Steyerberg (2019), with the local fit written out."""
    sample = world(70)
    p, y, q = sample.predictions.event, sample.outcomes, int(70 * 0.75 + 1e-5)
    gaps = []
    for at in p:
        width = np.sort(np.abs(p - at))[q - 1]
        kernel = np.clip(1 - (np.abs(p - at) / width) ** 3, 0, None) ** 3
        root, design = np.sqrt(kernel), (p - at)[:, None] ** np.arange(3)
        gaps.append(abs(np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0][0] - at))
    found = ICI()(sample)
    np.testing.assert_allclose([found.ici, found.e50, found.e90, found.emax], indices(gaps), atol=1e-6)
    assert float(found) == found.ici


def test_lowess_of_val_prob():
    """Harrell's val.prob smooths by lowess(p, y, iter=0): local lines over two thirds of the rows."""
    lowess = pytest.importorskip("statsmodels.nonparametric.smoothers_lowess").lowess
    sample = world(300)
    p = sample.predictions.event
    smooth = lowess(sample.outcomes.astype(float), p, frac=2 / 3, it=0, delta=0, return_sorted=False)
    found = ICI(LOESS(2 / 3, degree=1))(sample)
    np.testing.assert_allclose([found.ici, found.e50, found.e90, found.emax], indices(np.abs(smooth - p)), atol=1e-6)


def test_loess_of_r_through_scikit_misc():
    loess = pytest.importorskip("skmisc.loess").loess
    sample = world(300)
    p = sample.predictions.event
    peer = loess(p, sample.outcomes.astype(float), surface="direct")
    peer.fit()
    found = ICI()(sample)
    expected = indices(np.abs(peer.outputs.fitted_values - p))
    np.testing.assert_allclose([found.ici, found.e50, found.e90, found.emax], expected, atol=1e-8)


def test_the_index_of_cell_means_is_the_binned_error():
    sample = make_sample(2, seed=1, weighted=True)
    found = ICI(CellMeans(cs.EqualWidth(5)))(sample)
    assert found.ici == pytest.approx(cs.ECE(cs.EqualWidth(5))(sample), abs=1e-14)
    assert found.emax == pytest.approx(cs.MaximumMiscalibration(cs.EqualWidth(5))(sample), abs=1e-14)


@given(
    values=st.lists(st.floats(0, 1), min_size=1, max_size=12),
    data=st.data(),
)
def test_weighted_quantiles_are_those_of_repeated_values(values, data):
    counts = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(values), max_size=len(values))))
    repeated = np.repeat(values, counts)
    levels = (0.0, 0.5, 0.9, 1.0)
    for scale in (1.0, 0.3):
        found = weighted_quantiles(np.array(values), counts * scale, levels, len(repeated))
        np.testing.assert_allclose(found, np.quantile(repeated, levels), atol=1e-12)


# Splines


def harrell(x, t):
    """Harrell (2015), eq. 2.25, for one x and one knot at a time, scaled by the squared range of the knots."""
    cubes = [max(x - knot, 0.0) ** 3 for knot in t]
    last, gap = t[-1], t[-1] - t[-2]
    terms = [cubes[j] - cubes[-2] * (last - t[j]) / gap + cubes[-1] * (t[-2] - t[j]) / gap for j in range(len(t) - 2)]
    return [term / (last - t[0]) ** 2 for term in terms]


def test_restricted_cubic_splines():
    knots, x = np.array([-2.0, -0.5, 0.3, 1.0, 2.5]), np.linspace(-4, 5, 40)
    columns = natural_spline(x, knots)
    theirs = np.column_stack([np.ones(40), x, [harrell(each, knots) for each in x]])
    assert columns.shape == theirs.shape
    np.testing.assert_allclose(columns @ np.linalg.lstsq(columns, theirs)[0], theirs, atol=1e-12)  # the same space
    outside = natural_spline(np.array([3.0, 4.0, 5.0]), knots)
    np.testing.assert_allclose(np.diff(outside, 2, axis=0), 0, atol=1e-9)  # linear beyond the knots
    np.testing.assert_allclose(natural_spline(x, knots[:2]).sum(axis=1), 1, atol=1e-12)


def test_the_spline_is_a_maximum_likelihood_fit():
    sample = world(400)
    p = sample.predictions.event
    linear = np.log(p / (1 - p))
    knots = np.quantile(linear, [0.05, 0.35, 0.65, 0.95])
    design = np.column_stack([np.ones(400), linear, *np.array([harrell(each, knots) for each in linear]).T])

    def loss(beta):
        eta = design @ beta
        return np.logaddexp(0, eta).sum() - sample.outcomes @ eta

    beta = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-7}).x
    gaps = np.abs(1 / (1 + np.exp(-design @ beta)) - p)
    found = ICI(LogisticSpline(4))(sample)
    np.testing.assert_allclose([found.ici, found.e50, found.e90, found.emax], indices(gaps), atol=2e-5)


def test_separated_outcomes_have_a_finite_index():
    sample = cs.Sample([0] * 10 + [1] * 10, np.linspace(0.05, 0.95, 20))
    found = ICI(LogisticSpline(3))(sample)
    gaps = np.abs(np.repeat([0, 1], 10) - sample.predictions.event)
    assert found.ici == pytest.approx(gaps.mean(), abs=1e-4)


def other_curves(sample):
    """The curves of other packages, or of the estimators themselves, at the rows."""
    p, y = sample.predictions.event, sample.outcomes
    logistic = sm.Logit(y, sm.add_constant(logit(p))).fit(disp=0).predict()
    belt = cs.CalibrationBelt()(sample)
    polynomial = sum(c * logit(p) ** k for k, c in enumerate(belt.coefficients))
    fitted = IsotonicRegression().fit(p, y).predict(p)
    return {cs.Cox(): logistic, cs.CalibrationBelt(): 1 / (1 + np.exp(-polynomial)), cs.IsotonicCurve(): fitted}


@pytest.mark.parametrize("ties", [False, True])
def test_eavg_e90_and_emax_of_rms_val_prob_4_5_of_the_logistic_belt_and_isotonic_curves(ties):
    """Mean, 0.9 quantile and maximum over the rows of |curve - p|, the curves by statsmodels and scikit-learn."""
    sample = world(300, seed=3)
    if ties:
        sample = cs.Sample(sample.outcomes, np.clip(np.round(sample.predictions.event, 1), 0.05, 0.95))
    for curve, fitted in other_curves(sample).items():
        found = ICI(curve)(sample)
        gaps = np.abs(fitted - sample.predictions.event)
        np.testing.assert_allclose([found.ici, found.e50, found.e90, found.emax], indices(gaps), atol=2e-7)


def test_weights_of_the_logistic_curve_are_those_of_statsmodels():
    sample = world(200, seed=4)
    p, y, weights = sample.predictions.event, sample.outcomes, np.random.default_rng(5).random(200) + 0.5
    fit = sm.GLM(y, sm.add_constant(logit(p)), sm.families.Binomial(), freq_weights=weights).fit()
    expected = np.average(np.abs(fit.predict() - p), weights=weights)
    assert ICI(cs.Cox())(cs.Sample(y, p, sample_weight=weights)).ici == pytest.approx(expected, abs=1e-7)


def test_one_prediction_has_one_chance():
    found = ICI(LogisticSpline())(cs.Sample([0, 0, 1, 0], [0.5] * 4))
    assert found.ici == pytest.approx(0.25, abs=1e-9)


def test_columns_without_news_are_left_out():
    x = np.random.Generator(np.random.PCG64(0)).normal(size=30)
    design = np.column_stack([np.ones(30), np.zeros(30), x, 2 * x - 1, x**2])
    basis, transform = orthonormal(design)
    np.testing.assert_array_equal(np.abs(basis).sum(axis=0) > 0, [True, False, True, False, True])
    kept = basis[:, [0, 2, 4]]
    np.testing.assert_allclose(kept.T @ kept / 30, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(design @ transform, basis, atol=1e-12)


def test_a_replicate_does_not_depend_on_the_others():
    rng = np.random.Generator(np.random.PCG64(1))
    design, _ = orthonormal(np.column_stack([np.ones(40), rng.normal(size=40)]))
    labels = np.concatenate([rng.integers(0, 2, (5, 40)), np.zeros((1, 40))])
    whole = fit_logistic(design, labels, np.ones(40))
    for i, row in enumerate(labels):
        alone = fit_logistic(design, row[None], np.ones(40))
        np.testing.assert_array_equal(alone.coefficients[0], whole.coefficients[i])


# Tests and errors


def test_an_index_can_be_tested():
    rng = np.random.Generator(np.random.PCG64(2))
    p = rng.random(500)
    off, right = cs.Sample(rng.random(500) < p**2, p), cs.Sample(rng.random(500) < p, p)
    for estimator in (ICI(), ICI(LogisticSpline(3)), ICI(cs.Cox()), ICI(cs.CalibrationBelt()), ICI(cs.IsotonicCurve())):
        assert cs.calibration_test(off, estimator, null=cs.Consistency(99), rng=0).pvalue == 0.01
        assert cs.calibration_test(right, estimator, null=cs.Consistency(99), rng=0).pvalue > 0.02


@pytest.mark.parametrize(
    ("estimator", "n_classes", "message"),
    [
        (ICI(), 3, "needs 2 classes"),
        *((cs.Given("age") | ICI(each), 2, "a curve over the prediction") for each in CURVES),
    ],
)
def test_what_it_needs(estimator, n_classes, message):
    with pytest.raises(ValueError, match=message):
        estimator(make_sample(n_classes))


def test_along_a_variable():
    """Given a variable it is the mean difference of two smooths along it."""
    assert 0 < (cs.Given("age") | ICI())(make_sample(2)).ici < 1


@pytest.mark.parametrize("n_knots", [2, 8])
def test_knots_are_those_of_harrell(n_knots):
    with pytest.raises(ValueError, match="n_knots is"):
        LogisticSpline(n_knots)
