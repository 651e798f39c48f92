"""A map of a line, cut where it jumps, bends sharply, turns or stays constant, and its inverse on monotone branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from calibstat._dataclass import dataclass
from calibstat.data.arrays import Bools, Floats, Ints
from calibstat.data.rounding import ROUNDING
from calibstat.generators._quadrature import bisected, distinct

_N = 12  # coefficients of the polynomial on a cell
_NODES = chebyshev.chebpts1(_N)
_PROBES = np.array([-0.9999, -0.41, 0.07, 0.53, 0.9999])  # where the polynomial is compared with the map
_PLACES = np.concatenate([_NODES, _PROBES])
_FIT = np.linalg.inv(chebyshev.chebvander(_NODES, _N - 1)).T
_AT_PROBES = chebyshev.chebvander(_PROBES, _N - 1).T
_CLOSE = 1e-9  # the error of a polynomial, relative to values above one
_STILL = 1e-8  # a change of values, relative to values above one, that is no more than rounding may be
_NARROW = 1e-13  # half the width of a cell, relative to places above one, below which the map jumps
_EPS = 2e-15  # the rounding of a place, which a steep slope magnifies
_MOST_CELLS = 200_000


@dataclass(frozen=True, eq=False)
class Branch:
    """Cells on which a map is monotone in one direction: ranges of values (k,) in increasing order, and polynomials."""

    low: Floats
    high: Floats
    middle: Floats
    half: Floats
    coefficients: Floats  # (k, _N)

    def inverse(self, values: Floats) -> tuple[Bools, Floats, Floats]:
        """Return which values (m,) are taken, and of these the places and the sizes of the slope."""
        cell = np.searchsorted(self.low, values, side="right") - 1
        taken = (cell >= 0) & (values <= self.high[cell] + ROUNDING * np.maximum(1, np.abs(values)))
        cell = cell[taken]
        table, half = self.coefficients[cell].T, self.half[cell]
        slopes = chebyshev.chebder(table)
        place = _solved(table, slopes, values[taken])
        slope = np.abs(chebyshev.chebval(place, slopes, tensor=False)) / half
        return taken, self.middle[cell] + half * place, slope


def _solved(table: Floats, slopes: Any, values: Floats) -> Floats:
    """Solve monotone polynomials for values by Newton's method in [-1, 1]; a step out of the bracket is a bisection."""
    sign = np.sign(chebyshev.chebval(1.0, table) - chebyshev.chebval(-1.0, table))
    low, high, place = np.full(len(values), -1.0), np.ones(len(values)), np.zeros(len(values))
    for _ in range(60):
        gap = chebyshev.chebval(place, table, tensor=False) - values
        below = sign * gap < 0
        low, high = np.where(below, place, low), np.where(below, high, place)
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = place - gap / chebyshev.chebval(place, slopes, tensor=False)
        moved = np.where((moved > low) & (moved < high), moved, (low + high) / 2)
        moved = np.where(np.abs(gap) <= 2e-15 * np.maximum(1, np.abs(values)), place, moved)
        far = np.abs(moved - place).max(initial=0)
        place = moved
        if far < 1e-10:  # of a Newton step, whose error is about its square
            break
    return place


@dataclass(frozen=True, eq=False)
class Branches:
    """A map of a line: `borders` (b,) of its cells, constant cells (c, 2), turning points, and monotone branches."""

    borders: Floats
    constant: Floats
    turns: Floats
    branches: tuple[Branch, ...]

    def levels(self, values: Floats) -> Iterator[tuple[Bools, Floats, Floats]]:
        """Go through the branches: which of the values each takes, at which places, and with which slopes."""
        for branch in self.branches:
            yield branch.inverse(values)

    def places(self, values: Floats) -> Floats:
        """Return all places where the map takes one of the values, other than on constant cells."""
        return np.concatenate([np.empty(0), *(place for _, place, _ in self.levels(values))])

    def ends(self) -> Floats:
        """Return the values at which branches begin or end."""
        return np.array([value for each in self.branches for value in (each.low[0], each.high[-1])])

    def several(self, values: Floats) -> Bools:
        """Return which values lie in the ranges of several branches."""
        covered = np.zeros(len(values), dtype=int)
        for each in self.branches:
            covered += (values >= each.low[0]) & (values <= each.high[-1])
        return covered > 1

    def is_constant(self, places: Floats) -> Bools:
        """Return which places lie in constant cells."""
        cell = np.searchsorted(self.constant[:, 0], places, side="right") - 1
        return (cell >= 0) & (places <= self.constant[cell, 1]) if len(self.constant) else np.zeros(len(places), bool)


