"""``calibstat compare``, and the examples of the new commands in the docs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import calibstat as cs
from calibstat.cli.main import main
from calibstat.inference.compare_models import compare_models

DOCS = Path(__file__).parents[2] / "docs" / "command-line.md"
THREE = ("--model", "raw=raw_*", "--model", "flat=flat_*", "--model", "bold=bold_*")


def write_models(folder):
    """The files of the examples: predictions, the same flattened, and the same too bold."""
    rng = np.random.Generator(np.random.PCG64(0))
    raw = rng.dirichlet([1, 1, 1], 2000)
    flat, bold = 0.85 * raw + 0.05, raw**1.5 / (raw**1.5).sum(axis=1, keepdims=True)
    pets = np.array(["cat", "dog", "emu"])[(np.cumsum(flat, axis=1)[:, :-1] < rng.random((2000, 1))).sum(axis=1)]
    for name, models in (("animals", {"prob": raw}), ("models", {"raw": raw, "flat": flat, "bold": bold})):
        header = ["actual", *(f"{model}_{pet}" for model in models for pet in ("cat", "dog", "emu"))]
        rows = zip(pets, np.hstack(list(models.values())), strict=True)
        lines = [",".join([pet, *(f"{value:.6f}" for value in row)]) for pet, row in rows]
        (folder / f"{name}.csv").write_text("\n".join([",".join(header), *lines, ""]))
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return write_models(tmp_path_factory.mktemp("models"))


def test_values_are_those_of_the_library(run, models):
    path = models / "models.csv"
    code, out, err = run("compare", path, "--label", "actual", *THREE, "--adjust", "max-t", "--format", "json")
    assert (code, err) == (0, "")
    samples = {name: cs.Sample.read(path, y_true="actual", y_prob=f"{name}_*") for name in ("raw", "flat", "bold")}
    found = compare_models(samples, cs.TopLabel() | cs.DebiasedL2(cs.EqualMass(15)), adjust="max-t", rng=0)
    assert json.loads(out) == found.to_dict()


def test_two_classes_and_single_columns(run, folder):
    rng = np.random.default_rng(0)
    p = rng.random(600)
    path = folder / "two.csv"
    rows = zip((rng.random(600) < p).astype(int), p, p**2, strict=True)
    path.write_text("y,a,b\n" + "".join(f"{y},{a},{b}\n" for y, a, b in rows))
    options = ("compare", path, "--label", "y", "--model", "good=a", "--model", "bad=b", "--bins", "10")
    code, out, err = run(*options, "--format", "json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["lens"], found["estimator"]) == (
        "Canonical()",
        "DebiasedL2(binning=EqualMass(n_bins=10))",
    )
    assert found["confidence_set"] == ["good"]
    assert "good is better calibrated than bad at 5 %: calibration error of P(1) " in run(*options)[1]


def test_columns_with_commas_and_a_lens(run, models):
    columns = ("--model", "raw=raw_cat,raw_dog,raw_emu", "--model", "flat=flat_cat,flat_dog,flat_emu")
    path = models / "models.csv"
    code, out, _ = run("compare", path, "--label", "actual", *columns, "--lens", "class-wise:dog", "--format", "json")
    assert (code, json.loads(out)["lens"]) == (0, "ClassWise(label='dog')")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "raw=raw_*"], "--model is given once, but a comparison needs two"),
        (["--model", "raw=raw_*", "--model", "raw=flat_*"], "two models have this name"),
        (["--model", "raw=raw_*", "--model", "flat_*"], "--model flat_*: write a name and its columns"),
        (["--model", "raw=raw_*", "--model", "x=none_*"], "no column 'none_*'"),
        ([*THREE, "--lens", "class-wise"], "name the class, as in class-wise:LABEL"),
        ([*THREE, "--lens", "top"], "there is no lens 'top'"),
        ([*THREE, "--lens", "top-label", "--lens", "canonical"], "--lens is given more than once"),
        ([*THREE, "--adjust", "fdr"], "--adjust is 'fdr'; it must be one of 'max-t', 'holm', 'fdr_by'"),
        ([*THREE, "--adjust", "fdr_bh"], "--adjust is 'fdr_bh', but differences of pairs that share a model"),
    ],
)
def test_what_cannot_be_compared(run, models, options, words):
    code, out, err = run("compare", models / "models.csv", "--label", "actual", *options)
    errors = [line for line in err.splitlines() if not line.startswith("calibstat: warning")]
    assert (code, out, len(errors)) == (2, "", 1)
    assert words in err


def test_columns_in_another_order_are_taken_by_their_names(run, models):
    """They were refused, although their names say which class each is of."""
    path, label = models / "models.csv", ("--label", "actual", "--model", "raw=raw_*")
    outputs = [
        run("compare", path, *label, "--model", f"x={order}", "--format", "json")[1]
        for order in ("flat_cat,flat_dog,flat_emu", "flat_dog,flat_cat,flat_emu")
    ]
    numbers = [json.loads(each)["pairs"] for each in outputs]
    assert numbers[0] == numbers[1] != []


def test_standard_input_is_refused(run):
    code, _, err = run("compare", "-", "--label", "actual", *THREE)
    assert code == 2
    assert "can be read only once" in err


def shown():
    """Each command of `estimate` and `compare` that is shown, with its output."""
    blocks = re.findall(r"^\$ (calibstat (?:estimate|compare) [^\n]*)\n(.*?)^```", DOCS.read_text(), re.M | re.S)
    assert len(blocks) >= 3
    return blocks


@pytest.mark.parametrize(("command", "output"), shown(), ids=[command for command, _ in shown()])
def test_output_is_what_the_docs_show(command, output, models, monkeypatch, capsys):
    monkeypatch.chdir(models)
    assert main(shlex.split(command)[1:]) == 0
    assert [as_number(word) for word in capsys.readouterr().out.split()] == [as_number(w) for w in output.split()]


def test_file_that_the_docs_show(models):
    assert "\n".join((models / "models.csv").read_text().splitlines()[:2]) in DOCS.read_text()


def as_number(word):
    """Numbers are equal up to rounding, which differs between machines."""
    try:
        return pytest.approx(float(word.rstrip(",")), rel=1e-9)
    except ValueError:
        return word


def test_advice_about_missing_values_names_no_option_that_is_not_there(run, folder):
    path = folder / "holes.csv"
    path.write_text("y,a,b\n" + "0,0.2,0.3\n1,,0.6\n" * 300)
    code, _, err = run("compare", path, "--label", "y", "--model", "a=a", "--model", "b=b")
    assert code == 2
    assert "values are missing (column 'a': 300)" in err
    assert "fill them in, or leave these rows out of the file" in err
    assert "omit" not in err


def test_a_single_pair_and_a_single_redraw(run, models):
    pair = ("--model", "raw=raw_*", "--model", "flat=flat_*", "--n-resamples", "1")
    code, out, _ = run("compare", models / "models.csv", "--label", "actual", *pair)
    assert code == 0
    assert out.startswith("flat is better calibrated than raw at 5 %: ")
    assert "199 redraws were taken, since with 1 no adjusted p-value could be" in " ".join(out.split())


@pytest.mark.parametrize(
    "command",
    [
        ("audit", "x.csv", "--label", "y", "--probs", "p", "--by", "age"),
        ("scan", "x.csv", "--label", "y", "--probs", "p"),
        ("desiderata", "x.csv", "--label", "y", "--probs", "p"),
        ("monitor", "x.csv", "--label", "y", "--probs", "p", "--order", "t"),
        ("plan", "--ece", "0.1"),
        ("compare-calibrators", "x.csv", "--label", "y", "--probs", "p", "--calibrators", "beta"),
    ],
)
def test_commands_of_one_question_refuse_two_lenses(run, command):
    code, _, err = run(*command, "--lens", "canonical", "--lens", "canonical")
    assert code == 2
    assert "--lens is given more than once" in err
