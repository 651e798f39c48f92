"""Groups of rows: every level of every variable, and their crossings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import final

import numpy as np

from calibstat.arrays import Ints
from calibstat.auditing.levels import Levels

ALL = "all rows"


@final
@dataclass(frozen=True, eq=False)
class Group:
    """Rows that have the same levels of some variables.

    Parameters
    ----------
    levels : tuple of (variable, level)
        Empty for all rows.
    rows : (m,) ints
    """

    levels: tuple[tuple[str, str], ...]
    rows: Ints

    @property
    def name(self) -> str:
        """Variables and levels, to be read."""
        return " & ".join(f"{variable} {level}" for variable, level in self.levels) or ALL


@final
@dataclass(frozen=True)
class LeftOut:
    """Something that was not audited.

    Parameters
    ----------
    name : str
    n : int
        How many rows it has.
    reason : str
    """

    name: str
    n: int
    reason: str


def form_groups(variables: Sequence[Levels], n: int, depth: int, min_size: int) -> tuple[list[Group], list[LeftOut]]:
    """List all rows, the levels of each variable, and their crossings.

    Parameters
    ----------
    variables : sequence of Levels
    n : int
        Number of rows.
    depth : int
        How many variables are crossed at most.
    min_size : int
        Smaller groups are left out.

    Returns
    -------
    groups : list of Group
    left_out : list of LeftOut
        Variables with one level, groups that are too small, and crossings with the rows of a group that is there.
    """
    groups, left_out = [Group((), np.arange(n))], []
    seen = {groups[0].rows.tobytes(): groups[0].name}
    for variable in variables:
        if variable.size == 1:
            left_out.append(LeftOut(variable.variable, n, f"has one level, {variable.names[0]!r}"))
    several = [variable for variable in variables if variable.size > 1]
    for crossed in range(1, min(depth, len(several)) + 1):
        for factors in combinations(several, crossed):
            for group in _cross(factors):
                rows = group.rows.tobytes()
                if len(group.rows) < min_size:
                    left_out.append(LeftOut(group.name, len(group.rows), f"has fewer than {min_size} rows"))
                elif crossed > 1 and rows in seen:
                    left_out.append(LeftOut(group.name, len(group.rows), f"has the rows of {seen[rows]}"))
                else:
                    groups.append(group)
                    seen.setdefault(rows, group.name)
    return groups, left_out


def _cross(factors: Sequence[Levels]) -> Iterator[Group]:
    """Yield the combinations of levels that occur."""
    codes = np.ravel_multi_index([each.index for each in factors], [each.size for each in factors])
    order = np.argsort(codes, kind="stable")
    found, starts = np.unique(codes[order], return_index=True)
    for code, rows in zip(found, np.split(order, starts[1:]), strict=True):
        places = np.unravel_index(code, [each.size for each in factors])
        levels = tuple((each.variable, each.names[int(place)]) for each, place in zip(factors, places, strict=True))
        yield Group(levels, rows)
