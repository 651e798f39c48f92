"""Pictures of sweeps: curves, their bands, truths and limits, and which shares are more than noise."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib import pyplot as plt

import calibstat as cs
from calibstat.generators import GaussianMixture
from displays.rendered import assert_readable

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def summary():
    """Random numbers in the shape of a real summary, which `test_a_real_sweep_can_be_drawn` holds against a sweep."""
    rng = np.random.default_rng(0)
    sizes = {"model": ["calibrated", "off"], "estimator": ["ECE", "debiased"], "test": ["ECE", "Kuiper"]}
    sizes |= {"n": [100, 400, 1600], "n_bins": [5, 15]}

    def variable(*dims):
        return dims, rng.uniform(0.01, 0.1, [len(sizes[dim]) for dim in dims])

    of_estimates, of_tests = ("model", "estimator", "n", "n_bins"), ("model", "test", "n", "n_bins")
    found = {
        name: variable(*of_estimates) for each in ("mean", "bias", "variance", "mse") for name in (each, f"{each}_se")
    }
    found |= {name: variable(*of_tests) for each in ("size", "power", "rejection") for name in (each, f"{each}_se")}
    found |= {name: variable("model", "estimator", "n_bins") for name in ("truth", "limit")}
    found["size"][1][1] = np.nan
    found["size"][1][0, 1, :, 0] = [0.04, 0.06, 0.12]
    found["power"][1][0] = np.nan
    counts = {"n_estimates": of_estimates, "n_pvalues": of_tests}
    found |= {name: (dims, np.full([len(sizes[dim]) for dim in dims], 200)) for name, dims in counts.items()}
    return xr.Dataset(found, sizes, {"level": 0.05})


def test_a_curve_is_a_row_of_the_summary_with_its_band(summary):
    display = cs.SweepDisplay.from_result(summary, "bias", where={"model": "off", "n_bins": 15})
    assert display.names == ("ECE", "debiased")
    for name, line, band in zip(display.names, display.lines_, display.bands_, strict=True):
        place = {"model": "off", "n_bins": 15, "estimator": name}
        value, error = (summary[each].sel(place).values for each in ("bias", "bias_se"))
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([[100, 400, 1600], value]))
        ends = band.get_paths()[0].vertices[:, 1]
        assert ends.max() == pytest.approx((value + 1.959964 * error).max())
        assert ends.min() == pytest.approx((value - 1.959964 * error).min())
    limits = (summary["limit"] - summary["truth"]).sel(model="off", n_bins=15).values
    assert [line.get_ydata()[0] for line in display.limit_] == pytest.approx(limits)


def test_a_mean_stands_beside_truth_and_limit(summary):
    display = cs.SweepDisplay.from_result(summary, "mean", along="n_bins", where={"model": "off", "n": 400})
    for name, truth, limit in zip(display.names, display.truth_, display.limit_, strict=True):
        place = {"model": "off", "estimator": name}
        np.testing.assert_array_equal(truth.get_ydata(), summary["truth"].sel(place).values)
        np.testing.assert_array_equal(limit.get_ydata(), summary["limit"].sel(place).values)


def test_sizes_more_than_noise_above_the_level_are_marked(summary):
    display = cs.SweepDisplay.from_result(summary, "size", where={"n_bins": 5}, name="Tests")
    assert display.names == ("ECE", "Kuiper")  # of the calibrated model, the only one with a size
    assert display.reference == 0.05
    # scipy.stats.binom.interval(0.95, 200, 0.05) is (4, 16)
    assert display._noise == (4 / 200, 16 / 200)
    marked = display.above_.get_xydata().tolist()
    assert [1600.0, 0.12] in marked
    assert [400.0, 0.06] not in marked
    assert len(marked) == (display.values > 16 / 200).sum()
    assert_readable(display.figure_)


def test_the_answer_names_the_best_at_the_last_place(summary):
    display = cs.SweepDisplay.compute(summary, "mse", where={"model": "off", "n_bins": 5})
    best = display.names[int(display.values[:, -1].argmin())]
    assert display._answer[0].startswith(f"least at n = 1,600: {best}, ")


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"measure": "skill"}, ValueError, "measure is 'skill'"),
        ({"measure": "coverage"}, ValueError, "holds no coverage"),
        ({"where": {"model": "other"}}, ValueError, "where is"),
        ({"along": "model"}, ValueError, "'n' or 'n_bins' is expected"),
        ({"measure": "power", "where": {"model": "calibrated"}}, ValueError, "has no value anywhere"),
    ],
)
def test_bad_choices_are_refused(summary, arguments, kind, words):
    with pytest.raises(kind, match=words):
        cs.SweepDisplay.compute(summary, **arguments)


def test_too_many_curves_are_refused(summary):
    many = xr.concat([summary.assign_coords(n_bins=[k, k + 1]) for k in (20, 30, 40)], "n_bins")
    with pytest.raises(ValueError, match=r"24 curves.*choose some by where"):
        cs.SweepDisplay.compute(many, "bias")


def test_a_run_that_is_not_summarised_is_refused(summary):
    with pytest.raises(TypeError, match="summarise"):
        cs.SweepDisplay.from_result(summary[["truth"]])


@pytest.mark.slow
@pytest.mark.parametrize("size", [(3.3, 4.2), (10.0, 6.0)])
@pytest.mark.parametrize("measure", ["mean", "bias", "variance", "mse", "rejection", "size", "power"])
def test_a_real_sweep_can_be_drawn(measure, size):
    sweep = cs.Sweep(
        {"calibrated": GaussianMixture(0, -2), "a model with a long name that is off": GaussianMixture(0.3, -1.5)},
        n=[100, 400],
        estimators={"ECE": cs.ECE(cs.EqualWidth(10)), "debiased": cs.DebiasedL2(cs.EqualWidth(10))},
        tests={"Kuiper": cs.Kuiper()},
        n_repeats=10,
        rng=0,
    )
    _, ax = plt.subplots(figsize=size, layout="constrained")
    display = cs.SweepDisplay.from_result(cs.summarise(sweep.run(progress=False)), measure, ax=ax, name="A sweep")
    assert_readable(display.figure_)
