"""Naive binnings: the key of each row's cell. Rows with the same key share a cell."""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np

import calibstat as cs
from calibstat.nulls.multiplier import MergedCells
from reference.rows import Row, Rows, UnclearError, same, written


def keys(binning: cs.Binning, seen: Rows) -> list[Hashable]:
    """Cut by any binning: the key of each row's cell."""
    return _cut(binning, _conditioned(seen), seen)


def _conditioned(seen: Rows) -> list[Any]:
    """Name what is conditioned on, column by column: a class position or a variable."""
    names: list[Any] = []
    for name in seen.given:
        if name is not ...:
            names.append(name)
        else:
            names += [1] if len(seen.classes) == 2 else list(range(len(seen.classes)))
    return names


def _cut(binning: cs.Binning, names: list[Any], seen: Rows) -> list[Hashable]:
    if hasattr(binning, "factors"):
        return _cross(binning.factors, names, seen)
    if isinstance(binning, MergedCells):
        return _merged(binning, names, seen)
    if isinstance(binning, cs.TreeLeaves):
        return [_node_of(binning, row) for row in seen.rows]
    points = [
        tuple(row.variables[name] if isinstance(name, str) else row.p[name] for name in names) for row in seen.rows
    ]
    low, high = 0.0, 1.0
    if len(names) == 1 and isinstance(names[0], str):
        low, high = min(point[0] for point in points), max(point[0] for point in points)
    weights = [row.weight for row in seen.rows] if seen.weighted else None
    return written(BINNINGS, binning)(binning, points, low, high, weights)


def _node_of(binning: cs.TreeLeaves, row: Row) -> Hashable:
    """Walk from the root to a node that breadth-first splitting has not split (Torabian & Urner 2024, Appendix C)."""
    tree = {key: values.tolist() for key, values in binning.tree.nodes.items()}
    cells = waiting = [0]
    while waiting and (binning.n_leaves is None or len(cells) < binning.n_leaves):
        node, *waiting = waiting
        if tree["left"][node] >= 0:
            children = [tree["left"][node], tree["right"][node]]
            cells = [each for each in cells if each != node] + children
            waiting = waiting + children
    columns = [row.p[-1] if name is ... else row.variables[name] for name in binning.variables]
    node = 0
    while node not in cells:
        below = columns[tree["feature"][node]] <= tree["threshold"][node]
        node = tree["left" if below else "right"][node]
    return node


def _merged(binning: MergedCells, names: list[Any], seen: Rows) -> list[Hashable]:
    """Close a cell as soon as it expects enough of every class and of its absence; what is left joins the last."""
    inner = _cut(binning.binning, names, seen)
    places: dict[Hashable, list[int]] = {}
    for i, name in enumerate(inner):
        places.setdefault(name, []).append(i)
    columns = [1] if len(seen.classes) == 2 else range(len(seen.classes))
    number, merged = 0, {}
    own: list[int] = []
    for name in sorted(places, key=lambda each: min(seen.rows[i].p[names[0]] for i in places[each])):
        merged[name] = number
        own += places[name]
        chances = [[seen.rows[i].p[k] for i in own] for k in columns]
        chances += [[1 - each for each in column] for column in chances]
        if min(_rows_in_effect(column, [seen.rows[i].weight for i in own]) for column in chances) >= binning.expected:
            number, own = number + 1, []
    return [min(merged[name], max(number - 1, 0)) for name in inner]


def _rows_in_effect(chances: list[float], weights: list[float]) -> float:
    """How many equally weighted rows that have the event would be as good as those that are expected (Kish 1965)."""
    squares = sum(w**2 * p for w, p in zip(weights, chances, strict=True))
    return sum(w * p for w, p in zip(weights, chances, strict=True)) ** 2 / squares if squares else 0.0


def _cross(factors: tuple[cs.Binning, ...], names: list[Any], seen: Rows) -> list[Hashable]:
    parts = []
    left = list(names)
    for position, factor in enumerate(factors):
        later = sum(other.columns or 0 for other in factors[position + 1 :])
        count = len(left) - later if factor.columns is None else factor.columns
        if len(names) == 1:
            parts.append(_cut(factor, names, seen))
        else:
            parts.append(_cut(factor, left[:count], seen))
            left = left[count:]
    return list(zip(*parts, strict=True))


def left_closed(value: float, edges: list[float]) -> int:
    """Cells [edge, next edge), the last one closed."""
    for cell in range(len(edges) - 2):
        if value < edges[cell + 1]:
            return cell
    return len(edges) - 2


def right_closed(value: float, edges: list[Any]) -> int:
    """Cells (edge, next edge], the first one closed."""
    for cell in range(len(edges) - 2):
        if value <= edges[cell + 1]:
            return cell
    return len(edges) - 2


def _equal_width(binning: cs.EqualWidth, points: Any, low: float, high: float, weights: Any) -> list[Hashable]:
    if low == high:
        return [0 for _ in points]
    edges = np.linspace(low, high, binning.n_bins + 1).tolist()  # defined by these very floats
    return [left_closed(point[0], edges) for point in points]


def _fixed_edges(binning: cs.FixedEdges, points: Any, low: float, high: float, weights: Any) -> list[Hashable]:
    placed = left_closed if binning.closed == "left" else right_closed
    return [placed(point[0], list(binning.edges)) for point in points]


