"""Simultaneous bounds of a non-decreasing chance, from binomial bounds of all runs of neighbouring predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaincinv

from calibstat.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Runs:
    """Rows and events of groups of neighbouring predictions, from which all runs of groups are counted.

    Parameters
    ----------
    first, last : (N,) floats
        The smallest and the largest prediction of each group, increasing.
    before, events_before : (N + 1,) ints
        Rows and events in the groups before each.
    """

    first: Floats
    last: Floats
    before: Ints
    events_before: Ints

    @classmethod
    def of(cls, values: Floats, outcomes: Ints, digits: int | None = None) -> Runs:
        """Group equal predictions, or those that are equal once cut off after so many decimals."""
        cut_off = values if digits is None else np.floor(values * 10**digits)
        found, code = np.unique(cut_off, return_inverse=True)
        rows = np.bincount(code, minlength=len(found))
        events = np.bincount(code[outcomes == 1], minlength=len(found))
        first, last = np.full(len(found), np.inf), np.full(len(found), -np.inf)
        np.minimum.at(first, code, values)
        np.maximum.at(last, code, values)
        return cls(first, last, np.r_[0, np.cumsum(rows)], np.r_[0, np.cumsum(events)])

    @property
    def share(self) -> float:
        """What is divided among the bounds: 1 / (N (N + 1)), each of N (N + 1) / 2 runs being used on both sides."""
        return 1 / (len(self.first) * (len(self.first) + 1))

    def ending(self, i: int) -> tuple[Ints, Ints]:
        """Rows and events of the runs that end with group i."""
        return self.before[i + 1] - self.before[: i + 1], self.events_before[i + 1] - self.events_before[: i + 1]

    def starting(self, i: int) -> tuple[Ints, Ints]:
        """Rows and events of the runs that start with group i."""
        return self.before[i + 1 :] - self.before[i], self.events_before[i + 1 :] - self.events_before[i]

    def lower(self, alpha: float) -> Floats:
        """(N,) lower bounds at `last`: what a run says of its last prediction holds for all later ones."""
        delta = alpha * self.share
        each = [_clopper_pearson(*self.ending(i), delta).max() for i in range(len(self.first))]
        return np.maximum.accumulate(each)

    def upper(self, alpha: float) -> Floats:
        """(N,) upper bounds at `first`: what a run says of its first prediction holds for all earlier ones."""
        delta = alpha * self.share
        each = [1 - _clopper_pearson(n, n - s, delta).max() for n, s in map(self.starting, range(len(self.first)))]
        return np.minimum.accumulate(each[::-1])[::-1]

    def pvalue_low(self) -> float:
        """Smallest alpha at which a lower bound exceeds its prediction."""
        each = [_reaches(*self.ending(i), last).min() for i, last in enumerate(self.last)]
        return float(min(each) / self.share)

    def pvalue_high(self) -> float:
        """Smallest alpha at which an upper bound is below its prediction."""
        runs = map(self.starting, range(len(self.first)))
        each = [_reaches(n, n - s, 1 - first).min() for (n, s), first in zip(runs, self.first, strict=True)]
        return float(min(each) / self.share)


def _clopper_pearson(n: Ints, events: Ints, delta: float) -> Floats:
    """Lower bounds of level 1 - delta of a chance with so many events in n rows."""
    bounds = np.zeros(len(n))
    some = events > 0
    bounds[some] = betaincinv(events[some], n[some] - events[some] + 1, delta)
    return bounds


def _reaches(n: Ints, events: Ints, chance: float) -> Floats:
    """Return the probabilities that Binomial(n, chance) is at least as large."""
    tails = np.ones(len(n))
    some = events > 0
    tails[some] = betainc(events[some], n[some] - events[some] + 1, chance)
    return tails
