"""Tables of names."""

from __future__ import annotations

import json
from contextlib import suppress
from inspect import Parameter, signature

import numpy as np
import pytest

import calibstat as cs
from calibstat.cli.estimators import TWO, VARIABLE, names, needs
from calibstat.cli.options import ESTIMATORS, EVERY, TWO_OUTCOMES, UNCONDITIONAL, estimator_name
from calibstat.cli.questions import CLASS_WISE_UP_TO, Cutting, default_lenses


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_is_public_and_gives_a_number(name):
    sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    assert isinstance(getattr(cs, name)(cs.FixedEdges([0, 0.5, 1]))(sample), float)


def test_every_estimator_of_one_binning_that_gives_a_number_is_there():
    sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    found = set()
    for name in cs.__all__:
        public = getattr(cs, name)
        fields = getattr(public, "__dataclass_fields__", {})
        if isinstance(public, type) and issubclass(public, cs.Estimator) and "binning" in fields:
            value = public(cs.FixedEdges([0, 0.5, 1]))(sample)
            found |= {name} if isinstance(value, float) else set()
    assert found == set(ESTIMATORS)


def test_every_estimator_that_needs_nothing_but_the_sample_is_there():
    """Those that can be made without arguments and have a headline; the rest needs a variable, a member, a number."""
    found = set()
    for name in names():
        parameters = signature(getattr(cs, name)).parameters.values()
        if needs(name) != VARIABLE and all(each.default is not Parameter.empty for each in parameters):
            value = getattr(cs, name)()(cs.Sample([0, 1, 1, 0] * 5, np.linspace(0.1, 0.9, 20)))
            found |= {name} if hasattr(value, "__float__") and not hasattr(value, "coords") else set()
    on_cells = {name for name in ESTIMATORS if name not in found}
    assert found - {"MeanAndBridge"} == set(EVERY) - on_cells


def test_those_for_two_outcomes_are_known():
    assert {name for name in EVERY if needs(name) == TWO} == TWO_OUTCOMES


def test_those_that_condition_on_nothing_are_known():
    """Their numbers are the same given a variable; those of others differ, or refuse it."""
    rng = np.random.default_rng(0)
    p, age = rng.random(200), rng.normal(size=200)
    sample = cs.Sample(rng.random(200) < p, p, variables={"age": age})

    def number(estimator):
        return float(estimator.headline(estimator.prepare(sample.predictions)(sample.outcomes)))

    same = set()
    for name in EVERY:
        estimator = Cutting(estimator=name).measure(2, len(sample))
        with suppress(ValueError):
            same |= {name} if number(cs.Given("age") | estimator) == number(estimator) else set()
    assert same == UNCONDITIONAL


@pytest.mark.parametrize("command", ["test", "estimate"])
def test_the_same_number_is_not_asked_for_again_given_a_variable(command, off, run):
    """As if it were another test: Holm's correction would count it."""
    columns = (off, "--label", "pet", "--probs", "prob_*", "--n-resamples", "9", "--given", "age")
    code, out, err = run(command, *columns, "--estimator", "spiegelhalter")
    assert (code, out) == (2, "")
    assert "--given age: Spiegelhalter is the same whatever is conditioned on; leave out --given" in err
    assert run(command, *columns, "--estimator", "kuiper")[0] == 0


@pytest.mark.parametrize("name", EVERY)
def test_every_estimator_can_be_tested_and_estimated(name, off, run):
    """Three classes: lenses that leave more than two outcomes are left out where the estimator cannot see them."""
    few = (off, "--label", "pet", "--probs", "prob_*", "--estimator", name, "--n-resamples", "9", "--format", "json")
    views = {}
    for command in ("test", "estimate"):
        code, out, _ = run(command, *few)
        assert code == 0
        views[command] = [(each["lens"], each["class"]) for each in json.loads(out)]
    kinds = {lens.partition("(")[0] for lens, _ in views["test"]}
    assert views["test"] == views["estimate"]
    assert kinds == {"TopLabel", "ClassWise"} | (set() if name in TWO_OUTCOMES else {"Canonical"})


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
        (["--estimator", "hosmer-lemeshow", "--binning", "equal-width"], "HosmerLemeshow has no cells to choose"),
    ],
)
def test_what_does_not_fit_is_an_error(options, words, off, run):
    code, _, err = run("test", off, "--label", "pet", "--probs", "prob_*", *options)
    assert code != 0
    assert words in err


def test_bins_go_to_an_estimator_that_counts_them(binary, run):
    columns = (binary, "--label", "y", "--probs", "p", "--format", "json", "--n-resamples", "9")
    _, out, _ = run("test", *columns, "--estimator", "HosmerLemeshow", "--bins", "7")
    assert json.loads(out)[0]["estimator"] == "HosmerLemeshow(n_bins=7)"


@pytest.mark.parametrize("name", ["debiasedl2", "Debiased-L2", "DEBIASED_L2", "DebiasedL2"])
def test_case_and_hyphens_do_not_matter(name):
    assert estimator_name(name) == "DebiasedL2"


def test_default_lenses():
    assert default_lenses(2) == ("canonical",)
    assert default_lenses(3) == default_lenses(CLASS_WISE_UP_TO) == ("top-label", "canonical", "class-wise")
    assert default_lenses(CLASS_WISE_UP_TO + 1) == ("top-label", "canonical")
