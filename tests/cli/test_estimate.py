"""``calibstat estimate``."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

import calibstat as cs

KEYS = [
    "lens",
    "class",
    "given",
    "estimator",
    "n",
    "n_classes",
    "effective_rows",
    "largest_share",
    "smallest_cell_events",
    "predicted",
    "happened",
    "slope",
    "observed_to_expected",
    "estimate",
    "null_mean",
    "confidence_interval",
]


@pytest.fixture
def estimated(run):
    """Run ``calibstat estimate`` on a file of pets."""
    return lambda path, *more: run("estimate", path, "--label", "pet", "--probs", "prob_*", *more)


def records_of(result):
    code, out, err = result
    assert (code, err) == (0, "")

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(out, parse_constant=refuse)


def test_values_are_those_of_the_library(estimated, off):
    top, canonical, *classes = records_of(estimated(off, "--format", "json", "--n-resamples", "99"))
    sample = cs.Sample.read(off, y_true="pet", y_prob="prob_*")
    assert list(top) == [*KEYS, "confidence_level", "interval_note", "notes", "source"]
    assert [each["class"] for each in classes] == ["cat", "dog", "eel"]
    assert canonical["estimator"] == repr(cs.ExpectedMiscalibration(cs.VarianceTree(30)))
    found = cs.estimate(sample, cs.TopLabel() | cs.ECE(cs.EqualMass(15)), n_resamples=99, rng=0)
    assert top["estimate"] == pytest.approx(found.estimate)
    assert top["confidence_interval"] == pytest.approx(list(found.confidence_interval), abs=0.01)
    assert top["interval_note"] == found.interval_note


def test_level_and_seed(estimated, off):
    options = (off, "--lens", "top-label", "--format", "json")
    (narrow,) = records_of(estimated(*options, "--confidence-level", "0.5"))
    (wide,) = records_of(estimated(*options))
    assert narrow["confidence_level"] == 0.5
    assert wide["confidence_interval"][1] > narrow["confidence_interval"][1]
    assert records_of(estimated(*options)) == [wide]
    assert records_of(estimated(*options, "--seed", "1")) != [wide]
    (among,) = [
        each
        for each in records_of(estimated(*options, "--lens", "canonical", "--given", "age"))
        if each["lens"] == "TopLabel()" and each["given"] is None
    ]
    assert among == wide


def test_no_interval_is_null_and_said(estimated, off):
    options = (off, "--lens", "top-label", "--estimator", "PDE(EqualMass(15), p=2)")
    (record,) = records_of(estimated(*options, "--format", "json"))
    assert record["confidence_interval"] is None
    assert record["interval_note"].startswith("no interval is known to cover for PDE")
    _, text, _ = estimated(*options)
    assert "(no interval)" in text


def test_costs_are_told_of_each_lens_that_leaves_two_outcomes(estimated, off, run):
    options = (off, "--costs", "1,4", "--n-resamples", "99", "--lens", "top-label", "--lens", "canonical")
    top, canonical = records_of(estimated(*options, "--format", "json"))
    sample = cs.Sample.read(off, y_true="pet", y_prob="prob_*")
    found = cs.estimate(sample, cs.TopLabel() | cs.DecisionLoss(costs=(1.0, 4.0)), n_resamples=99, rng=0)
    assert top["costs"] == found.to_dict()
    assert "costs" not in canonical
    told = " ".join(estimated(*options[:-2])[1].split())
    assert f"Costs of P(predicted class){found.meaning.removeprefix('What it costs')}" in told
    tested = " ".join(
        run("test", off, "--label", "pet", "--probs", "prob_*", "--lens", "top-label", "--costs", "1,4")[1].split()
    )
    assert "Costs of P(predicted class) (acting from 0.2 on, where a false alarm costs 1 and a miss 4)" in tested
    _, text, _ = estimated(
        off, "--lens", "top-label", "--estimator", "DecisionLoss(costs=(1, 4))", "--n-resamples", "99"
    )
    assert "What it costs" in text


def test_costs_that_cannot_be_told_are_refused(estimated, off, run):
    for costs, words in (("1", "'1' is not the cost of a false alarm and that of a miss"), ("1,-4", "'1,-4' is not")):
        code, _, err = estimated(off, "--costs", costs)
        assert (code, words in err) == (2, True)
    code, _, err = estimated(off, "--costs", "1,4", "--lens", "canonical")
    assert (code, "no lens leaves two outcomes here" in err) == (2, True)
    code, _, err = run("test", off, "--label", "pet", "--probs", "prob_*", "--costs", "1,4", "--omnibus")
    assert (code, "leave out --costs" in err) == (2, True)


def test_text(estimated, off, run, binary):
    code, out, err = estimated(off, "--given", "age")
    assert (code, err) == (0, "")
    heading = out.split("\n\n")[1].splitlines()[0]
    assert heading.split() == ["calibration", "of", "error", "noise", "alone", "95", "%", "interval"]
    assert "in these cells (a lower bound of the unbinned one)" in " ".join(
        estimated(off, "--given", "age", "--verbose")[1].split()
    )
    assert max(map(len, out.splitlines())) <= 100
    assert "is calibrated" not in out
    code, out, _ = run("estimate", binary, "--label", "y", "--probs", "p", "--weights", "w")
    assert (code, out.split(": ")[0]) == (0, "Average calibration error")


def test_confidences_and_standard_input(run, folder, monkeypatch):
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, 400)
    text = "right,sure\n" + "".join(f"{int(y)},{p}\n" for y, p in zip(rng.random(400) < sure, sure, strict=True))
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    options = ("--label", "right", "--confidence", "sure", "--format", "json")
    (record,) = records_of(run("estimate", "-", *options))
    assert (record["lens"], record["n"]) == ("Canonical()", 400)
    (folder / "sure.csv").write_text(text)
    assert records_of(run("estimate", folder / "sure.csv", *options)) == [record]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--confidence-level", "95"], "'95' is not a number between 0 and 1, such as 0.95"),
        (["--confidence-level", "nan"], "is not a number between 0 and 1"),
        (["--lens", "top"], "top-label, canonical, class-wise"),
        (["--estimator", "Kuipers"], "there is no estimator 'Kuipers'"),
        (["--omnibus"], "calibstat estimate takes no --omnibus; test does"),
        (["--n-resamples", "5", "--lens", "top-label", "--estimator", "ECE"], ""),
    ],
)
def test_bad_options(estimated, off, options, words):
    code, out, err = estimated(off, *options)
    if words:
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert words in err
    else:  # too few resamples for the level: a value without an interval, and why
        assert code == 0
        out = estimated(off, *options, "--verbose")[1]
        assert "5 resamples are too few for level 0.95; take at least 19" in " ".join(out.split())


def test_what_limits_an_interval_is_said(run, folder):
    """Seven events among 600 rows."""
    path = folder / "rare.csv"
    path.write_text("y,p\n" + "".join(f"{int(k % 85 == 0)},{0.005 + k / 50000}\n" for k in range(600)))
    sample = cs.Sample.read(path, y_true="y", y_prob="p")
    notes = cs.estimate(sample, cs.ECE(cs.EqualMass(15)), rng=0).notes
    assert notes
    options = ("estimate", path, "--label", "y", "--probs", "p")
    code, out, _ = run(*options)
    assert code == 0
    assert f"note {notes[0]}" in " ".join(out.split())
    assert json.loads(run(*options, "--format", "json")[1])[0]["notes"] == list(notes)


def test_numbers_of_a_record_are_rows_below_the_headline(run, folder):
    path = folder / "ten.csv"
    labels, p = [0, 0, 1, 0, 1, 1, 0, 1, 1, 1], [k / 10 + 0.05 for k in range(10)]
    path.write_text("y,p\n" + "".join(f"{y},{each:.2f}\n" for y, each in zip(labels, p, strict=True)))
    _, out, _ = run("estimate", path, "--label", "y", "--probs", "p", "--estimator", "Cox", "--n-resamples", "9")
    assert out.split("\n\n")[1].splitlines() == [
        "of P(1)                      value  if calibrated     95 % interval",
        "calibration slope            1.106              1  -0.3267 to 2.538",
        "intercept in the large       0.604              0  -0.9373 to 2.145",
        "intercept beside the slope  0.6374              0   -1.011 to 2.286",
        "likelihood ratio            0.6226",
        "score statistic             0.5986          2.365",
    ]


def test_a_tiny_p_value_of_a_record_is_a_bound(run, folder):
    rows = [f"{int(k % 10 == 0)},{0.3 + 0.4 * (k % 7) / 6}" for k in range(2000)]
    (folder / "far.csv").write_text("y,p\n" + "\n".join(rows) + "\n")
    options = ("--label", "y", "--probs", "p", "--estimator", "CalibrationBelt", "--n-resamples", "9")
    out = run("estimate", folder / "far.csv", *options)[1]
    assert any(
        line.split() == ["p-value,", "about", "(many", "rows", "only)", "<", "1e-12"] for line in out.splitlines()
    )


def test_json_has_each_number_of_a_record_with_its_interval(run, binary):
    options = ("--label", "y", "--probs", "p", "--n-resamples", "99")
    (found,) = records_of(run("estimate", binary, *options, "--estimator", "Cox", "--format", "json"))
    expected = cs.estimate(cs.Sample.read(binary, y_true="y", y_prob="p"), cs.Cox(), n_resamples=99, rng=0)
    assert set(found["parts"]) == {each.name for each in expected.parts}
    slope = found["parts"]["slope"]
    assert slope["low"] < slope["value"] < slope["high"]
    assert slope["value"] == pytest.approx(expected.estimate.slope)
    (single,) = records_of(run("estimate", binary, *options, "--format", "json"))
    assert "parts" not in single
