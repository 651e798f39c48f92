"""Frames, files, classifiers and confidences."""

from __future__ import annotations

import bz2
import gc
import gzip
import importlib.util
import io
import lzma
import os
import re
import signal
import struct
import threading
import zipfile
from contextlib import suppress
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xarray as xr
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from calibstat.data import _line_counts as line_counts
from calibstat.data import files
from calibstat.data.files import file_arguments, read_stream
from calibstat.data.frames import confidence_arguments, estimator_arguments, frame_arguments, select
from calibstat.data.sample import Sample

COLUMNS = {
    "id": [7, 8, 9],
    "prob_b": [0.25, 0.5, 0.125],
    "y": ["a", "b", "b"],
    "prob_a": [0.75, 0.5, 0.875],
    "age": [40, 50, 60],
    "w": [1.0, 2.0, 3.0],
}
TEXT = pd.DataFrame(COLUMNS).to_csv(index=False)


def frame(columns=COLUMNS, *, y_true="y", y_prob="prob_*", variables=None, sample_weight=None):
    return frame_arguments(columns, y_true=y_true, y_prob=y_prob, variables=variables, sample_weight=sample_weight)


def read(path, *, y_true="y", y_prob="prob_*", variables=None, sample_weight=None):
    return file_arguments(path, y_true=y_true, y_prob=y_prob, variables=variables, sample_weight=sample_weight)


def written(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def check(taken):
    """The columns above, whichever way they came."""
    assert taken["columns"] == ["prob_b", "prob_a"]
    np.testing.assert_array_equal(taken["y_prob"], np.column_stack([COLUMNS["prob_b"], COLUMNS["prob_a"]]))
    assert np.asarray(taken["y_true"]).tolist() == COLUMNS["y"]
    assert np.asarray(taken["variables"]["age"]).tolist() == COLUMNS["age"]
    assert np.asarray(taken["sample_weight"]).tolist() == COLUMNS["w"]


# ---------------------------------------------------------------- frames


def frames():
    yield pytest.param(lambda: COLUMNS, id="mapping")
    yield pytest.param(lambda: pd.DataFrame(COLUMNS, index=[2, 1, 0]), id="pandas")
    yield pytest.param(lambda: xr.Dataset({name: ("row", values) for name, values in COLUMNS.items()}), id="xarray")
    yield pytest.param(lambda: pytest.importorskip("polars").DataFrame(COLUMNS), id="polars")
    yield pytest.param(lambda: pytest.importorskip("pyarrow").table(COLUMNS), id="pyarrow")


@pytest.mark.parametrize("make", list(frames()))
def test_frames(make):
    check(frame(make(), variables="age", sample_weight="w"))


@pytest.mark.parametrize("make", list(frames()))
def test_samples_from_frames(make):
    sample = Sample.from_frame(make(), y_true="y", y_prob="prob_*", variables="*", sample_weight="w")
    assert sample.labels == ("b", "a")
    assert sample.outcomes.tolist() == [1, 0, 0]
    assert list(sample.predictions.variables) == ["id", "age"]
    assert sample.predictions.weights.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("asked", "columns"),
    [
        ("prob_*", ["prob_b", "prob_a"]),
        (["prob_a", "prob_b"], ["prob_a", "prob_b"]),
        (["prob_a", "prob_*"], ["prob_a", "prob_b"]),
        (["prob_?", "prob_?"], ["prob_b", "prob_a"]),
        ("prob_[ab]", ["prob_b", "prob_a"]),
        ("prob_a", ["prob_a"]),
        (("prob_b",), ["prob_b"]),
    ],
)
def test_globs(asked, columns):
    taken = frame(y_prob=asked)
    assert taken["columns"] == columns
    assert taken["y_prob"].ndim == (1 if len(columns) == 1 else 2)
    assert taken["variables"] is None
    assert taken["sample_weight"] is None


def test_natural_order_is_kept():
    names = [f"p{i}" for i in range(12)]
    columns = {"y": [0, 11]} | {name: [1 / 12, 1 / 12] for name in names}
    assert frame(columns, y_prob="p*")["columns"] == names


