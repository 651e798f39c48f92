"""Binnings: rules that cut what is conditioned on into cells, never seeing an outcome."""

from __future__ import annotations

import sys
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, final

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.checks import SmallCellsWarning
from calibstat.predictions import Given, Predictions

if TYPE_CHECKING:
    from calibstat.binnings.selection import Numbered

Moves: TypeAlias = Literal["fixed", "ranks", "data"]


class Finder(ABC):
    """What finds the cell of each row, when somebody asks for it."""

    @abstractmethod
    def index(self) -> Ints:
        """Return the cell of each row: (n,)."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells that rows fall into.

    Parameters
    ----------
    size : int
        Number of cells L.
    placed : (n,) ints, or Finder
        The cell of each row, 0..L-1, or what finds it when `index` is first asked for.
    moves : {"fixed", "ranks", "data"}
        What moves the cells when the predictions are drawn anew: nothing ("fixed" edges), their ranks
        (equal mass), or their values in some other way ("data").
    edges : (L + 1,) floats, optional
        The borders of cells that are intervals.
    names : tuple of str, optional
        The names of cells that are categories.
    ranks : (L' - 1,) ints, optional
        For cells of equal mass without weights, how they are cut again when rows are drawn anew: the numbers of rows,
        in order of the one conditioned column, after which a cell ends, before ties are put together.
    numbered : Numbered, optional
        The histogram of the one conditioned column, if cells were found by one: whoever cuts again has it already.
    """

    size: int
    placed: Ints | Finder
    moves: Moves
    edges: Floats | None = None
    names: tuple[str, ...] | None = None
    ranks: Ints | None = None
    numbered: Numbered | None = None

    @cached_property
    def index(self) -> Ints:
        """(n,) the cell of each row."""
        return self.placed.index() if isinstance(self.placed, Finder) else self.placed

    @property
    def finder(self) -> Finder | None:
        """What may be followed row by row in place of `index`, as long as nobody has asked for that."""
        return self.placed if isinstance(self.placed, Finder) and "index" not in vars(self) else None

    @cached_property
    def order(self) -> Ints:
        """(n,) the rows, cell after cell."""
        return np.argsort(self.index, kind="stable")

    @cached_property
    def starts(self) -> Ints:
        """(L + 1,) where each cell begins in `order`."""
        counts = np.bincount(self.index, minlength=self.size)
        return np.concatenate([[0], np.cumsum(counts)])


class Binning(ABC):
    """A rule that cuts predictions into cells.

    Subclasses state how many columns of what is conditioned on they cut (`columns`; None means all there are).
    """

    columns: ClassVar[int | None] = 1

    @abstractmethod
    def cut(self, predictions: Predictions) -> Cells:
        """Cut what `predictions` are conditioned on; called once for each set of predictions."""

    @final
    def __mul__(self, other: Binning) -> Product:
        """Cross two binnings; the conditioned columns are dealt out from left to right."""
        if not isinstance(other, Binning):
            return NotImplemented
        return Product((*_factors(self), *_factors(other)))


@final
@dataclass(frozen=True)
class Product(Binning):
    """Every combination of the cells of several binnings, empty ones left out; made by ``a * b``.

    Each factor takes its number of conditioned columns, from left to right; with a single column all cut that one.
    """

    factors: tuple[Binning, ...]
    columns: ClassVar[int | None] = None

    def cut(self, predictions: Predictions) -> Cells:
        """Cut by each factor in turn and number the combinations that occur."""
        parts = [
            factor.cut(predictions.conditioning_on(keys))
            for factor, keys in zip(self.factors, self._deal(predictions), strict=True)
        ]
        index = np.ravel_multi_index([part.index for part in parts], [part.size for part in parts])
        moves: Moves = "fixed" if all(part.moves == "fixed" for part in parts) else "data"
        return occupied(index, moves)

    def _deal(self, predictions: Predictions) -> list[Given]:
        keys = predictions.keys
        if len(keys) == 1:
            return [keys] * len(self.factors)
        greedy = [factor for factor in self.factors if factor.columns is None]
        rest = len(keys) - sum(factor.columns or 0 for factor in self.factors)
        if len(greedy) > 1 or rest < len(greedy) or (rest and not greedy):
            raise ValueError(
                f"{self!r} cannot share out {len(keys)} columns ({predictions.condition}): each factor takes one, "
                "except at most one that takes all the others. Use as many factors as there are columns."
            )
        dealt, start = [], 0
        for factor in self.factors:
            stop = start + (rest if factor.columns is None else factor.columns)
            dealt.append(keys[start:stop])
            start = stop
        return dealt

    def __repr__(self) -> str:
        return " * ".join(map(repr, self.factors))


def _factors(binning: Binning) -> tuple[Binning, ...]:
    return binning.factors if isinstance(binning, Product) else (binning,)


def occupied(index: Ints, moves: Moves) -> Cells:
    """Number the cells that hold a row 0..L-1, in increasing order of `index`; without rows there is one, empty."""
    found, inverse = np.unique(index, return_inverse=True)
    return Cells(max(1, len(found)), inverse.astype(np.intp, copy=False), moves)


def expect_binning(value: object) -> Binning:
    """Return a binning, or say that something else was given for one."""
    if not isinstance(value, Binning):
        raise TypeError(f"binning is {value!r}, but a binning is expected: for example EqualMass(15).")
    return value


def one_column(binning: Binning, predictions: Predictions) -> Floats:
    """Return the only conditioned column, or say which lens would leave one."""
    if len(predictions.keys) == 1:
        variable = predictions.column(predictions.keys[0])
        if variable.categorical:
            raise ValueError(
                f"{binning!r} cuts numbers, but the variable {predictions.keys[0]!r} is categorical with levels "
                f"{variable.levels!r}; use Categories()."
            )
        return variable.values
    if predictions.given == (...,):
        raise ValueError(
            f"{binning!r} cuts one column, but the prediction has {predictions.n_classes} classes, got "
            f"{predictions.n_classes} columns: look through a lens first, for example TopLabel(), or use a binning of "
            "the whole simplex, for example VarianceTree(100)."
        )
    raise ValueError(
        f"{binning!r} cuts one column, but {len(predictions.keys)} are conditioned on ({predictions.condition}); "
        "cross two binnings, for example EqualMass(10) * Categories()."
    )


def warn_of_small_cells(binning: Binning, n_cells: int, n_rows: int) -> None:
    """Warn when fewer than ten rows a cell can be expected."""
    if n_cells > n_rows / 10:
        warnings.warn(
            f"{binning!r} makes {n_cells} {'cell' if n_cells == 1 else 'cells'} of {n_rows} rows, fewer than 10 rows a "
            "cell: binned errors are then mostly noise (their null mean says how much); take fewer cells.",
            SmallCellsWarning,
            stacklevel=_callers_inside(),
        )


def _callers_inside() -> int:
    """Count the calls inside the package, so that the warning points to the line of the user that led here."""
    frame, inside = sys._getframe(1), 0
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("calibstat."):
        frame, inside = frame.f_back, inside + 1  # type: ignore[assignment]
    return inside + 1
