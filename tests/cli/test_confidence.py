"""Confidences in the predicted label, and whether it was right."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calibstat import ECE, Sample

CONFIDENCE = np.random.default_rng(0).uniform(0.2, 1, 400)
CORRECT = np.random.default_rng(1).random(400) < CONFIDENCE


@pytest.fixture(params=["True False", "1 0"])
def path(tmp_path, request):
    yes, no = request.param.split()
    lines = [f"{yes if right else no},{level!r}" for right, level in zip(CORRECT, CONFIDENCE.tolist(), strict=True)]
    found = tmp_path / "confidences.csv"
    found.write_text("\n".join(["correct,conf", *lines]))
    return found


def test_one_binary_lens(run, path):
    code, out, err = run("test", path, "--label", "correct", "--confidence", "conf", "--format", "json")
    assert (code, err) == (0, "")
    (record,) = json.loads(out)
    assert (record["lens"], record["n"], record["n_classes"]) == ("Canonical()", 400, 2)
    assert record["statistic"] == pytest.approx(ECE()(Sample.from_confidence(CORRECT, CONFIDENCE)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--lens", "top-label"], "leave --lens out"),
        (["--lens", "class-wise"], "leave --lens out"),
        (["--labels", "0,1"], "--labels is about the classes of --probs"),
        (["--weights", "w"], "no column 'w'"),
    ],
)
def test_what_does_not_go_with_it(run, path, options, words):
    code, out, err = run("test", path, "--label", "correct", "--confidence", "conf", *options)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_other_labels_are_refused(run, path):
    path.write_text("correct,conf\ncat,0.5\ndog,0.5\n")
    assert "booleans, or 0 and 1" in run("test", path, "--label", "correct", "--confidence", "conf")[2]


def test_folding_is_told(run, path):
    arguments = ("test", path, "--label", "correct", "--probs", "conf", "--n-resamples", "99")
    below = int((CONFIDENCE < 0.5).sum())
    code, _, err = run(*arguments, "--lens", "top-label")
    assert code == 0
    assert f"{below} of 400 probabilities are below 1/2" in err
    assert "--confidence" in err
    assert run(*arguments)[2] == ""


def test_nothing_to_fold(run, path):
    path.write_text("correct,conf\n" + "1,0.9\n0,0.8\n" * 200)
    assert "below 1/2" not in run("test", path, "--label", "correct", "--probs", "conf", "--lens", "top-label")[2]
