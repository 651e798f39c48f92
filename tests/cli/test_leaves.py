"""``calibstat leaves``: files in, a table of leaves out."""

from __future__ import annotations

import csv
import io
import json

import pytest

import calibstat as cs


def test_leaves_are_those_of_the_function(run, binary):
    command = ("leaves", binary, "--label", "y", "--probs", "p", "--variables", "age,sex", "--max-depth", "2")
    code, out, err = run(*command, "--seed", "4", "--min-size", "30", "--format", "json")
    assert (code, err) == (0, "")
    sample = cs.Sample.read(binary, y_true="y", y_prob="p", variables=["age", "sex"])
    expected = cs.grow_leaf_table(sample, max_depth=2, min_size=30, rng=4)
    assert json.loads(out) == expected.to_dict()
    _, text, _ = run(*command, "--seed", "4", "--min-size", "30")
    assert text == expected.screen("--verbose").text() + "\n"
    assert "intervals do not hold if the model" in text
    _, text, _ = run(*command, "--seed", "4", "--min-size", "30", "--verbose")
    assert "the tree was grown on 300 others" in " ".join(text.split())
    _, table, _ = run(*command, "--seed", "4", "--min-size", "30", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [(row["leaf"], int(row["n"])) for row in rows] == [(leaf.name, leaf.n) for leaf in expected.leaves]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--variable", "nothing"), "no column 'nothing'"),
        (("--variable", "pet"), "--variables pet: this is the column of what happened"),
        (("--lens", "canonical"), "sees 3 outcomes at once"),
        (("--min-size", "500"), "--min-size is 500, but 300 of 600 rows"),
        (("--share", "2"), "--share is 2.0"),
        (("--max-depth", "0"), "--max-depth"),
    ],
)
def test_errors_are_one_line(run, off, options, words):
    code, out, err = run("leaves", off, "--label", "pet", "--probs", "prob_*", *options)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert words in err


@pytest.mark.parametrize("command", ["leaves", "scan"])
def test_a_file_without_further_columns(run, tmp_path, command):
    file = tmp_path / "two.csv"
    file.write_text("y,p\n0,0.2\n1,0.7\n")
    code, out, err = run(command, file, "--label", "y", "--probs", "p")
    assert (code, out) == (2, "")
    assert "two.csv has no columns besides 'y', 'p', but further ones are asked for: add them" in err