def equal_mass_edges(values: list[float], n_bins: int, low: float, high: float) -> list[Any]:
    """Kumar et al. (2019): edges half-way between the groups of an array_split of the sorted values."""
    placed, n_groups = sorted(values), min(n_bins, len(values))
    quotient, remainder = divmod(len(values), n_groups)
    edges: set[Fraction] = set()
    start = 0
    for group in range(n_groups - 1):
        start += quotient + (1 if group < remainder else 0)
        edges.add((Fraction(placed[start - 1]) + Fraction(placed[start])) / 2)
    return [low, *sorted(edges), high]


def weighted_edges(values: list[float], weights: list[float], n_bins: int, low: float, high: float) -> list[Any]:
    """The midpoint of the lower and the upper weighted quantile at each level."""
    total = sum(map(Fraction, weights))
    edges: set[Fraction] = set()
    for i in range(1, n_bins):
        level = total * i / n_bins
        mass = {v: sum(Fraction(w) for x, w in zip(values, weights, strict=True) if x <= v) for v in set(values)}
        lower = min(v for v in mass if mass[v] >= level)
        upper = min(v for v in mass if mass[v] > level)
        edges.add((Fraction(lower) + Fraction(upper)) / 2)
    return [low, *sorted(edges), high]


def _equal_mass(binning: cs.EqualMass, points: Any, low: float, high: float, weights: Any) -> list[Hashable]:
    values = [point[0] for point in points]
    if weights is None:
        edges = equal_mass_edges(values, binning.n_bins, low, high)
    else:
        edges = weighted_edges(values, weights, binning.n_bins, low, high)
    return [right_closed(value, edges) for value in values]


def _quantiles(binning: cs.Quantiles, points: Any, low: float, high: float, weights: Any) -> list[Hashable]:
    """Interpolate between sorted values at (n - 1) i / n_bins; unclear where a value is near an edge."""
    if weights is not None:
        return _equal_mass(cs.EqualMass(binning.n_bins), points, low, high, weights)
    values = sorted(point[0] for point in points)
    edges: set[Fraction] = set()
    for i in range(1, binning.n_bins):
        place = Fraction((len(values) - 1) * i, binning.n_bins)
        below, above = (Fraction(values[round_(place)]) for round_ in (math.floor, math.ceil))
        edge = below + (place - math.floor(place)) * (above - below)
        tied = below == above and place.denominator > 1
        if not tied and any(abs(x - edge) < 1e-12 for x in values):
            raise UnclearError
        edges.add(edge)
    return [right_closed(point[0], [low, *sorted(edges), high]) for point in points]


def _simplex_grid(binning: cs.SimplexGrid, points: Any, low: float, high: float, weights: Any) -> list[Hashable]:
    return [
        tuple(max(1, min(math.ceil(binning.n_bins * (x - 1e-12)), binning.n_bins)) for x in point) for point in points
    ]


def _unique(binning: cs.UniqueValues, points: Any, low: float, high: float, weights: Any) -> list[Hashable]:
    """Pool a column's values that are as close as rounding, or the tolerance, to the smallest one of their group."""
    names = []
    for column in zip(*points, strict=True):
        placed, first = {}, None
        rounding = 4 * 2.0**-52 if len(points[0]) > 2 else 0.0
        for value in sorted(set(column)):
            if first is not None and abs(value - first - binning.tolerance) < 1e-15 < binning.tolerance:
                raise UnclearError
            if first is None or not same(first, value, max(rounding, binning.tolerance)):
                first = value
            placed[value] = first
        names.append([placed[value] for value in column])
    return list(zip(*names, strict=True))


def _variance_tree(binning: cs.VarianceTree, points: Any, low: float, high: float, weights: Any) -> list[Hashable]:
    found: list[Hashable] = [""] * len(points)
    _split(binning, points, list(range(len(points))), "", found)
    return found


def _split(binning: cs.VarianceTree, points: Any, node: list[int], path: str, found: list[Hashable]) -> None:
    below = (
        _lower_side(binning, [[Fraction(x) for x in points[i]] for i in node]) if len(node) >= binning.min_size else []
    )
    if min(len(below), len(node) - len(below)) < binning.min_samples_leaf:
        for i in node:
            found[i] = path
        return
    _split(binning, points, [node[i] for i in below], path + "0", found)
    _split(binning, points, [i for j, i in enumerate(node) if j not in below], path + "1", found)


def _lower_side(binning: cs.VarianceTree, points: list[list[Fraction]]) -> list[int]:
    """Positions strictly below the mean (or median) of the coordinate of largest variance, the first of equal ones."""
    n, variances = len(points), []
    for column in zip(*points, strict=True):
        mean = sum(column) / n
        variances.append(sum((x - mean) ** 2 for x in column) / n)
    axis = variances.index(max(variances))
    column = [point[axis] for point in points]
    for other, variance in enumerate(variances):
        if other != axis and variances[axis] - variance < 1e-12 and variances[axis] > 0:
            raise UnclearError
    placed = sorted(column)
    middle = sum(column) / n if binning.split == "mean" else (placed[(n - 1) // 2] + placed[n // 2]) / 2
    if any(abs(x - middle) < 1e-12 for x in column) and binning.split == "mean" and placed[0] != placed[-1]:
        raise UnclearError
    return [i for i, x in enumerate(column) if x < middle]


BINNINGS = {
    cs.EqualWidth: _equal_width,
    cs.EqualMass: _equal_mass,
    cs.FixedEdges: _fixed_edges,
    cs.Quantiles: _quantiles,
    cs.SimplexGrid: _simplex_grid,
    cs.VarianceTree: _variance_tree,
    cs.UniqueValues: _unique,
    cs.TreeLeaves: None,  # it reads variables by name
    cs.Categories: lambda binning, points, low, high, weights: [point[0] for point in points],
}
