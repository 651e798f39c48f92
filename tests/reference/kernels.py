"""Naive kernel estimators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import calibstat as cs
from reference.rows import Rows, covariance, law, residuals, trace
from reference.table import naive


def rows_of_features(seen: Rows) -> list[list[float]]:
    """The conditioned columns; a variable beside others in units of its standard deviation."""
    found: list[list[float]] = [[] for _ in seen.rows]
    for name in seen.given:
        for features, row in zip(found, seen.rows, strict=True):
            if name is ...:
                features += [1 - row.p[1], row.p[1]] if len(row.p) == 2 else list(row.p)
            elif name == "sex":
                levels = sorted({r.variables["sex"] for r in seen.rows})
                features += [float(row.variables["sex"] == level) for level in levels]
            else:
                everyone = [r.variables[name] for r in seen.rows]
                unit = (np.std(everyone) or 1.0) if len(seen.given) > 1 else 1.0
                features += [-row.variables[name] / unit, row.variables[name] / unit]
    return found


def distance(kernel: Any, a: list[float], b: list[float]) -> float:
    if isinstance(kernel, cs.LaplaceKernel):
        return sum(abs(x - z) for x, z in zip(a, b, strict=True)) / 2
    return math.sqrt(sum((x - z) ** 2 for x, z in zip(a, b, strict=True)))


def profile(kernel: Any, ratio: float) -> float:
    return math.exp(-ratio) if isinstance(kernel, cs.LaplaceKernel) else math.exp(-(ratio**2) / 2)


def bandwidths(e: cs.SKCE, x: list[list[float]]) -> list[float]:
    if isinstance(e.bandwidth, tuple):
        return list(e.bandwidth)
    return [bandwidth_of(e, x) * multiple for multiple in e.multiples or (1.0,)]


def bandwidth_of(e: Any, x: list[list[float]]) -> float:
    one = e.bandwidth
    if one == "median":
        gaps = [distance(e.kernel, x[i], x[j]) for i in range(len(x)) for j in range(i)]
        one = float(np.median(gaps)) if gaps else 0.0
        if one == 0:
            positive = [gap for gap in gaps if gap > 0]
            one = float(np.median(positive)) if positive else 1.0
    return one


@naive(cs.SKCE)
def skce(e: cs.SKCE, seen: Rows) -> Any:
    x = rows_of_features(seen)
    found = [skce_at(e, seen, x, bandwidth) for bandwidth in bandwidths(e, x)]
    return np.array(found) if e.several else found[0][0]


def skce_at(e: cs.SKCE, seen: Rows, x: list[list[float]], bandwidth: float) -> tuple[float, float]:
    """The error and its standardised version."""
    n = len(seen.rows)
    size = min(e.block_size, n) if e.kind == "block" else n
    w = [row.weight for row in seen.rows]
    errors, covariances = [residuals(row) for row in seen.rows], [covariance(row) for row in seen.rows]
    total = pairs = variance = mean = 0.0
    for i in range(n // size * size):
        for j in range(n // size * size):
            if i // size != j // size or (i == j and e.kind != "biased"):
                continue
            k = profile(e.kernel, distance(e.kernel, x[i], x[j]) / bandwidth)
            total += w[i] * w[j] * k * sum(a * b for a, b in zip(errors[i], errors[j], strict=True))
            pairs += w[i] * w[j]
            if i != j:
                variance += 2 * (w[i] * w[j] * k) ** 2 * trace(covariances[i], covariances[j])
            else:
                chances = law(seen.rows[i])
                norms = [sum(((k == m) - p) ** 2 for m, p in enumerate(chances)) for k in range(len(chances))]
                expected = sum(p * z for p, z in zip(chances, norms, strict=True))
                mean += w[i] ** 2 * expected
                variance += w[i] ** 4 * sum(p * (z - expected) ** 2 for p, z in zip(chances, norms, strict=True))
    if pairs <= 1e-12 * sum(w) ** 2:
        return 0.0, 0.0
    deviation = math.sqrt(variance) / pairs
    return total / pairs, (total - mean) / pairs / (deviation if deviation > 0 else 1.0)


def near_locations(e: Any, seen: Rows) -> tuple[list[list[float]], list[int]]:
    """The kernel between each location and each row, and the class of each location."""
    x, line = rows_of_features(seen), seen.given != (...,) or len(seen.rows[0].p) == 2
    if isinstance(e.locations, int):
        upwards = sorted(x, key=lambda row: row[::-1])
        points = [upwards[int((j + 0.5) / e.locations * len(x))] for j in range(e.locations)]
    elif line:
        points = [[1 - point[0] if seen.given == (...,) else -point[0], point[0]] for point in e.locations]
    else:
        points = [list(point) for point in e.locations]
    width = bandwidth_of(e, x)
    near = [[profile(e.kernel, distance(e.kernel, point, row) / width) for row in x] for point in points]
    codes = [
        j % len(seen.classes) if e.targets is None else seen.classes.index(e.targets[j]) for j in range(len(points))
    ]
    return near, codes


@naive(cs.UCME)
def ucme(e: cs.UCME, seen: Rows) -> float:
    near, codes = near_locations(e, seen)
    value = 0.0
    for values, code in zip(near, codes, strict=True):
        terms = [row.weight * k * residuals(row)[code] for k, row in zip(values, seen.rows, strict=True)]
        value += (sum(terms) / sum(row.weight for row in seen.rows)) ** 2
    return value / len(codes)


@naive(cs.CME)
def cme(e: cs.CME, seen: Rows) -> float:
    near, codes = near_locations(e, seen)
    n, several = len(seen.rows), range(len(codes))
    terms = [
        [row.weight * near[j][i] * ((row.y == codes[j]) - law(row)[codes[j]]) for j in several]
        for i, row in enumerate(seen.rows)
    ]
    sums = [sum(term[j] for term in terms) for j in several]
    spread = np.zeros((len(codes), len(codes)))
    for j in several:
        for m in several:
            for i, row in enumerate(seen.rows):
                if e.covariance == "exact":
                    both = row.weight**2 * near[j][i] * near[m][i]
                    spread[j, m] += both * covariance(row)[codes[j]][codes[m]]
                else:
                    spread[j, m] += (terms[i][j] - sums[j] / n) * (terms[i][m] - sums[m] / n) * n / max(n - 1, 1)
    return float(np.array(sums) @ np.linalg.pinv(spread, rcond=1e-10, hermitian=True) @ np.array(sums))


@naive(cs.KDECE)
def kdece(e: cs.KDECE, seen: Rows) -> float:
    total = 0.0
    for i, row in enumerate(seen.rows):
        logs = {}
        for j, other in enumerate(seen.rows):
            if i != j:
                alpha = [p / e.bandwidth + 1 for p in law(other)]
                constant = math.lgamma(sum(alpha)) - sum(math.lgamma(a) for a in alpha)
                point = [max(p, np.finfo(float).tiny) for p in law(row)]
                logs[j] = constant + sum((a - 1) * math.log(z) for a, z in zip(alpha, point, strict=True))
        top = max((value for j, value in logs.items() if seen.rows[j].weight > 0), default=0.0)
        mass = {j: seen.rows[j].weight * math.exp(value - top) for j, value in logs.items() if seen.rows[j].weight > 0}
        if sum(mass.values()) > 0:
            for k in range(len(row.p)):
                hit = sum(m for j, m in mass.items() if seen.rows[j].y == k) / sum(mass.values())
                p = row.p[k] if len(row.p) > 2 or k == 1 else 1 - row.p[1]
                total += row.weight * abs(hit - p) ** e.p
    return total / sum(row.weight for row in seen.rows)


@naive(cs.KCE)
def kce(e: cs.KCE, seen: Rows) -> float:
    return math.sqrt(max(skce(cs.SKCE(e.bandwidth, "biased", e.kernel), seen), 0.0))
