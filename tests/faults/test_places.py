"""Places where nothing can be written are refused in one line before the work begins, by every command that writes."""

from __future__ import annotations

import errno
import os

import pytest

from calibstat._files import check_writable
from calibstat.cli.main import main
from faults import victims

WRITING = {
    "test --plot": (["test", "rows.csv", "--plot"], ".png"),
    "calibrate --out": (["calibrate", "rows.csv", "--calibrator", "platt", "--out"], ".csv.gz"),
    "calibrate --save": (["calibrate", "rows.csv", "--calibrator", "platt", "--out", "out.csv", "--save"], ".json"),
    "monitor --state": (["monitor", "rows.csv", "--order", "t", "--state"], ".npz"),
    "report -o": (["report", "rows.csv", "-o"], ".html"),
}
PLACES = {
    "in no folder": lambda suffix: f"nowhere/x{suffix}",
    "under a file": lambda suffix: f"rows.csv/x{suffix}",
    "a folder": lambda suffix: f"folder{suffix}",
    "a link to nowhere": lambda suffix: f"link{suffix}",
    "too long": lambda suffix: "x" * 300 + suffix,
    "no disk": lambda suffix: f"/proc/x{suffix}",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    victims.file_of_rows(0, tmp_path / "rows.csv")
    for _, suffix in WRITING.values():
        (tmp_path / f"folder{suffix}").mkdir()
        (tmp_path / f"link{suffix}").symlink_to(f"nowhere/x{suffix}")
    return tmp_path


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("writing", WRITING)
def test_nothing_is_computed_nor_left(writing, place, folder, capsys, monkeypatch):
    def computed(*_, **__):
        raise AssertionError("the work has begun")

    monkeypatch.setattr("calibstat.Sample.__init__", computed)
    monkeypatch.setattr("calibstat.Monitor.update", computed)
    before = sorted(folder.rglob("*"))
    command, suffix = WRITING[writing]
    code = main([*command[:2], "--label", "y", "--probs", "p", *command[2:], PLACES[place](suffix)])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("calibstat: error: ")
    assert "name a file in a folder that is there" in err or "may not be written" in err
    assert sorted(folder.rglob("*")) == before


def test_the_reason_is_said(tmp_path, monkeypatch):
    def read_only(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("os.open", read_only)
    with pytest.raises(ValueError, match=r"may not be written \(Read-only file system\); name another file"):
        check_writable(tmp_path / "x.csv")


def test_a_link_in_a_circle_is_replaced(folder):
    (folder / "circle.npz").symlink_to("circle.npz")
    victims.monitor(0).save(folder / "circle.npz")
    assert victims.READERS["monitor.npz"](folder / "circle.npz") == victims.monitor(0).to_dict()
