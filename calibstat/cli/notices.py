"""Warnings as plain lines on standard error."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print each warning raised in the ``with`` block once, as one line, when the block ends."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            for text in dict.fromkeys(str(warning.message) for warning in caught):
                notice(text)


def notice(text: str) -> None:
    """Print a warning as one line on standard error."""
    print(f"calibstat: warning: {' '.join(text.split())}", file=sys.stderr)
