"""Lines with too many or too few values."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import warnings
import zipfile
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from calibstat.data import _line_counts as line_counts
from calibstat.data._line_counts import CountedLines
from calibstat.data.sample import Sample

LONG = b"y,p_0,p_1\n0,.5,.5\n1,.5,.5,.7\n1,.3,.7\n"


def sample(path):
    return Sample.read(path, y_true="y", y_prob="p_*")


def zipped(content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.csv", content)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.csv", bytes),
        ("a.csv.gz", gzip.compress),
        ("a.csv.bz2", bz2.compress),
        ("a.csv.xz", lzma.compress),
        ("a.csv.zst", partial(pa.compress, codec="zstd", asbytes=True)),
        ("a.csv.zip", zipped),
    ],
)
def test_too_many_values_in_a_file(tmp_path, name, pack):
    path = tmp_path / name
    path.write_bytes(pack(LONG))
    with pytest.raises(ValueError, match=r"cannot read .*a\.csv.*: line 3 has 4 values, 3 expected(: numbers|$)"):
        sample(path)
    path.write_bytes(pack(LONG.replace(b",.7\n1", b"\n1")))
    assert sample(path).outcomes.tolist() == [0, 1, 1]


def test_too_many_values_on_standard_input(monkeypatch):
    for stream in (io.TextIOWrapper(io.BytesIO(LONG)), io.StringIO(LONG.decode())):
        monkeypatch.setattr("sys.stdin", stream)
        with pytest.raises(
            ValueError,
            match=r"cannot read standard input: line 3 has 4 values, 3 expected(: numbers|$)",
        ):
            sample("-")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("y,p_0,p_1\r\n0,.5,.5\r\n1,.5,.5,.7\r\n", 3),
        ("y,p_0,p_1\r0,.5,.5\r1,.5,.5,.7\r", 3),
        ("y,p_0,p_1\n0,.5,.5\n1,.5,.5,.7", 3),
        ("\n\ny,p_0,p_1\n0,.5,.5\n\n1,.5,.5,.7\n", 6),
        ("y;p_0;p_1\n0;.5;.5\n1;.5;.5;.7\n", 3),
        ('y,p_0,p_1\n"a,b",.5,.5\n"c",.5,.5,.7\n', 3),
        ('y,p_0,p_1\n"a\nb",.5,.5\n"c",.5,.5,.7\n', 4),
        ('y,p_0,p_1\n"a"",b",.5,.5\nc,.5,.5,.7\n', 3),
        ('y,p_0,p_1\n5",.5,.5\n6",.5,.5,.7\n', 3),
        ("y,p_0,p_1\n0,.5,.5\n1,.5,.5,,.7\n", 3),
    ],
)
def test_which_line(tmp_path, text, line):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    with pytest.raises(ValueError, match=f"line {line} has [45] values, 3 expected(: numbers|$)"):
        sample(path)


@pytest.mark.parametrize(
    "text",
    [
        'y,p_0,p_1\n"a,b",.5,.5\nc,.5,.5\n',
        'y,p_0,p_1\n"a\n,,,,\nb",.5,.5\nc,.5,.5\n',
        'y,p_0,p_1\n"a"",,,""",.5,.5\nc,.5,.5\n',
        'y,p_0,p_1\n"a, b", ".5", .5\n c, .5, .5\n',
        "y,p_0,p_1,\na,.5,.5,\nc,.5,.5,\n",
        "y,p_0,p_1\na,.5,.5,\nc,.5,.5,,,\n",
        "y,p_0,p_1\na,.5,.5\n\nc,.5,.5\n\n",
    ],
)
def test_what_is_no_value_too_many(tmp_path, text):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "(?s).*their names spell no labels")
        assert sample(path).outcomes.tolist() == [0, 1]


def test_names_of_rows_without_a_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y,p_0,p_1\n1,0,.5,.5\n")
    with pytest.raises(ValueError, match="line 2 has 4 values, 3 expected: the first line must name every column"):
        sample(path)


def test_too_few_values_are_missing_and_the_line_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y,p_0,p_1\n0,.5,.5\n1\n1,.5\n1,.3,.7\n")
    with pytest.warns(UserWarning, match="line 3 has 1 value, 3 expected: the values that are not there") as caught:
        found = Sample.read(path, y_true="y", y_prob="p_*", nan_policy="omit")
    assert len(found) == 2
    assert len(caught) == 1


def records(rng, n):
    """Rows of three values, of which some hold everything that a value in quotation marks may."""
    texts = ["a", "b c", 'say "no"', "one, two", "two\nlines", "", "é"]
    return [[texts[i], "0.5", texts[j]] for i, j in rng.integers(0, len(texts), (n, 2))]


def as_bytes(rows, quoting, end):
    stream = io.StringIO(newline="")
    csv.writer(stream, quoting=quoting, lineterminator=end).writerows(rows)
    return stream.getvalue().encode()


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_blocks_of_any_size_agree_with_the_csv_module(monkeypatch, quoting, end, size):
    """Whatever is cut where: the record that is too long is found, and no other."""
    monkeypatch.setattr(line_counts, "BLOCK", size)
    rng = np.random.default_rng(0)
    rows = records(rng, 60)
    content = as_bytes(rows, quoting, end)
    assert CountedLines(io.BytesIO(content), ",", 3, 2).read() == content
    rows[41] = [*rows[41], "x"]
    content = as_bytes(rows, quoting, end)
    line = 2 + as_bytes(rows[:41], quoting, end).count(b"\n")
    with pytest.raises(ValueError, match=f"line {line} has 4 values, 3 expected"):
        CountedLines(io.BytesIO(content), ",", 3, 2).read()


@pytest.mark.parametrize("size", [7, 1 << 18])
@pytest.mark.parametrize("place", [2, 40, 61])
@pytest.mark.parametrize("text", ['"yes,0.5', 'yes,"0.5', '"y""es,0.5', '"yes"'])
def test_a_quotation_mark_that_is_not_closed_is_found_in_its_line(tmp_path, monkeypatch, text, place, size):
    monkeypatch.setattr("calibstat.data._line_counts.BLOCK", size)
    monkeypatch.setattr("calibstat.data.files.BLOCK", size)
    lines = ["y,p", *(["yes,0.8", "no,0.3"] * 30)]
    lines[place - 1] = text if text != '"yes"' else '"yes",0.5'
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines))
    if text == '"yes"':  # the negative control
        assert len(Sample.read(path, y_true="y", y_prob="p")) == 60
        return
    with pytest.raises(ValueError, match=rf"line {place}: a value in quotation marks does not end: close it") as found:
        Sample.read(path, y_true="y", y_prob="p")
    assert "token" not in str(found.value)


def test_a_quotation_mark_that_is_never_closed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('y,p_0,p_1\n0,.5,.5\n"1,.5,.5\n' + "1,.5,.5\n" * 50_000)
    with pytest.raises(ValueError, match="line 3: a value in quotation marks does not end"):
        sample(path)
