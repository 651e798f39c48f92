"""Rows that an engine has (polars, DuckDB, ibis): its own GROUP BY counts them, and only lines of a ledger travel."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from calibstat.ledgers.ledger import Ledger
from calibstat.ledgers.sql import ledger_sql
from calibstat.lenses.relabel import CANONICAL

_TABLE = "rows_of_ledger"


def engine_of(source: Any) -> str:
    """Return the name of the engine that counts the rows of a source, or nothing."""
    library = type(source).__module__.split(".")[0].removeprefix("_")
    counts = library in ("duckdb", "ibis") or (library == "polars" and hasattr(source, "collect_batches"))
    return library if counts and find_spec("sqlglot") is not None else ""


def counted_by_engine(
    source: Any, first: Ledger, *, y_true: str, y_prob: str | Sequence[str], by: Sequence[str]
) -> Ledger | None:
    """Return the ledger of all rows of an engine's frame, or None where they have to be looked at one by one.

    `first` is that of the first rows, which fixes the classes. Rows without a step or a group are left to those who
    name them.
    """
    columns = [y_prob] if isinstance(y_prob, str) else list(y_prob)
    if list(first.classes) != [repr(CANONICAL)] or len(columns) > 1:
        return None
    (labels,) = first.classes.values()
    dialect = "postgres" if engine_of(source) == "polars" else "duckdb"
    query = ledger_sql([_TABLE], y_true=y_true, y_prob=columns[0], labels=labels, by=by, dialect=dialect)
    lines = _answer(source, query)
    if lines[[*by, "step"]].isna().to_numpy().any():
        return None
    return Ledger.from_frame(lines, labels=labels, by=by)


def _answer(source: Any, query: str) -> Any:
    """Have an engine answer a query about its rows, as a frame of pandas."""
    engine = engine_of(source)
    if engine == "polars":
        return source.sql(query, table_name=_TABLE).collect(engine="streaming").to_pandas()
    if engine == "duckdb":
        return source.query(_TABLE, query).df()
    return source.alias(_TABLE).sql(query, dialect="duckdb").to_pyarrow().to_pandas()
