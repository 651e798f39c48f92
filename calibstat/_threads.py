"""Work that is handed out to threads in pieces, and taken back in order: no value depends on how many there are.

Numpy releases the lock of the interpreter, so that pieces of a millisecond or more run side by side.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, TypeVar

from calibstat._progress import silent

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
Item = TypeVar("Item")


def _allowed() -> int:
    """Return how many threads the environment allows: CALIBSTAT_THREADS, or the cores that this process may use."""
    word = os.environ.get("CALIBSTAT_THREADS", "")
    if word and not (word.isdecimal() and int(word) > 0):
        raise ValueError(f"the environment variable CALIBSTAT_THREADS is {word!r}; it must be a whole number from 1.")
    if word:
        return int(word)
    affinity = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@dataclass
class _Setting:
    """How many threads one call may use."""

    n_threads: int


_setting: Final = _Setting(_allowed())


def use_threads(n_threads: int | None) -> None:
    """Let one call use so many threads; None for as many as the environment allows."""
    _setting.n_threads = _allowed() if n_threads is None else n_threads


def threads() -> int:
    """Return how many threads a call may use: one outside the main thread, as others divide the work there."""
    return _setting.n_threads if threading.current_thread() is threading.main_thread() else 1


def in_order(work: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
    """Yield ``work(item)`` of each item, computed on threads a few items ahead of what is asked for."""
    several, following = threads(), iter(items)
    first = list(islice(following, 2 * several))
    if several < 2 or len(first) < 2:
        yield from map(work, chain(first, following))
        return
    from concurrent.futures import ThreadPoolExecutor  # it imports much, which one thread does without

    pool = ThreadPoolExecutor(several, "calibstat")

    def start(item: Item) -> Future[T]:
        return pool.submit(copy_context().run, silent, work, item)

    try:
        started = deque(map(start, first))
        while started:
            done = started.popleft().result()
            started.extend(map(start, islice(following, 1)))
            yield done
    finally:
        pool.shutdown(cancel_futures=True)
