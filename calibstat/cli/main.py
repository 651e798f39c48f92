"""The command line: ``calibstat test``, ``calibstat estimate``, ``calibstat compare`` and others."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from calibstat._files import Interrupts
from calibstat.cli.parsers import build_parser, one_line


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    code : int
        0 whatever the verdict, but 3 when ``calibstat monitor`` raises the alarm; 2 for bad input (with one line on
        standard error), 130 when interrupted, 141 when the reader of the output has left.
    """
    # What a terminal cannot show is shown as a question mark.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    with Interrupts() as interrupts:
        try:
            return _run(argv)
        except KeyboardInterrupt as interrupt:
            return _say(f"interrupted: {interrupt}" if str(interrupt) else "interrupted", 130)
        except BrokenPipeError:
            _leave_closed_pipe()
            return 141
        except (ValueError, TypeError, OSError, ImportError) as error:
            return _say("interrupted", 130) if interrupts.came else _say(f"error: {one_line(error)}", 2)


def _run(argv: Sequence[str] | None) -> int:
    arguments = build_parser().parse_args(argv)
    # What a command needs is imported when it runs, so that help and errors come at once.
    code = import_module(f"calibstat.cli.{arguments.command}").run(arguments) or 0
    if sys.stdout:  # None where it was closed
        sys.stdout.flush()
    return int(code)


def _say(line: str, code: int) -> int:
    print(f"calibstat: {line}", file=sys.stderr)
    return code


def _leave_closed_pipe() -> None:
    """Send what is still buffered nowhere, or Python complains when it exits."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
