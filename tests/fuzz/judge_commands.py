"""What is right of a command: a documented exit code, one line for an error, and no traces beside its outputs."""

from __future__ import annotations

import argparse
import io
import itertools
import json
import os
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibstat.cli import main as main_module
from fuzz.commands import Called, case, lines
from fuzz.judge_files import content_of, of_others
from fuzz.limits import HOME, TookTooLong, time_limit

# What an option may write to.
OUTPUTS = ("--plot", "--out", "--save", "--state", "--store", "-o", "--output")
_LINE = re.compile(r"calibstat: (warning: |error: |\w+ takes (about|more than) \d)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NO_NUMBER = re.compile(r"(?<![\w'\"*.:=\\-])[-+]?(nan|inf|infinity)(?![\w'\"*.:=-])", re.IGNORECASE)


@dataclass(frozen=True)
class Done:
    """What a command has done: its exit code, what it printed, the files before and after, and what went wrong."""

    code: Any
    out: str
    err: str
    before: dict[str, bytes]
    after: dict[str, bytes]
    wrong: str


def done(called: Called) -> Done:
    """Call a command in a folder of its own."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(os.path.realpath(made))
        called.write(folder)
        before = content_of(folder)
        with (
            _standing_in(folder),
            _streams(called.sent) as (out, err),
            _told_errors() as errors,
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            code, wrong = _code(called.argv)
            sys.stdout.flush()
            sys.stderr.flush()
        wrong = (
            wrong
            or "".join(map(_of_others, errors))
            or of_others(caught)
            or "".join(f"a warning: {each.message}" for each in caught[:1] if each.category is UserWarning)
        )
        told = (stream.getvalue().decode("utf-8", "replace") for stream in (out, err))
        return Done(code, *told, before, content_of(folder), wrong)


def _code(argv: list[str]) -> tuple[Any, str]:
    try:
        with time_limit():
            return main_module.main(argv), ""
    except SystemExit as error:
        return error.code or 0, "" if {"--help", "-h", "--version"} & {*argv} else "it exits by itself"
    except TookTooLong as error:
        return None, str(error)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return None, f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"


@contextmanager
def _told_errors() -> Iterator[list[Exception]]:
    """Collect the errors that the command line writes as one line."""
    found: list[Exception] = []
    write = main_module.one_line

    def noted(error: Exception) -> str:
        found.append(error)
        return write(error)

    main_module.one_line = noted
    try:
        yield found
    finally:
        main_module.one_line = write


def _of_others(error: Exception) -> str:
    """Say where an error was raised that calibstat did not, unless it is the system's about a file with a name."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = last.filename.startswith(HOME) or last.filename == argparse.__file__
    named = isinstance(error, OSError) and error.filename and error.strerror
    return (
        "" if ours or named else f"an error of others: {type(error).__name__}: {error} ({last.filename}:{last.lineno})"
    )


@contextmanager
def _standing_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _streams(sent: bytes) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Put files in memory in the place of standard input, output and error."""
    kept = sys.stdin, sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(sent), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(err, encoding="utf-8", errors="backslashreplace", write_through=True)
    try:
        yield out, err
    finally:
        for each in (sys.stdout, sys.stderr):
            each.flush()
            each.detach()
        sys.stdin, sys.stdout, sys.stderr = kept


def fault(seed: int) -> str:
    """Say what is wrong with the case of a seed, with three lines of Python that do it again; "" if nothing is."""
    called = case(seed)
    found = done(called)
    wrong = found.wrong or _wrong_words(called, found) or _wrong_files(called, found)
    if not wrong and seed % 8 == 0:
        again = done(called)
        same = (again.code, _timeless(again.out), _timeless(again.err)) == (
            found.code,
            _timeless(found.out),
            _timeless(found.err),
        )
        wrong = "" if same else f"it prints {found.out}{found.err}, and then {again.out}{again.err}"
    return f"{' '.join(called.argv)[:300]!r}: {wrong}\n{lines(seed)}" if wrong else ""


def _timeless(text: str) -> str:
    return re.sub(r"at 0x[0-9a-f]+|/tmp/\w+|takes (about|more than) \d+", "", text)


def _wrong_words(called: Called, found: Done) -> str:
    """Say what is wrong with the exit code and with what is printed."""
    if found.code not in (0, 2, 3):
        return f"it exits with {found.code}: {found.err[-500:]}"
    told = found.err.splitlines()
    errors = [line for line in told if line.startswith("calibstat: error: ")]
    odd = [line for line in told if not _LINE.match(line)]
    if odd:
        return f"on standard error stands {odd[0]!r}"
    if len(errors) != (found.code == 2) or (errors and told[-1] != errors[0]):
        return f"it exits with {found.code} and says {found.err!r}"
    if "Traceback" in found.err + found.out:
        return "it prints a traceback"
    if found.code == 2 and found.out and "--plot" not in " ".join(called.argv):
        return f"it fails and prints {found.out[:300]!r} (error: {found.err!r})"
    control = _CONTROL.search(found.out + found.err)
    if control:
        near = (found.out + found.err)[max(0, control.start() - 60) : control.end()]
        return f"it prints the control character {control[0]!r}: {near!r}"
    return "" if found.code == 2 else _wrong_numbers(found.out)


def _wrong_numbers(out: str) -> str:
    if out.lstrip().startswith(("{", "[")):
        json.loads(out, parse_constant=_refuse)
        return ""
    word = _NO_NUMBER.search(out)
    return f"it prints {word[0]!r}: ...{out[max(0, word.start() - 200) : word.end() + 100]}" if word else ""


def _refuse(word: str) -> None:
    raise AssertionError(f"JSON holds {word}")


def _wrong_files(called: Called, found: Done) -> str:
    """Say which file was changed or left that the command may not touch."""
    asked = _outputs(called.argv)
    changed = [name for name, content in found.before.items() if found.after.get(name) != content]
    made = [name for name in found.after if name not in found.before]
    beyond = [
        name for name in (*changed, *made) if not any(name == each or name.startswith(f"{each}/") for each in asked)
    ]
    if beyond:
        return f"it changed or left {beyond}, and said {found.err!r}"
    if found.code == 2 and (changed or made) and called.argv[0] != "sweep":
        return f"it fails and changed or left {changed + made}: {found.err!r}"
    return ""


def _outputs(argv: list[str]) -> list[str]:
    """Return the places that a command line names for what is written."""
    found = [os.path.normpath(value) for option, value in itertools.pairwise(argv) if option in OUTPUTS]
    found += [os.path.normpath(each.partition("=")[2]) for each in argv if each.partition("=")[0] in OUTPUTS]
    return found + [each[2:] for each in argv if each.startswith("-o") and len(each) > 2]


if __name__ == "__main__":
    print(fault(int(sys.argv[1])) or lines(int(sys.argv[1])))
