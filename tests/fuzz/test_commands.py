"""Every command on files and options right and wrong, and every reader on broken files.

A command is right if it ends with a documented exit code, prints what it should and no more, touches no file but its
outputs, and prints the same again. A reader is right if it gives a result, or one error by calibstat itself that names
the file. Each takes less than ten seconds of the processor. A failing case is printed as three lines of Python.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import calibstat as cs
from calibstat.cli.main import COMMANDS
from fuzz import broken_files, commands, judge_commands, judge_files
from fuzz.limits import SEEDS
from suites import slow_but


def quick(kind_of, dear, n_cases):
    """The first seeds of cases that are quickly made."""
    return tuple([seed for seed in range(200) if kind_of(seed) not in dear][:n_cases])


def batches(kinds):
    """The seeds of a kind, as many as make one test at a time."""
    total, n = SEEDS[kinds]
    return [range(k, k + n) for k in range(0, total, n)]


# A file that h5py opens and h5netcdf does not left a complaint on the screen.
ONCE_WRONG = (802,)
FILES = [
    quick(broken_files.kind_of, broken_files.DEAR, 40) + ONCE_WRONG,
    *batches("files"),
]
CALLS = [quick(commands.command_of, commands.DEAR, 15), *batches("commands")]


def named(seeds):
    return f"{seeds[0]}-{seeds[-1]}"


@pytest.mark.parametrize("seeds", slow_but(lambda each: each is FILES[0], [*FILES]), ids=lambda each: named(each))
def test_a_broken_file_is_read_or_refused_by_its_name(seeds):
    wrong = [found for found in map(judge_files.fault, seeds) if found]
    assert not wrong, f"{len(wrong)} of {len(seeds)}\n" + "\n".join(wrong[:3])


@pytest.mark.parametrize("seeds", slow_but(lambda each: each is CALLS[0], [*CALLS]), ids=lambda each: named(each))
def test_a_command_answers_or_says_in_one_line_why_not(seeds):
    wrong = [found for found in map(judge_commands.fault, seeds) if found]
    assert not wrong, f"{len(wrong)} of {len(seeds)}\n" + "\n".join(wrong[:3])


def test_every_command_is_called():
    assert {*commands._CALLS} == {*COMMANDS}


# The judges can say no.


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda path: [][0], "IndexError"),
        (lambda path: float("x"), "could not convert"),
        (lambda path: cs.Sample([0, 1], [2.0, 3.0]), "the file is not named"),
        (lambda path: path.with_name("left").write_text("x"), "left"),
        (lambda path: path.write_text("x"), "changed"),
    ],
)
def test_errors_of_others_and_traces_are_faults_of_readers(monkeypatch, read, words):
    made = broken_files.Broken("text", "rows.csv", b"y,p\n0,0.5\n", read)
    monkeypatch.setattr(judge_files, "case", lambda seed: made)
    assert words in judge_files.fault(1)


@pytest.mark.parametrize(
    ("does", "words"),
    [
        (lambda: 1, "it exits with 1"),
        (lambda: 2, "it exits with 2 and says"),
        (lambda: print("mean nan") or 0, "it prints 'nan'"),
        (lambda: print("\x1b[31m") or 0, "control character"),
        (lambda: Path("left").write_text("x") and 0, "left"),
        (lambda: Path("rows.csv").write_text("x") and 0, "rows.csv"),
        (lambda: {}["x"], "KeyError"),
    ],
)
def test_what_no_command_may_do_is_a_fault(monkeypatch, does, words):
    called = commands.Called(["estimators"], {"rows.csv": b"y,p\n"}, b"")
    monkeypatch.setattr(judge_commands, "case", lambda seed: called)
    monkeypatch.setattr(judge_commands.main_module, "main", lambda argv: does())
    assert words in judge_commands.fault(1)


def test_a_report_nested_too_deeply_is_refused():
    with pytest.raises(ValueError, match="cannot be read as JSON"):
        cs.Report.from_json("[" * 100_000)
