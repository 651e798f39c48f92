"""Progress on standard error: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

_WIDTH = 30
_REDRAW, _NEW_LINE = 0.1, 10.0


class Bar:
    """Counts finished units.

    Parameters
    ----------
    total : int
    visible : bool
    stream : text stream, optional
        By default standard error.
    """

    def __init__(self, total: int, visible: bool, stream: TextIO | None = None) -> None:
        self.total = total
        self.visible = visible
        self.stream = sys.stderr if stream is None else stream
        self.done = self.failed = 0
        self.started = self.drawn = time.monotonic()
        self.lock = threading.Lock()

    def say(self, line: str) -> None:
        """Print a line, unless invisible."""
        if self.visible:
            print(line, file=self.stream, flush=True)

    def advance(self, failed: bool) -> None:
        """Count a unit, and draw if it is time."""
        with self.lock:
            self.done += 1
            self.failed += failed
            now = time.monotonic()
            pause = _REDRAW if self.stream.isatty() else _NEW_LINE
            if self.visible and (now - self.drawn >= pause or self.done == self.total):
                self.drawn = now
                self._draw(now - self.started)

    def _draw(self, seconds: float) -> None:
        filled = _WIDTH * self.done // self.total
        text = f"sweep [{'#' * filled}{'.' * (_WIDTH - filled)}] {self.done} of {self.total} blocks, {seconds:.0f} s"
        text += f", {self.failed} failed" if self.failed else ""
        whole = self.done == self.total
        if self.stream.isatty():
            self.stream.write(f"\r{text}" + ("\n" if whole else ""))
        else:
            self.stream.write(f"{text}\n")
        self.stream.flush()
