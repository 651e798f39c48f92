"""Softmax regression by Newton's method with conjugate gradients: the family of temperature, vector and matrix scaling.

Logits are linear in the parameters. A design holds this map (`logits`) and its transpose (`pullback`), and the solver
needs nothing else. SciPy's minimisers take as long and stop at gradients of 1e-8, because they compare losses; this one
stops at 1e-12.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, TypeAlias, final

import numpy as np
from scipy.special import log_softmax, softmax

from calibstat._dataclass import dataclass
from calibstat._progress import track
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


# Below, the part of one factor of all logarithms is added up with the others, so that rows are passed through once.


def factors(features: Floats, spread: Floats, centre: Floats) -> Design:
    """Return the design with one factor of ``features * spread + centre``, K factors of the features, and K shifts."""

    def logits(theta: Floats) -> Floats:
        scale, shift = theta[1:].reshape(2, -1)
        found: Floats = features * (theta[0] * spread + scale)
        found += theta[0] * centre + shift
        return found

    def pullback(rows: Floats) -> Floats:
        each, total = np.einsum("ik,ik->k", rows, features), rows.sum(axis=0)
        return np.concatenate([[each @ spread + total @ centre], each, total])

    def squares(rows: Floats) -> Floats:
        each, total = np.einsum("ik,ik,ik->k", rows, features, features), rows.sum(axis=0)
        crossed = np.einsum("ik,ik->k", rows, features) @ (2 * spread * centre)
        return np.concatenate([[each @ spread**2 + crossed + total @ centre**2], each, total])

    return Design(logits, pullback, squares)


def matrix(features: Floats, back: Floats, centre: Floats) -> Design:
    """Return the design with one factor of ``features @ back + centre``, a matrix of the features, and K shifts."""

    def logits(theta: Floats) -> Floats:
        table = theta[1:].reshape(-1, len(centre))
        found: Floats = features @ (theta[0] * back + table[:-1])
        found += theta[0] * centre + table[-1]
        return found

    def pullback(rows: Floats) -> Floats:
        each, total = features.T @ rows, rows.sum(axis=0)
        return np.concatenate([[np.vdot(each, back) + total @ centre], each.ravel(), total])

    def squares(rows: Floats) -> Floats:
        all_logs = np.vdot(rows, (features @ back + centre) ** 2)
        return np.concatenate([[all_logs], ((features**2).T @ rows).ravel(), rows.sum(axis=0)])

    return Design(logits, pullback, squares)


def fit_softmax(
    design: Design,
    targets: Floats,
    weights: Floats,
    start: Floats,
    ridge: Floats | float = 0.0,
    enough: float = 0.0,
    offset: Floats | float = 0.0,
) -> Floats:
    """Return the parameters (d,) that minimise the mean cross-entropy plus ``ridge @ parameters**2``.

    Targets (n, K) are the shares of the classes; an `offset` (n, K) is added to all logits. Start at equal chances: at
    chances of 0 and 1 the gradient is zero. The search ends after a step that gained at most `enough`, or if no entry
    of the gradient is above 1e-12.
    """
    mass, theta, penalty = weights / weights.sum(), start, np.broadcast_to(ridge, start.shape)

    def value_of(logits: Floats, theta: Floats) -> tuple[Floats, float]:
        chances, loss = chances_and_losses(logits, targets)
        return chances, float(mass @ loss + penalty @ theta**2)

    logits = design.logits(theta) + offset
    chances, loss = value_of(logits, theta)
    for _ in range(100):
        gradient = design.pullback((chances - targets) * mass[:, None]) + 2 * penalty * theta
        if np.abs(gradient).max() < 1e-12:
            break
        step = _conjugate_gradients(design, chances, mass, penalty, gradient)
        moved = design.logits(step)
        for size in 0.5 ** np.arange(30):
            chances, value = value_of(logits - size * moved, theta - size * step)
            if value <= loss + 1e-15 * abs(loss):
                break
        else:
            break  # rounding allows no further gain
        theta, logits, before, loss = theta - size * step, logits - size * moved, loss, value
        if before - loss <= max(enough, 1e-15 * before):
            break
    return theta


def chances_and_losses(logits: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """Return the softmax (n, K) and the cross-entropy of each row (n,); they share the exponentials."""
    above = logits - logits.max(axis=1, keepdims=True)
    chances = np.exp(above)
    total = chances.sum(axis=1)
    chances /= total[:, None]
    return chances, np.log(total) - np.einsum("ik,ik->i", targets, above)


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


# One factor of all logarithms: the loss is convex, and its slope increases with the factor.

Slope: TypeAlias = Callable[[float], tuple[float, float]]


def fit_factor(logs: Floats, shares: Floats, weights: Floats) -> float:
    """Return the factor of logarithms (n, K), an inverse temperature, for which their softmax has the least mean loss.

    Newton's method finds where the slope of the loss is zero. A step that leaves the known bracket is a bisection.
    """
    mass = weights / weights.sum()
    slope, size = (_slope_of_two if logs.shape[1] == 2 else _slope_of_many)(logs, shares, mass)
    low, high, factor = 0.0, np.inf, min(1.0, 50 / size) if size else 0.0
    with np.errstate(over="ignore"):
        for _ in range(200):
            value, curvature = slope(factor)
            low, high = (factor, high) if value < 0 else (low, factor)
            step = min(-value / curvature, 50 / size) if curvature > 0 else -factor
            if abs(step) <= 1e-9 * factor:  # the error that is left is its square
                return factor + step
            if low == 0 >= factor + step and (at_zero := slope(0.0)[0]) >= 0:
                return -fit_factor(-logs, shares, weights) if at_zero > 0 else 0.0
            factor = factor + step if low < factor + step < high else (low + high) / 2
    return factor


def _slope_of_two(logs: Floats, shares: Floats, mass: Floats) -> tuple[Slope, float]:
    """Return the slope of the loss, with its derivative, as a function of the factor, and the size of the logs."""
    apart = logs[:, 1] - logs[:, 0]
    first = mass * apart
    second, known = first * apart, float(first @ shares[:, 1])
    chance, other = np.empty_like(apart), np.empty_like(apart)

    def at(factor: float) -> tuple[float, float]:
        np.exp(np.multiply(apart, -factor, out=chance), out=chance)
        np.reciprocal(np.add(chance, 1, out=chance), out=chance)
        np.multiply(chance, np.subtract(1, chance, out=other), out=other)
        return float(first @ chance) - known, float(second @ other)

    return at, float(max(apart.max(), -apart.min()))


def _slope_of_many(logs: Floats, shares: Floats, mass: Floats) -> tuple[Slope, float]:
    """Return the same for more classes. Arrays are (K, n), since sums over few classes are then fast."""
    across = np.ascontiguousarray(logs.T)
    below = across - across.max(axis=0)
    known = float(np.einsum("kn,nk,n->", below, shares, mass))
    chances = np.empty_like(below)

    def at(factor: float) -> tuple[float, float]:
        np.exp(np.multiply(below, factor, out=chances), out=chances)
        weight = mass / chances.sum(axis=0)
        np.multiply(chances, below, out=chances)
        mean = chances.sum(axis=0)
        square = np.einsum("kn,kn,n->", chances, below, weight)
        return float(mean @ weight) - known, float(square - mean**2 @ (weight**2 / mass))

    return at, -float(below.min())


def goals(logs: Floats, targets: Ints, weights: Floats) -> Floats:
    """Return the target shares of the classes (n, K): 1 for the true class.

    If the true class is always the most probable one, or always the least probable, no temperature is the best. Then
    one row is added whose classes are as likely as predicted; it is spread over all rows, as Platt's two rows are
    (Platt 1999).
    """
    hot = np.eye(logs.shape[1]).take(targets, axis=0)
    if not _one_sided(logs, targets):
        return hot
    total = weights.sum()
    return (total * hot + softmax(logs, axis=1)) / (total + 1)


def _one_sided(logs: Floats, targets: Ints) -> bool:
    """Whether the true class is always the most probable one, or always the least probable; mostly, few rows tell."""
    below = above = False
    for first in range(0, len(logs), 1024):
        rows = np.ascontiguousarray(logs[first : first + 1024].T)
        true = rows[targets[first : first + 1024], np.arange(rows.shape[1])]
        below, above = below or bool((true < rows.max(axis=0)).any()), above or bool((true > rows.min(axis=0)).any())
        if below and above:
            return False
    return True


# Temperature scaling alone, then 1 to 1e-5, the strongest first.
PENALTIES = (np.inf, *10.0 ** np.arange(0, -6, -1))
N_FOLDS = 5
# With so many rows for each parameter one fold may be left out, and not five.
AMPLE = 100
# From so many rows on, what one fold overlooks is too little to matter.
LARGE = 100_000


def one_fold_is_enough(weights: Floats, n_parameters: int) -> bool:
    """Whether a choice by one fold overlooks less than what the parameters cost.

    By the rule of one standard error, m unseen rows overlook a gain of up to 2 / m, and parameters cost half a row
    each. Rows are counted by weights (Kish 1965).
    """
    rows = weights.sum() ** 2 / (weights @ weights)
    costly = n_parameters / 2 >= 2 * N_FOLDS
    return bool(rows >= AMPLE * n_parameters and (costly or rows >= LARGE))


def choose_penalty(
    design: Callable[[Bools], Design], ridge: Floats, logs: Floats, shares: Floats, targets: Ints, weights: Floats
) -> tuple[float, Floats]:
    """Return the penalty chosen by cross-validation, infinite for temperature scaling alone, and a start for its fit.

    It is the largest strength whose log loss of unseen rows is within one standard error of the least. The search ends
    two steps after the best one. Where rows are ample for the parameters, only one fold is left out, and the standard
    error is that of its rows. `design` makes the design of some rows, `ridge` has the weights of the penalty, and
    `shares` (n, K) are the targets.
    """
    # Rows that differ only by rounding share a fold; logarithms have size 1 here.
    fold = folds_of_equal_rows(targets, logs.round(9), N_FOLDS)
    ample = one_fold_is_enough(weights, len(ridge))
    numbers = [each for each in range(1 if ample else N_FOLDS) if len(np.unique(targets[fold != each])) > 1]
    path, found = [np.zeros(len(ridge))], []
    for penalty in track(PENALTIES, len(PENALTIES)):
        theta, row = path[-1].copy(), []
        for number in numbers:
            train, test = fold != number, fold == number
            if penalty == np.inf:
                theta[0] = fit_factor(logs[train], shares[train], weights[train])
            else:  # a thousandth of a row is left to gain (a parameter costs half a row); the next fold starts there
                rest = shares[train], weights[train], theta, penalty * ridge, 1e-3 / train.sum()
                theta = fit_softmax(design(train), *rest)
            lost = weights[test] * chances_and_losses(design(test).logits(theta), shares[test])[1]
            row.append(lost if ample else lost.sum())
        path.append(theta)
        found.append(np.hstack(row))
        if len(found) - np.argmin(np.sum(found, axis=1)) > 2:
            break
    chosen = simplest(np.array(found), np.ones(len(found[0])))
    return PENALTIES[chosen], path[chosen + 1]


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
    ridge = np.append(0.0, np.ones(n_classes * (n_classes + 1 if crossed else 2)))

    def design(rows: Bools) -> Design:
        return matrix(features[rows], turn.T * spread, centre) if crossed else factors(features[rows], spread, centre)

    theta = np.zeros(len(ridge))
    if penalty is None:
        penalty, theta = choose_penalty(design, ridge, logs, shares, targets, weights)
    if penalty == np.inf:
        theta[0] = fit_factor(logs, shares, weights)
    else:
        theta = fit_softmax(design(np.ones(len(logs), bool)), shares, weights, theta, penalty * ridge)
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
            least = rows.min() or np.min(rows, where=rows > 0, initial=1.0)
            self.smallest_ = max(float(least) / 2, SMALLEST) if self.smallest is None else self.smallest
        return self._logs(rows)

    def _logs(self, rows: Floats) -> Floats:
        if self.input == "logits":
            return rows
        if self.smallest is None:
            return np.log(rows if rows.min() > 0 else np.where(rows > 0, rows, self.smallest_))
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
        self.inverse_temperature_ = fit_factor(logs, goals(logs, targets, weights), weights)

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
        mean 0 and variance 1. By default five-fold cross-validation chooses it, with the rule of one standard error;
        where rows are ample for the parameters, one of the folds does. 0 is the fit of the paper, without a penalty,
        which does harm if few rows are predicted wrongly.

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
        every = matrix(logs, np.eye(logs.shape[1]), np.zeros(logs.shape[1]))
        theta = fit_softmax(every, goals(logs, targets, weights), weights, np.zeros(len(ridge)), ridge)
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
