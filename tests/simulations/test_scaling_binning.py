"""True errors of fitted maps, the rows that are counted, and the theorems on samples small enough for a test."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import calibstat as cs
from calibstat.calibrators import HistogramBinning
from calibstat.generators import BetaPredictions, Recalibrated
from simulations import scaling_binning as study
from simulations.frame import Repeats

WORLD = study.WORLDS[study.INSIDE]


def test_the_error_by_cell_is_that_of_the_outputs_where_they_differ():
    fit = WORLD.sample(997, 1)
    histogram = HistogramBinning(cs.EqualMass(5)).fit(fit.predictions.event, fit.outcomes)
    assert len(np.unique(histogram.values_)) == 5
    by_cell = study.squared_by_cell(WORLD, histogram)
    assert by_cell == pytest.approx(float(Recalibrated(WORLD, histogram).truth(study.SQUARED)), rel=1e-6)


def test_outputs_that_agree_by_chance_hide_errors_of_their_cells():
    histogram = HistogramBinning(cs.EqualMass(2)).fit(np.array([0.1, 0.2, 0.7, 0.8]), np.array([0, 1, 1, 0]))
    assert histogram.values_.tolist() == [0.5, 0.5]
    low = 0.5 - study.squared_by_cell(BetaPredictions(1, 1), histogram) ** 0.5
    edge = float(histogram.edges_[1])
    assert low == pytest.approx(0.5 - np.sqrt(edge * (0.5 - edge / 2) ** 2 + (1 - edge) * (edge / 2) ** 2))
    assert float(Recalibrated(BetaPredictions(1, 1), histogram).truth(study.SQUARED)) == pytest.approx(0, abs=1e-12)


def test_rows_are_read_off_a_line_in_log_n():
    n = np.array([100, 400, 1600])
    assert study.crossing(n, np.array([0.0, 1.0, 2.0]), 0.5) == pytest.approx(200)
    assert study.crossing(n, np.array([0.0, 1.0, 2.0]), 2.0) == pytest.approx(1600)
    assert study.crossing(n, np.array([0.7, 1.0, 2.0]), 0.5) == 100
    assert np.isnan(study.crossing(n, np.array([0.0, 0.1, 0.2]), 0.5))


def test_powers_are_slopes_of_logarithms():
    bins = np.array([2, 8, 32])
    assert study.power_of_bins(bins, 7.0 * bins**0.5) == pytest.approx(0.5)
    assert study.power_of_bins(bins, np.array([3, 12, np.nan])) == pytest.approx(1)
    assert np.isnan(study.power_of_bins(bins, np.array([3, np.nan, np.nan])))


def test_standard_errors_come_from_resampled_repeats():
    values = xr.DataArray(np.random.default_rng(0).normal(size=400), dims="repeat")
    mean, error = study.with_error(values, lambda each: each.mean("repeat"))
    assert mean == values.mean()
    assert error == pytest.approx(1 / 20, rel=0.3)


def test_a_model_of_outputs_has_the_error_that_it_is_said_to_have():
    model = study.of_outputs(8, 0.1)
    assert float(model.truth(cs.SquaredCE(cs.UniqueValues()))) == pytest.approx(0.01)
    assert float(model.truth(cs.MeanCalibration())) == pytest.approx(0, abs=1e-12)


def test_the_masses_of_cells_are_those_between_their_edges():
    masses = study.masses_of(np.array([0.1, 0.2, 0.3, 0.9]), 2)
    assert masses == pytest.approx([0.25, 0.75])
    assert study.well_balanced(np.array([0.25, 0.75]))
    assert not study.well_balanced(np.array([0.24, 0.76]))
    assert not study.well_balanced(np.array([0.2, 0.7, 0.1]))


@pytest.mark.slow
def test_scaling_binning_has_less_error_than_histogram_binning_if_the_truth_is_in_the_family(tmp_path):
    """Kumar et al. (2019), Theorem 4.1 and Section 4.1: 1 / n and B / n."""
    part = Repeats(study.TrueErrors(study.WORLDS[study.INSIDE], (500,), (50,)), 8)
    squared = part.run(None, tmp_path / "part.nc")["squared"].isel(n=0, n_bins=0)
    gap = squared.sel(map=study.HISTOGRAM) - squared.sel(map=study.SCALING)
    assert gap.mean() > 4 * gap.std(ddof=1) / np.sqrt(8)
    assert (squared.sel(map=study.BY_CELL) >= squared.sel(map=study.HISTOGRAM) - 1e-9).all()


def test_the_debiased_estimator_tells_an_error_with_fewer_rows(tmp_path):
    found = Repeats(study.Verification(0.1, (2048,), (128,)), 40).run(None, tmp_path / "part.nc")["near"].mean("repeat")
    assert found.sel(estimator=study.DEBIASED).item() > 0.8
    assert found.sel(estimator=study.PLUGIN).item() < 0.2
