"""Ledgers in files: what is saved is loaded, and anything else is refused."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import calibstat as cs


def ledger(n=3000, labels=(False, True)):
    rng = np.random.default_rng(2)
    p = rng.random(n)
    happened = np.array(labels, dtype=object)[(rng.random(n) < p).astype(int)]
    variables = {"site": rng.choice(["north", "south"], n), "year": rng.integers(2020, 2023, n)}
    sample = cs.Sample(happened, p, variables=variables, labels=list(labels))
    return cs.Ledger.count(sample, by=["site", "year"], lenses=[cs.Canonical(), cs.TopLabel()])


@pytest.mark.parametrize("labels", [(False, True), (0, 1), ("no", "1")], ids=repr)
def test_what_is_saved_is_loaded(tmp_path, labels):
    saved = ledger(labels=labels)
    saved.save(tmp_path / "a.parquet")
    loaded = cs.Ledger.load(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(loaded.table, saved.table, check_dtype=False)
    assert repr(loaded) == repr(saved)
    assert repr(loaded.classes) == repr(saved.classes)
    assert len(saved + loaded) == 2 * len(saved) == 6000
    where = {"site": "south", "year": [2020, 2021]}
    assert cs.ECE()(loaded.sample(cs.TopLabel(), where=where)) == cs.ECE()(saved.sample(cs.TopLabel(), where=where))


def test_lines_of_few_rows_are_left_out_and_told(tmp_path):
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.random(500).round(1), rng.random(40)])
    saved = cs.Ledger.count(cs.Sample(rng.random(540) < p, p))
    few = saved.table["rows"] < 10
    saved.save(tmp_path / "a.parquet", min_count=10)
    loaded = cs.Ledger.load(tmp_path / "a.parquet")
    assert loaded.table["rows"].min() >= 10
    missing = int(saved.table.loc[few, "rows"].sum())
    assert 0 < missing == 540 - len(loaded)
    assert f"; {missing} rows left out, in steps of few rows" in loaded.sample().predictions.source
    assert f"; {2 * missing} rows left out" in (loaded + loaded).sample().predictions.source
    assert "left out" not in saved.sample().predictions.source
    loaded.save(tmp_path / "b.parquet")
    assert cs.Ledger.load(tmp_path / "b.parquet").left_out == {"Canonical()": missing}


def test_min_count_that_leaves_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"min_count is 1000, but through Canonical.. no line has so many rows"):
        ledger().save(tmp_path / "a.parquet", min_count=1000)
    with pytest.raises(ValueError, match="min_count"):
        ledger().save(tmp_path / "a.parquet", min_count=0)
    assert not list(tmp_path.iterdir())


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    place = tmp_path / "a.parquet"
    ledger().save(place)
    before = place.read_bytes()

    def fail(*given, **more):
        raise OSError("the disk is full")

    monkeypatch.setattr(parquet, "write_table", fail)
    with pytest.raises(OSError, match="full"):
        ledger(50).save(place)
    assert place.read_bytes() == before
    assert list(tmp_path.iterdir()) == [place]


def changed(path, change=lambda frame: frame, **meaning):
    """Write a ledger whose table or metadata are wrong."""
    ledger(200).save(path)
    content = parquet.read_table(path)
    known = json.loads(content.schema.metadata[b"calibstat"]) | meaning
    frame = change(content.to_pandas(ignore_metadata=True))
    written = pa.Table.from_pandas(frame, preserve_index=False)
    parquet.write_table(written.replace_schema_metadata({"calibstat": json.dumps(known)}), path)


def put(name, value):
    return lambda frame: frame.assign(**{name: value})


@pytest.mark.parametrize(
    ("change", "meaning", "said"),
    [
        (lambda frame: frame, {"schema": "calibstat-ledger/7"}, "one of schema 'calibstat-ledger/7', but a file that"),
        (lambda frame: frame.drop(columns="along"), {}, "its columns are"),
        (put("lens", "Other()"), {}, "a lens that the ledger does not name"),
        (put("events", 10**6), {}, "never more events than rows"),
        (put("rows", 1.5), {}, "whole numbers"),
        (put("step", 8000), {}, "beyond"),
        (put("shift", np.nan), {}, "a sum is no number"),
        (put("shift2", "x"), {}, "a sum is no number"),
        (put("shift3", 0.01), {}, "more than distances in a step add up to"),
        (put("along", -1.0), {}, "more than distances in a step add up to"),
        (put("rows", 2**53), {}, "2.53 rows"),
        (put("lens", None), {}, "a lens or a group is missing"),
        (put("site", None), {}, "a lens or a group is missing"),
        (lambda frame: frame.assign(site=[["north"]] * len(frame)), {}, "a lens or a group is missing"),
        (put("year", np.nan), {}, "a group is missing"),
        (put("year", np.datetime64("2020-01-01")), {}, "no text, number or truth value"),
        (lambda frame: pd.concat([frame, frame]), {}, "occurs twice"),
    ],
)
def test_other_and_damaged_ledgers_are_refused(tmp_path, change, meaning, said):
    changed(tmp_path / "a.parquet")
    cs.Ledger.load(tmp_path / "a.parquet")  # the negative control
    changed(tmp_path / "a.parquet", change, **meaning)
    with pytest.raises(ValueError, match=said):
        cs.Ledger.load(tmp_path / "a.parquet")


ODD = (None, 3, -1, 1.5, True, "x", [], {}, [[]], ["site"], [["Canonical()"]], {"Canonical()": 1}, "site", 10**400)


def odd_meanings():
    """Everything that a file says, in turn, as something else, and missing."""
    lenses = [["Canonical()", [False, True]], ["TopLabel()", ["other", "top"]]]
    true = {"schema": "calibstat-ledger/1", "by": ["site", "year"], "lenses": lenses}
    true |= {"left_out": {"Canonical()": 0, "TopLabel()": 0}}
    for key in true:
        yield {name: value for name, value in true.items() if name != key}
        yield from (true | {key: odd} for odd in ODD if odd != true[key])
    for labels in (*ODD, [1, 1], [0], [0, 1, 2], [[0], [1]], [None, 1]):
        yield true | {"lenses": [["Canonical()", labels], lenses[1]]}
    for rows in (*(odd for odd in ODD if type(odd) is not int), -1, 0.0, "0"):
        yield true | {"left_out": {"Canonical()": rows, "TopLabel()": 0}}
    yield true | {"left_out": {"Canonical()": 0}}
    yield true | {"by": ["site", "site"]}
    yield true | {"by": ["year", "site"]}
    yield true | {"lenses": [lenses[0], lenses[0], lenses[1]]}
    yield true | {"lenses": lenses[:1], "left_out": {"Canonical()": 0}}
    yield from ODD


def test_whatever_a_file_says_falsely_is_refused_in_one_way(tmp_path):
    """No error of another kind, and nothing accepted."""
    path, place = tmp_path / "a.parquet", tmp_path / "b.parquet"
    ledger(200).save(path)
    content = parquet.read_table(path)
    told = [json.dumps(each).encode() for each in odd_meanings()]
    for meaning in (*told, b"", b"{", b"\xff\xfe", b"NaN", b'{"schema": "calibstat-ledger/1"', b"[" * 10_000):
        parquet.write_table(content.replace_schema_metadata({b"calibstat": meaning}), place)
        with pytest.raises(ValueError, match=r"b\.parquet") as raised:
            cs.Ledger.load(place)
        assert type(raised.value) is ValueError, meaning
    assert len(told) > 80


@pytest.mark.slow
def test_a_file_with_any_byte_changed_is_refused_or_the_same(tmp_path):
    saved = ledger(200)
    path = tmp_path / "a.parquet"
    saved.save(path)
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for place in rng.choice(len(content), min(2000, len(content)), replace=False):
        damaged = bytearray(content)
        damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        with suppress(ValueError):  # any other error fails
            assert len(cs.Ledger.load(path).table) == len(saved.table)


def test_other_and_damaged_files_are_refused(tmp_path):
    place = tmp_path / "a.parquet"
    with pytest.raises(ValueError, match="no such file"):
        cs.Ledger.load(place)
    place.write_text("lens,step\n")
    with pytest.raises(
        ValueError, match=r"a.parquet: it is damaged, or no Parquet file; .* save the ledger again, or "
    ):
        cs.Ledger.load(place)
    pd.DataFrame({"a": [1]}).to_parquet(place)
    with pytest.raises(ValueError, match=r"not a ledger, but a file that Ledger\.save wrote"):
        cs.Ledger.load(place)
    ledger().save(place)
    content = bytearray(place.read_bytes())
    content[len(content) // 3] ^= 0xFF
    place.write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        cs.Ledger.load(place)


def test_labels_of_other_types_are_refused(tmp_path):
    made = cs.Ledger(cs.Ledger.count(cs.Sample([0, 1], [0.2, 0.7])).table, (), {"Canonical()": ((1, 2), (3, 4))})
    with pytest.raises(ValueError, match=r"the label .* is of type tuple, but a file keeps"):
        made.save(tmp_path / "a.parquet")
