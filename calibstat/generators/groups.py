"""Fixed groups of classes: what a lens makes of a Dirichlet law when it only adds up columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.generators.population import Population, population_of
from calibstat.lenses.base import Lens
from calibstat.predictions import Predictions

if TYPE_CHECKING:
    from calibstat.generators.dirichlet import DirichletPredictions


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each class.

    Parameters
    ----------
    codes : (K,) ints
    """

    codes: Ints

    def __len__(self) -> int:
        return int(self.codes.max()) + 1

    def sums(self, values: Sequence[float]) -> tuple[float, ...]:
        """Add up what belongs to each group: the sums of a Dirichlet law have a Dirichlet law again."""
        return tuple(np.bincount(self.codes, np.asarray(values, dtype=float)).tolist())

    def spread(self, rows: Floats, alpha: Sequence[float]) -> Floats:
        """Share out the probability of each group among its classes, as on average."""
        return rows[:, self.codes] * (np.asarray(alpha) / np.asarray(self.sums(alpha))[self.codes])

    def law(self, model: DirichletPredictions) -> Callable[[Floats], Floats]:
        """Return the calibration function of the groups; for a linear one, that of average rows."""

        def law(rows: Floats) -> Floats:
            chances = model.laws(self.spread(rows, model.alpha))
            return np.stack([chances[:, self.codes == group].sum(axis=1) for group in range(len(self))], axis=1)

        return law

    def lift(self, population: Population, model: DirichletPredictions) -> Population:
        """Return a population of all classes that looks like that one through the lens."""
        rows = self.spread(population.predictions.probabilities, model.alpha)
        return population_of(
            rows,
            model.laws(rows),
            population.predictions.weights,
            pooled=population.pooled,
            method=population.method,
        )


def groups_of(lens: Lens, n_classes: int) -> Groups | None:
    """Return the groups that a lens makes of the classes, or None if it does more than adding up columns."""
    view = lens.look(probe(n_classes))
    if view.rows is not None or view.predictions.given != (...,):
        return None
    if view.codes is None:
        return Groups(np.arange(n_classes))
    return Groups(np.asarray(view.codes[0], dtype=np.intp)) if len(view.codes) == 1 else None


def probe(n_classes: int) -> Predictions:
    """Return rows all over the simplex, to find out what a lens does."""
    steps = np.arange(1, 65)[:, None] * np.sqrt(np.arange(2, n_classes + 2) + 0.3)
    rows = -np.log(steps % 1)
    return Predictions(rows / rows.sum(axis=1, keepdims=True), tuple(range(n_classes)))
