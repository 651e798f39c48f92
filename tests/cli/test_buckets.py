"""Commands on a file of buckets: the number of rows and events, and the sum of predictions, of each."""

from __future__ import annotations

import pandas as pd
import pytest

import calibstat as cs
from calibstat.cli.main import main

COLUMNS = ["--events", "y", "--trials", "n", "--predicted", "p"]


@pytest.fixture
def file(tmp_path):
    kept = {"low": [0, 0.2, 0.5], "high": [0.2, 0.5, 1], "n": 300, "y": [25, 109, 206], "p": [31.0, 104.2, 225.9]}
    pd.DataFrame(kept | {"site": ["a", "b", "a"]}).to_csv(tmp_path / "buckets.csv", index=False)
    return str(tmp_path / "buckets.csv")


@pytest.mark.parametrize("asked", [[], ["--estimator", "mean-calibration"], ["--estimator", "rmsce"]], ids=str)
@pytest.mark.parametrize("command", ["test", "estimate"])
def test_each_bucket_is_a_cell(command, asked, file, capsys):
    assert main([command, file, *COLUMNS, *asked]) == 0
    said = capsys.readouterr().out
    assert "rows of a bucket are taken for equal predictions" in said
    assert "slope" not in said


def test_cells_begin_where_buckets_do(file, capsys):
    binning = ["--between", "low,high", "--binning", "FixedEdges([0, 0.2, 1])"]
    assert main(["test", file, *COLUMNS, *binning]) == 0
    value = abs(109 + 206 - 104.2 - 225.9) / 900 + abs(25 - 31) / 900
    assert f"{value:.4g}" in capsys.readouterr().out
    assert cs.Sample.read(file, events="y", trials="n", predicted="p").known.buckets.tolist() == [[0, 1]] * 3


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["test", *COLUMNS, "--bins", "3"], "needs the prediction of each row"),
        (["audit", *COLUMNS, "--by", "site"], "needs the prediction of each row"),
        (["test", *COLUMNS, "--between", "low"], "--between names two columns"),
        (["test", "--label", "y", "--predicted", "p"], "name --events and --trials in place of --label"),
    ],
    ids=str,
)
def test_what_buckets_cannot_tell_is_refused(asked, said, file, capsys):
    assert main([asked[0], file, *asked[1:]]) != 0
    assert said in capsys.readouterr().err
