"""The stored table of sizes is what the code gives: a tenth of its runs is repeated with another seed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from validity.evidence import LEVEL, SEED, cells, markdown, measure, read, write
from validity.sizes import CASES, N_RESAMPLES

STORED = Path(__file__).parents[2] / "docs" / "evidence" / "size.csv"
OTHER_SEED = 20260705
ROWS = read(STORED)
# redrawing predictions is slow: of these only the smallest samples are repeated
REPEATED = [row for row in ROWS if row.null == "predictions kept" or row.n == 50]


def standard_error(rejections, runs):
    """Of a share; of (count + 1) / (runs + 2), which is never zero."""
    share = (rejections + 1) / (runs + 2)
    return np.sqrt(share * (1 - share) / runs)


def compatible(stored, again):
    allowed = 4 * np.hypot(*(standard_error(row.rejections, row.runs) for row in (stored, again)))
    return abs(stored.size - again.size) <= allowed


@pytest.mark.parametrize("stored", REPEATED, ids=lambda row: " - ".join(map(str, row.cell)))
def test_stored_size_is_repeated(stored):
    again = measure(*stored.cell, runs=stored.runs // 10, seed=OTHER_SEED)
    assert compatible(stored, again), (stored.size, again.size)
    assert stored.estimator == again.estimator


def test_negative_control_another_size_is_told_apart():
    stored = next(row for row in ROWS if row.null == "predictions kept")
    runs = stored.runs // 10
    assert not compatible(stored, replace(stored, runs=runs, rejections=runs // 5, size=1 / 5))


def test_table_is_complete_and_states_its_runs():
    assert [(*row.cell, row.runs) for row in ROWS] == list(cells(ROWS[0].runs))
    assert {row.world for row in ROWS} == set(CASES)
    for row in ROWS:
        assert row.size == pytest.approx(row.rejections / row.runs, abs=1e-6)
        assert (row.level, row.seed, row.n_resamples) == (LEVEL, SEED, N_RESAMPLES)
        assert row.runs >= 500
    assert "numpy" in STORED.read_text().splitlines()[0]


def test_stored_sizes_of_the_exact_null_are_not_above_the_level():
    kept = [row for row in ROWS if row.null == "predictions kept"]
    assert len(kept) == len(ROWS) / 2
    for row in kept:
        assert row.size <= LEVEL + 4 * np.sqrt(LEVEL * (1 - LEVEL) / row.runs), row.cell


def test_table_for_readers_holds_the_same_numbers():
    text = STORED.with_suffix(".md").read_text()
    body = [line for line in text.splitlines() if line.startswith("|")]
    assert body == [line for line in markdown(ROWS).splitlines() if line.startswith("|")]


def test_tables_survive_writing_and_reading(tmp_path):
    write(ROWS, tmp_path)
    assert read(tmp_path / "size.csv") == ROWS
