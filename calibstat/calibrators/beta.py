"""Beta calibration."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np
from scipy.special import expit

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator, both
from calibstat.calibrators.logistic import fit_logistic, with_intercept
from calibstat.calibrators.logits import SMALLEST_OF_A_LINE, logarithms

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