def branches_of(function: Callable[[Floats], Floats], borders: Floats) -> Branches:
    """Cut a map between the first and the last of increasing borders, which are close enough to show every step.

    Infinite values are allowed where they are constant.
    """
    first = _resolved(function, borders)
    found = _resolved(function, distinct(np.concatenate([borders, first.singular])))
    turns = _turns(found)
    if len(turns):
        found = _resolved(function, distinct(np.concatenate([found.left, found.right[-1:], turns])))
    constant = np.delete(np.stack([found.left, found.right], axis=1), found.moving(), axis=0)
    return Branches(distinct(np.append(found.left, found.right)), constant, turns, tuple(_branches(found)))


@dataclass(frozen=True, eq=False)
class _Cells:
    left: Floats
    right: Floats
    coefficients: Floats
    constant: Bools
    singular: Floats  # points around which no polynomial fits

    def moving(self) -> Ints:
        """Return the cells on which values change by more than rounding."""
        ends = chebyshev.chebval(np.array([-1.0, 1.0]), self.coefficients.T)
        with np.errstate(invalid="ignore"):
            change = np.abs(ends[:, 1] - ends[:, 0]) > _STILL * np.maximum(1, np.abs(ends).max(axis=1))
        return np.flatnonzero(~self.constant & change)


def _resolved(function: Callable[[Floats], Floats], borders: Floats) -> _Cells:
    """Bisect cells until the map is constant, or a polynomial, on each; what stays neither is a singular point."""
    left, right = borders[:-1], borders[1:]
    kept: list[tuple[Floats, Floats, Floats, Bools]] = []
    singular = [np.empty(0)]
    number = 0
    while len(left):
        middle, half = (left + right) / 2, (right - left) / 2
        values = function((middle[:, None] + half[:, None] * _PLACES).ravel()).reshape(len(left), -1)
        highest, lowest, size = values.max(axis=1), values.min(axis=1), np.maximum(1, np.abs(middle))
        constant = highest == lowest
        with np.errstate(invalid="ignore"):
            coefficients = values[:, :_N] @ _FIT
            off = np.abs(coefficients @ _AT_PROBES - values[:, _N:]).max(axis=1)
            rounding = _EPS * size * (highest - lowest) / half
            done = constant | (off <= _CLOSE * np.maximum(1, np.maximum(highest, -lowest)) + rounding)
        kept.append((left[done], right[done], coefficients[done], constant[done]))
        narrow = ~done & (half <= _NARROW * size)
        singular.append(middle[narrow])
        split = ~done & ~narrow
        number += int(done.sum())
        if number + int(split.sum()) > _MOST_CELLS:
            raise ValueError(
                f"the calibrated probability is no smooth function of the prediction in {_MOST_CELLS} pieces: draw "
                "samples of the world, and calibrate these"
            )
        left, right = np.append(left[split], middle[split]), np.append(middle[split], right[split])
    columns = [np.concatenate(each) for each in zip(*kept, strict=True)]
    order = np.argsort(columns[0])
    left, right, coefficients, constant = (each[order] for each in columns)
    return _Cells(left, right, coefficients, constant, np.sort(np.concatenate(singular)))


def _turns(cells: _Cells) -> Floats:
    """Return where the slope of a polynomial changes its sign inside its cell, where values go back visibly."""
    moving, grid = cells.moving(), np.linspace(-1, 1, 33)
    values = chebyshev.chebval(grid, cells.coefficients[moving].T)
    rising = values * np.sign(values[:, -1:] - values[:, :1])
    back = (np.maximum.accumulate(rising, axis=1) - rising).max(axis=1, initial=0)
    moving = moving[back > _STILL * np.maximum(1, np.abs(values).max(axis=1, initial=0))]
    table = chebyshev.chebder(cells.coefficients[moving].T)
    signs = np.sign(chebyshev.chebval(grid, table))
    cell, place = np.nonzero(signs[:, :-1] * signs[:, 1:] < 0)
    at = table[:, cell]
    roots = bisected(
        lambda x: np.sign(chebyshev.chebval(x, at, tensor=False)), grid[place], grid[place + 1], signs[cell, place]
    )
    left, right = cells.left[moving][cell], cells.right[moving][cell]
    return (left + right) / 2 + (right - left) / 2 * roots


def _branches(cells: _Cells) -> Iterator[Branch]:
    """Join neighbouring cells that go on in the same direction; the map may jump that way between them."""
    moving = cells.moving()
    left, right, table = cells.left[moving], cells.right[moving], cells.coefficients[moving]
    begin, end = chebyshev.chebval(np.array([-1.0, 1.0]), table.T).T
    up = end > begin
    back = np.where(up[1:], begin[1:] - end[:-1], end[:-1] - begin[1:]) < -_STILL * np.maximum(1, np.abs(begin[1:]))
    for part in np.split(np.arange(len(moving)), 1 + np.flatnonzero((up[1:] != up[:-1]) | back)):
        if len(part):
            part = part if up[part[0]] else part[::-1]
            low, high = np.minimum(begin, end)[part], np.maximum(begin, end)[part]
            yield Branch(low, high, (left + right)[part] / 2, (right - left)[part] / 2, table[part])
