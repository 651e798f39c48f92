"""Naive references: lenses, binnings and estimators transcribed from their formulas, with plain loops.

Slow, and written without looking at how the package does it; nothing here is vectorised.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

import calibstat as cs
from calibstat.estimators.headline import Headline
from calibstat.nulls.merging import MergedCells


@dataclass(frozen=True)
class Row:
    """One row of a sample."""

    p: tuple[float, ...]
    y: int
    weight: float
    variables: dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """A sample as a list of rows."""

    rows: list[Row]
    classes: tuple[Hashable, ...]
    given: tuple[Any, ...] = (...,)
    weighted: bool = False


def rows_of(sample: cs.Sample) -> Rows:
    """Write a sample out row by row; levels of categories stay numbers, in the order of their names."""
    seen = sample.predictions
    values = {name: variable.values.tolist() for name, variable in seen.variables.items()}
    rows = [
        Row(
            tuple(seen.probabilities[i].tolist()),
            int(sample.outcomes[i]),
            1.0 if seen.weights is None else float(seen.weights[i]),
            {name: column[i] for name, column in values.items()},
        )
        for i in range(len(sample))
    ]
    return Rows(rows, seen.classes, seen.given, seen.weights is not None)


# Lenses


def look(lens: cs.Lens, seen: Rows) -> Rows:
    """Look through each lens of a chain in turn."""
    for part in lens.parts:
        seen = _LENSES[type(part)](part, seen)
    return seen


def _grouped(seen: Rows, groups: list[list[int]], names: tuple[Hashable, ...]) -> Rows:
    """Add up the probabilities of each group of columns, the same for all rows."""
    rows = []
    for row in seen.rows:
        p = tuple(sum(row.p[k] for k in group) for group in groups)
        y = next(code for code, group in enumerate(groups) if row.y in group)
        rows.append(replace(row, p=p, y=y))
    return replace(seen, rows=rows, classes=names)


def _class_wise(lens: cs.ClassWise, seen: Rows) -> Rows:
    groups: list[list[int]] = [[], []]
    for k, label in enumerate(seen.classes):
        groups[1 if label == lens.label else 0].append(k)
    return _grouped(seen, groups, (f"not {lens.label}", lens.label))


def _partition(lens: cs.Partition, seen: Rows) -> Rows:
    groups = [[k for k, label in enumerate(seen.classes) if label in group] for group in lens.groups]
    names = tuple(group[0] if len(group) == 1 else group for group in lens.groups)
    return _grouped(seen, groups, names)


def _top(k: int, seen: Rows) -> Rows:
    rows = []
    for row in seen.rows:
        ranked: list[int] = []
        while len(ranked) < k:
            rest = [column for column in range(len(row.p)) if column not in ranked]
            best = rest[0]
            for column in rest:
                if row.p[column] > row.p[best]:
                    best = column
            ranked.append(best)
        others = sum(row.p[column] for column in range(len(row.p)) if column not in ranked)
        y = ranked.index(row.y) + 1 if row.y in ranked else 0
        rows.append(replace(row, p=(others, *(row.p[column] for column in ranked)), y=y))
    names = ("other", "top") if k == 1 else ("other", *(f"top {j}" for j in range(1, k + 1)))
    return replace(seen, rows=rows, classes=names)


def _between(lens: cs.Region, seen: Rows) -> Rows:
    inside, rows = lens.predicate, []
    for row in seen.rows:
        known = inside.column in row.variables
        value = row.variables[inside.column] if known else row.p[seen.classes.index(inside.column)]
        if inside.low <= value <= inside.high:
            rows.append(row)
    return replace(seen, rows=rows)


_LENSES = {
    cs.ClassWise: _class_wise,
    cs.Partition: _partition,
    cs.TopLabel: lambda lens, seen: _top(1, seen),
    cs.TopK: lambda lens, seen: _top(lens.k, seen),
    cs.Given: lambda lens, seen: replace(seen, given=lens.names),
    cs.Region: _between,
}


# Binnings: the key of each row's cell. Rows with the same key share a cell.


def cells(binning: cs.Binning, seen: Rows) -> list[Hashable]:
    """Cut by any binning."""
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
    points = [
        tuple(row.variables[name] if isinstance(name, str) else row.p[name] for name in names) for row in seen.rows
    ]
    low, high = 0.0, 1.0
    if len(names) == 1 and isinstance(names[0], str):
        low, high = min(point[0] for point in points), max(point[0] for point in points)
    weights = [row.weight for row in seen.rows] if seen.weighted else None
    return _BINNINGS[type(binning)](binning, points, low, high, weights)


def _merged(binning: MergedCells, names: list[Any], seen: Rows) -> list[Hashable]:
    """Close a cell as soon as it expects enough of every class and of its absence; what is left joins the last."""
    inner = _cut(binning.binning, names, seen)
    places: dict[Hashable, list[int]] = {}
    for i, name in enumerate(inner):
        places.setdefault(name, []).append(i)
    columns = [1] if len(seen.classes) == 2 else range(len(seen.classes))
    number, merged = 0, {}
    hopes = [0.0] * (2 * len(columns))
    for name in sorted(places, key=lambda each: min(seen.rows[i].p[names[0]] for i in places[each])):
        merged[name] = number
        for at, k in enumerate(columns):
            hopes[2 * at] += sum(seen.rows[i].p[k] for i in places[name])
            hopes[2 * at + 1] += sum(1 - seen.rows[i].p[k] for i in places[name])
        if min(hopes) >= binning.expected:
            number, hopes = number + 1, [0.0] * len(hopes)
    return [min(merged[name], max(number - 1, 0)) for name in inner]


def _cross(factors: tuple[cs.Binning, ...], names: list[Any], seen: Rows) -> list[Hashable]:
    parts = []
    left = list(names)
    for position, factor in enumerate(factors):
        later = sum(1 for other in factors[position + 1 :] if other.columns == 1)
        count = len(left) - later if factor.columns is None else 1
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
    return [left_closed(point[0], list(binning.edges)) for point in points]


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


def _simplex_grid(binning: cs.SimplexGrid, points: Any, low: float, high: float, weights: Any) -> list[Hashable]:
    return [
        tuple(max(1, min(math.ceil(binning.n_bins * (x - 1e-12)), binning.n_bins)) for x in point) for point in points
    ]


def _unique(binning: cs.UniqueValues, points: Any, low: float, high: float, weights: Any) -> list[Hashable]:
    """Pool a column's values wherever the gap between neighbours is within the tolerance."""
    names = []
    for column in zip(*points, strict=True):
        placed, group, last = {}, 0, None
        for value in sorted(set(column)):
            if last is not None and value - last > binning.tolerance:
                group += 1
            placed[value] = group
            last = value
        names.append([placed[value] for value in column])
    return list(zip(*names, strict=True))


