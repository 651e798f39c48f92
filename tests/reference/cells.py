"""Naive estimators of cells."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import calibstat as cs
from reference.binnings import keys
from reference.rows import Row, Rows, keyed, total
from reference.scores import mean_loss
from reference.table import naive


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
    for key, row in zip(keys(binning, seen), seen.rows, strict=True):
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


def distance(measure: Any, gaps: list[float]) -> float:
    if isinstance(measure, cs.TotalVariation):
        return sum(abs(g) for g in gaps) / 2
    if isinstance(measure, cs.SquaredEuclidean):
        return sum(g * g for g in gaps)
    if measure.p == math.inf:
        return max(abs(g) for g in gaps)
    return sum(abs(g) ** measure.p for g in gaps) ** (1 / measure.p)


def event_gaps(gaps: list[float]) -> list[float]:
    """For two classes, write the gap of the event out for both, so that rows off one make no difference."""
    return [-gaps[1], gaps[1]] if len(gaps) == 2 else gaps


@naive(cs.ExpectedMiscalibration)
def expected(e: cs.ExpectedMiscalibration, seen: Rows) -> float:
    return sum(c.share * distance(e.distance, event_gaps(c.gaps())) for c in cells_of(e.binning, seen).values())


@naive(cs.MaximumMiscalibration)
def maximum(e: cs.MaximumMiscalibration, seen: Rows) -> float:
    return max(distance(e.distance, event_gaps(c.gaps())) for c in cells_of(e.binning, seen).values())


@naive(cs.ECE)
def ece(e: cs.ECE, seen: Rows) -> float:
    found = cells_of(e.binning, seen).values()
    if e.p == 1:
        return sum(c.share * sum(abs(g) for g in event_gaps(c.gaps())) / 2 for c in found)
    if e.p == math.inf:
        return max(abs(g) for c in found for g in c.own(c.gaps()))
    return sum(c.share * sum(abs(g) ** e.p for g in c.own(c.gaps())) for c in found) ** (1 / e.p)


@naive(cs.SquaredCE)
def squared(e: Any, seen: Rows) -> float:
    found = cells_of(e.binning, seen).values()
    return sum(c.share * sum(g * g for g in c.own(c.gaps())) for c in found)


@naive(cs.TruthfulCE)
def truthful(e: cs.TruthfulCE, seen: Rows) -> float:
    """Sums of residuals, cell by cell and class by class."""
    value = 0.0
    for c in cells_of(e.binning, seen).values():
        sums = [sum(row.weight * ((row.y == k) - row.p[k]) for row in c.rows) for k in range(len(seen.classes))]
        value += sum(one * one for one in c.own(sums)) / total(seen) ** 2
    return value


@naive(cs.DebiasedCE)
def debiased_ce(e: cs.DebiasedCE, seen: Rows) -> float:
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
    return rooted(e, total)


@naive(cs.DebiasedL2)
def debiased_l2(e: cs.DebiasedL2, seen: Rows) -> float:
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
            total += c.share * products / (pairs if e.denominator == "pairs" else c.weight**2)
    return rooted(e, total)


def rooted(e: Any, value: float) -> float:
    """The signed root, where it is asked for."""
    return math.copysign(math.sqrt(abs(value)), value) if e.root else value


@naive(cs.PDE)
def pde(e: cs.PDE, seen: Rows) -> float:
    total = 0.0
    for c in cells_of(e.binning, seen).values():
        power = e.p if e.placement == "row" else 1
        inside = 0.0
        for row in c.rows:
            gaps = [abs(p - y) for p, y in zip(row.p, c.mean_y, strict=True)]
            inside += row.weight * (gaps[1] if len(gaps) == 2 else sum(gaps) / 2) ** power / c.weight
        total += c.share * inside ** (e.p / power)
    return total ** (1 / e.p)


@naive(cs.HistogramRegression)
def histogram(e: cs.HistogramRegression, seen: Rows) -> list[tuple[float, list[float]]]:
    """The weight and the deviations of each cell that has any, sorted."""
    return sorted((c.weight, event_gaps(c.gaps())) for c in cells_of(e.binning, seen).values())


@naive(cs.LpCE)
def lp(e: cs.LpCE, seen: Rows) -> float:
    found = cells_of(e.binning, seen).values()
    gaps = [(c.share, [-c.gaps()[1], c.gaps()[1]] if len(c.mean_p) == 2 else c.gaps()) for c in found]
    return sum(share * sum(abs(g) ** e.p for g in gap) for share, gap in gaps)


@naive(cs.PearsonCE)
def pearson(e: cs.PearsonCE, seen: Rows) -> float:
    total = 0.0
    for c in cells_of(e.binning, seen).values():
        expected = [1 - c.mean_p[1], c.mean_p[1]] if len(c.mean_p) == 2 else c.mean_p
        gaps = [-c.gaps()[1], c.gaps()[1]] if len(c.mean_p) == 2 else c.gaps()
        for gap, rate in zip(gaps, expected, strict=True):
            impossible = math.inf if abs(gap) > 1e-10 else 0.0
            total += c.share * (gap * gap / rate if rate > 0 else impossible)
    return total


@naive(cs.BrierDecomposition, cs.FerroFricker)
def brier_parts(e: Any, seen: Rows) -> list[float]:
    cells, whole = list(cells_of(e.binning, seen).values()), total(seen)
    k = range(1, 2) if len(seen.classes) == 2 else range(len(seen.classes))
    mean = [sum(row.weight for row in seen.rows if row.y == j) / whole for j in range(len(seen.classes))]
    uncertainty = sum(mean[j] * (1 - mean[j]) for j in k)
    sharpness = sum(c.share * sum((c.mean_y[j] - mean[j]) ** 2 for j in k) for c in cells)
    calibration = sum(c.share * sum((c.mean_y[j] - c.mean_p[j]) ** 2 for j in k) for c in cells)
    if isinstance(e, cs.FerroFricker):
        inside = sum(c.share * sum(c.mean_y[j] * (1 - c.mean_y[j]) for j in k) * less_one(c.rows) for c in cells)
        more = uncertainty * less_one(seen.rows)
        uncertainty, sharpness, calibration = uncertainty + more, sharpness - inside + more, calibration - inside
    score = mean_loss(cs.BrierScore(), seen)
    return [score, uncertainty, sharpness, calibration, score - (uncertainty - sharpness + calibration)]


def less_one(rows: list[Row]) -> float:
    """1 / (n - 1), with weights: over pairs of different rows."""
    heavy = [row.weight for row in rows if row.weight > 0]
    pairs = sum(a * b for i, a in enumerate(heavy) for j, b in enumerate(heavy) if i != j)
    return sum(w * w for w in heavy) / pairs if pairs else 0.0


@naive(cs.AUCV)
def area(e: cs.AUCV, seen: Rows) -> float:
    return 1 - sum(c.share * sum(map(abs, event_gaps(c.gaps()))) / 2 for c in cells_of(e.binning, seen).values())


@naive(cs.ProbabilisticCount)
def count(e: cs.ProbabilisticCount, seen: Rows) -> float:
    return 1 / sum(c.share**2 for c in cells_of(e.binning, seen).values())


@naive(cs.NeighborAUCV)
def neighbour_area(e: cs.NeighborAUCV, seen: Rows) -> float:
    """The nearest rows, and all that tie with the last of them; without weight they expect nothing."""
    rows = keyed(seen)
    lost = 0.0
    for i, (value, row) in enumerate(rows):
        others = [other for j, other in enumerate(rows) if e.include_self or j != i]
        near = sorted(abs(there - value) for there, _ in others)[: e.n_neighbors]
        taken = [other for there, other in others if abs(there - value) <= max(near) + 1e-12]
        mass = sum(other.weight for other in taken)
        mean = sum(other.weight * other.y for other in taken) / mass if mass > 0 else 0.0
        lost += row.weight * abs(mean - row.p[1])
    return 1 - lost / total(seen)
