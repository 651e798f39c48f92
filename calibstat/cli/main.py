"""The command line: ``calibstat test``, ``calibstat estimate``, ``calibstat compare`` and others."""

from __future__ import annotations

import argparse
import io
import os
import re
import signal
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from shlex import quote
from types import ModuleType
from typing import Any, NoReturn

from calibstat import __version__
from calibstat._files import Interrupts
from calibstat._screen import paragraph
from calibstat._text import counted, rows_moved, safe, some_of

# Every command with one line of help. Its file has `add_arguments` and `run`, and is imported when it is called.
COMMANDS = {
    "test": "test the predictions in a file",
    "estimate": "estimate how much the predictions in a file are off",
    "clinical": "summarise a model of an event as a clinical validation does",
    "compare": "compare the calibration of models",
    "audit": "find the groups of rows for which the model is off",
    "scan": "rank columns by how much the model is off along them",
    "leaves": "tabulate what happens in the leaves of a shallow tree",
    "desiderata": "calibration, accuracy, order and cells of a predictor that people read",
    "monitor": "watch a model while it runs",
    "report": "write all that is found about a model on one page",
    "plan": "how many labels a test needs",
    "calibrate": "fit a calibrator and apply it",
    "compare-calibrators": "fit several calibrators and compare them on other rows",
    "estimators": "list the measures of miscalibration",
    "sweep": "study estimators and tests on models with known truth",
    "summarise": "bias, variance, coverage, size and power from a sweep",
    "demo": "test a real classifier before and after recalibration",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line on its arguments, by default those of the process, and return its exit code.

    The code is 0 whatever the verdict, 2 for bad input (with one line on standard error), 3 if ``calibstat monitor``
    has raised the alarm or a gate of ``calibstat test`` says no, 130 after an interrupt, 141 if the reader of the
    output has closed it, and 143 after SIGTERM.
    """
    # A terminal shows a question mark for what it cannot show.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    interrupts = Interrupts(signal.SIGTERM)
    try:
        with interrupts:  # a signal may come where this begins or ends too
            return _code(sys.argv[1:] if argv is None else argv, interrupts)
    except KeyboardInterrupt as interrupt:
        interrupts.no_more()
        return _interrupted(interrupts.came, str(interrupt))


def _code(argv: Sequence[str], interrupts: Interrupts) -> int:
    """Run the command line, say what is wrong, and return the exit code."""
    try:
        return _run(argv)
    except BrokenPipeError:
        _drop_output()
        return 141
    except MemoryError as error:
        return _end_with(f"error: not enough memory: {one_line(error)}; take fewer bins, rows or redraws", 2)
    except (ValueError, TypeError, OSError, ImportError) as error:
        if sys.stdout and _is_of_the_output(error):  # None where it was closed
            _drop_output()
        return _interrupted(interrupts.came) if interrupts.came else _end_with(f"error: {one_line(error)}", 2)


def _is_of_the_output(error: Exception) -> bool:
    """Whether the output cannot be written: it has no name, as every file has that is read or written."""
    return isinstance(error, OSError) and bool(error.strerror) and not error.filename


def _drop_output() -> None:
    """Drop what is still buffered; otherwise Python complains when it exits."""
    with suppress(OSError), Path(os.devnull).open("w") as nowhere:  # where it is held in memory, it has no number
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _interrupted(number: int, kept: str = "") -> int:
    """Say by what the command was ended, and what it has `kept`; return the exit code."""
    number = number or signal.SIGINT  # where somebody else hears the signals
    told = "terminated" if number == signal.SIGTERM else "interrupted"
    return _end_with(": ".join(filter(None, [told, kept])), 128 + number)


def _run(argv: Sequence[str]) -> int:
    asked = _joined(argv)
    if asked[:1] == ["test"] and any(each.partition("=")[0] == "--by" for each in asked):
        asked = ["audit", *asked[1:]]  # groups are audited
    try:
        arguments = _parsed(asked)
        return int(_module(arguments.command).run(arguments) or 0)
    finally:
        if sys.stdout:  # None where it was closed
            sys.stdout.flush()


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    called = [each for each in argv if each in COMMANDS][:1]
    try:
        return build_parser(called).parse_args(argv)
    except ValueError:
        for command in called:
            _refuse_unknown(command, [each.partition("=")[0] for each in argv if each.startswith("--")])
        raise


_OPTION, _NEGATIVE = re.compile(r"--[a-z-]+"), re.compile(r"-\.?\d")


def _joined(argv: Sequence[str]) -> list[str]:
    """Join options with values such as -1,4, which `argparse` takes for options.

    >>> _joined(["test", "--costs", "-1,4", "--verbose"])
    ['test', '--costs=-1,4', '--verbose']
    """
    found: list[str] = []
    for each in argv:
        if found and _NEGATIVE.match(each) and _OPTION.fullmatch(found[-1]):
            found[-1] += f"={each}"
        else:
            found.append(each)
    return found


def _refuse_unknown(command: str, given: Sequence[str]) -> None:
    """Say of an option that the command does not know which ones do."""
    unknown = [option for option in given if option not in _options_of(command)]
    if unknown:
        takers = [name for name in COMMANDS if unknown[0] in _options_of(name)]
        others = f"; {some_of(takers, len(takers))} {'do' if takers[1:] else 'does'}" if takers else ""
        raise ValueError(f"calibstat {command} takes no {unknown[0]}{others} (see calibstat {command} --help)")


def _options_of(command: str) -> set[str]:
    parser = _Parser()
    _module(command).add_arguments(parser)
    return {"--", *re.findall(r"--[a-z-]+", parser.format_usage()), "--help"}


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are exceptions, so that `main` prints one line."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help or the version; `argparse` would say nothing where they cannot be written."""
        print(message, end="", file=file, flush=True)


def build_parser(called: Collection[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """Build the parser of all commands; those not in `called` have a line of help, but no options."""
    parser = _Parser(prog="calibstat", description="Statistical tests of classifier calibration.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"calibstat {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, line in COMMANDS.items():
        command = commands.add_parser(
            name, help=line, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )
        if name in called:
            # The docstring of its file is its help.
            module = _module(name)
            module.add_arguments(command)
            about, example, more = (module.__doc__ or "").strip().partition("\n\nexample")
            command.description = "\n\n".join(map(paragraph, about.split("\n\n")))
            command.epilog = "\n\n".join(text for text in ((example + more).strip(), command.epilog) if text)
    return parser


def _module(command: str) -> ModuleType:
    return import_module(f"calibstat.cli.{command.replace('-', '_')}")


def one_line(error: Exception) -> str:
    """Write an error in one line that names options instead of arguments.

    >>> one_line(ValueError('fill them in, or pass nan_policy="omit"'))
    'fill them in, or pass --nan-policy omit'
    >>> one_line(ValueError("for example labels=['cat', 'dog']"))
    'for example --labels cat,dog'
    """
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{'the output cannot be written' if _is_of_the_output(error) else error.filename}: {error.strerror}"
    return " ".join(rows_from_one(in_options(text)).split()) or type(error).__name__


# What messages advise in Python, and what a command says in its place.
_IN_WORDS = {
    'nan_policy="omit"': "--nan-policy omit",
    "divide by 100: y_prob / 100": "divide them by 100",
    "If these are logits, pass scipy.special.expit(y_prob)": "These look like log-odds: turn each x of them into the "
    "probability 1 / (1 + exp(-x)) first",
    "If these are logits, pass scipy.special.softmax(y_prob, axis=1)": "If these are scores on the scale of logarithms "
    "(logits), take the exponential of each and divide it by the sum of its row",
    "pass numpy.exp(y_prob)": "take the exponential of each",
    "normalised first, y_prob / y_prob.sum(axis=1, keepdims=True)": "divided by the sum of their row first",
    "has one dimension and so is for 2 classes": "is the probability of one of two classes",
    "asked for as y_true and as y_prob": "asked for as --label and as --probs",
    "y_prob names the column": "--probs names the column",
    "are asked for as y_prob or variables": "are asked for",
    "labels must be integers, booleans or strings": "labels are whole numbers, truth values or texts",
    "pass Sample(..., prevalence=)": "give --prevalence",
    "prevalence=": "--prevalence",
    ", for example y_true=numpy.repeat(y_true, counts)": "",
    "the columns of y_prob (": "the columns of --probs (",
    "if that is what y_prob holds": "if that is meant",
}


def in_options(text: str) -> str:
    """Name options instead of arguments in a message, and say in words what it says in Python."""
    for python, words in _IN_WORDS.items():
        text = text.replace(python, words)
    text = re.sub(r"give groups=(?:'([^']*)')?", lambda found: f"give --groups {quote(found[1] or 'COL')}", text)
    labels = re.search(r"labels=\[([^\]]*)\]", text)
    if labels:
        names = (label.strip().strip("'\"") for label in labels[1].split(","))
        text = text.replace(labels[0], f"--labels {','.join(names)}")
    return _SMALL_CELLS.sub(_small_cells, text)


# The warning of small cells, which names them as Python does.
_SMALL_CELLS = re.compile(r"^(.+) makes (\d+) cells of (\d+) rows?, fewer than 10 rows a cell: .*$")


def _small_cells(found: re.Match[str]) -> str:
    n_cells, n_rows = map(int, found.groups()[1:])
    size = ("about " if n_rows % n_cells else "") + counted(max(1, round(n_rows / n_cells)), "row")
    fewer = f"--bins {n_rows // 10}" if "(n_bins=" in found[1] and n_rows >= 20 else "fewer cells"
    return f"{counted(n_cells, 'cell')} of {size} each: errors found in them are mostly noise; try {fewer}"


def rows_from_one(text: str) -> str:
    """Count rows of data from 1 in a message that counts them from 0; quoted text stays as it is.

    >>> rows_from_one("column 'row 3' holds the text 'x' in row 3 (rows count from 0): pass numbers")
    "column 'row 3' holds the text 'x' in row 4 (the first row of data is 1): pass numbers"
    """
    return rows_moved(text, 1).replace("rows count from 0", "the first row of data is 1")


def _end_with(line: str, code: int) -> int:
    told = f"calibstat: {safe(line)}"
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    print(paragraph(told) if on_terminal else told, file=sys.stderr)
    return code
