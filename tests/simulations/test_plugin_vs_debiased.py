"""Marginal errors, intervals in fixed cells, and the protocol on a file."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import calibstat as cs
from simulations import plugin_vs_debiased as study
from simulations.frame import Repeats
from simulations.predictions import PredictionsFile

SAMPLE = study.TEN_CLASSES.sample(4000, 0)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("predictions") / "ten.npz"
    np.savez(path, y=SAMPLE.outcomes, p=SAMPLE.predictions.chances)
    return PredictionsFile(str(path), "y", ("p",))


def test_the_marginal_error_of_ten_classes_is_nearly_that_of_the_mixture():
    """Of each class E (0.1 (0.1 - p))^2 = 0.01 var p = 0.0003, for p of mean 0.1 and variance 0.03."""
    many = study.marginal_limit(study.TEN_CLASSES, study.MANY)
    assert 0.99 * 3e-4 < many < 3e-4
    assert study.marginal_limit(study.TEN_CLASSES, study.FEW_OF_A_CLASS) < many


def test_the_debiased_marginal_error_is_nearer_to_its_limit(tmp_path):
    found = Repeats(study.MarginalErrors(study.TEN_CLASSES, (500, 2000)), 40).run(None, tmp_path / "part.nc")
    mse, error = study.mean_squared_error(found)
    assert (mse.sel(estimator="plug-in") - mse.sel(estimator="debiased") > 4 * error.sum("estimator")).all()
    bias = found["estimate"].mean("repeat").sel(estimator="debiased", n=2000) - found["limit"].isel(repeat=0)
    spread = found["estimate"].sel(estimator="debiased", n=2000).std("repeat", ddof=1) / np.sqrt(40)
    assert (abs(bias) < 4 * spread).all()


def test_rows_of_a_file_are_drawn_from_the_plug_in_of_all_of_it(file):
    limit = study.marginal_limit(file, 10)
    assert limit == pytest.approx(float(cs.EachClass(cs.SquaredCE(cs.EqualMass(10)))(SAMPLE)))
    found = study.MarginalErrors(file, (300, 600), (10,))(np.random.default_rng(0))
    assert found["estimate"].shape == (2, 2, 1)
    assert found["limit"].item() == limit


def test_cells_have_equal_mass_and_ties_leave_fewer():
    assert study.edges_of(np.linspace(0.5, 1, 101), 2).edges == (0, 0.75, 1)
    assert study.edges_of(np.array([0.6] * 51 + [1.0] * 49), 4).edges == (0, 0.6, 1)


def test_the_interval_of_the_authors_is_a_pivot():
    sample = cs.TopLabel()(SAMPLE)
    estimator = cs.SquaredCE(cs.FixedEdges([0, 0.5, 1]))
    low, middle, high = study.pivot(sample, estimator, np.random.default_rng(3))
    drawn = cs.Bootstrap(1000).replicates(estimator, sample, rng=np.random.default_rng(3))
    value = float(estimator(sample))
    assert (low, middle, high) == pytest.approx(tuple(2 * value - np.quantile(drawn, [0.95, 0.5, 0.05])))


@pytest.mark.slow
def test_total_variance_intervals_hold_the_error_of_the_cells(tmp_path):
    found = Repeats(study.Intervals(study.MODELS["far off"], 1000), 100).run(None, tmp_path / "part.nc")
    held = study.coverage(found).sel(kind="total variance").mean("repeat")
    assert (held > 0.9 - 4 * np.sqrt(0.09 / 100)).all()


def test_two_cells_see_less_than_the_whole_error():
    found = study.Intervals(study.MODELS["far off"], 1000)(np.random.default_rng(0))
    assert (found["limit"] <= found["truth"] + 1e-12).all()
    assert found["limit"].sel(n_bins=2).mean() < 0.9 * found["truth"].mean()


def test_coverage_by_hand():
    found = xr.Dataset({"interval": (("kind", "end"), [[0.1, 0.2], [0.3, 0.4]]), "limit": 0.15})
    found = found.assign_coords(kind=["bootstrap", "total variance"], end=["low", "high"])
    assert study.coverage(found).values.tolist() == [True, False]


def test_figure_2_of_a_file(file):
    found = study.FigureTwo(file)(np.random.default_rng(0))
    ends = found["interval"].sel(kind="bootstrap")
    assert (ends.sel(end="low") <= found["middle"]).all()
    assert (found["middle"] <= ends.sel(end="high")).all()
    with pytest.raises(ValueError, match="4000 rows, but Figure 2 needs 8000"):
        study.FigureTwo(file, 2000)(np.random.default_rng(0))
