"""Progress of a sweep on standard error: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

from calibstat.live_line import LiveLine, bar
from calibstat.progress import listener_of_this_thread

_PATIENCE, _NEW_LINE = 0.5, 10.0


class Bar:
    """Counts finished units inside a ``with`` block, and tells the listener of the thread that made it.

    Parameters
    ----------
    visible : bool
    stream : text stream, optional
        By default standard error.
    """

    def __init__(self, visible: bool, stream: TextIO | None = None) -> None:
        self.visible = visible and (stream or sys.stderr) is not None
        self.stream = sys.stderr if stream is None else stream
        self.listener = listener_of_this_thread()
        self.total: int | None = None
        self.done = self.failed = 0
        self.started = self.said = time.monotonic()
        self.lock = threading.Lock()
        self.line = LiveLine(self.text, _PATIENCE, self.stream)

    def __enter__(self) -> Bar:
        if self.visible:
            self.line.__enter__()
        return self

    def __exit__(self, raised: object, *rest: object) -> None:
        if self.visible:
            self.line.__exit__()
        if self.done and raised is None:
            self.say(self.text(time.monotonic() - self.started))
            if self.failed:
                self.say(f"{self.failed} of {self.total} blocks failed: their first errors are in the variable 'error'")

    def begin(self, total: int) -> None:
        """Say how many units there are."""
        self.total = total

    def say(self, line: str) -> None:
        """Print a line, unless invisible."""
        if self.visible:
            self.line.say(line)

    def advance(self, failed: bool) -> None:
        """Count a unit; called from any thread."""
        with self.lock:
            self.done += 1
            self.failed += failed
            if self.listener is not None and self.total:
                self.listener(self.done / self.total)
            now = time.monotonic()
            if self.visible and not self.stream.isatty() and now - self.said >= _NEW_LINE and self.done != self.total:
                self.said = now
                self.say(self.text(now - self.started))

    def text(self, seconds: float) -> str:
        """Return how far the sweep is."""
        if self.total is None:
            return f"sweep: getting ready, {seconds:.0f} s"
        failed = f", {self.failed} failed" if self.failed else ""
        return f"sweep {bar(self.done / self.total)} {self.done} of {self.total} blocks, {seconds:.0f} s{failed}"
