"""Quadrature over predictions of three classes, by breaking sticks.

One class takes x ~ Beta of the stick, the second a share u ~ Beta of the rest. All rows with the same x are nodes
under each other, so that looking at that class alone pools them exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.generators.beta import beta_borders, beta_density
from calibstat.generators.elementary import expit, logit
from calibstat.generators.quadrature import distinct

_FINE = logit(np.arange(1, 16) / 16)
_N_NODES = 8
_STEPS = 50

Laws = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Sticks:
    """The fan of rows in which class `first` has given log-odds.

    Parameters
    ----------
    alpha : three floats
        The parameters of the Dirichlet law.
    first : int
        The class that is broken off first.
    top : bool
        Whether only rows are wanted in which that class is the most probable.
    """

    alpha: tuple[float, ...]
    first: int
    top: bool = False

    @property
    def others(self) -> tuple[int, int]:
        """The two other classes."""
        second, third = (k for k in range(3) if k != self.first)
        return second, third

    def borders(self) -> Floats:
        """Return log-odds of x that resolve its law."""
        own = self.alpha[self.first]
        return distinct(np.concatenate([beta_borders(own, sum(self.alpha) - own), _FINE]))

    def nodes(self, odds: Floats, laws: Laws | None = None) -> tuple[Floats, Floats, Ints]:
        """Lay nodes for u at each x.

        Parameters
        ----------
        odds : (m,) floats
            Log-odds of x.
        laws : callable, optional
            Chances of rows: panels are then bisected where a chance crosses its prediction.

        Returns
        -------
        rows : (N, 3) floats
        mass : (N,) floats
            Their density in the log-odds of x.
        index : (N,) ints
            Which x each belongs to.
        """
        a, b = (self.alpha[k] for k in self.others)
        base = distinct(np.concatenate([beta_borders(a, b), _FINE]))
        low, high = self._range(odds)
        borders = np.clip(base, low[:, None], high[:, None])
        owner = np.repeat(np.arange(len(odds)), borders.shape[1])
        places = borders.ravel()
        if laws is not None:
            crossing, where = self._crossings(odds, borders, laws)
            owner, places = np.concatenate([owner, crossing]), np.concatenate([places, where])
        index, shares, widths = _ragged_panels(owner, places)
        density = beta_density(self.alpha[self.first], a + b, odds)[index] * beta_density(a, b, shares)
        return self._rows(odds[index], shares), density * widths, index

    def _range(self, odds: Floats) -> tuple[Floats, Floats]:
        """Return between which log-odds of u the first class is the top one (everywhere, if that is not asked)."""
        a, b = (self.alpha[k] for k in self.others)
        ends = beta_borders(a, b)
        low, high = np.full(len(odds), ends.min()), np.full(len(odds), ends.max())
        if not self.top:
            return low, high
        most = np.exp(np.minimum(odds, 0.0))  # the largest share is x / (1 - x)
        edge = np.where(most < 1, logit(most), np.inf)
        return np.maximum(low, -edge), np.minimum(high, edge)

    def _rows(self, odds: Floats, shares: Floats) -> Floats:
        rows = np.empty((len(odds), 3))
        rest = expit(-odds)
        second, third = self.others
        rows[:, self.first] = expit(odds)
        rows[:, second] = rest * expit(shares)
        rows[:, third] = rest * expit(-shares)
        return rows

    def _crossings(self, odds: Floats, borders: Floats, laws: Laws) -> tuple[Array, Floats]:
        """Find, at each x, the u where the chance of some class crosses its prediction."""
        m, n = borders.shape
        owner = np.repeat(np.arange(m), n)

        def gaps(which: Array, shares: Floats) -> Floats:
            rows = self._rows(odds[which], shares)
            return laws(rows) - rows

        signs = np.sign(gaps(owner, borders.ravel())).reshape(m, n, 3)
        x, panel, k = np.nonzero((signs[:, :-1] * signs[:, 1:] < 0) & (np.diff(borders, axis=1) > 0)[..., None])
        low, high, left = borders[x, panel], borders[x, panel + 1], signs[x, panel, k]
        for _ in range(_STEPS):
            middle = (low + high) / 2
            same = np.sign(gaps(x, middle)[np.arange(len(x)), k]) == left
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return x, (low + high) / 2


def _ragged_panels(owner: Array, places: Floats) -> tuple[Ints, Floats, Floats]:
    """Lay a rule on each panel between neighbouring places of one owner: owners, nodes and weights."""
    order = np.lexsort((places, owner))
    owner, places = owner[order], places[order]
    real = (owner[:-1] == owner[1:]) & (np.diff(places) > 1e-14)
    starts, widths = places[:-1][real], np.diff(places)[real]
    unit, weights = np.polynomial.legendre.leggauss(_N_NODES)
    nodes = starts[:, None] + widths[:, None] * (unit + 1) / 2
    return np.repeat(owner[:-1][real], _N_NODES), nodes.ravel(), (widths[:, None] * weights / 2).ravel()


def fan(sticks: Sequence[Sticks], odds: Floats, laws: Laws | None = None) -> tuple[Floats, Floats, Ints]:
    """Join the nodes of several classes at the same x."""
    parts = [each.nodes(odds, laws) for each in sticks]
    rows, mass, index = (np.concatenate(column) for column in zip(*parts, strict=True))
    return rows, mass, index