def test_globs_take_neither_labels_nor_weights():
    columns = {"p_y": [0, 1], "p_0": [0.5, 0.5], "p_w": [1, 2], "p_1": [0.5, 0.5]}
    taken = frame(columns, y_true="p_y", y_prob="p_*", sample_weight="p_w")
    assert taken["columns"] == ["p_0", "p_1"]
    taken = frame(columns, y_true="p_y", y_prob="p_0", sample_weight="p_w", variables="p_*")
    assert list(taken["variables"]) == ["p_1"]


@pytest.mark.parametrize(
    ("asked", "names"),
    [("*", ["id", "age", "w"]), ("a*", ["age"]), (["w", "age"], ["w", "age"]), (["prob_a", "age"], ["prob_a", "age"])],
)
def test_variables(asked, names):
    assert list(frame(variables=asked)["variables"]) == names


def test_a_name_is_itself_before_it_is_a_glob():
    columns = {"y": [0, 1], "p[1]": [0.1, 0.2], "p1": [0.3, 0.4]}
    assert frame(columns, y_prob="p[1]")["columns"] == ["p[1]"]


def test_case_matters():
    with pytest.raises(ValueError, match=r"no column 'Prob_\*'"):
        frame(y_prob="Prob_*")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"y_true": "label"}, "no column 'label' in the frame; the columns are 'id', 'prob_b', 'y'"),
        ({"y_true": "*"}, r"no column '\*'"),
        ({"y_prob": "q*"}, r"no column 'q\*' in the frame besides 'y'; the columns are"),
        ({"y_prob": ["prob_a", "q"]}, "no column 'q'"),
        ({"y_prob": []}, "name at least one"),
        ({"y_prob": ["y", "prob_a"]}, "'y' of the frame is asked for as y_true and as y_prob"),
        ({"sample_weight": "v"}, "no column 'v'"),
        ({"variables": "v"}, "no column 'v'"),
    ],
)
def test_columns_that_are_not_there(asked, words):
    with pytest.raises(ValueError, match=words):
        frame(**asked)


def test_many_columns_are_listed_shortly():
    columns = {f"c{i}": [0] for i in range(1000)}
    with pytest.raises(ValueError, match=r"\(983 more\), 'c998', 'c999'$") as caught:
        frame(columns)
    assert len(str(caught.value)) < 400


def test_no_frame():
    with pytest.raises(TypeError, match="of type list, but a data frame"):
        frame([1, 2])


@pytest.mark.parametrize("given", [["prob_a", "prob_b", "prob_a"], ("prob_a", "prob_a")])
def test_a_column_named_twice(given):
    with pytest.raises(ValueError, match="names the column 'prob_a' more than once"):
        frame(y_prob=given)


def test_lazy_frames():
    polars = pytest.importorskip("polars")
    lazy = polars.DataFrame(COLUMNS).lazy()
    with pytest.raises(TypeError, match=r"the frame is a LazyFrame.*\.collect\(\)"):
        frame(lazy)
    with pytest.raises(TypeError, match=r"y_prob is a LazyFrame.*\.collect\(\)"):
        Sample([0, 1, 1], lazy)
    with pytest.raises(TypeError, match=r"variables is a LazyFrame.*\.collect\(\)"):
        Sample([0, 1, 1], [0.1, 0.2, 0.3], variables=lazy)


def test_a_column_caught_by_mistake_is_listed():
    columns = COLUMNS | {"prob_rank": [0.1, 0.2, 0.3]}
    with pytest.raises(ValueError, match=r"no class probability\? columns: prob_b, prob_a, prob_rank;") as caught:
        Sample.from_frame(columns, y_true="y", y_prob="prob_*")
    assert "normalised" not in str(caught.value)
    with pytest.raises(ValueError, match=r"c0, .*c9, \.\.\. \(19 more\), c29;"):
        Sample.from_frame({"y": [0], **{f"c{i}": [0.5] for i in range(30)}}, y_true="y", y_prob="c*")
    with pytest.raises(ValueError, match="normalised"):
        Sample([0, 1], [[0.5, 0.6], [0.5, 0.5]])


