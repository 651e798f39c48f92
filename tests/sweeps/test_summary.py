from __future__ import annotations

import json
import re

import numpy as np
import pytest
import xarray as xr

import calibstat as cs
from calibstat.generators import GaussianMixture
from calibstat.sweeps.store import read
from calibstat.sweeps.summary import summarise
from calibstat.sweeps.sweep import Sweep

LEVEL = 0.1


@pytest.fixture(scope="module")
def found():
    def interval(sample, estimator, rng):
        value = estimator(sample)
        return value - 0.03, value + 0.03

    models = {"calibrated": GaussianMixture(0, -2), "off": GaussianMixture(1, 1)}
    return Sweep(
        models,
        n=[100, 400],
        n_bins=[4, 8],
        estimators={"ECE": lambda b: cs.ECE(cs.EqualWidth(b)), "signed": lambda b: lambda y, p: (y - p).mean()},
        tests={"ECE": lambda b: (cs.ECE(cs.EqualMass(b)), cs.Consistency(19))},
        interval=interval,
        n_repeats=40,
        rng=3,
    ).run(block=40, progress=False)


AT = {"model": "off", "n": 100, "n_bins": 8}


def test_estimates_by_hand(found):
    summary = summarise(found, LEVEL).sel(AT)
    values = found["estimate"].sel(AT | {"estimator": "ECE"}).values
    truth = found["truth"].sel(model="off", n_bins=8, estimator="ECE").item()
    own = summary.sel(estimator="ECE")
    squares = (values - truth) ** 2
    deviations = (values - values.mean()) ** 2
    assert own["mean"].item() == pytest.approx(values.mean())
    assert own["bias"].item() == pytest.approx(values.mean() - truth)
    assert own["bias_se"].item() == pytest.approx(values.std(ddof=1) / np.sqrt(40))
    assert own["variance"].item() == pytest.approx(values.var(ddof=1))
    assert own["variance_se"].item() == pytest.approx(deviations.std(ddof=1) / np.sqrt(40))
    assert own["mse"].item() == pytest.approx(squares.mean())
    assert own["mse_se"].item() == pytest.approx(squares.std(ddof=1) / np.sqrt(40))
    assert own["n_estimates"].item() == 40


def test_mse_is_variance_and_squared_bias(found):
    own = summarise(found).sel(estimator="ECE")
    assert np.allclose(own["mse"], own["bias"] ** 2 + own["variance"] * 39 / 40)


def test_without_a_truth_there_is_no_bias(found):
    own = summarise(found).sel(estimator="signed")
    assert np.isfinite(own["mean"]).all()
    assert np.isfinite(own["variance"]).all()
    for name in ("bias", "bias_se", "mse", "mse_se", "coverage"):
        assert np.isnan(own[name]).all(), name


def test_intervals_by_hand(found):
    own = summarise(found).sel(AT | {"estimator": "ECE"})
    values, truth = found["estimate"].sel(AT | {"estimator": "ECE"}).values, own["truth"].item()
    share = np.mean(np.abs(values - truth) <= 0.03)
    assert 0 < share < 1
    assert own["coverage"].item() == share
    assert own["coverage_se"].item() == pytest.approx(np.sqrt(share * (1 - share) / 40))


@pytest.mark.slow
def test_coverage_of_estimates_where_nothing_is_wrong():
    """The 90 % intervals of `estimate` for the ECE of a calibrated model, 150 samples; four standard errors.

    Plug-in estimates divided by ten, with intervals to match, must be seen not to cover.
    """
    model, estimator = GaussianMixture(0, -2), cs.ECE(cs.EqualMass(5))

    def interval(sample, thing, rng):
        return cs.estimate(sample, thing, confidence_level=0.9, n_resamples=99, rng=rng).confidence_interval

    def too_narrow(sample, thing, rng):
        low, high = interval(sample, thing, rng)
        return thing(sample) + 0.1 * (low - thing(sample)), thing(sample) + 0.1 * (high - thing(sample))

    def coverage(ends):
        sweep = Sweep(model, n=[300], estimators={"ECE": estimator}, interval=ends, n_repeats=150, rng=4)
        summary = summarise(sweep.run(progress=False)).squeeze()
        assert summary["n_intervals"] == 150
        share = summary["coverage"].item()
        assert summary["coverage_se"].item() == pytest.approx(np.sqrt(share * (1 - share) / 150))
        return share

    slack = 4 * np.sqrt(0.9 * 0.1 / 150)
    assert coverage(interval) >= 0.9 - slack
    assert coverage(too_narrow) < 0.9 - slack