class UnclearError(Exception):
    """A split that rounding decides."""


def _variance_tree(binning: cs.VarianceTree, points: Any, low: float, high: float, weights: Any) -> list[Hashable]:
    keys: list[Hashable] = [""] * len(points)
    _split(binning, points, list(range(len(points))), "", keys)
    return keys


def _split(binning: cs.VarianceTree, points: Any, node: list[int], path: str, keys: list[Hashable]) -> None:
    below = (
        _lower_side(binning, [[Fraction(x) for x in points[i]] for i in node]) if len(node) >= binning.min_size else []
    )
    if len(below) in (0, len(node)):
        for i in node:
            keys[i] = path
        return
    _split(binning, points, [node[i] for i in below], path + "0", keys)
    _split(binning, points, [i for j, i in enumerate(node) if j not in below], path + "1", keys)


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


_BINNINGS = {
    cs.EqualWidth: _equal_width,
    cs.EqualMass: _equal_mass,
    cs.FixedEdges: _fixed_edges,
    cs.SimplexGrid: _simplex_grid,
    cs.VarianceTree: _variance_tree,
    cs.UniqueValues: _unique,
    cs.Categories: lambda binning, points, low, high, weights: [point[0] for point in points],
}


# Estimators


def value(estimator: cs.Estimator, sample: cs.Sample) -> Any:
    """Evaluate any estimator."""
    seen = look(estimator.lens, rows_of(sample))
    return _ESTIMATORS[type(estimator.core)](estimator.core, seen)


@dataclass(frozen=True)
class Cell:
    """Rows that share a cell, with their weighted means over all classes."""

    rows: list[Row]
    weight: float
    share: float
    mean_p: list[float]
    mean_y: list[float]

    def gaps(self) -> list[float]:
        """Mean outcome minus mean prediction, of every class."""
        return [y - p for y, p in zip(self.mean_y, self.mean_p, strict=True)]

    def own(self, vector: list[float]) -> list[float]:
        """The event alone for two classes, else everything."""
        return vector[1:] if len(vector) == 2 else vector


def cells_of(binning: cs.Binning, seen: Rows) -> dict[Hashable, Cell]:
    """Collect the rows of each cell that has any weight."""
    found: dict[Hashable, list[Row]] = {}
    for key, row in zip(cells(binning, seen), seen.rows, strict=True):
        found.setdefault(key, []).append(row)
    total = sum(row.weight for row in seen.rows)
    result = {}
    for key, rows in found.items():
        weight = sum(row.weight for row in rows)
        if weight > 0:
            k = range(len(seen.classes))
            mean_p = [sum(row.weight * row.p[j] for row in rows) / weight for j in k]
            mean_y = [sum(row.weight for row in rows if row.y == j) / weight for j in k]
            result[key] = Cell(rows, weight, weight / total, mean_p, mean_y)
    return result


