"""Naive observed over expected; the fits of this family are compared with other optimisers in tests of their own."""

from __future__ import annotations

import calibstat as cs
from reference.rows import Rows
from reference.table import naive


@naive(cs.ObservedToExpected)
def observed_to_expected(_: cs.ObservedToExpected, seen: Rows) -> float:
    observed = sum(row.weight for row in seen.rows if row.y == 1)
    expected = sum(row.weight * row.p[1] for row in seen.rows)
    return observed / expected if expected > 0 else 1 + observed
