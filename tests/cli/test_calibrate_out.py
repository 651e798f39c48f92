"""Where ``calibstat calibrate`` writes to: plain or compressed, as the name says."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

OPENED = {".csv": open, ".csv.gz": gzip.open, ".csv.bz2": bz2.open, ".csv.xz": lzma.open, ".CSV.GZ": gzip.open}


def command(path, out):
    return ("calibrate", path, "--label", "y", "--probs", "p", "--calibrator", "platt", "--out", out)


@pytest.mark.parametrize("end", OPENED)
def test_the_file_is_what_its_name_says(run, binary, tmp_path, end):
    plain, packed = tmp_path / "plain.csv", tmp_path / f"calibrated{end}"
    assert run(*command(binary, plain))[0] == 0
    assert run(*command(binary, packed))[0] == 0
    with OPENED[end](packed, "rb") as file:
        assert file.read() == plain.read_bytes()
    code, out, _ = run("test", packed, "--label", "y", "--probs", "prob_*", "--n-resamples", "19")
    assert code == 0
    assert "(n = 300" in out


def test_rows_that_were_read_compressed_are_written_compressed(run, binary, tmp_path):
    packed = tmp_path / "rows.csv.gz"
    packed.write_bytes(gzip.compress(Path(binary).read_bytes()))
    for given, out in ((binary, "a.csv.gz"), (packed, "b.csv.gz")):
        assert run(*command(given, tmp_path / out))[0] == 0
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == gzip.decompress(
        (tmp_path / "b.csv.gz").read_bytes()
    )


@pytest.mark.parametrize("end", OPENED)
def test_the_same_rows_are_the_same_file(run, binary, tmp_path, end):
    for name in ("a", "b"):
        assert run(*command(binary, tmp_path / f"{name}{end}"))[0] == 0
    assert (tmp_path / f"a{end}").read_bytes() == (tmp_path / f"b{end}").read_bytes()


@pytest.mark.parametrize("name", ["x.csv.zip", "x.parquet", "x.npz", "x.csv.zst", "x.nc.gz", "x.xlsx", "x.gz", "x"])
def test_other_kinds_of_files_are_refused_before_anything_is_read(run, tmp_path, name):
    code, out, err = run(*command("nowhere.csv", tmp_path / name))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "rows are written as CSV; let the name end in one of .csv, .csv.gz, .csv.bz2, .csv.xz" in err
    assert not (tmp_path / name).exists()


def test_a_place_that_is_not_there_is_refused_before_anything_is_read(run, tmp_path):
    no = tmp_path / "no"
    for options in (command("nowhere.csv", no / "x.csv"), (*command("nowhere.csv", "x.csv"), "--save", no / "x.json")):
        code, out, err = run(*options)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "which is no folder" in err
