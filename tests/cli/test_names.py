"""Tables of names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import ClassVar, final

import numpy as np
import pytest

import calibstat as cs
from calibstat.cli.estimators import TWO, VARIABLE, estimator_name, names, needs, short_names
from calibstat.cli.options import build
from calibstat.cli.questions import default_lenses
from calibstat.inference.by_lens import CLASS_WISE_UP_TO
from suites import slow_but

EVERY = short_names()
SAMPLE = cs.Sample([0, 1, 1, 0] * 5, np.linspace(0.1, 0.9, 20))


def headline(estimator, sample):
    return estimator.headline(estimator.prepare(sample.predictions)(sample.outcomes))


def test_every_estimator_that_needs_nothing_but_the_sample_has_a_short_name_and_an_expression():
    """Those that can be made without arguments or with cells, and give one number; there is no other list of them."""
    found = set()
    for name in names():
        parameters = signature(getattr(cs, name)).parameters
        required = {key for key, each in parameters.items() if each.default is Parameter.empty}
        if required <= {"binning"} and needs(name) != VARIABLE:
            made = build(f"{name}({'EqualMass(3)' if required else ''})")
            assert made == getattr(cs, name)(*([cs.EqualMass(3)] if required else []))
            found |= {name} if np.ndim(headline(made, SAMPLE)) == 0 else set()
    assert found == set(EVERY)
    assert {"ECE", "ExpectedMiscalibration", "MeanAndBridge", "KS", "Cox", "SKCE", "TCE"} <= found
    assert not {"VECE", "Within", "Generic", "Family", "IsotonicCurve", "HistogramRegression", "KDECE"} & found


@final
@dataclass(frozen=True)
class LargestGap(cs.Estimator):
    """Largest difference between outcome and probability of an event."""

    two_outcomes: ClassVar[bool] = True

    def prepare(self, predictions):
        return LargestGapEvaluator(predictions.event)


class LargestGapEvaluator(cs.Evaluator):
    def __init__(self, event):
        self.event = event

    def __call__(self, outcomes, weights=None):
        return abs(outcomes - self.event).max(axis=-1)


def test_an_estimator_that_is_added_to_the_public_table_is_there(monkeypatch, off, run):
    monkeypatch.setattr(cs, "__all__", sorted([*cs.__all__, "LargestGap"]))
    monkeypatch.setattr(cs, "LargestGap", LargestGap, raising=False)
    assert "LargestGap" in short_names()
    assert needs("LargestGap") == TWO
    assert "LargestGap Largest difference between outcome" in " ".join(run("estimators")[1].split())
    columns = (off, "--label", "pet", "--probs", "prob_*", "--n-resamples", "19", "--format", "json")
    for text in ("largest-gap", "TopLabel() | LargestGap()"):
        for command in ("test", "estimate"):
            code, out, _ = run(command, *columns, "--estimator", text)
            assert code == 0
            assert json.loads(out)[0]["lens"] == "TopLabel()"
            assert json.loads(out)[0]["estimator"] == "LargestGap()"


@pytest.mark.parametrize("command", ["test", "estimate"])
def test_the_same_number_is_not_asked_for_again_given_a_variable(command, off, run):
    """As if it were another test: Holm's correction would count it."""
    columns = (off, "--label", "pet", "--probs", "prob_*", "--n-resamples", "9", "--given", "age")
    code, out, err = run(command, *columns, "--estimator", "spiegelhalter")
    assert (code, out) == (2, "")
    assert "--given age: Spiegelhalter is the same whatever is conditioned on; leave out --given" in err
    assert run(command, *columns, "--estimator", "kuiper")[0] == 0


@pytest.fixture(scope="module")
def few_rows(off, tmp_path_factory):
    path = tmp_path_factory.mktemp("names") / "few.csv"
    path.write_text("".join(Path(off).read_text().splitlines(keepends=True)[:201]))
    return str(path)


# every third estimator by default
@pytest.mark.parametrize("name", slow_but(sorted(EVERY)[::3], sorted(EVERY)))
def test_every_estimator_can_be_tested_and_estimated(name, few_rows, run):
    """Three classes: lenses that leave more than two outcomes are left out where the estimator cannot see them."""
    few = (
        few_rows,
        "--label",
        "pet",
        "--probs",
        "prob_*",
        "--estimator",
        name,
        "--n-resamples",
        "9",
        "--format",
        "json",
    )
    views = {}
    for command in ("test", "estimate"):
        code, out, _ = run(command, *few)
        assert code == 0
        views[command] = [(each["lens"], each["class"]) for each in json.loads(out)]
    kinds = {lens.partition("(")[0] for lens, _ in views["test"]}
    assert views["test"] == views["estimate"]
    assert kinds == {"TopLabel", "ClassWise"} | (set() if needs(name) == TWO else {"Canonical"})


@pytest.mark.parametrize("name", ["Kuiper", "BrownianBridge", "Cox", "WorstInterval", "HosmerLemeshow"])
def test_values_are_those_of_the_library(name, binary, run):
    columns = (binary, "--label", "y", "--probs", "p", "--estimator", name.lower(), "--format", "json")
    sample = cs.Sample.read(binary, y_true="y", y_prob="p")
    expected = float(getattr(cs, name)()(sample))
    for command, key in (("test", "statistic"), ("estimate", "estimate")):
        code, out, _ = run(command, *columns, "--n-resamples", "19")
        assert code == 0
        assert json.loads(out)[0][key] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--estimator", "kuiper", "--lens", "canonical"], "Kuiper is for two outcomes, and this lens leaves 3"),
        (["--estimator", "spiegelhalter", "--lens", "top-k:2"], "--lens top-k:2: Spiegelhalter is for two outcomes"),
        (["--estimator", "kuiper", "--bins", "5"], "--bins 5: Kuiper has no cells"),
        (["--estimator", "skce", "--binning", "equal-width"], "SKCE has no cells"),
        (["--estimator", "ace", "--binning", "equal-width"], "ACE has no cells to choose"),
    ],
)
def test_what_does_not_fit_is_an_error(options, words, off, run):
    code, _, err = run("test", off, "--label", "pet", "--probs", "prob_*", *options)
    assert code != 0
    assert words in err


def test_bins_go_to_an_estimator_that_counts_them(binary, run):
    columns = (binary, "--label", "y", "--probs", "p", "--format", "json", "--n-resamples", "9")
    _, out, _ = run("test", *columns, "--estimator", "ACE", "--bins", "7")
    assert json.loads(out)[0]["estimator"] == "ECE(binning=EqualMass(n_bins=7))"
    _, out, _ = run("test", *columns, "--estimator", "hosmer-lemeshow", "--bins", "7", "--binning", "equal-width")
    assert json.loads(out)[0]["estimator"] == "HosmerLemeshow(binning=EqualWidth(n_bins=7))"


@pytest.mark.parametrize("name", ["debiasedl2", "Debiased-L2", "DEBIASED_L2", "DebiasedL2"])
def test_case_and_hyphens_do_not_matter(name):
    assert estimator_name(name) == "DebiasedL2"


def test_default_lenses():
    assert default_lenses(range(2)) == ["canonical"]
    for n_classes in (3, CLASS_WISE_UP_TO):
        assert default_lenses(range(n_classes)) == ["top-label", "canonical", "class-wise"]
    assert default_lenses(range(CLASS_WISE_UP_TO + 1)) == ["top-label", "canonical"]
