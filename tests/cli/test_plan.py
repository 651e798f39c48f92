"""``calibstat plan``: answers, files, bad input."""

from __future__ import annotations

import json
import re

import pytest

from calibstat.planning import search
from suites import slow

pytestmark = pytest.mark.usefixtures("once", "_few_runs")


@pytest.fixture(scope="module")
def _few_runs():
    """Bracket an answer by few simulations, which no test here is about."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_PILOT", 10)
        yield


def test_the_first_line_is_the_answer(run):
    code, out, err = run("plan", "--ece", "0.1", "--n-repeats", "40")
    assert (code, err) == (0, "")
    answer = "are needed to see a calibration error of 0.1 with a chance of 80 %, in a test at 5 %, "
    answer += "if uniform predictions are over-confident."
    screen = rf"About (\d+) labels \(95 %: (\d+) to (\d+)\) {answer} How this was computed: --verbose"
    numbers = re.fullmatch(screen, " ".join(out.split()))
    n, low, high = map(int, numbers.groups())
    assert low < n < high
    _, out, _ = run("plan", "--ece", "0.1", "--n-repeats", "40", "--verbose")
    assert "(unbinned ECE, total variation, through Canonical())" in " ".join(out.split())


def test_predictions_of_a_file(run, off):
    arguments = ["plan", "--ece", "0.1", off, "--label", "pet", "--probs", "prob_*"]
    arguments += ["--n-repeats", "40", "--format", "json"]
    code, out, _ = run(*arguments)
    assert code == 0
    found = json.loads(out)
    assert found["n_low"] <= found["n"] <= found["n_high"]
    assert found["true_error"] == pytest.approx(0.1, abs=1e-8)
    assert found["which_error"] == "unbinned ECE, total variation, through TopLabel()"
    assert json.loads(run(*arguments)[1]) == found


def test_smallest_error(run):
    options = ["--n-repeats", "40", "--direction", "too-low", "--bins", "5", "--format", "json"]
    code, out, _ = run("plan", "--n", "300", *options)
    assert code == 0
    found = json.loads(out)
    assert 0.02 < found["effect"] < 0.3
    assert found["effect_low"] <= found["effect"] <= found["effect_high"]


def test_rows_in_clusters(run):
    options = ["--ece", "0.15", "--bins", "5", "--n-repeats", "40", "--cluster-size", "4", "--correlation", "0.5"]
    code, out, _ = run("plan", *options)
    assert code == 0
    said = "rows come in clusters of 4 rows with the same prediction and a correlation of 0.5 (design effect 2.5)."
    assert said in " ".join(out.split())
    assert json.loads(run("plan", *options, "--format", "json")[1])["design_effect"] == 2.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan", "--ece", "0.1", "--cluster-size", "8"], "--cluster-size is given alone"),
        (["plan", "--ece", "0.1", "--correlation", "0.3"], "add --cluster-size 8"),
        (["plan", "--ece", "0.1", "--cluster-size", "0", "--correlation", "0.3"], "--cluster-size is 0"),
        (["plan", "--ece", "0.1", "--cluster-size", "3", "--correlation", "2"], "--correlation is 2"),
        (["plan", "--precision", "--cluster-size", "3"], "multiply the number of rows by the design effect"),
        (["plan"], "--ece --n --precision is required"),
        (["plan", "--ece", "0.9"], "between 0 and 0.2"),
        (["plan", "--ece", "0.1", "--probs", "p"], "name columns of a FILE"),
        (["plan", "--ece", "0.1", "--power", "2"], "error: --power is 2.0"),
        (["plan", "--n", "0"], "error: --n is 0; it must be an integer of at least 1"),
        (
            ["plan", "--n", "1", "--n-repeats", "50"],
            "no effect is seen with power 0.8 in 1 label: at 0.2489, the largest",
        ),
        slow((["plan", "--n", "10", "--n-repeats", "200"], "no effect is seen with power 0.8 in 10 labels")),
        (["plan", "--ece", "0.1", "--lens", "top-k:2"], "take top-label"),
        (["plan", "--ece", "0.1", "--estimator", "nothing"], "there is no estimator"),
        (["plan", "--ece", "0.01", "--max-n", "50"], "(--max-n), the power is 0."),
    ],
)
def test_bad_input(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err


def test_a_file_needs_its_columns(run, binary):
    code, _, err = run("plan", "--ece", "0.1", binary)
    assert code == 2
    assert "--label COL --probs COL" in err


def test_kuiper_has_no_cells(run):
    code, out, _ = run("plan", "--ece", "0.15", "--estimator", "Kuiper", "--n-repeats", "40", "--verbose")
    assert code == 0
    assert "calibration_test of Kuiper() at level 0.05" in out


def test_rows_for_narrow_intervals(run, binary):
    code, out, err = run("plan", "--precision", "--oe-width", "0.25", "--c-index-width", "0.2")
    assert (code, err) == (0, "")
    assert out.splitlines()[3:7] == [
        "measure                     value  95 % width  rows  events",
        "observed / expected (O/E)       1        0.25   248     124",
        "calibration slope               1         0.2  1787     894",
        "C-index (AUC)              0.8333         0.2    66      33",
    ]
    code, out, _ = run("plan", "--precision", binary, "--label", "y", "--probs", "p", "--format", "json")
    assert code == 0
    assert '"decisive": "calibration slope"' in out
    for options, words in (
        (("--slope-width", "0"), "--slope-width is 0.0; it must be a width above zero"),
        (("--plot", "x.png"), "--precision has no picture"),
    ):
        code, _, err = run("plan", "--precision", *options)
        assert (code, words in err) == (2, True)
