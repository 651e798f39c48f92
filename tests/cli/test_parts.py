"""Commands on rows in several files, and on rows that stand for several."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calibstat.cli.main import main
from calibstat.ledgers import batches
from calibstat.planning import search
from calibstat.reports import _findings

ASKED = ["--label", "y", "--probs", "p"]


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for part in range(3):
        p = rng.random(400)
        rows.append(pd.DataFrame({"y": (rng.random(400) < p).astype(int), "p": p, "site": rng.choice(["n", "s"], 400)}))
        rows[-1].to_parquet(tmp_path / f"part-{part}.parquet")
    pd.concat(rows).to_csv(tmp_path / "whole.csv", index=False)
    return tmp_path


def records(capsys, *words):
    assert main([*words, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_several_files_are_tested_as_one(folder, capsys):
    width = ["--estimator", "ECE(EqualWidth(15))"]
    (found,) = records(capsys, "test", str(folder / "part-*.parquet"), *ASKED, *width)
    (expected,) = records(capsys, "test", str(folder / "whole.csv"), *ASKED, *width)
    assert found["n"] == expected["n"] == 1200
    assert found["pvalue"] == pytest.approx(expected["pvalue"], rel=1e-9)
    assert found["statistic"] == pytest.approx(expected["statistic"], rel=1e-9)
    assert "counted in steps" in found["source"]


def test_a_large_file_is_counted(folder, capsys, monkeypatch):
    place = str(folder / "part-0.parquet")
    (read,) = records(capsys, "estimate", place, *ASKED)
    monkeypatch.setattr(batches, "MANY_ROWS", 399)
    (found,) = records(capsys, "estimate", place, *ASKED)
    assert "counted in steps" not in read["source"]
    assert "counted in steps" in found["source"]
    assert found["estimate"] == pytest.approx(read["estimate"], rel=0.05)


def test_groups_of_several_files_are_audited(folder, capsys):
    found = records(capsys, "audit", str(folder / "part-*.parquet"), *ASKED, "--by", "site")
    assert '"n": 1200' in json.dumps(found)
    assert "counted in steps" in json.dumps(found)


def test_columns_of_several_files_are_scanned(folder, capsys):
    asked = ["scan", str(folder / "part-*.parquet"), *ASKED]
    (found,) = records(capsys, *asked, "--variable", "site")
    assert (found["variable"], found["n"]) == ("site", 1200)
    assert main(asked) == 2
    assert "by columns of few values: name these as --variable" in capsys.readouterr().err


def test_more_classes_are_seen_through_the_top_label(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.dirichlet([1, 1, 1], 300), columns=["q_a", "q_b", "q_c"]).assign(
        y=rng.choice(list("abc"), 300)
    )
    rows.to_csv(tmp_path / "part-0.csv", index=False)
    asked = [str(tmp_path / "part-*.csv"), "--label", "y", "--probs", "q_*"]
    assert main(["test", *asked]) == 0
    said = capsys.readouterr()
    assert "seen through top-label alone" in said.err
    assert "predicted class" in said.out
    assert main(["test", *asked, "--lens", "canonical"]) == 2
    assert "there are 3 outcomes" in capsys.readouterr().err


@pytest.mark.parametrize("more", [["--weights", "site"], ["--prevalence", "0.1"]])
def test_what_needs_single_rows_is_refused(folder, capsys, more):
    assert main(["test", str(folder / "part-*.parquet"), *ASKED, *more]) == 2
    assert "is counted in parts, which takes --label and --probs alone" in capsys.readouterr().err


def test_commands_that_pair_rows_take_no_folder(folder, capsys):
    assert main(["compare", str(folder), "--label", "y", "--model", "a=p", "--model", "b=p"]) == 2
    assert "it is a folder; name a file" in capsys.readouterr().err


@pytest.fixture
def counts(tmp_path):
    pd.DataFrame({"p": [0.1, 0.4, 0.8], "e": [2, 11, 25], "n": [30, 30, 30]}).to_csv(
        tmp_path / "counts.csv", index=False
    )
    return str(tmp_path / "counts.csv")


@pytest.mark.parametrize("command", ["test", "estimate"])
def test_rows_that_stand_for_several_are_those_written_out(counts, tmp_path, capsys, command):
    given = ["--estimator", "ECE(EqualWidth(10))"]
    (found,) = records(capsys, command, counts, "--events", "e", "--trials", "n", "--probs", "p", *given)
    rows = [(p, happened) for p, e in ((0.1, 2), (0.4, 11), (0.8, 25)) for happened in [0] * (30 - e) + [1] * e]
    pd.DataFrame(rows, columns=["p", "y"]).to_csv(tmp_path / "rows.csv", index=False)
    (expected,) = records(capsys, command, str(tmp_path / "rows.csv"), *ASKED, *given)
    assert found["n"] == 90
    value = "statistic" if command == "test" else "estimate"
    assert found[value] == pytest.approx(expected[value], rel=1e-9)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--events", "e", "--probs", "p"], "--events says how many of the --trials had the event: name both columns"),
        (["--events", "n", "--trials", "e", "--probs", "p"], "column 'n' is 30 in row 1 (the first row of data is 1)"),
        (["--events", "e", "--trials", "n", "--confidence", "p"], "leave --confidence out"),
        (["--label", "e", "--trials", "n", "--probs", "p"], "name both columns, in place of --label"),
    ],
)
def test_events_without_trials_are_refused(counts, capsys, words, said):
    assert main(["test", counts, *words]) == 2
    assert said in capsys.readouterr().err


NOW = ("--events", "e", "--trials", "n")


@pytest.fixture
def grouped(tmp_path):
    """Counts with a column of cities, and the rows that they count."""
    rng = np.random.default_rng(4)
    p, n = rng.uniform(0.1, 0.9, 60).round(3), rng.integers(5, 20, 60)
    e, city = rng.binomial(n, p), np.where(np.arange(60) < 30, "city 1", "city 2")
    pd.DataFrame({"p": p, "q": p**2, "e": e, "n": n, "city": city}).to_csv(tmp_path / "counts.csv", index=False)
    each = [np.repeat([0, 1], [n - e, e]) for n, e in zip(n, e, strict=True)]
    rows = {name: np.repeat(values, n) for name, values in (("p", p), ("q", p**2), ("city", city))}
    pd.DataFrame({"y": np.where(np.concatenate(each) == 1, "e", "no e"), **rows}).to_csv(
        tmp_path / "rows.csv", index=False
    )
    return str(tmp_path / "counts.csv"), str(tmp_path / "rows.csv")


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("clinical", ["--probs", "p", "--by", "city"]),
        ("audit", ["--probs", "p", "--by", "city"]),
        ("scan", ["--probs", "p", "--variables", "city"]),
        ("leaves", ["--probs", "p", "--variables", "city"]),
        ("desiderata", ["--probs", "p"]),
        ("compare", ["--model", "a=p", "--model", "b=q"]),
    ],
)
def test_every_command_reads_counts_as_the_rows_written_out(grouped, capsys, command, asked):
    counts, rows = grouped
    said = []
    for how, path in ((NOW, counts), (("--label", "y", "--labels", "no e,e"), rows)):
        assert main([command, path, *how, *asked]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert "city city" not in said[0]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--by", "city", "--missing", "level"], "--missing level is about single rows, but --events counts several"),
        (["--by", "n"], "--by n: this is the column of what happened"),
    ],
)
def test_what_counts_cannot_say_is_refused(grouped, capsys, asked, said):
    assert main(["audit", grouped[0], *NOW, "--probs", "p", *asked]) == 2
    assert said in capsys.readouterr().err


def test_a_count_below_zero_is_named_by_row_and_column(grouped, capsys):
    frame = pd.read_csv(grouped[0])
    frame.loc[4, "e"] = -1
    frame.to_csv(grouped[0], index=False)
    assert main(["test", grouped[0], *NOW, "--probs", "p"]) == 2
    assert capsys.readouterr().err == (
        "calibstat: error: column 'e' is -1 in row 5 (the first row of data is 1), but a whole number of rows, 0 or "
        "more, is expected\n"
    )


def test_groups_of_a_test_are_audited(folder, capsys):
    asked = [str(folder / "part-*.parquet"), *ASKED, "--by", "site", "--seed", "1"]
    audited = records(capsys, "audit", *asked)
    assert records(capsys, "test", *asked) == audited
    assert records(capsys, "test", *asked[:-4], "--by=site", *asked[-2:]) == audited


@pytest.mark.parametrize("command", ["clinical", "desiderata"])
def test_summaries_are_of_all_files(folder, capsys, command):
    assert main([command, str(folder / "part-*.parquet"), *ASKED, "--n-resamples", "99"]) == 0
    found = capsys.readouterr().out
    assert main([command, str(folder / "whole.csv"), *ASKED, "--n-resamples", "99"]) == 0
    assert found.splitlines()[0][:30] == capsys.readouterr().out.splitlines()[0][:30]


def test_a_report_is_of_all_files(folder, capsys, monkeypatch):
    monkeypatch.setattr(_findings, "_RUNS", 10)  # of the search for the smallest error that is seen
    monkeypatch.setattr(search, "_PILOT", 10)
    place = folder / "report.html"
    asked = ["--no-calibrators", "--seed", "1", "--output", str(place)]
    assert main(["report", str(folder / "part-*.parquet"), *ASKED, "--by", "site", *asked]) == 0
    assert "1200" in place.read_text()
