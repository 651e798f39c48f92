"""Platt scaling."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, final

import numpy as np
from scipy.special import expit

from calibstat.calibrators.base import Calibrator, both, split_columns
from calibstat.data.arrays import Floats, Ints
from calibstat.data.parameters import at_least_one, true_or_false

# Logistic regression with fractional targets, by Newton's method.

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


# Logarithms of probabilities, finite also for exact 0 and 1.

# Below it a probability counts as this one (Kumar et al. 2019 use the same bound in their code).
SMALLEST = 1e-12
# The same for fits of a line or two, which a few rows pull over: of 21 000 real rows 10 that were almost certain and
# wrong cost more than the fit gained. 1e-6 took two thirds of that from beta calibration and half from Platt's, and
# added 3e-5 to the squared error (13e-3 before the fit) where predictions are rightly that extreme (log-odds of
# standard deviation 12, temperature 3); 1e-4 would add 6e-4 there.
SMALLEST_OF_A_LINE = 1e-6


def logarithms(probabilities: Floats, smallest: float = SMALLEST) -> Floats:
    """Natural logarithms, not below that of the smallest probability that is told from 0.

    Raises
    ------
    ValueError
        If `smallest` does not lie between 0 and 0.5.
    """
    if not 0 < smallest < 0.5:
        raise ValueError(f"smallest is {smallest}, but it must lie between 0 and 0.5, such as 1e-4")
    return np.log(np.maximum(probabilities, smallest))


def logits(probabilities: Floats, smallest: float = SMALLEST) -> Floats:
    """(n,) log-odds of the last of two classes."""
    return logarithms(probabilities[:, 1], smallest) - logarithms(probabilities[:, 0], smallest)


@final
class Platt(Calibrator):
    """Logistic regression on the log-odds, with Platt's fractional targets (Platt 1999).

    With N+ events and N- others the targets are (N+ + 1) / (N+ + 2) and 1 / (N- + 2), so that the fit stays finite
    also where scores separate the classes.

    Parameters
    ----------
    input : {"probability", "score"}
        Whether X holds probabilities, or scores that may be any real numbers, (n, d), such as those of
        ``decision_function`` (reshaped to a column).
    smoothing : bool
        Whether targets are Platt's; without, they are 0 and 1.
    smallest : float
        A probability below it counts as this one. A few rows that are wrongly almost certain pull the whole line
        towards them: the default limits that, and 1e-4 limits it more, at a price where predictions that extreme are
        right in kind.

    Attributes
    ----------
    coef_ : (d,) floats
        d is one for probabilities.
    intercept_ : float
    """

    binary: ClassVar[bool] = True

    def __init__(
        self,
        input: Literal["probability", "score"] = "probability",  # noqa: A002
        smoothing: bool = True,
        smallest: float = SMALLEST_OF_A_LINE,
    ) -> None:
        self.input = input
        self.smoothing = smoothing
        self.smallest = smallest

    @property
    def _simplex(self) -> bool:
        if self.input not in ("probability", "score"):
            raise ValueError(f"input is {self.input!r}, but 'probability' or 'score' is expected")
        return self.input == "probability"

    def _as_table(self, X: Any) -> Any:
        return Calibrator._as_table(self, X) if self._simplex else X

    def _split(self, X: Floats) -> tuple[Floats, Floats]:
        return Calibrator._split(self, X) if self._simplex else (X, np.empty((len(X), 0)))

    def _features(self, given: Floats) -> Floats:
        return logits(given, self.smallest)[:, None] if self._simplex else given

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        goals = smoothed(targets, weights) if true_or_false("smoothing", self.smoothing) else targets.astype(np.float64)
        fitted = fit_logistic(with_intercept(self._features(probabilities)), goals, weights)
        self.intercept_, self.coef_ = float(fitted[0]), fitted[1:]

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(expit(self._features(probabilities) @ self.coef_ + self.intercept_))


def smoothed(targets: Ints, weights: Floats) -> Floats:
    """(n,) Platt's targets: posterior means of the chances of certain events under a uniform prior."""
    events = float(weights @ targets)
    others = float(weights.sum()) - events
    return np.where(targets == 1, (events + 1) / (events + 2), 1 / (others + 2))


# Beta calibration.

