"""Platt scaling."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, final

import numpy as np
from scipy.special import expit

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator, both
from calibstat.calibrators.logistic import fit_logistic, with_intercept
from calibstat.calibrators.logits import SMALLEST_OF_A_LINE, logits
from calibstat.checks import true_or_false


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
