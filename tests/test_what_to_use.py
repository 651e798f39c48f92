"""The page on what to use: ten lines at most, and every call and command in them runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import calibstat as cs
from calibstat.cli.main import build_parser

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "what-to-use.md").read_text(encoding="utf-8")
ROWS = [re.findall(r"`([^`]+)`", line) for line in PAGE.splitlines() if line.startswith("| [")]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    chance, age = rng.random(600), rng.uniform(20, 80, 600)
    happened = rng.random(600) < chance**1.5
    variables = {"age": age}
    return {
        "sample": cs.Sample(happened, chance, variables=variables),
        "other": cs.Sample(happened, chance**1.5, variables=variables),
        "y_prob": chance,
        "y_true": happened,
    }


def test_there_are_ten_lines_at_most_of_a_call_and_a_command():
    assert 8 <= len(ROWS) <= 10
    assert all(len(row) == 2 for row in ROWS)


@pytest.mark.parametrize("call", [row[0] for row in ROWS])
def test_every_call_answers(call, rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert eval(call, {"cs": cs, **rows}) is not None


REST = {"plan": "", "compare": " rows.csv --label y --model a=p --model b=q"}


@pytest.mark.parametrize("command", [row[1] for row in ROWS])
def test_every_command_takes_its_options(command):
    """Options that are missing or wrong end the parser."""
    name = command.split()[1]
    arguments = shlex.split(command.removeprefix("calibstat") + REST.get(name, " rows.csv --label y --probs p"))
    assert build_parser().parse_args(arguments).command == name
