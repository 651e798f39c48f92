"""Warnings that point to the user's line."""

from __future__ import annotations

import sys
import warnings

# Frames are told by their modules, since the methods that a dataclass makes are in no file. `contextlib` stands between
# a ``with`` statement and what it enters.
_OURS = {"calibstat", "contextlib"}


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside the package that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_globals.get("__name__", "").partition(".")[0] in _OURS and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
