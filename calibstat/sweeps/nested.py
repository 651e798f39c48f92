"""Tallies for many numbers of bins from one sort: the borders of cells are looked up, sums are differences.

Values agree with the estimators' own up to rounding: the sum of a cell is a difference of sums over all rows below.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.binnings.base import Binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.binnings.equal_width import EqualWidth
from calibstat.estimators.tally import Tally
from calibstat.sample import Sample


class NestedTallies:
    """Sums over the equal-mass and equal-width cells of a sample of two outcomes, without weights.

    Parameters
    ----------
    sample : Sample
        As seen through the lens.
    """

    def __init__(self, sample: Sample) -> None:
        predictions = sample.predictions
        self.serves = predictions.n_classes == 2 and predictions.weights is None and predictions.given == (...,)
        self.sample = sample
        self.known: dict[tuple[type, int], Tally | None] = {}

    def tally(self, binning: Binning) -> Tally | None:
        """Return the sums over the cells of a binning, or None where they must be had in the usual way."""
        if not self.serves or not isinstance(binning, (EqualMass, EqualWidth)):
            return None
        key = (type(binning), binning.n_bins)
        if key not in self.known:
            borders = self._borders(binning)
            self.known[key] = None if borders is None else self._sums(borders)
        return self.known[key]

    @cached_property
    def _scores(self) -> Floats:
        predictions = self.sample.predictions
        return predictions.event[predictions.order]

    @cached_property
    def _below(self) -> Floats:
        """(3, n + 1) sums over all rows below each row: of predictions, events, and squared residuals."""
        scores, outcomes = self._scores, self.sample.outcomes[self.sample.predictions.order]
        below = np.zeros((3, len(scores) + 1))
        np.cumsum(scores, out=below[0, 1:])
        np.cumsum(outcomes, out=below[1, 1:])
        np.cumsum((outcomes - scores) ** 2, out=below[2, 1:])
        return below

    def _borders(self, binning: EqualMass | EqualWidth) -> Ints | None:
        """Return how many rows lie below each border; None if a tie stands across a border of equal mass."""
        scores, n = self._scores, len(self._scores)
        if isinstance(binning, EqualWidth):
            inner = np.searchsorted(scores, _inner_edges(binning.n_bins), side="left")
            return np.concatenate([[0], inner, [n]])
        borders = _equal_groups(n, binning.n_bins)
        first = borders[1:-1]
        return borders if (scores[first - 1] < scores[first]).all() else None

    def _sums(self, borders: Ints) -> Tally:
        at = self._below[:, borders]
        predicted, happened, squares = at[:, 1:] - at[:, :-1]
        weight = (borders[1:] - borders[:-1]).astype(float)
        return Tally(weight, predicted[:, None], happened[:, None], weight, squares)


@lru_cache
def _inner_edges(n_bins: int) -> Floats:
    return np.linspace(0, 1, n_bins + 1)[1:-1]


@lru_cache
def _equal_groups(n: int, n_bins: int) -> Ints:
    """Return where the groups of numpy.array_split begin, and n; the first n % n_bins have one row more."""
    n_groups = min(n_bins, n)
    groups = np.arange(n_groups + 1)
    return groups * (n // n_groups) + np.minimum(groups, n % n_groups)
