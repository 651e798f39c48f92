"""Naive isotonic regression, by its min-max formula."""

from __future__ import annotations

from typing import Any

import calibstat as cs
from reference.rows import Row, Rows, UnclearError, ties, total
from reference.scores import loss, mean_loss
from reference.table import naive


def increasing(seen: Rows) -> list[tuple[list[Row], float]]:
    """Rows and fit of each tie that has weight."""
    found = [(rows, sum(row.weight for row in rows)) for _, rows in ties(seen)]
    found = [(rows, mass) for rows, mass in found if mass > 0]
    mass = [n for _, n in found]
    events = [sum(row.weight for row in rows if row.y == 1) for rows, _ in found]
    mean = lambda i, j: sum(events[i : j + 1]) / sum(mass[i : j + 1])
    n = len(found)
    fit = [max(min(mean(i, j) for j in range(k, n)) for i in range(k + 1)) for k in range(n)]
    return [(rows, q) for (rows, _), q in zip(found, fit, strict=True)]


@naive(cs.CORP)
def corp(e: cs.CORP, seen: Rows) -> list[float]:
    whole = total(seen)
    score = mean_loss(e.score, seen)
    best = sum(row.weight * loss(e.score, (1 - q, q), row.y) for rows, q in increasing(seen) for row in rows) / whole
    rate = sum(row.weight for row in seen.rows if row.y == 1) / whole
    constant = sum(row.weight * loss(e.score, (1 - rate, rate), row.y) for row in seen.rows) / whole
    return [score, max(score - best, 0), max(constant - best, 0), constant]


@naive(cs.IsotonicCurve)
def isotonic_curve(_: Any, seen: Rows) -> list[float]:
    if any(sum(row.weight for row in rows) == 0 for _, rows in ties(seen)):
        raise UnclearError
    return [q for _, q in increasing(seen)]
