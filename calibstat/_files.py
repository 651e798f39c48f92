"""Files that are either written whole or left as they were."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Give a place beside `path` to write to; what was written is moved to `path` at once when the ``with`` block ends.

    If the block ends by an error or Ctrl-C, `path` is as it was before, and nothing is left beside it. What is no file,
    such as ``/dev/stdout``, is written to directly.
    """
    if Path(path).exists() and not Path(path).is_file():
        yield Path(path)
        return
    target = Path(path).resolve()  # of a link, the file
    place = target.with_name(f"{target.stem}.partial{target.suffix}")
    try:
        yield place
        place.replace(target)
    finally:
        place.unlink(missing_ok=True)


# Ctrl-C, also where a library takes it for an error of its own.


class Interrupts:
    """Takes note of whether Ctrl-C `came` inside a ``with`` block, which raises KeyboardInterrupt as ever.

    A parser written in C, for one, calls a file damaged when reading it is interrupted. Handlers of others are left
    alone, and so are threads, to which no signal comes.
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