def test_equal_names():
    with pytest.raises(ValueError, match="more than one column 'p'"):
        frame(pd.DataFrame([[0, 0.1, 0.2]], columns=["y", "p", "p"]), y_prob="p")


def test_text_among_probabilities():
    with pytest.raises(ValueError, match=r"column 'prob_a' holds the text 'oops' in row 2"):
        frame(COLUMNS | {"prob_a": ["0.5", 0.5, "oops"]})
    with pytest.raises(ValueError, match=r"column 'prob_a' holds the text '0.5' in row 0"):
        frame(COLUMNS | {"prob_a": np.array(["0.5", "0.5", "0.5"])})


def test_probabilities_of_different_length():
    with pytest.raises(ValueError, match="'prob_a' has 1 row and 'prob_b' has 3"):
        frame(COLUMNS | {"prob_a": [0.5]})


def test_labelled_matrix():
    data = xr.Dataset(
        {"y": ("row", ["cat", "dog"]), "p": (("row", "class"), [[0.25, 0.75], [0.5, 0.5]])},
        coords={"class": ["dog", "cat"], "row": [5, 6], "age": ("row", [1, 2])},
    )
    sample = Sample.from_frame(data, y_true="y", y_prob="p", variables="*")
    assert sample.labels == ("dog", "cat")
    assert sample.outcomes.tolist() == [1, 0]
    assert list(sample.predictions.variables) == ["age"]


# ---------------------------------------------------------------- delimited text


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.bz2", "a.csv.xz", "a.CSV", "a.b.csv"])
def test_csv(tmp_path, name):
    path = tmp_path / name
    pd.DataFrame(COLUMNS).to_csv(path, index=False)
    check(read(path, variables="age", sample_weight="w"))
    check(read(str(path), variables="age", sample_weight="w"))


