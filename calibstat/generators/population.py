"""All rows of a world with their masses and chances, and the record that true values come in."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.checks import SmallCellsWarning
from calibstat.predictions import Predictions
from calibstat.variable import Variable

GivenText = Literal["the induced prediction", "upper bound given the full prediction"]


@dataclass(frozen=True, eq=False)
class Population:
    """Rows of a world, and the law of the outcome of each.

    Parameters
    ----------
    predictions : Predictions
        Their weights are the masses of the rows (None: all equal, as in a random draw).
    chances : (m, K) floats
        The chance of each outcome, row by row.
    pooled : bool
        Whether rows that a lens makes equal are equal here, so that their chances are averaged: without that,
        values are upper bounds, given the full prediction.
    method : str
        How masses came about, for texts.
    """

    predictions: Predictions
    chances: Floats
    pooled: bool = True
    method: str = "enumeration"

    def __len__(self) -> int:
        return len(self.predictions)


@dataclass(frozen=True)
class Truth:
    """A true value.

    Parameters
    ----------
    value : float or array
    given : str
        What the error is conditional on: "the induced prediction", or "upper bound given the full prediction".
    standard_error : float
        Zero, unless a Monte Carlo value was asked for.
    method : str
        How the value was had.

    Examples
    --------
    >>> truth = Truth(0.25)
    >>> float(truth)
    0.25
    >>> print(truth)
    0.25 (given the induced prediction; enumeration)
    """

    value: float | Array
    given: GivenText = "the induced prediction"
    standard_error: float = 0.0
    method: str = "enumeration"

    def __float__(self) -> float:
        if np.ndim(self.value):
            raise TypeError(
                f"this truth is an array of shape {np.shape(self.value)}, not one number; its numbers are in "
                ".value, and estimator.headline(truth.value) is the one that a test is about."
            )
        return float(self.value)

    def __str__(self) -> str:
        number = f"{self.value:.10g}" if isinstance(self.value, float) else str(self.value)
        error = f" +- {self.standard_error:.2g}" if self.standard_error else ""
        given = f"given {self.given}" if self.given == "the induced prediction" else self.given
        return f"{number}{error} ({given}; {self.method})"


def population_of(
    probabilities: Floats,
    chances: Floats,
    mass: Floats | None = None,
    *,
    classes: tuple[Hashable, ...] | None = None,
    variables: dict[str, Variable] | None = None,
    pooled: bool = True,
    method: str = "enumeration",
) -> Population:
    """Put a population together from arrays.

    Parameters
    ----------
    probabilities, chances : (m, K) or (m,) floats
        Predictions and chances; with one dimension, those of the event of two classes.
    mass : (m,) floats, optional
        Masses; scaled to sum to one. None for random rows.
    classes : tuple, optional
        Labels; 0, 1, ..., K - 1 by default.
    variables : dict of str to Variable, optional
    pooled, method
        As in `Population`.
    """
    rows, laws = two_columns(probabilities), two_columns(chances)
    labels = tuple(range(rows.shape[1])) if classes is None else classes
    weights = None if mass is None else mass / (mass.sum() or 1.0)
    predictions = Predictions(rows, labels, weights, variables or {}, source="drawn from a synthetic model")
    return Population(predictions, laws, pooled, method)


def two_columns(values: Floats) -> Floats:
    """Write event probabilities (m,) out as both columns (m, 2), columns together in memory; keep (m, K)."""
    if values.ndim == 2:
        return values
    columns = np.empty((len(values), 2), order="F")
    columns[:, 1] = values
    np.subtract(1.0, values, out=columns[:, 0])
    return columns


def draw_outcomes(chances: Floats, rng: np.random.Generator) -> Array:
    """Draw one outcome (n,) for each row of chances (n, K)."""
    uniforms = rng.random(len(chances))
    if chances.shape[1] == 2:
        return (uniforms < chances[:, 1]).astype(np.intp)
    outcomes = np.zeros(len(chances), dtype=np.intp)
    reached = np.zeros(len(chances))
    for column in chances.T[:-1]:
        reached += column
        outcomes += reached <= uniforms
    return outcomes


@contextmanager
def without_warnings() -> Iterator[None]:
    """Silence warnings of small cells: a population has masses, not counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCellsWarning)
        yield
