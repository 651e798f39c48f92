"""A ledger of a file: processor time against reading it, and memory, in processes of their own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import calibstat as cs
from benchmarks.timing import fresh_process

pa = pytest.importorskip("pyarrow")
PART = 10**6
# Of 10^8 rows: 1.3 times what reading them takes, and 20 seconds.
SHARE, SECONDS_OF_A_ROW = 1.3, 20 / 10**8
LIMIT_MB = 500

TIMED = """
import json, time
import calibstat as cs
cs.Ledger, cs.Canonical, cs.TopLabel
import pandas, pyarrow.dataset
from pyarrow import parquet

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

begin = time.process_time()
{work}
print(json.dumps([time.process_time() - begin, peak()]))
"""
READ = """
with parquet.ParquetFile({path!r}, pre_buffer=False) as file:
    n = sum(batch.num_rows for batch in file.iter_batches(batch_size=1 << 20, columns=["y", "p"], use_threads=False))
"""
COLLECT = "cs.Ledger.collect({path!r}, y_true='y', y_prob='p')"


@pytest.fixture(params=[10**7, pytest.param(10**8, marks=pytest.mark.slow)], ids=["1e7", "1e8"])
def file(request, tmp_path):
    """Calibrated predictions, written a part at a time."""
    from pyarrow import parquet

    rng, path = np.random.default_rng(0), tmp_path / "rows.parquet"
    with parquet.ParquetWriter(path, pa.schema({"y": pa.int8(), "p": pa.float64()})) as writer:
        for _ in range(request.param // PART):
            p = rng.random(PART)
            writer.write_table(pa.table({"y": (rng.random(PART) < p).astype(np.int8), "p": p}))
    return path, request.param


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_a_ledger_of_a_file(file, ratios):
    path, n = file
    found = {name: json.loads(fresh_process(TIMED.format(work=work.format(path=str(path))))) for name, work in WORK}
    allowed = SHARE * found["read"][0] + SECONDS_OF_A_ROW * n
    ratios.record(f"ledger of {n:.0e} rows; 1.3 readings and 20 s for 1e8", found["collect"][0], allowed, 1, unit="s")
    ratios.record(f"peak memory of a ledger of {n:.0e} rows", found["collect"][1], LIMIT_MB, 1, unit="MB")


WORK = [("read", READ), ("collect", COLLECT)]


def test_the_test_of_a_file_is_that_of_its_rows(file):
    path, n = file
    if n > 10**7:
        pytest.skip("its rows would fill the memory")
    estimator = cs.ECE(cs.EqualWidth(15))
    found = cs.calibration_test(cs.Ledger.collect(path, y_true="y", y_prob="p").sample(), estimator)
    expected = cs.calibration_test(cs.Sample.read(path, y_true="y", y_prob="p"), estimator)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)


# The same file by engines, each in a process of its own; dask counts in two further ones.
ENGINES = {
    "polars": "import polars; source = polars.scan_parquet({path!r})",
    "DuckDB": "import duckdb; source = duckdb.read_parquet({path!r})",
    "dask": """
import dask.dataframe as dd, distributed
cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
client = distributed.Client(cluster)
source = dd.read_parquet({path!r}, split_row_groups=8)
""",
}
COUNTED_BY = """
import json, time
import calibstat as cs

if __name__ == "__main__":
    {source}
    begin = time.process_time()
    ledger = cs.Ledger.collect(source, y_true="y", y_prob="p")
    took = time.process_time() - begin
    pvalue = cs.calibration_test(ledger.sample(), cs.ECE(cs.EqualWidth(15))).pvalue
    print(json.dumps([took, pvalue, ledger.table[["step", "rows", "events"]].to_numpy().tolist()]))
"""
# Nanoseconds of a row; those of dask pass in its workers.
MOST = {"polars": 300, "DuckDB": 250, "dask": 300}


def test_engines_count_the_same(file, ratios):
    path, n = file
    expected = cs.Ledger.collect(path, y_true="y", y_prob="p")
    pvalue = cs.calibration_test(expected.sample(), cs.ECE(cs.EqualWidth(15))).pvalue
    for name, source in ENGINES.items():
        indented = source.format(path=str(path)).strip().replace("\n", "\n    ")
        took, found, counts = json.loads(fresh_process(COUNTED_BY.format(source=indented)))
        assert counts == expected.table[["step", "rows", "events"]].to_numpy().tolist()
        assert found == pytest.approx(pvalue, rel=1e-9)
        by = f"{name} (its client)" if name == "dask" else name
        ratios.record(f"ledger of {n:.0e} rows by {by}", took / n * 1e9, MOST[name], 1, unit="ns a row")