@pytest.mark.parametrize(
    ("name", "mark"), [("a.tsv", "\t"), ("a.txt", "\t"), ("a.txt", ";"), ("a.csv", ";"), ("a.txt", ",")]
)
def test_delimiters(tmp_path, name, mark):
    check(read(written(tmp_path, TEXT.replace(",", mark), name), variables="age", sample_weight="w"))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(",", ", "),
        lambda text: text.replace("prob_a", '"prob_a"').replace("id", '"i,;;;;;;;;d"'),
        lambda text: text.rstrip("\n"),
    ],
    ids=["mark", "windows", "spaces", "quotes", "no end"],
)
def test_kinds_of_csv(tmp_path, monkeypatch, change):
    path = tmp_path / "a.csv"
    path.write_bytes(change(TEXT).encode())
    check(read(path, variables="age", sample_weight="w"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    check(read("-", variables="age", sample_weight="w"))


def test_text_on_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(TEXT))
    check(read("-", variables="age", sample_weight="w"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    threading.Thread(target=path.write_text, args=(TEXT,), daemon=True).start()
    check(read(path, variables="age", sample_weight="w"))


def test_only_named_columns_are_read(tmp_path, monkeypatch):
    seen = []
    original = pd.read_csv
    monkeypatch.setattr(pd, "read_csv", lambda *a, **k: seen.append(k.get("usecols")) or original(*a, **k))
    read(written(tmp_path, TEXT))
    assert sorted(seen[-1]) == [0, 1, 2, 3]  # an identifier is looked at
    read(written(tmp_path, TEXT.replace("id", "height")))
    assert sorted(seen[-1]) == [1, 2, 3]


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        ("1 0 1", [1, 0, 1]),
        ("1.0 0 1", [1, 0, 1]),
        ("True False True", [True, False, True]),
        ("NA None null", ["NA", "None", "null"]),
        ("1 0 x", ["1", "0", "x"]),
    ],
)
def test_labels_in_text(tmp_path, cells, labels):
    path = written(tmp_path, "y,p\n" + "".join(f"{cell},0.5\n" for cell in cells.split()))
    found = np.asarray(read(path, y_prob="p")["y_true"]).tolist()
    assert found == labels
    assert type(found[1]) in (type(labels[1]), float)


@pytest.mark.parametrize("cell", ["", "nan", "NaN"])
def test_missing_labels_in_text(tmp_path, cell):
    path = written(tmp_path, f"y,p\na,0.5\n{cell},0.5\nb,0.5\n")
    with pytest.raises(ValueError, match="row 1 of y_true"):
        Sample.read(path, y_true="y", y_prob="p")
    assert len(Sample.read(path, y_true="y", y_prob="p", nan_policy="omit")) == 2


@pytest.mark.parametrize("cell", ["", "nan", "NA", "None", "null", "<NA>"])
def test_missing_probabilities_in_text(tmp_path, cell):
    path = written(tmp_path, f"y,p\na,0.5\nb,{cell}\n")
    with pytest.raises(ValueError, match="row 1 of column 'p'"):
        Sample.read(path, y_true="y", y_prob="p")


def test_text_in_a_column_of_probabilities(tmp_path):
    with pytest.raises(ValueError, match="column 'prob_a' holds the text '0,5x' in row 1"):
        read(written(tmp_path, TEXT.replace("b,0.5", 'b,"0,5x"')))


def test_types_do_not_depend_on_the_place_in_the_file(tmp_path):
    n = 300_000
    path = written(tmp_path, "y,p\n" + "1,0.5\n" * n + "x,0.5\n")
    sample = Sample.read(path, y_true="y", y_prob="p")
    assert sample.labels == ("1", "x")
    assert sample.outcomes.sum() == 1


def test_values_are_read_exactly(tmp_path):
    values = np.random.default_rng(0).random(1000).tolist()
    path = written(tmp_path, "y,p\n" + "".join(f"1,{value!r}\n" for value in values))
    np.testing.assert_allclose(read(path, y_prob="p")["y_prob"], values, rtol=3e-16)


def test_event_by_column_name(tmp_path):
    path = written(tmp_path, "y,prob_0\n0,0.75\n1,0.5\n")
    sample = Sample.read(path, y_true="y", y_prob="prob_0")
    assert sample.labels == (1, 0)
    assert sample.predictions.event.tolist() == [0.75, 0.5]
    assert "P(label = 0)" in sample.predictions.source


# ---------------------------------------------------------------- other files


def test_npz(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, **COLUMNS, p=np.array([[0.5, 0.5]] * 3), odd=np.arange(7))
    check(read(path, variables="age", sample_weight="w"))
    taken = read(path, y_prob="p")
    assert taken["y_prob"].shape == (3, 2)
    assert taken["columns"] is None


def test_npz_runs_nothing(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, y=np.array([{}, {}]), p=np.ones(2))
    with pytest.raises(ValueError, match=r"cannot read .*a\.npz"):
        read(path, y_prob="p")


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    pd.DataFrame(COLUMNS).set_index("w").to_parquet(path)
    check(read(path, variables="age", sample_weight="w"))


def test_parquet_keeps_categories(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    sizes = pd.Categorical(["s", "l", "s"], categories=["s", "m", "l"])
    pd.DataFrame(COLUMNS | {"size": sizes}).to_parquet(path)
    sample = Sample.read(path, y_true="y", y_prob="prob_*", variables="size")
    assert sample.predictions.variables["size"].levels == ("s", "l")


@pytest.mark.parametrize(("name", "engine"), [("a.nc", "h5netcdf"), ("a.netcdf", "h5netcdf"), ("a.nc", "scipy")])
def test_netcdf(tmp_path, name, engine):
    pytest.importorskip("h5py" if engine == "h5netcdf" else "scipy")
    pytest.importorskip(engine)
    path = tmp_path / name
    xr.Dataset({key: ("row", np.array(values)) for key, values in COLUMNS.items()}).to_netcdf(path, engine=engine)
    check(read(path, variables="age", sample_weight="w"))


@pytest.mark.parametrize(("name", "module"), [("a.parquet", "pyarrow"), ("a.nc", "h5netcdf"), ("a.nc", "h5py")])
def test_without_the_extra(tmp_path, monkeypatch, name, module):
    monkeypatch.setattr(importlib.util, "find_spec", lambda each: None if each == module else each)
    with pytest.raises(ValueError, match=rf'needs {module}: pip install "calibstat\[files\]"'):
        read(written(tmp_path, "x", name))


GARBAGE = bytes(range(128, 256)) * 20
NOISE = np.random.Generator(np.random.PCG64(0)).bytes(10**5)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"y,p\n", "no rows"),
        ("a.csv", GARBAGE, "UTF-8"),
        ("a.csv", gzip.compress(TEXT.encode(), mtime=0), "UTF-8"),
        ("a.csv", b'y,p\n1,"2\n', "line 2: a value in quotation marks does not end: close it"),
        ("a.csv", b"y,p\n1,0.5,0.5\n", "line 2 has 3 values, 2 expected: the first line must name every column"),
        ("a.csv.gz", b"y,p\n", "damaged"),
        ("a.csv.gz", gzip.compress(NOISE, mtime=0)[:-500], "damaged|UTF-8"),
        ("a.npz", GARBAGE, "damaged, or no NPZ file; write one with numpy.savez$"),
        ("a.npz", b"", "damaged, or no NPZ file; write one with numpy.savez$"),
        ("a.npz", b"PK" + GARBAGE, "damaged, or no NPZ file; write one with numpy.savez$"),
        ("a.parquet", GARBAGE, "damaged"),
        ("a.nc", GARBAGE, "damaged|needs h5py"),
        ("a.nc", b"CDF", "damaged"),
        ("a.xlsx", b"x", r"none of \.csv"),
        ("a", b"x", r"none of \.csv"),
    ],
)
def test_unreadable(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=words) as caught:
        read(path, y_prob="p")
    assert type(caught.value) is ValueError
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("end", [".csv", ".npz"])
def test_an_interruption_is_none_of_the_file(tmp_path, monkeypatch, end):
    """Ctrl-C while a library is at work: pandas, for one, then says that reading has failed."""

    def interrupted(counter, block):
        if block:
            signal.raise_signal(signal.SIGINT)

    def swallow(path):
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise ValueError("the file is damaged")

    path = tmp_path / f"rows{end}"
    path.write_text(TEXT)
    monkeypatch.setattr("calibstat.data._line_counts.LineCounter.feed", interrupted)
    monkeypatch.setattr("calibstat.data.files._opened_npz", swallow)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        Sample.read(path, y_true="y", y_prob="prob_*")
    assert signal.getsignal(signal.SIGINT) is before is signal.default_int_handler


