"""What ``calibstat test`` prints to be read."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

import calibstat as cs
from calibstat.cli.text import notice
from calibstat.inference.by_lens import n_decimals
from calibstat.inference.multiplicity import benjamini_yekutieli
from suites import slow_but


@pytest.fixture
def pets(asked):
    """Commands give the same answer whenever they are asked (test_json.py)."""
    return asked


def table(out):
    """The rows of the table, split at wide gaps."""
    block = out.split("\n\n")[1]
    return [re.split(r" {2,}", line.strip()) for line in block.splitlines()]


def test_a_rejection_comes_with_its_size(pets, off):
    code, out, err = pets(off)
    assert (code, err) == (0, "")
    text = " ".join(out.split("\n\n")[0].split())
    assert text.startswith("Evidence of miscalibration at 5 % in 5 of 5 tests (n = 600, adjusted by Holm's method).")
    values = {row[0]: row for row in table(out)}
    size = re.search(r"The largest beyond noise, of (.*?): (\S+), where noise alone gives (\S+) ", text)
    assert float(size[2]) == pytest.approx(float(values[size[1]][1]), rel=0.01)
    assert float(size[3]) == pytest.approx(float(values[size[1]][2]), rel=0.01)


def test_no_evidence_is_never_called_calibrated(pets, fair):
    code, out, _ = pets(fair)
    first = out.split("\n\n")[0].replace("\n", " ")
    assert code == 0
    assert re.fullmatch(
        r"Calibration is not rejected at 5 % in 5 tests \(n = 600, smallest adjusted p = [\d.]+\)\.", first
    )
    assert "is calibrated" not in out


def test_the_table_agrees_with_json(pets, fair):
    rows = table(pets(fair, "--given", "sex")[1])
    records = json.loads(pets(fair, "--given", "sex", "--format", "json")[1])
    assert rows[0] == ["calibration of", "error", "noise alone", "p", "adjusted p"]
    assert len(rows) == 1 + len(records)
    for row, record in zip(rows[1:], records, strict=True):
        value, expected, p, adjusted = row[-4:]
        assert float(value) == pytest.approx(record["statistic"], abs=6e-5)
        assert float(expected) == pytest.approx(record["null_mean"], abs=6e-5)
        assert float(p) == pytest.approx(record["pvalue"], rel=0.01)
        assert float(adjusted) == pytest.approx(record["pvalue_adjusted"], rel=0.01)


def test_columns_are_aligned(pets, fair):
    block = pets(fair, "--given", "sex")[1].split("\n\n")[1].splitlines()
    ends = {line.rstrip(" *").__len__() for line in block}
    assert len(ends) == 1


def test_the_way_of_adjusting_is_chosen_and_said(pets, off):
    records = json.loads(pets(off, "--adjust", "fdr_by", "--format", "json")[1])
    wanted = benjamini_yekutieli([record["pvalue"] for record in records])
    assert [record["pvalue_adjusted"] for record in records] == pytest.approx(list(wanted))
    assert {record["adjust"] for record in records} == {"fdr_by"}
    out = " ".join(pets(off, "--adjust", "fdr_by")[1].split())
    assert "in 5 of 5 tests (n = 600, adjusted by Benjamini and Yekutieli's method)" in out
    out = " ".join(pets(off, "--adjust", "fdr_by", "--verbose")[1].split())
    assert "(share of false discoveries, for any dependence) over the tests above; * at most 5 %" in out
    code, _, err = pets(off, "--adjust", "max-t")
    assert code == 2
    assert "--adjust is 'max-t', but each question is tested on draws of its own: take 'holm' or" in err


def test_the_smallest_pvalue_of_draws_is_no_bound(pets, off):
    rows = table(pets(off, "--lens", "top-label", "--lens", "canonical", "--n-resamples", "999")[1])
    assert rows[0][-3:] == ["p", "adjusted p", "about"]
    assert [row[-4:-1] for row in rows[1:]] == [["0.001", "0.002", "*"]] * 2
    assert all(float(row[-1].removeprefix("< ")) < 1e-9 for row in rows[1:])
    assert "(n = 600, p = 0.005)" in pets(off, "--lens", "top-label", "--n-resamples", "199")[1]


def test_the_default_pvalue_is_that_of_the_panel_and_the_value_its_size(pets, off):
    out = " ".join(pets(off, "--lens", "top-label", "--verbose")[1].split())
    assert "p = 0.001): too high and too extreme, 0.607 predicted, 0.462 happened (O/E 0.761, slope 0.597)." in out
    assert "Average calibration error: " in out
    assert "the strongest of several statistics on the same redraws: Spiegelhalter, cubic score, Anders" in out
    assert "as of a calibrated model with as many rows (computed, no Monte Carlo error)" in out


def test_pvalues_are_computed_where_that_can_be_and_the_text_says_which(pets, off):
    measure = ("--estimator", "ExpectedMiscalibration")
    out = pets(off, "--lens", "top-label", "--lens", "canonical", *measure, "--verbose")[1]
    (_, top, canonical) = table(out)
    assert float(top[-3]) < 1e-4
    assert canonical[-3] == "0.001"
    words = " ".join(out.split())
    assert re.search(r"P\(predicted class\): [^()]* \(computed, no Monte Carlo error\)", words)
    assert re.search(r"all 3 probabilities together: [^()]* \(999 resamples\)", words)
    only = " ".join(pets(off, "--lens", "top-label", *measure, "--verbose")[1].split())
    assert "no Monte Carlo error" in only
    assert "resamples" not in only


def test_a_single_test_has_a_table_of_one_row(run, binary):
    _, out, _ = run("test", binary, "--label", "y", "--probs", "p", "--verbose")
    assert re.match(r"Calibration of P\(1\) is not rejected at 5 % \(n = 600, p = [\d.]+\): 0\.\d+ predicted, 0\.", out)
    assert "Holm" not in out
    (heading, row) = table(out)
    assert heading == ["calibration of", "error", "noise alone", "p", "rows", "predicted", "happened", "O/E", "slope"]
    assert (row[0], row[4]) == ("P(1)", "600")


def test_what_was_tested_and_what_breaks_it_is_said(pets, fair):
    plain = " ".join(pets(fair, "--verbose")[1].split())
    conditioned = " ".join(pets(fair, "--given", "age", "--lens", "top-label", "--verbose")[1].split())
    for words in (
        "given the prediction, the outcome seen through the lens follows the prediction",
        "3 columns prob_cat, prob_dog, prob_eel taken for classes cat, dog, eel (column names)",
        "fitted on these rows",
        "clusters",
        "cross-validated",
        "(999 resamples)",
        "P(predicted class), P(cat), P(dog) and P(eel): ",
    ):
        assert words in plain
    assert "beyond the error of the prediction: after predictions were recalibrated on these rows" in conditioned
    assert "beyond the error" not in plain
    strong = " ".join(pets(fair, "--given", "age", "--lens", "top-label", "--null", "strong", "--verbose")[1].split())
    assert "(the strong null)" in strong
    assert "strong null" not in plain
    assert "strong null" not in conditioned


def test_lines_fit_a_terminal(pets, off):
    assert max(map(len, pets(off, "--given", "age")[1].splitlines())) <= 100


def test_small_numbers_keep_digits(pets, fair):
    rows = table(
        pets(fair, "--estimator", "SquaredCE", "--lens", "top-label", "--lens", "class-wise:cat", "--bins", "2")[1]
    )
    assert len(rows[1][2].lstrip("0.")) >= 2


def test_the_headline_uses_adjusted_pvalues(pets, fair):
    """A raw p-value below 5 % among many is no evidence."""
    (record, *_) = json.loads(pets(fair, "--format", "json")[1])
    found = cs.calibration_test(cs.generators.DirichletPredictions([1, 1, 1]).sample(100, rng=0), rng=0).by_lens
    smallest = replace(
        found, tests=tuple(replace(each, pvalue=0.04) for each in found.tests), pvalues_adjusted=(0.08,) * 5
    )
    assert record["pvalue_adjusted"] > 0.05
    assert smallest.verdict == "Calibration is not rejected at 5 % in 5 tests (n = 100, smallest adjusted p = 0.08)."


def test_one_test_and_one_redraw_are_singular_and_the_headline_says_that_no_data_could_be_rejected(run, binary):
    code, out, err = run(
        "test", binary, "--label", "y", "--probs", "p", "--estimator", "ECE", "--null", "Consistency(1)", "--verbose"
    )
    assert (code, err) == (0, "")
    assert " ".join(out.split()).startswith(
        "No test could reject at 5 %, whatever the data: with 1 redraw the smallest possible p-value is 0.5 (at least "
        "19 redraws are needed). Calibration of P(1) is not rejected at 5 % (n = 600, p = "
    )
    assert "(1 resample)" in " ".join(out.split())
    assert "Holm" not in out


@pytest.mark.parametrize(
    ("options", "taken"),
    slow_but(
        [(("--n-resamples", "19"), 499)],
        [(("--n-resamples", "19"), 499), (("--n-resamples", "99", "--level", "0.01"), 2499)],
    ),
)
def test_more_redraws_are_taken_where_none_of_those_asked_for_could_reject(pets, off, options, taken):
    """Five tests by Holm's method need 99 redraws at 5 %, and 499 at 1 %."""
    _, out, _ = pets(off, *options)
    words = " ".join(out.split())
    assert out.startswith("Evidence of miscalibration at ")
    assert f"({taken} resamples)" in " ".join(pets(off, *options, "--verbose")[1].split())
    assert f"note {taken} redraws were taken, since with {options[1]} no adjusted p-value could be at most" in words
    records = json.loads(pets(off, *options, "--format", "json")[1])
    assert {record["n_resamples"] for record in records} == {taken}


