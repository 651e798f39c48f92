"""Importing costs little more than importing numpy."""

from __future__ import annotations

from statistics import median

import pytest

from benchmarks.timing import fresh_process

TIMED = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
FIRST_USE = "import calibstat as cs; cs.Sample, cs.TopLabel, cs.ECE, cs.EqualMass, cs.Consistency, cs.calibration_test"


@pytest.fixture
def kept_bytecode(monkeypatch, tmp_path):
    """Both sides are read as bytecode, as they are after an installation, whether or not this process may write any."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    fresh_process(FIRST_USE)


@pytest.mark.parametrize(
    ("name", "statement", "goal"),
    [("import calibstat", "import calibstat", 0.1), ("import calibstat, names used", FIRST_USE, 2.5)],
)
def test_import_against_numpy(name, statement, goal, ratios, kept_bytecode):
    rounds = [[float(fresh_process(TIMED.format(each))) for each in (statement, "import numpy")] for _ in range(15)]
    ours, numpy = (1e3 * median(column) for column in zip(*rounds, strict=True))
    ratios.record(name, ours, numpy, goal)


def test_names_of_a_first_test_need_no_scipy():
    """scipy.special alone takes twice as long to import as numpy."""
    assert fresh_process(f"{FIRST_USE}; import sys; print('scipy' in sys.modules)") == "False"
