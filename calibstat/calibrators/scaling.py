"""Platt, quadratic and beta scaling: logistic regressions on logarithms of the probabilities."""

from __future__ import annotations

from typing import ClassVar, Literal, final

import numpy as np
from scipy.optimize import brentq

from calibstat._logistic import LogisticFits, expit, fit_logistic
from calibstat.calibrators.base import Calibrator, split_columns
from calibstat.data.arrays import Floats, Ints
from calibstat.data.parameters import NotNegative, at_least_one, true_or_false

_MODERATE = 20.0  # log-odds, of chances that leave curvature to the likelihood


def fit_line(
    features: Floats,
    targets: Floats,
    weights: Floats,
    event: Floats | None,
    C: float = np.inf,
    intercept: bool = True,
    slope: float = 0.0,
) -> tuple[float, Floats, float]:
    """Return intercept, coefficients (d,) and objective of a logistic regression on features (n, d).

    Like scikit-learn's LogisticRegression, it minimises the sum of losses plus the sum of squared coefficients / (2 C).
    The search begins with all coefficients at `slope`, or at 0 if chances would be almost certain there.
    """
    if not C > 0:
        raise ValueError(f"C is {C}, but it must be positive: the smaller, the stronger the penalty; inf is none")
    design = np.vstack([np.ones(len(features)), features.T])[0 if intercept else 1 :].T
    if not design.shape[1]:
        return 0.0, np.zeros(0), -float(np.log(2))
    ridge = np.full(design.shape[1], 1 / (C * weights.sum()))
    start = np.full(design.shape[1], slope if np.abs(features).max(initial=0) < _MODERATE else 0.0)
    ridge[: int(intercept)], start[: int(intercept)] = 0.0, 0.0
    fits = fit_finite(design, targets, weights, event, np.diag(ridge), start)
    found = fits.coefficients[0]
    return (float(found[0]), found[1:], float(fits.value[0])) if intercept else (0.0, found, float(fits.value[0]))


def fit_finite(
    design: Floats,
    targets: Floats,
    weights: Floats,
    event: Floats | None,
    penalty: Floats | None = None,
    start: Floats | None = None,
) -> LogisticFits:
    """Fit a logistic regression to rows (n, d) with the targets (n,).

    If the classes are separated, the likelihood has no maximum. Then one row is added whose chance is the prediction,
    `event` (n,); it is spread over all rows, as Platt's two rows are (Platt 1999). Without predictions the fit is large
    but finite.
    """
    total = weights.sum()
    fits = fit_logistic(design, targets[None], weights / total, penalty=penalty, start=start)
    if fits.exists[0] or event is None:
        return fits
    return fit_logistic(
        design, ((total * targets + event) / (total + 1))[None], weights / total, penalty=penalty, start=start
    )


def from_log_odds(values: Floats) -> Floats:
    """Return rows (n, 2) from log-odds (n,) of the last class; both columns are accurate, however small."""
    return np.column_stack([expit(-values), expit(values)])


# The smallest positive double of full precision.
SMALLEST = float(np.finfo(float).tiny)
# A probability below it counts as this one in fits of a line or two, which a few rows pull over: of 21 000 real rows 10
# that were almost certain and wrong cost more than the fit gained. 1e-6 took two thirds of that from beta calibration
# and half from Platt's, and added 3e-5 to the squared error (13e-3 before the fit) where predictions are rightly that
# extreme (log-odds of standard deviation 12, temperature 3); 1e-4 would add 6e-4 there.
SMALLEST_OF_A_LINE = 1e-6


def logarithms(probabilities: Floats, smallest: float) -> Floats:
    """Return the natural logarithms of probabilities, after raising those below `smallest` to it."""
    if not 0 < smallest < 0.5:
        raise ValueError(f"smallest is {smallest}, but it must lie between 0 and 0.5, such as 1e-4")
    return np.log(np.maximum(probabilities, smallest))


def logits(probabilities: Floats, smallest: float) -> Floats:
    """Return log-odds (n,) of the last of two classes."""
    logs = logarithms(probabilities, smallest)
    return logs[:, 1] - logs[:, 0]


