"""``calibstat audit``: files in, groups out."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibstat as cs
from calibstat.auditing.audit import subgroup_audit

FEW = ("--n-resamples", "49")


@pytest.fixture
def holes(folder):
    """A column in which something is missing, and rows without a probability."""
    rng = np.random.default_rng(8)
    p, y = rng.random(300), rng.integers(0, 2, 300)
    path = folder / "holes.csv"
    lines = [f"{y[i]},{'' if i < 3 else p[i]},{'' if i % 5 == 0 else 'ab'[i % 2]}" for i in range(300)]
    path.write_text("\n".join(["y,p,site", *lines]) + "\n")
    return path


def test_text_names_groups_and_accepts_nothing(run, off):
    code, out, err = run("audit", off, "--label", "pet", "--probs", "prob_*", "--by", "age", "--by", "sex", *FEW)
    assert (code, err) == (0, "")
    assert out.startswith("P(predicted class) is overconfident on average over all rows: error 0.")
    assert " groups are off at 5 %" in " ".join(out.split())
    assert "sex f" in out
    assert "p-values do not hold if the model" in out
    assert "is calibrated" not in out


def test_all_other_columns_where_none_is_named(run, off):
    code, out, err = run("audit", off, "--label", "pet", "--probs", "prob_*", *FEW)
    assert (code, err) == (0, "")
    assert {line.split()[0] for line in out.splitlines() if line[:4] in ("age ", "sex ")} == {"age", "sex"}


def test_json_is_that_of_the_function(run, off):
    command = ("audit", off, "--label", "pet", "--probs", "prob_*", "--by", "sex", "--by", "age", "--depth", "2")
    code, out, err = run(*command, "--bins", "2", "--seed", "5", "--format", "json", *FEW)
    assert (code, err) == (0, "")
    found = json.loads(out)
    sample = cs.Sample.read(off, y_true="pet", y_prob="prob_*", variables=["sex", "age"])
    binning, rng = cs.EqualMass(2), np.random.Generator(np.random.PCG64(5))
    expected = subgroup_audit(
        sample, ["sex", "age"], lens=cs.TopLabel(), binning=binning, depth=2, n_resamples=49, rng=rng
    )
    assert [record["group"] for record in found] == [group.name for group in expected]
    assert len(found) == 9
    for record, group in zip(found, expected, strict=True):
        assert {key: record[key] for key in group.to_dict()} == group.to_dict()
        assert (record["lens"], record["estimator"], record["n_resamples"]) == ("TopLabel()", "Kuiper()", 49)


def test_groups_left_out_are_told_on_standard_error_with_json(run, off):
    command = ("audit", off, "--label", "pet", "--probs", "prob_*", "--by", "sex", "--by", "age", "--min-size", "200")
    code, out, err = run(*command, "--format", "json", *FEW)
    assert code == 0
    assert len(json.loads(out)) == 3
    assert err.count("calibstat: warning: left out: age") == 4


def test_missing_values(run, holes):
    command = ("audit", holes, "--label", "y", "--probs", "p", "--by", "site", "--format", "json", *FEW)
    code, _, err = run(*command)
    assert code == 2
    assert "--nan-policy omit" in err
    _, out, _ = run(*command, "--nan-policy", "omit")
    assert [record["n"] for record in json.loads(out)] == [238, 119, 119]
    _, out, _ = run(*command, "--nan-policy", "omit", "--missing", "level")
    assert {record["group"]: record["n"] for record in json.loads(out)} == {
        "all rows": 297,
        "site a": 119,
        "site b": 119,
        "site missing": 59,
    }


def test_curves(run, binary):
    command = ("audit", binary, "--label", "y", "--probs", "p", "--by", "sex", "--by", "age", "--curves", *FEW)
    code, out, err = run(*command)
    assert (code, err) == (0, "")
    assert "at the same prediction in all 2 groups of 'sex' is not rejected at 5 %" in " ".join(out.split())
    assert "the model may be off in all groups alike" in " ".join(out.split())
    assert "Adjusted by Holm's method over 2 columns: sex p = " in " ".join(out.split())
    _, out, _ = run(*command, "--format", "json")
    found = json.loads(out)
    assert [record["variable"] for record in found] == ["sex", "age"]
    assert all(record["pvalue_adjusted"] >= record["pvalue"] for record in found)


def test_curves_of_groups_with_few_events(run, folder):
    """The option says how many events a group must expect."""
    rng = np.random.default_rng(4)
    p = rng.uniform(0.02, 0.08, 900)
    y, site = (rng.random(900) < p).astype(int), rng.choice(["a", "b", "c"], 900, p=[0.45, 0.45, 0.1])
    path = folder / "rare.csv"
    path.write_text("y,p,site\n" + "".join(f"{a},{b},{c}\n" for a, b, c in zip(y, p, site, strict=True)))
    command = ("audit", path, "--label", "y", "--probs", "p", "--by", "site", "--curves", "--format", "json", *FEW)
    (found,) = json.loads(run(*command)[1])
    assert [each["group"] for each in found["groups"]] == ["a", "b"]
    (found,) = json.loads(run(*command, "--min-expected", "2")[1])
    assert [each["group"] for each in found["groups"]] == ["a", "b", "c"]
    code, _, err = run(*command, "--min-expected", "-1")
    assert (code, err.count("\n")) == (2, 1)
    assert "--min-expected is -1" in err


def test_confidences_are_the_top_label(run, folder):
    rng = np.random.default_rng(3)
    confidence = rng.uniform(0.5, 1, 900)
    right, site = rng.random(900) < confidence - 0.2, rng.choice(["a", "b"], 900)
    path = folder / "confidence.csv"
    path.write_text(
        "right,conf,site\n" + "".join(f"{r},{c},{s}\n" for r, c, s in zip(right, confidence, site, strict=True))
    )
    code, out, _ = run("audit", path, "--label", "right", "--confidence", "conf", "--by", "site", *FEW)
    assert code == 0
    assert "overconfident on average" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--by", "nothing"), "no column 'nothing'"),
        (("--by", "pet"), "--by pet: this is the column of what happened"),
        (("--by", "sex", "--lens", "class-wise"), "name the class, as in class-wise:LABEL"),
        (("--by", "sex", "--lens", "canonical"), "sees 3 outcomes at once"),
        (("--by", "sex", "--min-size", "5000"), "there is no group to audit"),
        (("--by", "sex", "--depth", "0"), "not a whole number of at least 1"),
        (("--by", "sex", "--adjust", "none"), "--adjust"),
        (
            ("--by", "sex", "--null", "Consistency(1)"),
            "error: --n-resamples is 1: with 3 tests and adjust=",
        ),
        (
            ("--by", "sex", "--adjust", "holm", "--null", "Consistency(50)"),
            "at least 59 (better 1199), or --adjust max-t",
        ),
        (("--by", "sex", "--min-size", "5000"), "or take a smaller --min-size"),
        (("--learn", "--min-expected", "5"), "--min-expected leaves groups out, but --learn forms none"),
        (("--by", "sex", "--curves", "--min-size", "5000"), "with a smaller --min-size or --min-expected"),
    ],
)
def test_errors_are_one_line(run, off, options, words):
    code, out, err = run("audit", off, "--label", "pet", "--probs", "prob_*", *options)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert words in err


# Errors that nobody named


def test_learn_needs_no_columns_and_is_that_of_the_function(run, off):
    command = ("audit", off, "--label", "pet", "--probs", "prob_*", "--learn", "--min-size", "40", *FEW)
    code, out, err = run(*command)
    assert (code, err) == (0, "")
    assert out.startswith("P(predicted class) is overconfident by")
    assert "p-values do not hold if the model" in out
    _, out, _ = run(*command, "--by", "sex,age", "--seed", "5", "--format", "json")
    sample = cs.Sample.read(off, y_true="pet", y_prob="prob_*", variables=["sex", "age"])
    rng = np.random.Generator(np.random.PCG64(5))
    expected = cs.learner_audit(sample, lens=cs.TopLabel(), min_size=40, n_resamples=49, rng=rng)
    assert json.loads(out) == expected.to_dict()


def test_learn_from_missing_values(run, holes):
    command = ("audit", holes, "--label", "y", "--probs", "p", "--learn", "--min-size", "20", "--nan-policy", "omit")
    _, out, _ = run(*command, "--missing", "level", "--format", "json", *FEW)
    found = json.loads(out)
    assert (found["variables"], found["n"]) == (["site"], 297)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--curves",), "--learn forms no groups and adjusts no p-values: leave out --curves"),
        (("--adjust", "holm", "--bins", "3"), "leave out --bins and --adjust"),
        (("--min-size", "500"), "600 rows are too few for 4 blocks of at least 500 rows"),
        (("--null", "exact"), "--null is Exact"),
        (("--lens", "canonical"), "sees 3 outcomes at once"),
    ],
)
def test_errors_of_learn_are_one_line(run, off, options, words):
    code, out, err = run("audit", off, "--label", "pet", "--probs", "prob_*", "--learn", *options)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert words in err
