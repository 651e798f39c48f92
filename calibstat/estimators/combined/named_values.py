"""The value of an estimator that is made of several: one number for each class, group or member."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator, Evaluator


@final
@dataclass(frozen=True)
class NamedValues:
    """One number for each name, and the one number that a test is about; ``float`` gives the latter.

    Parameters
    ----------
    names : tuple
        Class labels, levels of a variable, or the names of the members of a family.
    values : tuple of float
    headline : float

    Examples
    --------
    >>> found = NamedValues(("f", "m"), (0.02, 0.07), 0.07)
    >>> found["f"], float(found)
    (0.02, 0.07)
    """

    names: tuple[Hashable, ...]
    values: tuple[float, ...]
    headline: float

    def __getitem__(self, name: Hashable) -> float:
        if name not in self.names:
            raise KeyError(f"there is no {name!r}; the names are {self.names!r}")
        return self.values[self.names.index(name)]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __float__(self) -> float:
        return self.headline

    def to_dict(self) -> dict[Hashable, float]:
        """Return the numbers by name."""
        return dict(zip(self.names, self.values, strict=True))


class SeveralEvaluator(Evaluator):
    """Evaluates several prepared numbers on the same outcomes and weights: values (..., J).

    Parameters
    ----------
    names : tuple
    members : list of Evaluator
        Each of a single number.
    estimator : Estimator
        Whose headline the record shows.
    """

    def __init__(self, names: tuple[Hashable, ...], members: list[Evaluator], estimator: Estimator) -> None:
        self.names = names
        self.members = members
        self.estimator = estimator
        self.shape = (len(members),)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Evaluate each member."""
        values = [member(outcomes, weights) for member in self.members]
        if not values:
            return np.zeros((*leading_shape(outcomes, weights), 0))
        return np.stack(values, axis=-1)

    def signed(self, outcomes: Array, signs: Array) -> Floats | None:
        """Evaluate each member with signs, if all have a fast way."""
        values = [member.signed(outcomes, signs) for member in self.members]
        known = [each for each in values if each is not None]
        return np.stack(known, axis=-1) if known and len(known) == len(values) else None

    def present(self, value: Floats) -> NamedValues:
        """Name the numbers."""
        return NamedValues(self.names, tuple(map(float, value)), float(self.estimator.headline(value)))


class NoRows(Evaluator):
    """What is evaluated when a region leaves no rows: NaN.

    Parameters
    ----------
    shape : tuple of int
        Of a single value.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Return NaN for each replicate."""
        return np.full((*leading_shape(outcomes, weights), *self.shape), np.nan)


def leading_shape(outcomes: Array, weights: Array | None) -> tuple[int, ...]:
    """Return the shape of the replicates: what stands before the rows."""
    own = outcomes.shape[:-2] if np.issubdtype(outcomes.dtype, np.floating) else outcomes.shape[:-1]
    return own if weights is None else np.broadcast_shapes(own, weights.shape[:-1])


def strongest(values: Floats, evidence: Floats) -> Floats:
    """Pick from values (..., J) those of the strongest evidence (..., J), signs kept; NaN counts only if alone."""
    if not values.shape[-1]:
        return np.full(values.shape[:-1], np.nan)
    best = np.where(np.isnan(evidence), -np.inf, evidence).argmax(axis=-1)
    return np.take_along_axis(values, best[..., None], axis=-1)[..., 0]
