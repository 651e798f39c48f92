"""Logistic regression with fractional targets, by Newton's method."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from calibstat.arrays import Floats

GRADIENT = 1e-12  # of the mean loss, largest component
STEPS = 100


def with_intercept(*columns: Floats) -> Floats:
    """(n, 1 + d) a column of ones and the columns."""
    return np.column_stack([np.ones(len(columns[0])), *columns])


def fit_logistic(
    features: Floats, targets: Floats, weights: Floats, penalty: Floats | None = None, start: Floats | None = None
) -> Floats:
    """(d,) coefficients of the least mean cross-entropy plus ``coefficients @ penalty @ coefficients / 2``.

    scikit-learn's LogisticRegression takes neither fractional targets nor a penalty other than the identity. Where
    classes are separated and nothing is penalised there is no minimum: coefficients are then large and finite.

    Parameters
    ----------
    features : (n, d) floats
    targets : (n,) floats in [0, 1]
    weights : (n,) positive floats
    penalty : (d, d) floats, optional
        A positive semidefinite matrix.
    start : (d,) floats, optional
    """
    mass = weights / weights.sum()
    matrix = np.zeros((features.shape[1],) * 2) if penalty is None else penalty
    theta = np.zeros(features.shape[1]) if start is None else start.copy()
    scores = features @ theta
    loss = _loss(scores, targets, mass) + theta @ matrix @ theta / 2
    for _ in range(STEPS):
        chances = expit(scores)
        gradient = features.T @ (mass * (chances - targets)) + matrix @ theta
        if np.abs(gradient).max() < GRADIENT:
            break
        step = _newton(features, mass * chances * (1 - chances), matrix, gradient)
        moved = features @ step
        for size in 0.5 ** np.arange(30):
            proposed = theta - size * step
            value = _loss(scores - size * moved, targets, mass) + proposed @ matrix @ proposed / 2
            if value <= loss + 1e-15 * abs(loss):
                break
        else:
            break  # rounding leaves nothing to gain
        theta, scores, before, loss = proposed, scores - size * moved, loss, value
        if before - loss <= 1e-15 * before:
            break
    return theta


def _loss(scores: Floats, targets: Floats, mass: Floats) -> float:
    return float(mass @ (np.logaddexp(0, scores) - targets * scores))


def _newton(features: Floats, curvature: Floats, matrix: Floats, gradient: Floats) -> Floats:
    """Solve for the step; collinear features share it."""
    hessian = (features * curvature[:, None]).T @ features + matrix
    scale = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    solved = np.linalg.lstsq(hessian / np.outer(scale, scale), gradient / scale, rcond=1e-13)[0]
    return solved / scale
