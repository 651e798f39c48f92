"""Options that name columns, in every command: with commas, repeated, or quoted; and estimators as expressions."""

from __future__ import annotations

import argparse
import json

import numpy as np
import pytest

import calibstat as cs
from calibstat.cli.main import COMMANDS, build_parser
from calibstat.cli.options import SHARED, column_name, column_names

pytestmark = pytest.mark.usefixtures("once")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Two classes, the names of which hold commas in their columns, and two variables."""
    rng = np.random.default_rng(4)
    p = rng.random(400).round(4)
    q = (p**2).round(4)
    rows = zip(
        (rng.random(400) < p).astype(int),
        (1 - p).round(4),
        p,
        (1 - q).round(4),
        q,
        rng.integers(20, 80, 400),
        rng.choice(["f", "m"], 400),
        range(400),
        strict=True,
    )
    file = tmp_path_factory.mktemp("columns") / "named.csv"
    header = '"y, true","p, no","p, yes","q, no","q, yes","age, years",sex,t'
    file.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return str(file)


LABEL = ("--label", "y, true", "--format", "json", "--labels", "0,1")
PROBS = (
    ("--probs", '"p, no","p, yes"'),
    ("--probs", '"p, no"', "--probs", '"p, yes"'),
    ("--probs", "p*"),
)
FEW = ("--n-resamples", "49")
MODELS = ("--model", 'p="p, no","p, yes"', "--model", "q=q*")


def same(run, command, ways):
    """Run the same command with its columns named in several ways; return what all of them print."""
    found = {run(*command, *way)[:2] for way in ways}
    assert len(found) == 1
    ((code, out),) = found
    assert code in (0, 3)
    return json.loads(out)


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("test", FEW),
        ("estimate", FEW),
        ("clinical", FEW),
        ("audit", (*FEW, "--by", "sex")),
        ("scan", (*FEW, "--variables", "sex")),
        ("leaves", ("--min-size", "5", "--variables", "sex")),
        ("desiderata", FEW),
        ("monitor", ("--order", "t")),
        ("plan", ("--ece", "0.1", "--n-repeats", "60", "--estimator", "kuiper")),
        ("compare-calibrators", (*FEW, "--calibrators", "platt,beta")),
    ],
)
def test_probabilities_are_named_alike_in_every_command(command, more, path, run):
    assert same(run, (command, path, *LABEL, *more), PROBS)


@pytest.mark.parametrize(
    ("command", "ways"),
    [
        (
            ("audit", *FEW),
            (("--by", '"age, years",sex'), ("--by", '"age, years"', "--by", "sex"), ("--by", "age*,sex")),
        ),
        (
            ("scan", *FEW),
            (
                ("--variables", 'sex,"age, years"'),
                ("--variable", "sex", "--variable", '"age, years"'),
                ("--variables", "sex,age*"),
            ),
        ),
        (
            ("leaves", "--min-size", "5"),
            (("--variables", 'sex,"age, years"'), ("--variable", "sex", "--variable", '"age, years"')),
        ),
        (
            ("compare-calibrators", *FEW, "--calibrators", "decision-tree"),
            (("--variables", 't,"age, years"'), ("--variable", "t", "--variable", '"age, years"')),
        ),
        (
            ("compare-calibrators", *FEW),
            (("--calibrators", "platt,beta"), ("--calibrators", "platt", "--calibrators", "beta")),
        ),
    ],
)
def test_variables_are_named_alike_in_every_command(command, ways, path, run):
    assert same(run, (command[0], path, *LABEL, "--probs", "p*", *command[1:]), ways)


def test_models_and_labels(path, run):
    rest = ("compare", path, "--label", "y, true", "--format", "json", *FEW, "--model", "q=q*")
    ways = (
        ("--model", "p=p*"),
        ("--model", 'p="p, no","p, yes"'),
        ("--model", "p=p*", "--labels", "0", "--labels", "1"),
    )
    found = [json.loads(run(*rest, *way)[1])["pairs"] for way in ways]
    assert [abs(pairs[0]["difference"]) for pairs in found] == [abs(found[0][0]["difference"])] * 3


def test_calibrate_takes_them_too(path, run, tmp_path):
    written = []
    for k, way in enumerate((("--variables", 't,"age, years"'), ("--variable", "t", "--variable", '"age, years"'))):
        out = tmp_path / f"{k}.csv"
        command = ("calibrate", path, "--label", '"y, true"', "--probs", "p*", "--calibrator", "decision-tree")
        assert run(*command, "--out", out, *way)[0] == 0
        written.append(out.read_text())
    assert written[0] == written[1]
    command = ("calibrate", path, "--label", "y, true", "--probs", "p*", "--calibrator", "variable-based")
    code, _, err = run(*command, "--out", tmp_path / "no.csv", "--variables", 't,"age, years"')
    assert code == 2
    assert "uses one variable, but --variables names 2" in err


def test_single_columns_may_be_quoted(path, run):
    options = ("--probs", "p*", "--format", "json", *FEW)
    assert run("test", path, "--label", '"y, true"', *options) == run("test", path, "--label", "y, true", *options)
    assert column_name("a,b") == "a,b"
    assert column_names('a, "b, c"') == ["a", "b, c"]
    for nothing in ("", "a,,b", ","):
        with pytest.raises(argparse.ArgumentTypeError, match="does not name a column"):
            column_names(nothing)


def test_options_of_one_name_mean_the_same_in_every_command():
    commands = build_parser()._subparsers._group_actions[0].choices
    assert set(commands) == set(COMMANDS)
    for name, command in commands.items():
        for option, action in command._option_string_actions.items():
            shared = SHARED.get(option, {})
            if "type" in shared:
                assert action.type == shared["type"], (name, option)
            if option in ("--level", "--confidence-level", "--seed", "--binning", "--nan-policy"):
                assert action.default == shared["default"], (name, option)
            assert len(action.help or "") > 5, (name, option)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_eighty_columns(command, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    parser = build_parser([command])._subparsers._group_actions[0].choices[command]
    assert max(map(len, parser.format_help().splitlines())) <= 80


# Expressions

BINARY = ("--label", "y", "--probs", "p", "--format", "json")


@pytest.mark.parametrize(
    ("command", "more", "key"),
    [
        ("test", FEW, "estimator"),
        ("estimate", FEW, "estimator"),
        ("audit", (*FEW, "--by", "sex"), "estimator"),
    ],
)
def test_an_estimator_is_an_expression_in_every_command(command, more, key, binary, run):
    code, out, _ = run(command, binary, *BINARY, *more, "--estimator", "TopLabel() | ECE(EqualMass(7))")
    assert code == 0
    first = json.loads(out)[0]
    assert (first["lens"], first[key]) == ("TopLabel()", "ECE(binning=EqualMass(n_bins=7))")


def test_the_values_of_an_expression_are_those_of_python(off, run):
    command = ("test", off, "--label", "pet", "--probs", "prob_*", "--format", "json", *FEW)
    _, out, _ = run(*command, "--estimator", "TopLabel() | ECE(EqualMass(7))")
    sample = cs.Sample.read(off, y_true="pet", y_prob="prob_*", variables=["age", "sex"])
    (record,) = json.loads(out)
    assert record["statistic"] == (cs.TopLabel() | cs.ECE(cs.EqualMass(7)))(sample)
    _, out, _ = run(*command, "--lens", 'Partition([["cat", "dog"], ["eel"]])', "--binning", "EqualWidth(4)")
    (record,) = json.loads(out)
    estimator = cs.Partition([["cat", "dog"], ["eel"]]) | cs.ECE(cs.EqualWidth(4))
    assert record["statistic"] == estimator(sample)
    _, out, _ = run(*command, "--estimator", 'TopLabel() | Within("sex", ECE(EqualMass(5)))')
    assert json.loads(out)[0]["statistic"] == pytest.approx(
        float((cs.TopLabel() | cs.Within("sex", cs.ECE(cs.EqualMass(5))))(sample))
    )


def test_comparisons_and_plans_take_expressions(binary, path, run):
    expression = ("--estimator", "DebiasedL2(EqualMass(5))")
    code, out, _ = run("compare", path, *LABEL, *FEW, *MODELS, *expression)
    assert (code, json.loads(out)["estimator"]) == (0, "DebiasedL2(binning=EqualMass(n_bins=5))")
    command = ("compare-calibrators", binary, *BINARY, "--calibrators", "platt", *FEW)
    assert run(*command, *expression) == run(*command, "--bins", "5")
    plan = ("plan", "--ece", "0.1", "--n-repeats", "60", "--format", "json")
    assert run(*plan, "--estimator", "ECE(EqualMass(5))") == run(*plan, "--bins", "5")
    code, out, _ = run("monitor", path, *LABEL, "--probs", "p*", "--order", "t", "--lens", "ClassWise(1)")
    assert code in (0, 3)
    assert json.loads(out)["lens"] == "ClassWise(label=1)"


@pytest.mark.parametrize(
    ("null", "made"),
    [("consistency", cs.Consistency()), ("exact", cs.Exact()), ("Consistency(99)", cs.Consistency(99))],
)
def test_nulls_are_named_or_expressions(null, made, binary, run):
    _, out, _ = run("test", binary, *BINARY, "--null", null)
    sample = cs.Sample.read(binary, y_true="y", y_prob="p")
    expected = cs.calibration_test(sample, null=made, rng=0)
    assert json.loads(out)[0]["pvalue"] == expected.pvalue


def test_the_level_is_that_of_the_words(binary, run):
    command = ("test", binary, "--label", "y", "--probs", "p")
    pvalue = json.loads(run(*command, "--format", "json")[1])[0]["pvalue"]
    assert run(*command, "--level", str(min(0.999, pvalue * 1.01)))[1].startswith("Evidence of miscalibration")
    assert run(*command, "--level", str(pvalue * 0.99))[1].startswith("Calibration of P(1) is not rejected at ")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--estimator", "ECE("), "--estimator 'ECE(' cannot be read: write it as in Python"),
        (("--estimator", "EqualMass(3)"), "--estimator is 'EqualMass(3)', which makes no Estimator"),
        (("--estimator", "ECE(EqualMass(0))"), "--estimator 'ECE(EqualMass(0))': "),
        (
            ("--estimator", "ECE(EqualMass(9))", "--bins", "3"),
            "--bins 3: the expression of --estimator says which cells",
        ),
        (("--estimator", "open('x')"), "there is no 'open' in calibstat"),
        (("--lens", "ECE()"), "which makes no Lens"),
        (("--binning", "EqualMass(9)", "--bins", "3"), "leave out --bins"),
        (("--binning", "TopLabel()"), "which makes no Binning"),
        (("--null", "exact", "--n-resamples", "9"), "--n-resamples is 9, but --null 'exact' draws nothing"),
        (("--null", "Consistency(9)", "--n-resamples", "19"), "--null Consistency(n_resamples=9, "),
        (("--null", "nothing"), "there is no --null 'nothing'; choose one of asymptotic, consistency"),
        (("--estimator", 'Within("nobody", ECE())'), "no column 'nobody'"),
    ],
)
def test_mistakes_in_expressions_are_one_line(options, words, binary, run):
    code, out, err = run("test", binary, "--label", "y", "--probs", "p", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_prevalence_is_that_of_the_sample(run, path):
    command = ("test", path, *LABEL, "--probs", "p*", *FEW)
    _, out, _ = run(*command, "--prevalence", "0.1")
    assert run(*command, "--prevalence", "0.9,0.1")[1] == out
    moved = cs.Sample.read(path, y_true="y, true", y_prob="p*", labels=[0, 1], prevalence=0.1)
    assert json.loads(out)[0]["statistic"] == pytest.approx(cs.ECE()(moved))
    code, _, error = run(*command, "--prevalence", "0.1,much")
    assert code == 2
    assert "'much' is not a number between 0 and 1" in error
    code, _, error = run("test", path, "--label", "y, true", "--confidence", "p, yes", "--prevalence", "0.1")
    assert (code, "--prevalence is about the classes of --probs" in error) == (2, True)