@final
class Platt(Calibrator):
    """Logistic regression on the log-odds, with Platt's fractional targets (Platt 1999).

    With N+ events and N- others the targets are (N+ + 1) / (N+ + 2) and 1 / (N- + 2), so that the fit is finite even if
    scores separate the classes.

    Parameters
    ----------
    input : {"probability", "logits", "score"}
        The content of X: probabilities; or log-odds of the last class, (n,), or logits of both, (n, 2); or any real
        scores, (n,) or (n, d), such as those of ``decision_function``, which replace the log-odds.
    smoothing : bool
        Whether to use Platt's targets; otherwise they are 0 and 1.
    C : float
        As for scikit-learn's LogisticRegression, which minimises the sum of losses plus the sum of squares of `coef_` /
        (2 C); by default there is no penalty. ``Platt(input="score", smoothing=False, C=1)`` on probabilities is the
        Platt scaling of Kelly and Smyth (2023).
    smallest : float
        Smaller probabilities count as this one. A few rows that are almost certain and wrong pull the whole line
        towards them. The default limits their pull, and 1e-4 limits it more, but loses accuracy if such extreme
        predictions are justified.

    Attributes
    ----------
    coef_ : (d,) floats
        The slopes; d is 1 for probabilities.
    intercept_ : float
    """

    binary: ClassVar[bool] = True
    inputs: ClassVar[tuple[str, ...]] = ("probability", "logits", "score")

    def __init__(
        self,
        input: Literal["probability", "logits", "score"] = "probability",  # noqa: A002
        smoothing: bool = True,
        smallest: float = SMALLEST_OF_A_LINE,
        C: float = np.inf,
    ) -> None:
        self.input = input
        self.smoothing = smoothing
        self.smallest = smallest
        self.C = C

    def _features(self, given: Floats) -> Floats:
        if self.input == "score":
            return given
        return (logits(given, self.smallest) if self.input == "probability" else given[:, 1] - given[:, 0])[:, None]

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        goals = smoothed(targets, weights) if true_or_false("smoothing", self.smoothing) else targets.astype(np.float64)
        features = self._features(probabilities)
        event = None if self.input == "score" else expit(features[:, 0])
        self.intercept_, self.coef_ = fit_line(features, goals, weights, event, self.C, slope=float(event is not None))[
            :2
        ]

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return from_log_odds(self._features(probabilities) @ self.coef_ + self.intercept_)


def smoothed(targets: Ints, weights: Floats) -> Floats:
    """Return Platt's targets (n,): posterior mean chances of rows of one label under a uniform prior."""
    events = float(weights @ targets)
    others = float(weights.sum()) - events
    return np.where(targets == 1, (events + 1) / (events + 2), 1 / (others + 2))


@final
class Quadratic(Calibrator):
    """Calibrated log-odds are a + b x + c x**2 of the log-odds x (Berta et al. 2025).

    The log-odds are quadratic in x wherever the scores of each class are normal, whatever their variances. Where c is
    not 0, the map turns at one end.

    Parameters
    ----------
    intercept, quadratic : float
        The penalties: intercept * a**2 + quadratic * c**2 is added to the mean log loss. By default there is none.
    smallest : float
        Smaller probabilities count as this one, as for `Platt`.

    Attributes
    ----------
    coef_ : (2,) floats
        b and c.
    intercept_ : float
        a.
    """

    binary: ClassVar[bool] = True

    def __init__(
        self, intercept: NotNegative = 0.0, quadratic: NotNegative = 0.0, smallest: float = SMALLEST_OF_A_LINE
    ) -> None:
        self.intercept = intercept
        self.quadratic = quadratic
        self.smallest = smallest

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        design, penalty = self._design(probabilities), np.diag([2 * self.intercept, 0.0, 2 * self.quadratic])
        fits = fit_finite(design, targets.astype(np.float64), weights, probabilities[:, 1], penalty)
        self.intercept_, self.coef_ = float(fits.coefficients[0, 0]), fits.coefficients[0, 1:]

    def _design(self, probabilities: Floats) -> Floats:
        return logits(probabilities, self.smallest)[:, None] ** np.arange(3)

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return from_log_odds(self._design(probabilities) @ [self.intercept_, *self.coef_])


