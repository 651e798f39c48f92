"""Fits minimise what they say, agree with what others ship, and find a known truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.optimize import minimize, root
from scipy.special import expit, log_softmax, logit, rel_entr, softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from calibstat import calibrators as cal
from calibstat import generators
from calibstat._logistic import fit_logistic, natural_spline, roughness
from calibstat.binnings.intervals import EqualMass
from calibstat.calibrators import softmax as scaling
from calibstat.calibrators.softmax import fit_factor, goals
from calibstat.calibrators.spline import log_losses, losses_of_rows_left_out
from suites import slow_but


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 1500)
    y = (rng.random(1500) < expit(0.4 + 0.7 * logit(p))).astype(int)
    return p, y, rng.uniform(0.5, 2, 1500)


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(1)
    P = rng.dirichlet([1, 2, 1.5], 1500)
    shifted = softmax(0.8 * np.log(P) + [0.2, 0, -0.3], axis=1)
    y = (shifted.cumsum(axis=1)[:, :-1] < rng.random((1500, 1))).sum(axis=1)
    return P, y, rng.uniform(0.5, 2, 1500)


def minimum(tensor, targets, weights, ridge=0.0):
    """Logits are tensor (n, K, d) times parameters; targets (n, K) are shares. Minimised to gradient 1e-10."""
    mass = weights / weights.sum()

    def value(theta):
        return -(mass[:, None] * targets * log_softmax(tensor @ theta, axis=1)).sum() + (ridge * theta**2).sum()

    def gradient(theta):
        residual = mass[:, None] * (softmax(tensor @ theta, axis=1) - targets)
        return np.einsum("ik,ikd->d", residual, tensor) + 2 * ridge * theta

    rough = minimize(value, np.zeros(tensor.shape[2]), jac=gradient, method="BFGS", options={"gtol": 1e-8}).x
    fine = root(gradient, rough, method="lm", options={"xtol": 1e-15, "ftol": 1e-15}).x
    assert np.abs(gradient(fine)).max() < 1e-10
    return softmax(tensor @ fine, axis=1)


def binary_tensor(*features):
    columns = np.column_stack([np.ones(len(features[0])), *features])
    return np.stack([np.zeros_like(columns), columns], axis=1)


def test_binary_fits_minimise_their_objective(two):
    p, y, weights = two
    hot = np.eye(2)[y]
    events, others = weights[y == 1].sum(), weights[y == 0].sum()
    goals = np.where(y == 1, (events + 1) / (events + 2), 1 / (others + 2))
    knots = cal.Spline().fit(p, y, weights).knots_
    v = np.linspace(-1, 1, len(p)) ** 3
    cases = [
        (cal.Platt(smoothing=False), p, binary_tensor(logit(p)), hot),
        (cal.Platt(), p, binary_tensor(logit(p)), np.column_stack([1 - goals, goals])),
        (cal.Beta(), p, binary_tensor(np.log(p), -np.log1p(-p)), hot),
        (cal.Spline(), p, binary_tensor(natural_spline(logit(p), knots))[:, :, 1:], hot),
        (cal.AugmentedBeta(), np.column_stack([p, v]), binary_tensor(np.log(p), -np.log1p(-p), v, v**2), hot),
    ]
    for calibrator, X, tensor, targets in cases:
        found = calibrator.fit(X, y, weights).predict_proba(X)
        np.testing.assert_allclose(found, minimum(tensor, targets, weights), atol=1e-6)


def test_fits_of_more_classes_minimise_their_objective(three):
    P, y, weights = three
    logs, eye, hot = np.log(P), np.eye(3), np.eye(3)[y]
    shifts = np.broadcast_to(eye, (len(y), 3, 3))
    factors = logs[:, :, None] * eye
    matrix = np.einsum("ij,kl->ikjl", logs, eye).reshape(len(y), 3, 9)
    across = 0.05 / 6 * (1 - eye).ravel()
    cases = [
        (cal.Temperature(), logs[:, :, None], 0.0),
        (cal.VectorScaling(penalty=0), np.concatenate([factors, shifts], axis=2), 0.0),
        (cal.MatrixScaling(penalty=0), np.concatenate([matrix, shifts], axis=2), 0.0),
        (
            cal.Dirichlet(off_diagonal=0.05, intercept=0.02),
            np.concatenate([matrix, shifts], axis=2),
            np.append(across, np.full(3, 0.02 / 3)),
        ),
    ]
    for calibrator, tensor, ridge in cases:
        found = calibrator.fit(P, y, weights).predict_proba(P)
        np.testing.assert_allclose(found, minimum(tensor, hot, weights, ridge), atol=1e-6)


def test_smooth_minimises_its_objective_and_tends_to_a_line(two):
    p, y, _ = two
    found = cal.Smooth(n_knots=8, penalty=0.01).fit(p, y)
    rows, bend = natural_spline(logit(p), found.knots_), roughness(found.knots_)
    gradient = rows.T @ (expit(rows @ found.values_) - y) / len(y) + 0.01 * bend @ found.values_
    assert np.abs(gradient).max() < 1e-10
    line = cal.Smooth(penalty=1e4).fit(p, y).predict_proba(p)
    np.testing.assert_allclose(line, cal.Platt(smoothing=False).fit(p, y).predict_proba(p), atol=1e-5)


def test_losses_of_rows_left_out_are_those_of_fits_without_them(two):
    p, y = two[0][:120], two[1][:120]
    weights = np.repeat([1.0, 2.0], 60)
    knots, penalty = np.array([-1.5, 0.0, 1.5]), 0.01
    design, bend = natural_spline(logit(p), knots), penalty * roughness(knots)

    def fitted(mass):
        return fit_logistic(design, y[None].astype(float), mass / mass.sum(), penalty=bend * 180 / mass.sum())

    about = losses_of_rows_left_out(design, fitted(weights).coefficients[0], bend, y, weights)
    exact = [
        log_losses(design[i : i + 1] @ fitted(weights - (np.arange(120) == i)).coefficients[0], y[i : i + 1])[0]
        for i in range(120)
    ]
    np.testing.assert_allclose(about, exact, atol=0.02)
    seen = log_losses(design @ fitted(weights).coefficients[0], y)
    assert np.mean(exact - seen) > 10 * np.mean(np.abs(about - exact))


@pytest.mark.parametrize("made", [cal.Spline, cal.Smooth])
def test_bends_are_followed_where_they_are_and_nowhere_else(made):
    rng = np.random.default_rng(3)
    z = rng.normal(0, 2, 1500)
    for bent, least in ((0.3 * z**2 - 1, 3), (z, 0)):
        found = made().fit(expit(z), rng.random(1500) < expit(bent))
        assert np.abs(found.values_ - found.knots_).max() >= least
        assert least or np.abs(found.values_ - found.knots_).max() < 1e-9


def test_knots_that_nearly_touch_are_one():
    rng = np.random.default_rng(4)
    p = np.append(10.0 ** rng.uniform(-12, -6.1, 400), rng.random(400))
    y = (rng.random(800) < p).astype(int)
    found = cal.Spline(n_knots=7).fit(p, y)
    assert np.diff(found.knots_).min() > 1e-3 * np.ptp(found.knots_)
    assert np.abs(found.values_).max() < 1e3


def test_roughness_is_the_integral_of_the_squared_second_derivative():
    knots, grid = np.array([-1.0, 0.5, 1.0, 3.0]), np.linspace(-2, 4, 60_001)
    values = np.array([0.3, -1.0, 2.0, 0.5])
    curve = natural_spline(grid, knots) @ values
    bend = np.gradient(np.gradient(curve, grid), grid)
    assert values @ roughness(knots) @ values == pytest.approx(trapezoid(bend**2, grid), rel=1e-3)
    np.testing.assert_allclose(natural_spline(knots, knots), np.eye(4), atol=1e-12)
    np.testing.assert_allclose(np.diff(curve[:9000], 2), 0, atol=1e-9)


def test_platt_on_ten_scores():
    """Separable, so that only Platt's targets keep it finite; minimised by hand."""
    z = np.array([-2, -1.5, -1, -0.5, 0.5, 1, 1.5, -1.2, -0.8, -2.2])
    found = cal.Platt(input="score").fit(z[:, None], z > 0)
    assert found.coef_ == pytest.approx([1.35132612], abs=1e-7)
    assert found.intercept_ == pytest.approx(-0.25582001, abs=1e-7)


