"""Populations of three classes: nodes on the triangle of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibstat.arrays import Floats
from calibstat.binnings.base import Binning
from calibstat.generators.elementary import logit
from calibstat.generators.groups import groups_of, probe
from calibstat.generators.population import Population, population_of
from calibstat.generators.quadrature import critical_points, distinct, panels
from calibstat.generators.settling import Borders, settled
from calibstat.generators.simplex_maps import RowMap, SimplexMap, laws_of
from calibstat.generators.sticks import Sticks, fan
from calibstat.lenses.base import Lens
from calibstat.predictions import Predictions

_N_NODES = 8
_SHARES = (1e-9, 0.5, 1 - 1e-9)


@dataclass(frozen=True, eq=False)
class Triangle:
    """Predictions of three classes with a Dirichlet law.

    Parameters
    ----------
    alpha : three floats
    recalibration : callable
        Maps rows to chances.
    jumps : SimplexMap, optional
        The map again, if it knows where it jumps.
    """

    alpha: tuple[float, ...]
    recalibration: RowMap
    jumps: SimplexMap | None = None

    def population(self, lens: Lens, binning: Binning | None) -> Population:
        """Lay nodes: along one induced probability where the lens leaves one, else over the whole triangle."""
        sticks = self._along(lens)
        if sticks:
            known = np.concatenate([_span(sticks), self._kinks(lens, sticks), self._jumps(sticks)])
            return settled(lambda further: self._nodes(sticks, known, further), lens, binning)
        if binning is not None:
            raise ValueError(
                f"the limit on the cells of {binning!r} is not known for continuous predictions of three classes; look "
                "through ClassWise(c), Partition(...) into two groups or TopLabel() first, or ask for the truth."
            )
        first = Sticks(self.alpha, 0 if self.jumps is None else self.jumps.first)
        known = np.concatenate([first.borders(), self._first_crossings(first), self._jumps([first])])
        rows, mass = self._over([first], distinct(known), self._laws)
        view = lens.look(Predictions(np.full((3, 3), 1 / 3), (0, 1, 2)))
        return self._population(rows, mass, pooled=view.codes is None)

    def _along(self, lens: Lens) -> list[Sticks]:
        """Return the sticks whose first piece is the induced probability, if there is a single one."""
        groups = groups_of(lens, 3)
        if groups is not None and len(groups) == 2:
            alone = next(k for k in range(3) if (groups.codes == groups.codes[k]).sum() == 1)
            return [Sticks(self.alpha, alone)]
        return [Sticks(self.alpha, k, top=True) for k in range(3)] if _is_top_label(lens) else []

    def _laws(self, rows: Floats) -> Floats:
        return laws_of(self.recalibration, rows)

    def _kinks(self, lens: Lens, sticks: Sequence[Sticks]) -> Floats:
        """Find the induced probabilities where the mean deviation changes sign or is largest."""

        def deviation(odds: Floats) -> Floats:
            rows, mass, index = fan(sticks, odds)
            view = lens.look(Predictions(rows, (0, 1, 2)))
            gaps = view.chances(self._laws(rows))[:, 1] - view.predictions.event
            total = np.bincount(index, mass, minlength=len(odds))
            mean = np.bincount(index, mass * gaps, minlength=len(odds))
            return np.divide(mean, total, out=np.zeros(len(odds)), where=total > 0)

        return critical_points(deviation, panels(distinct(_span(sticks)), 4)[0])

    def _first_crossings(self, first: Sticks) -> Floats:
        """Find where, along x, a chance crosses its prediction at the ends and in the middle of u."""
        found = [np.empty(0)]
        grid = panels(first.borders(), 4)[0]
        for share in logit(np.array(_SHARES)):
            for k in range(3):

                def gap(odds: Floats, share: float = float(share), k: int = k) -> Floats:
                    rows = first._rows(odds, np.full(len(odds), share))
                    return (self._laws(rows) - rows)[:, k]

                found.append(critical_points(gap, grid))
        return np.concatenate(found)

    def _jumps(self, sticks: Sequence[Sticks]) -> Floats:
        if self.jumps is None or all(each.first != self.jumps.first for each in sticks):
            return np.empty(0)
        return logit(np.array(self.jumps.jumps))

    def _nodes(self, sticks: Sequence[Sticks], known: Floats, further: Borders) -> Population:
        extra = logit(further.get(..., np.empty(0)))
        extra = np.concatenate([extra, -extra])  # the induced event may be the stick or the rest
        extra = extra[(extra > known.min()) & (extra < known.max())]
        rows, mass = self._over(sticks, distinct(np.concatenate([known, extra])), None)
        return self._population(rows, mass, pooled=True)

    def _over(self, sticks: Sequence[Sticks], borders: Floats, laws: RowMap | None) -> tuple[Floats, Floats]:
        odds, widths = panels(borders, _N_NODES)
        rows, mass, index = fan(sticks, odds, laws)
        return rows, mass * widths[index]

    def _population(self, rows: Floats, mass: Floats, *, pooled: bool) -> Population:
        kept = mass > 0
        method = f"quadrature over the triangle, {int(kept.sum())} nodes (a maximum is over these)"
        return population_of(rows[kept], self._laws(rows[kept]), mass[kept], pooled=pooled, method=method)


def _span(sticks: Sequence[Sticks]) -> Floats:
    borders = np.concatenate([each.borders() for each in sticks])
    if not sticks[0].top:
        return borders
    least = float(logit(np.array(1 / 3)))
    return np.concatenate([[least, 0.0], borders[borders > least]])


def _is_top_label(lens: Lens) -> bool:
    rows = probe(3)
    view = lens.look(rows)
    if view.rows is not None or view.predictions.n_classes != 2 or view.predictions.given != (...,):
        return False
    return bool(np.array_equal(view.predictions.event, rows.probabilities.max(axis=1)))
