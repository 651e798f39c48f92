"""Warnings that point to the user's line, and notes of what they say."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Frames are told by their modules, since the methods that a dataclass makes are in no file. `contextlib` stands between
# a ``with`` statement and what it enters.
_OURS = {"calibstat", "contextlib"}


_notes: ContextVar[list[str] | None] = ContextVar("calibstat_notes", default=None)


@contextmanager
def noting() -> Iterator[list[str]]:
    """Collect what is noted, or warned of, inside the ``with`` block."""
    outside, found = _notes.get(), list[str]()
    before = _notes.set(found)
    try:
        yield found
    finally:
        _notes.reset(before)
        if outside is not None:
            outside.extend(found)


def note(message: str) -> None:
    """Tell whoever collects notes what is worth knowing, without a warning."""
    found = _notes.get()
    if found is not None:
        found.append(message)


def asked_from_outside() -> bool:
    """Whether the function that asks was called from outside the package."""
    return sys._getframe(2).f_globals.get("__name__", "").partition(".")[0] not in _OURS


def warn(message: str, category: type[Warning] = UserWarning, advice: str = "") -> None:
    """Warn at the line outside the package that led here; what to do about it is no part of the note."""
    note(message)
    level, frame = 1, sys._getframe()
    while frame.f_globals.get("__name__", "").partition(".")[0] in _OURS and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message + advice, category, stacklevel=level)
