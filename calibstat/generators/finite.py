"""Worlds with finitely many rows: everything is known by enumeration."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibstat.arrays import Floats
from calibstat.binnings.base import Binning
from calibstat.generators.base import SyntheticModel
from calibstat.generators.population import Population, population_of
from calibstat.lenses.base import Lens
from calibstat.sample import Sample
from calibstat.variable import Variable

Rows = tuple[tuple[float, ...], ...]


@final
@dataclass(frozen=True, init=False)
class FinitePredictions(SyntheticModel):
    """Finitely many predictions, each with its mass and its true law; exact for every lens.

    Parameters
    ----------
    predictions : (m,) or (m, K) floats
        P(the last class), or one column for each class.
    truths : (m,) or (m, K) floats
        The chances of the outcomes, row by row.
    mass : (m,) floats, optional
        Relative masses; equal by default.
    variables : mapping of str to (m,) values, optional
        Numbers, or names of categories.
    labels : sequence, optional
        The label of each column; 0, 1, ..., K - 1 by default.
    features : sequence of str
        The variables that are the features of the world, on which P(Y | X) depends.

    Raises
    ------
    ValueError
        If a row is not a law, shapes differ, or a mass is not positive and finite.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import FinitePredictions
    >>> model = FinitePredictions([0.2, 0.7], [0.3, 0.7], mass=[3, 1])
    >>> round(float(model.truth(cs.ECE())), 10)
    0.075
    >>> model.sample(5, rng=0)
    Sample(n=5, classes=(0, 1))
    """

    predictions: Rows
    truths: Rows
    mass: tuple[float, ...]
    variables: tuple[tuple[str, tuple[Hashable, ...]], ...]
    labels: tuple[Hashable, ...]
    feature_names: tuple[str, ...]

    def __init__(
        self,
        predictions: Any,
        truths: Any,
        mass: Any = None,
        *,
        variables: Mapping[str, Sequence[Hashable]] | None = None,
        labels: Sequence[Hashable] | None = None,
        features: Sequence[str] = (),
    ) -> None:
        rows, laws = _law("predictions", predictions), _law("truths", truths)
        if rows.shape != laws.shape:
            raise ValueError(f"predictions have shape {rows.shape} and truths {laws.shape}: pass one law for each row.")
        masses = _masses(mass, len(rows))
        columns = {name: np.asarray(values).tolist() for name, values in (variables or {}).items()}
        wrong = [name for name in features if name not in columns]
        if wrong:
            raise ValueError(f"features names {wrong[0]!r}, which is not among the variables {tuple(columns)!r}.")
        _hold(self, "predictions", tuple(map(tuple, rows.tolist())))
        _hold(self, "truths", tuple(map(tuple, laws.tolist())))
        _hold(self, "mass", tuple(masses.tolist()))
        _hold(self, "variables", tuple((name, tuple(values)) for name, values in columns.items()))
        _hold(self, "labels", tuple(range(rows.shape[1])) if labels is None else tuple(labels))
        _hold(self, "feature_names", tuple(features))
        self._table()

    @property
    def features(self) -> tuple[str, ...]:
        """The variables that are features of the world."""
        return self.feature_names

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw rows by their masses."""
        table = self._table()
        return take(table, draw_rows(np.array(self.mass), n, rng))

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:  # noqa: ARG002
        """List all rows."""
        return self._table()

    def _table(self) -> Population:
        # Sample examines variables and labels: what it would refuse is refused here.
        examined = Sample(
            [self.labels[0]] * len(self.mass),
            np.array(self.predictions),
            variables={name: list(values) for name, values in self.variables},
            labels=self.labels,
        ).predictions
        variables: dict[str, Variable] = dict(examined.variables)
        return population_of(
            np.array(self.predictions),
            np.array(self.truths),
            np.array(self.mass),
            classes=examined.classes,
            variables=variables,
        )


def draw_rows(mass: Floats, n: int, rng: np.random.Generator) -> Any:
    """Draw `n` row numbers with probabilities proportional to `mass`."""
    reached = np.cumsum(mass / mass.sum())
    return np.searchsorted(reached[:-1], rng.random(n), side="right")


def take(population: Population, rows: Any) -> Population:
    """Return the rows of a population without their masses, as a random draw has them."""
    predictions = population.predictions
    return population_of(
        predictions.probabilities[rows],
        population.chances[rows],
        classes=predictions.classes,
        variables={name: variable.take(rows) for name, variable in predictions.variables.items()},
        method=population.method,
    )


def _law(name: str, given: Any) -> Floats:
    """Rows of a law (m, K) from event probabilities (m,) or rows."""
    values = np.asarray(given, dtype=float)
    rows = np.stack([1 - values, values], axis=1) if values.ndim == 1 else values
    if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] < 2:
        raise ValueError(f"{name} have shape {values.shape}; pass (m,) probabilities of the event, or (m, K) rows.")
    bad = ~((rows >= 0).all(axis=1) & (np.abs(rows.sum(axis=1) - 1) < 1e-9))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name}, row {row}: {rows[row].tolist()} is not a law; values must be >= 0 and sum to 1.")
    return rows


def _masses(mass: Any, n: int) -> Floats:
    masses = np.ones(n) if mass is None else np.asarray(mass, dtype=float)
    if masses.shape != (n,):
        raise ValueError(f"mass has shape {masses.shape}, but there are {n} predictions: pass one mass for each.")
    if not (np.isfinite(masses) & (masses > 0)).all():
        raise ValueError(f"mass holds {masses.min():g} to {masses.max():g}; masses must be positive and finite.")
    return masses


def _hold(model: FinitePredictions, name: str, value: Any) -> None:
    object.__setattr__(model, name, value)
