"""Values of other packages on the same rows, ties and sure predictions among them; optional ones are skipped."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.integrate import trapezoid
from scipy.special import expit, logit
from sklearn import calibration, isotonic, metrics

import calibstat as cs
from calibstat import calibrators

pytestmark = pytest.mark.filterwarnings("ignore")  # what other packages do with numpy is not ours to mend


@pytest.fixture(scope="module", params=["continuous", "ties", "rare"])
def rows(request):
    rng = np.random.default_rng(29)
    p = {"continuous": rng.random(800), "ties": rng.integers(0, 21, 800) / 20, "rare": rng.beta(1, 19, 800)}[
        request.param
    ]
    return (rng.random(800) < p**1.2).astype(int), p


@pytest.fixture(scope="module")
def three_classes():
    rng = np.random.default_rng(31)
    p = rng.dirichlet([0.7, 1, 1.3], 600)
    return (np.cumsum(p, axis=1) < rng.random((600, 1))).sum(axis=1), p


def test_scores_and_isotonic_fit_are_those_of_scikit_learn(rows):
    y, p = rows
    sample = cs.Sample(y, p)
    assert cs.BrierScore()(sample) == pytest.approx(metrics.brier_score_loss(y, p), abs=1e-12)
    assert cs.AUC()(sample) == pytest.approx(metrics.roc_auc_score(y, p), abs=1e-12)
    inside = cs.Sample(y, np.clip(p, 1e-9, 1 - 1e-9))
    assert cs.LogScore()(inside) == pytest.approx(metrics.log_loss(y, np.clip(p, 1e-9, 1 - 1e-9)), abs=1e-12)
    curve = cs.IsotonicCurve()(sample)
    fit = isotonic.IsotonicRegression().fit(p, y).predict(curve.prediction)
    np.testing.assert_allclose(curve.recalibrated, fit, atol=1e-7)


def test_histogram_regression_is_the_calibration_curve_of_scikit_learn():
    rng = np.random.default_rng(37)
    p = rng.random(500)
    y = (rng.random(500) < p).astype(int)
    observed, predicted = calibration.calibration_curve(y, p, n_bins=10)
    cells = cs.HistogramRegression(cs.EqualWidth(10))(cs.Sample(y, p))
    weight = cells["count"].values / 500
    assert float(weight @ abs(observed - predicted)) == pytest.approx(cs.ECE(cs.EqualWidth(10))(cs.Sample(y, p)))


def test_cox_1958_fit_is_the_logistic_regression_of_statsmodels(rows):
    y, p = rows
    p = np.clip(p, 0.01, 0.99)
    found = cs.Cox()(cs.Sample(y, p))
    fit = sm.Logit(y, sm.add_constant(logit(p))).fit(disp=0)
    assert (found.intercept, found.slope) == pytest.approx(tuple(fit.params), abs=1e-6)
    assert found.slope_interval == pytest.approx(tuple(fit.conf_int()[1]), abs=1e-5)
    null = float((y * np.log(p) + (1 - y) * np.log1p(-p)).sum())
    assert found.likelihood_ratio == pytest.approx(2 * (fit.llf - null), abs=1e-6)


def test_kumar_2019_errors_are_those_of_uncertainty_calibration(rows, three_classes):
    package = pytest.importorskip("calibration")
    y, p = rows
    sample, cells = cs.Sample(y, p), cs.EqualMass(15)

    def theirs(y, p, order, debias, mode):
        scheme = package.get_equal_bins
        return package.lower_bound_scaling_ce(
            p, y, p=order, debias=debias, num_bins=15, binning_scheme=scheme, mode=mode
        )

    assert cs.ECE(cells)(sample) == pytest.approx(theirs(y, p, 1, False, "marginal"), abs=1e-12)
    debiased = max(0.0, cs.DebiasedCE(cells)(sample)) ** 0.5
    assert debiased == pytest.approx(theirs(y, p, 2, True, "marginal"), abs=1e-9)
    y, p = three_classes
    sample = cs.Sample(y, p)
    marginal = float(cs.EachClass(cs.RMSCE(cells), norm=2)(sample))
    assert marginal == pytest.approx(theirs(y, p, 2, False, "marginal"), abs=1e-12)
    assert (cs.TopLabel() | cs.ECE(cells))(sample) == pytest.approx(theirs(y, p, 1, False, "top-label"), abs=1e-12)


def test_dimitriadis_2021_parts_are_those_of_model_diagnostics(rows):
    scoring = pytest.importorskip("model_diagnostics.scoring")
    y, p = rows
    for ours, theirs in ((cs.BrierScore(), scoring.SquaredError()), (cs.LogScore(), scoring.LogLoss())):
        event = p if isinstance(ours, cs.BrierScore) else np.clip(p, 1e-6, 1 - 1e-6)
        found = cs.CORP(ours)(cs.Sample(y, event))
        expected = scoring.decompose(y, event, scoring_function=theirs, functional="mean")
        for part in ("miscalibration", "discrimination", "uncertainty"):
            assert getattr(found, part) == pytest.approx(expected[part][0], abs=1e-9)


def test_walks_are_those_of_mapie_where_nothing_is_tied():
    package = pytest.importorskip("mapie.metrics.calibration")
    rng = np.random.default_rng(41)
    p = rng.random(700)
    y = (rng.random(700) < p).astype(int)
    sample, null = cs.Sample(y, p), cs.Asymptotic()
    assert cs.Spiegelhalter()(sample) == pytest.approx(package.spiegelhalter_statistic(y, p), abs=1e-9)
    found = cs.calibration_test(sample, cs.KS(), null=null).pvalue
    assert found == pytest.approx(package.kolmogorov_smirnov_p_value(y, p), abs=1e-5)
    found = cs.calibration_test(sample, cs.Kuiper(), null=null).pvalue
    assert found == pytest.approx(package.kuiper_p_value(y, p), abs=1e-5)


def test_kull_2017_map_is_that_of_betacal():
    package = pytest.importorskip("betacal")
    rng = np.random.default_rng(43)
    p = rng.uniform(0.02, 0.98, 900)
    y = (rng.random(900) < expit(1.6 * logit(p) + 0.3)).astype(int)
    grid = np.linspace(0.03, 0.97, 30)
    theirs = package.BetaCalibration("abm").fit(p[:, None], y).predict(grid[:, None])
    np.testing.assert_allclose(calibrators.Beta().fit(p, y).predict_proba(grid)[:, 1], theirs, atol=2e-4)


def test_blasiok_nakkiran_2024_fixed_point_is_that_of_the_integral_itself(rows):
    """Images of the Gaussian kernel at p, -p, 2 - p, ... on a mesh of 20001 points; relplot has 200."""
    y, p = rows
    found = cs.SmoothECE()(cs.Sample(y, p))
    mesh = np.linspace(0, 1, 20001)
    smoothed = np.zeros_like(mesh)
    values, which = np.unique(p, return_inverse=True)
    for value, residual in zip(values, np.bincount(which, y - p), strict=True):
        for image in (value, -value, 2 - value, 2 + value, value - 2, -2 - value):
            smoothed += residual * np.exp(-0.5 * ((mesh - image) / found) ** 2)
    error = trapezoid(abs(smoothed), mesh) / (len(p) * found * np.sqrt(2 * np.pi))
    assert error == pytest.approx(found, rel=1e-5)
