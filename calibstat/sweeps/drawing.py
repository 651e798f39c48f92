"""How the data set of a repeat is drawn: row by row, in sorted order, or as sums over cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from calibstat.arrays import Bools, Floats
from calibstat.generators.base import SyntheticModel
from calibstat.generators.population import population_of
from calibstat.generators.spacings import QuantileTable, quantile_table
from calibstat.lenses.base import Lens
from calibstat.sample import Sample
from calibstat.sweeps.cell_law import CellLaw
from calibstat.sweeps.nested import Cuts


class Drawn(ABC):
    """The data set of one repeat, shared by everything that is swept."""

    @property
    @abstractmethod
    def sample(self) -> Sample:
        """All rows, in random order."""

    @abstractmethod
    def sums(self, lens: Lens, cuts: Cuts) -> tuple[Floats, Bools] | None:
        """Return sums below borders as `Cuts.sums` does; None where they must be had in the usual way."""


class Way(ABC):
    """A way to draw from one model."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Draw a data set of n rows."""

    def draw_group(self, cuts: Cuts, n_repeats: int, rng: np.random.Generator) -> Floats | None:  # noqa: ARG002
        """Draw sums below borders for several data sets at once: (n_repeats, 4, borders); None without such a way."""
        return None


@final
@dataclass(frozen=True, eq=False)
class Rows(Way):
    """The model's own random rows."""

    model: SyntheticModel

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Draw a sample."""
        return DrawnRows(self.model.sample(n, rng))


@final
class DrawnRows(Drawn):
    """A sample."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    @property
    def sample(self) -> Sample:
        """The sample."""
        return self._sample

    def sums(self, lens: Lens, cuts: Cuts) -> tuple[Floats, Bools] | None:
        """Look through the lens and sort, if rows of two outcomes without weights are seen."""
        seen = lens(self._sample) if lens.parts else self._sample
        predictions = seen.predictions
        if predictions.n_classes != 2 or predictions.weights is not None or predictions.given != (...,):
            return None
        if len(predictions) != cuts.n:
            return None
        event = predictions.event
        return cuts.sums(np.sort(event), np.sort(event[seen.outcomes == 1]))


@final
@dataclass(frozen=True, eq=False)
class SortedRows(Way):
    """Scores in increasing order from exponential spacings, through a table of quantiles."""

    table: QuantileTable
    classes: tuple[Any, ...]

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """Draw sorted scores and what happened."""
        return DrawnSorted(*self.table.draw_sorted(n, rng), self.classes, rng)


@final
class DrawnSorted(Drawn):
    """Sorted scores; put into random order only if someone asks for rows."""

    def __init__(self, scores: Floats, happened: Bools, classes: tuple[Any, ...], rng: np.random.Generator) -> None:
        self.scores = scores
        self.happened = happened
        self.classes = classes
        self.rng = rng

    @cached_property
    def sample(self) -> Sample:
        """The rows, shuffled by what follows in the stream of the repeat."""
        order = self.rng.permutation(len(self.scores))
        rows = population_of(self.scores[order], self.scores[order], classes=self.classes)
        return Sample.of(rows.predictions, self.happened[order].astype(np.intp))

    def sums(self, lens: Lens, cuts: Cuts) -> tuple[Floats, Bools] | None:
        """Look up the borders; sort only what is seen through a lens."""
        if lens.parts:
            return DrawnRows(self.sample).sums(lens, cuts)
        return cuts.sums(self.scores, self.scores[self.happened])


@final
@dataclass(frozen=True, eq=False)
class CellSums(Way):
    """Sums over cells, without rows."""

    law: CellLaw

    def draw(self, n: int, rng: np.random.Generator) -> Drawn:
        """There are no rows."""
        raise TypeError(f"draws='cells' draws sums over cells for groups of repeats, no data set of {n} rows ({rng}).")

    def draw_group(self, cuts: Cuts, n_repeats: int, rng: np.random.Generator) -> Floats | None:
        """Draw sums below borders."""
        return self.law.draw(cuts, n_repeats, rng)


def ways(models: Mapping[str, SyntheticModel], draws: str) -> dict[str, Way]:
    """Return the way to draw from each model.

    Parameters
    ----------
    models : mapping of str to SyntheticModel
    draws : {"rows", "sorted", "cells"}

    Raises
    ------
    ValueError
        If there is no such way, or a model does not know the quantiles of its predictions.
    """
    if draws not in _MADE:
        raise ValueError(f"draws is {draws!r}, but it must be 'rows', 'sorted' or 'cells'.")
    return {name: _MADE[draws](model) for name, model in models.items()}


def _sorted_rows(model: SyntheticModel) -> Way:
    return SortedRows(quantile_table(model), model.quantiles(np.array([0.5])).predictions.classes)


_MADE: dict[str, Any] = {
    "rows": Rows,
    "sorted": _sorted_rows,
    "cells": lambda model: CellSums(CellLaw(model)),
}
