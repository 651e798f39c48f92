"""Work that is handed out to threads in pieces, and taken back in order: no value depends on how many there are.

Numpy releases the lock of the interpreter in arithmetic, sorting and random numbers, but not in `bincount`, `ufunc.at`
and whatever is short. So some work gains by threads and some loses; threads go on only while they are seen to gain.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from itertools import chain, islice
from time import perf_counter
from typing import Final, TypeVar

from calibstat._progress import silent, track

# Fewer items for each thread are computed alone. Threads stop where an item takes nearly as many times longer beside
# others as there are threads.
_FEWEST, _NO_GAIN = 4, 0.9
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


def told_in_order(work: Callable[[Item], T], items: Sequence[Item]) -> Iterator[T]:
    """Do as `in_order`, and tell how far it is; of few items each is computed alone, and tells how far it is itself."""
    if len(items) < _FEWEST * threads():
        for item in track(items, len(items)):
            yield work(item)
    else:
        yield from track(in_order(work, items), len(items))


def in_order(work: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
    """Yield ``work(item)`` of each item, computed on threads a few items ahead of what is asked for.

    Two items are computed alone first, and say how long one takes; where items take so much longer beside each other
    that threads gain nothing, the rest is computed alone too.
    """
    context = copy_context()

    def apart(item: Item) -> T:
        return context.copy().run(silent, work, item)

    several, following = threads(), iter(items)
    first = list(islice(following, _FEWEST * several))
    waiting = chain(first, following)
    if several < 2 or len(first) < _FEWEST * several:
        yield from map(apart, waiting)
        return
    from concurrent.futures import ThreadPoolExecutor  # it imports much, which one thread does without

    def timed(item: Item) -> tuple[T, float]:
        begun = perf_counter()
        return apart(item), perf_counter() - begun

    pool = ThreadPoolExecutor(several, "calibstat")
    alone: list[float] = []
    beside: list[float] = []
    try:
        for item in islice(waiting, 2):
            done, seconds = timed(item)
            alone.append(seconds)
            yield done
        started = deque(pool.submit(timed, item) for item in islice(waiting, 2 * several))
        while started:
            done, seconds = started.popleft().result()
            beside.append(seconds)
            if len(beside) < 2 * several or min(beside[: 2 * several]) < _NO_GAIN * several * min(alone):
                started.extend(pool.submit(timed, item) for item in islice(waiting, 1))
            yield done
    finally:
        pool.shutdown(cancel_futures=True)
    yield from map(apart, waiting)