def test_the_system_says_no(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(np, "load", refuse)
    with pytest.raises(ValueError, match=r"cannot read .*a\.npz: Permission denied$"):
        read(written(tmp_path, "x", "a.npz"))


@pytest.mark.parametrize("content", [b"", b"\n", b"y,p\n", GARBAGE])
def test_unreadable_standard_input(monkeypatch, content):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    with pytest.raises(ValueError, match="cannot read standard input") as caught:
        read("-", y_prob="p")
    assert type(caught.value) is ValueError


@pytest.mark.parametrize(
    ("pack", "program"),
    [
        (gzip.compress, "zcat"),
        (bz2.compress, "bzcat"),
        (lzma.compress, "xzcat"),
        (partial(pa.compress, codec="zstd", asbytes=True), "zstdcat"),
    ],
)
def test_compressed_standard_input(monkeypatch, pack, program):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pack(TEXT.encode()))))
    with pytest.raises(ValueError, match=rf"it is compressed; write {program} file \| calibstat"):
        read("-")


def test_closed_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ValueError, match="cannot read standard input: it is closed"):
        read("-")


def test_nowhere(tmp_path):
    with pytest.raises(ValueError, match=r"cannot read .*no\.csv: there is no such file"):
        read(tmp_path / "no.csv")
    with pytest.raises(ValueError, match="is a folder"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.parquet", "a.nc"])
def test_missing_columns_in_files(tmp_path, name):
    path = tmp_path / name
    data = pd.DataFrame({"y": [0, 1], "q": [0.5, 0.5]})
    if name == "a.parquet":
        pytest.importorskip("pyarrow")
        data.to_parquet(path)
    elif name == "a.nc":
        pytest.importorskip("h5py")
        pytest.importorskip("h5netcdf")
        xr.Dataset(data).to_netcdf(path, engine="h5netcdf")
    else:
        data.to_csv(path, index=False) if name == "a.csv" else np.savez(path, **data)
    with pytest.raises(ValueError, match=r"no column 'p' in .*a\..*the columns are 'y', 'q'"):
        read(path, y_prob="p")


# ---------------------------------------------------------------- classifiers

X = np.array([[0.0], [1.0], [2.0], [3.0]])


@pytest.mark.parametrize("y", [[0, 1, 0, 1], [True, False, True, False], ["b", "a", "c", "a"], [0.0, 1.0, 1.0, 0.0]])
def test_estimators(y):
    model = LogisticRegression().fit(X, y)
    taken = estimator_arguments(model, X)
    assert taken["labels"] == sorted(set(y))
    np.testing.assert_array_equal(taken["y_prob"], model.predict_proba(X))
    sample = Sample.from_estimator(model, X, y)
    assert [sample.labels[column] for column in sample.outcomes] == y


def test_estimators_classes_decide():
    """A class that does not occur among the rows keeps its place."""
    model = LogisticRegression().fit(X, ["a", "b", "c", "a"])
    assert Sample.from_estimator(model, X[:2], ["c", "b"]).outcomes.tolist() == [2, 1]


def test_without_probabilities():
    with pytest.raises(TypeError, match=r"LinearSVC has no predict_proba.*CalibratedClassifierCV"):
        estimator_arguments(LinearSVC(), X)


def test_not_fitted():
    with pytest.raises(ValueError, match=r"LogisticRegression has no classes_: fit it.*CalibratedClassifierCV"):
        estimator_arguments(LogisticRegression(), X)


def test_not_fitted_says_the_model():
    class Lazy:
        classes_ = (0, 1)

        def predict_proba(self, X):
            raise NotFittedError("later")

    with pytest.raises(ValueError, match="Lazy is not fitted"):
        estimator_arguments(Lazy(), X)


def test_other_errors_of_a_model_pass():
    class Broken(DummyClassifier):
        classes_ = (0, 1)

        def predict_proba(self, X):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        estimator_arguments(Broken(), X)


def test_several_outputs():
    model = RandomForestClassifier(2, random_state=0).fit(X, np.array([[0, 1], [1, 0], [1, 1], [0, 0]]))
    with pytest.raises(ValueError, match="predicts 2 outputs"):
        estimator_arguments(model, X)


# ---------------------------------------------------------------- confidences


@pytest.mark.parametrize("correct", [[True, False], [1, 0], np.array([1.0, 0.0]), pd.Series([True, False])])
def test_confidences(correct):
    taken = confidence_arguments(correct, [0.9, 0.5])
    assert taken["labels"] == (False, True)
    assert Sample.from_confidence(correct, [0.9, 0.5]).outcomes.tolist() == [1, 0]


def test_missing_confidences():
    sample = Sample.from_confidence([1.0, np.nan, 0.0], [0.9, 0.5, 0.8], nan_policy="omit")
    assert sample.outcomes.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("correct", "confidence", "words"),
    [
        ([True, False], [[0.1, 0.9], [0.5, 0.5]], r"Sample\(y_true, y_prob\).*TopLabel\(\)"),
        ([3, 1], [0.1, 0.9], "other values than 0 and 1"),
        (["a", "b"], [0.1, 0.9], "correct holds text"),
        ([[True], [False]], [0.1, 0.9], "correct has shape"),
        ([True], [0.1, 0.9], "correct has 1 row and confidence has 2"),
        ([True, False], [0.1, 90.0], "divide by 100"),
        ([True, False], ["a", "b"], "text"),
    ],
)
def test_bad_confidences(correct, confidence, words):
    with pytest.raises(ValueError, match=words):
        Sample.from_confidence(correct, confidence)


