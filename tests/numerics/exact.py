"""Formulas of estimators of two outcomes in exact arithmetic: fractions, and roots and logarithms to eighty digits.

Rows are triples of the prediction, the outcome and the weight, as fractions. A formula returns `Value`s in the order of
the numbers of the estimator's evaluator. Nothing is rounded before a root or a logarithm is taken, but for the integral
of smoothed residuals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
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


def ferro_fricker(rows: list[Row]) -> list[Value]:
    """The parts of the Brier score; cells of one row have no correction."""
    score, uncertainty, sharpness, calibration, _ = (Fraction(each.exact) for each in brier_parts(rows))
    inside = size = ZERO
    for cell in quarters(rows):
        rate = mean_outcome(cell)
        inside += total(cell) / total(rows) * rate * (1 - rate) * inverse_size(cell)
        size += total(cell) / total(rows) * (gap(cell) ** 2 + inverse_size(cell))
    whole = uncertainty * inverse_size(rows)
    parts = (uncertainty + whole, sharpness - inside + whole, calibration - inside)
    rest = score - (parts[0] - parts[1] + parts[2])
    size += 1 + inverse_size(rows)
    return [Value(each, size) for each in (score, *parts, rest)]


def inverse_size(cell: list[Row]) -> Fraction:
    """1 / (n - 1)."""
    pairs = pairs_of(cell)
    return sum((w * w for _, _, w in cell), ZERO) / pairs if pairs else ZERO


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


# Binomial tests of cells


def binomial_pvalue(count: int, n: int, chance: Fraction) -> Fraction:
    """The probability of counts that are no more likely, besides a share of 1e-7."""
    masses = [math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1)]
    return sum((mass for mass in masses if mass <= masses[count] * (1 + Fraction(1e-7))), ZERO)


def contradicted(cut: Cut, level: float) -> Callable[[list[Row]], list[Value]]:
    """TCE: per cent of rows whose prediction the events of their cell contradict."""

    def formula(rows: list[Row]) -> list[Value]:
        found = 0
        for cell in cut(rows):
            count = sum(y for _, y, _ in cell)
            found += sum(binomial_pvalue(count, len(cell), p) <= Fraction(level) for p, _, _ in cell)
        return [Value(Fraction(100 * found, len(rows)))]

    return formula


def pools_of_sizes(n_min: int, n_max: int) -> Cut:
    """PAVA-BC: pools of at least about `n_min` rows and at most `n_max`; the last `n_min` rows are one of their own.

    Ties are never parted, so that the last pool begins with the first of them that has at most `n_min` rows after it.
    """

    def cut(rows: list[Row]) -> list[list[Row]]:
        values = sorted({p for p, _, _ in rows})
        blocks = [[row for row in rows if row[0] == value] for value in values]
        last: list[Row] = []
        while blocks and len(last) + len(blocks[-1]) <= n_min:
            last = blocks.pop() + last
        pools: list[list[Row]] = []
        for block in blocks:
            pools.append(block)
            while len(pools) > 1:
                both = pools[-2] + pools[-1]
                wrong_order = mean_outcome(pools[-2]) >= mean_outcome(pools[-1])
                if not (len(both) <= n_min or (wrong_order and len(both) <= n_max)):
                    break
                pools[-2:] = [both]
        if last and pools and 2 * n_min <= n_max:
            last = pools.pop() + last
        return [*pools, last] if last else pools

    return cut


# Linear equations, and logistic regression on the logit


def solved(matrix: list[list[Decimal]], right: list[Decimal], context: Context = DIGITS) -> list[Decimal]:
    """Gauss's elimination."""
    rows, d = [[*row, last] for row, last in zip(matrix, right, strict=True)], len(right)
    with localcontext(context):
        for k in range(d):
            pivot = max(range(k, d), key=lambda i: abs(rows[i][k]))
            rows[k], rows[pivot] = rows[pivot], rows[k]
            for i in range(d):
                if i != k:
                    factor = rows[i][k] / rows[k][k]
                    rows[i] = [one - factor * other for one, other in zip(rows[i], rows[k], strict=True)]
        return [rows[k][d] / rows[k][k] for k in range(d)]


