"""The calibrators that Berta et al. (2025, 2026) compare, beside the authors' package on worlds that are made here."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.base import clone

from calibstat import calibrators as cal


def classes(n, n_classes, seed):
    """Sharp predictions of classes that are mistaken for each other."""
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.normal(size=(n, n_classes))
    mixed = 0.7 * np.eye(n_classes) + 0.15 * rng.normal(size=(n_classes, n_classes))
    chance = softmax(z @ mixed + 0.4 * rng.normal(size=n_classes), axis=1)
    return softmax(2 * z, axis=1), (chance.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)


def two(n, seed):
    """Log-odds with a bend."""
    rng = np.random.default_rng(seed)
    x = 1.5 * rng.normal(size=n)
    y = (rng.random(n) < expit(0.3 + 0.7 * x - 0.15 * x**2)).astype(int)
    return np.column_stack([expit(-x), expit(x)]), y


def certain(n, n_classes, seed):
    """Predictions that are almost certain or 0, and one row in ten of a random class."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(n_classes, 0.05), n)
    P[P < 1e-6] = 0.0
    P /= P.sum(axis=1, keepdims=True)
    y = (P.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    return P, np.where(rng.random(n) < 0.1, rng.integers(0, n_classes, n), y)


WORLDS = {"classes": classes, "two": two, "certain": certain}
SMALLEST = float(np.finfo(np.float32).tiny)  # a zero counts as this number in probmetrics
CALIBRATORS = {
    "SMS": cal.StructuredMatrixScaling(smallest=SMALLEST),
    "SVS": cal.StructuredVectorScaling(smallest=SMALLEST),
    "ETS, squared": cal.EnsembleTemperature(smallest=SMALLEST),
    "ETS, log": cal.EnsembleTemperature("log", smallest=SMALLEST),
    "quadratic": cal.Quadratic(),
    "quadratic, penalised": cal.Quadratic(intercept=0.05, quadratic=0.1),
}
# Mean log losses, by probmetrics 1.3.0, of the half that it was fitted to and of the other half.
LOSSES = {
    ("SMS", "classes", (200, 3)): (0.87112, 0.98368),
    ("SVS", "classes", (200, 3)): (0.92834, 1.02568),
    ("ETS, squared", "classes", (200, 3)): (0.94775, 1.02021),
    ("ETS, log", "classes", (200, 3)): (0.94720, 1.02518),
    ("SMS", "classes", (1000, 10)): (1.77432, 1.73797),
    ("SVS", "classes", (1000, 10)): (1.82520, 1.76742),
    ("ETS, squared", "classes", (1000, 10)): (2.01186, 1.90741),
    ("ETS, log", "classes", (1000, 10)): (2.01139, 1.90545),
    ("SMS", "classes", (5000, 10)): (1.74927, 1.72427),
    ("SVS", "classes", (5000, 10)): (1.87946, 1.83910),
    ("ETS, squared", "classes", (5000, 10)): (1.95763, 1.92192),
    ("ETS, log", "classes", (5000, 10)): (1.95728, 1.92051),
    ("SMS", "classes", (2000, 2)): (0.48533, 0.46091),
    ("SVS", "classes", (2000, 2)): (0.48534, 0.46090),
    ("ETS, squared", "classes", (2000, 2)): (0.51990, 0.51770),
    ("ETS, log", "classes", (2000, 2)): (0.51973, 0.51779),
    ("SMS", "certain", (300, 10)): (1.56465, 1.78718),
    ("SVS", "certain", (300, 10)): (1.64411, 1.77389),
    ("ETS, squared", "certain", (300, 10)): (1.02543, 1.07365),
    ("ETS, log", "certain", (300, 10)): (1.02559, 1.07366),
    ("SMS", "certain", (2000, 4)): (0.85721, 0.88444),
    ("SVS", "certain", (2000, 4)): (0.85852, 0.88292),
    ("ETS, squared", "certain", (2000, 4)): (0.47210, 0.49727),
    ("ETS, log", "certain", (2000, 4)): (0.47204, 0.49702),
    ("quadratic", "two", (300,)): (0.57592, 0.60085),
    ("quadratic, penalised", "two", (300,)): (0.57651, 0.59462),
    ("quadratic", "two", (3000,)): (0.58983, 0.61046),
    ("quadratic, penalised", "two", (3000,)): (0.59103, 0.61344),
}


def halves(world, sizes):
    P, y = WORLDS[world](*sizes, 0)
    half = len(y) // 2
    return P[:half], y[:half], P[half:], y[half:]


def losses(fitted, P, y, new, labels):
    return [-np.log(fitted.predict_proba(X)[np.arange(len(t)), t]).mean() for X, t in ((P, y), (new, labels))]


@pytest.mark.parametrize(("name", "world", "sizes"), LOSSES, ids=str)
def test_log_losses_are_those_of_probmetrics(name, world, sizes):
    rows = halves(world, sizes)
    fitted = clone(CALIBRATORS[name]).fit(*rows[:2])
    # Rows of probability below 1e-20 have no part in its temperature of least log loss: 0.0038 where rows are few.
    allowed = 5e-3 if (name, sizes) == ("ETS, log", (300, 10)) else 1e-3
    assert losses(fitted, *rows) == pytest.approx(LOSSES[name, world, sizes], abs=allowed)


@pytest.mark.parametrize(("name", "world", "sizes"), LOSSES, ids=str)
def test_the_log_losses_above_are_found_again(name, world, sizes):
    package = pytest.importorskip("probmetrics.calibrators")
    theirs = {
        "SMS": package.SMSCalibrator,
        "SVS": package.SVSCalibrator,
        "ETS, squared": package.ETSCalibrator,
        "ETS, log": lambda: package.ETSCalibrator("ce"),
        "quadratic": lambda: package.BinaryLogisticCalibrator("quadratic"),
        "quadratic, penalised": lambda: package.RegularizedQuadraticScalingCalibrator(
            "ridge", 0.05, 0.1, max_iter=2000, tol=1e-7
        ),
    }
    rows = halves(world, sizes)
    fitted = theirs[name]().fit(*rows[:2])
    assert losses(fitted, *rows) == pytest.approx(LOSSES[name, world, sizes], abs=1e-4)


@pytest.mark.parametrize("kind", [cal.StructuredMatrixScaling, cal.StructuredVectorScaling])
@pytest.mark.parametrize(("sizes", "least"), [((300, 10), 0.5), ((2000, 4), 0.3)])
def test_zeros_cost_less_than_in_probmetrics(kind, sizes, least):
    """By default a zero counts as half the smallest positive probability."""
    rows, name = halves("certain", sizes), "SMS" if kind is cal.StructuredMatrixScaling else "SVS"
    assert losses(kind().fit(*rows[:2]), *rows)[1] < LOSSES[name, "certain", sizes][1] - least


@pytest.mark.parametrize("strengths", [(1.0, 1.0, 1.0), (0.3, 2.0, 0.1)], ids=str)
@pytest.mark.parametrize("crossed", [False, True])
def test_structured_scaling_is_the_minimum_of_the_penalised_loss(crossed, strengths):
    P, y = classes(200, 4, 3)
    weights = np.random.default_rng(4).integers(1, 4, 200)
    diagonal, intercept, off = strengths
    made = cal.StructuredMatrixScaling(*strengths) if crossed else cal.StructuredVectorScaling(diagonal, intercept)
    fitted, n = made.fit(P, y, weights), weights.sum()
    scaled = cal.Temperature().fit(P, y, weights).predict_proba(P)
    z = np.log(n / (n + 1) * scaled + 1 / (n + 1) / 4)

    def loss(theta):
        W, b = theta[:-4].reshape(4, -1) if crossed else np.diag(theta[:-4]), theta[-4:]
        each = -log_softmax(z @ W + b, axis=1)[np.arange(200), y]
        inner, outer = ((np.diag(W) - 1) ** 2).sum(), (W**2).sum() - (np.diag(W) ** 2).sum()
        return (weights @ each + 4 * (diagonal * inner + intercept * b @ b + 3 * off * outer)) / n

    found = np.concatenate([fitted.coef_.ravel(), fitted.intercept_])
    np.testing.assert_allclose(approx_fprime(found, loss, 1e-6), 0, atol=1e-5)
    start = np.concatenate([(np.eye(4) if crossed else np.ones(4)).ravel(), np.zeros(4)])
    assert loss(found) <= minimize(loss, start).fun + 1e-9


@pytest.mark.parametrize("n_classes", [3, 10])
def test_structured_scaling_of_no_use_is_temperature_scaling(n_classes):
    """Departures vanish as penalties grow; what is left is one uniform row."""
    P, y = classes(500, n_classes, 5)
    mixed = (500 * cal.Temperature().fit(P, y).predict_proba(P) + 1 / n_classes) / 501
    for made in (cal.StructuredVectorScaling(1e12, 1e12), cal.StructuredMatrixScaling(1e12, 1e12, 1e12)):
        np.testing.assert_allclose(made.fit(P, y).predict_proba(P), mixed, atol=1e-9)
    vector = cal.StructuredVectorScaling(0.5, 2.0).fit(P, y).predict_proba(P)
    matrix = cal.StructuredMatrixScaling(0.5, 2.0, 1e12).fit(P, y).predict_proba(P)
    np.testing.assert_allclose(matrix, vector, atol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "log"])
