"""Formulas of estimators of two outcomes in exact arithmetic: fractions, and roots and logarithms to eighty digits.

Rows are triples of the prediction, the outcome and the weight, as fractions. A formula returns `Value`s in the order of
the numbers of the estimator's evaluator. Nothing is rounded before a root or a logarithm is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from reference.binnings import equal_mass_edges, weighted_edges

Number: TypeAlias = Fraction | Decimal
Row: TypeAlias = tuple[Fraction, int, Fraction]
DIGITS = Context(prec=80, Emax=10**6, Emin=-(10**6))
TIE = Fraction(4, 2**52)
ROUNDING = Fraction(1, 10**12)
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Value:
    """An exact number, and the size of what is added up and subtracted for it."""

    exact: Number | float
    size: Number | float = 1


def decimal(value: Number | float) -> Decimal:
    if isinstance(value, Fraction):
        return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    return Decimal(value)


def root(value: Number) -> Decimal:
    return DIGITS.sqrt(decimal(value))


def log(value: Number) -> Decimal:
    return DIGITS.ln(decimal(value))


def divided(one: Number, other: Number) -> Decimal:
    return DIGITS.divide(decimal(one), decimal(other))


def total(rows: list[Row]) -> Fraction:
    return sum((w for _, _, w in rows), ZERO)


def residual(rows: list[Row]) -> Fraction:
    return sum((w * (y - p) for p, y, w in rows), ZERO)


def variance(rows: list[Row]) -> Fraction:
    """Of the sum of weighted outcomes, under calibration."""
    return sum((w * w * p * (1 - p) for p, _, w in rows), ZERO)


# Cells


Cut: TypeAlias = Callable[[list[Row]], list[list[Row]]]


def quarters(rows: list[Row]) -> list[list[Row]]:
    """[0, 1/4), [1/4, 1/2), [1/2, 3/4), [3/4, 1]; without those that have no weight."""
    cells: dict[int, list[Row]] = {}
    for row in rows:
        cells.setdefault(min(3, math.floor(row[0] * 4)), []).append(row)
    return [cell for _, cell in sorted(cells.items()) if total(cell) > 0]


def equal_mass(rows: list[Row], n_bins: int) -> list[list[Row]]:
    """(low, high], the first one closed; of equal weights groups of equally many rows."""
    values, weights = [float(p) for p, _, _ in rows], [w for _, _, w in rows]
    alike = len(set(weights)) == 1
    edges = equal_mass_edges(values, n_bins, 0, 1) if alike else weighted_edges(values, weights, n_bins, 0, 1)
    cells: dict[int, list[Row]] = {}
    for row in rows:
        cells.setdefault(sum(row[0] > edge for edge in edges[1:-1]), []).append(row)
    return [cell for _, cell in sorted(cells.items()) if total(cell) > 0]


def ties(rows: list[Row]) -> list[list[Row]]:
    """Rows whose predictions are one up to four units in the last place of the smallest of them."""
    found: list[list[Row]] = []
    for row in sorted(rows, key=lambda each: each[0]):
        if found and row[0] - found[-1][0][0] <= TIE * found[-1][0][0]:
            found[-1].append(row)
        else:
            found.append([row])
    return found


def gap(cell: list[Row]) -> Fraction:
    return residual(cell) / total(cell)


def mean_outcome(cell: list[Row]) -> Fraction:
    return sum((w * y for _, y, w in cell), ZERO) / total(cell)


def mean_prediction(cell: list[Row]) -> Fraction:
    return sum((w * p for p, _, w in cell), ZERO) / total(cell)


def powers_of_gaps(power: int) -> Callable[[list[Row]], list[Value]]:
    return lambda rows: [
        Value(sum((total(c) / total(rows) * abs(gap(c)) ** power for c in quarters(rows)), ZERO)),
    ]


def rms(rows: list[Row]) -> list[Value]:
    return [Value(root(powers_of_gaps(2)(rows)[0].exact))]


def largest_gap(rows: list[Row]) -> list[Value]:
    return [Value(max(abs(gap(c)) for c in quarters(rows)))]


def adaptive(rows: list[Row]) -> list[Value]:
    return [Value(sum((abs(residual(c)) for c in equal_mass(rows, 3)), ZERO) / total(rows))]


def twice(formula: Callable[[list[Row]], list[Value]]) -> Callable[[list[Row]], list[Value]]:
    """Both classes have the gap of the event."""
    return lambda rows: [Value(2 * each.exact) for each in formula(rows)]


def area_under_validity(rows: list[Row]) -> list[Value]:
    return [Value(1 - powers_of_gaps(1)(rows)[0].exact)]


def truthful(rows: list[Row]) -> list[Value]:
    return [Value(sum((residual(c) ** 2 for c in quarters(rows)), ZERO) / total(rows) ** 2)]


def pairs_of(cell: list[Row]) -> Fraction:
    """The weight of pairs of different rows; none where one row has all weight but a share of 1e-12 of its square."""
    pairs = total(cell) ** 2 - sum((w * w for _, _, w in cell), ZERO)
    return pairs if pairs > ROUNDING * total(cell) ** 2 else ZERO


def debiased(divisor: str) -> Callable[[list[Row]], list[Value]]:
    def formula(rows: list[Row]) -> list[Value]:
        value = size = ZERO
        for cell in quarters(rows):
            pairs = pairs_of(cell)
            if pairs:
                below = pairs if divisor == "pairs" else total(cell) ** 2
                squares = sum(((w * (y - p)) ** 2 for p, y, w in cell), ZERO)
                value += total(cell) / total(rows) * (residual(cell) ** 2 - squares) / below
                size += total(cell) / total(rows) * (residual(cell) ** 2 + squares) / below
        return [Value(value, size)]

    return formula


def debiased_by_spread(rows: list[Row]) -> list[Value]:
    value = size = ZERO
    for cell in quarters(rows):
        pairs = pairs_of(cell)
        if pairs:
            rate = mean_outcome(cell)
            spread = rate * (1 - rate) * sum((w * w for _, _, w in cell), ZERO) / pairs
            value += total(cell) / total(rows) * (gap(cell) ** 2 - spread)
            size += total(cell) / total(rows) * (gap(cell) ** 2 + total(cell) ** 2 / pairs)
    return [Value(value, size)]


def deviation_of_scores(rows: list[Row]) -> list[Value]:
    """PDE: of each score from the mean outcome of its cell."""
    off = ZERO
    for cell in quarters(rows):
        off += sum((w * abs(p - mean_outcome(cell)) for p, _, w in cell), ZERO)
    return [Value(off / total(rows))]


def in_units(square: Fraction, spread: Fraction) -> Number:
    if spread > 0:
        return square / spread
    return Decimal("inf") if square > 0 else ZERO


def pearson(rows: list[Row]) -> list[Value]:
    found: list[Number] = []
    for cell in quarters(rows):
        rate = mean_prediction(cell)
        off = in_units(gap(cell) ** 2, rate * (1 - rate))
        found.append(total(cell) / total(rows) * off if isinstance(off, Fraction) else off)
    return [Value(added(found))]


def added(numbers: list[Number]) -> Number:
    if any(isinstance(each, Decimal) for each in numbers):
        return Decimal("inf")
    return sum(numbers, ZERO)


def hosmer_lemeshow(rows: list[Row]) -> list[Value]:
    published, exact = [], []
    for cell in quarters(rows):
        rate = mean_prediction(cell)
        published.append(in_units(residual(cell) ** 2, sum(w * w for _, _, w in cell) * rate * (1 - rate)))
        exact.append(in_units(residual(cell) ** 2, variance(cell)))
    return [Value(added(published)), Value(added(exact))]


def standardized_of(cells: list[list[Row]], whole: Fraction) -> Value:
    value = size = spread = ZERO
    for cell in cells:
        if pairs := pairs_of(cell):
            squares = sum(((w * (y - p)) ** 2 for p, y, w in cell), ZERO)
            single = sum(((w * w * p * (1 - p)) ** 2 for p, _, w in cell), ZERO)
            factor = total(cell) / whole / pairs
            value += factor * (residual(cell) ** 2 - squares)
            size += factor * (residual(cell) ** 2 + squares)
            spread += 2 * factor**2 * (variance(cell) ** 2 - single)
    if spread == 0:
        return Value(value, size)
    return Value(divided(value, root(spread)), divided(size, root(spread)))


def standardized(rows: list[Row]) -> list[Value]:
    return [standardized_of(quarters(rows), total(rows))]


def multiscale(rows: list[Row]) -> list[Value]:
    found = [standardized_of(equal_mass(rows, m), total(rows)) for m in (1, 2)]  # up to a quarter of ten rows
    return [Value(max(decimal(each.exact) for each in found), max(decimal(each.size) for each in found))]


def brier_parts(rows: list[Row]) -> list[Value]:
    cells, rate = quarters(rows), mean_outcome(rows)
    score, uncertainty = brier_of(rows), rate * (1 - rate)
    sharpness = sum((total(c) / total(rows) * (mean_outcome(c) - rate) ** 2 for c in cells), ZERO)
    calibration = sum((total(c) / total(rows) * gap(c) ** 2 for c in cells), ZERO)
    rest = score - (uncertainty - sharpness + calibration)
    return [Value(each) for each in (score, uncertainty, sharpness, calibration, rest)]


def count_of_cells(rows: list[Row]) -> list[Value]:
    return [Value(1 / sum((total(c) / total(rows)) ** 2 for c in quarters(rows)))]


# Walks


def walk(rows: list[Row]) -> list[Fraction]:
    """Cumulated differences after all rows of each prediction, from zero."""
    heights = [ZERO]
    for block in ties(rows):
        heights.append(heights[-1] + residual(block) / total(rows))
    return heights


def kuiper(rows: list[Row]) -> list[Value]:
    return [Value(max(walk(rows)) - min(walk(rows)))]


def kolmogorov_smirnov(rows: list[Row]) -> list[Value]:
    return [Value(max(abs(each) for each in walk(rows)))]


def in_deviations(formula: Callable[[list[Row]], list[Value]]) -> Callable[[list[Row]], list[Value]]:
    """In standard deviations of the mean residual."""

    def standardized_formula(rows: list[Row]) -> list[Value]:
        value = formula(rows)[0].exact
        if variance(rows) == 0:
            return [Value(Decimal("inf") if value else ZERO)]
        unit = divided(root(variance(rows)), total(rows))
        return [Value(divided(value, unit), divided(ONE, unit))]

    return standardized_formula


def clock(rows: list[Row], power: int) -> list[tuple[Fraction, Fraction]]:
    """The share of the variance before the end of each tie, and after it; of the weight, without any variance."""
    spread = lambda some: sum((w**power * p * (1 - p) for p, _, w in some), ZERO)
    if spread(rows) == 0:
        spread = total
    before, found = ZERO, [(ZERO, ONE)]
    for block in ties(rows):
        before += spread(block) / spread(rows)
        found.append((before, 1 - before))
    return found


def cramer_von_mises(rows: list[Row]) -> list[Value]:
    steps = pairwise(zip(walk(rows), clock(rows, 1), strict=True))
    area = sum(((one**2 + other**2) / 2 * (end - start) for (one, (start, _)), (other, (end, _)) in steps), ZERO)
    return [Value(area)]


def anderson_darling(rows: list[Row]) -> list[Value]:
    heights, times = walk(rows), clock(rows, 1)
    value = decimal(heights[-1] ** 2)
    odds = [(a[0] + b[0]) / (a[1] + b[1]) if a[1] + b[1] else None for a, b in pairwise(times)]
    for k in range(1, len(times) - 1):
        if times[k][0] > 0 and times[k][1] > 0:
            off = heights[k] - times[k][0] * heights[-1]
            value = DIGITS.add(value, DIGITS.multiply(decimal(off**2), log(odds[k] / odds[k - 1])))
    return [Value(value)]


def mean_and_bridge(rows: list[Row]) -> list[Value]:
    heights = walk(rows)
    if all(p in (0, 1) for p, _, w in rows if w):
        return [Value(heights[-1]), Value(max(abs(each) for each in heights))]
    times = clock(rows, 1)
    off = [abs(height - time * heights[-1]) for height, (time, _) in zip(heights, times, strict=True)]
    return [Value(heights[-1]), Value(max(off))]


def average_two_bin(rows: list[Row]) -> list[Value]:
    places, heights = [ZERO, *[max(p for p, _, _ in block) for block in ties(rows)], ONE], walk(rows)
    area = ZERO
    for (left, right), below in zip(pairwise(places), heights, strict=True):
        area += (right - left) * (below**2 + (heights[-1] - below) ** 2)
    return [Value(area)]


def smooth(rows: list[Row]) -> list[Value]:
    """The dual of the linear programme: the shortest way from the walk's beginning to its end, near the walk.

    A path u is charged its total variation, and its distance from the walk times the distance of the predictions on
    both sides. Some best path has heights of the walk only, as in total variation denoising in one dimension.
    """
    heights, values = [ZERO], sorted({p for p, _, _ in rows})
    for value in values:
        heights.append(heights[-1] + residual([row for row in rows if row[0] == value]) / total(rows))
    cost = {height: abs(height) for height in set(heights)}
    for k, (left, right) in enumerate(pairwise(values), start=1):
        away = {u: cost[u] + (right - left) * abs(heights[k] - u) for u in cost}
        cost = {u: min(away[v] + abs(u - v) for v in away) for u in away}
    return [Value(cost[heights[-1]])]


# Scores, ranks and isotonic regression


def brier_of(rows: list[Row]) -> Fraction:
    return sum((w * (p - y) ** 2 for p, y, w in rows), ZERO) / total(rows)


def brier(rows: list[Row]) -> list[Value]:
    return [Value(brier_of(rows))]


def root_of_brier(rows: list[Row]) -> list[Value]:
    return [Value(root(brier_of(rows)))]


def log_score(clip: float) -> Callable[[list[Row]], list[Value]]:
    """Without a clip an impossible outcome costs infinitely much."""

    def formula(rows: list[Row]) -> list[Value]:
        value = Decimal(0)
        for p, y, w in rows:
            chance = max(p if y else 1 - p, Fraction(clip))
            if w and not chance:
                return [Value(Decimal("inf"))]
            if w:
                value = DIGITS.subtract(value, DIGITS.multiply(decimal(w / total(rows)), log(chance)))
        return [Value(value)]

    return formula


def spherical(rows: list[Row]) -> list[Value]:
    value = Decimal(0)
    for p, y, w in rows:
        chance = p if y else 1 - p
        value = DIGITS.subtract(value, divided(w / total(rows) * chance, root(p**2 + (1 - p) ** 2)))
    return [Value(value)]


def wrong(rows: list[Row]) -> list[Value]:
    return [Value(sum((w for p, y, w in rows if (2 * p >= 1) != y), ZERO) / total(rows))]


def orders(rows: list[Row]) -> list[tuple[int, int, Fraction]]:
    """All pairs of rows: the order of predictions, that of outcomes, the weight."""
    blocks = [(place, row) for place, block in enumerate(ties(rows)) for row in block]
    sign = lambda difference: (difference > 0) - (difference < 0)
    return [(sign(i - j), a[1] - b[1], a[2] * b[2]) for i, a in blocks for j, b in blocks]


def auc(rows: list[Row]) -> list[Value]:
    both = [(order, w) for order, y, w in orders(rows) if y == 1]
    won = sum((w * Fraction(order + 1, 2) for order, w in both), ZERO)
    return [Value(won / sum((w for _, w in both), ZERO))]


def kendall(reading: str) -> Callable[[list[Row]], list[Value]]:
    def agreement(order: int, y: int) -> int:
        if reading == "tau_a":
            return order * y
        return -1 if order * y < 0 or (reading == "strict" and order == 0 and y != 0) else 1

    return lambda rows: [Value(sum((agreement(o, y) * w for o, y, w in orders(rows)), ZERO) / total(rows) ** 2)]


def mean_calibration(rows: list[Row]) -> list[Value]:
    return [Value(residual(rows) / total(rows))]


def observed_to_expected(rows: list[Row]) -> list[Value]:
    return [Value(sum((w * y for _, y, w in rows), ZERO) / sum((w * p for p, _, w in rows), ZERO))]


def brier_excess(rows: list[Row]) -> list[Value]:
    return [Value(2 * sum((w * (y - p) * (1 - 2 * p) for p, y, w in rows), ZERO) / total(rows))]


def spiegelhalter(rows: list[Row]) -> list[Value]:
    terms = [w * (y - p) * (1 - 2 * p) for p, y, w in rows]
    spread = sum((w * w * (1 - 2 * p) ** 2 * p * (1 - p) for p, _, w in rows), ZERO)
    if not spread:
        return [Value(2 * sum(terms, ZERO) / total(rows))]
    return [Value(divided(sum(terms, ZERO), root(spread)), divided(sum(map(abs, terms), ZERO), root(spread)))]


def log_excess(rows: list[Row]) -> list[Value]:
    """With probabilities clipped to 1e-9 and 1 - 1e-9 in logarithms."""
    return [Value(divided(log_terms(rows)[0], total(rows)), divided(log_terms(rows)[1], total(rows)))]


def log_loss_z(rows: list[Row]) -> list[Value]:
    value, size, spread = log_terms(rows)
    below = root(spread) if spread else decimal(total(rows))
    return [Value(divided(value, below), divided(size, below))]


def log_terms(rows: list[Row]) -> tuple[Decimal, Decimal, Decimal]:
    value = size = spread = Decimal(0)
    least = Fraction(1e-9)
    with localcontext(DIGITS):
        for p, y, w in rows:
            # The score of label k less the mean is that of a binary outcome: (y - p) times the difference of both.
            step = log(min(max(1 - p, least), Fraction(1 - 1e-9))) - log(min(max(p, least), Fraction(1 - 1e-9)))
            value += decimal(w * (y - p)) * step
            size += abs(decimal(w * (y - p)) * step)
            spread += decimal(w * w * p * (1 - p)) * step**2
    return value, size, spread


def increasing(rows: list[Row]) -> list[tuple[list[Row], Fraction]]:
    """Isotonic regression by pooling adjacent violators."""
    pools: list[list[Row]] = []
    for block in ties(rows):
        if total(block) == 0:
            continue
        pools.append(block)
        while len(pools) > 1 and mean_outcome(pools[-2]) >= mean_outcome(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    return [(pool, mean_outcome(pool)) for pool in pools]


def corp(rows: list[Row]) -> list[Value]:
    best = sum((w * (q - y) ** 2 for pool, q in increasing(rows) for _, y, w in pool), ZERO) / total(rows)
    rate = mean_outcome(rows)
    return [
        Value(each) for each in (brier_of(rows), brier_of(rows) - best, rate * (1 - rate) - best, rate * (1 - rate))
    ]


# Kernels


def kernel_error(kind: str) -> Callable[[list[Row]], list[Value]]:
    """With exp(-10 |p - q|); residual vectors of both classes have twice the product of those of the event."""

    def formula(rows: list[Row]) -> list[Value]:
        value = size = Decimal(0)
        pairs = ZERO
        with localcontext(DIGITS):
            for i, (p, y, w) in enumerate(rows):
                for j, (q, z, v) in enumerate(rows):
                    if i != j or kind == "biased":
                        term = decimal(2 * w * v * (y - p) * (z - q)) * decimal(-10 * abs(p - q)).exp()
                        value, size, pairs = value + term, size + abs(term), pairs + w * v
        if pairs <= ROUNDING * total(rows) ** 2:
            return [Value(ZERO)]
        return [Value(divided(value, pairs), divided(size, pairs) + divided(total(rows) ** 2, pairs))]

    return formula


def root_of_kernel_error(rows: list[Row]) -> list[Value]:
    return [Value(root(kernel_error("biased")(rows)[0].exact))]
