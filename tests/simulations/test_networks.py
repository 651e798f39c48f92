"""Lenses and groups of classes, errors and diagrams of data made here, and a file as somebody would bring it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import calibstat as cs
from calibstat.generators import DirichletPredictions, Mixture
from simulations import networks as study
from simulations.__main__ import main
from simulations.frame import Scale

OFF = DirichletPredictions([0.5] * 6, Mixture(0.4, [1 / 6] * 6))


@pytest.fixture(scope="module")
def off():
    return study.Network("off", OFF, None, 199)(np.random.default_rng(0))


def test_ten_classes_are_put_into_the_groups_of_figure_1():
    assert study.default_groups(10) == ((0, 1, 2), (3, 4, 5), (6, 7, 8, 9))
    assert study.default_groups(5) == ((0,), (1, 2), (3, 4))


def test_groups_are_read_from_places_of_columns():
    assert study.read_groups(["0,1", "2", "3,4"]) == ((0, 1), (2,), (3, 4))
    assert study.read_groups(None) is None
    with pytest.raises(ValueError, match="name places of columns, such as --groups 0,1,2"):
        study.read_groups(["cat,dog", "car", "truck"])
    with pytest.raises(ValueError, match="--groups names 2 groups, but a simplex diagram shows 3 or 4"):
        study.read_groups(["0,1", "2"])
    with pytest.raises(ValueError, match="--groups names the place 9, but there are 6 columns"):
        study.lenses_of(OFF.sample(5, 0).predictions, ((0, 1, 2), (3, 4), (9,)))


def test_errors_are_those_of_the_test_and_the_true_one_is_that_of_the_mixture(off):
    sample = OFF.sample(study.MADE_ROWS, np.random.default_rng(0))
    at = off.isel(question=((off["lens"] == study.TOP) & (off["cells"] == "15 equal masses")).values)
    assert at["error"].item() == pytest.approx(float((cs.TopLabel() | cs.ECE(cs.EqualMass(15)))(sample)))
    assert (off["pvalue"] == 1 / 200).all()
    assert (off["error"] > off["noise"]).all()
    assert off["true_error"].item() == pytest.approx(
        float(OFF.truth(cs.ExpectedMiscalibration(cs.UniqueValues()))), rel=0.01
    )
    assert off["accuracy"].item() == np.mean(sample.predictions.chances.argmax(axis=1) == sample.outcomes)


def test_a_stored_simplex_diagram_is_drawn_as_it_was(off):
    sample = OFF.sample(study.MADE_ROWS, np.random.default_rng(0))
    lens = cs.Partition(study.default_groups(6))
    display = cs.SimplexDisplay.compute(sample, cs.SimplexGrid(5), lens=lens, n_resamples=199, rng=0)
    again = study._simplex(off, "grid of 5")
    assert again.mean_prediction == pytest.approx(display.mean_prediction)
    assert again.mean_outcome == pytest.approx(display.mean_outcome)
    assert again.n == study.MADE_ROWS
    assert again.outside.sum() > 10


def test_the_deviations_of_the_top_label_add_up_to_its_bias(off):
    sample = cs.TopLabel()(OFF.sample(study.MADE_ROWS, np.random.default_rng(0)))
    bias = np.mean(sample.outcomes == 1) - sample.predictions.event.mean()
    for name in study.ONE:
        cells = off.isel(cell=(off["binning"] == name).values)
        assert cells["proportion"].sum().item() == pytest.approx(1)
        assert (cells["proportion"] * cells["deviation"]).sum().item() == pytest.approx(bias)


@pytest.mark.parametrize(("n_classes", "lenses", "simplices"), [(2, 2, 0), (3, 3, 3), (4, 3, 3)])
def test_few_classes_need_no_groups(n_classes, lenses, simplices):
    found = study.Network("few", DirichletPredictions([1] * n_classes), None, 199)(np.random.default_rng(0))
    assert len(np.unique(found["lens"])) == lenses
    assert len(study._kinds(found)) == simplices
    study.Networks.figure({"network 1": found.expand_dims("repeat")})
    assert found["true_error"] == 0


def test_networks_of_a_file_are_shown_again(tmp_path, capsys, monkeypatch):
    sample = OFF.sample(400, 0)
    first = pd.DataFrame(sample.predictions.chances, columns=[f"one_{k}" for k in range(6)])
    bolder = sample.predictions.chances**2
    second = pd.DataFrame(bolder / bolder.sum(axis=1, keepdims=True), columns=[f"two_{k}" for k in range(6)])
    path = tmp_path / "networks.csv"
    pd.concat([first, second], axis=1).assign(happened=sample.outcomes).to_csv(path, index=False)
    given = ["networks", "--quick", "--out", str(tmp_path), "--predictions", str(path), "--label", "happened"]
    assert main(given) == 2
    assert capsys.readouterr().err == "simulations: error: --predictions needs --label and --models\n"
    asked = [*given, "--models", "one_*", "--groups", "0,1", "--groups", "2,3", "--groups", "4,5"]
    with monkeypatch.context() as patch:
        patch.setattr(study.Networks, "figure", lambda *_: plt.figure())  # what is stored is drawn below
        assert main(asked) == 0
    said = capsys.readouterr().out
    assert "one_* (400 rows" in said
    assert main([*asked, "--show"]) == 0
    assert capsys.readouterr().out == said
    both = study.Networks(str(path), "happened", ["one_*", "two_*"]).parts(Scale("quick"))
    assert [part.once.name for part in both.values()] == ["one_*", "two_*"]