FACES = ((0, 1), (0,), (1,), ())


@final
class Beta(Calibrator):
    """Calibrated log-odds are c + a ln p - b ln(1 - p) with a, b >= 0, unpenalised (Kull et al. 2017).

    Where the free fit has a negative coefficient, its term is left out and the others are fitted again; this is the
    maximum of the likelihood under the constraint, so that the map never decreases.

    Parameters
    ----------
    smallest : float
        A probability below it counts as this one. A few rows that are wrongly almost certain pull the whole line
        towards them: the default limits that, and 1e-4 limits it more, at a price where predictions that extreme are
        right in kind.

    Attributes
    ----------
    coef_ : (2,) floats
        a and b.
    intercept_ : float
        c.
    """

    binary: ClassVar[bool] = True

    def __init__(self, smallest: float = SMALLEST_OF_A_LINE) -> None:
        self.smallest = smallest

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        features, goals = beta_features(probabilities, self.smallest), targets.astype(np.float64)
        found: list[tuple[float, float, Floats]] = []
        for face in FACES:
            fitted = fit_logistic(with_intercept(features[:, list(face)]), goals, weights)
            coefficients: Floats = np.zeros(2)
            coefficients[list(face)] = fitted[1:]
            if coefficients.min() < 0:
                continue
            scores = features @ coefficients + fitted[0]
            loss = float(weights @ (np.logaddexp(0, scores) - goals * scores))
            found.append((loss, float(fitted[0]), coefficients))
            if face == FACES[0]:
                break  # inside the constraint nothing is better
        self.intercept_, self.coef_ = min(found, key=lambda each: each[0])[1:]

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(expit(beta_features(probabilities, self.smallest) @ self.coef_ + self.intercept_))


def beta_features(probabilities: Floats, smallest: float) -> Floats:
    """(n, 2) ln p and -ln(1 - p)."""
    return np.column_stack([logarithms(probabilities[:, 1], smallest), -logarithms(probabilities[:, 0], smallest)])


# Beta calibration with a polynomial of a variable.


@final
class AugmentedBeta(Calibrator):
    """Calibrated log-odds are c + a ln p - b ln(1 - p) + w_1 v + w_2 v**2 + ... (Kelly and Smyth 2023, Appendix C).

    Unpenalised; a and b may be negative, as in the paper.

    Parameters
    ----------
    variable : int or str
        The column of X that holds v; the others are probabilities.
    degree : int
        The highest power of v.
    smallest : float
        A probability below it counts as this one. A few rows that are wrongly almost certain pull the whole line
        towards them: the default limits that, and 1e-4 limits it more, at a price where predictions that extreme are
        right in kind.

    Attributes
    ----------
    coef_ : (2 + degree,) floats
        a, b, and the weights of the powers of the standardised variable (v - centre_) / scale_.
    intercept_, centre_, scale_ : float
    """

    binary: ClassVar[bool] = True

    def __init__(self, variable: int | str = -1, degree: int = 2, smallest: float = SMALLEST_OF_A_LINE) -> None:
        self.variable = variable
        self.degree = degree
        self.smallest = smallest

    def _split(self, X: Floats) -> tuple[Floats, Floats]:
        return split_columns(self, X, [self.variable])

    def _fit(self, probabilities: Floats, variables: Floats, targets: Ints, weights: Floats) -> None:
        at_least_one("degree", self.degree)
        values = variables[:, 0]
        self.centre_ = float(np.average(values, weights=weights))
        spread = float(np.sqrt(np.average((values - self.centre_) ** 2, weights=weights)))
        self.scale_ = spread if spread > 0 else 1.0
        features = with_intercept(self._features(probabilities, variables))
        fitted = fit_logistic(features, targets.astype(np.float64), weights)
        self.intercept_, self.coef_ = float(fitted[0]), fitted[1:]

    def _features(self, probabilities: Floats, variables: Floats) -> Floats:
        standard = (variables[:, :1] - self.centre_) / self.scale_
        return np.hstack([beta_features(probabilities, self.smallest), standard ** np.arange(1, self.degree + 1)])

    def _calibrate(self, probabilities: Floats, variables: Floats) -> Floats:
        return both(expit(self._features(probabilities, variables) @ self.coef_ + self.intercept_))
