"""Rows in clusters: nothing warns of what is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.cli.conftest import write_csv


@pytest.fixture(scope="module")
def repeats(folder):
    """Sixty questions, asked four times each."""
    rng = np.random.default_rng(8)
    question = np.repeat(np.arange(60), 4)
    p = rng.random(60)[question]
    columns = {"y": (rng.random(240) < p).astype(int), "p": p, "age": rng.integers(20, 80, 240), "question": question}
    return write_csv(folder / "repeats.csv", columns)


@pytest.mark.parametrize("command", [("test",), ("estimate",), ("desiderata",), ("audit", "--by", "age"), ("scan",)])
def test_no_caution_of_clusters_where_they_are_named(run, repeats, command):
    name, *more = command
    asked = (name, repeats, "--label", "y", "--probs", "p", *more, "--n-resamples", "99", "--verbose")
    named, unnamed = (" ".join(run(*asked, *groups)[1].split()) for groups in (("--groups", "question"), ()))
    assert "do not hold if the model or its calibration was fitted on these rows" in named
    assert "rows come in clusters" not in named
    assert "if rows come in clusters" in unnamed or "if these belong together, give --groups question" in unnamed


def test_calibrate_fits_and_writes_whole_clusters(run, repeats, tmp_path):
    new = tmp_path / "new.csv"
    asked = ("calibrate", repeats, "--label", "y", "--probs", "p", "--calibrator", "platt", "--out", str(new))
    code, out, err = run(*asked, "--groups", "question")
    assert code == 0
    assert "--groups question" in out + err
    written = pd.read_csv(new)
    assert 110 <= len(written) <= 130
    assert set(written["question"].value_counts()) == {4}
    assert "--groups question keeps rows together" in run(*asked, "--groups", "question", "--apply", repeats)[2]


def test_calibrators_are_compared_by_whole_clusters(run, repeats):
    asked = ("compare-calibrators", repeats, "--label", "y", "--probs", "p", "--calibrators", "platt", "--verbose")
    code, out, _ = run(*asked, "--groups", "question", "--n-resamples", "99")
    assert code == 0
    assert "tested on 120 rows in 30 clusters (question), fitted on 120 others" in " ".join(out.split())
    assert "(by whole clusters)" in " ".join(out.split())
