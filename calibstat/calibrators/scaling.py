"""Platt and beta scaling: logistic regressions on logarithms of the probabilities."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, final

import numpy as np

from calibstat._logistic import expit, fit_logistic
from calibstat.calibrators.base import Calibrator, both, split_columns
from calibstat.data.arrays import Floats, Ints
from calibstat.data.parameters import at_least_one, true_or_false


def fit_line(features: Floats, targets: Floats, weights: Floats) -> tuple[float, Floats, float]:
    """Return intercept, coefficients (d,) and log-likelihood of a logistic regression on features (n, d).

    Where classes are separated there is no maximum: coefficients are then large and finite.
    """
    design = np.column_stack([np.ones(len(features)), features])
    fits = fit_logistic(design, targets[None], weights / weights.sum())
    return float(fits.coefficients[0, 0]), fits.coefficients[0, 1:], float(fits.value[0])


# Below it a probability counts as this one (Kumar et al. 2019 use the same bound in their code).
SMALLEST = 1e-12
# The same for fits of a line or two, which a few rows pull over: of 21 000 real rows 10 that were almost certain and
# wrong cost more than the fit gained. 1e-6 took two thirds of that from beta calibration and half from Platt's, and
# added 3e-5 to the squared error (13e-3 before the fit) where predictions are rightly that extreme (log-odds of
# standard deviation 12, temperature 3); 1e-4 would add 6e-4 there.
SMALLEST_OF_A_LINE = 1e-6


def logarithms(probabilities: Floats, smallest: float = SMALLEST) -> Floats:
    """Return natural logarithms, not below that of the smallest probability that is told from 0."""
    if not 0 < smallest < 0.5:
        raise ValueError(f"smallest is {smallest}, but it must lie between 0 and 0.5, such as 1e-4")
    return np.log(np.maximum(probabilities, smallest))


def logits(probabilities: Floats, smallest: float = SMALLEST) -> Floats:
    """Return log-odds (n,) of the last of two classes."""
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
        self.intercept_, self.coef_ = fit_line(self._features(probabilities), goals, weights)[:2]

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(expit(self._features(probabilities) @ self.coef_ + self.intercept_))


def smoothed(targets: Ints, weights: Floats) -> Floats:
    """Return Platt's targets (n,): posterior means of the chances of certain events under a uniform prior."""
    events = float(weights @ targets)
    others = float(weights.sum()) - events
    return np.where(targets == 1, (events + 1) / (events + 2), 1 / (others + 2))


@final
class Beta(Calibrator):
    """Calibrated log-odds are c + a ln p - b ln(1 - p) with a, b >= 0, unpenalised (Kull et al. 2017).

    Where the free fit has a negative coefficient, its term is left out and the others are fitted again; this is the
    maximum of the likelihood under the constraint, so that the map never decreases.

    Parameters
    ----------
    smallest : float
        A probability below it counts as this one, as for `Platt`.

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
        for face in ([0, 1], [0], [1], []):
            intercept, fitted, value = fit_line(features[:, face], goals, weights)
            coefficients = np.zeros(2)
            coefficients[face] = fitted
            if coefficients.min() < 0:
                continue
            found.append((value, intercept, coefficients))
            if len(face) == 2:
                break  # inside the constraint nothing is better
        self.intercept_, self.coef_ = max(found, key=lambda each: each[0])[1:]

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(expit(beta_features(probabilities, self.smallest) @ self.coef_ + self.intercept_))


def beta_features(probabilities: Floats, smallest: float) -> Floats:
    """Return ln p and -ln(1 - p): (n, 2)."""
    return np.column_stack([logarithms(probabilities[:, 1], smallest), -logarithms(probabilities[:, 0], smallest)])


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
        A probability below it counts as this one, as for `Platt`.

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
        features = self._features(probabilities, variables)
        self.intercept_, self.coef_ = fit_line(features, targets.astype(np.float64), weights)[:2]

    def _features(self, probabilities: Floats, variables: Floats) -> Floats:
        standard = (variables[:, :1] - self.centre_) / self.scale_
        return np.hstack([beta_features(probabilities, self.smallest), standard ** np.arange(1, self.degree + 1)])

    def _calibrate(self, probabilities: Floats, variables: Floats) -> Floats:
        return both(expit(self._features(probabilities, variables) @ self.coef_ + self.intercept_))
