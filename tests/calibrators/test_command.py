"""``calibstat calibrate``."""

from __future__ import annotations

import json
import os

import numpy as np
import pandas as pd
import pytest

from calibstat import calibrators as cal
from calibstat.cli.calibrate import NAMES
from calibstat.cli.main import main


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
    assert "Fitted beta on 240 of 600 rows" in said
    given, written = pd.read_csv(two), pd.read_csv(out)
    assert len(written) == 360
    fit = np.setdiff1d(np.arange(600), written["row"] - 1)
    by_hand = (
        cal.Beta().fit(given.p_yes[fit], given.y[fit], given.w[fit]).predict_proba(given.p_yes[written["row"] - 1])
    )
    np.testing.assert_allclose(written[["prob_no", "prob_yes"]], by_hand, rtol=1e-9)
    assert (written["y"].to_numpy() == given.y[written["row"] - 1].to_numpy()).all()
    code, said, _ = run(two, "--label", "y", "--probs", "p_yes", "--out", out, "--load", saved)
    assert code == 0
    loaded = pd.read_csv(out)
    assert len(loaded) == 600
    np.testing.assert_allclose(loaded["prob_yes"][written["row"] - 1], written["prob_yes"], rtol=1e-12)


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
        (["--calibrator", "bета"], "choose one of augmented-beta, average-labels, bbq, beta"),
        (["--calibrator", "beta", "--share", "1"], "pass a share between 0 and 1"),
        (["--calibrator", "variable-based"], "needs --variables COL"),
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
    assert "was fitted for the classes no, yes, but" in error


def test_a_calibrator_of_other_columns_is_refused(run, two, three, tmp_path):
    saved, out = tmp_path / "fitted.json", tmp_path / "out.csv"
    cal.save(cal.Temperature().fit(np.tile([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]], (20, 1)), [2, 0] * 20), saved)
    code, _, error = run(two, "--label", "y", "--probs", "p_yes", "--load", saved, "--out", out)
    assert code == 2
    assert "was fitted on 3 columns, but 2 of probabilities and --variables are given: name those" in error


def test_a_calibrator_of_the_event_alone_is_applied(run, two, tmp_path):
    """As Python fits one to an array of one dimension."""
    saved, out = tmp_path / "fitted.json", tmp_path / "out.csv"
    given = pd.read_csv(two)
    fitted = cal.Platt().fit(given.p_yes, given.y == "yes")
    cal.save(fitted, saved)
    code, _, _ = run(two, "--label", "y", "--probs", "p_yes", "--load", saved, "--out", out)
    assert code == 0
    np.testing.assert_allclose(pd.read_csv(out)["prob_yes"], fitted.predict_proba(given.p_yes)[:, 1], rtol=1e-12)


def test_no_file_that_is_read_or_saved_is_overwritten(run, two, tmp_path, monkeypatch):
    """Half of the rows were gone after ``--out`` named the file itself."""
    monkeypatch.chdir(tmp_path)
    other, saved = tmp_path / "other.csv", tmp_path / "beta.json"
    other.write_bytes(two.read_bytes())
    (tmp_path / "link.csv").symlink_to(two)
    base = [two, "--label", "y", "--probs", "p_yes"]
    assert run(*base, "--calibrator", "beta", "--out", "out.csv", "--save", saved)[0] == 0
    before = {path: path.read_bytes() for path in (two, other, saved)}
    fit = [*base, "--calibrator", "beta"]
    for options, message in (
        ([*fit, "--out", "two.csv"], "--out two.csv is also FILE"),
        ([*fit, "--out", f"../{tmp_path.name}/two.csv"], "is also FILE"),
        ([*fit, "--out", "link.csv"], "is also FILE"),
        ([*fit, "--apply", other, "--out", "other.csv"], "--out other.csv is also --apply"),
        ([*fit, "--save", "new.csv", "--out", "new.csv"], "--out new.csv is also --save"),
        ([*fit, "--save", two, "--out", "new.csv"], "is also FILE"),
        ([*fit, "--save", other, "--apply", other, "--out", "new.csv"], "is also --apply"),
        ([*base, "--load", saved, "--out", "beta.json"], "--out beta.json is also --load"),
    ):
        code, said, error = run(*options)
        assert (code, said) == (2, "")
        assert message in error
        assert {path: path.read_bytes() for path in before} == before
        assert not (tmp_path / "new.csv").exists()


def test_too_few_rows_to_share_out(run, tmp_path):
    path, out = tmp_path / "few.csv", tmp_path / "out.csv"
    path.write_text("y,p\n0,0.3\n")
    options = ["--label", "y", "--probs", "p", "--labels", "0,1", "--calibrator", "beta", "--out", out]
    code, _, error = run(path, *options)
    assert code == 2
    assert "--share 0.5 of 1 row of" in error
    assert "leaves 0 to fit on and 1 to write, but both need at least one" in error
    path.write_text("y,p\n0,0.3\n1,0.6\n0,0.2\n")
    assert "leaves 3 to fit on and 0 to write" in run(path, *options, "--share", 0.9)[2]
    assert not out.exists()


