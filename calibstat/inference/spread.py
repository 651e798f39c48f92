"""What stands behind an interval: how far the value may lie from what it estimates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from calibstat.arrays import Floats
from calibstat.nulls.tied import tie_slack


class ConfidenceInterval(NamedTuple):
    """The ends of an interval.

    Parameters
    ----------
    low, high : float
    """

    low: float
    high: float


class NoInterval(ValueError):  # noqa: N818 (not always an error: `estimate` prints the reason)
    """Why there is no interval, and what would work."""


NO_NOISE = (
    "all predictions are certain and right, so that nothing shows the noise that there would be if they were slightly "
    "wrong; calibration_band bounds the error at every n"
)


class Spread(ABC):
    """A value and the law of its distance to what it estimates."""

    value: float
    method: str

    @abstractmethod
    def interval(self, confidence_level: float) -> ConfidenceInterval:
        """Return the two-sided interval."""

    @abstractmethod
    def upper(self, confidence_level: float) -> float:
        """Return the one-sided upper bound."""

    @abstractmethod
    def pvalue_above(self, margin: float) -> float:
        """Return the smallest alpha at which the upper bound of level 1 - alpha does not exceed `margin`."""


@final
@dataclass(frozen=True, eq=False)
class Uniform(Spread):
    """A seminorm of residuals: the distance is at most the seminorm of the noise (triangle inequality).

    Parameters
    ----------
    value : float
    noises : sequence of (R,) floats
        Values of the seminorm on noise alone, had in different ways; the largest quantile counts.
    method : str
    largest : float
        The largest value that there can be: no bound exceeds it.
    """

    value: float
    noises: Sequence[Floats]
    method: str
    largest: float = np.inf

    def half_width(self, confidence_level: float) -> float:
        """Return the largest of the quantiles of rank ceil(level * (R + 1))."""
        return max(_quantile(noise, confidence_level) for noise in self.noises)

    def interval(self, confidence_level: float) -> ConfidenceInterval:
        """Go the half-width down, at most to zero, and up."""
        half = self.half_width(confidence_level)
        return ConfidenceInterval(lower_end(self.value, half), min(self.value + half, self.largest))

    def upper(self, confidence_level: float) -> float:
        """Go the half-width up: the same for one side as for two."""
        return min(self.value + self.half_width(confidence_level), self.largest)

    def pvalue_above(self, margin: float) -> float:
        """Count the noises that reach from the value to the margin."""
        gap = margin - self.value
        if gap < 0:
            return 1.0
        return max((1 + int(np.count_nonzero(~(noise <= gap)))) / (1 + len(noise)) for noise in self.noises)


def lower_end(value: float, reach: float) -> float:
    """Go down from a value, at most to zero; where it is as far as zero but for rounding, to zero.

    Examples
    --------
    >>> lower_end(0.5, 0.2), lower_end(0.1 + 0.2, 0.3), lower_end(0.1, 0.2)
    (0.3, 0.0, 0.0)
    """
    low = float(value - reach)
    return low if low > tie_slack(float(value), float(reach)) else 0.0


def _quantile(noise: Floats, level: float) -> float:
    """Return the value of rank ceil(level (R + 1)): the data are one of R + 1 sets; NaN counts as largest."""
    rank = int(np.ceil(level * (len(noise) + 1) - 1e-9))
    if rank > len(noise):
        need = int(np.ceil(1 / (1 - level) - 1e-9)) - 1
        raise NoInterval(f"{len(noise)} resamples are too few for level {level:g}; take at least {need}")
    return float(np.sort(noise)[rank - 1])
