"""Smooth functions of the prediction: a spline basis, its least-squares fits and its logistic regressions."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from calibstat.arrays import Floats
from calibstat.estimators.logistic.fits import orthonormal
from calibstat.estimators.logistic.spline import restricted_cubic

_CLIP = 1e-9
_MOST_KNOTS = 20
_MOST_STEPS = 50


def logits(event: Floats) -> Floats:
    """Return the logits of predictions, clipped to [1e-9, 1 - 1e-9]."""
    clipped: Floats = np.clip(event, _CLIP, 1 - _CLIP)
    return logit(clipped)


def n_knots(n: int) -> int:
    """Return how many knots `n` rows can bear: about twice their fourth root, 5 to 20."""
    return int(np.clip(round(2 * n**0.25), 5, _MOST_KNOTS))


def spline_basis(event: Floats, knots: int) -> Floats:
    """Return orthogonal columns (n, d) that span smooth functions of the prediction.

    A restricted cubic spline of the rank, with knots at equal distances, and the logit; if there are not more distinct
    predictions than knots, all functions of the prediction.

    Parameters
    ----------
    event : (n,) floats
    knots : int
    """
    values, index, counts = np.unique(event, return_inverse=True, return_counts=True)
    if len(values) <= knots:
        basis, _ = orthonormal((index[:, None] == np.arange(len(values))).astype(float))
        return basis
    rank = (np.cumsum(counts) - counts / 2)[index] / len(event)
    places = np.unique(np.quantile(rank, (np.arange(knots) + 0.5) / knots))
    columns = [np.ones(len(event)), rank, *restricted_cubic(rank, places), logits(event)]
    basis, _ = orthonormal(np.column_stack(columns))
    return basis[:, basis.any(axis=0)]


def residuals(basis: Floats, values: Floats) -> Floats:
    """Subtract least-squares fits on an orthogonal basis from values (n,) or (n, k)."""
    return values - basis @ (basis.T @ values) / len(basis)


def maximal_log_likelihood(design: Floats, happened: Floats) -> float:
    """Return the largest log-likelihood of a logistic regression (a supremum where outcomes are separated).

    Parameters
    ----------
    design : (n, d) floats
        Well conditioned.
    happened : (n,) floats
    """
    found = np.zeros(design.shape[1])
    value = _log_likelihood(design @ found, happened)
    for _ in range(_MOST_STEPS):
        chance = expit(design @ found)
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design
        ridge = 1e-12 * len(design) * np.eye(len(found))
        step = np.linalg.solve(curvature + ridge, design.T @ (happened - chance))
        moved = _log_likelihood(design @ (found + step), happened)
        while not moved >= value and np.abs(step).max() > 1e-12:
            step = step / 2
            moved = _log_likelihood(design @ (found + step), happened)
        if not moved - value > 1e-10 * (1 + abs(value)):
            break
        found, value = found + step, moved
    return max(value, moved)


def _log_likelihood(linear: Floats, happened: Floats) -> float:
    return float((happened * linear - np.logaddexp(0, linear)).sum())