def test_rejections_are_size_or_power(found):
    summary = summarise(found, LEVEL)
    expected = (found["pvalue"] <= LEVEL + 1e-9).mean("repeat")
    assert np.array_equal(summary["rejection"], expected)
    assert np.array_equal(summary["size"].sel(model="calibrated"), expected.sel(model="calibrated"))
    assert np.array_equal(summary["power"].sel(model="off"), expected.sel(model="off"))
    assert summary["size"].sel(model="off").isnull().all()
    assert summary["power"].sel(model="calibrated").isnull().all()
    assert (summary["power"].sel(model="off") > 0.9).all()
    # 16 sizes, from 160 samples: four standard errors
    assert abs(summary["size"].mean() - LEVEL) < 4 * np.sqrt(LEVEL * 0.9 / 80)


def test_failures_are_counted_and_left_out(found):
    broken = found.copy(deep=True)
    broken["estimate"][0, 0, 0, 0, :10] = np.nan
    broken["status"][0, 0, 0] = 2
    broken["error"][0, 0, 0] = "repeat 0: ValueError: on purpose"
    summary = summarise(broken)
    assert summary["n_estimates"].values[0, 0, 0, 0] == 30
    rest = found["estimate"].values[0, 0, 0, 0, 10:]
    assert summary["mean"].values[0, 0, 0, 0] == pytest.approx(rest.mean())
    assert (summary.attrs["n_failed"], summary.attrs["n_done"]) == (1, [0, 40])
    assert "n_done" not in summarise(found).attrs
    assert summary.attrs["errors"] == "ValueError: on purpose"


def test_a_summary_of_lazy_values_is_the_same(found):
    xr.testing.assert_identical(summarise(found).drop_attrs(), summarise(found.chunk()).drop_attrs())


def test_levels_are_checked(found):
    with pytest.raises(ValueError, match="between 0 and 1"):
        summarise(found, 5)


# Names of studies are data: JSON can hold them


def test_the_design_is_json(found):
    assert json.loads(found.attrs["design"])["n"] == [100, 400]


@pytest.mark.parametrize("given", [3, None, {"estimate": 1}])
def test_something_else_than_a_sweep_is_refused(given):
    with pytest.raises(TypeError, match=r"pass what Sweep.run returned"):
        summarise(given)


def test_a_store_of_several_models_is_summarised_as_in_memory(tmp_path):
    models = {"calibrated": GaussianMixture(0, -2), "off": GaussianMixture(1, 1)}
    sweep = Sweep(models, n=[20, 40], estimators={"ECE": cs.ECE(cs.EqualWidth(3))}, n_repeats=4, rng=0)
    stored = sweep.run(store=tmp_path / "s.zarr", progress=False, block=2)
    xr.testing.assert_allclose(summarise(stored), summarise(sweep.run(progress=False)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda kept: kept.drop_vars("truth"), "it lacks truth"),
        (lambda kept: kept.drop_vars(["estimate", "pvalue"]), "it has neither estimates nor p-values"),
        (lambda kept: kept.isel(repeat=0), "estimate is of float64 along model, estimator, n, n_bins"),
        (lambda kept: kept.isel(model=[]), "it has no model"),
        (lambda kept: kept.assign_attrs(design="["), "its design is no JSON"),
        (lambda kept: kept.assign_attrs(design="[]"), "its design is no JSON object"),
        (lambda kept: kept.assign_attrs(design='{"estimators": 3}'), "its design does not list estimators and tests"),
    ],
)
def test_a_netcdf_file_of_half_a_sweep_is_refused_by_name(found, tmp_path, change, words):
    change(found).to_netcdf(tmp_path / "half.nc", engine="scipy")
    with pytest.raises(ValueError, match=r"half\.nc is no whole result of a sweep: " + re.escape(words)):
        read(tmp_path / "half.nc")
