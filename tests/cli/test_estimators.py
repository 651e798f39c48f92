"""The list of estimators: complete, true, and one line each."""

from __future__ import annotations

import json

import pytest

import calibstat as cs
from calibstat.cli.estimators import ANY, SIMPLEX, TWO, VARIABLE, names, needs, record, short_names
from calibstat.cli.main import main


def test_every_public_estimator_is_listed():
    classes = [
        name
        for name in cs.__all__
        if isinstance(getattr(cs, name), type)
        and issubclass(getattr(cs, name), cs.Estimator)
        and not getattr(cs, name).__abstractmethods__
    ]
    assert set(classes) <= set(names())
    assert {"ECE", "VECE", "HistogramRegression", "Generic"} <= set(names())
    assert not {"Estimator", "BinnedEstimator", "TopLabel", "estimate", "EqualMass"} & set(names())


@pytest.mark.parametrize("name", names())
def test_what_it_needs_is_found_out(name):
    found = record(name)
    assert found["needs"] in (ANY, SIMPLEX, TWO, VARIABLE)
    assert found["summary"].endswith((".", ")"))
    assert "\n" not in found["summary"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ECE", SIMPLEX),
        ("ExpectedMiscalibration", SIMPLEX),
        ("Generic", ANY),
        ("VECE", VARIABLE),
        ("SquaredCE", SIMPLEX),
    ],
)
def test_needs(name, expected):
    assert needs(name) == expected


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_each_is_listed_once_below_what_it_needs(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["estimators"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= min(columns, 100)
    assert out.startswith(f"{len(names())} estimators, by what they need.")
    assert "`" not in out
    listed = {}
    for part in out.split("\n\n")[1:-1]:
        need = part.partition(":")[0]
        listed |= {line.split()[0]: need for line in part.splitlines() if line.split()[0] in names()}
    assert listed == {name: needs(name) for name in names()}


def test_json(capsys):
    assert main(["estimators", "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in records] == names()
    assert set(records[0]) == {"name", "parameters", "needs", "summary", "command_line"}


def test_other_formats_are_refused(capsys):
    assert main(["estimators", "--format", "xml"]) == 2
    assert "--format" in capsys.readouterr().err


def test_text_names_those_that_the_command_line_does_not_take(capsys):
    main(["estimators"])
    last = capsys.readouterr().out.split("\n\n")[-1]
    missing = {word.strip(",") for word in last.split()} & set(names())
    assert missing == set(names()) - set(short_names())
    assert {"Generic", "Within", "VCE"} <= missing
