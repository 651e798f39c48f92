"""A bar on a terminal, for work longer than two seconds."""

from __future__ import annotations

import io

import pytest

from calibstat.cli.progress_bar import ProgressBar
from calibstat.progress import track


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """Half a second passes at each look."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 0.5
        return self.now


def work(piece):
    return sum(track([piece] * 4, 4))


def test_it_moves_over_all_pieces_and_goes():
    stream = Terminal()
    assert ProgressBar(stream, Clock()).each(work, [1, 2, 3]) == [4, 8, 12]
    *drawn, end = stream.getvalue().split("\r")
    percents = [int(each.split("]")[1].strip(" %")) for each in drawn if each]
    assert end == "\033[K"
    assert len(percents) > 5
    assert percents == sorted(percents)
    assert percents[-1] == pytest.approx(100 * 11 / 12, abs=1)


def test_short_work_has_none():
    stream = Terminal()
    ProgressBar(stream, lambda: 0.0).each(work, [1, 2, 3])
    assert stream.getvalue() == ""


def test_it_is_not_drawn_too_often():
    stream, times = Terminal(), iter([0.0, *(10 + 0.01 * step for step in range(12))])
    ProgressBar(stream, lambda: next(times)).each(work, [1, 2, 3])
    assert stream.getvalue().count("testing") == 2


def test_none_where_it_is_no_terminal():
    stream = io.StringIO()
    ProgressBar(stream, Clock()).each(work, [1, 2, 3])
    assert stream.getvalue() == ""


def test_it_goes_when_work_fails():
    def fail(piece):
        work(piece)
        if piece == 3:
            raise ValueError("flaw")

    stream = Terminal()
    with pytest.raises(ValueError, match="flaw"):
        ProgressBar(stream, Clock()).each(fail, [1, 2, 3])
    assert stream.getvalue().endswith("\033[K")


def test_the_command_draws_none_when_output_is_captured(pets, off, monkeypatch):
    monkeypatch.setattr("calibstat.cli.progress_bar.PATIENCE", -1.0)
    assert pets(off)[2] == ""


def test_the_command_draws_one_on_a_terminal(pets, off, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("calibstat.cli.progress_bar.PATIENCE", -1.0)
    monkeypatch.setattr("sys.stderr", terminal)
    pets(off)
    assert "testing [" in terminal.getvalue()
