"""Beta-distributed scores with a calibration function of your choice."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, final

import numpy as np
from scipy import special

from calibstat._dataclass import dataclass
from calibstat._logistic import expit, logit
from calibstat.binnings.base import Binning
from calibstat.data.arrays import Floats
from calibstat.generators.base import Population, SyntheticModel, population_of
from calibstat.generators.line import LineModel
from calibstat.generators.recalibrations import EventMap, Identity, chances_of, check_map
from calibstat.lenses.base import Lens

_LEVELS = np.array([1e-18, 1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5])
_LEAST, _MOST = 0.05, 1e6


@final
@dataclass(frozen=True)
class BetaPredictions(LineModel):
    """Scores p ~ Beta(a, b); the event happens with chance r(p).

    Parameters
    ----------
    a, b : float
        In [0.05, 10^6]; below 0.05, some of the mass lies closer to 0 or 1 than floats do.
    recalibration : callable
        The calibration function r: `Identity`, `LogitShift`, `Slope`, `Cubic`, `Wiggle`, `Bump`, `ClippedTails`,
        `HoelderBumps`, or any function of (m,) probabilities; an attribute `breaks` says where it is not smooth.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import BetaPredictions, Cubic
    >>> model = BetaPredictions(1, 1, Cubic(1.0))
    >>> round(float(model.truth(cs.ECE())), 10)  # 1/16
    0.0625
    """

    a: float
    b: float
    recalibration: EventMap = Identity()

    def __post_init__(self) -> None:
        check_parameters(self, self.a, self.b)
        check_map(self.recalibration)

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw scores."""
        score = rng.random(n) if self.a == self.b == 1 else _draw_beta(self.a, self.b, n, rng)
        return population_of(score, score if self.calibrated else chances_of(self.recalibration, score))

    @property
    def calibrated(self) -> bool:
        """Whether r is the identity."""
        return isinstance(self.recalibration, Identity)

    def density(self, log_odds: Floats) -> Floats:
        """Return the density of the scores, in log-odds."""
        return beta_density(self.a, self.b, log_odds)

    def event_chance(self, log_odds: Floats) -> Floats:
        """Return r(p)."""
        return chances_of(self.recalibration, expit(log_odds))

    def borders(self) -> Floats:
        """Return quantiles of the scores, and the breaks of r."""
        breaks = np.asarray(getattr(self.recalibration, "breaks", ()), dtype=float)
        inside = breaks[(breaks > 0) & (breaks < 1)]
        return np.concatenate([beta_borders(self.a, self.b), logit(inside)])


def _draw_beta(a: float, b: float, n: int, rng: np.random.Generator) -> Floats:
    """Draw n scores; up to a = b = 1 by the rejection of Jöhnk (1964), many at a time, which is faster for many."""
    if max(a, b) > 1:
        return rng.beta(a, b, n)
    scores, accepted, tries = np.empty(n), 0, np.exp(-special.betaln(a, b)) * (a + b) / (a * b)
    while accepted < n:
        first, both = rng.standard_exponential((2, int((n - accepted) * tries) + 16))
        first, both = np.exp(first / -a), np.exp(both / -b)  # powers 1/a and 1/b of uniform numbers
        both += first
        kept = np.flatnonzero((both <= 1) & (both > 0))[: n - accepted]
        scores[accepted : accepted + len(kept)] = first[kept] / both[kept]
        accepted += len(kept)
    return scores


def check_parameters(model: object, *parameters: float) -> None:
    """Refuse parameters of Beta and Dirichlet laws that are out of range."""
    if not all(_LEAST <= each <= _MOST for each in parameters):
        raise ValueError(f"{model!r}: the parameters of the law must be in [{_LEAST}, {_MOST:g}], got {parameters}.")


def beta_density(a: float, b: float, log_odds: Floats) -> Floats:
    """Return the density of logit p for p ~ Beta(a, b)."""
    log_p, log_q = special.log_expit(log_odds), special.log_expit(-log_odds)
    return np.exp(a * log_p + b * log_q - special.betaln(a, b))


def beta_borders(a: float, b: float) -> Floats:
    """Return log-odds that resolve Beta(a, b), from its 10^-18 quantile to the opposite one."""
    low = logit(np.maximum(special.betaincinv(a, b, _LEVELS), 1e-304))
    high = -logit(np.maximum(special.betaincinv(b, a, _LEVELS), 1e-304))
    return np.concatenate([low, high])


@final
@dataclass(frozen=True)
class GaussianMixture(LineModel):
    r"""Gaussian classes and a logistic classifier (Vaicenavicius et al. 2019, Section 5.1).

    Y is -1 or 1, equally likely, X given Y = y is N(y, 1), and the model announces P(Y = -1) =
    :math:`1 / (1 + e^{-(\beta_0 + \beta_1 X)})`. It is calibrated for (0, -2) and for (0, 0).

    Parameters
    ----------
    beta0, beta1 : float
        Intercept, at most 300 in size, and slope, 0 or in [0.001, 30] in size.

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

    @property
    def calibrated(self) -> bool:
        """Whether P(Y = -1 | x) is announced, or one half to all."""
        return (self.beta0, self.beta1) in ((0, -2), (0, 0))

    @property
    def finite(self) -> bool:
        """Whether the model is constant."""
        return self.beta1 == 0

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw x, then P(Y = 1 | x)."""
        x = rng.standard_normal(n)
        x += 1.0 - 2.0 * (rng.random(n) < 0.5)
        # No power overflows: |beta0 + beta1 x| is less than 700. This is several times as fast as `expit`.
        event = 1 / (1 + np.exp(self.beta0 + self.beta1 * x))
        if self.calibrated and self.beta1:
            return population_of(event, event, classes=self.classes)
        chance = 1 / (1 + np.exp(-2 * x)) if self.beta1 else np.full(n, 0.5)
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
