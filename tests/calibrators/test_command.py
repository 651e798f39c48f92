"""``calibstat calibrate``."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calibstat import calibrators as cal
from calibstat.cli import main
from calibstat.cli.calibrate_options import NAMES


@pytest.fixture
def run(capsys):
    def call(*arguments):
        code = main(["calibrate", *(str(argument) for argument in arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def two(tmp_path):
    rng = np.random.default_rng(0)
    p, age = rng.random(600).round(4), rng.uniform(20, 80, 600).round(1)
    y = np.array(["no", "yes"])[(rng.random(600) < p**2).astype(int)]
    frame = pd.DataFrame({"y": y, "p_yes": p, "age": age, "w": rng.uniform(1, 2, 600), "sex": ["f", "m"] * 300})
    frame.to_csv(tmp_path / "two.csv", index=False)
    return tmp_path / "two.csv"


@pytest.fixture
def three(tmp_path):
    rng = np.random.default_rng(1)
    P = rng.dirichlet([1, 1, 1], 400)
    frame = pd.DataFrame(P, columns=["prob_cat", "prob_dog", "prob_eel"])
    frame["pet"] = rng.permutation(np.array(["cat", "dog", "eel"])[np.arange(400) % 3])
    frame.to_csv(tmp_path / "three.csv", index=False)
    return tmp_path / "three.csv"


def test_rows_of_the_fit_are_not_written(run, two, tmp_path):
    out, saved = tmp_path / "out.csv", tmp_path / "beta.json"
    options = ["--label", "y", "--probs", "p_yes", "--weights", "w", "--out", out]
    code, said, _ = run(two, *options, "--calibrator", "beta", "--share", 0.4, "--save", saved)
    assert code == 0
    assert "Fitted Beta() on 240 of 600 rows" in said
    given, written = pd.read_csv(two), pd.read_csv(out)
    assert len(written) == 360
    fit = np.setdiff1d(np.arange(600), written["row"])
    by_hand = cal.Beta().fit(given.p_yes[fit], given.y[fit], given.w[fit]).predict_proba(given.p_yes[written["row"]])
    np.testing.assert_allclose(written[["prob_no", "prob_yes"]], by_hand, rtol=1e-9)
    assert (written["y"].to_numpy() == given.y[written["row"]].to_numpy()).all()
    code, said, _ = run(two, "--label", "y", "--probs", "p_yes", "--out", out, "--load", saved)
    assert code == 0
    loaded = pd.read_csv(out)
    assert len(loaded) == 600
    np.testing.assert_allclose(loaded["prob_yes"][written["row"]], written["prob_yes"], rtol=1e-12)


def test_what_is_written_can_be_tested(run, three, tmp_path, capsys):
    out = tmp_path / "out.csv"
    code, _, warned = run(three, "--label", "pet", "--probs", "prob_*", "--calibrator", "isotonic", "--out", out)
    assert code == 0
    assert "each of the 3 gets one of its own" in warned
    assert main(["test", str(out), "--label", "pet", "--probs", "prob_*", "--n-resamples", "19"]) == 0
    assert "n = 200" in capsys.readouterr().out


def test_fit_on_one_file_and_apply_to_another(run, two, tmp_path):
    out, other = tmp_path / "out.csv", tmp_path / "other.csv"
    pd.read_csv(two)[:100].to_csv(other, index=False)
    options = ["--label", "y", "--probs", "p_yes", "--variable", "age", "--out", out, "--apply", other]
    code, said, _ = run(two, *options, "--calibrator", "variable-based")
    assert code == 0
    assert "on 600 of 600 rows" in said
    given, written = pd.read_csv(two), pd.read_csv(out)
    fitted = cal.VariableBased("age").fit(given[["p_yes", "age"]], given.y)
    expected = fitted.predict_proba(given[["p_yes", "age"]][:100])
    np.testing.assert_allclose(written[["prob_no", "prob_yes"]], expected, rtol=1e-6)
    np.testing.assert_array_equal(written["age"], given["age"][:100])


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_a_calibrator(run, two, tmp_path, name):
    variable = ["--variable", "age"] if NAMES[name] in ("VariableBased", "AugmentedBeta", "DecisionTree") else []
    code, _, error = run(
        two, "--label", "y", "--probs", "p_yes", "--calibrator", name, "--out", tmp_path / "out.csv", *variable
    )
    assert (code, error) == (0, "")


def test_every_calibrator_has_a_name():
    others = {"Calibrator", "Calibrated", "OneVsRest", "Binned", "save", "load"}
    assert set(NAMES.values()) == set(cal.__all__) - others


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--calibrator", "bета"], "there are platt, beta"),
        (["--calibrator", "beta", "--share", "1"], "pass a share between 0 and 1"),
        (["--calibrator", "variable-based"], "needs --variable COL"),
        (["--calibrator", "beta", "--variable", "age"], "uses no variable"),
        (["--calibrator", "variable-based", "--variable", "sex"], "numbers are needed"),
        (["--calibrator", "beta", "--load", "x.json"], "not allowed with"),
        (["--load", "nowhere.json"], "nowhere.json"),
        ([], "one of the arguments --calibrator --load is required"),
    ],
)
def test_errors_are_one_line(run, two, tmp_path, options, message):
    code, said, error = run(two, "--label", "y", "--probs", "p_yes", "--out", tmp_path / "out.csv", *options)
    assert (code, said) == (2, "")
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


def test_a_calibrator_of_other_classes_is_refused(run, two, three, tmp_path):
    saved, out = tmp_path / "fitted.json", tmp_path / "out.csv"
    run(two, "--label", "y", "--probs", "p_yes", "--calibrator", "platt", "--out", out, "--save", saved)
    assert json.loads(saved.read_text())["format"].startswith("calibstat")
    code, _, error = run(three, "--label", "pet", "--probs", "prob_*", "--load", saved, "--out", out)
    assert code == 2
    assert "is for the classes ['no', 'yes']" in error
