"""A progress bar on a terminal, for work longer than two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TextIO, TypeVar

from calibstat.progress import listening

Piece = TypeVar("Piece")
Found = TypeVar("Found")
WIDTH = 30
PATIENCE = 2.0
REDRAW = 0.1


class ProgressBar:
    """One bar for several pieces of work; silent where the stream is not a terminal.

    Parameters
    ----------
    stream : text stream, optional
        By default standard error.
    clock : callable, optional
        Tells the time in seconds.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.clock = clock
        self.visible = self.stream.isatty()
        self.started = clock()
        self.drawn: float | None = None

    def each(self, work: Callable[[Piece], Found], pieces: Sequence[Piece]) -> list[Found]:
        """Work on the pieces one after the other; the bar goes when all are done."""
        found = []
        try:
            for done, piece in enumerate(pieces):
                with listening(partial(self._show, done, len(pieces))):
                    found.append(work(piece))
        finally:
            self._clear()
        return found

    def _show(self, done: int, total: int, part: float) -> None:
        """Draw the bar, unless it is too early, or too soon after the last time."""
        now = self.clock()
        early = now - self.started < PATIENCE or (self.drawn is not None and now - self.drawn < REDRAW)
        if early or not self.visible:
            return
        self.drawn = now
        fraction = (done + part) / total
        filled = int(WIDTH * fraction)
        self.stream.write(f"\rtesting [{'#' * filled}{'.' * (WIDTH - filled)}] {fraction:4.0%}")
        self.stream.flush()

    def _clear(self) -> None:
        if self.drawn is not None:
            self.stream.write("\r\033[K")
            self.stream.flush()