def logit(p: Fraction) -> Decimal:
    """Of the prediction clipped to 1e-9 and 1 - 1e-9."""
    clipped = min(max(p, Fraction(1e-9)), Fraction(1 - 1e-9))
    return log(clipped / (1 - clipped))


def impossible(rows: list[Row]) -> bool:
    return any(w and not (p if y else 1 - p) for p, y, w in rows)


def logit_score(degree: int) -> Callable[[list[Row]], list[Value]]:
    """Of polynomials in the distance from the smallest logit; a polynomial for each logit asks for each alone."""

    def formula(rows: list[Row]) -> list[Value]:
        if impossible(rows):
            return [Value(Decimal("inf"))]
        unsure = [(logit(p), w * (y - p), w * w * p * (1 - p)) for p, y, w in rows if w * w * p * (1 - p)]
        places = sorted({x for x, _, _ in unsure})
        d, value = degree + 1, Decimal(0)
        with localcontext(DIGITS):
            if len(places) <= d:
                for place in places:
                    here = [(off, spread) for x, off, spread in unsure if x == place]
                    value += decimal(sum(off for off, _ in here) ** 2 / sum(spread for _, spread in here))
                return [Value(value)]
            sums, information = [Decimal(0)] * d, [[Decimal(0)] * d for _ in range(d)]
            for x, off, spread in unsure:
                powers = [Decimal(1), *((x - places[0]) ** k for k in range(1, d))] if x > places[0] else [Decimal(1)]
                for i, one in enumerate(powers):
                    sums[i] += decimal(off) * one
                    for j, other in enumerate(powers):
                        information[i][j] += decimal(spread) * one * other
            return [Value(sum((u * z for u, z in zip(sums, solved(information, sums), strict=True)), Decimal(0)))]

    return formula


def cox(rows: list[Row]) -> list[Value]:
    """Intercept in the large, intercept and slope, each with its standard error; likelihood ratio and score."""
    counted = [(logit(p), y, decimal(w), decimal(w * w)) for p, y, w in rows if w]
    nan, certain = Value(Decimal("nan")), any(p in (0, 1) for p, _, w in rows if w)
    offset, free = [x for x, _, _, _ in counted], [Decimal(0)] * len(counted)
    events, others = ([x for x, y, _, _ in counted if y == label] for label in (1, 0))
    found = [nan] * 6
    with localcontext(DIGITS):
        if not certain and events and others:
            found[:2] = fitted(counted, offset, 1, [Decimal(0)])[0]
        if events and others and max(others) > min(events) and max(events) > min(others):
            both, best = fitted(counted, free, 2, [Decimal(0), Decimal(1)])
            found[2:] = found[2:] if certain else both
        else:
            best = separated(counted)
        as_predicted = log_likelihood(counted, offset)
        scale = 2 * sum(w for _, _, w, _ in counted) / sum(square for _, _, _, square in counted)
        gain = Value((best - as_predicted) * scale, (abs(best) + abs(as_predicted)) * scale)
    score = logit_score(1)(rows)
    return [*found, Value(Decimal("inf")) if impossible(rows) else gain, *score]


Counted: TypeAlias = tuple[Decimal, int, Decimal, Decimal]


def chance(linear: Decimal) -> Decimal:
    return 1 / (1 + (-linear).exp())


def log_likelihood(rows: list[Counted], linear: list[Decimal]) -> Decimal:
    return -sum((w * (1 + (at if y == 0 else -at).exp()).ln() for (_, y, w, _), at in zip(rows, linear, strict=True)))


def separated(rows: list[Counted]) -> Decimal:
    """The largest log-likelihood where no slope is best: the events are at one end, and one logit has both outcomes."""
    value = Decimal(0)
    for x in {x for x, _, _, _ in rows}:
        here = [sum((w for at, z, w, _ in rows if at == x and z == y), Decimal(0)) for y in (0, 1)]
        if all(here):
            value += sum(each * (each / sum(here)).ln() for each in here)
    return value


