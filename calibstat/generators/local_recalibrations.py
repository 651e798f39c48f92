"""Calibration functions that err in places: wiggles, bumps and tails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Floats
from calibstat.checks import at_least_one
from calibstat.generators.recalibrations import Recalibration, checked


@final
@dataclass(frozen=True)
class Wiggle(Recalibration):
    """r(p) = p + A sin(2 pi f p) min(1, 4p(1 - p)): miscalibration that coarse cells average out.

    Parameters
    ----------
    cycles : float
        The frequency f.
    amplitude : float
        A.
    """

    cycles: float
    amplitude: float

    def __post_init__(self) -> None:
        checked(self)

    def __call__(self, p: Floats) -> Floats:
        """Add a damped sine."""
        return p + self.amplitude * np.sin(2 * np.pi * self.cycles * p) * np.minimum(1, 4 * p * (1 - p))


@final
@dataclass(frozen=True)
class Bump(Recalibration):
    """r(p) = p + h exp(-(p - c)^2 / (2 w^2)).

    Parameters
    ----------
    centre, width, height : float
        c, w > 0 and h.
    """

    centre: float
    width: float
    height: float

    def __post_init__(self) -> None:
        if not self.width > 0:
            raise ValueError(f"width is {self.width!r}, but it must be above 0.")
        checked(self)

    def __call__(self, p: Floats) -> Floats:
        """Add a bell."""
        bell: Floats = np.exp(-((p - self.centre) ** 2) / (2 * self.width**2))
        return p + self.height * bell

    @property
    def breaks(self) -> Floats:
        """Not breaks, but where the bell bends: narrow ones need narrow panels."""
        points = self.centre + self.width * np.arange(-8, 9)
        inside: Floats = np.asarray(points[(points > 0) & (points < 1)], dtype=float)
        return inside


@final
@dataclass(frozen=True)
class ClippedTails(Recalibration):
    """r(p) = min(max(p, c), 1 - c): extreme announcements are too extreme.

    Parameters
    ----------
    c : float
        0 <= c < 1/2.
    """

    c: float

    def __post_init__(self) -> None:
        if not 0 <= self.c < 0.5:
            raise ValueError(f"c is {self.c!r}, but it must be in [0, 1/2).")

    def __call__(self, p: Floats) -> Floats:
        """Clip."""
        clipped: Floats = np.clip(p, self.c, 1 - self.c)
        return clipped

    @property
    def breaks(self) -> Floats:
        """The two corners."""
        return np.array([self.c, 1 - self.c]) if self.c > 0 else np.empty(0)


@final
@dataclass(frozen=True)
class HoelderBumps(Recalibration):
    r"""Bumps of a given Hoelder smoothness, the worst case for tests of calibration (Lee et al. 2023, T-Cal).

    .. math:: r(p) = p + \rho\, m^{-s} \sum_j a_j\, \zeta(2m (p - 1/4) - j), \quad \zeta(x) = e^{-1/(x (1 - x))}

    on [1/4, 3/4], with signs a_j = +1, -1, +1, ... for j = 0, ..., m - 1.

    Parameters
    ----------
    smoothness : float
        s > 0.
    n_bumps : int
        m.
    scale : float
        rho.
    """

    smoothness: float
    n_bumps: int
    scale: float

    def __post_init__(self) -> None:
        at_least_one("n_bumps", self.n_bumps)
        if not self.smoothness > 0:
            raise ValueError(f"smoothness is {self.smoothness!r}, but it must be above 0.")
        checked(self)

    def __call__(self, p: Floats) -> Floats:
        """Add the bumps."""
        place = 2 * self.n_bumps * (p - 0.25)
        bump = np.floor(place)
        within = place - bump
        room = within * (1 - within)
        inside = (p > 0.25) & (p < 0.75) & (room > 1e-3)  # exp(-1/room) underflows below
        height: Floats = np.exp(-1 / np.where(inside, room, 1.0)) * self.scale * self.n_bumps**-self.smoothness
        signed: Floats = np.where(bump % 2 == 0, height, -height)
        added: Floats = np.where(inside, signed, 0.0)
        return p + added

    @property
    def breaks(self) -> Floats:
        """The ends of the bumps, and points within, since these are steep."""
        return 0.25 + np.arange(4 * self.n_bumps + 1) / (8 * self.n_bumps)
