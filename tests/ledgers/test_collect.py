"""Rows from files, folders, frames, engines and workers: the same ledger as that of the rows in memory."""

from __future__ import annotations

import os
import signal
import time
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

import calibstat as cs
from calibstat.ledgers import batches, engines

N = 5000
NAMES = dict(y_true="y", y_prob="p")


@pytest.fixture(autouse=True)
def _in_many_batches(monkeypatch):
    monkeypatch.setattr(batches, "ROWS", 700)


def frame(n=N, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return pd.DataFrame({"y": (rng.random(n) < p).astype(int), "p": p, "site": rng.choice(["n", "s"], n), "other": "x"})


def parts(rows, k=7):
    return [rows.iloc[place] for place in np.array_split(np.arange(len(rows)), k)]


def in_memory(rows, by=("site",)):
    return cs.Ledger.count(cs.Sample.from_frame(rows, **NAMES, variables=list(by) or None), by=by)


def alike(found, expected):
    pd.testing.assert_frame_equal(found.table, expected.table, check_dtype=False, rtol=1e-9, atol=1e-12)
    assert repr(found.classes) == repr(expected.classes)


def as_files(rows, folder, ending):
    folder.mkdir()
    for place, part in enumerate(parts(rows)):
        path = folder / f"part-{place}{ending}"
        part.to_parquet(path, index=False) if ending == ".parquet" else part.to_csv(path, index=False)
    return folder


SOURCES = {
    "parquet": lambda rows, folder: as_files(rows, folder / "a", ".parquet") / "part-0.parquet",
    "folder": lambda rows, folder: as_files(rows, folder / "a", ".parquet"),
    "pattern": lambda rows, folder: str(as_files(rows, folder / "a", ".parquet") / "part-*.parquet"),
    "text": lambda rows, folder: as_files(rows, folder / "a", ".csv"),
    "packed text": lambda rows, folder: as_files(rows, folder / "a", ".csv.gz"),
    "dataset": lambda rows, folder: dataset.dataset(as_files(rows, folder / "a", ".parquet")),
    "text dataset": lambda rows, folder: dataset.dataset(as_files(rows, folder / "a", ".csv"), format="csv"),
    "pandas": lambda rows, folder: iter(parts(rows)),
    "polars": lambda rows, folder: (pl.from_pandas(each) for each in parts(rows)),
    "tables": lambda rows, folder: [pa.Table.from_pandas(each) for each in parts(rows)],
    "record batches": lambda rows, folder: pa.Table.from_pandas(rows).to_reader(max_chunksize=900),
    "one frame": lambda rows, folder: rows,
    "lazy": lambda rows, folder: pl.from_pandas(rows).lazy(),
    "duckdb": lambda rows, folder: duckdb.connect().from_df(rows),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_ledger_of_the_rows(kind, tmp_path):
    rows = frame()
    expected = parts(rows)[0] if kind == "parquet" else rows
    alike(cs.Ledger.collect(SOURCES[kind](rows, tmp_path), **NAMES, by="site"), in_memory(expected))


OF_ENGINES = {
    "polars": lambda rows: pl.from_pandas(rows).lazy(),
    "duckdb": lambda rows: duckdb.connect().from_df(rows),
    "ibis": lambda rows: of_ibis(rows),
}


def of_ibis(rows):
    connection = pytest.importorskip("ibis").duckdb.connect()
    connection.con.from_df(rows).create("stays")
    return connection.table("stays")


@pytest.mark.parametrize("engine", OF_ENGINES)
def test_an_engine_counts_its_rows_itself(engine, monkeypatch):
    """Only its first rows, which fix the classes, and the lines of the ledger come over."""
    rows = frame().assign(code=lambda each: each["other"], flag=lambda each: each["p"] > 0.3, number=3)
    seen, of = [], batches.batches_of
    monkeypatch.setattr("calibstat.ledgers.collect.batches_of", lambda *given: seen.append(given[0]) or of(*given))
    by = ["site", "code", "flag", "number"]
    found = cs.Ledger.collect(OF_ENGINES[engine](rows), **NAMES, by=by)
    alike(found, in_memory(rows, by=by))
    assert len(seen) == 1
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    alike(cs.Ledger.collect(OF_ENGINES[engine](rows), **NAMES, by=by), found)
    assert len(seen) == 2


@pytest.mark.parametrize("engine", OF_ENGINES)
@pytest.mark.parametrize(
    ("column", "value", "said"),
    [("p", np.nan, "4321"), ("p", 1.5, "4321"), ("y", 7, "y_true holds 7"), ("site", None, "4321")],
)
def test_rows_that_an_engine_cannot_count_are_named(engine, column, value, said):
    rows = frame()
    rows.loc[4321, column] = value
    with pytest.raises(ValueError, match=rf"the (frame|relation|table): .*{said}"):
        cs.Ledger.collect(OF_ENGINES[engine](rows), **NAMES, by="site")
    if value is None or np.isnan(value):
        found = cs.Ledger.collect(OF_ENGINES[engine](rows), **NAMES, by="site", nan_policy="omit")
        alike(found, in_memory(rows.drop(index=4321)))


def test_a_duckdb_column_may_have_any_name():
    rows = frame(50).rename(columns={"p": 'p" or 1; --'})
    relation = duckdb.connect().from_df(rows)
    found = cs.Ledger.collect(relation, y_true="y", y_prob='p" or 1; --')
    alike(found, in_memory(frame(50), by=()))


def test_folders_name_values(tmp_path):
    rows = frame(400)
    for site, part in rows.groupby("site"):
        (tmp_path / f"site={site}").mkdir()
        part.drop(columns="site").to_parquet(tmp_path / f"site={site}" / "a.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    alike(cs.Ledger.collect(tmp_path, **NAMES, by=["site"]), in_memory(rows))


def test_dask_counts_partitions():
    dd = pytest.importorskip("dask.dataframe")
    rows = frame()
    with_holes = dd.from_pandas(rows, npartitions=7)
    with_holes = with_holes[with_holes["p"] > with_holes["p"].min()]
    alike(cs.Ledger.collect(with_holes, **NAMES, by="site"), in_memory(rows[rows["p"] > rows["p"].min()]))
    empty_first = dd.concat([dd.from_pandas(rows.iloc[:0], npartitions=1), dd.from_pandas(rows, npartitions=3)])
    alike(cs.Ledger.collect(empty_first, **NAMES, by="site"), in_memory(rows))


@pytest.mark.slow
def test_dask_on_two_processes():
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    rows = frame()
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        alike(cs.Ledger.collect(dd.from_pandas(rows, npartitions=9), **NAMES, by="site"), in_memory(rows))


@pytest.mark.slow
def test_a_worker_that_is_killed_in_mid_reduction_loses_nothing(tmp_path):
    """It was killed when all but two partitions were counted, and in part added up; what it had is counted again."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    rows = frame()
    given = parts(rows, 8)

    def part_that_kills(place):
        computed = tmp_path / f"{place}-{os.getpid()}"
        first = place == 6 and not list(tmp_path.glob("6-*"))
        computed.touch()
        if first:
            while (
                len({each.name[0] for each in tmp_path.iterdir()}) < 7
            ):  # the others are counted by then, and in part added up
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
        return given[place]

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        source = dd.from_map(part_that_kills, range(8), meta=rows.iloc[:0])
        found = cs.Ledger.collect(source, **NAMES, by="site")
    alike(found, in_memory(rows))
    computed = [each.name[0] for each in tmp_path.iterdir()]
    assert set(computed) == set("01234567")
    assert computed.count("6") == 2  # the negative control: it was killed


def test_more_classes_and_lenses():
    rng = np.random.default_rng(1)
    prob = rng.dirichlet(np.ones(3), 900)
    rows = pd.DataFrame(prob, columns=["p_a", "p_b", "p_c"]).assign(y=rng.choice(list("abc"), 900))
    lenses = [cs.TopLabel(), cs.ClassWise("b")]
    found = cs.Ledger.collect(iter(parts(rows)), y_true="y", y_prob="p_*", lenses=lenses)
    alike(found, cs.Ledger.count(cs.Sample.from_frame(rows, y_true="y", y_prob="p_*"), lenses=lenses))
    with pytest.raises(ValueError, match=r"part 0 .*through Canonical\(\) there are 3 outcomes"):
        cs.Ledger.collect(iter(parts(rows)), y_true="y", y_prob="p_*", lenses=[cs.Canonical()])


def test_the_first_batch_fixes_the_classes_unless_labels_do():
    rows = frame(700).assign(y=lambda each: each["y"].map({0: "no", 1: "yes"}))
    batches = [rows[rows["y"] == "yes"], rows]
    with pytest.raises(ValueError, match=r"part 0 \(parts count from 0\): .*labels="):
        cs.Ledger.collect(batches, **NAMES)
    found = cs.Ledger.collect(batches, **NAMES, labels=["no", "yes"])
    assert found.classes == {"Canonical()": ("no", "yes")}
    strange = [frame(50), frame(50).assign(y=lambda each: each["y"] + 5)]
    with pytest.raises(ValueError, match=r"part 1 \(parts count from 0\): "):
        cs.Ledger.collect(strange, **NAMES)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_errors_name_the_file_and_the_row_in_it(tmp_path, ending):
    rows = frame()
    folder = as_files(rows, tmp_path / "a", ending)
    bad = parts(rows)[3].reset_index(drop=True)
    bad.loc[712, "p"] = 1.5
    path = folder / f"part-3{ending}"
    bad.to_parquet(path) if ending == ".parquet" else bad.to_csv(path, index=False)
    with pytest.raises(ValueError, match=rf"part-3{ending}: column 'p' .* row is 712 \(rows count from 0\)"):
        cs.Ledger.collect(folder, **NAMES)


def test_a_partition_of_dask_is_named():
    dd = pytest.importorskip("dask.dataframe")
    rows = frame(90)
    rows.loc[75, "p"] = np.nan
    with pytest.raises(ValueError, match=r"partition 2 \(partitions count from 0\): .* row 15 "):
        cs.Ledger.collect(dd.from_pandas(rows, npartitions=3), **NAMES)
    found = cs.Ledger.collect(dd.from_pandas(rows, npartitions=3), **NAMES, nan_policy="omit")
    assert len(found) == 89


def test_an_unknown_label_is_named_with_its_partition_and_row():
    parts = [{"y": ["no", "yes", "no"], "p": [0.2, 0.6, 0.3]}, {"y": ["no", "no", "maybe"], "p": [0.2, 0.6, 0.3]}]
    with pytest.raises(ValueError, match=r"part 1 .*'maybe' is first in row 2 \(rows count from 0\)"):
        cs.Ledger.collect(iter(parts), y_true="y", y_prob="p")
    whole = {name: [each for part in parts for each in part[name]] for name in ("y", "p")}
    with pytest.raises(ValueError, match=r"'maybe' is first in row 5 "):
        cs.Ledger.collect(whole, y_true="y", y_prob="p", labels=["no", "yes"])
    # where rows are left out, the row is not known
    with pytest.raises(ValueError, match=r"in the order of the columns$"):
        cs.Sample(["no", None, "maybe"], [0.2, 0.3, 0.4], labels=["no", "yes"], nan_policy="omit")


def test_a_warning_is_given_once():
    rows = frame(2000).assign(p=lambda each: 1 - each["p"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cs.Ledger.collect(iter(parts(rows)), **NAMES)
    assert len(caught) == 1
    assert "fits far better" in str(caught[0].message)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ([], "no rows"),
        ("nowhere-*.parquet", "names no file"),
        ([frame(5).drop(columns="p")], r"no column 'p' in part 0"),
    ],
)
def test_sources_without_rows_are_refused(source, said):
    with pytest.raises(ValueError, match=said):
        cs.Ledger.collect(source, **NAMES)


def test_what_is_no_source_is_refused(tmp_path):
    with pytest.raises(TypeError, match="the source is of type int, but a file, a folder"):
        cs.Ledger.collect(3, **NAMES)
    as_files(frame(50), tmp_path / "a", ".parquet")
    (tmp_path / "a" / "notes.csv").write_text("a,b\n")
    with pytest.raises(ValueError, match="only Parquet"):
        cs.Ledger.collect(tmp_path / "a", **NAMES)
    (tmp_path / "b.parquet").write_text("no")
    with pytest.raises(ValueError, match=r"b\.parquet"):
        cs.Ledger.collect(tmp_path / "b.parquet", **NAMES)


def test_row_groups_beyond_the_memory_are_refused(tmp_path, monkeypatch):
    frame(100).to_parquet(tmp_path / "a.parquet")
    assert batches._largest_group(parquet.read_metadata(tmp_path / "a.parquet"), ["p", "y"]) >= 100 * 8
    monkeypatch.setattr(batches, "_largest_group", lambda known, names: 10**18)
    with pytest.raises(ValueError, match=r"its columns need 1e.09 GB, but this computer has"):
        cs.Ledger.collect(tmp_path / "a.parquet", **NAMES)


@pytest.mark.parametrize("place", [3, -12, None])
def test_a_damaged_file_of_parquet_is_named(tmp_path, place):
    folder = as_files(frame(), tmp_path / "a", ".parquet")
    path = folder / "part-3.parquet"
    content = bytearray(path.read_bytes())
    content[: len(content) if place is None else 0] = b""
    for at in [] if place is None else range(place, place + 9):
        content[at] ^= 255
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"cannot read .*part-3\.parquet: it is damaged, or not what its name says"):
        cs.Ledger.collect(folder, **NAMES)


def test_files_without_rows_are_named(tmp_path):
    frame().iloc[:0].to_parquet(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match=r"none\.parquet: the source has no rows"):
        cs.Ledger.collect(tmp_path / "none.parquet", **NAMES)