def test_shares_of_the_ensemble_are_the_best_on_the_simplex(loss):
    P, y = certain(300, 4, 6)
    fitted = cal.EnsembleTemperature(loss).fit(P, y)
    logs = np.log(np.where(P > 0, P, fitted.smallest_))
    scaled, given = (softmax(factor * logs, axis=1) for factor in (fitted.inverse_temperature_, 1))
    parts = np.stack([scaled, given, np.full_like(P, 0.25)])
    hot = np.eye(4)[y]

    def value(w):
        said = np.tensordot(w, parts, axes=1)
        return ((said - hot) ** 2).sum(axis=1).mean() if loss == "squared" else -np.log(said[hot == 1]).mean()

    grid = [np.array([a, b, 100 - a - b]) / 100 for a in range(101) for b in range(101 - a)]
    np.testing.assert_allclose(fitted.predict_proba(P), np.tensordot(fitted.shares_, parts, axes=1))
    assert fitted.shares_.min() >= 0
    assert fitted.shares_.sum() == pytest.approx(1, abs=1e-12)
    assert value(fitted.shares_) <= min(map(value, grid)) + 1e-12
    assert value(fitted.shares_) < value(np.array([1.0, 0, 0])) - 1e-3  # temperature scaling alone


def test_quadratic_scaling_is_the_minimum_of_the_penalised_loss():
    P, y = two(400, 7)
    x = logit(P[:, 1])

    def loss(theta):
        log_odds = theta @ [np.ones(400), x, x**2]
        return (np.log1p(np.exp(log_odds)) - y * log_odds).mean() + 0.05 * theta[0] ** 2 + 0.1 * theta[2] ** 2

    fitted = cal.Quadratic(intercept=0.05, quadratic=0.1).fit(P, y)
    found = np.array([fitted.intercept_, *fitted.coef_])
    np.testing.assert_allclose(approx_fprime(found, loss, 1e-6), 0, atol=1e-5)
    assert loss(np.array([0.3, 0.7, -0.15])) > loss(found)


def test_quadratic_scaling_is_right_for_normal_scores_of_unequal_variance():
    """Log-odds of the classes have laws N(-1, 1) and N(1, 4): the true log-odds bend, and a line stays off."""
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, 100_000)
    x = np.where(y == 1, rng.normal(1, 2, len(y)), rng.normal(-1, 1, len(y)))
    truth = expit(-np.log(2) - (x - 1) ** 2 / 8 + (x + 1) ** 2 / 2)
    fits = [made.fit(expit(x), y) for made in (cal.Quadratic(), cal.Platt())]
    off = [np.abs(fitted.predict_proba(expit(x))[:, 1] - truth).mean() for fitted in fits]
    assert off[0] < 0.003
    assert off[1] > 0.05