def test_an_object_that_draws_too_few_for_a_panel_is_refused(run, binary):
    code, out, err = run("test", binary, "--label", "y", "--probs", "p", "--null", "Consistency(1)")
    assert (code, out) == (2, "")
    assert "--n-resamples is 1, but with so few redraws the smallest p-value of the panel is 0.5, above" in err


def test_what_rounding_leaves_of_zero_adds_no_digits():
    noise, zero, small = ((0.05, 0.03), (0.001, 1.7e-15), (0.0002, 0.00012))

    def decimals(*pairs):
        return n_decimals([SimpleNamespace(statistic=value, null_mean=mean) for value, mean in pairs])

    assert decimals(noise, zero) == decimals(noise) == decimals(zero) == 4
    assert decimals(small) == decimals(small, zero) == 5


@pytest.mark.parametrize("unit", [1e-10, 1e-14])
def test_errors_of_rare_events_are_no_zeros(run, tmp_path, unit):
    """Nor are they written with more than eight decimals."""
    path = tmp_path / "rare.csv"
    path.write_text("y,p\n" + "".join(f"0,{unit * (k + 0.5)!r}\n" for k in range(100)))
    _, out, _ = run("test", path, "--label", "y", "--probs", "p", "--labels", "0,1")
    assert f": {50 * unit:.4g}, where noise alone gives {100 * unit:.4g}." in " ".join(out.split())


def test_a_terminal_breaks_a_warning_between_words(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    notice(f"{'word ' * 30}end")
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 100
    assert " ".join(lines) == f"calibstat: warning: {'word ' * 30}end"