# ---------------------------------------------------------------- files that would fill the memory


def hostile(path, shape, size=64, claimed=None):
    """An NPZ file whose columns claim a shape that their bytes do not fill."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("y", "p"):
            archive.writestr(f"{name}.npy", header.getvalue() + bytes(size))
    if claimed is not None:  # what the list of contents says
        content = path.read_bytes()
        true = struct.pack("<I", len(header.getvalue()) + size)
        path.write_bytes(content.replace(true, struct.pack("<I", claimed)))
    return path


@pytest.mark.parametrize(("shape", "claimed"), [((10**14,), None), ((10**6, 10**6), None), ((4 * 10**8,), 2**32 - 9)])
def test_headers_that_claim_more_than_there_is_are_refused_before_memory_is_asked_for(tmp_path, shape, claimed):
    with pytest.raises(
        ValueError, match=r"cannot read .*: it is damaged: 'y' claims to hold [\d.e+]+ GB, which are not"
    ):
        read(hostile(tmp_path / "x.npz", shape, claimed=claimed), y_prob="p")


def test_columns_beyond_the_memory_of_the_computer_are_refused(tmp_path, monkeypatch):
    """A file may well hold them: zeros are compressed a thousand times."""
    n = 1000
    np.savez_compressed(tmp_path / "x.npz", y=np.zeros(n), p=np.zeros(n))
    xr.Dataset({"y": ("row", np.zeros(n)), "p": ("row", np.zeros(n))}).to_netcdf(tmp_path / "x.nc")
    pd.DataFrame({"y": np.zeros(n), "p": np.zeros(n)}).to_parquet(tmp_path / "x.parquet")
    pd.DataFrame({"y": np.zeros(n), "p": np.zeros(n)}).to_csv(tmp_path / "x.csv", index=False)
    monkeypatch.setattr(files, "_LARGE_TEXT", 1)
    needed = {"npz": "1.6", "nc": "1.6", "parquet": "6", "csv": "6.0.*"}
    names = [tmp_path / f"x.{end}" for end in needed]
    assert all(len(read(name, y_prob="p")["y_true"]) == n for name in names)
    with monkeypatch.context() as changed:
        changed.setattr(files, "_memory", lambda: (1e9, 1e4))
        for name in names:
            with pytest.warns(UserWarning, match=r"but 1e-05 GB of memory are free, .*Ledger.collect"):
                read(name, y_prob="p")
    monkeypatch.setattr(os, "sysconf", lambda name: 100)
    for name, size in zip(names, needed.values(), strict=True):
        with pytest.raises(ValueError, match=rf"columns need {size}e-05 GB, but this computer has 1e-05 GB of memory"):
            read(name, y_prob="p")


def test_a_container_may_have_less_memory_than_its_computer(monkeypatch):
    said = {"memory.max": "5000000", "memory.limit_in_bytes": "", "meminfo": "MemTotal: 9 kB\nMemAvailable:    3 kB\n"}
    monkeypatch.setattr(files, "_text_of", lambda place: said[place.name])
    assert files._memory() == (5e6, 3 * 1024)
    said["memory.max"], said["meminfo"] = "max", ""
    assert files._memory()[0] > 5e6
    assert files._memory()[1] == np.inf


def test_a_single_array_is_no_file_of_columns(tmp_path):
    with (tmp_path / "x.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ValueError, match=r"it holds a single array without a name; save it with numpy.savez"):
        read(tmp_path / "x.npz")


class Endless(io.RawIOBase):
    """A stream that begins, then gives the same piece again and again, and counts what was taken."""

    def __init__(self, start, piece):
        self.left, self.piece, self.taken = start, piece, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        self.left = self.left or self.piece
        n = min(len(buffer), len(self.left))
        buffer[:n], self.left = self.left[:n], self.left[n:]
        self.taken += n
        return n


@pytest.mark.parametrize(
    ("start", "piece", "line"),
    [(b"", bytes(1000), 1), (b"y,p\n1,0.5\n", b"1" * 1000, 3), (b'y,p\n1,"', b"1,0.5\n" * 100, 2)],
    ids=["first line", "line of the body", "quotation mark"],
)
def test_lines_without_an_end_are_refused(monkeypatch, start, piece, line):
    """As those of /dev/zero, or gigabytes of a compressed file: nobody waits until memory is full."""
    monkeypatch.setattr(files, "LONGEST", 1 << 20)
    monkeypatch.setattr(line_counts, "LONGEST", 1 << 20)
    endless = Endless(start, piece)
    asked = {"y_true": "y", "y_prob": "p", "variables": None, "sample_weight": None}
    with pytest.raises(
        ValueError, match=rf"line {line}( is longer than \d+ MiB:|: a value in quotation marks does not end)"
    ):
        read_stream(io.BufferedReader(endless), lambda names: select(names, **asked, where="it"))
    assert endless.taken < 1 << 22


def test_a_table_whose_lines_end_in_carriage_returns_may_be_longer_than_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST", 100)
    text = "y,p\r" + "".join(f"{k % 2},0.{k}\r" for k in range(100, 900))
    (tmp_path / "x.csv").write_bytes(text.encode())
    expected = [float(f"0.{k}") for k in range(100, 900)]
    assert np.asarray(read(tmp_path / "x.csv", y_prob="p")["y_prob"]).tolist() == expected


def test_what_does_not_fit_into_memory_is_said_with_the_name_of_the_file(tmp_path, monkeypatch):
    def full(*arguments):
        raise MemoryError

    monkeypatch.setitem(files.READERS, ".csv", full)
    with pytest.raises(MemoryError, match=r"cannot read .*x.csv: it does not fit into memory; pass fewer rows"):
        read(written(tmp_path, TEXT, "x.csv"))


def test_every_number_is_read_as_it_was_written(tmp_path):
    """Older versions of pandas miss the last digit of a third of all numbers unless they are told not to."""
    p = np.random.default_rng(0).random(5000)
    pd.DataFrame({"y": 0, "p": p}).to_csv(tmp_path / "x.csv", index=False)
    np.testing.assert_array_equal(read(tmp_path / "x.csv", y_prob="p")["y_prob"], p)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("0,5", "a decimal point, not a comma"),
        ("15.0 %", "these are percentages; pass shares"),
        ("0.5x", "pass numbers"),
    ],
)
def test_numbers_in_another_notation_are_named(tmp_path, text, advice):
    file = tmp_path / "written.csv"
    file.write_text(f"label;p\n0;{text}\n1;{text}\n")
    with pytest.raises(ValueError, match=advice):
        Sample.read(file, y_true="label", y_prob="p")


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_an_integer_that_no_float_holds_is_infinite(tmp_path, value):
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"y": 0, "p": 0.5, "x": {value}}}\n{{"y": 1, "p": 0.5, "x": 0.5}}\n')
    with pytest.raises(ValueError, match="variable 'x' is infinite in row 0"):
        Sample.read(path, y_true="y", y_prob="p", variables="x")


def test_what_is_wrong_with_rows_names_their_file(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y,p\n0,0.5\n1,1.5\n")
    with pytest.raises(ValueError, match=r"rows\.csv: column 'p' has values outside \[0, 1\]"):
        Sample.read(path, y_true="y", y_prob="p")


def test_a_damaged_file_of_netcdf_4_leaves_nothing_on_the_screen(tmp_path, capsys):
    path = tmp_path / "rows.nc"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + b"\x00" * 100)
    with pytest.raises(ValueError, match=r"cannot read .*rows\.nc: it is damaged"):
        Sample.read(path, y_true="y", y_prob="p")
    gc.collect()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["", ".", "file"])
def test_a_name_that_occurs_in_the_reason_is_said_all_the_same(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"cannot read {re.escape(name or repr(name))}: "):
        Sample.read(name, y_true="y", y_prob="p")
