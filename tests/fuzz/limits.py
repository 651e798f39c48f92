"""What a case may take of the processor, and where the code lies that may refuse it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import calibstat

HOME = str(Path(calibstat.__file__).parent)
SECONDS = 10


class TookTooLong(BaseException):
    """No `Exception`, so that nobody takes it for an error of the input."""


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    """Stop what takes more seconds of the processor."""

    def stop(*_: Any) -> None:
        raise TookTooLong(f"it takes more than {seconds} seconds of the processor")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
