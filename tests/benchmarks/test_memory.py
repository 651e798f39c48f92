"""Peak memory of a test at a million rows, in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.timing import fresh_process

LIMIT_MB = 250
pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")

CODE = """
import json
import numpy as np
import calibstat as cs

def peak():
    # not getrusage: its ru_maxrss begins at what the parent process held when it started this one
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

rng = np.random.default_rng(3)
{data}
before = peak()
cs.calibration_test(sample, {estimator}, rng=0)
print(json.dumps([peak(), before]))
"""
BINARY = """
p = rng.random(1_000_000)
sample = cs.Sample(rng.random(1_000_000) < p, p)
"""


FIVE_CLASSES = """
sample = cs.Sample(rng.integers(0, 5, 1_000_000), rng.dirichlet(np.ones(5), 1_000_000))
"""


@pytest.mark.parametrize(
    ("data", "estimator"),
    [
        (BINARY, "cs.ECE(cs.EqualMass(15))"),
        (BINARY, "cs.ECE(cs.EqualWidth(15))"),
        (FIVE_CLASSES, "cs.TopLabel() | cs.ECE(cs.EqualMass(15))"),
    ],
    ids=["equal mass", "equal width", "top label of five classes"],
)
def test_peak_memory_of_a_test(data, estimator, ratios):
    def measure():
        return json.loads(fresh_process(CODE.format(data=data, estimator=estimator)))

    peak, before = measure()
    name = f"peak memory, {estimator.replace('cs.', '')}, n = 1e6"
    ratios.record(f"{name} ({before:.0f} MB before it)", peak, LIMIT_MB, 1, unit="MB")
