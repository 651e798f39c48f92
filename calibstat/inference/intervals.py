"""Laws behind intervals: the distance between a value and its estimand."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat._text import counted, short
from calibstat.data.arrays import Floats
from calibstat.data.groups import cluster_factors
from calibstat.data.rounding import rounded_up
from calibstat.nulls.base import monte_carlo_pvalue, tie_slack


class ConfidenceInterval(NamedTuple):
    """The ends of an interval.

    Parameters
    ----------
    low, high : float
    """

    low: float
    high: float


class Measure(NamedTuple):
    """A number with its name, with its interval (NaN where there is none), and what a calibrated model has on average.

    `expected` is NaN where that depends on the model's discrimination.
    """

    name: str
    words: str
    value: float
    low: float
    high: float
    expected: float = math.nan

    @classmethod
    def of(cls, name: str, words: str, value: float, ends: tuple[float, float], expected: float = math.nan) -> Measure:
        """Take both ends of the interval as one."""
        return cls(name, words, value, *ends, expected)

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    def excludes(self, value: float) -> bool:
        """Whether the interval lies on one side of the value."""
        return self.low > value or self.high < value

    def short(self, level: str = "") -> str:
        """Write the value with its interval in three digits, or more of an end that is not quite what is expected."""
        low, high = (short(end, self.expected) for end in self.interval)
        ends = f" ({level}{low} to {high})" if all(map(math.isfinite, self.interval)) else ""
        return f"{short(self.value)}{ends}"


# The share of the error probability that is spent on where chances may lie, for bounds that hold at every n.
SPENT = 0.001


class NoInterval(ValueError):  # noqa: N818 (not always an error: `estimate` prints the reason)
    """There is no interval; the message says why, and what would give one."""


NO_NOISE = (
    "all predictions are certain and right, so that nothing shows the noise that there would be if they were slightly "
    "wrong; calibration_band bounds the error at every n"
)


class Interval(ABC):
    """A value and the law of its distance to its estimand."""

    value: float
    method: str
    of_error: bool = True
    """Whether zero means that nothing is wrong; a score, say, is no error."""

    @property
    def hidden(self) -> bool:
        """Whether noise was added that the rows do not show."""
        return False

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
class UniformInterval(Interval):
    """A value that noise moves by at most a seminorm of the noise (triangle inequality), or a power of such a value.

    `noises` are values on noise alone (R,), drawn in different ways; the half-width is the largest quantile of their
    roots, and that of the root of the value. Those in `possible` were drawn at chances that the sample leaves possible
    with all but `SPENT` of the confidence, which their quantiles make up for. No bound exceeds `largest`, the largest
    possible value. Where the value is the largest of several numbers, `peaks` has these (m,) and, for each, how far it
    moves while the noise is one; so those far below the largest one may be uncertain, and matter little. Where the
    value is a quantile over rows and the noises bound all but a few rows, it lies within the half-width of quantiles so
    many rows below and above, `nearby`.
    """

    value: float
    noises: Sequence[Floats]
    method: str
    largest: float = np.inf
    of_error: bool = True
    power: float = 1
    possible: Sequence[Floats] = ()
    peaks: tuple[Floats, Floats] | None = None
    nearby: tuple[float, float] | None = None

    @property
    def hidden(self) -> bool:
        """Whether noise at possible chances was added to that of the rows."""
        return bool(self.noises and self.possible)

    def half_width(self, confidence_level: float) -> float:
        """Return the largest of the quantiles of rank ceil(level * (R + 1)), of roots."""
        return max(self._root(_quantile(noise, confidence_level + spent)) for noise, spent in self._all)

    def interval(self, confidence_level: float) -> ConfidenceInterval:
        """Return the value minus and plus the half-width, the lower end at least zero."""
        heights, scales = self._peaks if self.nearby is None else (np.array(self.nearby[:1]), np.ones(1))
        reach = self.half_width(confidence_level) * scales
        k = int((heights - reach).argmax())
        return ConfidenceInterval(lower_end(heights[k], reach[k]) ** self.power, self.upper(confidence_level))

    def upper(self, confidence_level: float) -> float:
        """Return the value plus the half-width, which is the same for one side as for two."""
        heights, scales = self._peaks
        end = float((heights + self.half_width(confidence_level) * scales).max()) ** self.power
        return end if end < self.largest - tie_slack(end, self.value) else self.largest

    def pvalue_above(self, margin: float) -> float:
        """Return the Monte Carlo p-value of the distance from the value to the margin, among the noises."""
        heights, scales = self._peaks
        gap = float(((self._root(margin) - heights) / scales).min())
        if gap < 0:
            return 1.0
        beyond = [
            spent + monte_carlo_pvalue(int(np.count_nonzero(~(noise <= gap**self.power))), len(noise))
            for noise, spent in self._all
        ]
        return min(1.0, max(beyond))

    @property
    def _peaks(self) -> tuple[Floats, Floats]:
        return self.peaks or (np.array([self._root(self.value if self.nearby is None else self.nearby[1])]), np.ones(1))

    @property
    def _all(self) -> list[tuple[Floats, float]]:
        """All noises, and what is spent on where their chances may lie."""
        return [(noise, 0.0) for noise in self.noises] + [(noise, SPENT) for noise in self.possible]

    def _root(self, value: float) -> float:
        return value if self.power == 1 else max(value, 0.0) ** (1 / self.power)


def lower_end(value: float, reach: float) -> float:
    """Subtract a distance from a value; zero if the difference is negative or within rounding of zero.

    >>> lower_end(0.5, 0.2), lower_end(0.1 + 0.2, 0.3), lower_end(0.1, 0.2)
    (0.3, 0.0, 0.0)
    """
    low = float(value - reach)
    return low if low > tie_slack(float(value), float(reach)) else 0.0


def _quantile(noise: Floats, level: float) -> float:
    """Return the value of rank ceil(level (R + 1)): the data are one of R + 1 sets; NaN counts as largest."""
    if level >= 1:
        raise NoInterval(f"an interval that holds at every n needs a level below {1 - SPENT:g}")
    rank = rounded_up(level * (len(noise) + 1))
    if rank > len(noise):
        need = rounded_up(1 / (1 - level)) - 1
        raise NoInterval(
            f"{counted(len(noise), 'resample', 'is', 'are')} too few for level {level:g}; take at least {need}"
        )
    return float(np.sort(noise)[rank - 1])


# Intervals of a normal value.


def student_quantile(freedom: float, level: float) -> float:
    """Return the quantile of Student's law, or of the normal law where the degrees of freedom are infinite."""
    return float(special.stdtrit(freedom, level))


