"""Cells for many numbers of bins from one sort: the borders of all are looked up at once, sums are differences.

Values agree with the estimators' own up to rounding: the sum of a cell is a difference of sums over all rows below.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from calibstat.arrays import Bools, Floats, Ints
from calibstat.binnings.base import Binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.binnings.equal_width import EqualWidth
from calibstat.estimators.tally import Tally

# What is summed over all rows below a border.
COUNT, PREDICTED, HAPPENED, SQUARE = range(4)


def is_nested(binning: Binning) -> bool:
    """Whether the cells of a binning are had from one sort."""
    return isinstance(binning, (EqualMass, EqualWidth))


class Cuts:
    """All borders that the equal-mass and equal-width cells of several binnings have in samples of n rows.

    Parameters
    ----------
    binnings : iterable of EqualMass and EqualWidth
    n : int
    squares : bool
        Whether squared residuals are asked for.

    Attributes
    ----------
    ranks : (r,) ints
        How many rows lie below each border of equal mass, with 0 and n.
    edges : (e,) floats
        The borders of equal width, without 0 and 1.
    """

    def __init__(self, binnings: Iterable[Binning], n: int, *, squares: bool = True) -> None:
        each = list(dict.fromkeys(binnings))
        groups = {binning: _equal_groups(n, binning.n_bins) for binning in each if isinstance(binning, EqualMass)}
        widths = {binning: _inner_edges(binning.n_bins) for binning in each if isinstance(binning, EqualWidth)}
        self.n = n
        self.squares = squares
        self.ranks = np.unique(np.concatenate([[0, n], *groups.values()])).astype(np.intp)
        self.edges = np.unique(np.concatenate([[], *widths.values()]))
        self.columns: dict[Binning, Ints] = {
            binning: np.searchsorted(self.ranks, borders) for binning, borders in groups.items()
        }
        first = len(self.ranks)
        for binning, inner in widths.items():
            place = np.searchsorted(self.edges, inner) + 1
            self.columns[binning] = first + np.concatenate([[0], place, [len(self.edges) + 1]])

    @property
    def size(self) -> int:
        """How many borders there are."""
        return len(self.ranks) + len(self.edges) + 2

    def sums(self, scores: Floats, events: Floats) -> tuple[Floats, Bools]:
        """Add up all rows below each border.

        Parameters
        ----------
        scores : (n,) increasing floats
            The event's probability.
        events : (m,) increasing floats
            Those of them to which the event happened.

        Returns
        -------
        sums : (4, r + 1 + e + 1) floats
            Of rows, predictions, events, and squared residuals (NaN unless asked for): below ranks, below 0, below
            edges, and of all.
        apart : (r,) booleans
            Whether the rows on both sides of a rank differ: equal scores would have to stay together.
        """
        inner = self.ranks[1:-1]
        firsts = scores[inner]
        count = np.concatenate([self.ranks, [0], np.searchsorted(scores, self.edges), [self.n]])
        happened = np.searchsorted(events, np.concatenate([[-1.0], firsts, [np.inf, -1.0], self.edges, [np.inf]]))
        sums = np.empty((4, len(count)))
        sums[COUNT], sums[HAPPENED] = count, happened
        sums[PREDICTED] = _running(scores)[count]
        if self.squares:  # (1 - p)^2 where it happened, p^2 elsewhere
            sums[SQUARE] = _running(scores**2)[count] - 2 * _running(events)[happened] + happened
        else:
            sums[SQUARE] = np.nan
        apart = np.ones(len(self.ranks), dtype=bool)
        apart[1:-1] = scores[inner - 1] < firsts
        return sums, apart

    def tally(self, binning: Binning, sums: Floats) -> Tally:
        """Return the sums over the cells of a binning, from sums (..., 4, borders) below borders."""
        cells = np.diff(np.take(sums, self.columns[binning], axis=-1))
        weight = cells[..., COUNT, :]
        return Tally(
            weight, cells[..., PREDICTED, :, None], cells[..., HAPPENED, :, None], weight, cells[..., SQUARE, :]
        )

    def serves(self, binning: Binning, apart: Bools) -> bool:
        """Whether no tie stands across a border of a binning."""
        return isinstance(binning, EqualWidth) or bool(apart[self.columns[binning]].all())


def _running(values: Floats) -> Floats:
    """Return the sums of the first 0, 1, ..., n values."""
    found = np.empty(len(values) + 1)
    found[0] = 0
    np.cumsum(values, out=found[1:])
    return found


@lru_cache
def _inner_edges(n_bins: int) -> Floats:
    return np.linspace(0, 1, n_bins + 1)[1:-1]


@lru_cache
def _equal_groups(n: int, n_bins: int) -> Ints:
    """Return where the groups of numpy.array_split begin, and n; the first n % n_bins have one row more."""
    n_groups = min(n_bins, n)
    groups = np.arange(n_groups + 1)
    return groups * (n // n_groups) + np.minimum(groups, n % n_groups)
