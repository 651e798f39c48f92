"""The studies meet what is known."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.sweeps.sweep import Sweep
from simulations import gaussian_mixture, null_size, plugin_vs_debiased
from simulations.frame import Scale

QUICK = Scale("quick")

# Mean and standard deviation of 3000 estimates with bins of equal width, from an independent program; by model and n,
# for 5, 10, 50, 100 bins.
TABLE = {
    ("(0, -2), calibrated", 100): [(0.0597, 0.020), (0.0844, 0.020), (0.1674, 0.020), (0.1928, 0.022)],
    ("(0, -2), calibrated", 1000): [(0.0190, 0.0065), (0.0268, 0.0065), (0.0594, 0.0064), (0.0836, 0.0062)],
    ("(0, 0), calibrated", 100): [(0.0401, None)] * 4,
    ("(0, 0), calibrated", 1000): [(0.0126, None)] * 4,
    ("(1, 1)", 100): [(0.5550, 0.045), (0.5695, 0.042), (0.6009, 0.039), (0.6234, 0.035)],
    ("(1, 1)", 1000): [(0.5530, 0.014), (0.5602, 0.014), (0.5674, 0.013), (0.5713, 0.013)],
    ("(0, -2), calibrated", 10_000): [(0.0060, 0.0020), (0.0085, 0.0020), (0.0188, 0.0020), (0.0266, 0.0020)],
    ("(1, 1)", 10_000): [(0.5532, 0.0045), (0.5585, 0.0045), (0.5641, 0.0044), (0.5646, 0.0044)],
}
# The first limit of Theorem 2 for the model (1, 1), by quadrature.
LIMITS = {5: 0.55307563, 10: 0.55835667, 50: 0.56374929, 100: 0.56374929}


@pytest.fixture(scope="module")
def mixture():
    return gaussian_mixture.GaussianMixtureStudy().parts(QUICK)["estimates"].run(progress=False)


def test_means_and_standard_deviations_on_the_gaussian_mixture(mixture):
    meets_the_table(mixture["estimate"].sel(estimator="equal width"), mixture["n"].values)


@pytest.mark.slow
@pytest.mark.parametrize(("draws", "sizes"), [("sorted", [100, 1000]), ("cells", [1000, 10_000])])
def test_means_and_standard_deviations_of_3000_estimates(draws, sizes):
    """The whole table but the constant model, whose predictions have no density; as many repeats as it has."""
    models = {name: model for name, model in gaussian_mixture.MODELS.items() if model.beta1}
    swept = {"equal width": gaussian_mixture.equal_width}
    sweep = Sweep(models, n=sizes, n_bins=[5, 10, 50, 100], estimators=swept, n_repeats=3000, rng=7, draws=draws)
    meets_the_table(sweep.run(progress=False)["estimate"].sel(estimator="equal width"), sizes)


def test_the_constant_model_in_closed_form_by_vaicenavicius_2019_section_5_1(mixture):
    """The mean of |k / n - 1/2| for k events of n, each with chance 1/2."""
    values = mixture["estimate"].sel(model="(0, 0), calibrated", estimator="equal width", n_bins=5)
    for n, mean in ((100, 0.0397946187), (1000, 0.0126125091)):
        own = values.sel(n=n)
        assert abs(own.mean().item() - mean) < 4 * own.std(ddof=1).item() / np.sqrt(own.size)


def meets_the_table(values, sizes):
    """By four joint standard errors of two simulations, and rounding of the table."""
    repeats = values.sizes["repeat"]
    rows = {key: row for key, row in TABLE.items() if key[0] in values["model"].values and key[1] in sizes}
    assert rows
    for (model, n), row in rows.items():
        for n_bins, (mean, sd) in zip((5, 10, 50, 100), row, strict=True):
            own = values.sel(model=model, n=n, n_bins=n_bins)
            spread = own.std(ddof=1).item()
            error = spread * np.sqrt(1 / repeats + 1 / 3000)
            assert abs(own.mean().item() - mean) < 4 * error + 5e-5, (model, n, n_bins)
            if sd is not None:
                assert abs(spread - sd) < 4 * sd * np.sqrt(1 / (2 * repeats) + 1 / 6000) + 0.0005, (model, n, n_bins)


def test_limits_of_vaicenavicius_2019_theorem_2(mixture):
    limits = mixture["limit"].sel(model="(1, 1)", estimator="equal width")
    assert limits.values == pytest.approx([LIMITS[n_bins] for n_bins in limits["n_bins"].values], abs=5e-9)
    assert (limits <= mixture["truth"].sel(model="(1, 1)", estimator="equal width") + 1e-12).all()


def test_debiasing_lowers_the_mean_squared_error_and_flattens_the_curve():
    parts = plugin_vs_debiased.PluginVsDebiased().parts(QUICK)
    found = {name: parts[name].run(progress=False) for name in ("n", "bins")}
    mse, error = plugin_vs_debiased.mean_squared_error(found["n"])
    many = mse.sel(n_bins=plugin_vs_debiased.MANY, model="slightly off")
    gain = many.sel(estimator="plug-in") - many.sel(estimator="debiased")
    slack = error.sel(n_bins=plugin_vs_debiased.MANY, model="slightly off").sum("estimator")
    assert (gain > 4 * slack).all()
    means = found["bins"]["estimate"].mean("repeat").isel(n=0).sel(model="far off")
    rise = means.sel(n_bins=128) / means.sel(n_bins=16)
    assert rise.sel(estimator="plug-in") > 1.3
    assert abs(rise.sel(estimator="debiased") - 1) < 0.1


def test_a_predictions_file_is_a_population(tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.random(300)
    sample = cs.Sample((rng.random(300) < scores**2).astype(int), scores)
    model = plugin_vs_debiased.models_of(sample)["file"]
    for n_bins in (2, 15):
        estimator = plugin_vs_debiased.plugin(n_bins)
        assert model.limit(estimator).value == pytest.approx(estimator(sample), rel=1e-9)


def test_the_view_of_the_evidence_finds_a_broken_promise(tmp_path):
    head = "world,n,subject,method,runs,count,at_most,at_least,seed\n"
    (tmp_path / "size.csv").write_text(head + "u,100,ECE,good,1000,59,0.05,nan,1\nu,100,ECE,bad,1000,90,0.05,nan,1\n")
    (tmp_path / "coverage.csv").write_text(head + "u,100,ECE,default,200,170,nan,0.95,1\n")
    (tmp_path / "omnibus.csv").write_text(head + '"u, Identity()",500,panel,omnibus,1000,49,0.05,nan,1\n')
    study = null_size.NullSize(evidence=str(tmp_path))
    found = study.run(QUICK, tmp_path / "kept")
    assert study.text(found).startswith("Of 4 promised sizes and coverages 2 are broken")
    assert "size 1 of 2, coverage 1 of 1, omnibus 0 of 1" in study.text(found)


def test_bias_grows_with_the_root_of_bins_over_rows_and_the_standard_deviation_with_the_rows_alone(mixture):
    """Vaicenavicius et al. (2019), Appendix C; powers of two n from 200 repeats each are known to a few hundredths."""
    own = cs.summarise(mixture).sel(estimator="equal width", model=gaussian_mixture.CALIBRATED)
    bias, spread = gaussian_mixture.rates(own)
    assert bias == pytest.approx([-0.5, 0.5], abs=0.1)
    assert spread == pytest.approx([-0.5, 0], abs=0.1)


def test_deviations_of_a_diagram_lie_about_the_true_ones():
    found = gaussian_mixture.Diagrams(10_000, 15)(np.random.default_rng(0))
    for model in gaussian_mixture.MODELS:
        for binning in ("equal width", "equal mass", "tree"):
            kept = ((found["model"] == model) & (found["binning"] == binning)).values
            cells = found.isel(cell=kept)
            assert cells["proportion"].sum().item() == pytest.approx(1)
            if model == "(0, 0), calibrated":
                assert cells.sizes["cell"] == 1
            else:
                true = np.interp(cells["mean_prediction"], found["grid"], found["true_deviation"].sel(of=model))
                assert (cells["proportion"] * np.abs(cells["deviation"] - true)).sum() < 0.03
            inside = (cells["low"] <= cells["deviation"]) & (cells["deviation"] <= cells["high"])
            share = float((cells["proportion"] * inside).sum())
            assert share < 0.3 if model == "(1, 1)" else share > 0.6


def test_three_classes_have_a_truth_that_the_grid_nears_from_above():
    parts = gaussian_mixture.GaussianMixtureStudy().parts(QUICK)
    three = cs.summarise(parts["three"].run(progress=False)).sel(estimator="grid", n_bins=5)
    off = three.sel(model="three classes, off")
    assert off["truth"].item() == pytest.approx(4 / 27, abs=1e-9)
    assert (three["bias"] > 4 * three["bias_se"]).all()
    assert (three["bias"].sel(n=1000) < three["bias"].sel(n=100)).all()