def _distance(distance: Any, gaps: list[float]) -> float:
    if isinstance(distance, cs.TotalVariation):
        return sum(abs(g) for g in gaps) / 2
    if isinstance(distance, cs.SquaredEuclidean):
        return sum(g * g for g in gaps)
    if distance.p == math.inf:
        return max(abs(g) for g in gaps)
    return sum(abs(g) ** distance.p for g in gaps) ** (1 / distance.p)


def _event_gaps(gaps: list[float]) -> list[float]:
    """For two classes, write the gap of the event out for both, so that rows off one make no difference."""
    return [-gaps[1], gaps[1]] if len(gaps) == 2 else gaps


def _expected(e: cs.ExpectedMiscalibration, seen: Rows) -> float:
    return sum(c.share * _distance(e.distance, _event_gaps(c.gaps())) for c in cells_of(e.binning, seen).values())


def _maximum(e: cs.MaximumMiscalibration, seen: Rows) -> float:
    return max(_distance(e.distance, _event_gaps(c.gaps())) for c in cells_of(e.binning, seen).values())


def _ece(e: cs.ECE, seen: Rows) -> float:
    found = cells_of(e.binning, seen).values()
    return sum(c.share * sum(abs(g) for g in _event_gaps(c.gaps())) / 2 for c in found)


def _squared(e: Any, seen: Rows) -> float:
    found = cells_of(e.binning, seen).values()
    return sum(c.share * sum(g * g for g in c.own(c.gaps())) for c in found)


def _debiased_ce(e: cs.DebiasedCE, seen: Rows) -> float:
    total = 0.0
    for c in cells_of(e.binning, seen).values():
        square = sum(g * g for g in c.own(c.gaps()))
        heavy = [row.weight for row in c.rows if row.weight > 0]
        if len(heavy) == 1:
            total += c.share * (square if e.single_rows == "plugin" else 0.0)
        else:
            pairs = sum(a * b for i, a in enumerate(heavy) for j, b in enumerate(heavy) if i != j)
            spread = sum(y * (1 - y) for y in c.own(c.mean_y))
            total += c.share * (square - spread * sum(w * w for w in heavy) / pairs)
    return total


def _debiased_l2(e: cs.DebiasedL2, seen: Rows) -> float:
    total = 0.0
    for c in cells_of(e.binning, seen).values():
        products = pairs = 0.0
        for i, a in enumerate(c.rows):
            for j, b in enumerate(c.rows):
                if i != j:
                    first = c.own([(a.y == k) - p for k, p in enumerate(a.p)])
                    second = c.own([(b.y == k) - p for k, p in enumerate(b.p)])
                    products += a.weight * b.weight * sum(x * z for x, z in zip(first, second, strict=True))
                    pairs += a.weight * b.weight
        if pairs > 0:
            total += c.share * products / pairs
    return total


def _pde(e: cs.PDE, seen: Rows) -> float:
    total = 0.0
    for c in cells_of(e.binning, seen).values():
        power = e.p if e.placement == "row" else 1
        inside = 0.0
        for row in c.rows:
            gaps = [abs(p - y) for p, y in zip(row.p, c.mean_y, strict=True)]
            inside += row.weight * (gaps[1] if len(gaps) == 2 else sum(gaps) / 2) ** power / c.weight
        total += c.share * inside ** (e.p / power)
    return total ** (1 / e.p)


def _histogram(e: cs.HistogramRegression, seen: Rows) -> list[tuple[float, list[float]]]:
    """The weight and the deviations of each cell that has any, sorted."""
    return sorted((c.weight, _event_gaps(c.gaps())) for c in cells_of(e.binning, seen).values())


def _gap(e: cs.Generic, seen: Rows) -> float:
    total = sum(row.weight for row in seen.rows)
    return abs(sum(row.weight * (row.y - row.p[-1]) for row in seen.rows) / total)


_ESTIMATORS = {
    cs.ExpectedMiscalibration: _expected,
    cs.MaximumMiscalibration: _maximum,
    cs.ECE: _ece,
    cs.SquaredCE: _squared,
    cs.RMSCE: lambda e, seen: math.sqrt(_squared(e, seen)),
    cs.DebiasedCE: _debiased_ce,
    cs.DebiasedL2: _debiased_l2,
    cs.PDE: _pde,
    cs.HistogramRegression: _histogram,
    cs.Generic: _gap,
    Headline: lambda e, seen: _ESTIMATORS[type(e.inner)](e.inner, seen),
}
