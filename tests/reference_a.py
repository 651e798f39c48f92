"""Naive references of the cumulative, smooth and isotonic estimators, scores and the sweep: plain loops over rows.

``NAIVE`` maps the type of an estimator to a function of the estimator and the rows that it sees (see reference.py).
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.optimize import linprog
from scipy.stats import chi2, kstwobign, norm

import reference
from calibstat.estimators.cells.decomposition import BrierDecomposition, FerroFricker
from calibstat.estimators.cells.sweep import ECESweep
from calibstat.estimators.isotonic.corp import CORP
from calibstat.estimators.isotonic.curve import IsotonicCurve
from calibstat.estimators.scores.means import BrierScore, LogScore, SphericalScore, ZeroOneLoss
from calibstat.estimators.scores.performance import AUC, RMSE
from calibstat.estimators.smooth.errors import SmoothCE, SmoothECE
from calibstat.estimators.walks.bridge import BrownianBridge, MeanAndBridge
from calibstat.estimators.walks.cumulative import AverageTwoBin, KolmogorovSmirnov, Kuiper
from calibstat.estimators.walks.worst_interval import WorstInterval


def keyed(seen):
    """Rows with what they are ordered by, in order."""
    name = seen.given[0]
    value = lambda row: row.p[-1] if name is ... else row.variables[name]
    return sorted(((value(row), row) for row in seen.rows), key=lambda pair: pair[0])


def blocks(seen):
    """Rows with equal values together: a list of (value, rows)."""
    found = []
    for value, row in keyed(seen):
        if found and value - found[-1][0] <= 1e-12:
            found[-1] = (value, [*found[-1][1], row])
        else:
            found.append((value, [row]))
    return found


def total(seen):
    return sum(row.weight for row in seen.rows)


def residual(rows):
    return sum(row.weight * (row.y - row.p[-1]) for row in rows)


def unit(seen, value):
    """A value as a part of the range."""
    if seen.given[0] is ...:
        return min(max(value, 0), 1)
    values = [value for value, _ in keyed(seen)]
    low, high = min(values), max(values)
    return (value - low) / ((high - low) or 1)


def every_interval(seen):
    """The mean residual of every interval of values, and of none."""
    found, whole = blocks(seen), total(seen)
    yield 0.0, math.nan, math.nan, 0.0
    for i in range(len(found)):
        rows = []
        for j in range(i, len(found)):
            rows = rows + found[j][1]
            yield residual(rows) / whole, found[i][0], found[j][0], sum(row.weight for row in rows) / whole


def kuiper(_, seen):
    return max(abs(interval[0]) for interval in every_interval(seen))


def kolmogorov_smirnov(_, seen):
    lower = [residual([row for value, row in keyed(seen) if value <= cut]) for cut, _ in blocks(seen)]
    return max(0.0, *map(abs, lower)) / total(seen)


def average_two_bin(_, seen):
    places = [0.0, *[unit(seen, value) for value, _ in blocks(seen)], 1.0]
    area = 0.0
    for left, right in pairwise(places):
        below = residual([row for value, row in keyed(seen) if unit(seen, value) <= left + 1e-12])
        # Nothing lies below the first value, whatever that is.
        if left == 0.0 and right == places[1] and places[1] > 0:
            below = 0.0
        above = residual(seen.rows) - below
        area += (right - left) * (below**2 + above**2)
    return area / total(seen) ** 2


def variance(row):
    p = min(max(row.p[-1], 0), 1)
    return p * (1 - p)


def mean_and_bridge(power, seen):
    """With the clock in units of weight^power times variance."""
    whole = total(seen)
    clock = lambda rows: sum(row.weight**power * variance(row) for row in rows)
    everything = clock(seen.rows)
    mean, bridge, so_far = residual(seen.rows) / whole, 0.0, []
    for _, rows in blocks(seen):
        so_far = so_far + rows
        t = clock(so_far) / everything if everything else 0.0
        bridge = max(bridge, abs(residual(so_far) / whole - t * mean))
    return mean, bridge


def brownian_bridge(_, seen):
    mean, bridge = mean_and_bridge(2, seen)
    scale = math.sqrt(sum(row.weight**2 * variance(row) for row in seen.rows)) / total(seen)
    far = lambda value: value / scale if scale else (0.0 if abs(value) <= 1e-15 else math.inf)
    with np.errstate(divide="ignore"):
        fisher = -2 * (np.log(2) + norm.logsf(abs(far(mean))) + np.log(kstwobign.sf(far(bridge))))
    return [mean, bridge, fisher]


def smooth_ce(_, seen):
    """The linear programme."""
    rows, whole = keyed(seen), total(seen)
    places = [unit(seen, value) for value, _ in rows]
    gains = [row.weight * (row.y - row.p[-1]) / whole for _, row in rows]
    above, limits = [], []
    for i in range(len(rows) - 1):
        for sign in (1, -1):
            line = np.zeros(len(rows))
            line[i], line[i + 1] = sign, -sign
            above.append(line)
            limits.append(places[i + 1] - places[i])
    constraints = dict(A_ub=np.array(above), b_ub=limits) if above else {}
    return -linprog(-np.array(gains), **constraints, bounds=(-1, 1)).fun


def smoothed(seen, bandwidth):
    """The integral by the trapezoidal rule on a fine grid, with images of the kernel on both sides."""
    t = np.linspace(0, 1, 4001)
    height = np.zeros_like(t)
    images = range(-math.ceil(4 * bandwidth) - 1, math.ceil(4 * bandwidth) + 2)
    for value, row in keyed(seen):
        gain = row.weight * (row.y - row.p[-1]) / total(seen)
        for k in images:
            for centre in (unit(seen, value) + 2 * k, 2 * k - unit(seen, value)):
                height += gain * norm.pdf(t, centre, bandwidth)
    size = np.abs(height)
    return (size.sum() - (size[0] + size[-1]) / 2) / 4000


def smooth_ece(e, seen):
    if e.bandwidth is not None:
        return smoothed(seen, e.bandwidth)
    low, high = 0.004, 1.0
    if smoothed(seen, low) < low:
        raise reference.UnclearError
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if smoothed(seen, middle) > middle else (low, middle)
    return (low + high) / 2


def sweep(e, seen):
    """The share of weight below a tie decides its cell, in exact arithmetic."""
    found = blocks(seen)
    whole = sum(Fraction(row.weight) for row in seen.rows)
    below, so_far = [], Fraction(0)
    for _, rows in found:
        below.append(so_far / whole)
        so_far += sum(Fraction(row.weight) for row in rows)
    value = None
    for m in range(1, 400):
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


def loss(score, p, y):
    """One row's loss."""
    if isinstance(score, BrierScore):
        return (p[1] - y) ** 2 if len(p) == 2 else sum((q - (k == y)) ** 2 for k, q in enumerate(p))
    if isinstance(score, LogScore):
        return -math.log(max(p[y], score.clip))
    if isinstance(score, SphericalScore):
        return -p[y] / math.sqrt(sum(q * q for q in p))
    decided = int(p[1] >= score.threshold) if len(p) == 2 else p.index(max(p))
    return float(decided != y)


