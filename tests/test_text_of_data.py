"""Names, labels and groups from data never reach a terminal as they are, nor a spreadsheet as a formula."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat._text import guarded, safe, shown, unguarded
from cli.conftest import run  # noqa: F401

ESCAPES = "\x1b[2J\x1b]0;gone\x07\x9b31m\x00\x08\u202e"
LONG = "b" * 100_000
UNSAFE = re.compile(r"[^\n -~]|b{1000}")


@given(st.text())
def test_what_is_shown_is_printable_and_not_too_long(text):
    assert shown(text).isprintable()
    assert all(line.isprintable() for line in safe(text).split("\n"))
    assert shown(text) == text or not text.isprintable()


def test_a_long_text_is_cut_in_its_middle_and_says_how_long_it_was():
    assert len(shown(LONG)) < 250
    assert len(safe(f"the label {LONG} and {LONG}")) < 500
    assert shown(LONG).count("(100000 characters)") == 1
    assert shown("x" * 200) == "x" * 200


@given(st.one_of(st.text(), st.text("'=+-@\t\ra1.", max_size=5)))
def test_a_guard_is_taken_away_again(text):
    assert unguarded(guarded(text)) == text
    assert not re.match(r"[=+\-@\t\r]", str(guarded(text))) or re.fullmatch(r"[+-].*", text)


@pytest.mark.parametrize("text", ["-1", "+2.5", "-1e-9", "-inf", "1", -1.5, -3, 0.25, ""])
def test_numbers_are_not_guarded(text):
    assert guarded(text) == text


def hostile(path, n=60):
    """Two labels, a column of probabilities and one of groups, each with a name or values of the worst kind."""
    rng = np.random.default_rng(0)
    p = rng.random(n).round(6)
    labels = ["a" + ESCAPES, LONG]
    groups = ["=cmd()", "-" + ESCAPES, "+1+1", "@SUM(A1)", "\tt", "-2"]
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(["y", f"p{ESCAPES}", f"=g{ESCAPES}"])
    rows = [(labels[int(rng.random() < p[k])], p[k], groups[k % len(groups)]) for k in range(n)]
    writer.writerows(rows)
    path.write_text(table.getvalue(), encoding="utf-8")
    return str(path), rows


COMMANDS = [
    ("test",),
    ("test", "--lens", "class-wise:c"),
    ("test", "--weights", f"w{ESCAPES}"),
    ("test", "--estimator", f"E{ESCAPES}{LONG}"),
    ("estimate",),
    ("audit", "--by", "=g*"),
    ("audit", "--by", f"h{ESCAPES}"),
    ("scan", "--variables", "=g*"),
    ("leaves", "--variables", "=g*", "--min-size", "5"),
    ("desiderata", "--weights", f"w{ESCAPES}"),
    ("monitor", "--order", "y"),
    ("plan", "--ece", "0.1", "--n-repeats", "20", "--max-n", "50"),
    (f"te{ESCAPES}st",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: repr(" ".join(command)[:30]))
def test_no_command_prints_what_a_terminal_would_obey(run, tmp_path, command):  # noqa: F811
    path, _ = hostile(tmp_path / f"x{ESCAPES[:4]}.csv")
    name, *more = command
    _, out, err = run(name, path, "--label", "y", "--probs", "p*", *more)
    assert out + err
    assert not UNSAFE.search(out + err)


def test_results_and_samples_print_nothing_that_a_terminal_would_obey():
    rng = np.random.default_rng(0)
    p, group = rng.random(300), np.array([f"g{ESCAPES}", LONG])[rng.integers(0, 2, 300)]
    y = np.array([f"no{ESCAPES}", LONG])[(rng.random(300) < p).astype(int)]
    sample = cs.Sample(y, p, variables={f"v{ESCAPES}": group}, labels=[f"no{ESCAPES}", LONG])
    monitor = cs.Monitor(labels=sample.labels, name=ESCAPES, bad_rows="omit")
    monitor.update(p, np.where(np.arange(300) % 50 == 0, f"?{ESCAPES}", y))
    for thing in (
        sample,
        cs.calibration_test(sample, cs.ECE(), rng=0),
        cs.subgroup_audit(sample, by=[f"v{ESCAPES}"], n_resamples=99, rng=0),
        cs.estimate(sample, cs.ClassWise(LONG) | cs.BrierScore(), rng=0),
        monitor,
    ):
        assert not UNSAFE.search(str(thing))
        assert not UNSAFE.search(repr(thing))


def test_text_that_looks_like_a_formula_is_guarded_in_files_and_read_back(run, tmp_path):  # noqa: F811
    path, rows = hostile(tmp_path / "x.csv")
    out = tmp_path / "out.csv"
    command = ("calibrate", path, "--label", "y", "--probs", "p*", "--calibrator", "platt", "--out", out)
    assert run(*command)[0] == 0
    with out.open(newline="", encoding="utf-8") as file:
        cells = list(csv.reader(file))
    for row in cells:
        for cell in row:
            assert not re.match(r"[=+\-@\t\r]", cell) or cell == "-2"  # a number
    again = cs.Sample.read(out, y_true="y", y_prob="prob_*", variables=[f"=g{ESCAPES}"])
    found = again.predictions.variables[f"=g{ESCAPES}"]
    groups = [found.levels[int(place)] for place in found.values]
    numbers = [int(row[0]) for row in cells[1:]]
    # spaces around a cell, and a tab is one, are not part of it
    assert [group.strip() for group in groups] == [rows[number - 1][2].strip() for number in numbers]
    assert again.y_true.tolist() == [rows[number - 1][0] for number in numbers]
