"""Ratios against references measured in the same run: asserted, printed as a table and kept as JSON."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pytest

from benchmarks.timing import interleaved

STORED = Path(__file__).parents[2] / ".benchmarks" / "ratios.json"
RATIOS = pytest.StashKey[list]()


@dataclass(frozen=True)
class Ratio:
    """One comparison; `goal` is an upper bound, or a lower bound where `at_least`."""

    name: str
    value: float
    reference: float
    unit: str
    ratio: float
    goal: float
    at_least: bool

    @property
    def reached(self):
        return self.ratio >= self.goal if self.at_least else self.ratio <= self.goal

    def __str__(self):
        sign = ">=" if self.at_least else "<="
        verdict = "" if self.reached else "  MISSED"
        numbers = f"{self.value:10.3f} {self.reference:12.3f} {self.unit:3} {self.ratio:10.3f}   {sign} {self.goal:g}"
        return f"{self.name:68} {numbers}{verdict}"


class Recorder:
    """Takes measurements, keeps them for the table, and asserts the goal."""

    def __init__(self, config):
        self.kept = config.stash.setdefault(RATIOS, [])

    def record(self, name, value, reference, goal, unit="ms", at_least=False):
        ratio = reference / value if at_least else value / reference
        found = Ratio(name, value, reference, unit, ratio, goal, at_least)
        self.kept.append(found)
        assert found.reached, str(found)

    def at_most(self, name, contender, reference, goal, rounds=25):
        """Time two functions in turns; the contender may take `goal` times as long as the reference."""
        self.record(name, *(1e3 * seconds for seconds in interleaved([contender, reference], rounds)), goal)


@pytest.fixture
def ratios(request):
    return Recorder(request.config)


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.benchmark)


def pytest_terminal_summary(terminalreporter, config):
    kept = config.stash.get(RATIOS, [])
    if not kept:
        return
    terminalreporter.section("ratios")
    terminalreporter.write_line(f"{'':68} {'value':>10} {'reference':>12} {'':3} {'ratio':>10}   goal")
    for ratio in kept:
        terminalreporter.write_line(str(ratio))
    machine = {"python": platform.python_version(), "numpy": np.__version__, "processors": os.cpu_count()}
    STORED.parent.mkdir(exist_ok=True)
    STORED.write_text(json.dumps({"machine": machine, "ratios": [asdict(ratio) for ratio in kept]}, indent=2) + "\n")
    terminalreporter.write_line(
        f"kept in {STORED.relative_to(Path.cwd()) if STORED.is_relative_to(Path.cwd()) else STORED}"
    )
