"""Progress of long work, told to whoever listens (the command line does; libraries are silent)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Listener = Callable[[float], None]

_listener: ContextVar[Listener | None] = ContextVar("calibstat_progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have `listener` called with the fraction done (0 to 1) of the loops that run inside the ``with`` block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def track(items: Iterable[T], total: int) -> Iterator[T]:
    """Yield the items and tell the listener, if there is one, how far the loop has come."""
    listener = _listener.get()
    for done, item in enumerate(items):
        if listener is not None:
            listener(done / max(total, 1))
        yield item
