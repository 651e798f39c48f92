"""Ctrl-C ends a command with one line and code 130, whatever it was doing, and leaves no half-written file."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest
import zarr

from calibstat._files import written_whole
from calibstat.cli.main import main
from calibstat.monitoring.monitor import Monitor


def swallow(arguments):
    """Do as parsers written in C: an interruption becomes an error of the file."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise ValueError("the file is damaged") from None


def obey(arguments):
    signal.raise_signal(signal.SIGINT)


def fail(arguments):
    raise ValueError("the file is damaged")


@pytest.mark.parametrize(
    ("run", "code", "said"),
    [
        (swallow, 130, "calibstat: interrupted\n"),
        (obey, 130, "calibstat: interrupted\n"),
        (fail, 2, "calibstat: error: the file is damaged\n"),
    ],
)
def test_an_interruption_is_called_by_its_name(monkeypatch, capsys, run, code, said):
    monkeypatch.setattr("calibstat.cli.estimators.run", run)
    before = signal.getsignal(signal.SIGINT)
    assert main(["estimators"]) == code
    assert capsys.readouterr().err == said
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_a_file_is_written_whole_or_not_at_all(tmp_path, error):
    (tmp_path / "plan.csv").write_text("old")

    def stop():
        with written_whole(tmp_path / "plan.csv") as place:
            place.write_text("half of the ne")
            raise error

    with pytest.raises(error):
        stop()
    assert [each.name for each in tmp_path.iterdir()] == ["plan.csv"]
    assert (tmp_path / "plan.csv").read_text() == "old"


def test_an_interrupted_save_leaves_the_old_state(tmp_path, monkeypatch):
    monitor = Monitor()
    monitor.update([0.2, 0.4], [0, 1])
    monitor.save(tmp_path / "m.state")
    before = (tmp_path / "m.state").read_bytes()
    monitor.update([0.3], [1])

    def stop(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("numpy.savez", stop)
    with pytest.raises(KeyboardInterrupt):
        monitor.save(tmp_path / "m.state")
    assert [each.name for each in tmp_path.iterdir()] == ["m.state"]
    assert (tmp_path / "m.state").read_bytes() == before


def test_what_is_no_file_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with written_whole(tmp_path / "pipe") as place:
        assert place == tmp_path / "pipe"
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with written_whole(tmp_path / "link") as place:
        place.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"


def test_two_that_write_the_same_file_both_end_and_it_is_whole(tmp_path):
    with written_whole(tmp_path / "x.csv") as first:
        first.write_text("first, half")
        with written_whole(tmp_path / "x.csv") as second:
            second.write_text("second")
        assert (tmp_path / "x.csv").read_text() == "second"
        first.write_text("first")
    assert (tmp_path / "x.csv").read_text() == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["x.csv"]


def test_other_files_of_the_user_are_left_alone(tmp_path):
    for name in ("x.partial.csv", ".x.csv", "x.csv.tmp"):
        (tmp_path / name).write_text("mine")
    with written_whole(tmp_path / "x.csv") as place:
        place.write_text("new")
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {
        "x.partial.csv": "mine",
        ".x.csv": "mine",
        "x.csv.tmp": "mine",
        "x.csv": "new",
    }


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, mode):
    (tmp_path / "x.csv").write_text("old")
    (tmp_path / "x.csv").chmod(mode)
    with written_whole(tmp_path / "x.csv") as place:
        assert place.stat().st_mode & 0o777 & ~mode == 0  # nor can others read it on the way
        place.write_text("new")
    assert (tmp_path / "x.csv").stat().st_mode & 0o777 == mode


