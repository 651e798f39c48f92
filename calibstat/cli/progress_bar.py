"""A progress bar on a terminal, for work longer than two seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TextIO, TypeVar

from calibstat.live_line import LiveLine, bar
from calibstat.progress import listening, track

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
