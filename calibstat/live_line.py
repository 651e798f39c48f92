"""One line on a terminal that is drawn anew while work goes on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

WIDTH = 30
REDRAW = 0.2


class LiveLine:
    """A line that a thread of its own draws again and again inside a ``with`` block; it goes when the block ends.

    So it moves on even where the work says nothing for a while. Nothing is drawn where the stream is no terminal.

    Parameters
    ----------
    text : callable
        Takes the seconds since the beginning and returns the line.
    patience : float
        Seconds before it is drawn first.
    stream : text stream, optional
        By default standard error.
    """

    def __init__(self, text: Callable[[float], str], patience: float, stream: TextIO | None = None) -> None:
        self.text = text
        self.patience = patience
        self.stream = sys.stderr if stream is None else stream
        self.started = time.monotonic()
        self.drawn = ""
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.thread: threading.Thread | None = None

    def __enter__(self) -> LiveLine:
        self.started = time.monotonic()
        if self.stream is not None and self.stream.isatty():
            self.thread = threading.Thread(target=self._keep_drawing, name="calibstat progress", daemon=True)
            self.thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.ended.set()
        if self.thread is not None:
            self.thread.join()
        with self.lock:
            self._clear()

    def say(self, line: str) -> None:
        """Print a line of its own, above the one that is drawn."""
        with self.lock:
            self._clear()
            print(line, file=self.stream, flush=True)

    def _keep_drawing(self) -> None:
        wait = self.patience
        while not self.ended.wait(wait):
            self._draw(time.monotonic() - self.started)
            wait = REDRAW

    def _draw(self, seconds: float) -> None:
        text = self.text(seconds)
        with self.lock:
            if text != self.drawn:
                self.stream.write(f"\r{text}\033[K")
                self.stream.flush()
                self.drawn = text

    def _clear(self) -> None:
        if self.drawn:
            self.stream.write("\r\033[K")
            self.stream.flush()
            self.drawn = ""


def bar(fraction: float) -> str:
    """Return a bar of fixed width.

    Examples
    --------
    >>> bar(0.5)
    '[###############...............]'
    """
    filled = int(WIDTH * min(max(fraction, 0.0), 1.0))
    return f"[{'#' * filled}{'.' * (WIDTH - filled)}]"
