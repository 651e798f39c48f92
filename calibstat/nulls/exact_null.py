"""A null distribution that was computed, not drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from calibstat.arrays import Floats
from calibstat.nulls.distributions import NullDistribution
from calibstat.nulls.exact_atoms import Atoms
from calibstat.nulls.tied import tie_slack, typical_size

_ATOMS_FOR_MEAN = 1024
_ATOMS_FOR_SIZE = 64
# What rounding leaves of a probability, and a share of a value that is not told from the value.
_ROUNDING = 1e-12


@final
@dataclass(frozen=True, eq=False)
class ExactNull(NullDistribution):
    """The law of an increasing function of the sum of two independent parts.

    Parameters
    ----------
    first, second : Atoms
        The laws of the parts; the first has the more atoms.
    link : callable
        The function.
    rounding : float
        By how much at most the sum was rounded up; 0 if it was not, and p-values are then exact.
    floor_pvalue : float
        How exact floating point numbers are: smaller p-values are not told apart.
    """

    first: Atoms
    second: Atoms
    link: Callable[[Floats], Floats]
    rounding: float = 0.0
    floor_pvalue: float = 1e-12

    def pvalue(self, value: float) -> float:
        """Return P(statistic >= value), ties included; the upper bound of it where the sum was rounded up."""
        return max(self.floor, self._tail(self._threshold(value)))

    def pvalue_interval(self, value: float, confidence_level: float = 0.99) -> tuple[float, float]:  # noqa: ARG002
        """Return bounds of P(statistic >= value); they hold for certain, whatever the level."""
        threshold = self._threshold(value)
        upper = self._tail(threshold)
        return (upper if self.rounding == 0 else self._tail(threshold + self.rounding)), max(upper, self.floor)

    def quantile(self, q: float) -> Floats:
        """Return the smallest value v with P(statistic <= v) >= q (of the law that was rounded up)."""
        if len(self.second.values) == 1:
            reached = np.cumsum(self.first.masses) >= q - _ROUNDING
            at = int(np.argmax(reached)) if reached.any() else len(reached) - 1
            return np.asarray(self.link(self.first.values[[at]] + self.second.values)[0])
        low, high = self._ends
        if self._reached(low) >= q:
            high = low
        while high - low > _ROUNDING * max(abs(low), abs(high)):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            low, high = (low, middle) if self._reached(middle) >= q else (middle, high)
        return np.asarray(self.link(np.array([high]))[0])

    @cached_property
    def mean(self) -> Floats:
        """The mean of the statistic: exact for a sum, to about six digits for a function of it with many values."""
        first, second = self.first.compressed(_ATOMS_FOR_MEAN), self.second.compressed(_ATOMS_FOR_MEAN)
        sums = np.add.outer(first.values, second.values)
        if self.rounding:
            sums = np.maximum(sums - self.rounding / 2, self._ends[0])
        return np.asarray(first.masses @ self.link(sums) @ second.masses)

    @cached_property
    def typical(self) -> float:
        """How large the statistic is under the null, by which ties are measured; roughly."""
        first, second = self.first.compressed(_ATOMS_FOR_SIZE), self.second.compressed(_ATOMS_FOR_SIZE)
        values = self.link(np.add.outer(first.values, second.values))
        return typical_size(values.ravel(), np.outer(first.masses, second.masses).ravel())

    @property
    def floor(self) -> float:
        """The smallest p-value that floating point numbers can give."""
        return self.floor_pvalue

    @property
    def description(self) -> str:
        """That nothing was drawn, and whether p-values are upper bounds."""
        return "exact bound" if self.rounding else "exact"

    @property
    def monte_carlo(self) -> bool:
        """Whether p-values have a Monte Carlo error: they have none."""
        return False

    @property
    def samples(self) -> Floats:
        """There are none."""
        raise AttributeError(
            "this null distribution was computed, so it has no samples; for replicates pass null=Consistency(999)."
        )

    @cached_property
    def _ends(self) -> tuple[float, float]:
        low, high = (float(self.first.values[end] + self.second.values[end]) for end in (0, -1))
        return low, high

    def _tail(self, threshold: float) -> float:
        """Return P(sum >= threshold)."""
        if threshold <= self._ends[0]:
            return 1.0
        if threshold not in self._tails:
            self._tails[threshold] = min(
                1.0, float(self.second.masses @ self.first.tail(threshold - self.second.values))
            )
        return self._tails[threshold]

    @cached_property
    def _tails(self) -> dict[float, float]:
        """What was found: a p-value and its bounds ask the same."""
        return {}

    def _reached(self, total: float) -> float:
        """Return P(sum <= total)."""
        return 1 - self._tail(np.nextafter(total, np.inf))

    def _threshold(self, value: float) -> float:
        """Return the smallest sum whose value is at least as extreme, up to the tolerance for ties."""
        target = value - tie_slack(value, self.typical)
        low, high = self._ends
        ends = self.link(np.array([low, high]))
        if not ends[0] < target:
            return low
        if ends[1] < target:
            return np.inf
        # the end high is always reached, low never
        while True:
            between = np.linspace(low, high, 65)
            at = int(np.argmax(~(self.link(between[1:]) < target)))
            if (between[at], between[at + 1]) == (low, high) or not between[at] < between[at + 1]:
                return high
            low, high = float(between[at]), float(between[at + 1])
