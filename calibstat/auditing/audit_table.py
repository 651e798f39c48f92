"""The groups of an audit as the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence

from calibstat.auditing.group_finding import GroupFinding
from calibstat.auditing.groups import LeftOut
from calibstat.auditing.tables import layout, number_cell
from calibstat.inference.words import pvalue_cell

_HEADER = ("group", "n", "predicted", "happened", "error", "expected", "interval", "adjusted p", "")
_SHOWN = 25
_LEFT_OUT_SHOWN = 6


def table(ranked: Sequence[GroupFinding], level: float) -> list[str]:
    """Lay the first groups out; a star marks adjusted p-values of at most `level`."""
    rows = [[*_HEADER], *[_row(group, level) for group in ranked[:_SHOWN]]]
    more = [f"... and {len(ranked) - _SHOWN} more groups: see .to_frame()"] if len(ranked) > _SHOWN else []
    return [*layout(rows, numbers=range(1, 8)), *more]


def means(group: GroupFinding) -> str:
    """Say what was predicted in a group and what happened."""
    return f"{group.mean_prediction:.3f} predicted, {group.mean_outcome:.3f} happened"


def left_out(found: Sequence[LeftOut]) -> str:
    """List what was left out, the first few of it."""
    shown = [f"{each.name} (n = {each.n}) {each.reason}" for each in found[:_LEFT_OUT_SHOWN]]
    more = len(found) - _LEFT_OUT_SHOWN
    return "; ".join(shown) + (f"; and {more} more: see .left_out" if more > 0 else "")


def _row(group: GroupFinding, level: float) -> list[str]:
    two = group.mean_outcome == group.mean_outcome
    interval = group.confidence_interval
    return [
        group.name,
        str(group.n),
        f"{group.mean_prediction:.3f}" if two else "",
        f"{group.mean_outcome:.3f}" if two else "",
        number_cell(group.statistic),
        number_cell(group.null_mean),
        "" if interval is None else f"{number_cell(interval[0])} to {number_cell(interval[1])}",
        pvalue_cell(group.pvalue_adjusted) + (" *" if group.pvalue_adjusted <= level else ""),
        group.direction,
    ]
