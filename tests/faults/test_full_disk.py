"""A disk that is full, or read-only: the old file stays, nothing is left beside it; a sweep goes on with room."""

from __future__ import annotations

import subprocess
import sys

import pytest

from calibstat.cli.main import main
from sweeps.test_command_line import STUDY

_OWN_DISK = ["unshare", "--map-root-user", "--mount"]


def on_a_small_disk(folder, size, *command):
    """Run a command where a disk of this size, which nobody else sees, is mounted on the folder."""
    mount = 'mount -t tmpfs -o size="$1" none "$0" && shift && exec "$@"'
    return subprocess.run(
        [*_OWN_DISK, "sh", "-c", mount, str(folder), size, *command], capture_output=True, text=True, timeout=300
    )


@pytest.fixture
def disk(tmp_path):
    try:
        mounted = on_a_small_disk(tmp_path, "1m", "true").returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("no disk of one's own can be mounted here")
    return tmp_path


@pytest.mark.slow
def test_every_kind_of_file_and_sweeps(disk):
    done = on_a_small_disk(disk, "12m", sys.executable, "-W", "ignore", "-m", "faults.full_disk", str(disk))
    assert done.returncode == 0, done.stderr
    refused, stopped = map(int, done.stdout.split())
    assert refused >= 8
    assert stopped >= 3


@pytest.mark.slow
def test_a_disk_that_becomes_read_only(disk):
    """What is there is read, and everything that would be written is refused with the reason."""
    done = on_a_small_disk(disk, "12m", sys.executable, "-W", "ignore", "-m", "faults.read_only", str(disk))
    assert (done.returncode, done.stdout) == (0, "all refused\n"), done.stderr
    assert "page.html" in done.stderr
    assert "Read-only file system" in done.stderr


def test_a_sweep_says_what_to_do(tmp_path, capsys, monkeypatch):
    def full(*_, store, **__):
        store.mkdir()
        raise OSError(28, "No space left on device")

    (tmp_path / "study.toml").write_text(STUDY)
    monkeypatch.setattr("calibstat.Sweep.run", lambda self, client, store: full(store=store))
    assert main(["sweep", str(tmp_path / "study.toml"), "--store", str(tmp_path / "kept.zarr")]) == 2
    said = "kept.zarr: No space left on device; finished blocks are kept: make room, and continue with --resume\n"
    assert capsys.readouterr().err.endswith(said)
