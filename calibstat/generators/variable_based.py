"""A score and a variable with chosen calibration errors in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Floats
from calibstat.binnings.base import Binning
from calibstat.generators.base import SyntheticModel
from calibstat.generators.population import Population, population_of
from calibstat.generators.quadrature import distinct, panels
from calibstat.generators.settling import Borders, settled
from calibstat.lenses.base import Lens
from calibstat.variable import Variable

_N_NODES = 8
_TINY = 1e-30


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
        return settled(lambda further: self._grid(further, n_panels), lens, binning)

    def _grid(self, further: Borders, n_panels: int) -> Population:
        asked = further.get(..., np.empty(0))
        scores, score_mass = _axis(0.5, self.highest, n_panels, np.concatenate([asked, 1 - asked]))
        v, v_mass = _axis(0.0, 1.0, n_panels, further.get("v", np.empty(0)))
        # the ends of v belong to its range
        v, v_mass = np.concatenate([v, [0.0, 1.0]]), np.concatenate([v_mass, [_TINY, _TINY]])
        grid_scores, grid_v = np.repeat(scores, len(v)), np.tile(v, len(scores))
        return population_of(
            grid_scores,
            self.chance(grid_scores, grid_v),
            np.outer(score_mass, v_mass).ravel(),
            variables={"v": Variable(grid_v)},
            method=f"Gauss-Legendre quadrature, {len(grid_v)} nodes (a maximum is over these)",
        )


def _axis(low: float, high: float, n_panels: int, further: Floats) -> tuple[Floats, Floats]:
    inside = further[(further > low) & (further < high)]
    return panels(distinct(np.concatenate([np.linspace(low, high, n_panels + 1), inside])), _N_NODES)
