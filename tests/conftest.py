"""What all tests share: the hypothesis profile, and pictures without a screen."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")

# Derandomised: the same examples in every run, on every machine; no deadline, since machines differ.
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("ci")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Times are measured in one process; everything else runs on all cores."""
    return 0 if config.getoption("benchmark_only", False) else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what was collected, thousands of tests, out of every later collection of garbage."""
    gc.collect()
    gc.freeze()
