"""Logistic fits of one or two columns beside an offset, of many replicates at once."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Bools, Floats
from calibstat.estimators.tally import ratio

_MOST_STEPS = 100
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
    value = log_likelihood(found @ columns + offset, event, masses)
    active = np.arange(n_replicates)
    for _ in range(_MOST_STEPS):
        chance = _expit(found[active] @ columns + offset)
        mass, target = masses[active], event[active]
        gradient = (mass * (target - chance)) @ columns.T
        information = _products(columns, mass * chance * (1 - chance))
        step = np.clip(_solve(information, gradient), -_LONGEST_STEP, _LONGEST_STEP)
        for _ in range(20):
            reached = log_likelihood((found[active] + step) @ columns + offset, target, mass)
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


def log_likelihood(linear: Floats, event: Floats, masses: Floats) -> Floats:
    """Return the weighted log-likelihood of linear predictors (..., n): (...,)."""
    softplus = np.maximum(linear, 0.0) + np.log(1.0 + np.exp(-np.abs(linear)))
    return (masses * (event * linear - softplus)).sum(axis=-1)


def _expit(linear: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(0.5 * linear))
