"""The rows of a world with finitely many predictions, and the cells that share one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import Floats, Ints, Variable
from calibstat.data.parameters import check_kind, numbers
from calibstat.data.rounding import ROUNDING, SAME
from calibstat.estimators.base import all_weights
from calibstat.generators.base import SyntheticModel
from calibstat.generators.finite import FinitePredictions
from calibstat.lenses.relabel import CANONICAL


@dataclass(frozen=True, eq=False)
class Atoms:
    """The rows of a world: for each its prediction and chance of the event, its mass, and the number of its cell.

    Cells are the level sets of the prediction, numbered from the smallest; `scores` (k,) are their predictions.
    """

    world: FinitePredictions
    event: Floats
    chance: Floats
    mass: Floats
    index: Ints
    scores: Floats
    method: str

    @classmethod
    def of(cls, world: SyntheticModel) -> Atoms:
        """List the rows; refuse more than two classes, and predictions with infinitely many values."""
        rows, method = _enumerated(world)
        seen, chances = rows.table.predictions, rows.table.chances
        if seen.n_classes != 2:
            raise ValueError(
                f"the world has {seen.n_classes} classes, but cells are those of the prediction of a single event: "
                "pass a world of two classes, for example FinitePredictions([0.2, 0.7], [0.3, 0.7])."
            )
        cells = UniqueValues().cut(seen)
        scores = np.full(cells.size, np.inf)
        np.minimum.at(scores, cells.index, seen.event)
        return cls(rows, seen.event, chances[:, 1], all_weights(seen, None), cells.index, scores, method)

    @cached_property
    def masses(self) -> Floats:
        """The mass of each cell, (k,)."""
        return np.bincount(self.index, self.mass).astype(float, copy=False)

    @cached_property
    def means(self) -> Floats:
        """The mean chance of each cell, (k,)."""
        return np.bincount(self.index, self.mass * self.chance) / self.masses

    def cells_at(self, scores: Sequence[float]) -> Ints:
        """Return the numbers of the cells with these predictions; refuse one that has no cell, or fewer than two."""
        wanted = numbers("cells", scores, (1,))
        found = np.abs(self.scores[:, None] - wanted).argmin(axis=0) if len(wanted) else np.zeros(0, dtype=np.intp)
        absent = ~(np.abs(self.scores[found] - wanted) <= SAME * np.abs(wanted))
        if absent.any():
            raise ValueError(
                f"cells holds {wanted[absent][0]:g}, which is no prediction of this world; the nearest one is "
                f"{float(self.scores[found[absent][0]])!r}, and all lie from {self.scores[0]:g} to {self.scores[-1]:g}."
            )
        if len(np.unique(found)) < 2:
            raise ValueError(f"cells is {wanted.tolist()}; name the predictions of at least two different cells.")
        return np.unique(found)

    def predicting(self, event: Floats) -> FinitePredictions:
        """Return the world with other predictions of the event, (m,)."""
        world = self.world
        return FinitePredictions(
            event,
            world.truths,
            world.mass,
            variables=dict(world.variables),
            labels=world.labels,
            features=world.feature_names,
        )


def without_rounding(values: Floats) -> Floats:
    """Give values (m,) >= 0 that differ by rounding errors a common value: the smallest of them."""
    order = np.argsort(values, kind="stable")
    placed = values[order]
    new = np.append(True, np.diff(placed) > ROUNDING * placed[1:])
    common = np.empty_like(values)
    common[order] = placed[new][np.cumsum(new) - 1]
    return common


def _enumerated(world: SyntheticModel) -> tuple[FinitePredictions, str]:
    """Return a world with finitely many predictions as a list of rows (nodes of a quadrature), and how they came."""
    check_kind("world", world, SyntheticModel)
    if isinstance(world, FinitePredictions):
        return world, world.table.method
    if not world.finite:
        raise ValueError(
            f"{world!r} predicts infinitely many values, so that there are no cells to look at; pass a world with "
            "finitely many, for example FinitePredictions([0.2, 0.7], [0.3, 0.7]) or Empirical(y_prob, recalibration)."
        )
    rows = world.population(CANONICAL)
    seen = rows.predictions
    held = all_weights(seen, None) > 0
    listed = FinitePredictions(
        seen.probabilities[held],
        rows.chances[held],
        all_weights(seen, None)[held],
        variables={name: _plain(each.take(held)) for name, each in seen.variables.items()},
        labels=seen.classes,
        features=world.features,
    )
    return listed, rows.method


def _plain(variable: Variable) -> Sequence[Hashable]:
    """Return the values of a variable as they were given: numbers, or names of categories."""
    if variable.levels is None:
        return list(variable.values)
    return [variable.levels[int(level)] for level in variable.values]
