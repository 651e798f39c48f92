"""The GROUP BY that counts rows where they lie: a database adds up what `Ledger.count` would, and sends a few lines."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from importlib.util import find_spec
from typing import Any, Final

from calibstat.ledgers.steps import COUNTS, HALVINGS, ON_BORDER, STEPS, SUMS
from calibstat.ledgers.table import TAKEN, pair_of_labels

# What `step_of` and `middle_of` compute, each line of the one before; p is the probability, and happened 0 or 1.
_SCALED: Final = f"""
    CASE WHEN happened IS NULL OR p < 0 OR p > 1 THEN NULL WHEN p > 0.5 THEN 1.0 - p ELSE p END * {STEPS}.0"""
# Logarithms err by a last digit, so that the product below may be just outside of (1/2, 1].
_HALVINGS: Final = f"""
    CASE WHEN scaled > 0 AND scaled < {1 - ON_BORDER} THEN FLOOR(-LN(scaled) / LN(2.0)) ELSE 0.0 END"""
_FILLED: Final = f"CASE WHEN scaled < {1 - ON_BORDER} THEN scaled * POWER(2.0, halvings) END"
_MIRRORED: Final = f"""
    CASE WHEN scaled = 0 THEN {-HALVINGS - 1} WHEN scaled <= {2.0**-HALVINGS} THEN {-HALVINGS}
    WHEN scaled < {1 - ON_BORDER} THEN
        CASE WHEN filled > 1 THEN 1 WHEN filled <= 0.5 THEN -1 ELSE 0 END - halvings
    WHEN ABS(scaled - ROUND(scaled)) <= {ON_BORDER} THEN 2.0 * ROUND(scaled) ELSE 2.0 * FLOOR(scaled) + 1 END"""
_STEP: Final = f"CASE WHEN p > 0.5 THEN {2 * STEPS} - mirrored ELSE mirrored END"
_MIDDLE: Final = f"""
    CASE WHEN mirrored < {-HALVINGS} THEN 0.0 WHEN mirrored <= 0 THEN 0.75 * POWER(2.0, mirrored) / {STEPS}.0
    ELSE mirrored / {2 * STEPS}.0 END"""
_DISTANCE: Final = "CASE WHEN p > 0.5 THEN p - (1.0 - middle) ELSE p - middle END"
_ADDED_UP: Final = dict(
    zip(
        (*COUNTS, *SUMS),
        (
            "COUNT(*)",
            "SUM(happened)",
            "SUM(distance)",
            "SUM(distance * distance)",
            "SUM(distance * distance * distance)",
            "SUM(distance * distance * distance * distance)",
            "SUM(distance * happened)",
        ),
        strict=True,
    )
)
_GROUP: Final = "group_of_ledger_"


def ledger_sql(
    table: str | Sequence[str],
    *,
    y_true: str,
    y_prob: str,
    labels: tuple[Hashable, Hashable],
    by: str | Sequence[str] = (),
    dialect: str = "duckdb",
) -> str:
    """Write the query whose answer `Ledger.from_frame` reads, for a table of two outcomes in a database.

    Parameters
    ----------
    table : str or sequence of str
        The table; where it lies in a schema or a catalogue, the names one after the other, or with dots between.
    y_true, y_prob : str
        The columns of labels, and of the probability of the last of the `labels`.
    labels : pair
        The two labels; the event is the last one.
    by : str or sequence of str, optional
        Columns by which rows are kept apart.
    dialect : str
        What sqlglot calls the language of the database: ``"duckdb"``, ``"sqlite"``, ``"postgres"``, ``"spark"``,
        ``"bigquery"``, ``"snowflake"``.

    Returns
    -------
    str
        One query. Names and labels are quoted for the dialect, never pasted; names are those that the database keeps,
        with their case. Rows with another label, or no probability in [0, 1], are counted in a line without a step,
        which `Ledger.from_frame` refuses.

    Raises
    ------
    ValueError, ModuleNotFoundError
        If the dialect or a name cannot be used, or sqlglot is not installed: ``pip install "calibstat[sql]"``.

    Examples
    --------
    >>> import calibstat as cs, sqlite3, pandas as pd
    >>> from contextlib import closing
    >>> query = cs.ledger_sql("loans", y_true="defaulted", y_prob="risk", labels=(0, 1), dialect="sqlite")
    >>> with closing(sqlite3.connect(":memory:")) as database:
    ...     _ = pd.DataFrame({"defaulted": [0, 1, 1], "risk": [0.2, 0.7, 0.7]}).to_sql("loans", database)
    ...     answer = pd.read_sql(query, database)
    >>> cs.Ledger.from_frame(answer, labels=(0, 1))
    Ledger(n=3, lenses=('Canonical()',), 2 steps)
    """
    if find_spec("sqlglot") is None:
        raise ModuleNotFoundError('writing SQL needs sqlglot: pip install "calibstat[sql]"')
    from sqlglot import Dialect, exp, parse_one

    groups = [by] if isinstance(by, str) else list(by)
    lower = [name.lower() for name in groups]  # case is nothing to some databases
    if len(set(lower)) < len(lower) or any(name in TAKEN or name.startswith(_GROUP) for name in lower):
        raise ValueError(f"by is {groups!r}, but different names are expected, none of {', '.join(TAKEN)}")
    labels = pair_of_labels(labels)
    if Dialect.get(dialect) is None:
        known = ", ".join(sorted(filter(None, Dialect.classes)))
        raise ValueError(f"dialect is {dialect!r}, but one of {known} is expected")
    parts = table.split(".") if isinstance(table, str) else list(table)
    if not 1 <= len(parts) <= 3 or not all(parts):
        raise ValueError(f"table is {table!r}, but a name is expected, perhaps after those of its catalogue and schema")

    inside = [f"{_GROUP}{k}" for k in range(len(groups))]

    def looked_up(before: Any, kept: Sequence[Any], **computed: Any) -> Any:
        """Select columns as they are, and further ones by what computes them."""
        return exp.select(*kept, *(exp.alias_(each, name) for name, each in computed.items())).from_(before)

    def then(query: Any, kept: Sequence[str], **texts: str) -> Any:
        texts_read = {name: parse_one(text, dialect="duckdb") for name, text in texts.items()}
        return looked_up(query.subquery("rows_before"), [exp.column(each) for each in (*inside, *kept)], **texts_read)

    label, chance = exp.column(y_true), exp.cast(exp.column(y_prob), "double")
    cases = [exp.If(this=label.eq(exp.convert(each)), true=exp.convert(k)) for k, each in enumerate(labels)]
    place = dict(zip(("this", "db", "catalog"), map(exp.to_identifier, reversed(parts)), strict=False))
    named = [exp.alias_(exp.column(each), name) for each, name in zip(groups, inside, strict=True)]
    query = looked_up(exp.Table(**place), named, p=chance, happened=exp.Case(ifs=cases))
    query = then(query, ("p", "happened"), scaled=_SCALED)
    query = then(query, ("p", "happened", "scaled"), halvings=_HALVINGS)
    query = then(query, ("p", "happened", "scaled", "halvings"), filled=_FILLED)
    query = then(query, ("p", "happened"), mirrored=_MIRRORED)
    query = then(query, ("p", "happened"), step=_STEP, middle=_MIDDLE)
    query = then(query, ("step", "happened"), distance=_DISTANCE)
    query = then(query, ("step",), **_ADDED_UP).group_by(*(exp.column(each) for each in (*inside, "step")))
    for each, name in zip(query.selects, groups, strict=False):
        each.replace(exp.alias_(each.copy(), name))
    for name in query.find_all(exp.Identifier):
        name.set("quoted", True)
    return str(query.sql(dialect=dialect, pretty=True))
