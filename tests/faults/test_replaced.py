"""A file that another one replaces while it is read is read as it was; rights that are lost are told."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibstat as cs
from calibstat.data import files
from faults import victims
from suites import slow_but

NOBODY = 65534


def table(n, share):
    return pd.DataFrame({"y": np.arange(n) % 2, "p": np.full(n, share)})


def write(path, n, share):
    """Write a table where another one may be read, and move it there."""
    new = path.with_name(f"new{path.suffix}")
    if path.suffix == ".parquet":
        table(n, share).to_parquet(new, row_group_size=50)
    elif path.suffix == ".nc":
        table(n, share).to_xarray().to_netcdf(new, engine="h5netcdf")
    elif path.suffix == ".npz":
        np.savez(new, **{name: each.to_numpy() for name, each in table(n, share).items()})
    else:
        table(n, share).to_csv(new, index=False)
    new.replace(path)


@pytest.mark.parametrize("suffix", [".parquet", ".nc", ".npz", ".csv"])
def test_a_file_that_is_replaced_is_read_as_it_was(tmp_path, monkeypatch, suffix):
    """It is replaced when its names are known, and its values are not."""
    path = tmp_path / f"rows{suffix}"
    write(path, 200, 0.25)
    select = files.select

    def replaced(*arguments, **named):
        write(path, 90, 0.75)
        return select(*arguments, **named)

    monkeypatch.setattr(files, "select", replaced)
    sample = cs.Sample.read(path, y_true="y", y_prob="p")
    assert (len(sample), *np.unique(sample.predictions.event)) == (200, 0.25)
    monkeypatch.undo()
    again = cs.Sample.read(path, y_true="y", y_prob="p")
    assert (len(again), *np.unique(again.predictions.event)) == (90, 0.75)


def refused_without_rights(write, path):
    """Write where one has no right to; end with 0 if that is refused with the reason and the name of the file."""
    os.chdir(path.parent)
    if os.getuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    try:
        write(Path(path.name))
    except (OSError, ValueError) as error:
        if "Permission denied" in str(error) and path.name in str(error):
            return
        raise
    raise AssertionError("it was written")


@pytest.mark.parametrize("kind", slow_but(["monitor.npz"], victims.WRITERS))
def test_rights_that_are_lost_are_told_and_the_old_file_stays(kind):
    folder = Path(tempfile.mkdtemp())
    try:
        path, write = folder / kind, victims.WRITERS[kind](1, folder)
        write(path)  # what is loaded when it is first used is loaded before rights are lost
        victims.WRITERS[kind](0, folder)(path)
        before = path.read_bytes()
        folder.chmod(0o555)
        process = victims.started(refused_without_rights, write, path)
        process.join(120)
        assert process.exitcode == 0
        assert path.read_bytes() == before
        assert [each.name for each in folder.iterdir()] == [kind]
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)