@final
@dataclass(frozen=True, eq=False)
class NormalInterval(Interval):
    """An asymptotically normal value.

    Ends lie between the possible values `smallest` and `largest`; if `on_range`, they are symmetric on the logit of
    this range, or on the logarithm where there is no `largest`, as few events make a value skew (Pepe 2003 has this for
    the AUC, Debray et al. 2017 for O/E). With few degrees of `freedom` behind the standard error the law is Student's.
    """

    value: float
    standard_error: float
    method: str
    smallest: float = -np.inf
    largest: float = np.inf
    of_error: bool = False
    on_range: bool = False
    freedom: float = np.inf

    def interval(self, confidence_level: float) -> ConfidenceInterval:
        """Return the value minus and plus z standard errors."""
        z = student_quantile(self.freedom, 0.5 + confidence_level / 2)
        return ConfidenceInterval(self._inside(self._moved(-z)), self._inside(self._moved(z)))

    def upper(self, confidence_level: float) -> float:
        """Return the value plus z standard errors."""
        return self._inside(self._moved(student_quantile(self.freedom, confidence_level)))

    def pvalue_above(self, margin: float) -> float:
        """Compare the distance to the margin with the standard error."""
        distance = margin - self.value
        if self.standard_error == 0:
            return float(distance < 0)

        return float(special.stdtr(self.freedom, -distance / self.standard_error))

    def _moved(self, z: float) -> float:
        """Move the value by z standard errors; inside its range, on the logit or logarithm."""
        below, above = self.value - self.smallest, self.largest - self.value
        if not (self.on_range and 0 < below < np.inf and above > 0):
            return self.value + z * self.standard_error
        odds = float(np.exp(min(z * self.standard_error * (1 / below + 1 / above), 700.0)))  # e^710 overflows
        return self.smallest + below * odds / (1 + (odds - 1) * below / (below + above))

    def _inside(self, end: float) -> float:
        return min(self.largest, max(self.smallest, end))


@final
@dataclass(frozen=True, eq=False)
class RootInterval(Interval):
    """The signed root of a squared error, `square`: ends and margins are roots of those of the square."""

    square: Interval
    method: str

    @property
    def value(self) -> float:  # type: ignore[override]
        """The root of the size of the square, with its sign."""
        return math.copysign(math.sqrt(abs(self.square.value)), self.square.value)

    def interval(self, confidence_level: float) -> ConfidenceInterval:
        """Return the roots of both ends, which are at least zero."""
        return ConfidenceInterval(*map(math.sqrt, self.square.interval(confidence_level)))

    def upper(self, confidence_level: float) -> float:
        """Return the root of the upper bound."""
        return math.sqrt(self.square.upper(confidence_level))

    def pvalue_above(self, margin: float) -> float:
        """Compare the square with the squared margin."""
        return self.square.pvalue_above(margin**2)


def cluster_error(influence: Floats, masses: Floats) -> tuple[float, float]:
    """Return the standard error of a value and its degrees of freedom, by the influence and the mass of clusters (G,).

    They are those of `cluster_factors`.
    """
    factor, freedom = cluster_factors(masses)
    return math.sqrt(float(factor @ influence**2)), freedom


def standardized(difference: float, error: float, size: float) -> float:
    """Return a difference in standard errors: 0 if it is within rounding of zero, or has no standard error.

    `size` is the size of the two numbers, which determines the rounding of their difference (`tie_slack`).
    """
    return 0.0 if abs(difference) <= tie_slack(difference, size) or error == 0 else difference / error


def normal_pvalue(difference: float, error: float, size: float, freedom: float = np.inf) -> float:
    """Return the two-sided p-value of a difference (see `standardized`); 1 if it is within rounding of zero.

    With few degrees of `freedom` behind the standard error the law is Student's.
    """
    return 2 * float(special.stdtr(freedom, -abs(standardized(difference, error, size))))
