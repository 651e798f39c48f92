"""Naive estimators made of estimators, and of functions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import calibstat as cs
from calibstat.estimators.base import Headline
from reference.rows import Rows, total
from reference.table import evaluate, naive


def value(estimator: Any, seen: Rows) -> Any:
    """NaN where there is no weight."""
    return evaluate(estimator, seen) if total(seen) > 0 else math.nan


@naive(cs.Generic)
def gap(_: cs.Generic, seen: Rows) -> float:
    """The one function of the registry."""
    return abs(sum(row.weight * (row.y - row.p[-1]) for row in seen.rows) / total(seen))


@naive(Headline)
def headline(e: Headline, seen: Rows) -> Any:
    return value(e.estimator, seen)


@naive(cs.EachClass)
def each_class(e: cs.EachClass, seen: Rows) -> list[float]:
    return [value(cs.ClassWise(label) | e.estimator, seen) for label in seen.classes]


@naive(cs.Within)
def within(e: cs.Within, seen: Rows) -> list[float]:
    levels = sorted({row.variables[e.variable] for row in seen.rows})
    rows_of = {level: [row for row in seen.rows if row.variables[e.variable] == level] for level in levels}
    return [value(e.estimator, replace(seen, rows=rows_of[level])) for level in levels]


@naive(cs.Family)
def family(e: cs.Family, seen: Rows) -> list[float]:
    return [value(each, seen) for each in e.estimators]


@naive(cs.Jackknifed)
def jackknifed(e: cs.Jackknifed, seen: Rows) -> float:
    """Busing et al. (1999); of cells that stay where they are."""
    corrected = len(seen.rows) * value(e.estimator, seen)
    for i, row in enumerate(seen.rows):
        rest = replace(seen, rows=seen.rows[:i] + seen.rows[i + 1 :])
        corrected -= (1 - row.weight / total(seen)) * value(e.estimator, rest)
    return corrected