def fitted(rows: list[Counted], offset: list[Decimal], d: int, start: list[Decimal]) -> tuple[list[Value], Decimal]:
    """Coefficients with standard errors (of the sandwich, with variances at the fit), and the log-likelihood.

    By Newton's method to forty digits, with steps that are halved until no logit moves by more than five, and until
    they gain. Where a standard error is larger than the range of logits, there is no number.
    """
    beta, columns = start, [[Decimal(1), x][:d] for x, _, _, _ in rows]

    def linear(at: list[Decimal]) -> list[Decimal]:
        return [o + sum(b * c for b, c in zip(at, row, strict=True)) for o, row in zip(offset, columns, strict=True)]

    def products(masses: list[Decimal]) -> list[list[Decimal]]:
        pairs = [(m, row) for m, row in zip(masses, columns, strict=True)]
        return [[sum(m * row[i] * row[j] for m, row in pairs) for j in range(d)] for i in range(d)]

    for _ in range(500):
        chances = [chance(at) for at in linear(beta)]
        bread = products([w * q * (1 - q) for (_, _, w, _), q in zip(rows, chances, strict=True)])
        terms = [w * (y - q) for (_, y, w, _), q in zip(rows, chances, strict=True)]
        gradient = [sum(t * row[k] for t, row in zip(terms, columns, strict=True)) for k in range(d)]
        step, before = solved(bread, gradient), log_likelihood(rows, linear(beta))
        if sum(map(abs, step)) < Decimal("1e-40") * (1 + sum(map(abs, beta))):
            break
        while max(abs(sum(a * b for a, b in zip(step, row, strict=True))) for row in columns) > 5:
            step = [s / 2 for s in step]
        while log_likelihood(rows, linear([b + s for b, s in zip(beta, step, strict=True)])) < before:
            step = [s / 2 for s in step]
        beta = [b + s for b, s in zip(beta, step, strict=True)]
    meat = products([square * q * (1 - q) for (_, _, _, square), q in zip(rows, chances, strict=True)])
    errors = []
    for k in range(d):
        row = solved(bread, [Decimal(int(i == k)) for i in range(d)])
        errors.append(sum(row[i] * meat[i][j] * row[j] for i in range(d) for j in range(d)).sqrt())
    nan = Value(Decimal("nan"))
    if max(errors) > 2 * log(Fraction(10**9)):
        return [nan] * (2 * d), before
    # The maximum of a sum is known to a root of what rounding makes of it only where its slope is not used.
    return [Value(each, 1 + abs(each)) for pair in zip(beta, errors, strict=True) for each in pair], before


# Local regression


def half_width(distances: list[tuple[Fraction, Fraction]], span: Fraction) -> Fraction:
    """The distance within which the share of floor(n span) rows lies, by weight; wider where no row is nearer."""
    counted = sorted((off, w) for off, w in distances if w)
    n = len(counted)
    least = Fraction(min(max(math.floor(n * span), 1), n), n) * sum(w for _, w in counted) * (1 - Fraction(1e-9))
    width = next(off for off, _ in counted if sum(w for other, w in counted if other <= off) >= least)
    wider = Fraction(101, 100) if counted[0][0] >= Fraction(999, 1000) * width else ONE
    return width * wider * max(span, ONE)


def tricube(relative: Fraction) -> Decimal:
    """One within a thousandth of the half-width, and zero from 0.999 of it on, as in cloess."""
    if relative <= Fraction(1, 1000):
        return Decimal(1)
    return (1 - decimal(relative) ** 3) ** 3 if relative < Fraction(999, 1000) else Decimal(0)