@final
class Beta(Calibrator):
    """Calibrated log-odds are c + a ln p - b ln(1 - p) with a, b >= 0 (Kull et al. 2017).

    If the free fit has a negative coefficient, its term is left out and the other is fitted again. This is the maximum
    under the constraint, so that the map never decreases.

    Parameters
    ----------
    smallest : float
        Smaller probabilities count as this one, as for `Platt`.
    parameters : {"abm", "am", "ab", "a"}
        The free parameters, in the paper's notation, where m is the prediction that becomes 1/2. Without "m", m = 1/2;
        without "b", b = a. So "am" is a line in the log-odds, as `Platt` is, and "a" is a temperature.
    C : float
        As for `Platt`; by default there is no penalty. With C=1 it is the beta calibration of Kelly and Smyth (2023),
        apart from the constraint, which theirs does not have.

    Attributes
    ----------
    coef_ : (2,) floats
        a and b.
    intercept_ : float
        c = b ln(1 - m) - a ln m.
    """

    binary: ClassVar[bool] = True

    def __init__(
        self,
        smallest: float = SMALLEST_OF_A_LINE,
        parameters: Literal["abm", "am", "ab", "a"] = "abm",
        C: float = np.inf,
    ) -> None:
        self.smallest = smallest
        self.parameters = parameters
        self.C = C

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        if self.parameters not in ("abm", "am", "ab", "a"):
            raise ValueError(f"parameters is {self.parameters!r}, but 'abm', 'am', 'ab' or 'a' is expected")
        goals, event, moves = targets.astype(np.float64), probabilities[:, 1], "m" in self.parameters
        half = np.zeros(2) if moves else np.array([np.log(2), -np.log(2)])  # no intercept: the line is 0 at p = 1/2
        terms = np.eye(2) if "b" in self.parameters else np.ones((1, 2))  # maps coefficients to a and b
        features = (beta_features(probabilities, self.smallest) + half) @ terms.T
        found: list[tuple[float, float, Floats]] = []
        for face in ([0, 1], [0], [1], []) if len(terms) == 2 else ([0], []):
            intercept, fitted, value = fit_line(features[:, face], goals, weights, event, self.C, moves, 1.0)
            if fitted.min(initial=0) < 0:
                continue
            coefficients = fitted @ terms[face]
            found.append((value, intercept + float(coefficients @ half), coefficients))
            if len(face) == len(terms):
                break  # the free fit meets the constraint
        self.intercept_, self.coef_ = max(found, key=lambda each: each[0])[1:]

    @property
    def m_(self) -> float:
        """The prediction that becomes 1/2 (the paper's m); 0 or 1 if all predictions stay on one side of 1/2."""

        def log_odds(p: float) -> float:
            return self.intercept_ + float(self.coef_ @ [np.log(p), -np.log1p(-p)])

        low, high = np.finfo(float).tiny, 1 - np.finfo(float).epsneg
        if log_odds(low) >= 0:
            return 0.0
        return float(brentq(log_odds, low, high)) if log_odds(high) > 0 else 1.0

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return from_log_odds(beta_features(probabilities, self.smallest) @ self.coef_ + self.intercept_)


def beta_features(probabilities: Floats, smallest: float) -> Floats:
    """Return ln p and -ln(1 - p) as columns (n, 2)."""
    return logarithms(probabilities, smallest)[:, ::-1] * [1, -1]


@final
class AugmentedBeta(Calibrator):
    """Calibrated log-odds are c + a ln p - b ln(1 - p) + w_1 v + w_2 v**2 + ... (Kelly and Smyth 2023, Appendix C).

    The fit has no penalty, and a and b may be negative, as in the paper.

    Parameters
    ----------
    variable : int or str
        The column of X that holds v; the other columns are probabilities.
    degree : int
        The highest power of v.
    smallest : float
        Smaller probabilities count as this one, as for `Platt`.

    Attributes
    ----------
    coef_ : (2 + degree,) floats
        a, b, and the weights of the powers of the standardised variable ``(v - centre_) / scale_``.
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
        event = probabilities[:, 1]
        self.intercept_, self.coef_ = fit_line(features, targets.astype(np.float64), weights, event)[:2]

    def _features(self, probabilities: Floats, variables: Floats) -> Floats:
        standard = (variables[:, :1] - self.centre_) / self.scale_
        return np.hstack([beta_features(probabilities, self.smallest), standard ** np.arange(1, self.degree + 1)])

    def _calibrate(self, probabilities: Floats, variables: Floats) -> Floats:
        return from_log_odds(self._features(probabilities, variables) @ self.coef_ + self.intercept_)
