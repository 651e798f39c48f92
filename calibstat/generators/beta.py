"""Beta-distributed scores with a calibration function of your choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import special

from calibstat.arrays import Floats
from calibstat.generators.elementary import expit, logit
from calibstat.generators.line import LineModel
from calibstat.generators.population import Population, population_of
from calibstat.generators.recalibrations import EventMap, Identity, breaks_of, chances_of, checked

_LEVELS = np.array([1e-18, 1e-15, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5])
_LEAST, _MOST = 0.05, 1e6


@final
@dataclass(frozen=True)
class BetaPredictions(LineModel):
    """Scores p ~ Beta(a, b); the event happens with chance r(p).

    Parameters
    ----------
    a, b : float
        In [0.05, 10^6] (below, the mass at 0 or 1 leaves the floats).
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
        checked(self.recalibration)

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw scores."""
        score = rng.random(n) if self.a == self.b == 1 else rng.beta(self.a, self.b, n)
        return population_of(score, chances_of(self.recalibration, score))

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
        breaks = breaks_of(self.recalibration)
        inside = breaks[(breaks > 0) & (breaks < 1)]
        return np.concatenate([beta_borders(self.a, self.b), logit(inside)])


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
