"""Calibration functions for an event: what happens when a probability p is announced.

Each maps announced probabilities (m,) to chances (m,). They are laid on a law of predictions by the models; any
callable serves as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from calibstat.arrays import Floats
from calibstat.generators.elementary import expit, logit

_GRID = np.concatenate([[0.0], expit(np.linspace(-40, 40, 2001)), np.linspace(0, 1, 2001)])
_SLACK = 1e-12

EventMap: TypeAlias = Callable[[Floats], Any]


class Recalibration(ABC):
    """A calibration function for an event."""

    @abstractmethod
    def __call__(self, p: Floats) -> Floats:
        """Return the chances (m,) of the event where p (m,) is announced."""

    @property
    def breaks(self) -> Floats:
        """Where in (0, 1) the function is not smooth."""
        return np.empty(0)


def checked(recalibration: EventMap) -> EventMap:
    """Return a recalibration that keeps [0, 1] within rounding, or say where it leaves it.

    Raises
    ------
    TypeError
        If it cannot be called.
    ValueError
        If it does not return one probability for each.
    """
    if not callable(recalibration):
        raise TypeError(f"recalibration is {recalibration!r}, but a function of probabilities is needed: Identity().")
    chances_of(recalibration, _GRID)
    return recalibration


def chances_of(recalibration: EventMap, p: Floats) -> Floats:
    """Return the chances that a recalibration gives to `p`, checked."""
    values = np.asarray(recalibration(p), dtype=float)
    if values.shape != p.shape:
        raise ValueError(f"{recalibration!r} maps shape {p.shape} to {values.shape}; it must keep the shape.")
    if not (values.min(initial=0.0) >= -_SLACK and values.max(initial=1.0) <= 1 + _SLACK):
        row = int(np.argmin((values >= -_SLACK) & (values <= 1 + _SLACK)))
        raise ValueError(
            f"{recalibration!r} leaves [0, 1]: it maps {p[row]:.6g} to {values[row]:.6g}; take a smaller amplitude."
        )
    return np.clip(values, 0.0, 1.0)


def breaks_of(recalibration: EventMap) -> Floats:
    """Return where a recalibration is not smooth, as far as it says so."""
    return np.asarray(getattr(recalibration, "breaks", ()), dtype=float)


@final
@dataclass(frozen=True)
class Identity(Recalibration):
    """r(p) = p: the model is calibrated."""

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

    a: float

    def __post_init__(self) -> None:
        _finite(self, self.a)

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

    b: float

    def __post_init__(self) -> None:
        _finite(self, self.b)
        if self.b <= 0:
            raise ValueError(f"b is {self.b!r}, but a slope must be above 0.")

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

    a: float

    def __post_init__(self) -> None:
        checked(self)

    def __call__(self, p: Floats) -> Floats:
        """Evaluate the polynomial."""
        return p + self.a * p * (1 - p) * (1 - 2 * p)


def _finite(recalibration: Recalibration, value: float) -> None:
    if not np.isfinite(value):
        raise ValueError(f"{recalibration!r}: the parameter must be finite.")
