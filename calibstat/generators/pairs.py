"""Two classifiers on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import special

from calibstat.arrays import RNG, Floats, as_generator
from calibstat.checks import at_least_one
from calibstat.generators.elementary import expit, logit
from calibstat.generators.line import LineModel
from calibstat.generators.population import Population, draw_outcomes, population_of
from calibstat.generators.recalibrations import Identity, LogitShift, Recalibration, Slope
from calibstat.sample import Sample


@final
@dataclass(frozen=True)
class ModelPair:
    r"""Two classifiers on the same rows, with chosen sharpness and calibration errors.

    Independent standard normal z and w give the chance :math:`\Phi(s_1 z + s_2 w)`. The first classifier sees z, the
    second w: P(Y = 1 | z) = :math:`\Phi(s_1 z / \sqrt{1 + s_2^2})`, and likewise for w. Each announces the p for which
    that chance is its recalibration r(p); with `Identity` it is calibrated.

    Parameters
    ----------
    sharpness : two floats
        s_1 and s_2, in [0.05, 5].
    recalibrations : two of Identity, LogitShift, Slope
        The calibration functions, which must have an inverse.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import Identity, LogitShift, ModelPair
    >>> pair = ModelPair((1, 0.7), (Identity(), LogitShift(0.4)))
    >>> first, second = pair.sample(100, rng=0)
    >>> bool((first.outcomes == second.outcomes).all())
    True
    >>> round(float(pair.second.truth(cs.ECE())), 4)
    0.0866
    """

    sharpness: tuple[float, float] = (1.0, 0.7)
    recalibrations: tuple[Recalibration, Recalibration] = (Identity(), Identity())

    def __post_init__(self) -> None:
        if len(self.sharpness) != 2 or len(self.recalibrations) != 2:
            raise ValueError(f"{self!r}: sharpness and recalibrations need two values each.")
        if not all(0.05 <= each <= 5 for each in self.sharpness):
            raise ValueError(f"sharpness is {self.sharpness!r}, but both values must be in [0.05, 5].")
        for each in self.recalibrations:
            _affine(each)

    @property
    def first(self) -> Member:
        """The classifier that sees z, as a model of its own."""
        return Member(self, 0)

    @property
    def second(self) -> Member:
        """The classifier that sees w, as a model of its own."""
        return Member(self, 1)

    def sample(self, n: int, rng: RNG = None) -> tuple[Sample, Sample]:
        """Draw rows with the predictions of both classifiers and one label each.

        Parameters
        ----------
        n : int
        rng : int, numpy Generator or None

        Returns
        -------
        first, second : Sample
            With the same outcomes.
        """
        generator = as_generator(rng)
        signals = generator.standard_normal((2, at_least_one("n", n)))
        chance = special.ndtr(self.sharpness[0] * signals[0] + self.sharpness[1] * signals[1])
        outcomes = draw_outcomes(np.stack([1 - chance, chance], axis=1), generator)
        members = (self.first, self.second)
        drawn = [population_of(member.announce(z), chance) for member, z in zip(members, signals, strict=True)]
        return Sample.of(drawn[0].predictions, outcomes), Sample.of(drawn[1].predictions, outcomes)


@final
@dataclass(frozen=True)
class Member(LineModel):
    """One classifier of a pair.

    Parameters
    ----------
    pair : ModelPair
    which : {0, 1}
    """

    pair: ModelPair
    which: int

    @property
    def _gain(self) -> float:
        own, other = self.pair.sharpness[self.which], self.pair.sharpness[1 - self.which]
        return own / float(np.sqrt(1 + other**2))

    @property
    def _law(self) -> tuple[float, float]:
        return _affine(self.pair.recalibrations[self.which])

    def announce(self, signal: Floats) -> Floats:
        """Return the announced probabilities (m,) where the signal (m,) is seen."""
        shift, slope = self._law
        chance: Floats = special.ndtr(self._gain * signal)
        return chance if (shift, slope) == (0.0, 1.0) else expit((logit(chance) - shift) / slope)

    def _announced_odds(self, signal: Floats) -> Floats:
        shift, slope = self._law
        seen = self._gain * signal
        return (special.log_ndtr(seen) - special.log_ndtr(-seen) - shift) / slope

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw signals; the chance is that given the signal."""
        signal = rng.standard_normal(n)
        return population_of(self.announce(signal), special.ndtr(self._gain * signal))

    def event_chance(self, log_odds: Floats) -> Floats:
        """Return r(p)."""
        shift, slope = self._law
        return expit(shift + slope * log_odds)

    def density(self, log_odds: Floats) -> Floats:
        """Return the density of the announced log-odds."""
        shift, slope = self._law
        odds = shift + slope * log_odds
        seen = np.where(odds < 0, 1, -1) * special.ndtri_exp(special.log_expit(-np.abs(odds)))
        jacobian = special.log_expit(odds) + special.log_expit(-odds) + seen**2 / 2 + np.log(slope / self._gain)
        return np.exp(jacobian - (seen / self._gain) ** 2 / 2)

    def borders(self) -> Floats:
        """Return a step of a quarter standard deviation of the signal."""
        return self._announced_odds(np.linspace(-11, 11, 89))


def _affine(recalibration: Recalibration) -> tuple[float, float]:
    """Return shift and slope of a recalibration of log-odds, which has an inverse."""
    if isinstance(recalibration, LogitShift):
        return recalibration.a, 1.0
    if isinstance(recalibration, Slope):
        return 0.0, recalibration.b
    if isinstance(recalibration, Identity):
        return 0.0, 1.0
    raise ValueError(f"{recalibration!r} has no known inverse: take Identity(), LogitShift(a) or Slope(b).")
