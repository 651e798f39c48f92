"""Pairs of docs/coming-from.md: other packages and calibstat on the same rows, where the other is installed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.naive_bayes import GaussianNB

import calibstat as cs
from calibstat import calibrators

pytestmark = pytest.mark.filterwarnings("ignore")  # what other packages do with numpy is not ours to mend
same = pytest.approx
FIT, TEST = slice(0, 1000), slice(1000, 2000)
top = cs.TopLabel()


@pytest.fixture(scope="module")
def two():
    """The rows of the page."""
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    return (rng.random(2000) < 0.2 + 0.6 * p).astype(int), p


@pytest.fixture(scope="module")
def ties(two):
    y, p = two
    return y, p.round(1)


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 2000)
    return (np.cumsum(0.1 + 0.7 * p, axis=1) < rng.random((2000, 1))).sum(axis=1), p


@pytest.fixture(scope="module")
def trained():
    X, y = make_classification(3000, n_informative=5, random_state=0)
    return X, y


# scikit-learn


@pytest.mark.parametrize(("strategy", "binning"), [("uniform", cs.EqualWidth(10)), ("quantile", cs.Quantiles(10))])
def test_scikit_learn_calibration_curve(two, strategy, binning):
    y, p = two
    observed, predicted = calibration_curve(y, p, n_bins=10, strategy=strategy)
    cells = cs.HistogramRegression(binning)(cs.Sample(y, p)).sel(label=1)
    np.testing.assert_allclose(cells["mean_outcome"], observed, atol=1e-12)
    np.testing.assert_allclose(cells["mean_prediction"], predicted, atol=1e-12)


def test_scikit_learn_closes_cells_on_the_other_side():
    y, p = [0, 1, 1, 0], [0.25, 0.5, 0.75, 0.5]
    observed, _ = calibration_curve(y, p, n_bins=2)
    cells = cs.HistogramRegression(cs.EqualWidth(2))(cs.Sample(y, p)).sel(label=1)
    np.testing.assert_allclose(observed, [1 / 3, 1])
    np.testing.assert_allclose(cells["mean_outcome"], [0, 2 / 3])


def test_scikit_learn_scores(two, three):
    for y, p in (two, three):
        assert cs.BrierScore()(cs.Sample(y, p)) == same(brier_score_loss(y, p), abs=1e-12)
        assert cs.LogScore()(cs.Sample(y, p)) == same(log_loss(y, p), abs=1e-12)


@pytest.mark.parametrize(
    ("classifier", "method", "calibrator", "tolerance"),
    [
        (LogisticRegression(), "sigmoid", calibrators.Platt(), 1e-6),
        (GaussianNB(), "isotonic", calibrators.Isotonic(), 1e-12),
        (GaussianNB(), "temperature", calibrators.Temperature(), 1e-6),
    ],
)
def test_scikit_learn_calibrated_classifier(trained, classifier, method, calibrator, tolerance):
    theirs, ours, new = _both(trained, classifier, method, calibrator)
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=tolerance)


def test_scikit_learn_sigmoid_is_of_the_probability_where_there_is_no_decision_function(trained):
    theirs, ours, new = _both(trained, GaussianNB(), "sigmoid", calibrators.Platt())
    assert np.abs(ours.predict_proba(new) - theirs.predict_proba(new)).max() > 0.05


def _both(trained, classifier, method, calibrator):
    X, y = trained
    fitted = classifier.fit(X[:1000], y[:1000])
    if method == "temperature":
        pytest.importorskip("sklearn", minversion="1.8")
    theirs = CalibratedClassifierCV(FrozenEstimator(fitted), method=method).fit(X[1000:2000], y[1000:2000])
    ours = calibrators.Calibrated(fitted, calibrator, cv="prefit").fit(X[1000:2000], y[1000:2000])
    return theirs, ours, X[2000:]


# netcal


def test_netcal_errors(two, ties, three):
    metrics = pytest.importorskip("netcal.metrics")
    for y, p in (two, ties):
        sample = cs.Sample(y, p)
        assert cs.ECE(cs.EqualWidth(10))(sample) == same(metrics.ECE(10).measure(p, y), abs=1e-12)
        assert cs.MCE(cs.EqualWidth(10))(sample) == same(metrics.MCE(10).measure(p, y), abs=1e-12)
        cells = cs.HistogramRegression(cs.EqualWidth(10))(sample).sel(label=1)
        mean = float(abs(cells["deviation"]).mean())
        assert mean == same(metrics.ACE(10).measure(p, y), abs=1e-12)
    y, p = three
    sample = cs.Sample(y, p)
    assert (top | cs.ECE(cs.EqualWidth(15)))(sample) == same(metrics.ECE(15).measure(p, y), abs=1e-12)
    quantiles = metrics.ECE(15, equal_intervals=False).measure(p, y)
    assert (top | cs.ECE(cs.Quantiles(15)))(sample) == same(quantiles, abs=1e-9)


def test_netcal_calibrators(two, three):
    scaling, binning = pytest.importorskip("netcal.scaling"), pytest.importorskip("netcal.binning")
    pairs = [
        (two, scaling.TemperatureScaling(), calibrators.Temperature(), 1e-4),
        (three, scaling.TemperatureScaling(), calibrators.Temperature(), 1e-4),
        (two, scaling.BetaCalibration(), calibrators.Beta(), 1e-4),
        (two, scaling.LogisticCalibration(), calibrators.Platt(), 5e-3),  # without Platt's targets
        (two, binning.HistogramBinning(10), calibrators.HistogramBinning(cs.EqualWidth(10)), 1e-12),
        (two, binning.IsotonicRegression(), calibrators.Isotonic(), 1e-9),
    ]
    for (y, p), theirs, ours, tolerance in pairs:
        theirs.fit(p[FIT], y[FIT])
        fitted = ours.fit(p[FIT], y[FIT]).predict_proba(p[TEST])
        np.testing.assert_allclose(fitted[:, 1] if p.ndim == 1 else fitted, theirs.transform(p[TEST]), atol=tolerance)


# uncertainty-calibration


def test_uncertainty_calibration_errors(two, three):
    package = pytest.importorskip("calibration")
    y, p = two
    sample, cells = cs.Sample(y, p), cs.EqualMass(15)
    assert cs.ECE(cs.EqualWidth(15))(sample) == same(package.get_ece(p, y), abs=1e-12)
    assert cs.ECE(cells)(sample) == same(package.get_ece_em(p, y), abs=1e-12)
    assert cs.RMSCE(cells)(sample) == same(package.get_calibration_error(p, y, debias=False), abs=1e-12)
    assert cs.DebiasedCE(cells)(sample) ** 0.5 == same(package.get_calibration_error(p, y), abs=1e-9)
    assert cs.DebiasedL2(cells, root=True)(sample) == same(package.get_calibration_error(p, y), abs=1e-5)
    y, p = three
    sample = cs.Sample(y, p)
    assert (top | cs.DebiasedCE(cells))(sample) ** 0.5 == same(package.get_top_calibration_error(p, y), abs=1e-9)
    each = cs.EachClass(cs.RMSCE(cells), norm=2)(sample)
    assert float(each) == same(package.get_calibration_error(p, y, debias=False), abs=1e-12)


def test_uncertainty_calibration_takes_each_value_for_a_cell_where_values_are_few(ties):
    package = pytest.importorskip("calibration")
    y, p = ties
    found = cs.DebiasedCE(cs.UniqueValues())(cs.Sample(y, p)) ** 0.5
    assert found == same(package.get_calibration_error(p, y), abs=1e-9)


def test_uncertainty_calibration_calibrators(two):
    package = pytest.importorskip("calibration")
    y, p = two
    pairs = [
        (package.PlattCalibrator, calibrators.Platt(), 5e-3),  # without Platt's targets
        (package.HistogramCalibrator, calibrators.HistogramBinning(cs.EqualMass(10)), 1e-12),
        (package.PlattBinnerCalibrator, calibrators.ScalingBinning(calibrators.Platt(), cs.EqualMass(10)), 5e-3),
    ]
    for made, ours, tolerance in pairs:
        theirs = made(1000, num_bins=10)
        theirs.train_calibration(p[FIT], y[FIT])
        fitted = ours.fit(p[FIT], y[FIT]).predict_proba(p[TEST])[:, 1]
        np.testing.assert_allclose(fitted, theirs.calibrate(p[TEST]), atol=tolerance)
