"""Naive cumulative estimators."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import kstwobign, norm

import calibstat as cs
from reference.rows import Row, Rows, UnclearError, keyed, residual, same, ties, total, unit
from reference.table import naive


def every_interval(seen: Rows) -> Iterator[tuple[float, float, float, float]]:
    """The mean residual of every interval of values, and of none."""
    found, whole = ties(seen), total(seen)
    yield 0.0, math.nan, math.nan, 0.0
    for i in range(len(found)):
        rows = []
        for j in range(i, len(found)):
            rows = rows + found[j][1]
            yield residual(rows) / whole, found[i][0], found[j][0], sum(row.weight for row in rows) / whole


@naive(cs.Kuiper)
def kuiper(e: cs.Kuiper, seen: Rows) -> float:
    return in_units(e, seen, max(abs(interval[0]) for interval in every_interval(seen)))


def in_units(e: Any, seen: Rows, value: float) -> float:
    """The value in standard deviations of the mean residual, where these are asked for."""
    if not e.standardized:
        return value
    deviation = math.sqrt(sum(row.weight**2 * row.p[-1] * (1 - row.p[-1]) for row in seen.rows)) / total(seen)
    if deviation == 0:  # certain predictions: none is wrong, or infinitely many deviations
        return math.inf if value > 0 else 0.0
    return value / deviation


@naive(cs.KolmogorovSmirnov)
def kolmogorov_smirnov(e: cs.KolmogorovSmirnov, seen: Rows) -> float:
    lower = [residual([row for value, row in keyed(seen) if value <= cut]) for cut, _ in ties(seen)]
    return in_units(e, seen, max(0.0, *map(abs, lower)) / total(seen))


@naive(cs.DecisionLoss)
def decision_loss(e: cs.DecisionLoss, seen: Rows) -> float:
    """What each other cutoff would save, for each threshold; of all of them those at or just above a prediction."""
    unit = sum(e.costs) if e.costs else 1.0
    asked = [e.costs[0] / unit] if e.costs else np.ravel(e.thresholds).tolist() if e.thresholds is not None else []
    blocks, best = ties(seen), 0.0
    below = [(t, sum(value < t and not same(value, t) for value, _ in blocks)) for t in asked]
    if not asked:
        below = [(value, count) for k, (value, _) in enumerate(blocks) for count in (k, k + 1)]
    for t, start in below:
        for other in range(len(blocks) + 1):
            between = [row for _, rows in blocks[min(start, other) : max(start, other)] for row in rows]
            saved = sum(row.weight * (row.y - t) for row in between)
            best = max(best, saved if other < start else -saved)
    return unit * best / total(seen)


@naive(cs.CalibrationDecisionLoss)
def calibration_decision_loss(_: Any, seen: Rows) -> float:
    """All pairs of thresholds on both sides of 1/2, with the weights that keep payoffs within [0, 1]."""
    blocks, points = ties(seen), [(0.0, 0.0), (1.0, 0.0)]
    for k, (t, _) in enumerate(blocks):
        for start in (k, k + 1):
            saved = []
            for other in range(len(blocks) + 1):
                between = [row for _, rows in blocks[min(start, other) : max(start, other)] for row in rows]
                saved.append((1 if other < start else -1) * sum(row.weight * (row.y - t) for row in between))
            points.append((t, max(saved) / total(seen)))
    best = 0.0
    for low, gain in points:
        for high, other in points:
            if low <= 0.5 < high:  # weights w, v with w low + v high = 1 = w (1 - low) + v (1 - high)
                best = max(best, ((2 * high - 1) * gain + (1 - 2 * low) * other) / (high - low))
    return best


@naive(cs.AverageTwoBin)
def average_two_bin(_: Any, seen: Rows) -> float:
    places = [0.0, *[unit(seen, value) for value, _ in ties(seen)], 1.0]
    area = 0.0
    for left, right in pairwise(places):
        below = residual([row for value, row in keyed(seen) if unit(seen, value) <= left + 1e-12])
        # Nothing lies below the first value, whatever that is.
        if left == 0.0 and right == places[1] and places[1] > 0:
            below = 0.0
        above = residual(seen.rows) - below
        area += (right - left) * (below**2 + above**2)
    return area / total(seen) ** 2


def timed_walk(seen: Rows) -> list[tuple[float, float, float]]:
    """The walk at the end of each tie, beside the shares of variance (of weight, without any) before and after it."""
    spread = lambda rows: sum(row.weight * variance(row) for row in rows)
    if not spread(seen.rows):
        spread = lambda rows: sum(row.weight for row in rows)
    found, everything = [row for _, rows in ties(seen) for row in rows], spread(seen.rows)
    points, count = [(0.0, 0.0, 1.0)], 0
    for _, rows in ties(seen):
        count += len(rows)
        walk = residual(found[:count]) / total(seen)
        points.append((walk, spread(found[:count]) / everything, spread(found[count:]) / everything))
    return points


@naive(cs.CramerVonMises)
def cramer_von_mises(_: Any, seen: Rows) -> float:
    steps = pairwise(timed_walk(seen))
    return sum((one**2 + other**2) / 2 * (end - start) for (one, start, _), (other, end, _) in steps)


@naive(cs.AndersonDarling)
def anderson_darling(_: Any, seen: Rows) -> float:
    """Log odds of the middles between a point and its neighbours are where its stretch ends."""
    points = timed_walk(seen)
    mean = points[-1][0]
    value = mean**2
    for k in range(1, len(points) - 1):
        walk, before, after = points[k]
        if before > 0 and after > 0:
            odds = [(points[i][1] + points[i + 1][1]) / (points[i][2] + points[i + 1][2]) for i in (k - 1, k)]
            value += (walk - before * mean) ** 2 * (math.log(odds[1]) - math.log(odds[0]))
    return value


def variance(row: Row) -> float:
    p = min(max(row.p[-1], 0), 1)
    return p * (1 - p)


def components(power: int, seen: Rows) -> tuple[float, float]:
    """With the clock in units of weight^power times variance."""
    whole = total(seen)
    clock = lambda rows: sum(row.weight**power * variance(row) for row in rows)
    everything = clock(seen.rows)
    mean, bridge, so_far = residual(seen.rows) / whole, 0.0, []
    for _, rows in ties(seen):
        so_far = so_far + rows
        t = clock(so_far) / everything if everything else 0.0
        bridge = max(bridge, abs(residual(so_far) / whole - t * mean))
    return mean, bridge


@naive(cs.MeanAndBridge)
def mean_and_bridge(_: Any, seen: Rows) -> list[float]:
    return list(components(1, seen))


@naive(cs.BrownianBridge)
def brownian_bridge(_: Any, seen: Rows) -> list[float]:
    mean, bridge = components(2, seen)
    scale = math.sqrt(sum(row.weight**2 * variance(row) for row in seen.rows)) / total(seen)
    far = lambda value: value / scale if scale else (0.0 if abs(value) <= 1e-15 else math.inf)
    with np.errstate(divide="ignore"):
        fisher = -2 * (np.log(2) + norm.logsf(abs(far(mean))) + np.log(kstwobign.sf(far(bridge))))
    return [mean, bridge, fisher]


@naive(cs.WorstInterval)
def worst_interval(_: Any, seen: Rows) -> list[float]:
    """The largest size decides; ties between intervals are unclear."""
    found = sorted(every_interval(seen), key=lambda interval: -abs(interval[0]))
    if len(found) > 1 and abs(found[1][0]) > abs(found[0][0]) - 1e-9:
        raise UnclearError
    return list(found[0])
