"""Which groups are large enough for a comparison of their curves."""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Floats, Ints
from calibstat.auditing.groups import LeftOut
from calibstat.auditing.levels import Levels


def large_enough(levels: Levels, expected: Floats, min_size: int, min_expected: float) -> tuple[Ints, list[LeftOut]]:
    """Return the groups that are compared, and those left out; asymptotic laws need some events and non-events in each.

    Parameters
    ----------
    levels : Levels
    expected : (L,) floats
        The number of events that is expected in each group if the curves are equal.
    min_size : int
    min_expected : float
        Of events, and of non-events.

    Raises
    ------
    ValueError
        If fewer than two are left.
    """
    counts = np.bincount(levels.index, minlength=levels.size)
    names = [f"{levels.variable} {name}" for name in levels.names]
    reasons = [_reason(int(count), float(e), min_size, min_expected) for count, e in zip(counts, expected, strict=True)]
    left_out = [LeftOut(names[g], int(counts[g]), reason) for g, reason in enumerate(reasons) if reason]
    kept = np.flatnonzero([not reason for reason in reasons])
    if len(kept) < 2:
        shown = "; ".join(f"{each.name} (n = {each.n}) {each.reason}" for each in left_out[:10]) or "it has one level"
        raise ValueError(
            f"{levels.variable!r} has fewer than two groups of at least {min_size} rows, and {min_expected:g} expected "
            f"events and non-events, so that there is nothing to compare: {shown}. Take another variable, larger "
            "groups, or more rows; with a smaller min_size or min_expected the p-value is too small too often."
        )
    return kept, left_out


def _reason(count: int, expected: float, min_size: int, min_expected: float) -> str:
    if count < min_size:
        return f"has fewer than {min_size} rows"
    for what, number in (("events", expected), ("non-events", count - expected)):
        if number < min_expected:
            return f"expects {max(number, 0.0):.3g} {what}, fewer than {min_expected:g}"
    return ""
