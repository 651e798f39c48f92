"""Known chances and true errors of the classes, and what is judged where training stops."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy.stats import multivariate_normal

import calibstat as cs
from simulations import training_curve as study
from simulations.frame import Repeats, Scale

SOURCE = study.GaussianClasses(0.6, 4000)


class Says:
    """A network that says what a function of the features does."""

    def __init__(self, function):
        self.predict_proba = function


def test_chances_are_those_of_bayes_and_labels_follow_them():
    features, labels = SOURCE.draw(5000, np.random.default_rng(0))
    chances = SOURCE.chances(features)
    densities = np.column_stack([multivariate_normal(centre).pdf(features[:20]) for centre in SOURCE.centres])
    assert np.allclose(chances[:20], densities / densities.sum(axis=1, keepdims=True), atol=1e-12)
    residuals = np.eye(study.N_CLASSES)[labels] - chances
    assert (np.abs(residuals.mean(axis=0)) < 4 * residuals.std(axis=0) / np.sqrt(5000)).all()


def test_the_true_error_of_what_is_right_is_zero_and_of_a_constant_its_distance():
    features, _ = SOURCE.draw(20_000, np.random.default_rng(0))
    chances = SOURCE.chances(features)
    value, error = study.true_error(Says(SOURCE.chances), features, chances)
    assert value == pytest.approx(0, abs=1e-12)
    assert error == 0
    constant = np.full(study.N_CLASSES, 0.3 / 9)
    constant[0] = 0.7
    value, error = study.true_error(Says(lambda X: np.tile(constant, (len(X), 1))), features, chances)
    assert value == pytest.approx(0.7 - chances[:, 0].mean(), abs=1e-12)
    assert error == pytest.approx(chances[:, 0].std() * np.sqrt(15 / 20_000 * 2 / np.pi), rel=1e-9)


def test_where_the_true_error_is_zero_noise_gives_what_is_said():
    """A network whose confidence is right on average, and tells nothing: the true error is 0."""
    rng = np.random.default_rng(0)
    right = rng.uniform(0.3, 0.7, 5000)
    chances = np.column_stack([right, 1 - right])
    confidence = rng.uniform(0.501, 0.502, 5000)  # of the first class, which happens in half of all rows
    said = np.column_stack([confidence, 1 - confidence])
    value, error = study.true_error(Says(lambda _: said), np.zeros((5000, 1)), chances)
    assert 0.2 * error < value < 2 * error


def test_true_errors_agree_with_labels():
    """The ECE of very many labels is the true error, up to noise."""
    network = Says(lambda X: SOURCE.chances(X) ** 2 / (SOURCE.chances(X) ** 2).sum(axis=1, keepdims=True))
    rng = np.random.default_rng(0)
    features, labels = SOURCE.draw(100_000, rng)
    seen = (cs.TopLabel() | cs.ECE(cs.EqualMass(15)))(study.sample_of(network, features, labels))
    value, _ = study.true_error(network, features, SOURCE.chances(features))
    assert value > 0.05
    assert seen == pytest.approx(value, abs=4 * 0.5 / np.sqrt(100_000))


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(study, "STEPS", (1, 2, 4))
    monkeypatch.setattr(study, "TRAINED_ROWS", 300)
    monkeypatch.setattr(study, "JUDGED_ROWS", 900)
    monkeypatch.setattr(study, "FEWER_ROWS", (100, 800))


def test_the_step_is_chosen_by_other_rows_and_judged_there(small):
    found = study.Train(SOURCE, initialisations=2)(np.random.default_rng(0))
    assert dict(found.sizes) == {"run": 2, "step": 3, "estimator": 2, "rows": 3}
    assert (found["best"] == found["log_loss"].idxmin("step")).all()
    assert np.allclose(found["stopped_pvalue"].sel(rows=900), found["pvalue"].sel(step=found["best"]))
    judged = found.sel(step=4, estimator=study.TOP)
    assert (np.abs(judged["value"] - judged["truth"]) < 0.15).all()
    assert not np.allclose(found["value"].isel(run=0), found["value"].isel(run=1))


def test_digits_are_dealt_without_repeats_and_have_no_truth(small):
    rows = study.Digits().rows(np.random.default_rng(0))
    assert [len(each[1]) for each in rows[:3]] == [600, 397, 800]
    assert rows.known is None
    found = study.Train(study.Digits(), initialisations=1)(np.random.default_rng(0))
    assert found["truth"].isnull().all()
    assert found["rows"].values.tolist() == [100, 800]


def test_text_and_figure_come_from_what_is_stored(small, tmp_path):
    parts = study.TrainingCurve().parts(Scale("quick"))
    found = {
        name: Repeats(study.Train(part.once.source, 1), 2).run(None, tmp_path / f"{name}.nc")
        for name, part in parts.items()
    }
    text = study.TrainingCurve.text(found)
    assert text.startswith("With 900 labels the network of the lowest log loss is rejected")
    assert "digits: 2 runs" in text
    assert len(study.TrainingCurve.figure(found).axes) == 13


def test_shares_of_runs_and_their_errors_by_hand():
    pvalues = np.array([[0.01, 0.5], [0.05, 0.02], [0.3, 0.2]])[:, :, None, None]
    dims = ("repeat", "run", "rows", "estimator")
    found = study.rejections(xr.Dataset({"stopped_pvalue": (dims, pvalues)}))
    assert found["share"].item() == pytest.approx(0.5)
    assert found["error"].item() == pytest.approx(0.5 / np.sqrt(3))
