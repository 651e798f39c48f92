"""Commands that are interrupted or told to end at random moments: whole files, none of their own beside them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

import calibstat as cs
from calibstat._files import Interrupts
from calibstat.cli.main import main
from calibstat.sweeps.store import read
from faults import victims
from suites import slow_but
from sweeps.comparing import assert_same_bits
from sweeps.test_command_line import STUDY
from sweeps.test_store import finished, wait_until

ROWS = ["rows.csv", "--label", "y", "--probs", "p"]
# What is run, and which files it writes; the state of a monitor is not there before.
COMMANDS = {
    "calibrate": (
        ["calibrate", *ROWS, "--calibrator", "isotonic", "--out", "out.csv", "--save", "fitted.json"],
        ["out.csv", "fitted.json"],
    ),
    "monitor": (["monitor", *ROWS, "--order", "t", "--state", "new.npz"], ["new.npz"]),
    "report": (["report", "found.json", "-o", "report.html"], ["report.html"]),
    "test": (["test", *ROWS, "--plot", "picture.png"], ["picture.png"]),
}
CODES = {signal.SIGINT: {130}, signal.SIGTERM: {143, -signal.SIGTERM}}  # the latter before the command has begun


@pytest.fixture
def folder(tmp_path):
    victims.file_of_rows(0, tmp_path / "rows.csv")
    victims.report(0).save(tmp_path / "found.json")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "n_ends"), slow_but([("calibrate", 2)], [("calibrate", 2), *((name, 15) for name in COMMANDS)])
)
def test_a_command_that_is_ended_leaves_whole_files(folder, name, n_ends):
    arguments, written = COMMANDS[name]
    old = {each: b"old" for each in written if not each.startswith("new")}
    names, rng = {each.name for each in folder.iterdir()} | {*written}, np.random.default_rng(20261124)
    for _ in range(2):  # the first one also starts what the others are copied from
        for each in written:
            (folder / each).unlink(missing_ok=True)
        began = time.perf_counter()
        assert victims.command_ended_at_random(rng, 0, 0, arguments, folder) in (0, 3)  # 0 is no signal
    seconds, ended = time.perf_counter() - began, 0
    whole = {each: (folder / each).read_bytes() for each in written}
    while ended < n_ends:
        for each in written:
            (folder / each).unlink(missing_ok=True)
            if each in old:
                (folder / each).write_bytes(old[each])
        how = list(CODES)[int(rng.integers(2))]
        code = victims.command_ended_at_random(rng, how, seconds, arguments, folder)
        assert code in {0, 3} | CODES[how]
        ended += code not in (0, 3)
        for each in written:
            found = (folder / each).read_bytes() if (folder / each).exists() else None
            assert found in (old.get(each), whole[each])
        assert {each.name for each in folder.iterdir()} <= names


def test_sigterm_is_called_by_its_name(capsys, monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("calibstat.cli.estimators.run", lambda _: signal.raise_signal(signal.SIGTERM))
    assert main(["estimators"]) == 143
    assert capsys.readouterr().err == "calibstat: terminated\n"
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("moment", ["__enter__", "no_more"])
def test_a_signal_that_comes_where_a_command_begins_or_ends_is_told(capsys, monkeypatch, moment):
    before, coming = [signal.getsignal(each) for each in CODES], iter([signal.SIGTERM])
    begin, end = Interrupts.__enter__, Interrupts.no_more

    def begun(interrupts):
        begin(interrupts)
        for number in coming:
            signal.raise_signal(number)

    def ended(interrupts):
        for number in coming:
            signal.raise_signal(number)
        end(interrupts)

    monkeypatch.setattr(Interrupts, moment, begun if moment == "__enter__" else ended)
    assert main(["estimators"]) == 143
    assert capsys.readouterr().err == "calibstat: terminated\n"
    assert [signal.getsignal(each) for each in CODES] == before


def test_a_second_sigterm_ends_a_command_at_once(tmp_path, monkeypatch):
    """The first one may have come where Python cannot raise an exception."""

    def deaf(_):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("calibstat.cli.estimators.run", deaf)
    process = victims.started(main, ["estimators"])  # a copy of this process
    process.join(60)
    assert process.exitcode == -signal.SIGTERM


@pytest.mark.slow
def test_a_sweep_that_is_told_to_end_ends_its_workers_and_goes_on_later(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY.replace("n_repeats = ", "n_repeats = 1000"))
    command = [sys.executable, "-W", "ignore", "-m", "calibstat", "sweep", "study.toml", "--store", "kept.zarr"]
    with subprocess.Popen([*command, "--workers", "2"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: finished(tmp_path / "kept.zarr") >= 1)
        workers = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        said = process.communicate(timeout=120)[1]
    assert len(workers) >= 2
    assert process.returncode == 143
    assert said.splitlines()[-1] == (
        "calibstat: terminated: finished blocks are kept in kept.zarr; continue with --resume"
    )
    assert not psutil.wait_procs(workers, timeout=60)[1]
    assert finished(tmp_path / "kept.zarr") >= 1


@pytest.mark.parametrize("n_ends", slow_but([], [6]))
def test_a_sweep_that_is_ended_again_and_again_has_the_same_bits(tmp_path, n_ends):
    (tmp_path / "study.toml").write_text(STUDY)
    assert main(["sweep", str(tmp_path / "study.toml"), "--store", str(tmp_path / "whole.zarr")]) == 0
    arguments = ["sweep", "study.toml", "--store", "kept.zarr", "--resume"]
    rng = np.random.default_rng(20261124)
    for _ in range(n_ends):
        how = list(CODES)[int(rng.integers(2))]
        assert victims.command_ended_at_random(rng, how, 1, arguments, tmp_path) in {0} | CODES[how]
    victims.started(victims.command, arguments, tmp_path).join(120)
    assert_same_bits(read(tmp_path / "whole.zarr").load(), read(tmp_path / "kept.zarr").load())
    assert {each.name for each in tmp_path.iterdir()} == {"study.toml", "whole.zarr", "kept.zarr"}


def test_two_reports_on_one_file(folder):
    """Both end well, and the page is that of one of them."""
    victims.report(1).save(folder / "other.json")
    pages = [victims.report(which).to_html() for which in (0, 1)]
    both = [
        victims.started(victims.command, ["report", source, "-o", "page.html"], folder)
        for source in ("found.json", "other.json")
    ]
    for process in both:
        process.join(120)
    assert [process.exitcode for process in both] == [0, 0]
    assert (folder / "page.html").read_text(encoding="utf-8") in pages
    assert not list(folder.glob(".calibstat-*"))


def test_a_file_that_changes_while_it_is_read_twice_is_refused(folder, monkeypatch, capsys):
    """Rows and their other columns would come from different files."""
    from calibstat.cli import calibrate

    read_others = calibrate.other_columns

    def replaced(*arguments):
        victims.file_of_rows(0, folder / "new.csv")
        (folder / "new.csv").replace(folder / "rows.csv")
        return read_others(*arguments)

    monkeypatch.chdir(folder)
    monkeypatch.setattr(calibrate, "other_columns", replaced)
    assert main(COMMANDS["calibrate"][0]) == 2
    assert "rows.csv was changed while it was read: try again when it stays as it is" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()


def test_a_damaged_report_is_named(folder, capsys):
    content = (folder / "found.json").read_text(encoding="utf-8")
    (folder / "found.json").write_text(content.replace("Report 0", "Report 8"), encoding="utf-8")
    assert main(["report", str(folder / "found.json"), "-o", str(folder / "page.html")]) == 2
    said = capsys.readouterr().err
    assert "found.json: the report is damaged, or was changed after it was written" in said
    assert "make it anew" in said
    assert "checksum" not in cs.Report.from_json(content).document
