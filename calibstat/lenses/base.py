"""Lenses: questions about the outcome, asked row by row (Vaicenavicius et al. 2019, Section 3).

A lens maps samples to samples. It comes in three kinds: *relabel* (a table of codes), *condition* (`Given`) and
*restrict* (`Region`). Lenses compose with each other and with estimators by ``|``, associatively.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import replace
from typing import ClassVar, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.parameters import HasParameters
from calibstat.data.sample import Predictions, Sample


@dataclass(frozen=True, eq=False)
class View:
    """The sample as a lens shows it."""

    predictions: Predictions  # of the induced outcomes
    recoding: Codes | None = None  # the code of each class; None keeps the classes
    rows: Ints | None = None  # (m,) the rows that are kept; None keeps all

    @property
    def codes(self) -> Array | None:
        """The code of each class in each row that is kept: (m, K), or (1, K) when all rows share it, or None."""
        return None if self.recoding is None else self.recoding.as_table()

    def outcomes(self, outcomes: Array) -> Array:
        """Map outcomes (..., n) to induced outcomes (..., m)."""
        kept = outcomes if self.rows is None else np.take(outcomes, self.rows, axis=-1)
        return kept if self.recoding is None else self.recoding.of(kept)

    def chances(self, chances: Floats) -> Floats:
        """Map chances (..., n, K) to chances of the induced outcomes (..., m, k)."""
        kept = chances if self.rows is None else np.take(chances, self.rows, axis=-2)
        return (
            kept if self.recoding is None else pushforward(self.recoding.as_table(), kept, self.predictions.n_classes)
        )

    def weights(self, weights: Array) -> Array:
        """Map row weights (..., n) to (..., m)."""
        return weights if self.rows is None else np.take(weights, self.rows, axis=-1)

    def then(self, lens: Lens) -> View:
        """Look at this view through another lens."""
        further = lens.look(self.predictions)
        rows, recoding = self.rows, self.recoding
        if further.rows is not None:
            rows = further.rows if rows is None else rows[further.rows]
            recoding = None if recoding is None else recoding.take(further.rows)
        return View(further.predictions, _compose(recoding, further.recoding), rows)


def _compose(first: Codes | None, second: Codes | None) -> Codes | None:
    if first is None or second is None:
        return second if first is None else first
    before, after = first.as_table(), second.as_table()
    if len(after) == 1:
        return Listed(after[0][before])
    return Listed(np.take_along_axis(after, np.broadcast_to(before, (len(after), before.shape[1])), axis=1))


def pushforward(codes: Array, chances: Floats, n_codes: int) -> Floats:
    """Sum the chances (..., n, K) of the classes that share a code: (..., n, n_codes).

    This is the image of a law under a lens: calibrated labels stay calibrated (Vaicenavicius et al. 2019, Section 3).
    """
    image = np.empty((*chances.shape[:-1], n_codes), order="F" if chances.ndim == 2 and n_codes == 2 else "C")
    for code in range(n_codes):
        image[..., code] = np.sum(chances, axis=-1, where=codes == code)
    return image


class Lens(HasParameters, ABC):
    """A question about the outcome. Subclasses write `look`, which returns what is seen through the lens."""

    in_messages: ClassVar[str] = "a lens, such as TopLabel()"

    @abstractmethod
    def look(self, predictions: Predictions) -> View:
        """Return the predictions as seen through the lens; called once for each sample, before any cutting."""

    @property
    def parts(self) -> tuple[Lens, ...]:
        """The lenses that make up this one, in order: itself, the links of a chain, or none for `Canonical`."""
        return (self,)

    @final
    def __call__(self, sample: Sample) -> Sample:
        """Return the sample as seen through the lens (the induced sample)."""
        return sample.seen_through(self.look)

    @final
    def __or__(self, other: Lens) -> Lens:
        if not isinstance(other, Lens):
            return NotImplemented
        if not self.parts or not other.parts:
            return self if self.parts else other
        return Chain(self.parts + other.parts)


class Relabelling(Lens):
    """A lens given by a table: the code of each class, possibly another one in each row."""

    @abstractmethod
    def table(self, predictions: Predictions) -> tuple[Array, tuple[Hashable, ...]]:
        """Return the codes (n, K), or (1, K) when all rows share them, and the name of each code."""

    @final
    def look(self, predictions: Predictions) -> View:
        """Add up the probabilities of the classes that share a code."""
        codes, names = self.table(predictions)
        induced = replace(predictions, rows=pushforward(codes, predictions.probabilities, len(names)), classes=names)
        return View(induced, Listed(codes))


@final
@dataclass(frozen=True)
class Chain(Lens):
    """Several lenses, one after the other; made by ``|``."""

    lenses: tuple[Lens, ...]

    @property
    def parts(self) -> tuple[Lens, ...]:
        """The lenses, first to last."""
        return self.lenses

    def look(self, predictions: Predictions) -> View:
        """Look through each lens in turn."""
        view = View(predictions)
        for lens in self.lenses:
            view = view.then(lens)
        return view

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.lenses))


# Two ways to store the code of each class, possibly another one in each row, and to apply it to outcomes (..., m).


@final
@dataclass(frozen=True, eq=False)
class Listed:
    """A table of codes, (m, K), or (1, K) when all rows share them."""

    table: Array

    def of(self, outcomes: Array) -> Array:
        """Look outcomes up."""
        if len(self.table) == 1:
            return np.take(self.table[0], outcomes)
        return self.table[np.arange(len(self.table)), outcomes]

    def as_table(self) -> Array:
        """Return the table."""
        return self.table

    def take(self, rows: Ints) -> Listed:
        """Return the codes at `rows`."""
        return self if len(self.table) == 1 else Listed(self.table[rows])


@final
@dataclass(frozen=True, eq=False)
class Ranked:
    """Codes 1, ..., k for some classes of each row and 0 for the others, stored without a slow table of m K numbers."""

    columns: Ints  # (m, k), the classes with the codes 1, ..., k
    n_classes: int

    def of(self, outcomes: Array) -> Array:
        """Compare outcomes with the class of each code."""
        k = self.columns.shape[1]
        if k == 1:
            return (outcomes == self.columns[:, 0]).view(np.uint8)
        found = np.zeros(outcomes.shape, dtype=np.min_scalar_type(k))
        for code, column in enumerate(self.columns.T, start=1):
            found[outcomes == column] = code
        return found

    def as_table(self) -> Array:
        """Write the codes out: (m, K)."""
        m, k = self.columns.shape
        table = np.zeros((m, self.n_classes), dtype=np.min_scalar_type(k))
        table[np.arange(m)[:, None], self.columns] = np.arange(1, k + 1)
        return table

    def take(self, rows: Ints) -> Ranked:
        """Return the codes at `rows`."""
        return Ranked(self.columns[rows], self.n_classes)


Codes: TypeAlias = Listed | Ranked


def refuse_empty(seen: Sample, lens: Lens) -> None:
    """Refuse what a lens leaves without rows, or without weight."""
    if not len(seen):
        raise ValueError(f"no row is left to look at through {lens!r}; widen its region.")
    weights = seen.known.weights
    if weights is not None and not weights.any():
        raise ValueError(f"all rows seen through {lens!r} have weight 0; widen its region.")
