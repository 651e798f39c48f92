"""Importing costs little more than importing numpy."""

from __future__ import annotations

from statistics import median

import pytest

from benchmarks.timing import fresh_process

TIMED = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
FIRST_USE = "import calibstat as cs; cs.Sample, cs.TopLabel, cs.ECE, cs.EqualMass, cs.Consistency, cs.calibration_test"


@pytest.mark.parametrize(
    ("name", "statement"), [("import calibstat", "import calibstat"), ("import calibstat, names used", FIRST_USE)]
)
def test_import_against_numpy(name, statement, ratios, benchmark):
    benchmark.pedantic(fresh_process, (statement,), rounds=3)
    rounds = [[float(fresh_process(TIMED.format(each))) for each in (statement, "import numpy")] for _ in range(15)]
    ours, numpy = (1e3 * median(column) for column in zip(*rounds, strict=True))
    ratios.record(name, ours, numpy, 2.5)
