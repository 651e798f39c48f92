"""The first screen of every command at three widths: an answer, a table that fits, two notes, no Python."""

from __future__ import annotations

import re

import numpy as np
import pytest

from calibstat.cli.main import COMMANDS
from cli.conftest import columns_of, draw, write_csv

WIDTHS = (60, 80, 120)
PETS = ("--label", "pet", "--probs", "prob_*")
TWO = ("--label", "y", "--probs", "p")
# What is asked, and of how few rows it can be asked too.
ASKED = {
    ("test", *PETS): 60,
    ("test", *TWO): 60,
    ("test", *TWO, "--given", "age"): 60,
    ("test", *TWO, "--omnibus"): 60,
    ("estimate", *PETS): 60,
    ("estimate", *TWO, "--costs", "1,4"): 60,
    ("clinical", *PETS): 60,
    ("clinical", *TWO, "--by", "sex"): 60,
    ("audit", *TWO, "--by", "age,sex"): 300,
    ("audit", *PETS, "--by", "sex", "--curves"): 300,
    ("audit", *TWO, "--learn"): 300,
    ("scan", *TWO, "--variables", "age,sex"): 60,
    ("leaves", *TWO, "--variables", "age,sex"): 300,
    ("desiderata", *PETS): 60,
    ("desiderata", *TWO): 60,
    ("compare", "--label", "y", "--model", "a=p", "--model", "b=q"): 60,
    ("compare-calibrators", *PETS): 60,
    ("compare-calibrators", *TWO): 60,
    ("monitor", *TWO, "--order", "day"): 60,
}
PYTHON = re.compile(r"\b(None|nan|Canonical|TopLabel|n_bins|y_prob|y_true|rng)\b|\b[A-Z][a-z]+\w*\(|\w=\w")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Pets whose model is over-confident, and an event with two models, one of them off; all rows and the first 60."""
    rng, n = np.random.default_rng(7), 300
    rows, p = rng.dirichlet([1, 1, 1], n), rng.uniform(0.02, 0.98, n)
    columns = columns_of(rows, draw(rng, 0.5 * rows + 0.5 / 3), ["cat", "dog", "eel"])
    columns |= {"y": (rng.random(n) < p).astype(int), "p": p, "q": p**2, "day": np.arange(n)}
    columns |= {"age": rng.integers(20, 80, n), "sex": rng.choice(["sex f", "sex m"], n)}
    folder = tmp_path_factory.mktemp("screens")
    return {
        few: write_csv(folder / f"{few}.csv", {name: np.asarray(column)[:few] for name, column in columns.items()})
        for few in (60, n)
    }


@pytest.mark.parametrize("n_rows", [60, 300])
@pytest.mark.parametrize("asked", ASKED, ids=" ".join)
def test_the_first_screen(run, once, monkeypatch, files, asked, n_rows):
    if n_rows < ASKED[asked]:
        pytest.skip("too few rows for this question")
    command, *options = asked
    for width in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(width))
        code, out, _ = run(command, files[n_rows], *options)
        answer, *parts = out.split("\n\n")
        assert code in (0, 3), command
        assert max(map(len, out.splitlines())) <= width
        assert re.search(r"\d", answer), "no size in the answer"
        assert answer.count("\n") < 10, "a long answer"
        assert parts, "no table"
        assert out.count("\nnote") <= 2
        assert not PYTHON.search(out), PYTHON.search(out)
        assert "sex sex" not in out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_but_for_commands_to_copy(run, monkeypatch, capsys, command):
    """Lines of examples are not broken, as a shell would take them for several commands."""
    for width in WIDTHS[1:] if command == "compare-calibrators" else WIDTHS:
        monkeypatch.setenv("COLUMNS", str(width))
        with pytest.raises(SystemExit):
            run(command, "--help")
        said = re.sub(r"\nexample.*?(?=\n\n|\Z)", "", capsys.readouterr().out, flags=re.DOTALL)
        assert max(map(len, said.splitlines())) <= width
