"""The tables of Kelly & Smyth (2023): their calibrators as their program fits them, and files in their layout."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from calibstat import calibrators
from simulations import kelly_smyth as study
from simulations.__main__ import main
from simulations.frame import Repeats, Scale

SMALL = replace(study.SOURCES["Cardio"], n_fit=500)


@pytest.fixture
def folder(tmp_path):
    """A file in their layout, with rows that a table leaves out."""
    frame = study.made(np.random.default_rng(0), 9000)
    frame["age"] -= 5
    frame.to_csv(tmp_path / "cardio_out.csv")
    return tmp_path


def test_their_dirichlet_of_two_classes_is_a_penalised_line():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1], 400)
    y = (rng.random(400) < p[:, 1] ** 2).astype(int)
    features = np.column_stack([np.log(p), np.ones(400)])
    line = LogisticRegression(C=1 / (2 * 1e-3 * 400), fit_intercept=False, tol=1e-10).fit(features, y)
    said = study.TheirDirichlet().fit(p, y).predict_proba(p)
    assert np.allclose(said, line.predict_proba(features), atol=1e-4)


def test_their_dirichlet_of_more_classes_is_at_its_minimum():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1, 1], 300)
    y = (rng.random((300, 1)) > p.cumsum(axis=1)).sum(axis=1)
    fitted = study.TheirDirichlet(0.01).fit(p, y)

    def loss(table):
        said = np.exp(np.column_stack([np.column_stack([np.log(p), np.ones(300)]) @ table.T, np.zeros(300)]))
        chosen = said[np.arange(300), y] / said.sum(axis=1)
        return -np.log(chosen).mean() + 0.01 * (table**2).sum()

    least = loss(fitted.table_)
    moves = rng.normal(0, 0.01, (50, *fitted.table_.shape))
    assert all(loss(fitted.table_ + move) > least for move in moves)


def test_their_beta_is_free_of_the_sign_constraint():
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    p[:2] = 0, 1
    y = (rng.random(2000) < 1 - p).astype(int)
    fitted = study.TheirBeta().fit(p[:, None], y)
    assert (fitted.line_.coef_ < 0).all()
    assert np.isfinite(fitted.predict_proba(p[:, None])).all()


def test_a_file_in_their_layout_gives_a_table(folder):
    found = study.Table("Cardio", SMALL, str(folder), 99)(np.random.default_rng(0))
    frame = pd.read_csv(folder / "cardio_out.csv").query("age > 32")
    assert found["n_test"].item() == len(frame) - 500
    rest = frame.drop(frame.sample(500, random_state=0).index)
    mistaken = (rest["prob_1"] > 0.5) != rest["actual"]
    gap = mistaken - rest[["prob_0", "prob_1"]].min(axis=1)
    for kind, by in (("ece", rest[["prob_0", "prob_1"]].min(axis=1)), ("vece", rest["age"])):
        cells = gap.groupby(pd.qcut(by, 10, labels=False))
        expected = float((cells.size() / len(rest) * cells.mean().abs()).sum())
        at = found[kind].sel(convention="as published", calibrator="uncalibrated")
        assert at.item() == pytest.approx(expected, rel=1e-9)
    used = found.sel(convention="as used")
    assert (used["vece_pvalue"].sel(calibrator=["uncalibrated", "beta"]) <= 0.02).all()
    assert used["vece"].sel(calibrator="variable-based") < used["vece"].sel(calibrator="beta")
    assert found["published_vece"].sel(calibrator="Platt").item() == pytest.approx(0.0204)


def test_errors_along_several_variables_stand_beside_the_published_ones():
    rng = np.random.default_rng(0)
    frame = study.made(rng, 1500).assign(fnlwgt=rng.random(1500))
    sample, n_classes = study.as_sample(frame, replace(SMALL, others=("age", "fnlwgt")))
    assert n_classes == 2
    found = study.along(sample, ("age", "fnlwgt"), 99, rng)
    assert found["along_pvalue"].sel(along="age") == 0.01
    assert found["along_vece"].sel(along="age") > 2 * found["along_vece"].sel(along="fnlwgt")
    assert (found["along_largest"] >= 0).all()
    assert found["published_along"].sel(along="age").values == pytest.approx([0.0959, 0.2344])


def test_only_files_that_are_there_are_tables(folder, tmp_path):
    parts = study.KellySmyth(folder=str(folder)).parts(Scale("quick"))
    assert list(parts) == ["made", "Cardio", "leaves"]
    with pytest.raises(ValueError, match=r"has none of the files adult_out\.csv"):
        study.KellySmyth(folder=str(tmp_path / "nothing")).parts(Scale("quick"))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.drop(columns=["age"]), "bank_out.csv lacks the columns age."),
        (lambda frame: frame.assign(actual=2), "bank_out.csv: "),
        (lambda frame: frame.assign(prob_1=-1.0), "bank_out.csv: "),
        (lambda frame: frame[:1050], "bank_out.csv has 1050 rows that the table uses; 1000 are to fit on and 100 or"),
    ],
)
def test_every_file_is_checked_before_any_work(folder, capsys, monkeypatch, spoil, message):
    frame = pd.read_csv(folder / "cardio_out.csv", index_col=0)
    spoil(frame).to_csv(folder / "bank_out.csv")
    monkeypatch.setattr(study.Table, "__call__", None)  # whoever makes a table, fails
    assert main(["kelly_smyth", "--quick", "--folder", str(folder), "--out", str(folder / "out")]) == 2
    assert message in capsys.readouterr().err


def test_the_calibrators_of_the_papers_are_an_option_and_so_are_leaves():
    of_papers = study.KellySmyth(calibrators="papers", leaf=0.25).parts(Scale("quick"))["made"].once
    assert (of_papers.kind, of_papers.source.min_share) == ("papers", 0.25)
    two, many = (study.candidates(SMALL, n_classes, "papers") for n_classes in (2, 3))
    assert isinstance(two["Platt"], calibrators.Platt)
    assert isinstance(two["beta"], calibrators.Beta)
    assert isinstance(many["Dirichlet"], calibrators.Dirichlet)
    assert isinstance(many["variable-based"].calibrator, calibrators.Dirichlet)
    assert isinstance(study.candidates(SMALL, 3, "program")["Dirichlet"], study.TheirDirichlet)
    with pytest.raises(ValueError, match=r"--leaf is 0\.7"):
        study.KellySmyth(leaf=0.7).parts(Scale("quick"))


def test_the_world_of_ten_classes_is_like_table_5():
    p, y, slowness, chances = study.slow_to_recognise(20_000, np.random.default_rng(0))
    slow, right = slowness > np.median(slowness), p.argmax(axis=1) == y
    assert right.mean() == pytest.approx(0.95, abs=0.01)
    assert p.max(axis=1).mean() - right.mean() == pytest.approx(0.019, abs=0.005)
    assert right.mean() == pytest.approx(chances[np.arange(20_000), p.argmax(axis=1)].mean(), abs=0.006)
    assert (p.max(axis=1) - right)[slow].mean() > (p.max(axis=1) - right)[~slow].mean() + 0.01


@pytest.mark.slow
def test_larger_leaves_close_the_gap_of_table_5_and_leave_a_true_error(tmp_path):
    """The paper has 1.18 and 0.86 %, and leaves of a tenth give 1.64 and 1.36 % on the authors' file."""
    found = Repeats(study.Leaves(), 8).run(None, tmp_path / "leaves.nc")["value"]

    def higher(way, other, what):
        gaps = (found.sel(way=way, what=what) - found.sel(way=other, what=what)).values
        return gaps.mean() > 2 * gaps.std(ddof=1) / np.sqrt(len(gaps))

    program = "leaves as in the program"
    for way in ("leaves of a quarter", "a tree of depth 2"):
        assert higher(program, way, "ECE")
        assert higher(way, "uncalibrated", "true error")
    for way in ("a tenth of the penalty", "ten times the penalty"):
        assert higher(way, program, "ECE")
    assert all(higher("uncalibrated", "penalty by cross-validation", what) for what in ("true error", "log loss"))