def test_other_columns_are_kept_as_they_are_written(run, tmp_path, capsys):
    """Also those that only look like numbers, and where rows are left out."""
    rng = np.random.default_rng(4)
    path, out = tmp_path / "wide.csv.gz", tmp_path / "out.csv"
    p = rng.random(200)
    given = pd.DataFrame(
        {
            "id": [f"{k:06d}" for k in range(200)],
            "big": [f"{2**60 + k}" if k % 7 else "" for k in range(200)],
            "p": [f"{value:.6f}" if k % 5 else "" for k, value in enumerate(p)],
            "note": ["NA", 'say "x", then\ny', " a", "1.50"] * 50,
            "y": (rng.random(200) < p).astype(int).astype(str),
            "age": rng.integers(20, 80, 200).astype(str),
        }
    )
    given.to_csv(path, index=False)
    base = ["--label", "y", "--probs", "p", "--calibrator", "beta", "--nan-policy", "omit"]
    assert run(path, *base, "--out", out)[0] == 0
    written = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert list(written) == ["row", "y", "prob_0", "prob_1", "id", "big", "note", "age"]
    rows = written["row"].astype(int).to_numpy() - 1
    assert len(rows) == 80
    assert (rows % 5 != 0).all()
    for name in ("y", "id", "big", "age"):
        assert list(written[name]) == list(given[name][rows])
    assert list(written["note"]) == [text.lstrip() for text in given["note"][rows]]
    assert main(["test", str(out), "--label", "y", "--probs", "prob_*", "--given", "age", "--bins", "4"]) == 0
    assert "\nP(1) given age, beyond overall " in capsys.readouterr().out


def test_names_that_are_taken_are_not_taken_again(run, tmp_path, capsys):
    rng = np.random.default_rng(5)
    p = rng.random(120)
    path, out = tmp_path / "taken.csv", tmp_path / "out.csv"
    columns = {
        "row": np.arange(120) + 7,
        "y": (rng.random(120) < p).astype(int),
        "p": p,
        "prob_old": p,
        "weight": 1 + p,
    }
    pd.DataFrame(columns).to_csv(path, index=False)
    base = ["--label", "y", "--probs", "p", "--calibrator", "platt"]
    code, said, _ = run(path, *base, "--weights", "weight", "--out", out)
    assert code == 0
    assert "--probs 'calibrated_*'" in said.replace("\\\n  ", "")  # a long path goes on in the next line
    written = pd.read_csv(out)
    assert list(written) == ["row_2", "y", "calibrated_0", "calibrated_1", "row", "prob_old", "weight"]
    np.testing.assert_array_equal(written["row"], written["row_2"] + 6)
    np.testing.assert_allclose(written["prob_old"], p[written["row_2"] - 1])
    assert main(["test", str(out), "--label", "y", "--probs", "calibrated_*", "--n-resamples", "19"]) == 0


@pytest.mark.parametrize("kind", ["parquet", "npz", "nc"])
def test_other_columns_of_other_files(run, tmp_path, kind):
    rng = np.random.default_rng(6)
    p = rng.random(100)
    frame = pd.DataFrame({"y": (rng.random(100) < p).astype(int), "p": p, "age": np.arange(100)})
    path, out = tmp_path / f"rows.{kind}", tmp_path / "out.csv"
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif kind == "npz":
        np.savez(path, **{name: frame[name] for name in frame}, embedding=np.ones((100, 3)), seed=np.array(3))
    else:
        frame.to_xarray().to_netcdf(path, engine="scipy")
    assert run(path, "--label", "y", "--probs", "p", "--calibrator", "beta", "--out", out)[0] == 0
    written = pd.read_csv(out)
    assert list(written) == ["row", "y", "prob_0", "prob_1", "age"]
    np.testing.assert_array_equal(written["age"], written["row"] - 1)
    np.testing.assert_array_equal(written["y"], frame["y"][written["row"] - 1])


def test_standard_input_cannot_be_read_twice(run, tmp_path):
    code, _, error = run("-", "--label", "y", "--probs", "p", "--calibrator", "beta", "--out", tmp_path / "out.csv")
    assert code == 2
    assert "standard input can be read only once" in error
    os.mkfifo(tmp_path / "pipe")
    code, _, error = run(tmp_path / "pipe", "--label", "y", "--probs", "p", "--calibrator", "beta", "--out", "out.csv")
    assert code == 2
    assert "pipe can be read only once" in error


@pytest.mark.parametrize(
    ("delimiter", "ends", "start"),
    [(",", "\n", ""), ("\t", "\r\n", "\ufeff"), (";", "\r", ""), ("|", "\n", "\n\n"), (",", "\r\n", "\r\n")],
)
def test_text_of_every_kind(run, tmp_path, delimiter, ends, start):
    """Delimiters, line ends, a mark of the byte order, blank lines, quoted names, and lines that end too early."""
    rng = np.random.default_rng(7)
    p = rng.random(60).round(3)
    lines = [delimiter.join(['"the, label"', " p", '"a;b|c, d"', "code"])]
    for k, value in enumerate(p):
        lines += [delimiter.join([str(int(rng.random() < value)), str(value), f'"x{delimiter}{k}"', f"{k:03d}"])]
    lines[5] = lines[5].rpartition(delimiter)[0]
    lines.insert(9, "")
    path, out = tmp_path / "rows.txt", tmp_path / "out.csv"
    path.write_bytes((start + ends.join(lines) + ends).encode())
    options = ["--label", "the, label", "--probs", "p", "--calibrator", "platt", "--out", out]
    assert run(path, *options)[0] == 0
    written = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert list(written) == ["row", "the, label", "prob_0", "prob_1", "a;b|c, d", "code"]
    assert len(written) == 30
    for row, code, text in zip(written["row"].astype(int) - 1, written["code"], written["a;b|c, d"], strict=True):
        assert text == f"x{delimiter}{row}"
        assert code == ("" if row == 4 else f"{row:03d}")