def local_residual(x: Fraction, rows: list[Row], span: Fraction, degree: int) -> Value:
    """The value at x of the best polynomial of residuals; of the one with the least coefficients, if several are best.

    Distances of less than 1e-12 of the range are none. As the determinant of three weights may be 1e-1800 of others,
    there are more digits than eighty; fractions would have more still.
    """
    values, weights = [p for p, _, _ in rows], [w for _, _, w in rows if w]
    least = ROUNDING * (max(values) - min(values))
    rows = [(ZERO if abs(p - x) < least else p - x, w, w * (y - p)) for p, y, w in rows]
    width = max(half_width([(abs(off), w) for off, w, _ in rows], span), least)
    digits = DIGITS.copy()
    digits.prec += 3 * len(str(math.floor(max(weights) / min(weights))))
    in_full = lambda number: digits.divide(Decimal(number.numerator), Decimal(number.denominator))
    sums: dict[Decimal, list[Decimal]] = {}
    with localcontext(digits):
        for off, w, residuals in rows:
            relative = off / width if off else ZERO
            if w and (near := tricube(abs(relative))):
                here = sums.setdefault(decimal(relative), [Decimal(0)] * 3)
                for k, each in enumerate((w, residuals, abs(residuals))):
                    here[k] += near * in_full(each)
        powers = [[Decimal(1), u, u * u][: degree + 1] for u in sums]
        masses, residual_sums, sizes = zip(*sums.values(), strict=True)
        dot = lambda one, other: sum(a * b for a, b in zip(one, other, strict=True))
        if len(sums) <= degree:  # through the mean residuals, by a combination of their powers
            inner = [[dot(one, other) for other in powers] for one in powers]
            factors = solved(inner, [Decimal(1)] * len(sums), digits)
            shares = [c / m for c, m in zip(factors, masses, strict=True)]
            return Value(dot(shares, residual_sums), dot(map(abs, shares), sizes))
        columns, weighted = (
            zip(*powers, strict=True),
            [[m * a for a in row] for m, row in zip(masses, powers, strict=True)],
        )
        moments = [[dot(one, other) for other in zip(*weighted, strict=True)] for one in columns]
        first = solved(moments, [Decimal(1)] + [Decimal(0)] * degree, digits)
        shares = [dot(first, row) for row in powers]
        steps = [dot(map(abs, first), map(abs, row)) for row in powers]
        return Value(dot(shares, residual_sums), dot(steps, sizes))


def local_curve(span: Fraction, degree: int, n_points: int, trim: Fraction) -> Callable[[list[Row]], list[Value]]:
    """Between two quantiles of the predictions, at equal distances."""

    def formula(rows: list[Row]) -> list[Value]:
        values = sorted(p for p, _, w in rows if w)
        low, high = (quantile(values, level) for level in (trim, 1 - trim))
        points = [low + (high - low) * k / (n_points - 1) for k in range(n_points)]
        return [local_residual(x, rows, span, degree) for x in points]

    return formula


def quantile(values: list[Fraction], level: Fraction) -> Fraction:
    """Type 7 of Hyndman & Fan."""
    below, part = divmod(level * (len(values) - 1), 1)
    return values[int(below)] + part * (values[min(int(below) + 1, len(values) - 1)] - values[int(below)])


def indices(span: Fraction, degree: int) -> Callable[[list[Row]], list[Value]]:
    """ICI, E50, E90 and Emax; quantiles of as many rows as there are, each repeated in proportion to its weight."""

    def formula(rows: list[Row]) -> list[Value]:
        fits = {x: local_residual(x, rows, span, degree) for x in {p for p, _, _ in rows}}
        gaps = sorted((abs(Fraction(fits[p].exact)), w) for p, _, w in rows if w)
        size, n = max(each.size for each in fits.values()), len(rows)

        def ranked(rank: Fraction) -> Fraction:
            reached = ZERO
            for each, w in gaps:
                reached += n * w / total(rows)
                if reached > rank + Fraction(1e-9):
                    return each
            return gaps[-1][0]

        found = [sum((w * each for each, w in gaps), ZERO) / total(rows)]
        for level in (Fraction(1, 2), Fraction(9, 10)):
            below, part = divmod(level * (n - 1), 1)
            found.append((1 - part) * ranked(Fraction(below)) + part * ranked(Fraction(min(below + 1, n - 1))))
        return [Value(each, size) for each in (*found, gaps[-1][0])]

    return formula


# Densities


def bernoulli(n: int) -> list[Fraction]:
    """The numbers of Bernoulli B_0, ..., B_n."""
    found = [ONE]
    for m in range(1, n + 1):
        found.append(-sum((math.comb(m + 1, k) * each for k, each in enumerate(found)), ZERO) / (m + 1))
    return found


