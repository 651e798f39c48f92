"""What a user waits for first: a fresh process, a file, a sample of raw arrays; and what more rows cost."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

import calibstat as cs
from benchmarks.timing import bincount_pass, interleaved, process_seconds, stable_argsort
from benchmarks.worlds import binary_arrays, class_arrays

FIRST = """
import numpy as np, calibstat as cs
p = np.linspace(0.01, 0.99, 1000)
cs.calibration_test(cs.Sample(p > 0.4, p), cs.ECE(), rng=0).pvalue
"""
NUMPY = [sys.executable, "-c", "import numpy"]


@pytest.fixture
def kept_bytecode(monkeypatch, tmp_path):
    """Both sides are read as bytecode, as after an installation."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    monkeypatch.setenv("CALIBSTAT_THREADS", "1")


def test_first_pvalue_in_a_fresh_process(ratios, kept_bytecode):
    ours, numpy = (1e3 * process_seconds(each, 6) for each in ([sys.executable, "-c", FIRST], NUMPY))
    ratios.record("first p-value in a fresh process; import numpy", ours, numpy, 1.4)


NOTES = {10: "twelve lenses, each with a panel of five statistics on 999 redraws"}


@pytest.mark.parametrize(("n_classes", "goal"), [(2, 3), (10, 9)])
def test_command_on_a_thousand_rows(n_classes, goal, ratios, tmp_path, kept_bytecode):
    y, rows = class_arrays(1000, n_classes)
    columns = {"p": rows[:, 1]} if n_classes == 2 else {f"p{k}": rows[:, k] for k in range(n_classes)}
    file = tmp_path / "rows.csv"
    pd.DataFrame({"y": y, **columns}).to_csv(file, index=False)
    command = [sys.executable, "-m", "calibstat", "test", str(file), "--label", "y", "--probs", ",".join(columns)]
    ours, numpy = (1e3 * process_seconds(each, 4) for each in (command, NUMPY))
    name = f"calibstat test, 1000 rows of {n_classes} classes; import numpy"
    ratios.record(name, ours, numpy, goal, note=NOTES.get(n_classes, ""))


@pytest.mark.parametrize(
    ("verb", "goal", "note"),
    [
        ("test", 9, "cells take two, sums three, the law of counts two"),
        ("comparison_test", 40, "the exact tests of both models alone take 12"),
    ],
)
def test_redraws_by_cells_in_passes(verb, goal, note, ratios):
    y, p = binary_arrays(1_000_000)
    q = np.clip(p + np.random.default_rng(0).normal(0, 0.05, len(p)), 0, 1)
    first, second, debiased = cs.Sample(y, p), cs.Sample(y, q), cs.DebiasedL2()

    def work():
        if verb == "test":
            cs.calibration_test(first, debiased, rng=0)
        else:
            cs.comparison_test(first, second, debiased, rng=0)

    unit = f"{verb} of DebiasedL2, n = 1e6; a bincount pass"
    ratios.at_most(unit, work, lambda: bincount_pass(y, p), goal, rounds=5, note=note)


@pytest.mark.parametrize("estimator", [cs.ECE(), cs.DebiasedL2(), cs.Kuiper(), cs.SmoothECE()], ids=repr)
def test_ten_times_as_many_rows_cost_no_more_than_reading_and_sorting_them(estimator, ratios):
    """A test's time over that of making the sample and an argsort, for both numbers of rows."""

    def relative(n):
        y, p = binary_arrays(n)
        ours, read, sort = interleaved(
            [
                lambda: cs.calibration_test(cs.Sample(y, p), estimator, rng=0),
                lambda: cs.Sample(y, p),
                lambda: stable_argsort(p),
            ],
            rounds=2,
        )
        return ours / (read + sort)

    million, ten = relative(1_000_000), relative(10_000_000)
    name = f"test of {estimator!r} over reading and sorting, n = 1e7; n = 1e6"
    ratios.record(name, ten, million, 1.2, unit="")
