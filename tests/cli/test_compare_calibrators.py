"""``calibstat compare-calibrators``."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibstat as cs
from calibstat import calibrators as cal
from calibstat.comparisons.compare import compare_calibrators
from calibstat.inference.multiplicity import benjamini_yekutieli


@pytest.fixture
def compare(run):
    return lambda path, *more: run("compare-calibrators", path, *more)


BINARY = ("--label", "y", "--probs", "p")
PETS = ("--label", "pet", "--probs", "prob_*")


def test_text_is_that_of_the_result(compare, binary):
    code, out, err = compare(binary, *BINARY, "--calibrators", "platt, isotonic", "--seed", 3)
    assert (code, err) == (0, "")
    sample = cs.Sample.read(binary, y_true="y", y_prob="p")
    models = {"platt": cal.Platt(), "isotonic": cal.Isotonic()}
    assert out == f"{compare_calibrators(models, sample.y_true, sample.y_prob, labels=sample.labels, rng=3)}\n"
    assert "No two of uncalibrated, platt, isotonic can be told apart at 5 %" in out


def test_three_classes_and_a_lens(compare, off):
    code, out, err = compare(off, *PETS, "--calibrators", "temperature,beta", "--bins", 8)
    assert code == 0
    assert "each of the 3 gets one of its own" in err
    assert "beta is better calibrated than uncalibrated for the top label" in out
    assert "EqualMass(n_bins=8)" in out
    for lens in ("class-wise:dog", "top-k:1", "top-label"):
        assert compare(off, *PETS, "--calibrators", "temperature", "--lens", lens)[0] == 0


def test_json(compare, binary):
    options = ("--variable", "age", "--weights", "w", "--format", "json", "--n-splits", 2, "--test-size", 0.4)
    code, out, _ = compare(binary, *BINARY, "--calibrators", "variable-based,decision-tree,beta", *options)
    assert code == 0
    found = json.loads(out)
    assert [each["name"] for each in found["models"]] == ["uncalibrated", "variable-based", "decision-tree", "beta"]
    assert (found["n_test"], found["n_fit"], found["n_splits"], len(found["pairs"])) == (240, 360, 2, 6)
    assert "VariableBased(variable='age')" in out
    assert all(np.isfinite(each["difference"]) for each in found["pairs"])


def test_pvalues_of_pairs_are_adjusted_as_asked(compare, binary):
    options = ("--calibrators", "platt,beta", "--adjust", "fdr_by", "--format", "json")
    found = json.loads(compare(binary, *BINARY, *options)[1])
    wanted = benjamini_yekutieli([pair["pvalue"] for pair in found["pairs"]])
    assert [pair["pvalue_adjusted"] for pair in found["pairs"]] == pytest.approx(list(wanted))
    assert found["adjust"] == "fdr_by"
    code, _, err = compare(binary, *BINARY, *options[:2], "--adjust", "max-t")
    assert (code, "--adjust is 'max-t', but each pair of calibrators is tested by itself" in err) == (2, True)


def test_cross_fitting_is_marked(compare, binary):
    code, out, _ = compare(binary, *BINARY, "--calibrators", "beta", "--cv", 3)
    assert code == 0
    assert "tested on all 600 rows, cross-fitted in 3 folds" in out
    assert "only approximate" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--calibrators", "gamma"), "choose one of augmented-beta, average-labels, bbq, beta"),
        (("--calibrators", "beta,beta"), "name each only once"),
        (("--calibrators", "variable-based"), "needs --variables COL"),
        (("--calibrators", "beta", "--variable", "age"), "--calibrators beta uses no variable"),
        (("--calibrators", "variable-based", "--variable", "sex"), "numbers are needed"),
        (("--calibrators", "beta", "--test-size", "0"), "need rows to be fitted on"),
        (("--calibrators", "beta", "--test-size", "0.5", "--cv", "3"), "not allowed with"),
        (("--calibrators", "beta", "--bins", "0"), "at least 1"),
        (("--calibrators", "beta", "--seed", "-1"), "at least 0"),
        (("--calibrators", "beta", "--n-splits", "0"), "n_splits"),
        (("--calibrators", "beta", "--lens", "class-wise"), "name the class"),
        (("--calibrators", "beta", "--lens", "class-wise:7"), "there is no class '7'"),
        (("--calibrators", "beta", "--lens", "sideways"), "there is no lens"),
        ((), "--calibrators"),
    ],
)
def test_errors_are_one_line(compare, binary, options, message):
    code, out, err = compare(binary, *BINARY, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("calibstat: error: ")
    assert err.count("\n") == 1
