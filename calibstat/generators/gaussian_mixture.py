"""Two overlapping Gaussian classes and a logistic classifier."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibstat.arrays import Floats
from calibstat.binnings.base import Binning
from calibstat.generators.base import SyntheticModel
from calibstat.generators.elementary import expit
from calibstat.generators.line import LineModel
from calibstat.generators.population import Population, population_of
from calibstat.lenses.base import Lens


@final
@dataclass(frozen=True)
class GaussianMixture(LineModel):
    r"""Gaussian classes and a logistic classifier (Vaicenavicius et al. 2019, Section 5.1).

    Y is -1 or 1, equally likely, X given Y = y is N(y, 1), and the model announces P(Y = -1) =
    :math:`1 / (1 + e^{-(\beta_0 + \beta_1 X)})`. It is calibrated for (0, -2) and for (0, 0).

    Parameters
    ----------
    beta0, beta1 : float

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import GaussianMixture
    >>> round(float(GaussianMixture(1, 1).truth(cs.ECE())), 10)
    0.5637511406
    >>> abs(float(GaussianMixture(0, -2).truth(cs.ECE()))) < 1e-12
    True
    """

    beta0: float
    beta1: float

    def __post_init__(self) -> None:
        slope = abs(self.beta1)
        if not (abs(self.beta0) <= 300 and (slope == 0 or 1e-3 <= slope <= 30)):
            raise ValueError(
                f"beta0, beta1 are {self.beta0!r}, {self.beta1!r}; |beta0| must be at most 300, and |beta1| 0 or "
                "in [0.001, 30]."
            )

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The labels -1 and 1."""
        return (-1, 1)

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw x, then P(Y = 1 | x)."""
        x = rng.standard_normal(n) + np.where(rng.random(n) < 0.5, -1.0, 1.0)
        event = expit(-(self.beta0 + self.beta1 * x))
        chance = expit(2 * x) if self.beta1 else np.full(n, 0.5)
        return population_of(event, chance, classes=self.classes)

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:
        """Lay nodes along x; a constant model has a single row."""
        if self.beta1 == 0:
            return population_of(expit(np.array([-self.beta0])), np.array([0.5]), np.ones(1), classes=self.classes)
        return LineModel.population(self, lens, binning)

    def quantiles(self, levels: Floats) -> Population:
        """Return rows at quantiles of the event's probability; all the same for a constant model."""
        if self.beta1 == 0:
            constant = np.full(len(levels), expit(np.array(-self.beta0)))
            return population_of(constant, np.full(len(levels), 0.5), classes=self.classes)
        return LineModel.quantiles(self, levels)

    def calibration_function(self, probabilities: Any, lens: Lens | None = None) -> Floats:
        """Return the chances given an induced prediction; NaN where it does not occur."""
        known = LineModel if self.beta1 else SyntheticModel
        return known.calibration_function(self, probabilities, lens)

    def density(self, log_odds: Floats) -> Floats:
        """Return the density of the mixture, in log-odds of the class 1."""
        x = self._x(log_odds)
        bells = np.exp(-((x + 1) ** 2) / 2) + np.exp(-((x - 1) ** 2) / 2)
        return bells / (2 * np.sqrt(2 * np.pi) * abs(self.beta1))

    def event_chance(self, log_odds: Floats) -> Floats:
        """Return P(Y = 1 | x)."""
        return expit(2 * self._x(log_odds))

    def borders(self) -> Floats:
        """Return a step of a quarter standard deviation."""
        return -(self.beta0 + self.beta1 * np.linspace(-11, 11, 89))

    def _x(self, log_odds: Floats) -> Floats:
        return -(log_odds + self.beta0) / self.beta1
