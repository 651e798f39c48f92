"""Compiled twins, on for one test."""

from __future__ import annotations

import pytest

import calibstat as cs


@pytest.fixture
def accelerated():
    """Turn acceleration on for one test: call it to choose the number of threads."""
    cs.accelerate()
    yield cs.accelerate
    cs.accelerate(False)
