"""Ten million rows in bounded memory, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import zarr
from dask.callbacks import Callback

import calibstat as cs
from calibstat.generators import GaussianMixture

PEAK = Path("/proc/self/status")
ROWS = 10**7
# What is done, the most memory in GB that it may take, with Python, packages and the rows themselves.
DONE = {
    "monitor": (
        """
        monitor = cs.Monitor()
        for _ in range(ROWS // 100_000):
            p = rng.random(100_000)
            monitor.update(p, (rng.random(100_000) < p).astype(int))
        assert monitor.n_rows == ROWS
        """,
        0.5,
    ),
    "omnibus test": ("assert 0 < cs.omnibus_test(sample(), rng=1).pvalue <= 1", 4),
    "tests and interval": (
        """
        rows = sample()
        assert 0 < cs.calibration_test(rows, rng=1).pvalue <= 1
        assert cs.estimate(rows, rng=1).confidence_interval.high < 0.01
        """,
        4,
    ),
    "report": ("assert len(cs.report(sample(), rng=1).to_html()) > 10_000", 4),
}
BEFORE = f"""
import numpy as np
import calibstat as cs

ROWS, rng = {ROWS}, np.random.default_rng(0)

def sample():
    p = rng.random(ROWS)
    return cs.Sample((rng.random(ROWS) < p).astype(np.int8), p, labels=(0, 1))
"""
AFTER = """
from pathlib import Path
print(next(line.split()[1] for line in Path("/proc/self/status").open() if line.startswith("VmHWM")))
"""


def peak_of(done: str) -> float:
    """The most memory that a process took, in GB."""
    script = BEFORE + textwrap.dedent(done) + AFTER
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return int(ran.stdout.split()[-1]) / 1e6


@pytest.mark.slow
@pytest.mark.skipif(not PEAK.exists(), reason="the system does not tell the most memory of a process")
@pytest.mark.parametrize("name", DONE)
def test_ten_million_rows_need_bounded_memory(name):
    done, most = DONE[name]
    assert peak_of(done) < most


@pytest.mark.slow
@pytest.mark.skipif(not PEAK.exists(), reason="the system does not tell the most memory of a process")
def test_negative_control_memory_is_seen():
    assert peak_of("kept = np.ones(10**8)") > 0.8


def steps_for(n_blocks: int, store: Path) -> int:
    """Summarise a stored sweep of one repeat in each block, and count the tasks of dask."""
    models = {"calibrated": GaussianMixture(0, -2)}
    tests = {"ECE": (cs.ECE(cs.EqualWidth(5)), cs.Consistency(19))}
    sweep = cs.Sweep(models, n=[20], estimators={"Brier": cs.BrierScore()}, tests=tests, n_repeats=n_blocks, rng=0)
    found = sweep.run("threads", store, progress=False, block=1)
    tasks = []
    with Callback(pretask=lambda *_: tasks.append(None)):
        summary = cs.summarise(found)
    assert summary.equals(cs.summarise(sweep.run("threads", progress=False, block=1)))
    return len(tasks)


def test_a_summary_of_a_store_takes_a_few_steps_for_each_block(tmp_path):
    """Reading its arrays, and not each step of the summary for each block: that took 32, and 15 GB for 10^4 blocks."""
    few, many = (steps_for(n, tmp_path / f"{n}.zarr") for n in (10, 40))
    assert (many - few) / 30 <= 4


def test_a_block_writes_the_status_of_few_others(tmp_path, monkeypatch):
    """Its chunk alone: one of all blocks, written with each of them, took 6 ms a block where there were 10^5."""
    monkeypatch.setattr("calibstat.sweeps.store._BLOCKS_IN_A_CHUNK", 4)
    models = {"calibrated": GaussianMixture(0, -2), "off": GaussianMixture(1, 1)}
    sweep = cs.Sweep(models, n=[20, 30], estimators={"Brier": cs.BrierScore()}, n_repeats=10, rng=0)
    sweep.run("threads", tmp_path / "s.zarr", progress=False, block=1)
    status = zarr.open_group(tmp_path / "s.zarr", mode="r")["status"]
    assert status.shape == (2, 2, 10)
    assert status.chunks == (1, 1, 4)
    assert (np.asarray(status[:]) == 1).all()
