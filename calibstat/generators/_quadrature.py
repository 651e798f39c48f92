"""Composite Gauss-Legendre quadrature, and where to put the borders of its panels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import EllipsisType
from typing import TypeAlias

import numpy as np

from calibstat.binnings.base import Binning, Cells
from calibstat.data.arrays import Array, Bools, Floats
from calibstat.data.rounding import ROUNDING, SAME
from calibstat.generators.base import Population, without_warnings
from calibstat.lenses.base import Lens, View


@cache
def unit_rule(n_nodes: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return (nodes + 1) / 2, weights / 2


def panels(borders: Floats, n_nodes: int = 16) -> tuple[Floats, Floats]:
    """Return nodes and weights of a Gauss-Legendre rule on each panel between neighbouring borders, which increase."""
    unit, weights = unit_rule(n_nodes)
    widths = np.diff(borders)[:, None]
    return (borders[:-1, None] + widths * unit).ravel(), (widths * weights).ravel()


def distinct(borders: Floats) -> Floats:
    """Sort borders and drop those that hardly differ from the one before."""
    ordered = np.sort(borders)
    return ordered[_apart(ordered)]


def _apart(ordered: Floats) -> Bools:
    """Return which values are more than some units in the last place above the one before."""
    return np.concatenate([[True], np.diff(ordered) > 1e-13 * np.maximum(1, np.abs(ordered[1:]))])


def critical_points(function: Callable[[Floats], Floats], grid: Floats) -> Floats:
    """Find the roots and extrema of a deviation: kinks of its absolute value, and its maxima.

    The increasing grid must separate them. Values within rounding of zero have no sign.
    """
    values = function(grid)
    kept = np.flatnonzero(np.abs(values) > ROUNDING)
    points, signs = grid[kept], np.sign(values[kept])
    change = np.flatnonzero(signs[:-1] * signs[1:] < 0)
    roots = bisected(lambda x: np.sign(function(x)), points[change], points[change + 1], signs[change])
    return np.concatenate([roots, _extrema(function, grid, np.abs(values))])


def bisected(sign: Callable[[Floats], Floats], low: Floats, high: Floats, left: Floats) -> Floats:
    """Return where a sign changes between `low`, where it is `left`, and `high`."""
    for _ in range(60 if len(low) else 0):  # more than the 52 binary digits of a double
        middle = (low + high) / 2
        same = sign(middle) == left
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return (low + high) / 2


def _extrema(function: Callable[[Floats], Floats], grid: Floats, sizes: Floats) -> Floats:
    """Find the local maxima of the absolute value, by ternary search between the neighbours of a largest node."""
    inner = sizes[1:-1]
    peaks = 1 + np.flatnonzero((inner > sizes[:-2]) & (inner >= sizes[2:]) & (inner > ROUNDING))
    low, high = grid[peaks - 1], grid[peaks + 1]
    for _ in range(60 if len(low) else 0):
        third = (high - low) / 3
        rising = np.abs(function(low + third)) < np.abs(function(high - third))
        low, high = np.where(rising, low + third, low), np.where(rising, high, high - third)
    return (low + high) / 2


def around_changes(values: Floats, index: Array) -> Floats:
    """Return the two values before and the two after each change of `index`: (4, number of changes).

    Two would do for cells with edges. Cells of equal mass change at the node where the cumulative mass reaches a level,
    and the quantile itself may lie on either side of that node (Chebyshev, Markov and Stieltjes).
    """
    order = np.argsort(values, kind="stable")
    placed, codes = values[order], index[order]
    new = _apart(placed)
    placed, codes = placed[new], codes[new]
    change = np.flatnonzero(codes[:-1] != codes[1:])
    return placed[np.clip(change + np.arange(-1, 3)[:, None], 0, len(placed) - 1)]


# Panels bisected at the borders of cells, until no node stands for mass on both sides of one.

Axis: TypeAlias = str | EllipsisType
Borders: TypeAlias = Mapping[Axis, Floats]
Build: TypeAlias = Callable[[Borders], Population]


def population_on_cells(build: Build, lens: Lens, binning: Binning | None, first: Borders | None = None) -> Population:
    """Build a population whose panels end at the borders of the regions of a lens and of the cells of a binning.

    Each round puts borders at the nodes between which the cell changes, so that the gap shrinks at least fivefold,
    unless predictions leave one. If
    the number of changes keeps growing, the cells depend on the number of rows and have no limit (ValueError).

    `build` maps additional borders to a population. Borders of the event's probability have the key ``...``, those of a
    variable its name. Borders of a folded prediction hold for its mirror too. The first round has the borders `first`.
    """
    found, borders, earlier = dict(first or {}), dict[Axis, Floats](), dict[Axis, Floats]()
    size = -1
    for turn in range(40):
        population = build(_borders_of_both(found, borders))
        view = lens.look(population.predictions)
        with without_warnings():
            cells = None if binning is None else binning.cut(view.predictions)
        changes = _region_changes(population, view)
        if cells is not None:
            changes.append((_axis_of_cut(view, binning), _cell_changes(cells, view)))
        number = sum(around.shape[1] for _, around in changes)
        borders, previous, size = {}, size, number
        for axis, around in changes:
            close = _close(around, found.get(axis, np.empty(0))) | _stays(around, earlier.get(axis, np.empty((4, 0))))
            found = _borders_of_both(found, {axis: around[:, close].ravel()})
            borders = _borders_of_both(borders, {axis: around[:, ~close].ravel()})
            earlier[axis] = np.hstack([earlier.get(axis, np.empty((4, 0))), around])
        if number in (previous, 0) and not any(map(len, borders.values())):
            return population if cells is None else build(_borders_of_both(found, _means(view, cells, population)))
        # A coarse first grid may leave cells empty, so that their number grows for some rounds.
        many = cells is not None and cells.moves != "fixed" and cells.size > 0.45 * len(view.predictions)
        if many or (turn >= 3 and number > previous):
            break
    others = " or ".join({"EqualWidth", "FixedEdges"} - {type(binning).__name__})
    raise ValueError(
        f"{lens!r} with the cells of {binning!r}: their borders do not settle as predictions become more, as if the "
        "cells depended on the number of rows, so that no limit with fixed cells is known; compute the truth of the "
        f"estimand, or take {others}."
    )


def _axis_of_cut(view: View, binning: Binning | None) -> Axis:
    """Return the one column that is cut: the prediction or a variable."""
    given = view.predictions.given
    if binning is not None and set(binning.reads) - set(given):
        raise ValueError(
            f"the limit on the cells of {binning!r} is known only where what they read is conditioned on, but given is "
            f"{given!r}: look through Given({', '.join(map(repr, binning.reads))}) first."
        )
    if len(given) != 1 or isinstance(given[0], int):
        raise ValueError(
            f"the limit on the cells of {binning!r} is known for one column only, but {given!r} is conditioned on: "
            "condition on one variable, or on the prediction."
        )
    return given[0]


def _cell_changes(cells: Cells, view: View) -> Floats:
    if cells.moves == "fixed" and cells.edges is not None:
        return np.tile(cells.edges[1:-1], (4, 1))  # known without a search
    return around_changes(view.predictions.conditioned[:, 0], cells.index)


def _close(around: Floats, found: Floats) -> Bools:
    """Return which changes are known closely enough; rounding of masses must not lose one that was found."""
    slack = SAME * np.maximum(1, np.abs(around[3]))
    again = np.searchsorted(np.sort(found), around[0] - slack) < np.searchsorted(np.sort(found), around[3] + slack)
    return (around[3] - around[0] <= slack) | again


def _stays(around: Floats, earlier: Floats) -> Bools:
    """Return which changes lie in a gap of an earlier round, which borders no longer narrow.

    No prediction is in it, or the map is so steep there that rounding decides where its values lie.
    """
    slack = SAME * np.maximum(1, np.abs(around[1:3, :, None]))
    apart = np.abs(around[1:3, :, None] - earlier[1:3, None])
    return np.any(np.all(apart <= slack, axis=0), axis=1)


def _region_changes(population: Population, view: View) -> list[tuple[Axis, Floats]]:
    """Find where a region begins and ends, along each axis that decides it."""
    if view.rows is None:
        return []
    kept = np.zeros(len(population), dtype=np.intp)
    kept[view.rows] = 1
    predictions = population.predictions
    axes: dict[Axis, Floats] = {...: predictions.event}
    axes |= {name: variable.values for name, variable in predictions.variables.items()}
    return [(axis, around_changes(values, kept)) for axis, values in axes.items() if _decides(values, kept)]


def _decides(values: Floats, kept: Array) -> bool:
    _, index = np.unique(values, return_inverse=True)
    share = np.bincount(index, kept) / np.bincount(index)
    return bool(np.isin(share, (0, 1)).all() and np.ptp(kept) > 0)


def _means(view: View, cells: Cells, population: Population) -> dict[Axis, Floats]:
    """Return the mean outcome of each cell: the distance of a prediction from it has a kink there."""
    if view.predictions.given != (...,) or view.predictions.n_classes != 2 or view.predictions.weights is None:
        return {}
    mass = np.bincount(cells.index, view.predictions.weights, minlength=cells.size)
    chance = view.chances(population.chances)[:, 1] * view.predictions.weights
    mean = np.bincount(cells.index, chance, minlength=cells.size)[mass > 0] / mass[mass > 0]
    return {...: mean}


def _borders_of_both(borders: Borders, found: Borders) -> dict[Axis, Floats]:
    none = np.empty(0)
    return {axis: np.concatenate([borders.get(axis, none), found.get(axis, none)]) for axis in {*borders, *found}}
