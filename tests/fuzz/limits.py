"""How many cases there are, what one may take of the processor, and where the code lies that may refuse it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import calibstat

HOME = str(Path(calibstat.__file__).parent)
SECONDS = 10
# How many seeds of each kind, and how many of them make one test.
SEEDS = {
    "estimators": (12_000, 60),
    "functions": (960, 16),
    "inputs": (14_000, 50),
    "objects": (15_000, 50),
    "dear": (90, 10),
    "files": (5_000, 50),
    "commands": (3_000, 50),
}


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
