"""Worlds with chosen calibration errors: given a score and given a variable, or of two classifiers."""

from __future__ import annotations

from typing import final

import numpy as np
from scipy import special

from calibstat._dataclass import dataclass
from calibstat._logistic import expit, logit
from calibstat.binnings.base import Binning
from calibstat.data.arrays import RNG, Floats, Variable, as_generator
from calibstat.data.parameters import HasParameters, at_least_one
from calibstat.data.sample import Sample
from calibstat.generators._quadrature import Borders, distinct, panels, population_on_cells
from calibstat.generators.base import Population, SyntheticModel, draw_outcomes, population_of
from calibstat.generators.line import LineModel
from calibstat.generators.recalibrations import Identity, LogitShift, Recalibration, Slope
from calibstat.lenses.base import Lens


@final
@dataclass(frozen=True)
class VariableMiscalibration(SyntheticModel):
    r"""Two classes, a confidence s and an independent variable "v", with chosen ECE and VECE (Kelly & Smyth 2023).

    s is uniform on (1/2, 1 - m), v on (0, 1), and the event, which is always the top label, happens with chance

    .. math:: s + \tfrac{\pi}{2}\,\mathrm{ece}\,\sin(2 \pi F(s)) - \tfrac{\pi}{2}\,\mathrm{vece}\,\sin(2 \pi v),
              \qquad m = \tfrac{\pi}{2} (\mathrm{ece} + \mathrm{vece})

    with the distribution function F of s: the model is overconfident for v < 1/2 and underconfident for v > 1/2, which
    cancels at every s.

    Parameters
    ----------
    ece, vece : float
        The errors given the score, and given "v"; at least 0, and 1/pi = 0.318 in sum at most.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import VariableMiscalibration
    >>> model = VariableMiscalibration(ece=0.02, vece=0.1)
    >>> round(float(model.truth(cs.ECE())), 10), round(float(model.truth(cs.VECE("v"))), 10)
    (0.02, 0.1)
    """

    ece: float
    vece: float

    def __post_init__(self) -> None:
        if not (self.ece >= 0 and self.vece >= 0 and self.ece + self.vece < 1 / np.pi):
            raise ValueError(f"{self!r}: errors must be >= 0 and less than 1/pi = 0.3183 in sum.")

    @property
    def highest(self) -> float:
        """The largest confidence, 1 - m."""
        return 1 - np.pi / 2 * (self.ece + self.vece)

    def chance(self, score: Floats, v: Floats) -> Floats:
        """Return the chance of the event."""
        place = (score - 0.5) / (self.highest - 0.5)
        by_score = self.ece * np.sin(2 * np.pi * place)
        return np.clip(score + np.pi / 2 * (by_score - self.vece * np.sin(2 * np.pi * v)), 0.0, 1.0)

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw scores and variables."""
        score = 0.5 + (self.highest - 0.5) * rng.random(n)
        v = rng.random(n)
        return population_of(score, self.chance(score, v), variables={"v": Variable(v)})

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:
        """Lay a grid of nodes over scores and variables."""
        joint = len(lens.look(self._grid({}, 1).predictions).predictions.given) > 1
        n_panels = 64 if joint else 8  # deviations given both have kinks along curves
        return population_on_cells(lambda further: self._grid(further, n_panels), lens, binning)

    def _grid(self, further: Borders, n_panels: int) -> Population:
        asked = further.get(..., np.empty(0))
        scores, score_mass = _nodes_between(0.5, self.highest, n_panels, np.concatenate([asked, 1 - asked]))
        v, v_mass = _nodes_between(0.0, 1.0, n_panels, further.get("v", np.empty(0)))
        # The ends of v are nodes of negligible mass, so that cells of v begin and end there.
        v, v_mass = np.concatenate([v, [0.0, 1.0]]), np.concatenate([v_mass, [1e-30, 1e-30]])
        grid_scores, grid_v = np.repeat(scores, len(v)), np.tile(v, len(scores))
        return population_of(
            grid_scores,
            self.chance(grid_scores, grid_v),
            np.outer(score_mass, v_mass).ravel(),
            variables={"v": Variable(grid_v)},
            method=f"Gauss-Legendre quadrature, {len(grid_v)} nodes (a maximum is over these)",
        )


def _nodes_between(low: float, high: float, n_panels: int, further: Floats) -> tuple[Floats, Floats]:
    inside = further[(further > low) & (further < high)]
    return panels(distinct(np.concatenate([np.linspace(low, high, n_panels + 1), inside])), 8)


@final
@dataclass(frozen=True)
class ModelPair(HasParameters):
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
        if not all(0.05 <= each <= 5 for each in self.sharpness):
            raise ValueError(f"sharpness is {self.sharpness!r}, but both values must be in [0.05, 5].")
        for each in self.recalibrations:
            _affine(each)

    @property
    def first(self) -> MemberOfPair:
        """The classifier that sees z, as a model of its own."""
        return MemberOfPair(self, 0)

    @property
    def second(self) -> MemberOfPair:
        """The classifier that sees w, as a model of its own."""
        return MemberOfPair(self, 1)

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
class MemberOfPair(LineModel):
    """One classifier of a pair: `which` is 0 or 1."""

    pair: ModelPair
    which: int

    def __repr__(self) -> str:
        return f"{self.pair!r}.{('first', 'second')[self.which]}"

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
        """Return the announced log-odds at steps of a quarter standard deviation of the signal."""
        (shift, slope), seen = self._law, self._gain * np.linspace(-11, 11, 89)
        return (special.log_ndtr(seen) - special.log_ndtr(-seen) - shift) / slope


def _affine(recalibration: Recalibration) -> tuple[float, float]:
    """Return shift and slope of a recalibration of log-odds, which has an inverse."""
    if isinstance(recalibration, LogitShift):
        return recalibration.a, 1.0
    if isinstance(recalibration, Slope):
        return 0.0, recalibration.b
    if isinstance(recalibration, Identity):
        return 0.0, 1.0
    raise ValueError(f"{recalibration!r} has no known inverse: take Identity(), LogitShift(a) or Slope(b).")
