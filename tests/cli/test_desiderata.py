"""``calibstat desiderata``: files in, five measures out."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import calibstat as cs


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    p = rng.random(300).round(3)
    frame = pd.DataFrame({"y": (rng.random(300) < p**1.5).astype(int), "p": p, "w": rng.uniform(1, 2, 300)})
    found = tmp_path_factory.mktemp("desiderata") / "x.csv"
    frame.to_csv(found, index=False)
    return found


COMMAND = ("--label", "y", "--probs", "p", "--n-resamples", "99")


def test_text_is_that_of_the_result_and_fits_the_page(run, path):
    code, out, err = run("desiderata", path, *COMMAND)
    assert (code, err) == (0, "")
    frame = pd.read_csv(path)
    found = cs.desiderata(cs.Sample(frame.y, frame.p), n_resamples=99, rng=0)
    assert " ".join(found.verdict.split()) in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 100
    assert "caution" in run("desiderata", path, *COMMAND, "--verbose")[1]


SCREENS = {
    80: """\
Predictions of P(1) are off by 0.1223 on average (noise alone: 0.06908), 24.3 %
of decisions at 0.5 are wrong, and of pairs with and without the event 11.5 %
are ranked the wrong way round; the squared error is 0.1544, and predictions
fall into 234.4 cells in effect (300 rows).

               measure                      value  expected     95 % interval
calibration    calibration error           0.1223    0.0691  0.0053 to 0.2393
accuracy       wrong decisions             0.2433    0.2398  0.1981 to 0.2951
squared error  mean squared error          0.1544    0.1598  0.1342 to 0.1771
monotonicity   all pairs (1: none wrong)   0.8874    0.8480  0.8459 to 0.9183
               pairs ranked the wrong way  0.1151    0.1533
few cells      cells in effect              234.4     234.4              none

note        few rows of similar predictions have another outcome than most: the
            interval has the noise that they may hide

How this was computed: --verbose
""",
    120: """\
Predictions of P(1) are off by 0.1223 on average (noise alone: 0.06908), 24.3 % of decisions at 0.5
are wrong, and of pairs with and without the event 11.5 % are ranked the wrong way round; the
squared error is 0.1544, and predictions fall into 234.4 cells in effect (300 rows).

               measure                      value  expected     95 % interval
calibration    calibration error           0.1223    0.0691  0.0053 to 0.2393
accuracy       wrong decisions             0.2433    0.2398  0.1981 to 0.2951
squared error  mean squared error          0.1544    0.1598  0.1342 to 0.1771
monotonicity   all pairs (1: none wrong)   0.8874    0.8480  0.8459 to 0.9183
               pairs ranked the wrong way  0.1151    0.1533
few cells      cells in effect              234.4     234.4              none

note        few rows of similar predictions have another outcome than most: the interval has the
            noise that they may hide

How this was computed: --verbose
""",
}


@pytest.mark.parametrize("columns", SCREENS)
def test_the_screen(run, path, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run("desiderata", path, *COMMAND) == (0, SCREENS[columns], "")


def test_json_holds_every_measure(run, path):
    options = ("--bins", "5", "--threshold", "0.3", "--weights", "w", "--format", "json")
    code, out, err = run("desiderata", path, *COMMAND, *options)
    assert (code, err) == (0, "")
    frame = pd.read_csv(path)
    sample = cs.Sample(frame.y, frame.p, sample_weight=frame.w)
    values = {each["desideratum"]: each["value"] for each in json.loads(out)["measures"]}
    assert values == {
        "calibration": pytest.approx(cs.ECE(cs.EqualMass(5))(sample)),
        "accuracy": pytest.approx(cs.ZeroOneLoss(0.3)(sample)),
        "squared error": pytest.approx(cs.BrierScore()(sample)),
        "monotonicity": pytest.approx(cs.KendallTau()(sample)),
        "few cells": pytest.approx(cs.ProbabilisticCount()(sample)),
    }


def test_csv_has_a_row_for_each_measure(run, path, tmp_path):
    _, out, _ = run("desiderata", path, *COMMAND, "--format", "csv")
    written = tmp_path / "measures.csv"
    written.write_text(out)
    frame = pd.read_csv(written)
    assert frame.desideratum.tolist() == ["calibration", "accuracy", "squared error", "monotonicity", "few cells"]
    assert frame.low.notna().tolist() == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--threshold", "2"), "'2' is not a number between 0 and 1"),
        (("--lens", "top-k:2"), "--lens"),
        (("--bins", "0"), "'0' is not a whole number of at least 1"),
    ],
)
def test_errors_are_one_line(run, path, options, message):
    code, out, err = run("desiderata", path, *COMMAND, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
