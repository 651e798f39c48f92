"""Text for terminals: columns, and paragraphs that hang below their names."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from textwrap import wrap
from typing import TextIO, TypeVar

from calibstat._progress import LiveLine, bar, listening, track

WIDTH = 100
INDENT = 12


def columns(rows: Sequence[Sequence[str]], right: Collection[int]) -> list[str]:
    """Lay rows out in columns, of which those in `right` end together; columns without entries are left out."""
    filled = [k for k in range(len(rows[0])) if any(row[k] for row in rows[1:])]
    widths = {k: max(len(row[k]) for row in rows) for k in filled}
    return [
        "  ".join(row[k].rjust(widths[k]) if k in right else row[k].ljust(widths[k]) for k in filled).rstrip()
        for row in rows
    ]


def hang(name: str, text: str, indent: int = INDENT) -> list[str]:
    """Write a paragraph beside its name."""
    return wrap(
        text,
        WIDTH,
        initial_indent=name.ljust(indent),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def narrow(text: str, indent: int) -> str:
    """Break the long lines of a result, so that what follows hangs below."""
    lines = []
    for line in text.splitlines():
        if len(line) <= WIDTH:
            lines.append(line)
        elif line.startswith("  "):
            lines += hang(line[:indent], line[indent:].strip(), indent)
        else:
            lines += hang("", line, 0)
    return "\n".join(lines)


# A progress bar on a terminal, for work longer than two seconds.

Piece = TypeVar("Piece")
Found = TypeVar("Found")
PATIENCE = 2.0


class ProgressBar:
    """One bar for all that is done inside its ``with`` block; silent where the stream is not a terminal.

    Parameters
    ----------
    doing : str
        What is done, in a word.
    stream : text stream, optional
        By default standard error.
    """

    def __init__(self, doing: str = "testing", stream: TextIO | None = None) -> None:
        self.doing = doing
        self.stream = stream
        self.fraction = 0.0
        self.inside = ExitStack()

    def __enter__(self) -> ProgressBar:
        self.inside.enter_context(LiveLine(self.text, PATIENCE, self.stream))
        self.inside.enter_context(listening(self.hear))
        return self

    def __exit__(self, *raised: object) -> None:
        self.inside.close()

    def each(self, work: Callable[[Piece], Found], pieces: Sequence[Piece]) -> list[Found]:
        """Work on the pieces one after the other; the bar goes when all are done."""
        with self:
            return [work(piece) for piece in track(pieces, len(pieces))]

    def hear(self, fraction: float) -> None:
        """Take note of how far the work is: the next loop begins again, a small step back is one inside another."""
        if fraction > self.fraction or fraction < self.fraction / 2:
            self.fraction = fraction

    def text(self, seconds: float) -> str:
        """Return what stands on the terminal."""
        return f"{self.doing} {bar(self.fraction)} {self.fraction:4.0%}, {seconds:.0f} s"


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
    """Print a warning as one line on standard error."""
    print(f"calibstat: warning: {' '.join(text.split())}", file=sys.stderr)