# The sign rule of beta calibration


@pytest.mark.filterwarnings("ignore:.*fits far better")  # predictions worse than chance look like that
@pytest.mark.parametrize("truth", [(-0.3, 1.5), (1.5, -0.3), (-0.5, -0.5), (1, 1)])
def test_beta_is_the_maximum_under_its_constraint(truth):
    rng = np.random.default_rng(3)
    p = rng.uniform(0.01, 0.99, 3000)
    features = np.column_stack([np.log(p), -np.log1p(-p)])
    y = (rng.random(3000) < expit(features @ truth + 0.5)).astype(int)

    def loss(theta):
        scores = features @ theta[:2] + theta[2]
        return (np.logaddexp(0, scores) - y * scores).mean()

    best = minimize(loss, [1, 1, 0], method="L-BFGS-B", bounds=[(0, None), (0, None), (None, None)], tol=1e-14)
    found = cal.Beta().fit(p, y)
    assert found.coef_.min() >= 0
    assert loss([*found.coef_, found.intercept_]) <= best.fun + 1e-9
    assert (found.coef_ == 0).any() == (min(truth) < 0)


# What others ship


def test_matrix_scaling_agrees_with_logistic_regression(three):
    P, y, weights = three
    theirs = LogisticRegression(C=1e10, max_iter=10_000, tol=1e-8).fit(np.log(P), y, weights).predict_proba(np.log(P))
    np.testing.assert_allclose(cal.MatrixScaling(penalty=0).fit(P, y, weights).predict_proba(P), theirs, atol=1e-3)


