"""What fits cost beside scikit-learn's logistic regression."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit, softmax
from sklearn.linear_model import LogisticRegression

from calibstat import calibrators as cal

# Multiples of the time of LogisticRegression().fit on the log-odds.
BINARY = [
    (cal.Platt(), 5),
    (cal.Beta(), 5),
    (cal.Temperature(), 8),
    (cal.Isotonic(), 3),
    (cal.CenteredIsotonic(), 2),
    (cal.HistogramBinning(), 3),
    (cal.ScalingBinning(), 6),
    (cal.Spline(), 25),
    (cal.Smooth(), 60),
    (cal.BBQ(), 8),
    (cal.VennAbers(), 20),
    (cal.DecisionTree(ccp_alpha=0.0), 10),
    (cal.CalibrationTree(ccp_alpha=0.0), 15),
]


def named(each):
    return type(each).__name__ if hasattr(each, "fit") else None


@pytest.fixture(scope="module")
def million():
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, 1_000_000)
    return p, (rng.random(len(p)) < expit(1.5 * logit(p) + 0.5)).astype(int)


@pytest.fixture(scope="module")
def hundred():
    rng = np.random.default_rng(1)
    z = 2 * rng.normal(size=(100_000, 100))
    law = softmax(z / 1.5, axis=1).cumsum(axis=1)[:, :-1]
    return softmax(z, axis=1), (law < rng.random((len(z), 1))).sum(axis=1)


@pytest.mark.parametrize(("calibrator", "goal"), BINARY, ids=named)
def test_a_million_rows(calibrator, goal, million, ratios, benchmark):
    p, y = million
    benchmark.pedantic(calibrator.fit, million, rounds=1)
    scores = logit(p)[:, None]
    ratios.at_most(
        f"{type(calibrator).__name__}().fit, n = 1e6, LogisticRegression",
        lambda: calibrator.fit(p, y),
        lambda: LogisticRegression().fit(scores, y),
        goal,
        rounds=2,
    )


@pytest.mark.parametrize("calibrator", [cal.Temperature(), cal.VectorScaling()], ids=named)
def test_a_hundred_classes(calibrator, hundred, ratios, benchmark):
    P, y = hundred
    benchmark.pedantic(calibrator.fit, hundred, rounds=1)
    logs = np.log(P)
    ratios.at_most(
        f"{type(calibrator).__name__}().fit, n = 1e5, K = 100, LogisticRegression",
        lambda: calibrator.fit(P, y),
        lambda: LogisticRegression().fit(logs, y),
        2,
        rounds=1,
    )


@pytest.mark.parametrize("calibrator", [cal.VectorScaling(), cal.MatrixScaling()], ids=named)
@pytest.mark.parametrize(("n", "goal"), [(2000, 5), (20_000, 3)])
def test_ten_classes(calibrator, n, goal, hundred, ratios, benchmark):
    P, y = (each[:n] for each in hundred)
    P, y = P[:, :10] / P[:, :10].sum(axis=1, keepdims=True), y % 10
    benchmark.pedantic(calibrator.fit, (P, y), rounds=1)
    logs = np.log(P)
    ratios.at_most(
        f"{type(calibrator).__name__}().fit, n = {n}, K = 10, LogisticRegression",
        lambda: calibrator.fit(P, y),
        lambda: LogisticRegression().fit(logs, y),
        goal,
        rounds=3,
    )
