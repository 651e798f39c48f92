"""Ctrl-C, also where a library takes it for an error of its own."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interrupts:
    """Takes note of Ctrl-C inside a ``with`` block, which raises KeyboardInterrupt as ever.

    A parser written in C, for one, calls a file damaged when reading it is interrupted. Handlers of others are left
    alone, and so are threads, to which no signal comes.

    Attributes
    ----------
    came : bool
        Whether there was one.
    """

    def __init__(self) -> None:
        self.came = False
        self.before: Any = None

    def __enter__(self) -> Interrupts:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self.before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *raised: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        signal.default_int_handler(number, frame)
