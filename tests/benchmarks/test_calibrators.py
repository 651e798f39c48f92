"""What fits cost, from raw arrays: beside the same fit of scikit-learn or in numpy, or in stable argsorts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit, softmax
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from benchmarks.timing import SIZES, stable_argsort
from benchmarks.worlds import class_arrays
from calibstat import calibrators as cal
from calibstat.calibrators.scaling import beta_features


def overconfident(n):
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, n)
    return p, (rng.random(n) < expit(1.5 * logit(p) + 0.5)).astype(int)


def newton(p, y):
    """Six steps for one factor of the log-odds."""
    odds, factor = logit(p), 1.0
    for _ in range(6):
        q = 1 / (1 + np.exp(-factor * odds))
        factor -= odds @ (q - y) / (odds**2 @ (q * (1 - q)))
    return factor


def newton_of_classes(rows, y):
    """The same for the logarithms of several classes."""
    logs, hot, factor = np.log(rows), np.eye(rows.shape[1])[y], 1.0
    for _ in range(6):
        q = softmax(factor * logs, axis=1)
        mean = (q * logs).sum(axis=1)
        factor -= ((q - hot) * logs).sum() / ((q * logs**2).sum() - mean @ mean)
    return factor


def line(p, y):
    return LogisticRegression(C=np.inf).fit(logit(p)[:, None], y)


def beta_line(p, y):
    return LogisticRegression(C=np.inf).fit(beta_features(np.column_stack([1 - p, p]), 1e-6), y)


def bend(p, y):
    odds = logit(p)
    return LogisticRegression(C=np.inf).fit(np.column_stack([odds, odds**2]), y)


def steps(p, y):
    return IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p, y)


PEERS = [
    (cal.Isotonic(), steps, "scikit-learn", 1),
    (cal.Platt(), line, "LogisticRegression", 1),
    (cal.Quadratic(), bend, "LogisticRegression", 1.3),
    (cal.Beta(), beta_line, "LogisticRegression", 0.8),
    (cal.Temperature(), newton, "six Newton steps in numpy", 2),
]


def named(each):
    return type(each).__name__ if hasattr(each, "fit") else None


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("calibrator", "peer", "whose", "goal"), PEERS, ids=named)
def test_against_the_same_fit(calibrator, peer, whose, goal, n, ratios):
    p, y = overconfident(n)
    name = f"{named(calibrator)}().fit, n = {n:g}; {whose}"
    ratios.at_most(name, lambda: calibrator.fit(p, y), lambda: peer(p, y), goal, rounds=15)


# Scikit-learn has no such fit. A fit to a thousand rows is mostly calls of numpy, which an argsort does not count.
IN_ARGSORTS = [
    (cal.CenteredIsotonic(), 20, 2.5),
    (cal.HistogramBinning(), 20, 1.3),
    (cal.ScalingBinning(), 200, 6),
    (cal.AverageLabels(), 50, 4.5),
    (cal.BBQ(), 800, 15),
    (cal.VennAbers(), 300, 35),
    (cal.Smooth(), 2200, 100),
    (cal.Spline(), 1400, 35),
    (cal.DecisionTree(ccp_alpha=0.0), 300, 14),
    (cal.CalibrationTree(ccp_alpha=0.0), 1300, 18),
]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("calibrator", "few", "many"), IN_ARGSORTS, ids=named)
def test_in_argsorts(calibrator, few, many, n, ratios):
    p, y = overconfident(n)
    name = f"{named(calibrator)}().fit, n = {n:g}; a stable argsort"
    goal = few if n == min(SIZES) else many
    ratios.at_most(name, lambda: calibrator.fit(p, y), lambda: stable_argsort(p), goal, rounds=5)


@pytest.mark.parametrize("n", SIZES)
def test_temperature_of_ten_classes(n, ratios):
    y, rows = class_arrays(n, 10)
    name = f"Temperature().fit, n = {n:g}, K = 10; six Newton steps in numpy"
    ratios.at_most(name, lambda: cal.Temperature().fit(rows, y), lambda: newton_of_classes(rows, y), 0.6)


@pytest.mark.parametrize("calibrator", [cal.VectorScaling(), cal.MatrixScaling()], ids=named)
@pytest.mark.parametrize(("n", "goal"), [(2000, 2), (20_000, 1.3)])
def test_ten_classes(calibrator, n, goal, ratios):
    """With the choice of the penalty, which the peer does without."""
    y, rows = class_arrays(n, 10)
    logs, peer = np.log(rows), LogisticRegression(max_iter=1000)
    name = f"{named(calibrator)}().fit, n = {n:g}, K = 10; LogisticRegression"
    ratios.at_most(name, lambda: calibrator.fit(rows, y), lambda: peer.fit(logs, y), goal, rounds=3)


@pytest.mark.parametrize(
    ("calibrator", "goal"),
    [(cal.EnsembleTemperature(), 0.5), (cal.StructuredVectorScaling(), 0.5), (cal.StructuredMatrixScaling(), 1)],
    ids=named,
)
@pytest.mark.parametrize("n", [2000, 20_000])
def test_ten_classes_with_known_penalties(calibrator, goal, n, ratios):
    y, rows = class_arrays(n, 10)
    logs, peer = np.log(rows), LogisticRegression(max_iter=1000)
    name = f"{named(calibrator)}().fit, n = {n:g}, K = 10; LogisticRegression"
    ratios.at_most(name, lambda: calibrator.fit(rows, y), lambda: peer.fit(logs, y), goal, rounds=3)
