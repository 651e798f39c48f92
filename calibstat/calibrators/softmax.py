"""Softmax regression by Newton's method with conjugate gradients: the family of temperature, vector and matrix scaling.

Logits are linear in the parameters. A design says how (`logits`), and how a change of logits is felt by the parameters
(`pullback`, its transpose); that is all the solver needs. SciPy's minimisers take as long and stop at gradients
of 1e-8, because they compare losses; this one stops at 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from scipy.special import logsumexp, softmax

from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.scaling import logarithms
from calibstat.data.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Design:
    """How logits (n, K) depend linearly on the parameters (d,); `pullback`, the transpose, maps rows (n, K) to (d,)."""

    logits: Callable[[Floats], Floats]
    pullback: Callable[[Floats], Floats]


def one_factor(logs: Floats) -> Design:
    """Multiply all logarithms by one factor, the inverse temperature: one parameter."""
    return Design(lambda theta: theta[0] * logs, lambda rows: np.array([np.vdot(rows, logs)]))


def factors(logs: Floats) -> Design:
    """Multiply each logarithm by a factor of its class, and add a shift of its class: K factors, then K shifts."""

    def logits(theta: Floats) -> Floats:
        scale, shift = theta.reshape(2, -1)
        return logs * scale + shift

    return Design(logits, lambda rows: np.concatenate([np.einsum("ik,ik->k", rows, logs), rows.sum(axis=0)]))


def matrix(features: Floats, n_classes: int) -> Design:
    """Multiply features by a matrix, and add a shift of each class: the matrix (d, K) row by row, then K shifts."""

    def logits(theta: Floats) -> Floats:
        table = theta.reshape(-1, n_classes)
        return features @ table[:-1] + table[-1]

    return Design(logits, lambda rows: np.vstack([features.T @ rows, rows.sum(axis=0)]).ravel())


def fit_softmax(
    design: Design, n_parameters: int, targets: Ints, weights: Floats, ridge: Floats | None = None
) -> Floats:
    """Return the parameters (d,) of the least mean cross-entropy plus ``ridge @ parameters**2``.

    The search starts at equal chances: at certain ones there would be no slope. Targets (n,) are the columns that came
    true.
    """
    mass = weights / weights.sum()
    rows = np.arange(len(targets))
    theta = np.zeros(n_parameters)
    penalty = np.zeros(n_parameters) if ridge is None else ridge
    logits = design.logits(theta)

    def loss_of(logits: Floats, theta: Floats) -> float:
        return float(mass @ (logsumexp(logits, axis=1) - logits[rows, targets]) + penalty @ theta**2)

    loss = loss_of(logits, theta)
    for _ in range(100):
        chances = softmax(logits, axis=1)
        residual = chances * mass[:, None]
        residual[rows, targets] -= mass
        gradient = design.pullback(residual) + 2 * penalty * theta
        if np.abs(gradient).max() < 1e-12:
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


@final
class Temperature(Calibrator):
    """Probabilities to the power 1 / T, normalised: softmax(log p / T) (Guo et al. 2017).

    Attributes
    ----------
    temperature_ : float
        T; infinite or negative where the probabilities mislead.
    """

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        design = one_factor(logarithms(probabilities))
        self.inverse_temperature_ = float(fit_softmax(design, 1, targets, weights)[0])

    @property
    def temperature_(self) -> float:
        """The temperature."""
        return 1 / self.inverse_temperature_ if self.inverse_temperature_ else float("inf")

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(self.inverse_temperature_ * logarithms(probabilities), axis=1)


@final
class VectorScaling(Calibrator):
    """softmax(w * log p + b), a factor and a shift for each class (Guo et al. 2017).

    Attributes
    ----------
    coef_, intercept_ : (K,) floats
    """

    needs_every_class: ClassVar[bool] = True

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        logs = logarithms(probabilities)
        # Centred columns change the shifts only, and make the equations easier to solve.
        centre = weights @ logs / weights.sum()
        self.coef_, shifts = fit_softmax(factors(logs - centre), 2 * len(centre), targets, weights).reshape(2, -1)
        self.intercept_ = shifts - self.coef_ * centre

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(self.coef_ * logarithms(probabilities) + self.intercept_, axis=1)


@final
class MatrixScaling(Calibrator):
    """softmax(log p @ W + b), unpenalised multinomial logistic regression (Guo et al. 2017).

    It has K (K + 1) parameters; with many classes take `Dirichlet`, which penalises them.

    Attributes
    ----------
    coef_ : (K, K) floats
        W; row j says what log p_j does.
    intercept_ : (K,) floats
    """

    needs_every_class: ClassVar[bool] = True

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        logs = logarithms(probabilities)
        n_classes = logs.shape[1]
        centre = weights @ logs / weights.sum()
        whitening = _whitening(logs - centre, weights / weights.sum())
        design = matrix((logs - centre) @ whitening, n_classes)
        n_parameters = (whitening.shape[1] + 1) * n_classes
        table = fit_softmax(design, n_parameters, targets, weights).reshape(-1, n_classes)
        self.coef_ = whitening @ table[:-1]
        self.intercept_ = table[-1] - centre @ self.coef_

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(logarithms(probabilities) @ self.coef_ + self.intercept_, axis=1)


def _whitening(centred: Floats, mass: Floats) -> Floats:
    """Return what makes the columns uncorrelated (K, r): the fit is the same, the equations are easier to solve."""
    values, vectors = np.linalg.eigh((centred * mass[:, None]).T @ centred)
    kept = values > 1e-12 * max(values.max(), 1e-300)
    return vectors[:, kept] / np.sqrt(values[kept])


@final
class Dirichlet(Calibrator):
    """softmax(log p @ W + b) with off-diagonal and intercept regularisation, ODIR (Kull et al. 2019).

    The mean log loss plus ``off_diagonal`` times the mean square of the K (K - 1) off-diagonal entries of W plus
    ``intercept`` times the mean square of b is minimised.

    Parameters
    ----------
    off_diagonal, intercept : float
        The paper's lambda and mu, at least 0.

    Attributes
    ----------
    coef_ : (K, K) floats
        W; row j says what log p_j does.
    intercept_ : (K,) floats
    """

    def __init__(self, off_diagonal: float = 1e-3, intercept: float = 1e-3) -> None:
        self.off_diagonal = off_diagonal
        self.intercept = intercept

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        if min(self.off_diagonal, self.intercept) < 0:
            raise ValueError(f"off_diagonal is {self.off_diagonal} and intercept {self.intercept}: pass at least 0")
        n_classes = probabilities.shape[1]
        design = matrix(logarithms(probabilities), n_classes)
        ridge = self._ridge(n_classes)
        table = fit_softmax(design, len(ridge), targets, weights, ridge).reshape(-1, n_classes)
        self.coef_, self.intercept_ = table[:-1], table[-1]

    def _ridge(self, n_classes: int) -> Floats:
        across = self.off_diagonal / (n_classes * (n_classes - 1)) * (1 - np.eye(n_classes))
        return np.vstack([across, np.full(n_classes, self.intercept / n_classes)]).ravel()

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(logarithms(probabilities) @ self.coef_ + self.intercept_, axis=1)
