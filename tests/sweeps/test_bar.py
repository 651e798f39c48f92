"""Progress of a sweep: a line that is drawn anew on a terminal, now and then a new line elsewhere."""

from __future__ import annotations

import io
import time

import pytest

from calibstat.sweeps import schedule as bar
from calibstat.sweeps.schedule import Bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(stream, failures=(), visible=True):
    with Bar(visible, stream) as shown:
        shown.begin(4)
        for number in range(4):
            time.sleep(0.02)
            shown.advance(number in failures)


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(bar, "_PATIENCE", 0.0)
    monkeypatch.setattr("calibstat._progress.REDRAW", 0.005)


def test_a_terminal_keeps_the_last_line(at_once):
    stream = Terminal()
    run(stream)
    drawn = stream.getvalue()
    assert "\rsweep [###############...............] 2 of 4 blocks, 0 s\033[K" in drawn
    assert drawn.endswith(f"\r\033[Ksweep [{'#' * 30}] 4 of 4 blocks, 0 s\n")


def test_elsewhere_there_are_few_lines(monkeypatch):
    stream = io.StringIO()
    run(stream, failures=[1])
    assert stream.getvalue().splitlines() == [
        f"sweep [{'#' * 30}] 4 of 4 blocks, 0 s, 1 failed",
        "1 of 4 blocks failed: their first errors are in the variable 'error'",
    ]
    monkeypatch.setattr(bar, "_NEW_LINE", 0.0)
    stream = io.StringIO()
    run(stream)
    assert [line.split()[2] for line in stream.getvalue().splitlines()] == ["1", "2", "3", "4"]


def test_an_interrupted_sweep_leaves_no_line(at_once):
    def stop(stream):
        with Bar(True, stream) as shown:
            shown.begin(4)
            shown.advance(False)
            time.sleep(0.05)
            raise KeyboardInterrupt

    stream = Terminal()
    with pytest.raises(KeyboardInterrupt):
        stop(stream)
    assert "1 of 4" in stream.getvalue()
    assert stream.getvalue().endswith("\r\033[K")


def test_it_says_nothing_where_nobody_asked():
    stream = Terminal()
    run(stream, visible=False)
    assert stream.getvalue() == ""
