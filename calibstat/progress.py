"""Progress of long work, told to whoever listens (the command line does; libraries are silent).

Loops inside a loop fill its share of the whole. A listener belongs to the thread that set it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TypeVar

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
    >>> from calibstat.progress import listening, track
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
    >>> from calibstat.progress import listening, part, track
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

    >>> from calibstat.progress import listening, track
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
