"""The columns of a ledger's table, and what cannot be so in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from calibstat.ledgers.steps import HALVINGS, STEPS

if TYPE_CHECKING:
    import pandas as pd

KEYS: Final = ("lens", "step")
COUNTS: Final = ("rows", "events")
SUMS: Final = ("shift", "shift2", "shift3", "shift4", "along")


def fault_of(table: pd.DataFrame, by: Sequence[str], lenses: Collection[str]) -> str:
    """Say what cannot be so in a table of a ledger, or nothing."""
    expected = ["lens", *by, "step", *COUNTS, *SUMS]
    if list(table) != expected:
        return f"its columns are {list(table)}, but {expected} are expected"
    if not set(table["lens"]) <= set(lenses):
        return "a line has a lens that the ledger does not name"
    rows, events, step = (table[name].to_numpy() for name in (*COUNTS, "step"))
    whole = all(values.dtype.kind == "i" for values in (rows, events, step))
    if not whole or (rows < 1).any() or (events < 0).any() or (events > rows).any():
        return "rows and events are whole numbers, and there are never more events than rows"
    if (step < -HALVINGS - 1).any() or (step > 2 * STEPS + HALVINGS + 1).any():
        return "a step is beyond [0, 1]"
    if not np.isfinite(table[list(SUMS)].to_numpy(float)).all():
        return "a sum is no number"
    return "a step occurs twice" if table.duplicated(["lens", *by, "step"]).any() else ""