def mean_loss(score, seen):
    return sum(row.weight * loss(score, row.p, row.y) for row in seen.rows) / total(seen)


def auc(_, seen):
    won = pairs = 0.0
    for a in seen.rows:
        for b in seen.rows:
            if a.y == 1 and b.y == 0:
                pairs += a.weight * b.weight
                gap = a.p[1] - b.p[1]
                won += a.weight * b.weight * (0.5 if abs(gap) <= 1e-12 else gap > 0)
    return won / pairs if pairs else math.nan


def worst_interval(_, seen):
    """The largest size decides; ties between intervals are unclear."""
    found = sorted(every_interval(seen), key=lambda interval: -abs(interval[0]))
    if len(found) > 1 and abs(found[1][0]) > abs(found[0][0]) - 1e-9:
        raise reference.UnclearError
    return list(found[0])


def brier_parts(e, seen):
    cells, whole = list(reference.cells_of(e.binning, seen).values()), total(seen)
    k = range(1, 2) if len(seen.classes) == 2 else range(len(seen.classes))
    mean = [sum(row.weight for row in seen.rows if row.y == j) / whole for j in range(len(seen.classes))]
    uncertainty = sum(mean[j] * (1 - mean[j]) for j in k)
    sharpness = sum(c.share * sum((c.mean_y[j] - mean[j]) ** 2 for j in k) for c in cells)
    calibration = sum(c.share * sum((c.mean_y[j] - c.mean_p[j]) ** 2 for j in k) for c in cells)
    if isinstance(e, FerroFricker):
        inside = sum(c.share * sum(c.mean_y[j] * (1 - c.mean_y[j]) for j in k) * less_one(c.rows) for c in cells)
        more = uncertainty * less_one(seen.rows)
        uncertainty, sharpness, calibration = uncertainty + more, sharpness - inside + more, calibration - inside
    score = mean_loss(BrierScore(), seen)
    return [score, uncertainty, sharpness, calibration, score - (uncertainty - sharpness + calibration)]