def test_a_new_file_has_the_mode_of_other_new_files(tmp_path):
    (tmp_path / "plain").write_text("")
    with written_whole(tmp_path / "x.csv") as place:
        place.write_text("new")
    assert (tmp_path / "x.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_that_is_not_there_is_called_by_the_name_of_the_file(tmp_path):
    with pytest.raises(FileNotFoundError) as refused, written_whole(tmp_path / "no" / "x.csv"):
        pass
    assert refused.value.filename == str(tmp_path / "no" / "x.csv")


@pytest.mark.slow
def test_two_commands_with_one_output_at_a_time(tmp_path):
    """All end well, and the file is that of one of them."""
    rows = [f"{k % 2},{(k % 10 + 0.5) / 10}" for k in range(20_000)]
    (tmp_path / "in.csv").write_text("\n".join(["y,p", *rows]))
    command = [sys.executable, "-m", "calibstat", "calibrate", "in.csv", "--label", "y", "--probs", "p"]
    command += ["--calibrator", "platt", "--seed"]

    def start(seed, out):
        return subprocess.Popen([*command, seed, "--out", out], cwd=tmp_path)

    alone = [start(seed, f"alone{seed}.csv") for seed in "12"]
    assert [each.wait(60) for each in alone] == [0, 0]
    together = [start(seed, "out.csv") for seed in "1212"]
    assert [each.wait(60) for each in together] == [0] * 4
    assert (tmp_path / "out.csv").read_bytes() in [(tmp_path / f"alone{seed}.csv").read_bytes() for seed in "12"]
    assert len(list(tmp_path.iterdir())) == 4


def test_an_interrupted_calibrate_leaves_no_half_of_a_file(tmp_path, monkeypatch, capsys):
    rows = [f"{k % 2},{(k % 10 + 0.5) / 10}" for k in range(200)]
    (tmp_path / "in.csv").write_text("\n".join(["y,p", *rows]))

    class Half:
        def __init__(self, file):
            self.file = file

        def writerow(self, row):
            self.file.write("row,y")

        def writerows(self, rows):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("calibstat.cli.calibrate.csv.writer", Half)
    paths = {name: str(tmp_path / name) for name in ("in.csv", "out.csv.gz")}
    command = ["calibrate", paths["in.csv"], "--label", "y", "--probs", "p", "--calibrator", "platt"]
    assert main([*command, "--out", paths["out.csv.gz"]]) == 130
    assert capsys.readouterr().err == "calibstat: interrupted\n"
    assert [each.name for each in tmp_path.iterdir()] == ["in.csv"]


STUDY = """\
seed = 3
n_repeats = 4000
n = [20000]
[models]
off = "GaussianMixture(beta0=1, beta1=1)"
[tests]
Kuiper = { statistic = "Kuiper()", null = "Consistency(99)" }
"""


def on_a_terminal(command, folder, after):
    """Run a command on a terminal, press Ctrl-C once the pattern is on it.

    Returns its process, code, seconds of work after that (of processors, however busy they are), and what it said.
    """
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "calibstat", *command],
        cwd=folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    said, pressed, end, before = "", None, time.monotonic() + 120, seconds_of_children()
    try:
        while time.monotonic() < end:
            if select.select([ours], [], [], 0.05)[0]:
                try:
                    found = os.read(ours, 65536)
                except OSError:  # the terminal is closed
                    break
                said += found.decode(errors="replace")
            if pressed is None and re.search(after, said):
                # To all processes of the terminal, as the keyboard does.
                pressed = seconds_of_group(process.pid)
                os.killpg(process.pid, signal.SIGINT)
        code = process.wait(timeout=120)
    finally:
        process.kill()
        os.close(ours)
    assert pressed is not None, said
    return process.pid, code, seconds_of_children() - before - pressed, said


def seconds_of_children():
    """Processor time of the processes that this one started and that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def seconds_of_group(group):
    """Processor time of a group of processes so far."""
    command = ["ps", "-e", "-o", "times=,pgid="]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sum(int(line.split()[0]) for line in found.splitlines() if line.split()[1] == str(group))


def alive(group):
    """Whether a process of the group is left that is not a zombie, nor about to end."""
    end, left = time.monotonic() + 60, True
    while left and time.monotonic() < end:
        time.sleep(0.05)
        command = ["ps", "-e", "-o", "stat=,pgid="]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        left = any(not line.startswith("Z") and line.split()[1] == str(group) for line in found.splitlines())
    return left


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--workers", "2"]], ids=["threads", "processes"])
def test_a_sweep_on_a_terminal_is_interrupted_with_one_line(tmp_path, more):
    (tmp_path / "study.toml").write_text(STUDY)
    group, code, seconds, said = on_a_terminal(["sweep", "study.toml", *more], tmp_path, r"\| [1-9]\d*/\d+ blocks")
    assert code == 130
    assert seconds < 8  # one or two
    assert "Traceback" not in said
    assert "WARNING" not in said
    assert (
        said.replace("\r\n", "\n")
        .splitlines()[-1]
        .endswith("calibstat: interrupted: finished blocks are kept in study.zarr; continue with --resume")
    )
    assert sorted(each.name for each in tmp_path.iterdir()) == ["study.toml", "study.zarr"]
    assert not alive(group)
    done = zarr.open_group(str(tmp_path / "study.zarr"), mode="r")["status"][:] == 1
    assert 1 <= done.sum() < done.size
