"""``calibstat scan``: files in, variables out."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibstat as cs
from calibstat.auditing.scan import scan_variables

FEW = ("--n-resamples", "49")


def test_all_columns_are_scanned(run, off):
    code, out, err = run("scan", off, "--label", "pet", "--probs", "prob_*", *FEW)
    assert (code, err) == (0, "")
    for name in ("age", "sex", "w"):
        assert f"\n{name} " in out
    assert "Over all rows: " in " ".join(out.split())
    assert "worst at" in out
    assert "is calibrated" not in out


def test_json_is_that_of_the_function(run, binary):
    command = ("scan", binary, "--label", "y", "--probs", "p", "--variable", "age", "--variable", "sex")
    code, out, err = run(*command, "--null", "strong", "--rank-by", "vece", "--seed", "4", "--format", "json", *FEW)
    assert (code, err) == (0, "")
    found = json.loads(out)
    sample = cs.Sample.read(binary, y_true="y", y_prob="p", variables=["age", "sex"])
    rng = np.random.Generator(np.random.PCG64(4))
    expected = scan_variables(sample, null="strong", rank_by="vece", n_resamples=49, rng=rng)
    for record, variable in zip(found, expected, strict=True):
        assert {key: record[key] for key in variable.to_dict()} == variable.to_dict()
        assert (record["null"], record["rank_by"], record["n"]) == ("strong", "vece", 600)


def test_weights_are_no_variable(run, off):
    command = ("scan", off, "--label", "pet", "--probs", "prob_*", "--weights", "w", "--format", "json", *FEW)
    code, out, _ = run(*command)
    assert code == 0
    assert {record["variable"] for record in json.loads(out)} == {"age", "sex"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--variable", "nothing"), "no column 'nothing'"),
        (("--variable", "pet"), "--variables pet: this is the column of what happened"),
        (("--null", "both"), "--null"),
        (("--lens", "canonical"), "sees 3 outcomes at once"),
    ],
)
def test_errors_are_one_line(run, off, options, words):
    code, out, err = run("scan", off, "--label", "pet", "--probs", "prob_*", *options)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert words in err


def test_more_redraws_are_taken_where_none_of_those_asked_for_could_reject(run, off):
    _, out, _ = run("scan", off, "--label", "pet", "--probs", "prob_*", "--adjust", "holm", "--n-resamples", "30")
    words = " ".join(out.split())
    assert "299 redraws were taken, since with 30 no adjusted p-value could be at most 5 %, whatever the data" in words