BERNOULLI = bernoulli(60)
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211707")


@lru_cache
def log_gamma(x: Fraction) -> Decimal:
    """By Stirling's series from fifty on, whose first thirty terms have sixty digits there."""
    with localcontext(DIGITS):
        product = ONE
        while x < 50:
            product, x = product * x, x + 1
        at = decimal(x)
        value = (at - Decimal("0.5")) * log(x) - at + (2 * PI).ln() / 2 - log(product)
        for k in range(1, 31):
            value += decimal(BERNOULLI[2 * k]) / (2 * k * (2 * k - 1) * at ** (2 * k - 1))
        return value


def kernel_density(bandwidth: float, p: int) -> Callable[[list[Row]], list[Value]]:
    """KDECE: with densities of Beta laws; a logarithm has no smaller number than the smallest normal double."""
    width, least = Fraction(bandwidth), Fraction(2) ** -1022

    def formula(rows: list[Row]) -> list[Value]:
        shapes = [((1 - q) / width, q / width) for q, _, _ in rows]
        with localcontext(DIGITS):
            constants = [log_gamma(a + b + 2) - log_gamma(a + 1) - log_gamma(b + 1) for a, b in shapes]
            value = Decimal(0)
            for i, (z, _, v) in enumerate(rows):
                one, other = log(max(1 - z, least)), log(max(z, least))
                mass = events = Decimal(0)
                for j, (_, y, w) in enumerate(rows):
                    if i != j and w:
                        a, b = map(decimal, shapes[j])
                        density = decimal(w) * (constants[j] + a * one + b * other).exp()
                        mass, events = mass + density, events + y * density
                if mass:
                    value += decimal(v) * abs(events / mass - decimal(z)) ** p
            return [Value(2 * value / decimal(total(rows)))]

    return formula


# Smoothing


def smoothed_error(rows: list[Row], bandwidth: float) -> float:
    """The integral of the absolute smoothed residuals, with kernels at all mirror images of the predictions.

    Between its sign changes it is a difference of normal laws. Doubles have more digits than a mesh.
    """
    sums = {x: float(sum((w * (y - p) for p, y, w in rows if p == x), ZERO) / total(rows)) for x, _, _ in rows}
    reach = math.ceil(5 * bandwidth) + 1
    images = [
        (sign * float(x) + 2 * m, r) for x, r in sums.items() for sign in (1, -1) for m in range(-reach, reach + 1)
    ]
    near = [(c, r) for c, r in images if -10 * bandwidth < c < 1 + 10 * bandwidth]

    def height(t: float) -> float:
        return sum(r * math.exp(-(((t - c) / bandwidth) ** 2) / 2) for c, r in near)

    places, nodes = [0.0], [k / 128 for k in range(129)]
    heights = [height(t) for t in nodes]
    for (left, right), (before, after) in zip(pairwise(nodes), pairwise(heights), strict=True):
        if (before < 0) != (after < 0):
            places.append(sign_change(height, left, right, before))
    areas = [sum(r * math.erf((t - c) / bandwidth / math.sqrt(2)) / 2 for c, r in near) for t in (*places, 1.0)]
    return sum(abs(after - before) for before, after in pairwise(areas))


def sign_change(height: Callable[[float], float], left: float, right: float, before: float) -> float:
    for _ in range(40):
        middle = (left + right) / 2
        left, right = (middle, right) if (height(middle) < 0) == (before < 0) else (left, middle)
    return (left + right) / 2


def smoothed_with(bandwidth: float) -> Callable[[list[Row]], list[Value]]:
    return lambda rows: [Value(smoothed_error(rows, bandwidth))]


def smoothed(rows: list[Row]) -> list[Value]:
    """The bandwidth that equals its error, by secants of logarithms, in which the error falls by one or more."""
    error = lambda at: math.log(smoothed_error(rows, math.exp(at))) - at
    (before, above), (place, height) = ((at, error(at)) for at in (-2.0, -1.5))
    while abs(height) > 1e-10:
        slope = min((height - above) / (place - before), -1.0)
        before, above, place = place, height, place - height / slope
        height = error(place)
    return [Value(math.exp(place))]
