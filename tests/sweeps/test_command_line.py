from __future__ import annotations

import csv
import io
import json
import shutil

import pytest

import calibstat as cs
from calibstat.cli.main import main
from calibstat.cli.options import build
from calibstat.cli.summarise import _cell, show_summary
from calibstat.cli.sweep import read_study
from calibstat.generators import GaussianMixture
from calibstat.sweeps.store import read
from calibstat.sweeps.sweep import Sweep
from sweeps.comparing import assert_same_bits

STUDY = """\
seed = 3
n_repeats = 8
n = [50]
n_bins = [2, 5]
[models]
calibrated = "GaussianMixture(0, -2)"
off = "GaussianMixture(beta0=1, beta1=1)"
[estimators]
ECE = "ECE(EqualMass(n_bins))"
top = "TopLabel() | ECE(EqualWidth(4))"
[tests]
ECE = { statistic = "ECE(EqualMass(n_bins))", null = "Consistency(19)" }
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path / "study.toml"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The store of the finished study."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "study.toml").write_text(STUDY)
    read_study(folder / "study.toml").run(store=folder / "study.zarr", progress=False)
    return folder / "study.zarr"


@pytest.fixture
def stored(study, finished):
    """The study, and a finished store of one's own beside it."""
    shutil.copytree(finished, study.parent / "study.zarr")
    return study


def call(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_study_is_what_it_says(study):
    written = Sweep(
        {"calibrated": GaussianMixture(0, -2), "off": GaussianMixture(1, 1)},
        n=[50],
        n_bins=[2, 5],
        estimators={"ECE": lambda b: cs.ECE(cs.EqualMass(b)), "top": cs.TopLabel() | cs.ECE(cs.EqualWidth(4))},
        tests={"ECE": lambda b: (cs.ECE(cs.EqualMass(b)), cs.Consistency(19))},
        n_repeats=8,
        rng=3,
    )
    assert_same_bits(written.run(progress=False), read_study(study).run(progress=False))


def test_a_study_says_how_data_are_drawn(study):
    study.write_text(STUDY.replace("seed = 3", "seed = 3\ndraws = 'sorted'"))
    found = read_study(study)
    assert found.draws == "sorted"
    assert (found.run(progress=False)["error"] == "").all()


def test_sweep_then_summarise(study, capsys):
    code, out, _ = call(capsys, "sweep", study)
    assert code == 0
    assert out.startswith("The least biased of 2 estimators is ")
    assert out.endswith("The samples' values are in study.zarr\n")
    code, out, _ = call(capsys, "summarise", "study.zarr", "--format", "json")
    records = json.loads(out)
    assert len(records) == 2 * 2 * 2 + 2 * 2
    first = records[0]
    assert (first["model"], first["estimator"], first["n"], first["n_bins"]) == ("calibrated", "ECE", 50, 2)
    values = read(study.with_suffix(".zarr"))["estimate"].load()
    assert first["mean"] == pytest.approx(values.sel(model="calibrated", estimator="ECE", n_bins=2).mean().item())
    _, out, _ = call(capsys, "summarise", "study.zarr", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == len(records)
    assert float(rows[0]["mean"]) == first["mean"]
    _, out, err = call(capsys, "summarise", "study.zarr")
    answer, table, *_ = out.split("\n\n")
    worst = {
        name: max((row for row in records if row.get("estimator") == name), key=lambda row: abs(row["bias"]))
        for name in ("ECE", "top")
    }
    best, other = sorted(worst.values(), key=lambda row: abs(row["bias"]))
    answer = " ".join(answer.split())
    assert answer.startswith(f"The least biased of 2 estimators is {best['estimator']}")
    assert f": its largest bias is {best['bias']:+.3g} (Monte Carlo error {best['bias_se']:.1g}; " in answer
    assert f"of the other {other['bias']:+.3g} ({other['estimator']});" in answer
    assert answer.endswith("(2 models, n = 50, 8 samples of each).")
    assert "at 5 % tests reject a true null in " in answer
    assert table.splitlines()[0].split()[:4] == ["model", "estimator", "n", "cells"]
    assert err == ""


def test_a_store_that_is_there_needs_resume(stored, capsys):
    study = stored
    code, _, err = call(capsys, "sweep", study)
    assert code == 2
    assert "--resume" in err
    assert call(capsys, "sweep", study, "--resume")[0] == 0
    study.write_text(STUDY.replace("seed = 3", "seed = 4"))
    code, _, err = call(capsys, "sweep", study, "--resume")
    assert code == 2
    assert "another study" in err


@pytest.mark.usefixtures("stored")
def test_what_is_missing_is_said(capsys):
    import zarr

    with zarr.config.set({"array.write_empty_chunks": True}):  # as the store does: a chunk that is gone is damage
        group = zarr.open_group("study.zarr", mode="r+")
        group["status"][0, 0, 0] = 0
        group["status"][1, 0, 0] = 2
    err = call(capsys, "summarise", "study.zarr")[2]
    assert "blocks failed" in err
    assert "not computed yet" in err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 3", "sead = 3", "sead"),
        ("seed = 3", "", "lacks seed"),
        ("seed = 3", "seed =", "no TOML"),
        ("seed = 3", "seed = 3\ndraws = 'cell'", "'rows', 'sorted' or 'cells'"),
        ("seed = 3", "seed = 3\ndraws = 'cells'", "tests= needs rows"),
        ("GaussianMixture(0, -2)", "GausianMixture(0, -2)", "there is no 'GausianMixture'"),
        ("GaussianMixture(0, -2)", "ECE()", "makes no SyntheticModel"),
        ("ECE(EqualMass(n_bins))", "ECE(EqualMass(n_bin))", "'n_bin' is not allowed"),
        ("ECE(EqualMass(n_bins))", "ECE(", "cannot be read"),
    ],
)
def test_mistakes_are_explained(study, capsys, old, new, message):
    study.write_text(STUDY.replace(old, new))
    code, out, err = call(capsys, "sweep", study)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "(lambda: 1)()",
        "ECE.__class__",
        "ECE(**{})",
        "[x for x in (1, 2)]",
        "open('file')",
        "f'{1}'",
    ],
)
def test_expressions_are_not_python(text):
    with pytest.raises(ValueError, match=r"not allowed|there is no"):
        build(text)


