"""Discrete laws as values and masses, and sums of them by enumeration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats

# Totals that are equal in exact arithmetic differ in their last digits: by less than this share of themselves, or of
# the smallest where it is negative. (Not of the largest: in a cell of tiny predictions that may be 1e13.)
_EQUAL = 1e-14
# At most exp(-33) = 5e-15 of the mass of a sum lies beyond its reach.
_BEYOND = 33.0


@final
@dataclass(frozen=True, eq=False)
class Atoms:
    """A law with finitely many values.

    Parameters
    ----------
    values : (m,) floats
        Increasing.
    masses : (m,) floats
    """

    values: Floats
    masses: Floats

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.values @ self.masses)

    @property
    def variance(self) -> float:
        """The variance."""
        return float((self.values - self.mean) ** 2 @ self.masses)

    def tail(self, thresholds: Array) -> Floats:
        """Return P(X >= threshold) for each threshold."""
        return self._tails[np.searchsorted(self.values, thresholds)]

    @cached_property
    def _tails(self) -> Floats:
        tails = np.zeros(len(self.masses) + 1)
        np.cumsum(self.masses[::-1], out=tails[-2::-1])
        return tails

    def map(self, function: Callable[[Floats], Floats]) -> Atoms:
        """Return the law of an increasing function of the value."""
        return Atoms(function(self.values), self.masses)

    def compressed(self, n_atoms: int) -> Atoms:
        """Return a law of the same mean with at most so many atoms: means over equal pieces of the range."""
        if len(self.values) <= n_atoms:
            return self
        pieces = np.linspace(self.values[0], self.values[-1], n_atoms, endpoint=False)
        starts = np.unique(np.searchsorted(self.values, pieces))
        masses, sums = (np.add.reduceat(each, starts) for each in (self.masses, self.masses * self.values))
        kept = masses > 0
        return Atoms(sums[kept] / masses[kept], masses[kept])


CERTAINLY_ZERO = Atoms(np.zeros(1), np.ones(1))


def pooled(values: Array, masses: Array) -> Atoms:
    """Sort, and put atoms of equal values together, at the largest of these; atoms without mass are left out."""
    kept = masses > 0
    values, masses = values[kept], masses[kept]
    order = np.argsort(values, kind="stable")
    values, masses = values[order], masses[order]
    last = np.append(np.diff(values) > _EQUAL * np.maximum(np.abs(values[1:]), abs(values[0])), True)
    starts = np.append(0, np.flatnonzero(last)[:-1] + 1)
    return Atoms(values[last], np.add.reduceat(masses, starts))


def enumerate_sum(laws: Sequence[Atoms]) -> Atoms:
    """Return the law of the sum of independent terms; equal totals are put together after each."""
    whole = CERTAINLY_ZERO
    for law in sorted(laws, key=lambda each: len(each.values)):
        whole = pooled(np.add.outer(whole.values, law.values).ravel(), np.outer(whole.masses, law.masses).ravel())
    return whole


def maximum(laws: Sequence[Atoms]) -> Atoms:
    """Return the law of the largest of independent terms: the product of their distribution functions."""
    jumps = [_log_jumps(law) for law in laws]
    values = np.concatenate([law.values for law in laws])
    order = np.argsort(values, kind="stable")
    # below the smallest value of some term the product is zero
    begun = np.cumsum(np.concatenate([np.arange(len(jump)) == 0 for jump in jumps])[order]) == len(laws)
    product = np.where(begun, np.exp(np.minimum(np.cumsum(np.concatenate(jumps)[order]), 0.0)), 0.0)
    return pooled(values[order], np.maximum(np.diff(product, prepend=0.0), 0.0))


def _log_jumps(law: Atoms) -> Floats:
    """By how much the logarithm of the distribution function rises at each atom, from log 1 at the first."""
    logs: Floats = np.log(np.cumsum(law.masses) / law.masses.sum())
    return np.diff(logs, prepend=0.0)


def reach(laws: Sequence[Atoms], beyond: float = _BEYOND) -> float:
    """Return how far above its smallest value the sum gets but for a chance of exp(-beyond), by Chernoff's bound."""
    deviation = np.sqrt(sum(law.variance for law in laws))
    widest = sum(float(law.values[-1] - law.values[0]) for law in laws)
    if deviation == 0:
        return widest
    rates = np.geomspace(0.05, 20, 24) / deviation
    logs = np.zeros(len(rates))
    for law in laws:
        exponents = np.outer(rates, law.values - law.values[0])
        top = exponents[:, -1:].copy()
        exponents -= top
        logs += top[:, 0] + np.log(np.exp(exponents, out=exponents) @ law.masses)
    return min(widest, float(((logs + beyond) / rates).min()))
