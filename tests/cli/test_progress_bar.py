"""A bar on a terminal, for work longer than two seconds."""

from __future__ import annotations

import contextvars
import io
import multiprocessing
import re
import sys
import time

import pytest

import calibstat as cs
import calibstat._progress
from calibstat._progress import TerminalBar, track
from calibstat.cli import text as progress_bar
from calibstat.cli.main import main
from calibstat.cli.text import ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def wait_until_drawn(self, times=2):
        """Go on once the bar has been drawn so many times more, however busy the machine; twice shows what is new."""
        before, end = self.getvalue().count("\r"), time.monotonic() + 60
        while self.getvalue().count("\r") < before + times:
            assert time.monotonic() < end, "nothing is drawn"
            time.sleep(0.002)


@pytest.fixture
def quick(monkeypatch):
    """Draw at once, and often."""
    monkeypatch.setattr(progress_bar, "PATIENCE", 0.0)
    monkeypatch.setattr(calibstat._progress, "REDRAW", 0.005)


def work(piece, pause=lambda: time.sleep(0.02)):
    total = 0
    for number in track([piece] * 4, 4):
        pause()
        total += number
    return total


def test_it_moves_over_all_pieces_and_goes(quick):
    stream = Terminal()
    bar = ProgressBar("testing", stream)
    assert bar.each(lambda piece: work(piece, stream.wait_until_drawn), [1, 2, 3]) == [4, 8, 12]
    *drawn, blank, end = stream.getvalue().split("\r")
    assert "00:00, about 00:0" in drawn[-1]
    assert re.search(r"0%\|.{30}\| 00:00 *$", drawn[1]), "nothing is done yet that tells how long"
    percents = [int(found[1]) for each in drawn if (found := re.match(r"testing: +(\d+)%\|.{30}\| \d\d:\d\d", each))]
    assert blank.strip() == end == ""
    assert len(percents) > 5
    assert percents == sorted(percents)
    assert percents[-1] == pytest.approx(100 * 11 / 12, abs=1)


def test_it_moves_on_where_work_says_nothing(quick):
    """It is drawn again and again: a long product of matrices is no dead program."""
    stream = Terminal()
    with TerminalBar("testing", patience=0.0, stream=stream):
        stream.wait_until_drawn(6)
    assert stream.getvalue().count("testing") > 5


def test_rows_so_far_are_shown_where_nobody_knows_how_many_come(quick):
    stream = Terminal()
    with TerminalBar("reading", patience=0.0, stream=stream) as bar:
        bar.count(3_000_000)
        stream.wait_until_drawn(3)
    assert re.search(r"reading: 00:00, 3,000,000 rows so far *\r", stream.getvalue())
    assert "%" not in stream.getvalue().split("\r")[-2]


def test_a_second_loop_begins_again_and_small_steps_back_are_not_drawn():
    bar = ProgressBar("comparing")
    for told, drawn in ((0.9, 0.9), (0.88, 0.9), (0.91, 0.91), (0.0, 0.0), (0.1, 0.1)):
        bar.bar.hear(told)
        assert bar.bar.done == drawn


def test_work_that_will_be_long_is_shown_before_it_is(monkeypatch, quick):
    stream = Terminal()
    monkeypatch.setattr(calibstat._progress, "EARLY", 1e-6)
    with TerminalBar("testing", patience=600.0, stream=stream) as bar:
        time.sleep(0.02)
        assert stream.getvalue() == ""  # nothing tells how long it will take
        bar.done = 1e-6
        stream.wait_until_drawn()


