"""Progress of long work, told to whoever listens (the command line does; libraries are silent).

Loops inside a loop fill its share of the whole. A listener belongs to the thread that set it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TextIO, TypeVar

T = TypeVar("T")
Listener = Callable[[float], None]
_listener: ContextVar[Listener | None] = ContextVar("calibstat_progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have `listener` called with the fraction done (0 to 1) of what runs inside the ``with`` block.

    Where several loops follow each other, each may begin again at 0.

    Parameters
    ----------
    listener : callable
        Takes the fraction. What it raises stops the work.

    Examples
    --------
    >>> from calibstat._progress import listening, track
    >>> with listening(print):
    ...     total = sum(track([10, 20, 30, 40], 4))
    0.0
    0.25
    0.5
    0.75
    """
    before = _listener.get()
    _listener.set(listener)
    try:
        yield
    finally:
        _listener.set(before)


def listener_of_this_thread() -> Listener | None:
    """Return who listens, for work that goes on in other threads."""
    return _listener.get()


@contextmanager
def part(begin: float, end: float) -> Iterator[None]:
    """Have what runs inside the ``with`` block fill the stretch from `begin` to `end` of the whole.

    Parameters
    ----------
    begin, end : float
        Fractions of the whole, 0 to 1.

    Examples
    --------
    >>> from calibstat._progress import listening, part, track
    >>> with listening(print):
    ...     with part(0.5, 1.0):
    ...         total = sum(track([10, 20], 2))
    0.5
    0.5
    0.75
    """
    before = _listener.get()
    if before is None:
        yield
        return
    before(begin)
    _listener.set(partial(_tell, before, begin, end))
    try:
        yield
    finally:
        _listener.set(before)


def track(items: Iterable[T], total: int) -> Iterator[T]:
    """Yield the items and tell the listener, if there is one, how far the loop has come.

    Parameters
    ----------
    items : iterable
    total : int
        How many there are.

    Examples
    --------
    Loops inside the loop fill the share of their item:

    >>> from calibstat._progress import listening, track
    >>> with listening(print):
    ...     for word in track(["a", "b"], 2):
    ...         letters = list(track(word, 1))
    0.0
    0.0
    0.5
    0.5
    """
    if _listener.get() is None:
        yield from items
        return
    for done, item in enumerate(items):
        with part(done / max(total, 1), (done + 1) / max(total, 1)):
            yield item


def _tell(whole: Listener, begin: float, end: float, fraction: float) -> None:
    whole(begin + fraction * (end - begin))


# One line on a terminal that is drawn anew while work goes on.

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
