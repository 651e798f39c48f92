"""Gates of ``calibstat test``: the first line says yes or no, and the exit code is 3 for no."""

from __future__ import annotations

import argparse
import json

import pytest

import calibstat as cs
from calibstat.cli.gate import condition


@pytest.fixture
def pets(asked):
    """Commands give the same answer whenever they are asked (test_json.py)."""
    return asked


def first(out):
    """The first paragraph in one line: the table and the answer of the test follow."""
    return " ".join(out.split())


def test_an_error_that_is_shown_to_be_small(pets, fair):
    code, out, err = pets(fair, "--lens", "top-label", "--require-within", "0.3")
    assert (code, err) == (0, "")
    assert first(out).startswith("Yes, this passes: with 95 % confidence the average calibration error of ")
    assert "Calibration of P(predicted class) is not rejected" in first(out)


def test_too_few_rows_show_nothing_and_so_fail(pets, fair):
    code, out, err = pets(fair, "--lens", "top-label", "--require-within", "0.02")
    assert (code, err) == (3, "")
    told = first(out)
    assert told.startswith("No, this fails: it cannot be said with 95 % confidence that the average calibration error ")
    assert "needs about" in told
    assert "predicted, " in told  # which way it errs


def test_all_errors_must_be_shown_to_be_small(pets, off):
    options = ("--lens", "class-wise:cat", "--lens", "top-label", "--require-within")
    for margin, code in (("0.02", 3), ("0.21", 3), ("0.4", 0)):
        assert pets(off, *options, margin)[0] == code
    told = first(pets(off, *options, "0.02")[1])
    assert told.startswith("No, this fails: of 2 of 2 errors it is not shown that they are at most 0.02. The largest")
    assert "It is shown to be larger" in told
    assert "1 of 2 errors" in first(pets(off, *options, "0.21")[1])
    assert first(pets(off, *options, "0.4")[1]).startswith(
        "Yes, this passes: each of 2 errors is shown to be at most 0"
    )


def test_numbers_of_the_record_are_those_of_the_library(pets, off):
    found = json.loads(pets(off, "--lens", "top-label", "--require-within", "0.2", "--format", "json")[1])[0]["gate"]
    sample = cs.Sample.read(off, y_true="pet", y_prob="prob_*")
    test = cs.equivalence_test(sample, cs.ECE(), 0.2, lens=cs.TopLabel(), rng=0)
    assert found["passed"] == test.within
    assert found["require_within"]["upper_bound"] == pytest.approx(test.upper_bound)
    assert found["require_within"]["pvalue"] == pytest.approx(test.pvalue)
    assert len(found["answers"]) == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("adjusted-p < 0.01", 3),
        ("P<=0.01", 3),
        ("error > 0.1", 3),
        ("error > 0.5", 0),
        ("beyond-noise >= 0.01", 3),
        ("slope < 0.9", 3),
        ("slope < -1e3", 0),
        ("n < 1000", 3),
        ("n < 100", 0),
    ],
)
def test_conditions(pets, off, text, code):
    found, out, err = pets(off, "--lens", "top-label", "--fail-if", text)
    assert (found, err) == (code, "")
    told = first(out)
    assert told.startswith("No, this fails: " if code else "Yes, this passes: ")
    assert ("That does not show that the error is small: --require-within" in told) == (code == 0)
    assert "Average calibration error: 0." in told.partition("Evidence of")[0]


def test_a_condition_of_several_tests(pets, off, fair):
    told = first(pets(off, "--fail-if", "adjusted-p < 0.05")[1])
    assert told.startswith("No, this fails: adjusted-p < 0.05 in ")
    code, out, _ = pets(fair, "--fail-if", "adjusted-p < 0.05")
    assert code == 0
    assert first(out).startswith("Yes, this passes: adjusted-p < 0.05 holds in none of 5 tests: adjusted-p is ")
    records = json.loads(pets(off, "--fail-if", "o/e > 1.01", "--format", "json")[1])
    assert [record["gate"]["fail_if"]["value"] for record in records] == [r["observed_to_expected"] for r in records]
    assert [r["gate"]["fail_if"]["holds"] for r in records] == [
        (r["observed_to_expected"] or 0) > 1.01 for r in records
    ]


def test_two_gates_and_the_one_that_fails_comes_first(pets, fair):
    options = ("--lens", "top-label", "--require-within", "0.3", "--fail-if", "n < 1000")
    code, out, _ = pets(fair, *options)
    assert code == 3
    assert 0 < first(out).index("No, this fails: n < 1000") + 1 < first(out).index("Yes, this passes: with 95 %")
    record = json.loads(pets(fair, *options, "--format", "json")[1])[0]["gate"]
    assert record["passed"] is False
    assert set(record) == {"passed", "answers", "require_within", "fail_if"}


def test_without_gates_a_record_has_none(pets, fair):
    assert "gate" not in json.loads(pets(fair, "--lens", "top-label", "--format", "json")[1])[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fail-if", "pvalue < 0.1"], "quantities are p, adjusted-p, error, beyond-noise, o/e, slope, n, and compar"),
        (["--fail-if", "p < __import__('os')"], "is not a quantity, a comparison and a number"),
        (["--fail-if", "p < 1 %"], "is not a quantity"),
        (["--fail-if", "p = 0.1"], "is not a quantity"),
        (["--fail-if", "p > 0.05"], "a large one none that it is not: write 'p < 0.01'"),
        (["--fail-if", "adjusted-p < 5"], "write 'adjusted-p < 0.01'"),
        (["--require-within", "2"], "'2' is not a number between 0 and 1, such as 0.02"),
        (["--require-within", "0.1", "--require-within", "0.2"], "--require-within is given more than once"),
        (["--omnibus", "--require-within", "0.1"], "leave out --require-within"),
        (["--omnibus", "--fail-if", "p < 0.1"], "leave out --fail-if"),
    ],
)
def test_wrong_gates_are_refused_before_the_file_is_read(run, options, words):
    code, out, err = run("test", "there-is-no-such.csv", "--label", "y", "--probs", "p", *options)
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--n-resamples", "99", "--fail-if", "p < 0.001"],
            "holds for no data: with 99 redraws the smallest p is 0.01",
        ),
        (["--estimator", "corp", "--lens", "top-label", "--require-within", "0.1"], "--require-within: no interval is"),
        (["--lens", "canonical", "--fail-if", "slope < 0.9"], "slope is not known here"),
    ],
)
def test_gates_that_could_not_say_no_or_yes_are_errors(pets, off, options, words):
    code, out, err = pets(off, *options)
    assert (code, out) == (2, "")
    assert words in err


def test_so_many_redraws_as_the_refusal_asks_for_suffice(pets, fair):
    options = ("--lens", "top-label", "--fail-if", "p < 0.001", "--n-resamples")
    needed = pets(fair, *options, "99")[2].split("add --n-resamples ")[1].split(",")[0]
    assert pets(fair, *options, needed)[0] == 0
    assert pets(fair, *options, str(int(needed) - 2))[0] == 2


def test_a_condition_is_read_plainly():
    assert str(condition(" BEYOND-noise>=.5e-2 ")) == "beyond-noise >= 0.005"
    with pytest.raises(argparse.ArgumentTypeError):
        condition("error > 1 or 1")
