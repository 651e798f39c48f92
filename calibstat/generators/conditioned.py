"""The calibrated classifier P(Y | h(X))."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.binnings.base import Binning, Cells
from calibstat.generators.base import SyntheticModel
from calibstat.generators.population import Population, two_columns
from calibstat.lenses.base import Lens
from calibstat.lenses.canonical import Canonical
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class Conditioned(SyntheticModel):
    """The model that announces P(Y | h): calibrated, whatever h is (Vaicenavicius et al. 2019, Proposition 1).

    Parameters
    ----------
    world : SyntheticModel
        Where rows come from; its predictions are replaced.
    h : callable
        Takes the `Predictions` of rows (with their variables) and returns (m,) codes, finitely many.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import Conditioned, FinitePredictions
    >>> chances = [0.1, 0.3, 0.6, 0.8]
    >>> world = FinitePredictions(chances, chances, variables={"x": [0, 1, 2, 3]}, features=["x"])
    >>> model = Conditioned(world, lambda rows: rows.variables["x"].values >= 2)
    >>> abs(float(model.truth(cs.ECE()))) < 1e-12
    True
    >>> round(float(model.truth(cs.RMSCE(), "ise")), 10)
    0.1
    """

    world: SyntheticModel
    h: Callable[[Predictions], Array]

    @property
    def features(self) -> tuple[str, ...]:
        """The features of the world."""
        return self.world.features

    @cached_property
    def table(self) -> tuple[Array, Floats]:
        """The codes in increasing order, and P(Y | h = code) for each."""
        rows = self.world.population(Canonical(), _ByFunction(self.h))
        codes, index = np.unique(_codes(self.h, rows.predictions), return_inverse=True)
        mass = rows.predictions.weights if rows.predictions.weights is not None else np.ones(len(rows))
        sums = np.stack([np.bincount(index, mass * column) for column in rows.chances.T], axis=1)
        return codes, sums / sums.sum(axis=1, keepdims=True)

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw rows of the world and announce P(Y | h)."""
        return self._announce(self.world.rows(n, rng))

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:  # noqa: ARG002
        """Announce P(Y | h) on all rows of the world."""
        return self._announce(self.world.population(Canonical(), _ByFunction(self.h)))

    def _announce(self, rows: Population) -> Population:
        known, laws = self.table
        codes = _codes(self.h, rows.predictions)
        place = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        if not np.array_equal(known[place], codes):
            raise ValueError(
                "h takes values on random rows that it does not take on the population: take coarser codes."
            )
        probabilities = two_columns(laws[place][:, 1]) if laws.shape[1] == 2 else laws[place]
        return Population(replace(rows.predictions, probabilities=probabilities), rows.chances, True, rows.method)


@final
@dataclass(frozen=True)
class _ByFunction(Binning):
    """Cells by h, so that no node of a quadrature stands for rows with different codes."""

    h: Callable[[Predictions], Array]
    columns: ClassVar[int | None] = None

    def cut(self, predictions: Predictions) -> Cells:
        """Number the codes."""
        codes, index = np.unique(_codes(self.h, predictions), return_inverse=True)
        return Cells(len(codes), index, "data")


def _codes(h: Callable[[Predictions], Array], predictions: Predictions) -> Array:
    codes = np.asarray(h(predictions))
    if codes.shape != (len(predictions),):
        raise ValueError(f"h returned shape {codes.shape}, but one code for each of {len(predictions)} rows is due.")
    return codes