def less_one(rows):
    """1 / (n - 1), with weights: over pairs of different rows."""
    heavy = [row.weight for row in rows if row.weight > 0]
    pairs = sum(a * b for i, a in enumerate(heavy) for j, b in enumerate(heavy) if i != j)
    return sum(w * w for w in heavy) / pairs if pairs else 0.0


def increasing(seen):
    """Isotonic regression by its min-max formula: (rows, fit) of each block that has weight."""
    found = [(rows, sum(row.weight for row in rows)) for _, rows in blocks(seen)]
    found = [(rows, mass) for rows, mass in found if mass > 0]
    mass = [n for _, n in found]
    events = [sum(row.weight for row in rows if row.y == 1) for rows, _ in found]
    mean = lambda i, j: sum(events[i : j + 1]) / sum(mass[i : j + 1])
    n = len(found)
    fit = [max(min(mean(i, j) for j in range(k, n)) for i in range(k + 1)) for k in range(n)]
    return [(rows, q) for (rows, _), q in zip(found, fit, strict=True)]


def corp(e, seen):
    whole = total(seen)
    score = mean_loss(e.score, seen)
    best = sum(row.weight * loss(e.score, (1 - q, q), row.y) for rows, q in increasing(seen) for row in rows) / whole
    rate = sum(row.weight for row in seen.rows if row.y == 1) / whole
    constant = sum(row.weight * loss(e.score, (1 - rate, rate), row.y) for row in seen.rows) / whole
    return [score, max(score - best, 0), max(constant - best, 0), constant]


def isotonic_curve(_, seen):
    if any(sum(row.weight for row in rows) == 0 for _, rows in blocks(seen)):
        raise reference.UnclearError
    return [q for _, q in increasing(seen)]


def fisher_pvalue(statistic):
    return chi2.sf(statistic, 4)


NAIVE = {
    Kuiper: kuiper,
    KolmogorovSmirnov: kolmogorov_smirnov,
    AverageTwoBin: average_two_bin,
    MeanAndBridge: lambda e, seen: list(mean_and_bridge(1, seen)),
    BrownianBridge: brownian_bridge,
    WorstInterval: worst_interval,
    SmoothCE: smooth_ce,
    SmoothECE: smooth_ece,
    ECESweep: sweep,
    BrierScore: mean_loss,
    LogScore: mean_loss,
    SphericalScore: mean_loss,
    ZeroOneLoss: mean_loss,
    RMSE: lambda e, seen: math.sqrt(mean_loss(BrierScore(), seen)),
    AUC: auc,
    BrierDecomposition: brier_parts,
    FerroFricker: brier_parts,
    CORP: corp,
    IsotonicCurve: isotonic_curve,
}