@pytest.mark.parametrize(
    "made",
    [
        cs.TopLabel() | cs.Given("age") | cs.ECE(cs.EqualMass(10)),
        cs.ExpectedMiscalibration(cs.EqualMass(3) * cs.Categories(), cs.Lp(1.5)),
        cs.Partition([["a"], ["b", "c"]]) | cs.DebiasedCE(cs.EqualWidth(4)),
        GaussianMixture(0.5, -2.0),
        cs.Consistency(99, shortcuts=False),
    ],
    ids=repr,
)
def test_expressions_are_reprs(made):
    assert build(repr(made)) == made


def test_summarise_wants_a_sweep(tmp_path, capsys):
    assert call(capsys, "summarise", tmp_path / "nothing")[0] == 2


@pytest.mark.usefixtures("stored")
def test_the_table_says_what_its_names_and_columns_are(capsys):
    first = call(capsys, "summarise", "study.zarr")[1]
    assert max(map(len, first.splitlines())) <= 100
    assert first.split("\n\n")[1].splitlines()[0].split()[4:7] == ["truth", "limit", "mean"]
    assert "bias: mean of the estimates minus the true value, which is not binned" in " ".join(first.split())
    assert "EqualMass" not in first
    out = " ".join(call(capsys, "summarise", "study.zarr", "--verbose")[1].split())
    assert "estimator ECE ECE(binning=EqualMass(n_bins=2)) at n_bins = 2" in out
    assert f"estimator top {cs.TopLabel() | cs.ECE(cs.EqualWidth(4))!r} " in out
    assert "test ECE ECE(binning=EqualMass(n_bins=2)) tested by Consistency(n_resamples=19" in out
    assert "limit: the value that the estimator converges to with fixed cells" in out


def test_a_truth_of_rounding_is_written_as_zero():
    assert _cell({"truth": 3e-33}, "truth") == "0"
    assert _cell({"mean": 3e-33}, "mean") == "3e-33"
    assert _cell({"truth": 0.25}, "truth") == "0.25"


def answer_of(values, capsys):
    show_summary(cs.summarise(values), "table")
    return " ".join(capsys.readouterr().out.partition("\n\n")[0].split())


def test_an_unfinished_study_says_how_many_samples_there_are(study, capsys):
    values = read_study(study).run(progress=False, block=3)  # the last block has 2 repeats
    assert answer_of(values, capsys).endswith("(2 models, n = 50, 8 samples of each).")
    values["status"][0, 0, 1] = values["status"][1, 0, 1:] = 0
    for name in ("estimate", "pvalue"):
        values[name][0, ..., 3:6] = values[name][1, ..., 3:] = float("nan")
    summary = cs.summarise(values)
    assert summary.attrs["n_done"] == [3, 5] == [summary["n_pvalues"].min(), summary["n_pvalues"].max()]
    said = answer_of(values, capsys)
    assert said.endswith("(2 models, n = 50, 3 to 5 of 8 samples of each: the study is not finished).")
    values["status"][:] = 2
    for name in ("estimate", "pvalue"):
        values[name][:] = float("nan")
    assert answer_of(values, capsys) == "No sample is there (2 models, n = 50, 0 of 8 samples of each)."
