"""Which neighbouring cells of a predictor are merged, one pair after another."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import midpoints
from calibstat.data.arrays import Bools, Floats, Ints, two_columns
from calibstat.estimators.base import Estimator, all_weights
from calibstat.estimators.scores import Score
from calibstat.generators.base import Population, evaluate, population_of, refuse_without_truth

MOST_CELLS, DEFAULT_CELLS = 1000, 100
MOST_EVALUATED, DEFAULT_EVALUATED = 200, 50  # where an estimator is evaluated anew for every possible merge


class Level(NamedTuple):
    """Cells in the order of their predictions: mean prediction, mean chance of the event, and mass, (k,) each."""

    scores: Floats
    chances: Floats
    masses: Floats

    @property
    def pairs(self) -> Level:
        """What merging each cell with the next one would make, (k - 1,)."""
        both = self.masses[:-1] + self.masses[1:]
        scores, chances = (_sums(values * self.masses) / both for values in (self.scores, self.chances))
        return Level(scores, chances, both)

    def merged(self, place: int) -> Level:
        """Merge the cell at this place with the next one."""
        old, new = np.array(self), np.array(self.pairs)
        return Level(*np.hstack([old[:, :place], new[:, place : place + 1], old[:, place + 2 :]]))


def _sums(values: Floats) -> Floats:
    """Return the sums over neighbours."""
    return values[:-1] + values[1:]


# From cells, pairs of them and the borders that are left between them, to what each merge costs.
_Costs: TypeAlias = Callable[[Level, Level, Ints], Floats]


@final
@dataclass(frozen=True, eq=False)
class Merging:
    """Cells that are intervals of the prediction, and the borders between them that are taken away, in this order."""

    cells: Level
    borders: Floats
    gone: Ints

    @classmethod
    def of(cls, rows: Population, binning: Binning, keep: Estimator, n_cells: int) -> Merging:
        """Cut rows, and choose one merge after another until so many cells are left."""
        cells, borders = _cut(rows, binning)
        if n_cells > len(cells.scores):
            there = f"there {'is' if len(cells.scores) == 1 else 'are'} only {counted(len(cells.scores), 'cell')}"
            raise ValueError(f"n_cells is {n_cells}, but {there} to begin with; ask for at most as many.")
        costs = _of_losses(keep.losses) if isinstance(keep, Score) else _of_values(keep, rows, borders)
        level, left, gone = cells, np.arange(len(borders)), []
        while len(level.scores) > n_cells:
            pairs = level.pairs
            moved = level.masses[:-1] * level.masses[1:] / pairs.masses * np.diff(level.scores) ** 2
            place = int(np.lexsort((moved, np.round(costs(level, pairs, left), 12)))[0])
            gone.append(left[place])
            level, left = level.merged(place), np.delete(left, place)
        return cls(cells, borders, np.array(gone, dtype=np.intp))

    @cached_property
    def numbers_of_cells(self) -> Ints:
        """The number of cells at each step, from the largest to the smallest."""
        return len(self.cells.scores) - np.arange(len(self.gone) + 1)

    def left(self, n_cells: int) -> Bools:
        """Return which borders are left (C - 1,)."""
        left = np.ones(len(self.borders), dtype=bool)
        left[self.gone[: len(self.borders) + 1 - n_cells]] = False
        return left

    def predict(self, event: Floats, n_cells: int) -> tuple[Floats, Ints]:
        """Return the predictions (n,) of the simpler predictor in place of these, and their cells."""
        left = self.left(n_cells)
        group = np.append(0, np.cumsum(left))
        mass = np.bincount(group, self.cells.masses)
        scores = np.clip(np.bincount(group, self.cells.masses * self.cells.scores) / mass, 0, 1)
        cell = np.searchsorted(self.borders[left], event, side="right")
        return scores[cell], cell


def _cut(rows: Population, binning: Binning) -> tuple[Level, Floats]:
    """Return the cells of rows, and the borders between them; refuse cells that are no intervals of the prediction."""
    seen = rows.predictions.conditioning_on((...,))
    event, mass = seen.event, all_weights(seen, None)
    cells = binning.cut(seen)
    low, high = np.full(cells.size, np.inf), np.full(cells.size, -np.inf)
    np.minimum.at(low, cells.index, event)
    np.maximum.at(high, cells.index, event)
    sums = [np.bincount(cells.index, mass * each, minlength=cells.size) for each in (1, event, rows.chances[:, 1])]
    order = np.argsort(low)[: np.count_nonzero(np.isfinite(low))]  # without empty cells
    masses, scores, chances = (each[order] for each in sums)
    below, above = high[order][:-1], low[order][1:]
    if (below >= above).any():
        raise ValueError(
            f"{binning!r} makes cells that are no intervals of the prediction, and only neighbours are merged: take "
            "EqualMass, EqualWidth or FixedEdges, or predictions that are the same all over a cell."
        )
    if len(masses) > MOST_CELLS:
        raise ValueError(
            f"{binning!r} makes {counted(len(masses), 'cell')}, more than {MOST_CELLS}: begin with fewer, for example "
            f"binning=EqualMass({DEFAULT_CELLS})."
        )
    between = midpoints(below, above)
    cells_in_order = Level(scores / masses, np.clip(chances / masses, 0, 1), masses / masses.sum())
    return cells_in_order, np.where(between > below, between, above)


def _of_losses(losses: Callable[[Floats], Floats]) -> _Costs:
    """Return what each merge adds to a mean loss, which is a sum over cells."""

    def loss(cells: Level) -> Floats:
        shares = two_columns(cells.chances)
        # Where nothing happens, nothing is lost.
        lost = np.where(shares > 0, shares * losses(two_columns(np.clip(cells.scores, 0, 1))), 0.0)
        return cells.masses * lost.sum(axis=1)

    def costs(level: Level, pairs: Level, _: Ints) -> Floats:
        with np.errstate(invalid="ignore"):  # of two infinite losses nothing is known
            return _known(loss(pairs) - _sums(loss(level)))

    return costs


def _of_values(keep: Estimator, rows: Population, borders: Floats) -> _Costs:
    """Return how bad the value of an estimator is after each merge."""
    if len(borders) >= MOST_EVALUATED:
        raise ValueError(
            f"keep is {keep!r}, which is evaluated for every possible merge, but there are {len(borders) + 1} cells to "
            f"begin with; take at most {MOST_EVALUATED}, for example binning=EqualMass({DEFAULT_EVALUATED}), or keep a "
            "score, such as BrierScore()."
        )
    refuse_without_truth(keep.estimand)
    core = keep.estimand.core
    mass, place = all_weights(rows.predictions, None), np.searchsorted(borders, rows.predictions.event, side="right")

    def badness(scores: Floats, group: Ints) -> float:
        event = np.clip(scores[group[place]], 0, 1)
        value = evaluate(keep.estimand, population_of(event, rows.chances, mass))
        return float(core.evidence(core.headline(np.asarray(value))))

    def costs(level: Level, pairs: Level, left: Ints) -> Floats:
        group = np.searchsorted(left, np.arange(len(borders) + 1))  # the borders that are left below each cell
        found = []
        for place, score in enumerate(pairs.scores):
            scores = level.scores.copy()
            scores[place : place + 2] = score
            found.append(badness(scores, group))
        return _known(np.array(found))

    return costs


def _known(costs: Floats) -> Floats:
    """Return costs, infinite where they are not defined."""
    return np.where(np.isnan(costs), np.inf, costs)
