"""Softmax regression by Newton's method with conjugate gradients: the family of temperature, vector and matrix scaling.

Logits are linear in the parameters. A design holds this map (`logits`) and its transpose (`pullback`), and the solver
needs nothing else. SciPy's minimisers take as long and stop at gradients of 1e-8, because they compare losses; this one
stops at 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal, final

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax

from calibstat.calibrators.base import Calibrator, folds_of_equal_rows, simplest
from calibstat.calibrators.scaling import SMALLEST, logarithms
from calibstat.data.arrays import Bools, Floats, Ints
from calibstat.data.rounding import ROUNDING


@dataclass(frozen=True, eq=False)
class Design:
    """A linear map from parameters (d,) to `logits` (n, K); `pullback`, its transpose, maps rows (n, K) to (d,).

    `squares` is the transpose with squared coefficients: it gives approximate curvatures along each parameter.
    """

    logits: Callable[[Floats], Floats]
    pullback: Callable[[Floats], Floats]
    squares: Callable[[Floats], Floats]


def one_factor(logs: Floats) -> Design:
    """Return the design that multiplies all logarithms by one factor, the inverse temperature."""

    def pullback(rows: Floats, power: int = 1) -> Floats:
        return np.array([np.vdot(rows, logs**power)])

    return Design(lambda theta: theta[0] * logs, pullback, partial(pullback, power=2))


def factors(logs: Floats, features: Floats) -> Design:
    """Return the design with one factor of all logarithms, K factors of the features, and K shifts."""

    def logits(theta: Floats) -> Floats:
        scale, shift = theta[1:].reshape(2, -1)
        return theta[0] * logs + features * scale + shift

    def pullback(rows: Floats, power: int = 1) -> Floats:
        each = np.einsum("ik,ik->k", rows, features**power)
        return np.concatenate([[np.vdot(rows, logs**power)], each, rows.sum(axis=0)])

    return Design(logits, pullback, partial(pullback, power=2))


def matrix(logs: Floats, features: Floats) -> Design:
    """Return the design with one factor of all logarithms, a matrix (d, K) of the features, and K shifts."""

    def logits(theta: Floats) -> Floats:
        table = theta[1:].reshape(-1, logs.shape[1])
        return theta[0] * logs + features @ table[:-1] + table[-1]

    def pullback(rows: Floats, power: int = 1) -> Floats:
        each = (features**power).T @ rows
        return np.concatenate([[np.vdot(rows, logs**power)], each.ravel(), rows.sum(axis=0)])

    return Design(logits, pullback, partial(pullback, power=2))


def fit_softmax(
    design: Design,
    targets: Floats,
    weights: Floats,
    start: Floats,
    ridge: Floats | float = 0.0,
    precision: float = 1e-12,
) -> Floats:
    """Return the parameters (d,) that minimise the mean cross-entropy plus ``ridge @ parameters**2``.

    Targets (n, K) are the shares of the classes. Start at equal chances: at chances of 0 and 1 the gradient is zero.
    The search ends if no entry of the gradient is above `precision`.
    """
    mass, theta, penalty = weights / weights.sum(), start, np.broadcast_to(ridge, start.shape)
    logits = design.logits(theta)

    def loss_of(logits: Floats, theta: Floats) -> float:
        return float(mass @ losses(logits, targets) + penalty @ theta**2)

    loss = loss_of(logits, theta)
    for _ in range(100):
        chances = softmax(logits, axis=1)
        gradient = design.pullback((chances - targets) * mass[:, None]) + 2 * penalty * theta
        if np.abs(gradient).max() < precision:
            break
        step = _conjugate_gradients(design, chances, mass, penalty, gradient)
        moved = design.logits(step)
        for size in 0.5 ** np.arange(30):
            value = loss_of(logits - size * moved, theta - size * step)
            if value <= loss + 1e-15 * abs(loss):
                break
        else:
            break  # rounding allows no further gain
        theta, logits, before, loss = theta - size * step, logits - size * moved, loss, value
        if before - loss <= 1e-15 * before:
            break
    return theta


def losses(logits: Floats, targets: Floats) -> Floats:
    """Return the cross-entropy of each row (n,)."""
    found: Floats = logsumexp(logits, axis=1) - np.einsum("ik,ik->i", targets, logits)
    return found


def _conjugate_gradients(design: Design, chances: Floats, mass: Floats, penalty: Floats, gradient: Floats) -> Floats:
    """Solve hessian @ step = gradient, scaled by the diagonal, more precisely for smaller gradients."""
    diagonal = design.squares(chances * (1 - chances) * mass[:, None]) + 2 * penalty
    diagonal = np.where(diagonal > 0, diagonal, 1.0)
    step, left = np.zeros_like(gradient), gradient.copy()
    direction = left / diagonal
    size = float(left @ direction)
    enough = size * min(0.01, float(np.linalg.norm(gradient)))
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
        scaled, before = left / diagonal, size
        size = float(left @ scaled)
        if size <= enough:
            break
        direction = scaled + size / before * direction
    return step


def goals(logs: Floats, targets: Ints, weights: Floats) -> Floats:
    """Return the target shares of the classes (n, K): 1 for the true class.

    If the true class is always the most probable one, or always the least probable, no temperature is the best. Then
    one row is added whose classes are as likely as predicted; it is spread over all rows, as Platt's two rows are
    (Platt 1999).
    """
    hot = np.eye(logs.shape[1])[targets]
    true = logs[np.arange(len(logs)), targets]
    if not ((true >= logs.max(axis=1)).all() or (true <= logs.min(axis=1)).all()):
        return hot
    total = weights.sum()
    return (total * hot + softmax(logs, axis=1)) / (total + 1)


# 1 to 1e-5, the strongest first.
PENALTIES = 10.0 ** np.arange(0, -6, -1)
N_FOLDS = 5


def choose_penalty(
    design: Callable[[Bools], Design], ridge: Floats, logs: Floats, shares: Floats, targets: Ints, weights: Floats
) -> float:
    """Return the penalty chosen by cross-validation, which is infinite for temperature scaling alone.

    It is the largest strength whose log loss of unseen rows is within one standard error of the least. The search ends
    two steps after the best one. `design` makes the design of some rows, `ridge` has the weights of the penalty, and
    `shares` (n, K) are the targets.
    """
    # Rows that differ only by rounding share a fold; logarithms have size 1 here.
    fold = folds_of_equal_rows(targets, logs.round(9), N_FOLDS)
    folds = [fold == number for number in range(N_FOLDS) if len(np.unique(targets[fold != number])) > 1]
    starts, found = [np.zeros(len(ridge)) for _ in folds], []
    for penalty in [np.inf, *PENALTIES]:
        row = []
        for number, test in enumerate(folds):
            free, train = 1 if penalty == np.inf else len(ridge), ~test
            made = one_factor(logs[train]) if free == 1 else design(train)
            strength = 0.0 if free == 1 else penalty * ridge
            start = starts[number][:free]
            starts[number][:free] = fit_softmax(made, shares[train], weights[train], start, strength, 1e-6)
            row.append(weights[test] @ losses(design(test).logits(starts[number]), shares[test]))
        found.append(row)
        if len(found) - np.argmin(np.sum(found, axis=1)) > 2:
            break
    return float([np.inf, *PENALTIES][simplest(np.array(found), np.ones(len(folds)))])


@dataclass(frozen=True, eq=False)
class Fitted:
    """Softmax of ``logs @ coef + intercept``, or of ``logs * coef + intercept`` if coef is (K,)."""

    coef: Floats
    intercept: Floats
    penalty: float


def fit_scaling(logs: Floats, targets: Ints, weights: Floats, penalty: float | None, crossed: bool) -> Fitted:
    """Fit one factor of all logarithms (n, K), departures from it (a matrix if `crossed`, else a vector), and shifts.

    With logarithms of mean 0 and variance 1, the penalty times the sum of squared departures and shifts is added to the
    mean log loss. If `penalty` is None, cross-validation chooses it.
    """
    if penalty is not None and not penalty >= 0:
        raise ValueError(f"penalty is {penalty}, but it must be at least 0, or None: chosen by cross-validation")
    n_classes, mass = logs.shape[1], weights / weights.sum()
    size, shares = np.ptp(logs, axis=1).max() or 1.0, goals(logs, targets, weights)
    logs = logs / size
    centre = mass @ logs
    spread = np.sqrt(mass @ (logs - centre) ** 2)
    spread[spread <= ROUNDING] = 1.0
    features, turn = (logs - centre) / spread, np.eye(n_classes)
    if crossed:  # uncorrelated columns have the same penalty, and their equations are easier to solve
        turn = np.linalg.eigh((features * mass[:, None]).T @ features)[1]
        features = features @ turn
    make = matrix if crossed else factors
    ridge = np.append(0.0, np.ones(n_classes * (n_classes + 1 if crossed else 2)))

    def design(rows: Bools) -> Design:
        return make(logs[rows], features[rows])

    if penalty is None:
        penalty = choose_penalty(design, ridge, logs, shares, targets, weights)
    theta = np.zeros(len(ridge))
    if penalty == np.inf:
        theta[:1] = fit_softmax(one_factor(logs), shares, weights, theta[:1])
    else:
        theta = fit_softmax(make(logs, features), shares, weights, theta, penalty * ridge)
    table, shift = theta[1:-n_classes], theta[-n_classes:]
    if not crossed:
        return Fitted((theta[0] + table / spread) / size, shift - centre * table / spread, penalty)
    departs = (turn @ table.reshape(n_classes, n_classes)) / spread[:, None]
    return Fitted((theta[0] * np.eye(n_classes) + departs) / size, shift - centre @ departs, penalty)


class Softmax(Calibrator):
    """Softmax of a linear map of log p, or of logits; subclasses fit the map."""

    inputs: ClassVar[tuple[str, ...]] = ("probability", "logits")
    input: str
    smallest: float | None

    def _fitted_logs(self, rows: Floats) -> Floats:
        """Choose the number that replaces a probability of zero, and return the logarithms."""
        if self.input == "probability":
            least = np.min(rows, where=rows > 0, initial=1.0) / 2
            self.smallest_ = max(float(least), SMALLEST) if self.smallest is None else self.smallest
        return self._logs(rows)

    def _logs(self, rows: Floats) -> Floats:
        if self.input == "logits":
            return rows
        if self.smallest is None:
            return np.log(np.where(rows > 0, rows, self.smallest_))
        return logarithms(rows, self.smallest_)


@final
class Temperature(Softmax):
    """Probabilities to the power 1 / T, normalised: softmax(log p / T) (Guo et al. 2017).

    If the most probable class is always true, the likelihood is largest for T = 0. Then one row is added whose classes
    are as likely as predicted.

    Parameters
    ----------
    input : {"probability", "logits"}
        The content of X: probabilities; or logits, (n, K), or log-odds of the last of two classes, (n,).
    smallest : float, optional
        Smaller probabilities count as this one. By default only zeros are changed, to half the smallest positive
        probability of the fit: 0 as the share of twenty neighbours does not mean 1e-300.

    Attributes
    ----------
    temperature_ : float
        T; it is infinite or negative if less probable classes are more often true.
    """

    def __init__(
        self,
        input: Literal["probability", "logits"] = "probability",  # noqa: A002
        smallest: float | None = None,
    ) -> None:
        self.input = input
        self.smallest = smallest

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        logs = self._fitted_logs(probabilities)
        size = np.ptp(logs, axis=1).max() or 1.0
        shares = goals(logs, targets, weights)
        self.inverse_temperature_ = float(fit_softmax(one_factor(logs / size), shares, weights, np.zeros(1))[0] / size)

    @property
    def temperature_(self) -> float:
        """The temperature."""
        return 1 / self.inverse_temperature_ if self.inverse_temperature_ else float("inf")

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(self.inverse_temperature_ * self._logs(probabilities), axis=1)


class Shrunk(Softmax):
    """A map shrunk towards temperature scaling: a matrix if `crossed`, otherwise a vector."""

    needs_every_class: ClassVar[bool] = True
    crossed: ClassVar[bool]

    def __init__(
        self,
        input: Literal["probability", "logits"] = "probability",  # noqa: A002
        smallest: float | None = None,
        penalty: float | None = None,
    ) -> None:
        self.input = input
        self.smallest = smallest
        self.penalty = penalty

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        found = fit_scaling(self._fitted_logs(probabilities), targets, weights, self.penalty, crossed=self.crossed)
        self.coef_, self.intercept_, self.penalty_ = found.coef, found.intercept, found.penalty


@final
class VectorScaling(Shrunk):
    """softmax(w * log p + b), with a factor and a shift for each class (Guo et al. 2017).

    It is shrunk towards temperature scaling.

    Parameters
    ----------
    input : {"probability", "logits"}
        The content of X: probabilities, or logits, which replace log p.
    smallest : float, optional
        As for `Temperature`.
    penalty : float, optional
        The factor of the sum of squares of b and of the departures of w from one factor of all classes, for log p with
        mean 0 and variance 1. By default five-fold cross-validation chooses it, with the rule of one standard error; 0
        is the fit of the paper, without a penalty, which does harm if few rows are predicted wrongly.

    Attributes
    ----------
    coef_, intercept_ : (K,) floats
        w and b.
    penalty_ : float
        Infinite for temperature scaling alone.
    """

    crossed: ClassVar[bool] = False

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(self.coef_ * self._logs(probabilities) + self.intercept_, axis=1)


@final
class MatrixScaling(Shrunk):
    """softmax(log p @ W + b), multinomial logistic regression on log p (Guo et al. 2017).

    It is shrunk towards temperature scaling.

    Parameters
    ----------
    input, smallest
        As for `VectorScaling`.
    penalty : float, optional
        As for `VectorScaling`, for the squares of b and of the departures of W from a multiple of the identity.

    Attributes
    ----------
    coef_ : (K, K) floats
        W; row j has the effects of log p_j.
    intercept_ : (K,) floats
    penalty_ : float
        Infinite for temperature scaling alone.
    """

    crossed: ClassVar[bool] = True

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(self._logs(probabilities) @ self.coef_ + self.intercept_, axis=1)


@final
class Dirichlet(Softmax):
    """softmax(log p @ W + b) with off-diagonal and intercept regularisation, ODIR (Kull et al. 2019).

    It minimises the mean log loss plus ``off_diagonal`` times the mean square of the K (K - 1) off-diagonal entries of
    W plus ``intercept`` times the mean square of b. By default cross-validation chooses the strengths, as in the paper,
    and differences within the diagonal are penalised too: it is then `MatrixScaling` of log p.

    Parameters
    ----------
    off_diagonal : float, optional
        The paper's lambda, at least 0.
    intercept : float, optional
        The paper's mu; by default the same number.
    input : {"probability", "logits"}
        The content of X: probabilities, or logits, whose log-softmax is log p.
    smallest : float, optional
        As for `Temperature`.

    Attributes
    ----------
    coef_ : (K, K) floats
        W; row j has the effects of log p_j.
    intercept_ : (K,) floats
    """

    def __init__(
        self,
        off_diagonal: float | None = None,
        intercept: float | None = None,
        input: Literal["probability", "logits"] = "probability",  # noqa: A002
        smallest: float | None = None,
    ) -> None:
        self.off_diagonal = off_diagonal
        self.intercept = intercept
        self.input = input
        self.smallest = smallest

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        logs = self._fitted_logs(probabilities)
        if self.off_diagonal is None and self.intercept is None:
            found = fit_scaling(logs, targets, weights, None, crossed=True)
            self.coef_, self.intercept_ = found.coef, found.intercept
            return
        ridge = self._ridge(logs.shape[1])
        theta = fit_softmax(matrix(logs, logs), goals(logs, targets, weights), weights, np.zeros(len(ridge)), ridge)
        table = theta[1:].reshape(-1, logs.shape[1])
        self.coef_, self.intercept_ = table[:-1] + theta[0] * np.eye(logs.shape[1]), table[-1]

    def _logs(self, rows: Floats) -> Floats:
        return log_softmax(rows, axis=1) if self.input == "logits" else Softmax._logs(self, rows)

    def _ridge(self, n_classes: int) -> Floats:
        across, shift = self.off_diagonal, self.off_diagonal if self.intercept is None else self.intercept
        if across is None or shift is None or not min(across, shift) >= 0:
            raise ValueError(
                f"off_diagonal is {across} and intercept {shift}: pass at least 0, or neither, and cross-validation "
                "chooses both"
            )
        apart = across / (n_classes * (n_classes - 1)) * (1 - np.eye(n_classes))
        return np.concatenate([[0.0], apart.ravel(), np.full(n_classes, shift / n_classes)])

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return softmax(self._logs(probabilities) @ self.coef_ + self.intercept_, axis=1)