def test_isotonic_agrees_with_scikit_learn(two):
    p, y, weights = two
    theirs = IsotonicRegression(out_of_bounds="clip").fit(p[::2], y[::2], weights[::2]).predict(p)
    np.testing.assert_allclose(cal.Isotonic().fit(p[::2], y[::2], weights[::2]).predict_proba(p)[:, 1], theirs)


def test_temperature_agrees_with_scikit_learn(three):
    P, y, _ = three

    class Known(LogisticRegression):
        """Says what it is given."""

        def predict_proba(self, X):
            return np.asarray(X)

        def decision_function(self, X):
            return np.log(X)

    from sklearn.frozen import FrozenEstimator

    known = FrozenEstimator(Known().fit(P, y))
    try:
        theirs = CalibratedClassifierCV(known, method="temperature").fit(P, y).predict_proba(P)
    except ValueError:
        pytest.skip("scikit-learn has it from 1.8 on")
    np.testing.assert_allclose(cal.Temperature().fit(P, y).predict_proba(P), theirs, atol=1e-3)


def test_beta_agrees_with_betacal(two):
    betacal = pytest.importorskip("betacal")
    p, y, _ = two
    theirs = betacal.BetaCalibration("abm").fit(p.reshape(-1, 1), y).predict(p)
    np.testing.assert_allclose(cal.Beta().fit(p, y).predict_proba(p)[:, 1], theirs, atol=1e-3)


def test_binnings_agree_with_uncertainty_calibration(two):
    theirs = pytest.importorskip("calibration")
    p, y, _ = two
    histogram = theirs.HistogramCalibrator(len(p), 10)
    histogram.train_calibration(p, y)
    ours = cal.HistogramBinning(EqualMass(10)).fit(p, y).predict_proba(p)[:, 1]
    np.testing.assert_allclose(ours, histogram.calibrate(p), atol=1e-3)
    scaling = theirs.PlattBinnerCalibrator(len(p), 10)
    scaling.train_calibration(p, y)
    ours = cal.ScalingBinning().fit(p, y).predict_proba(p)[:, 1]
    np.testing.assert_allclose(ours, scaling.calibrate(p), atol=1e-3)


# A known truth

PARAMETRIC = [
    cal.Platt(),
    cal.Quadratic(),
    cal.Beta(),
    cal.StructuredVectorScaling(),
    cal.StructuredMatrixScaling(),
    cal.VectorScaling(),
    cal.MatrixScaling(),
    cal.Dirichlet(),
    cal.OneVsRest(),
]
SMOOTH = [cal.Spline(), cal.Smooth()]
STEPS = [
    cal.Isotonic(),
    cal.CenteredIsotonic(),
    cal.HistogramBinning(EqualMass(50)),
    cal.ScalingBinning(binning=EqualMass(50)),
    cal.BBQ(),
    cal.VennAbers(),
    cal.DecisionTree(min_share=0.02),
    cal.CalibrationTree(),
]


# On many rows: trees, smoothing, and penalties that are chosen by cross-validation.
SLOWEST = (cal.CalibrationTree, cal.DecisionTree, cal.Smooth, cal.VectorScaling, cal.MatrixScaling, cal.Dirichlet)


