"""Naive lenses."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import calibstat as cs
from reference.rows import Rows, written


def look(lens: cs.Lens, seen: Rows) -> Rows:
    """Look through each lens of a chain in turn."""
    for part in lens.parts:
        seen = written(LENSES, part)(part, seen)
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
    names = tuple(lens.names or (group[0] if len(group) == 1 else " or ".join(group) for group in lens.groups))
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


LENSES = {
    cs.Canonical: lambda lens, seen: seen,
    cs.ClassWise: _class_wise,
    cs.Partition: _partition,
    cs.TopLabel: lambda lens, seen: _top(1, seen),
    cs.TopK: lambda lens, seen: _top(lens.k, seen),
    cs.Given: lambda lens, seen: replace(seen, given=lens.names),
    cs.Region: _between,
}
