"""Text for terminals: tables, paragraphs beside their names, progress bars and warnings."""

from __future__ import annotations

import csv
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, TextIO, TypeVar

from calibstat._progress import PATIENCE, TerminalBar, listening, track
from calibstat._screen import Screen, hang, paragraph, prose_width
from calibstat._text import guarded, safe
from calibstat.cli.main import in_options
from calibstat.inference.results import plain

VERBOSE = "--verbose"


def show(form: str, record: Any, text: object, rows: Sequence[dict[str, Any]] = (), *, verbose: bool = False) -> None:
    """Print a result as JSON or as text, or its rows as CSV; records of a generator are made for JSON alone.

    The text is a result or a `Screen`, of which everything is shown if that is asked for; several of them; or a text.
    """
    if form == "json":
        print(json.dumps(plain(list(record) if isinstance(record, Iterator) else record), indent=2, allow_nan=False))
    elif form == "csv":
        writer = csv.DictWriter(
            sys.stdout, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows({key: guarded(value) for key, value in row.items()} for row in rows)
    elif isinstance(text, list):
        say("\n\n".join(_written(each, verbose) for each in text))
    else:
        say(_written(text, verbose))


def _written(found: object, verbose: bool) -> str:
    if hasattr(found, "screen"):
        found = found.screen(VERBOSE)
    if not isinstance(found, Screen):
        return str(found)
    return replace(found, notes=[*map(in_options, found.notes)]).text(verbose=verbose)


def noted(found: Any, note: str) -> Screen:
    """Return the screen of a result with one more note, the second one."""
    screen = found.screen(VERBOSE)
    return replace(screen, notes=[*screen.notes[:1], note, *screen.notes[1:]])


# A progress bar for work longer than two seconds.

Piece = TypeVar("Piece")
Found = TypeVar("Found")


class ProgressBar:
    """One bar for all work inside its ``with`` block, or one line about long work where there is no terminal."""

    def __init__(self, doing: str = "testing", stream: TextIO | None = None) -> None:
        self.bar = TerminalBar(doing, patience=PATIENCE, announces=True, stream=stream)
        self.inside = ExitStack()

    def __enter__(self) -> ProgressBar:
        self.inside.enter_context(self.bar)
        self.inside.enter_context(listening(self.bar.hear, self.bar.count))
        return self

    def __exit__(self, *raised: object) -> None:
        self.inside.close()

    def each(self, work: Callable[[Piece], Found], pieces: Sequence[Piece]) -> list[Found]:
        """Work on the pieces one after the other, and then remove the bar."""
        with self:
            return [work(piece) for piece in track(pieces, len(pieces))]


# Warnings as plain lines on standard error.


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print each warning raised in the ``with`` block once, as one line, when the block ends."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            for text in dict.fromkeys(str(warning.message) for warning in caught):
                notice(text)


def notice(text: str) -> None:
    """Print a warning on standard error: as one line, which a terminal breaks between words."""
    line = f"calibstat: warning: {' '.join(in_options(text).split())}"
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    say(paragraph(line) if on_terminal else line, sys.stderr)


def tell(text: str) -> None:
    """Print a paragraph."""
    say(paragraph(text))


def advise(what: str, command: str) -> None:
    """Print a command to copy, in several lines as a shell reads them if it is longer than one."""
    say(" \\\n  ".join(hang("", f"{what}: {command}", 0, prose_width() - 4)))


def say(text: object = "", stream: TextIO | None = None) -> None:
    """Print a text with names from data escaped, so that no name is a command for the terminal."""
    print(safe(text), file=stream)