@pytest.fixture(scope="module")
def world():
    sample = generators.BetaPredictions(1, 1, generators.LogitShift(0.5)).sample(200_000, rng=4)
    p = sample.y_prob[:, 1]
    return p, sample.outcomes, expit(logit(p) + 0.5)


@pytest.mark.parametrize(
    "calibrator",
    slow_but(lambda each: not isinstance(each, SLOWEST), PARAMETRIC + SMOOTH + STEPS),
    ids=lambda each: type(each).__name__,
)
def test_a_logistic_truth_is_recovered(calibrator, world):
    p, y, truth = world
    error = np.abs(calibrator.fit(p, y).predict_proba(p)[:, 1] - truth)
    assert error.mean() < (0.003 if calibrator in PARAMETRIC else 0.004 if calibrator in SMOOTH else 0.012)
    assert np.abs(p - truth).mean() > 0.07  # the negative control: predictions themselves are off


def test_a_temperature_is_recovered():
    world = generators.DirichletPredictions([1, 1, 1], generators.TemperatureShift(2.0))
    sample = world.sample(50_000, rng=5)
    found = cal.Temperature().fit(sample.y_prob, sample.outcomes).temperature_
    assert abs(found - 2) < 0.05


@pytest.mark.parametrize("kind", [cal.Smooth, cal.Spline])
def test_models_that_separate_the_rows_are_not_chosen(kind):
    p = np.r_[np.linspace(0.05, 0.3, 60), np.linspace(0.4, 0.95, 60)]
    fitted = kind().fit(p, p > 0.35)
    np.testing.assert_allclose(fitted.predict_proba(p)[:, 1], p, rtol=1e-9)


@pytest.mark.parametrize(("n", "folds"), [(1000, 5), (3000, 1)])
def test_where_rows_are_ample_the_penalty_is_chosen_with_few_fits(n, folds, monkeypatch):
    """Ten classes have 21 parameters: five fits for each penalty below 2100 rows, one from there on."""
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.ones(10), n)
    chance = softmax(0.7 * np.log(P) + np.linspace(-1, 1, 10), axis=1)
    y = (chance.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    rows = []
    whole = scaling.fit_softmax
    monkeypatch.setattr(scaling, "fit_softmax", lambda *given: (rows.append(len(given[1])), whole(*given))[1])
    fitted = cal.VectorScaling().fit(P, y)
    assert rows.count(n) == 1
    assert len(rows) - 1 in range(3 * folds, len(scaling.PENALTIES) * folds + 1, folds)
    assert rel_entr(chance, fitted.predict_proba(P)).sum(axis=1).mean() < 2 * 20 / (2 * n)


def test_one_fold_is_enough_where_rows_are_many_by_their_weights():
    equal, heavy = np.ones(10_000), np.where(np.arange(10_000) < 100, 1e6, 1.0)
    assert scaling.one_fold_is_enough(equal, 21)
    assert not scaling.one_fold_is_enough(heavy, 21)
    assert not scaling.one_fold_is_enough(equal, 111)
    assert not scaling.one_fold_is_enough(equal, 7)
    assert scaling.one_fold_is_enough(np.ones(100_000), 7)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_one_factor_of_logarithms_is_the_optimum_whatever_its_sign_and_size(n_classes):
    """The slope of the mean loss, and the Newton step that is left; the factor of another sign has a steeper one."""
    rng = np.random.default_rng(n_classes)
    for size in (1e-100, 1e-3, 1.0, 1e3, 1e100):
        for temperature in (-3.0, -0.5, 0.05, 0.5, 1.0, 30.0):
            logs, weights = size * rng.normal(size=(60, n_classes)), rng.random(60) + 0.1
            law = softmax(3 * logs / size / temperature, axis=1)
            shares = goals(logs, (law.cumsum(axis=1)[:, :-1] < rng.random((60, 1))).sum(axis=1), weights)

            mass = weights / weights.sum()

            def slope_and_bend(factor, logs=logs / size, shares=shares, mass=mass):
                chances = softmax(factor * logs, axis=1)
                mean = (chances * logs).sum(axis=1)
                return mass @ (mean - (shares * logs).sum(axis=1)), mass @ ((chances * logs**2).sum(axis=1) - mean**2)

            found = fit_factor(logs, shares, weights) * size
            slope, bend = slope_and_bend(found)
            assert abs(slope) <= 1e-12 or abs(slope / bend) <= 1e-10 * abs(found)
            assert abs(slope_and_bend(-found)[0]) > abs(slope)
