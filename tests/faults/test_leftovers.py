"""What a writer that is killed leaves beside its file is taken away by the next writer, and by no other's work."""

from __future__ import annotations

import os
import signal

import pytest

from calibstat._files import written_whole
from faults import victims
from sweeps.test_store import wait_until


def write_half(path):
    with written_whole(path) as place:
        place.write_text("half")
        signal.pause()


def unfinished(folder):
    return sorted(folder.glob(".calibstat-*"))


def test_nothing_is_left_where_a_write_is_interrupted_as_soon_as_its_file_is_there(tmp_path, monkeypatch):
    make = os.open

    def interrupted(*asked):
        os.close(make(*asked))
        assert unfinished(tmp_path)
        raise KeyboardInterrupt

    monkeypatch.setattr("calibstat._files.os.open", interrupted)
    with pytest.raises(KeyboardInterrupt), written_whole(tmp_path / "x.csv"):
        pass
    assert not [*tmp_path.iterdir()]


@pytest.fixture
def writer(tmp_path):
    """Return a process that has written half of a file."""
    process = victims.started(write_half, tmp_path / "x.csv")
    wait_until(lambda: [each for each in unfinished(tmp_path) if each.read_text() == "half"])
    yield process
    process.kill()
    process.join()


def test_what_a_killed_writer_leaves_goes_with_the_next_one(tmp_path, writer):
    writer.kill()
    writer.join()
    assert len(unfinished(tmp_path)) == 1
    with written_whole(tmp_path / "y.csv") as place:
        place.write_text("whole")
        assert unfinished(tmp_path) == [place]
    assert [each.name for each in tmp_path.iterdir()] == ["y.csv"]


def test_what_somebody_is_writing_stays(tmp_path, writer):
    in_use = unfinished(tmp_path)
    with written_whole(tmp_path / "y.csv") as place:
        place.write_text("whole")
        assert unfinished(tmp_path) == sorted([*in_use, place])
    assert unfinished(tmp_path) == in_use
    assert writer.is_alive()


def test_what_has_another_name_or_is_no_file_stays(tmp_path):
    (tmp_path / ".calibstat-0123456789abcdeX.csv").write_text("mine")
    (tmp_path / ".calibstat-0123456789abcdef").mkdir()
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / ".calibstat-0123456789abcdef.csv").symlink_to("mine.txt")
    os.mkfifo(tmp_path / ".calibstat-0123456789abcdef.npz")
    before = sorted(tmp_path.iterdir())
    with written_whole(tmp_path / "y.csv") as place:
        place.write_text("whole")
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "y.csv"])
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_name_that_another_process_takes_away_is_not_used(tmp_path, monkeypatch):
    """Between the making and the locking of a file, it looks as if somebody had left it."""
    import fcntl

    lock, taken = fcntl.flock, []

    def slow(handle, how):
        if not taken and how == fcntl.LOCK_EX:
            taken.extend(unfinished(tmp_path))
            taken[0].unlink()
        lock(handle, how)

    monkeypatch.setattr("fcntl.flock", slow)
    with written_whole(tmp_path / "y.csv") as place:
        assert [place] == unfinished(tmp_path)
        assert place not in taken
        place.write_text("whole")
    assert [each.name for each in tmp_path.iterdir()] == ["y.csv"]
