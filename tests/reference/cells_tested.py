"""Naive estimators of cells that tests were made of: standardised errors, goodness of fit, sweeps."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

import calibstat as cs
from reference.cells import cells_of
from reference.rows import Rows, covariance, law, residual, residuals, ties, trace, unit
from reference.table import naive


@naive(cs.StandardizedL2)
def standardized(e: Any, seen: Rows) -> float:
    whole = sum(row.weight for row in seen.rows)
    total = variance = 0.0
    for c in cells_of(e.binning, seen).values():
        products = spread = 0.0
        for i, a in enumerate(c.rows):
            for j, b in enumerate(c.rows):
                if i != j:
                    w = a.weight * b.weight
                    products += w * sum(x * z for x, z in zip(c.own(residuals(a)), c.own(residuals(b)), strict=True))
                    v = trace(covariance(a), covariance(b))
                    spread += w * w * (v / 4 if len(a.p) == 2 else v)
        pairs = c.weight**2 - sum(row.weight**2 for row in c.rows)
        if pairs > 1e-12 * c.weight**2:
            below = pairs if e.denominator == "pairs" else c.weight**2
            total += c.weight / whole * products / below
            variance += 2 * (c.weight / whole / below) ** 2 * spread
    return total / (math.sqrt(variance) if variance > 0 else 1.0)


@naive(cs.MultiscaleL2)
def multiscale(e: cs.MultiscaleL2, seen: Rows) -> float:
    scales, n = [1], len(seen.rows)
    while 2 * scales[-1] <= n / 4:
        scales.append(2 * scales[-1])
    return max(standardized(cs.StandardizedL2(cs.EqualMass(m), e.denominator), seen) for m in scales)


def goodness(binning: cs.Binning, seen: Rows) -> tuple[float, float]:
    published = exact = 0.0
    for c in cells_of(binning, seen).values():
        square = (c.weight * c.gaps()[1]) ** 2
        rate = c.mean_p[1]
        published += in_units(square, sum(row.weight**2 for row in c.rows) * rate * (1 - rate))
        exact += in_units(square, sum(row.weight**2 * law(row)[1] * law(row)[0] for row in c.rows))
    return published, exact


def in_units(square: float, variance: float) -> float:
    if variance > 0:
        return square / variance
    return math.inf if square > 1e-20 else 0.0


@naive(cs.TCE)
def tce(e: cs.TCE, seen: Rows) -> float:
    """With a binning; PAVA-BC has tests of its own."""
    rejected = 0
    for c in cells_of(e.binning, seen).values():
        count = sum(row.y for row in c.rows)
        for row in c.rows:
            rejected += stats.binomtest(count, len(c.rows), law(row)[1]).pvalue <= e.level
    return 100 * rejected / len(seen.rows)


def blocks_of_pava(p: list[float], y: list[int], n_min: int, n_max: int) -> list[tuple[int, int]]:
    """PAVA-BC, word by word: pool the last two blocks for as long as the conditions hold; equal predictions are one."""
    runs = [[label for at, label in zip(p, y, strict=True) if at == value] for value in sorted(set(p))]
    tail: list[int] = []
    while runs and len(runs[-1]) + len(tail) <= n_min:
        tail = runs.pop() + tail
    blocks: list[list[int]] = []
    for run in runs:
        blocks.append(run)
        while len(blocks) > 1:
            size = len(blocks[-2]) + len(blocks[-1])
            violated = np.mean(blocks[-2]) >= np.mean(blocks[-1])
            if not (size <= n_min or (size <= n_max and violated)):
                break
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    if tail and blocks and 2 * n_min <= n_max:
        blocks[-1] = blocks[-1] + tail
    elif tail:
        blocks.append(tail)
    ends = np.cumsum([0] + [len(block) for block in blocks]).tolist()
    return list(pairwise(ends))


@naive(cs.HosmerLemeshow)
def hosmer_lemeshow(e: cs.HosmerLemeshow, seen: Rows) -> list[float]:
    return list(goodness(e.binning, seen))


@naive(cs.PigeonHeyse)
def pigeon_heyse(e: cs.PigeonHeyse, seen: Rows) -> float:
    return goodness(e.binning, seen)[1]


@naive(cs.ECESweep)
def sweep(e: cs.ECESweep, seen: Rows) -> Any:
    """The share of weight below a tie decides its cell, in exact arithmetic; or the place between both ends."""
    found = ties(seen)
    whole = sum(Fraction(row.weight) for row in seen.rows)
    below, so_far = [], Fraction(0)
    for _, rows in found:
        below.append(so_far / whole)
        so_far += sum(Fraction(row.weight) for row in rows)
    most = 400
    if e.strategy == "uniform":
        below, most = [unit(seen, value) for value, _ in found], len(found) + 1
    value = None
    for m in range(1, most):
        cells = {}
        for place, (_, rows) in zip(below, found, strict=True):
            cells.setdefault(min(math.floor(m * place), m - 1), []).extend(rows)
        cells = [rows for _, rows in sorted(cells.items()) if sum(row.weight for row in rows) > 0]
        mass = [sum(Fraction(row.weight) for row in rows) for rows in cells]
        means = [sum(Fraction(row.weight) * row.y for row in rows) / n for rows, n in zip(cells, mass, strict=True)]
        if any(b < a for a, b in pairwise(means)):
            return value
        gaps = [abs(residual(rows)) / float(n) for rows, n in zip(cells, mass, strict=True)]
        value = sum(float(n / whole) * gap**e.p for n, gap in zip(mass, gaps, strict=True)) ** (1 / e.p)
    return value
