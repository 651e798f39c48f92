"""Rows that a database counts: the ledger of the rows in memory, in DuckDB and in SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sqlglot import exp, parse

import calibstat as cs
from calibstat.ledgers.table import COUNTS, SUMS

COLUMNS = dict(y_true="y", y_prob="p")


def rows(n=4000, names=(0, 1)):
    rng = np.random.default_rng(4)
    ends = np.concatenate([np.logspace(-20, -1, 200), 1 - np.logspace(-15, -1, 200), [0, 1], np.arange(101) / 100])
    p = np.concatenate([rng.random(n), ends])
    happened = np.array(names, dtype=object)[(rng.random(len(p)) < p).astype(int)]
    return pd.DataFrame({"y": happened.tolist(), "p": p, "site": rng.choice(["n", "it's"], len(p))})


def in_duckdb(frame, query, table="t"):
    with duckdb.connect() as database:
        database.register("given", frame)
        database.execute(f"CREATE TABLE {table} AS SELECT * FROM given")
        return database.sql(query).df()


def in_sqlite(frame, query):
    with closing(sqlite3.connect(":memory:")) as database:
        frame.to_sql("t", database)
        return pd.read_sql(query, database)


RUN = {"duckdb": in_duckdb, "sqlite": in_sqlite}


@pytest.mark.parametrize("names", [(0, 1), ("no", "it's yes"), (False, True)], ids=repr)
@pytest.mark.parametrize("by", [(), ("site",)], ids=repr)
@pytest.mark.parametrize("dialect", RUN)
def test_a_database_counts_as_count_does(dialect, by, names):
    frame = rows(names=names)
    query = cs.ledger_sql("t", **COLUMNS, labels=names, by=by, dialect=dialect)
    found = cs.Ledger.from_frame(RUN[dialect](frame, query), labels=names, by=by)
    sample = cs.Sample.from_frame(frame, **COLUMNS, variables=list(by) or None, labels=list(names))
    expected = cs.Ledger.count(sample, by=by)
    keys = ["lens", *by, "step", "rows", "events"]
    pd.testing.assert_frame_equal(found.table[keys], expected.table[keys], check_dtype=False)
    pd.testing.assert_frame_equal(found.table, expected.table, check_dtype=False, rtol=1e-9, atol=1e-15)
    assert found.classes == expected.classes
    estimator = cs.ECE(cs.EqualWidth(15))
    pvalue = cs.calibration_test(expected.sample(), estimator).pvalue
    assert cs.calibration_test(found.sample(), estimator).pvalue == pytest.approx(pvalue, rel=1e-9)


def test_names_are_quoted_and_never_code():
    odd = 'p"; DROP TABLE t; --'
    frame = rows(50).rename(columns={"p": odd, "site": "group"})
    query = cs.ledger_sql(["main", "t"], y_true="y", y_prob=odd, labels=(0, 1), by="group", dialect="duckdb")
    found = cs.Ledger.from_frame(in_duckdb(frame, query), labels=(0, 1), by="group")
    assert len(found) == len(frame)


AWKWARD = ["p", "Happened", "select", "group by", "a.b", "it's", "ü", "%s", "x`y", "middle", "1"]


@pytest.mark.parametrize("dialect", RUN)
@pytest.mark.parametrize("name", AWKWARD)
def test_columns_may_have_awkward_names(dialect, name):
    """Also those of columns that the query makes itself, in any place."""
    others = [each for each in AWKWARD if each != name]
    frame = rows(300).rename(columns={"p": name, "y": others[0], "site": others[1]})
    names = {"y_true": others[0], "y_prob": name, "by": [others[1]], "labels": (0, 1)}
    found = cs.Ledger.from_frame(
        RUN[dialect](frame, cs.ledger_sql("t", **names, dialect=dialect)), labels=(0, 1), by=[others[1]]
    )
    expected = cs.Ledger.count(
        cs.Sample.from_frame(frame, y_true=others[0], y_prob=name, variables=[others[1]]), by=[others[1]]
    )
    pd.testing.assert_frame_equal(found.table, expected.table, check_dtype=False, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres", "bigquery", "snowflake", "spark"])
@pytest.mark.parametrize("name", [*AWKWARD, 'q"r'])
def test_awkward_names_are_columns_in_every_dialect(dialect, name):
    if dialect == "bigquery" and name == "a.b":
        pytest.skip("no column of BigQuery has a dot in its name")
    query = cs.ledger_sql(["lake", name], y_true=name, y_prob=name, by=[name], labels=("no", name), dialect=dialect)
    (read,) = parse(query, dialect=dialect)
    assert [each.alias_or_name for each in read.selects] == [name, "step", *COUNTS, *SUMS]
    asked = {each.name for each in read.find_all(exp.Column)} - {"p", "happened", "scaled", "halvings", "filled"}
    assert asked - {"mirrored", "middle", "distance", "step", "group_of_ledger_0"} <= {name}
    (table,) = read.find_all(exp.Table)
    assert (table.db, table.name) == ("lake", name)
    assert {each.this for each in read.find_all(exp.Literal) if each.is_string} == {"no", name}


@pytest.mark.parametrize("dialect", ["postgres", "bigquery", "snowflake", "spark", "mysql", "tsql", "redshift"])
def test_other_dialects_read_what_is_written_for_them(dialect):
    query = cs.ledger_sql("lake.loans", **COLUMNS, labels=("no", "yes"), by=["site"], dialect=dialect)
    (read,) = parse(query, dialect=dialect)
    assert [each.alias_or_name for each in read.selects] == ["site", "step", *COUNTS, *SUMS]


@pytest.mark.parametrize("dialect", RUN)
@pytest.mark.parametrize(
    ("column", "value"), [("p", 1.5), ("p", -0.1), ("p", np.nan), ("y", 2), ("y", np.nan)], ids=str
)
def test_rows_that_are_no_predictions_are_refused(dialect, column, value):
    frame = rows(50)
    frame[column] = frame[column].astype(float)
    frame.loc[[3, 4], column] = value
    answer = RUN[dialect](frame, cs.ledger_sql("t", **COLUMNS, labels=(0, 1), dialect=dialect))
    with pytest.raises(ValueError, match=r"^2 rows have no probability in \[0, 1\], or none of the labels 0 and 1"):
        cs.Ledger.from_frame(answer, labels=(0, 1))


def test_any_frame_is_read():
    answer = in_duckdb(rows(), cs.ledger_sql("t", **COLUMNS, labels=(0, 1)))
    expected = cs.Ledger.from_frame(answer, labels=(0, 1)).table
    for frame in (pl.from_pandas(answer), answer.to_dict("list")):
        pd.testing.assert_frame_equal(cs.Ledger.from_frame(frame, labels=(0, 1)).table, expected)


def test_answers_that_are_no_ledger_are_refused():
    buckets = {"n": [10, 20], "sum_y": [2, 9], "sum_p": [1.5, 10.2]}
    with pytest.raises(ValueError, match=r"no columns 'step', .* Sample\.from_frame\(frame, predicted="):
        cs.Ledger.from_frame(buckets, labels=(0, 1))
    answer = in_duckdb(rows(), cs.ledger_sql("t", **COLUMNS, labels=(0, 1)))
    with pytest.raises(ValueError, match=r"the frame is no ledger: .* never more events than rows"):
        cs.Ledger.from_frame(answer.assign(events=answer["rows"] + 1), labels=(0, 1))


def test_buckets_of_an_exact_law_have_more_variance_than_their_rows():
    """Rows that are taken for equal predictions: p-values of buckets are larger (Hoeffding 1956)."""
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    y = rng.random(2000) < np.clip(p + 0.03, 0, 1)
    cell = np.minimum((p * 10).astype(int), 9)
    trials, events, total = (np.bincount(cell, weights) for weights in (None, y, p))
    buckets = cs.Sample.from_counts(total / trials, events=events, trials=trials)
    test = cs.ECE(cs.EqualWidth(10))
    of_rows, of_buckets = (cs.calibration_test(each, test) for each in (cs.Sample(y, p), buckets))
    assert of_buckets.statistic == pytest.approx(of_rows.statistic)
    assert of_rows.pvalue < of_buckets.pvalue < 2 * of_rows.pvalue


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dialect": "klingon"}, "dialect is 'klingon', but one of .*duckdb.* is expected"),
        ({"labels": (1, 1)}, "two different labels are expected, the event last"),
        ({"labels": (0, 1, 2)}, "two different labels are expected, the event last"),
        ({"labels": 3}, "labels is 3, but two different labels are expected"),
        ({"labels": "ab"}, "labels is 'ab', but two different labels are expected"),
        ({"by": ["rows"]}, "different names are expected, none of"),
        ({"by": ["a", "a"]}, "different names are expected"),
        ({"table": "a..b"}, "a name is expected"),
        ({"table": "a.b.c.d"}, "a name is expected"),
    ],
)
def test_what_cannot_be_asked_is_refused(change, said):
    asked = {"table": "t", **COLUMNS, "labels": (0, 1)} | change
    with pytest.raises(ValueError, match=said):
        cs.ledger_sql(asked.pop("table"), **asked)
