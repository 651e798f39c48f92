"""Closes the figures of a page when its examples have run."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    if drawn := sys.modules.get("matplotlib.pyplot"):
        drawn.close("all")
