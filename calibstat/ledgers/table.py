"""The table of a ledger: a line for each lens, group and step that occurs, with what is kept of the step."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from calibstat._text import shown, some_of
from calibstat.data.arrays import Array, Variable
from calibstat.ledgers.steps import COUNTS, HALVINGS, STEPS, SUMS

if TYPE_CHECKING:
    import pandas as pd

# Names that no column of groups can have.
TAKEN: Final = ("lens", "step", *COUNTS, *SUMS)
# From here on floats leave out whole numbers.
_MOST_ROWS: Final = 2.0**53
_BOOLEAN: Final = {"False", "True"}


def grouped(variable: Variable) -> Array:
    """Return a variable as a column of groups: truth values, numbers or texts."""
    boolean = variable.levels is not None and set(variable.levels) <= _BOOLEAN
    return variable.written == "True" if boolean else variable.written


def pair_of_labels(labels: Any) -> tuple[Any, Any]:
    """Return the two labels of an event, which is the last one; they must differ."""
    try:
        first, last = labels
        differ = len({first, last}) == 2 and not isinstance(labels, str)
    except (TypeError, ValueError):
        differ = False
    if not differ:
        raise ValueError(f"labels is {shown(repr(labels))}, but two different labels are expected, the event last")
    return first, last


def added_up(tables: Sequence[pd.DataFrame], by: Sequence[str]) -> pd.DataFrame:
    """Add up the lines that have the same lens, groups and step, and put them in order."""
    import pandas as pd

    every = pd.concat(_of_same_types(tables, by))
    return every.groupby(["lens", *by, "step"], sort=True, observed=True)[[*COUNTS, *SUMS]].sum().reset_index()


def kind_of(values: Any) -> str:
    """Say what a column of groups holds."""
    return {"b": "truth values", "i": "numbers", "f": "numbers"}.get(values.dtype.kind, "texts")


def _of_same_types(tables: Sequence[pd.DataFrame], by: Sequence[str]) -> Sequence[pd.DataFrame]:
    """Return tables whose columns of groups add up: names of truth values are texts where others are."""
    for name in by:
        kinds = {kind_of(table[name]) for table in tables}
        if kinds == {"truth values", "texts"}:
            tables = [table.assign(**{name: table[name].astype(str)}) for table in tables]
        elif len(kinds) > 1:
            raise ValueError(
                f"the column {name!r} of groups holds {' here and '.join(sorted(kinds))} there, so that 1 and '1' "
                "might be the same group: store it with one type"
            )
    return tables


def lines_of(table: pd.DataFrame, column: str, wanted: Any) -> Any:
    """Return which lines have one of the values that are wanted; raise where one of them does not occur."""
    there = sorted(table[column].unique().tolist())
    asked = [wanted] if isinstance(wanted, (str, bytes)) or np.ndim(wanted) == 0 else list(wanted)
    plain = [each.item() if isinstance(each, np.generic) else each for each in asked]
    absent = [each for each in plain if not any(_equal(each, value) for value in there)]
    if absent or not plain:
        found = f"no rows with {column} {absent[0]!r}" if absent else f"rows for no value of {column}"
        known = some_of([f"{each:g}" if isinstance(each, float) else repr(each) for each in there], 10)
        raise ValueError(f"the ledger has {found}; {column!r} has the values {known}")
    return table[column].isin(plain)


def _equal(asked: Any, there: Any) -> bool:
    """Whether two values are the same: 1 is neither '1' nor True."""
    return isinstance(asked, bool) == isinstance(there, bool) and bool(asked == there)


def _all_texts(values: Any) -> bool:
    return all(isinstance(each, str) for each in values.tolist())


def fault_of(table: pd.DataFrame, by: Sequence[str], lenses: Collection[str]) -> str:
    """Say what cannot be so in a table of a ledger, or nothing."""
    expected = ["lens", *by, "step", *COUNTS, *SUMS]
    if list(table) != expected:
        return f"its columns are {list(table)}, but {expected} are expected"
    if any(kind_of(table[name]) == "texts" and not _all_texts(table[name]) for name in ("lens", *by)):
        return "a lens or a group is missing, or is no text, number or truth value"
    if not set(table["lens"]) <= set(lenses):
        return "a line has a lens that the ledger does not name"
    if table[list(by)].isna().to_numpy().any():
        return "a group is missing"
    rows, events, step = (table[name].to_numpy() for name in (*COUNTS, "step"))
    whole = all(values.dtype.kind == "i" for values in (rows, events, step))
    if not whole or (rows < 1).any() or (events < 0).any() or (events > rows).any():
        return "rows and events are whole numbers, and there are never more events than rows"
    if rows.sum(dtype=float) >= _MOST_ROWS:
        return "it has 2^53 rows or more"
    if (step < -HALVINGS - 1).any() or (step > 2 * STEPS + HALVINGS + 1).any():
        return "a step is beyond [0, 1]"
    if any(table[name].dtype.kind not in "if" for name in SUMS):
        return "a sum is no number"
    # No prediction is farther from the middle of its step than half the width of the widest.
    most = np.column_stack([rows * (0.5 / STEPS) ** power for power in range(1, 5)] + [events * 0.5 / STEPS])
    if not (np.abs(table[list(SUMS)].to_numpy(float)) <= most * (1 + 1e-6) + 1e-12).all():
        return "a sum is no number, or more than distances in a step add up to"
    return "a step occurs twice" if table.duplicated(["lens", *by, "step"]).any() else ""