@pytest.mark.parametrize("wanted", ["", "off"])
def test_python_shows_it_on_a_terminal_unless_it_is_turned_off(monkeypatch, quick, wanted):
    stream = Terminal()
    monkeypatch.setattr(calibstat._progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("CALIBSTAT_PROGRESS", wanted)
    assert work(2, (lambda: None) if wanted else stream.wait_until_drawn) == 8
    assert ("calibstat:  75%" in stream.getvalue()) == (not wanted)
    assert calibstat._progress.listener_of_this_thread() is None


def test_loops_of_one_function_share_a_bar(monkeypatch, quick):
    """Each of them may be too short for one."""
    monkeypatch.setattr(calibstat._progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    heard = []
    several = calibstat._progress.one_bar(
        lambda: [heard.append(calibstat._progress._listener.get()) for _ in "ab" if work(1)]
    )
    several()
    assert heard[0] == heard[1] is not None
    assert calibstat._progress.listener_of_this_thread() is None
    assert cs.compare_models.__wrapped__.__name__ == cs.compare_models.__name__ == "compare_models"


def test_work_side_by_side_shows_no_bars_of_its_own(monkeypatch, quick):
    stream = Terminal()
    monkeypatch.setattr(calibstat._progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    contextvars.copy_context().run(calibstat._progress.silent, work, 2)
    assert stream.getvalue() == ""


def test_only_the_process_that_somebody_started_shows_it(monkeypatch, quick):
    stream = Terminal()
    monkeypatch.setattr(calibstat._progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: "the one that was started")
    work(2)
    assert stream.getvalue() == ""


def test_a_loop_that_is_left_early_sets_no_listener_when_it_ends():
    heard = []
    with calibstat._progress.listening(heard.append):
        left = track([1, 2, 3], 3)
        next(left)
    left.close()
    assert calibstat._progress.listener_of_this_thread() is None


class Pipe(io.StringIO):
    def wait_until_written(self):
        end = time.monotonic() + 60
        while not self.getvalue():
            assert time.monotonic() < end, "nothing is said"
            time.sleep(0.002)


@pytest.mark.parametrize(("done", "said"), [(1e-9, "takes about "), (0, "takes more than ")])
def test_long_work_of_a_command_is_announced_once_where_there_is_no_terminal(quick, monkeypatch, done, said):
    stream = Pipe()
    with ProgressBar("testing", stream) as bar:
        bar.bar.done = done
        monkeypatch.setattr(calibstat._progress, "LONG", 0.02)
        stream.wait_until_written()
        time.sleep(0.05)
    assert re.fullmatch(rf"calibstat: testing {said}\d+ (s|min|h)\n", stream.getvalue())


def test_short_work_is_not_announced_nor_any_that_is_not_wanted(quick, monkeypatch):
    stream = Pipe()
    ProgressBar("testing", stream).each(work, [1, 2, 3])
    monkeypatch.setattr(calibstat._progress, "LONG", 0.0)
    with TerminalBar("testing", patience=0.0, stream=stream):  # of Python
        time.sleep(0.05)
    monkeypatch.setenv("CALIBSTAT_PROGRESS", "off")
    with ProgressBar("testing", stream):
        time.sleep(0.05)
    assert stream.getvalue() == ""


def test_short_work_has_none(monkeypatch):
    assert progress_bar.PATIENCE >= 1
    monkeypatch.setattr(progress_bar, "PATIENCE", 600.0)  # short on any machine
    stream = Terminal()
    ProgressBar("testing", stream).each(work, [1, 2, 3])
    assert stream.getvalue() == ""


def test_it_is_not_drawn_too_often(monkeypatch):
    monkeypatch.setattr(progress_bar, "PATIENCE", 0.0)
    monkeypatch.setattr(calibstat._progress, "REDRAW", 0.1)
    stream, begun = Terminal(), time.monotonic()
    ProgressBar("testing", stream).each(lambda piece: [work(piece) for _ in range(2)], [1, 2])
    assert 2 <= stream.getvalue().count("testing") <= 3 + (time.monotonic() - begun) / 0.1


def test_none_where_it_is_no_terminal(quick):
    stream = io.StringIO()
    ProgressBar("testing", stream).each(work, [1, 2, 3])
    assert stream.getvalue() == ""


def test_it_goes_when_work_fails(quick):
    def fail(piece):
        work(piece)
        if piece == 3:
            raise ValueError("flaw")

    stream = Terminal()
    with pytest.raises(ValueError, match="flaw"):
        ProgressBar("testing", stream).each(fail, [1, 2, 3])
    assert "testing" in stream.getvalue()
    assert stream.getvalue().split("\r")[-2].strip() == ""


def test_the_command_draws_none_when_output_is_captured(pets, off):
    assert pets(off)[2] == ""


def test_the_command_draws_one_on_a_terminal(pets, off, quick, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    pets(off)
    assert "reading: " in terminal.getvalue()
    assert "testing: " in terminal.getvalue()
    assert terminal.getvalue().split("\r")[-2].strip() == ""


@pytest.fixture
def two_models(tmp_path):
    lines = [f"{k},{k % 2},{(k % 10 + 0.5) / 10},{((k * k) % 10 + 0.5) / 10},{k % 3}" for k in range(600)]
    path = tmp_path / "two.csv"
    path.write_text("\n".join(["t,y,p,q,g", *lines]))
    return str(path)


@pytest.mark.parametrize(
    ("doing", "command"),
    [
        ("testing", "test FILE --label y --probs p --omnibus --n-resamples 99"),
        ("estimating", "estimate FILE --label y --probs p --n-resamples 99"),
        ("comparing", "compare FILE --label y --model p=p --model q=q --n-resamples 99 --bins 4"),
        ("comparing", "compare-calibrators FILE --label y --probs p --calibrators platt --n-resamples 99 --bins 4"),
        ("testing", "audit FILE --label y --probs p --by g"),
        ("testing", "audit FILE --label y --probs p --by g --curves"),
        ("testing", "scan FILE --label y --probs p --variable g"),
        ("fitting", "calibrate FILE --label y --probs p --calibrator platt --out OUT"),
        ("writing", "calibrate FILE --label y --probs p --calibrator platt --out OUT"),
        ("watching", "monitor FILE --label y --probs p --order t"),
        ("simulating", "plan --ece 0.1 --n-repeats 100 --max-n 5000"),
    ],
    ids=lambda text: text.split()[0],
)
def test_every_command_with_a_loop_draws_one(two_models, quick, monkeypatch, doing, command):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    files = {"FILE": two_models, "OUT": f"{two_models}.out.csv"}
    code = main([files.get(word, word) for word in command.split()])
    assert code in (0, 3)
    assert f"{doing}: " in terminal.getvalue()


def test_all_that_may_be_long_in_a_command_has_a_bar(run, binary, tmp_path, monkeypatch):
    begun = []

    class Noted(TerminalBar):
        def __init__(self, doing, **how):
            begun.append(doing)
            super().__init__(doing, **how)

    monkeypatch.setattr(progress_bar, "TerminalBar", Noted)
    command = ("test", binary, "--label", "y", "--probs", "p", "--lens", "canonical", "--costs", "1,4")
    assert run(*command, "--plot", str(tmp_path / "picture.png"))[0] == 0
    assert begun == ["reading", "testing", "estimating", "drawing"]
