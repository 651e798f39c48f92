"""Calibration functions for an event: what happens when a probability p is announced.

Each maps announced probabilities (m,) to chances (m,). Synthetic models apply one to the predictions that they draw;
any callable serves as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._logistic import expit, logit
from calibstat.data.arrays import Floats
from calibstat.data.parameters import Count, Finite, HasParameters, Positive, Tail
from calibstat.data.rounding import ROUNDING

_GRID = np.concatenate([[0.0], expit(np.linspace(-40, 40, 2001)), np.linspace(0, 1, 2001)])


class Recalibration(HasParameters, ABC):
    """A calibration function for an event."""

    in_messages: ClassVar[str] = "a recalibration, such as Slope(0.8)"

    def __post_init__(self) -> None:
        check_map(self)

    @abstractmethod
    def __call__(self, p: Floats) -> Floats:
        """Return the chances (m,) of the event where p (m,) is announced."""

    @property
    def breaks(self) -> Floats:
        """Where in (0, 1) the function is not smooth."""
        return np.empty(0)


EventMap: TypeAlias = Recalibration | Callable[[Floats], Any]


def check_map(recalibration: EventMap) -> None:
    """Refuse a recalibration that leaves [0, 1] by more than rounding, and say where."""
    chances_of(recalibration, _GRID)


def chances_of(recalibration: EventMap, p: Floats) -> Floats:
    """Return the chances that a recalibration gives to `p`, checked."""
    values = np.asarray(recalibration(p), dtype=float)
    if values.shape != p.shape:
        raise ValueError(f"{recalibration!r} maps shape {p.shape} to {values.shape}; it must keep the shape.")
    if not (values.min(initial=0.0) >= -ROUNDING and values.max(initial=1.0) <= 1 + ROUNDING):
        row = int(np.argmin((values >= -ROUNDING) & (values <= 1 + ROUNDING)))
        raise ValueError(
            f"{recalibration!r} leaves [0, 1]: it maps {p[row]:.6g} to {values[row]:.6g}; take a smaller amplitude."
        )
    return np.clip(values, 0.0, 1.0)


@final
@dataclass(frozen=True)
class Identity(Recalibration):
    """r(p) = p: the chance of the event is what the model says."""

    in_messages: ClassVar[str] = "Identity()"

    def __call__(self, p: Floats) -> Floats:
        """Return the probabilities themselves."""
        return p


@final
@dataclass(frozen=True)
class LogitShift(Recalibration):
    """r(p) = expit(a + logit p).

    Parameters
    ----------
    a : float
        Above zero the event happens more often than announced.
    """

    a: Finite

    def __call__(self, p: Floats) -> Floats:
        """Shift the log-odds."""
        return expit(self.a + logit(p))


@final
@dataclass(frozen=True)
class Slope(Recalibration):
    """r(p) = expit(b logit p).

    Parameters
    ----------
    b : float
        Above zero; below one the model is overconfident, above one underconfident.
    """

    b: Positive

    def __call__(self, p: Floats) -> Floats:
        """Scale the log-odds."""
        return expit(self.b * logit(p))


@final
@dataclass(frozen=True)
class Cubic(Recalibration):
    """r(p) = p + a p (1 - p)(1 - 2p): right at 0, 1/2 and 1.

    Parameters
    ----------
    a : float
        -1 <= a <= 8; above zero the model is overconfident on both sides of 1/2 (below zero underconfident).
    """

    a: Finite

    def __call__(self, p: Floats) -> Floats:
        """Evaluate the polynomial."""
        return p + self.a * p * (1 - p) * (1 - 2 * p)


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

    cycles: Finite
    amplitude: Finite

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

    centre: Finite
    width: Positive
    height: Finite

    def __call__(self, p: Floats) -> Floats:
        """Add the bell to the probabilities."""
        bell: Floats = np.exp(-((p - self.centre) ** 2) / (2 * self.width**2))
        return p + self.height * bell

    @property
    def breaks(self) -> Floats:
        """Points on the bell, which has no breaks: quadrature over a narrow bell needs narrow panels."""
        points = self.centre + self.width * np.arange(-8, 9)
        return np.asarray(points[(points > 0) & (points < 1)], dtype=float)


@final
@dataclass(frozen=True)
class ClippedTails(Recalibration):
    """r(p) = min(max(p, c), 1 - c): extreme announcements are too extreme.

    Parameters
    ----------
    c : float
        0 <= c < 1/2.
    """

    c: Tail

    def __call__(self, p: Floats) -> Floats:
        """Clip the probabilities."""
        return np.clip(p, self.c, 1 - self.c)

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

    smoothness: Positive
    n_bumps: Count
    scale: Finite

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
        """The ends of the bumps, and points within, where bumps are steep."""
        return 0.25 + np.arange(4 * self.n_bumps + 1) / (8 * self.n_bumps)
