"""Logistic regressions of many replicates at once, by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import expit

from calibstat.arrays import Floats

_MOST_STEPS = 60
# A step that gains less than this share of the log-likelihood is the last one; the next error is about its square.
_GAIN = 1e-13
# Columns of a design with less than this share of their size in new directions are left out.
_RANK = 1e-9


@final
@dataclass(frozen=True, eq=False)
class LogisticFits:
    """Fits of R replicates.

    Parameters
    ----------
    coefficients : (R, d) floats
    value : (R,) floats
        Maximal log-likelihood.
    """

    coefficients: Floats
    value: Floats


def orthonormal(design: Floats) -> tuple[Floats, Floats]:
    """Make columns orthogonal, each with mean square 1, one after the other.

    Returns
    -------
    basis : (n, d) floats
        Columns that bring no new direction are zero.
    transform : (d, d) floats
        ``basis == design @ transform``.
    """
    n, d = design.shape
    basis, transform = np.zeros((n, d)), np.zeros((d, d))
    for j in range(d):
        size = np.sqrt(np.mean(design[:, j] ** 2)) if n else 0.0
        if size == 0:
            continue
        column, combination = design[:, j] / size, np.eye(d)[j] / size
        for _ in range(2):  # twice is enough (Giraud et al. 2005)
            along = basis.T @ column / n
            column, combination = column - basis @ along, combination - transform @ along
        left = np.sqrt(np.mean(column**2))
        if left > _RANK:
            basis[:, j], transform[:, j] = column / left, combination / left
    return basis, transform


def log_likelihood(linear: Floats, happened: Floats, mass: Floats) -> Floats:
    """Return the weighted log-likelihood of linear predictors (..., n)."""
    return (mass * (happened * linear - np.logaddexp(0, linear))).sum(axis=-1)


def fit_logistic(design: Floats, happened: Floats, mass: Floats, start: Floats | None = None) -> LogisticFits:
    """Maximise the likelihood of each replicate on its own, so that it does not matter which others are there.

    Parameters
    ----------
    design : (n, d) floats
        Well conditioned; columns of zeros are ignored.
    happened : (R, n) floats
        Outcomes, or their chances.
    mass : (n,) or (R, n) floats
        Weights.
    start : (d,) floats, optional
        Where to begin; by default at zero.
    """
    n_replicates, d = len(happened), design.shape[1]
    mass = np.broadcast_to(mass, happened.shape)
    found = np.tile(np.zeros(d) if start is None else start, (n_replicates, 1))
    value = log_likelihood(linear_predictor(design, found), happened, mass)
    active = np.arange(n_replicates)
    for _ in range(_MOST_STEPS):
        if not len(active):
            break
        target, weight = happened[active], mass[active]
        step = _newton_step(design, found[active], target, weight)
        moved, reached = _climb(design, found[active], step, value[active], target, weight)
        done = reached - value[active] <= _GAIN * (1 + np.abs(reached))
        found[active], value[active] = moved, reached
        active = active[~done]
    return LogisticFits(found, value)


def information(design: Floats, coefficients: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Return the Fisher information (R, d, d) and the chances (R, n)."""
    d = design.shape[1]
    chance = expit(linear_predictor(design, coefficients))
    products = (design[:, :, None] * design[:, None, :]).reshape(-1, d * d)
    return _apart(mass * chance * (1 - chance), products).reshape(-1, d, d), chance


def linear_predictor(design: Floats, coefficients: Floats) -> Floats:
    """Return design @ coefficients of each replicate: (R, n)."""
    return _apart(coefficients, design.T)


def _apart(rows: Floats, matrix: Floats) -> Floats:
    """Multiply each row (R, k) by a matrix (k, m) on its own: one product of all would round differently."""
    product: Floats = np.matmul(rows[:, None, :], matrix)[:, 0]
    return product


def _newton_step(design: Floats, coefficients: Floats, happened: Floats, mass: Floats) -> Floats:
    curvature, chance = information(design, coefficients, mass)
    gradient = _apart(mass * (happened - chance), design)
    # Where outcomes are separated the information vanishes; the ridge keeps the step finite.
    ridge = 1e-12 * mass.sum(axis=-1)[:, None, None] * np.eye(design.shape[1])
    return np.linalg.solve(curvature + ridge, gradient[..., None])[..., 0]


def _climb(
    design: Floats, start: Floats, step: Floats, value: Floats, happened: Floats, mass: Floats
) -> tuple[Floats, Floats]:
    """Take the step, halved until the likelihood does not fall."""
    moved = start + step
    reached = log_likelihood(linear_predictor(design, moved), happened, mass)
    for _ in range(30):
        fell = ~(reached >= value)
        if not fell.any():
            break
        step = step * np.where(fell, 0.5, 1.0)[:, None]
        moved = start + step
        reached[fell] = log_likelihood(linear_predictor(design, moved[fell]), happened[fell], mass[fell])
    still = ~(reached >= value)
    moved[still], reached[still] = start[still], value[still]
    return moved, reached
