"""Binnings: rules that cut what is conditioned on into cells, never seeing an outcome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted
from calibstat._warn import warn
from calibstat.data.arrays import ROWS_IN_CACHE, Array, Floats, Ints
from calibstat.data.parameters import HasParameters, SmallCellsWarning
from calibstat.data.rounding import TIE_OF_PREDICTIONS
from calibstat.data.sample import GivenNames, Predictions

if TYPE_CHECKING:
    from calibstat.binnings.intervals import ByArithmetic
    from calibstat.binnings.selection import BySteps, Numbered

Moves: TypeAlias = Literal["fixed", "ranks", "data"]


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells into which the rows fall.

    Parameters
    ----------
    size : int
        Number of cells L.
    placed : (n,) ints, or ByArithmetic or BySteps
        The cell of each row, 0..L-1, or an object that computes it when `index` is first used.
    moves : {"fixed", "ranks", "data"}
        What the borders of cells depend on when predictions are drawn anew: nothing ("fixed"), their ranks ("ranks",
        equal mass), or their values in some other way ("data").
    edges : (L + 1,) floats, optional
        The borders of cells that are intervals.
    names : tuple of str, optional
        The names of cells that are categories.
    ranks : (L' - 1,) ints, optional
        For cells of equal mass without weights: the numbers of rows, in increasing order of the one conditioned column,
        after which a cell ends, before ties are put together. Rows that are drawn anew are cut at these again.
    numbered : Numbered, optional
        The histogram of the one conditioned column by which cells were found, kept for cutting again.
    """

    size: int
    placed: Ints | ByArithmetic | BySteps
    moves: Moves
    edges: Floats | None = None
    names: tuple[str, ...] | None = None
    ranks: Ints | None = None
    numbered: Numbered | None = None

    @cached_property
    def index(self) -> Ints:
        """(n,) the cell of each row."""
        return self.placed if isinstance(self.placed, np.ndarray) else self.placed.index()

    def in_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Return rows, as many as stay in the cache, with their cells; an index that is not known yet is not kept."""
        if hasattr(self.placed, "in_blocks") and "index" not in vars(self):
            return self.placed.in_blocks()
        blocks = (slice(start, start + ROWS_IN_CACHE) for start in range(0, len(self.index), ROWS_IN_CACHE))
        return iter([(rows, self.index[rows]) for rows in blocks])

    @cached_property
    def order(self) -> Ints:
        """(n,) the rows, cell after cell."""
        return np.argsort(self.index, kind="stable")

    @cached_property
    def starts(self) -> Ints:
        """(L + 1,) where each cell begins in `order`."""
        counts = np.bincount(self.index, minlength=self.size)
        return np.concatenate([[0], np.cumsum(counts)])


class Binning(HasParameters, ABC):
    """A rule that cuts predictions into cells; `columns` says how many conditioned columns (None: all there are)."""

    in_messages: ClassVar[str] = "a binning, such as EqualMass(15)"

    columns: ClassVar[int | None] = 1
    takes_counts: ClassVar[bool] = False
    """Whether rows that each stand for several (`Predictions.counts`) are cut as the single ones are."""

    @property
    def reads(self) -> GivenNames:
        """What it reads whatever is conditioned on: names of variables, and ``...`` for the prediction."""
        return ()

    @abstractmethod
    def cut(self, predictions: Predictions) -> Cells:
        """Cut what `predictions` are conditioned on; called once for each set of predictions."""

    def cuts_buckets(self, predictions: Predictions) -> str:
        """Say what may tell rows of one bucket apart (`Predictions.buckets`); "" where cells are of whole ones."""
        return "" if all(isinstance(key, str) for key in predictions.keys) else repr(self)

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

    @property
    def reads(self) -> GivenNames:
        """What its factors read."""
        return tuple(name for factor in self.factors for name in factor.reads)

    @property
    def takes_counts(self) -> bool:  # type: ignore[override]
        """Whether all of its factors take them."""
        return all(factor.takes_counts for factor in self.factors)

    def cuts_buckets(self, predictions: Predictions) -> str:
        """Ask each factor."""
        dealt = zip(self.factors, self._deal(predictions), strict=True)
        return next(filter(None, (each.cuts_buckets(predictions.conditioning_on(keys)) for each, keys in dealt)), "")

    def cut(self, predictions: Predictions) -> Cells:
        """Cut by each factor in turn and number the combinations that occur."""
        parts = [
            factor.cut(predictions.conditioning_on(keys))
            for factor, keys in zip(self.factors, self._deal(predictions), strict=True)
        ]
        index = np.ravel_multi_index([part.index for part in parts], [part.size for part in parts])
        moves: Moves = "fixed" if all(part.moves == "fixed" for part in parts) else "data"
        return occupied(index, moves)

    def _deal(self, predictions: Predictions) -> list[GivenNames]:
        keys = predictions.keys
        if len(keys) == 1:
            return [keys] * len(self.factors)
        greedy = [factor for factor in self.factors if factor.columns is None]
        rest = len(keys) - sum(factor.columns or 0 for factor in self.factors)
        if len(greedy) > 1 or rest < len(greedy) or (rest and not greedy):
            raise ValueError(
                f"{self!r} cannot share out {counted(len(keys), 'column')} ({predictions.condition}): each factor "
                "takes one, except at most one that takes all the others. Use as many factors as there are columns."
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
    """Number the cells that hold a row 0..L-1, in increasing order of `index`; without rows there is one empty cell."""
    found, inverse = np.unique(index, return_inverse=True)
    return Cells(max(1, len(found)), inverse.astype(np.intp, copy=False), moves)


def one_column(binning: Binning, predictions: Predictions) -> Floats:
    """Return the only conditioned column; raise an error that names a lens if there are more."""
    if len(predictions.keys) == 1:
        variable = predictions.column(predictions.keys[0])
        if variable.levels is not None:
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
    """Warn when fewer than ten rows a cell are expected, unless there is a single cell."""
    if n_cells > max(1, n_rows / 10):
        warn(
            f"{binning!r} makes {counted(n_cells, 'cell')} of {counted(n_rows, 'row')}, fewer than 10 rows a cell: "
            "binned errors are then mostly noise (their null mean says how much); take fewer cells.",
            SmallCellsWarning,
        )


# Shared by the binnings into intervals: the borders of a column, and the side on which cells are closed.


def is_probability(predictions: Predictions) -> bool:
    """Whether the one conditioned column is a probability (and not a variable)."""
    return not isinstance(predictions.keys[0], str)


def borders(predictions: Predictions) -> tuple[float, float]:
    """Return where the one conditioned column begins and ends: [0, 1] for a probability, else its range."""
    if is_probability(predictions):
        return 0.0, 1.0
    return predictions.column(predictions.keys[0]).range


def closed_left(values: Floats, edges: Floats) -> Ints:
    """Return the cell [edge_i, edge_i+1) of each value, the last one closed; values outside join the end cells."""
    return np.searchsorted(edges[1:-1], values, side="right")


def closed_right(values: Floats, edges: Floats) -> Ints:
    """Return the cell (edge_i, edge_i+1] of each value, the first one closed; values outside join the end cells."""
    return np.searchsorted(edges[1:-1], values, side="left")


# An edge this near to the end of a bucket is that end.
_ON_END = 1e-9


def edge_in_bucket(binning: Binning, predictions: Predictions, edges: Floats) -> str:
    """Say which of the edges, in increasing order, is the first that lies inside a bucket, if one does."""
    if not is_probability(predictions) or predictions.buckets is None:
        return ""
    low, high = predictions.buckets.T
    after = np.searchsorted(edges, low + _ON_END, side="right")
    inside = np.append(edges, np.inf)[after] < high - _ON_END
    if not inside.any():
        return ""
    row = int(np.argmax(inside))
    return f"{binning!r}, whose edge {edges[after[row]]:g} lies inside a bucket ({low[row]:g} to {high[row]:g}),"


# Ties: which values count as equal. Cells, ranks and walks all use this rule.


def first_of_ties(ordered: Floats, tolerance: float = 0.0) -> Ints:
    """Return where each group of equal values begins, in values (n,) that are sorted; the first begins at 0.

    Values are equal if they exceed the smallest of their group by at most four units in its last place, or by at most
    `tolerance`; neighbours do not chain. So 0.1 + 0.2 equals 0.3, but 1e-17 differs from 1e-30, since the ranks of
    confident predictions matter. The rule also suits predictions computed as 1 - q: equal q give equal floats, and near
    1, where the rounding of q is large beside 1 - q, the floats 1 - q differ as the q do.

    >>> first_of_ties(np.array([1e-30, 1e-17, 0.3, 0.1 + 0.2, 0.5]))
    array([0, 1, 2, 4])
    >>> first_of_ties(np.array([0.10, 0.14, 0.18]), tolerance=0.05)
    array([0, 2])
    """
    far = np.ones(len(ordered), dtype=bool)
    for start in range(1, len(ordered), ROWS_IN_CACHE):
        some = ordered[start - 1 : start + ROWS_IN_CACHE]
        np.greater(some[1:], _limits(some[:-1], tolerance), out=far[start : start + ROWS_IN_CACHE])
    starts = np.flatnonzero(far)
    if (far[2:] | far[1:-1]).all():  # no group has three values, so nothing can chain
        return starts
    lasts = np.append(starts[1:], len(ordered)) - 1
    chained = np.flatnonzero(ordered[lasts] > _limits(ordered[starts], tolerance))
    if not len(chained):
        return starts
    further = [_cut_chain(ordered[starts[i] : lasts[i] + 1], tolerance) + starts[i] for i in chained]
    return np.sort(np.concatenate([starts, *further]))


def _limits(values: Floats, tolerance: float) -> Floats:
    """Return, for each value, the largest value that counts as equal to it."""
    reach: Floats = np.abs(values) * TIE_OF_PREDICTIONS
    if tolerance:
        np.maximum(reach, tolerance, out=reach)
    reach += values
    return reach


def _cut_chain(chain: Floats, tolerance: float) -> Ints:
    """Return where groups begin in a chain of close neighbours, except for the first group."""
    found: list[int] = []
    start = 0
    while True:
        limit = _limits(chain[start : start + 1], tolerance)[0]
        start = int(np.searchsorted(chain, limit, side="right"))
        if start == len(chain):
            return np.array(found, dtype=np.intp)
        found.append(start)
