"""Softmax regression by Newton's method with conjugate gradients: the family of temperature, vector and matrix scaling.

Logits are linear in the parameters. A design says how (`logits`), and how a change of logits is felt by the parameters
(`pullback`, its transpose); that is all the solver needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from scipy.special import logsumexp, softmax

from calibstat.arrays import Floats, Ints

GRADIENT = 1e-12  # of the mean loss, largest component
STEPS = 100


class Design(Protocol):
    """How logits depend on the parameters."""

    def logits(self, theta: Floats) -> Floats:
        """(n, K) logits of parameters (d,)."""

    def pullback(self, rows: Floats) -> Floats:
        """(d,) the transpose of `logits`, for rows (n, K)."""


@final
@dataclass(frozen=True, eq=False)
class OneFactor:
    """All logarithms times one factor, the inverse temperature."""

    logs: Floats

    def logits(self, theta: Floats) -> Floats:
        """(n, K) logits of parameters (1,)."""
        return theta[0] * self.logs

    def pullback(self, rows: Floats) -> Floats:
        """(1,) the transpose of `logits`."""
        return np.array([np.vdot(rows, self.logs)])


@final
@dataclass(frozen=True, eq=False)
class Factors:
    """Each logarithm times a factor of its class, plus a shift of its class: parameters (factors, shifts)."""

    logs: Floats

    def logits(self, theta: Floats) -> Floats:
        """(n, K) logits of parameters (2 K,)."""
        factors, shifts = theta.reshape(2, -1)
        return self.logs * factors + shifts

    def pullback(self, rows: Floats) -> Floats:
        """(2 K,) the transpose of `logits`."""
        return np.concatenate([np.einsum("ik,ik->k", rows, self.logs), rows.sum(axis=0)])


@final
@dataclass(frozen=True, eq=False)
class Matrix:
    """Features times a matrix, plus a shift of each class: parameters (matrix (d, K) row by row, shifts)."""

    features: Floats
    n_classes: int

    def logits(self, theta: Floats) -> Floats:
        """(n, K) logits of parameters ((d + 1) K,)."""
        table = theta.reshape(-1, self.n_classes)
        return self.features @ table[:-1] + table[-1]

    def pullback(self, rows: Floats) -> Floats:
        """((d + 1) K,) the transpose of `logits`."""
        return np.vstack([self.features.T @ rows, rows.sum(axis=0)]).ravel()


def fit_softmax(
    design: Design, n_parameters: int, targets: Ints, weights: Floats, ridge: Floats | None = None
) -> Floats:
    """(d,) parameters of the least mean cross-entropy plus ``ridge @ parameters**2``.

    Parameters
    ----------
    design : Design
    n_parameters : int
        d. The search starts at equal chances: at certain ones there would be no slope.
    targets : (n,) ints
        The column that came true.
    weights : (n,) positive floats
    ridge : (d,) floats, optional
    """
    mass = weights / weights.sum()
    rows = np.arange(len(targets))
    theta = np.zeros(n_parameters)
    penalty = np.zeros(n_parameters) if ridge is None else ridge
    logits = design.logits(theta)

    def loss_of(logits: Floats, theta: Floats) -> float:
        return float(mass @ (logsumexp(logits, axis=1) - logits[rows, targets]) + penalty @ theta**2)

    loss = loss_of(logits, theta)
    for _ in range(STEPS):
        chances = softmax(logits, axis=1)
        residual = chances * mass[:, None]
        residual[rows, targets] -= mass
        gradient = design.pullback(residual) + 2 * penalty * theta
        if np.abs(gradient).max() < GRADIENT:
            break
        step = _conjugate_gradients(design, chances, mass, penalty, gradient)
        moved = design.logits(step)
        for size in 0.5 ** np.arange(30):
            value = loss_of(logits - size * moved, theta - size * step)
            if value <= loss + 1e-15 * abs(loss):
                break
        else:
            break  # rounding leaves nothing to gain
        theta, logits, before, loss = theta - size * step, logits - size * moved, loss, value
        if before - loss <= 1e-15 * before:
            break
    return theta


def _conjugate_gradients(design: Design, chances: Floats, mass: Floats, penalty: Floats, gradient: Floats) -> Floats:
    """Solve hessian @ step = gradient, the more precisely the smaller the gradient is."""
    step, left = np.zeros_like(gradient), gradient.copy()
    direction, size = left.copy(), float(left @ left)
    enough = size * min(0.01, np.sqrt(size))
    weighted = chances * mass[:, None]
    for _ in range(2 * len(gradient) + 10):
        change = design.logits(direction)
        change -= np.einsum("ik,ik->i", chances, change)[:, None]
        turned = design.pullback(weighted * change) + 2 * penalty * direction
        curvature = float(direction @ turned)
        if curvature <= 1e-300:
            break
        step += size / curvature * direction
        left -= size / curvature * turned
        size, before = float(left @ left), size
        if size <= enough:
            break
        direction = left + size / before * direction
    return step
