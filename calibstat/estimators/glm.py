"""Logistic regressions of many replicates at once, by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import expit

from calibstat.data.arrays import Bools, Floats
from calibstat.estimators.tally import ratio

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


# Logistic fits of one or two columns beside an offset, of many replicates at once.

_MOST_OFFSET_STEPS = 100
_TINY_STEP = 1e-10
_LONGEST_STEP = 3.0
# Coefficients beyond this mean separated outcomes: the likelihood has no maximum.
_DIVERGED = 40.0


def fit_logit(
    columns: Floats, offset: Floats, event: Floats, masses: Floats, start: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Fit P(event) = expit(offset + b . columns) to each replicate by Newton's method with halved steps.

    Parameters
    ----------
    columns : (d, n) floats
    offset : (n,) floats
    event, masses : (R, n) floats
    start : (d,) floats, optional
        Zeros by default.

    Returns
    -------
    coefficients, errors : (R, d) floats
        NaN where there is no maximum.
    value : (R,) floats
        The log-likelihood reached.
    """
    n_replicates, d = len(event), len(columns)
    found = np.tile(np.zeros(d) if start is None else start, (n_replicates, 1))
    value = offset_log_likelihood(found @ columns + offset, event, masses)
    active = np.arange(n_replicates)
    for _ in range(_MOST_OFFSET_STEPS):
        chance = _expit(found[active] @ columns + offset)
        mass, target = masses[active], event[active]
        gradient = (mass * (target - chance)) @ columns.T
        information = _products(columns, mass * chance * (1 - chance))
        step = np.clip(_solve(information, gradient), -_LONGEST_STEP, _LONGEST_STEP)
        for _ in range(20):
            reached = offset_log_likelihood((found[active] + step) @ columns + offset, target, mass)
            fell = ~(reached >= value[active] - 1e-12 * np.abs(value[active]))
            if not fell.any():
                break
            step[fell] *= 0.5
        found[active] += step
        value[active] = np.maximum(reached, value[active])
        moving = (np.abs(step).max(axis=-1) > _TINY_STEP) & (np.abs(found[active]).max(axis=-1) < _DIVERGED)
        active = active[moving]
        if not len(active):
            break
    return *_errors(columns, offset, found, masses), value


def _errors(columns: Floats, offset: Floats, found: Floats, masses: Floats) -> tuple[Floats, Floats]:
    """Return coefficients and their sandwich errors, NaN where the likelihood has no maximum."""
    chance = _expit(found @ columns + offset)
    variance = chance * (1 - chance)
    bread, meat = _products(columns, masses * variance), _products(columns, masses**2 * variance)
    lost = (np.abs(found).max(axis=-1) >= _DIVERGED) | ~_invertible(bread)
    safe = np.where(lost[:, None, None], np.eye(len(columns)), bread)
    inverse = np.linalg.inv(safe)
    errors = np.sqrt(np.maximum(np.diagonal(inverse @ meat @ inverse, axis1=-2, axis2=-1), 0.0))
    return np.where(lost[:, None], np.nan, found), np.where(lost[:, None], np.nan, errors)


def _products(columns: Floats, masses: Floats) -> Floats:
    """Return the sums of mass x x' (R, d, d)."""
    d = len(columns)
    return (masses @ (columns[:, None, :] * columns).reshape(d * d, -1).T).reshape(-1, d, d)


def _invertible(matrices: Floats) -> Bools:
    diagonal = np.diagonal(matrices, axis1=-2, axis2=-1).prod(axis=-1)
    return np.linalg.det(matrices) > 1e-12 * np.maximum(diagonal, 1e-300)


def _solve(information: Floats, gradient: Floats) -> Floats:
    """Newton steps (R, d); where the information is singular, along the first coefficient alone."""
    regular = _invertible(information)
    safe = np.where(regular[:, None, None], information, np.eye(information.shape[-1]))
    steps = np.linalg.solve(safe, gradient[..., None])[..., 0]
    alone = np.zeros_like(steps)
    alone[:, 0] = ratio(gradient[:, 0], information[:, 0, 0])
    return np.where(regular[:, None], steps, alone)


def offset_log_likelihood(linear: Floats, event: Floats, masses: Floats) -> Floats:
    """Return the weighted log-likelihood of linear predictors (..., n): (...,)."""
    softplus = np.maximum(linear, 0.0) + np.log(1.0 + np.exp(-np.abs(linear)))
    return (masses * (event * linear - softplus)).sum(axis=-1)


def _expit(linear: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(0.5 * linear))
