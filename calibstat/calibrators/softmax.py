"""Softmax regression by Newton's method with conjugate gradients: the family of temperature, vector and matrix scaling.

Logits are linear in the parameters. A design says how (`logits`), and how a change of logits is felt by the parameters
(`pullback`, its transpose); that is all the solver needs. SciPy's minimisers take as long and stop at gradients
of 1e-8, because they compare losses; this one stops at 1e-12.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, final

import numpy as np
from scipy.special import logsumexp, softmax

from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.scaling import logarithms
from calibstat.data.arrays import Floats, Ints


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
        design = OneFactor(logarithms(probabilities))
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
        self.coef_, shifts = fit_softmax(Factors(logs - centre), 2 * len(centre), targets, weights).reshape(2, -1)
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
        design = Matrix((logs - centre) @ whitening, n_classes)
        n_parameters = (whitening.shape[1] + 1) * n_classes
        table = fit_softmax(design, n_parameters, targets, weights).reshape(-1, n_classes)
        self.coef_ = whitening @ table[:-1]
        self.intercept_ = table[-1] - centre @ self.coef_

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(logarithms(probabilities) @ self.coef_ + self.intercept_, axis=1)


def _whitening(centred: Floats, mass: Floats) -> Floats:
    """(K, r) what makes the columns uncorrelated: the fit is the same, the equations are easier to solve."""
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
        design = Matrix(logarithms(probabilities), n_classes)
        ridge = self._ridge(n_classes)
        table = fit_softmax(design, len(ridge), targets, weights, ridge).reshape(-1, n_classes)
        self.coef_, self.intercept_ = table[:-1], table[-1]

    def _ridge(self, n_classes: int) -> Floats:
        across = self.off_diagonal / (n_classes * (n_classes - 1)) * (1 - np.eye(n_classes))
        return np.vstack([across, np.full(n_classes, self.intercept / n_classes)]).ravel()

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(logarithms(probabilities) @ self.coef_ + self.intercept_, axis=1)
