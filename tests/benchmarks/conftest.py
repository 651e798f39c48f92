"""Ratios against references measured in the same run: asserted, printed as a table and kept as JSON.

The file is ``.benchmarks/benchmarks.json``, or ``benchmarks.json`` in the folder that the environment variable
``CALIBSTAT_BENCHMARKS`` names; ratios of earlier runs under other names stay in it.
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy

import calibstat as cs
from benchmarks.timing import interleaved

FOLDER = Path(os.environ.get("CALIBSTAT_BENCHMARKS", Path(__file__).parents[2] / ".benchmarks"))
STORED = FOLDER / "benchmarks.json"
RATIOS = pytest.StashKey[list]()


@dataclass(frozen=True)
class Ratio:
    """One comparison; `goal` is an upper bound, or a lower bound where `at_least`; some are only recorded."""

    name: str
    value: float
    reference: float
    unit: str
    ratio: float
    goal: float
    at_least: bool
    note: str

    @property
    def reached(self):
        return self.ratio >= self.goal if self.at_least else self.ratio <= self.goal

    def __str__(self):
        sign = ">=" if self.at_least else "<="
        verdict = ("" if self.reached else "  MISSED") + (f"  ({self.note})" if self.note else "")
        numbers = f"{self.value:10.4g} {self.reference:12.5g} {self.unit:3} {self.ratio:10.4g}   {sign} {self.goal:g}"
        return f"{self.name:76} {numbers}{verdict}"


class Recorder:
    """Takes measurements, keeps them for the table, and asserts the goal."""

    def __init__(self, config):
        self.kept = config.stash.setdefault(RATIOS, [])

    def record(self, name, value, reference, goal, unit="ms", at_least=False, note=""):
        ratio = reference / value if at_least else value / reference
        found = Ratio(name, value, reference, unit, ratio, goal, at_least, note)
        self.kept.append(found)
        assert found.reached, str(found)

    def at_most(self, name, contender, reference, goal, rounds=9, note=""):
        """Time two functions in turns; the contender may take `goal` times as long as the reference."""
        self.record(name, *(1e3 * seconds for seconds in interleaved([contender, reference], rounds)), goal, note=note)

    def within(self, name, contender, seconds, rounds=3):
        """Time a function, which may take so many seconds of the processor."""
        self.record(name, interleaved([contender], rounds)[0], seconds, 1, "s")

    def faster(self, name, contender, reference, goal, rounds=7, times=1, note=""):
        """Time two functions in turns; the reference does a share 1 / `times` of the work and is scaled."""
        fast, slow = interleaved([contender, reference], rounds)
        note = "; ".join(filter(None, [f"reference scaled by {times:g}" if times != 1 else "", note]))
        self.record(name, 1e3 * fast, 1e3 * slow * times, goal, at_least=True, note=note)


@pytest.fixture
def ratios(request):
    return Recorder(request.config)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Goals hold for one thread, and without compiled loops; other benchmarks ask for them themselves."""
    with monkeypatch.context() as patched:
        patched.setenv("CALIBSTAT_THREADS", "1")
        cs.accelerate(False)
        yield
    cs.accelerate(False)


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.benchmark)


def processor():
    """The name of the processor, where Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def machine():
    return {
        "processor": processor(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def pytest_terminal_summary(terminalreporter, config):
    kept = config.stash.get(RATIOS, [])
    if not kept:
        return
    terminalreporter.section("ratios")
    terminalreporter.write_line(f"{'':76} {'value':>10} {'reference':>12} {'':3} {'ratio':>10}   goal")
    for ratio in kept:
        terminalreporter.write_line(str(ratio))
    FOLDER.mkdir(exist_ok=True, parents=True)
    new = {ratio.name for ratio in kept}
    before = json.loads(STORED.read_text(encoding="utf-8"))["ratios"] if STORED.exists() else []
    rows = [row for row in before if row["name"] not in new] + [asdict(ratio) for ratio in kept]
    text = json.dumps({"machine": machine(), "ratios": rows}, indent=2)
    STORED.write_text(text + "\n", encoding="utf-8")
    terminalreporter.write_line(f"kept in {STORED}")
