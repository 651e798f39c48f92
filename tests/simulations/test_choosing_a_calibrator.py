"""True errors of fitted maps, the counts of right and wrong picks, and what the study finds."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from scipy.integrate import quad
from scipy.special import expit, logit

import calibstat as cs
from calibstat import calibrators
from calibstat.generators import BetaPredictions, Recalibrated, Slope
from simulations import choosing_a_calibrator as study
from simulations.__main__ import main
from simulations.frame import Repeats, Scale

WORLD = BetaPredictions(1, 1, Slope(0.6))


def test_true_errors_of_a_fitted_map_are_integrals():
    fit = WORLD.sample(500, 0)
    platt = calibrators.Platt().fit(fit.predictions.event, fit.outcomes)

    def gap(p):
        return expit(0.6 * logit(p)) - platt.predict_proba(np.array([p]))[0, 1]

    errors = quad(lambda p: abs(gap(p)), 0, 1, limit=200)[0], quad(lambda p: gap(p) ** 2, 0, 1, limit=200)[0]
    assert study.true_errors(Recalibrated(WORLD, platt)) == pytest.approx(errors, rel=1e-6)


@pytest.mark.slow
def test_a_study_holds_the_true_errors_of_the_maps_that_it_fitted():
    found = study.FitAndJudge(WORLD, (500,))(np.random.default_rng(0))
    ece, squared = study.true_errors(WORLD)
    own = found.sel(calibrator=study.UNCALIBRATED)
    assert (own["true_ece"].item(), own["true_squared"].item()) == (ece, squared)
    assert (found["true_squared"] <= 1.01 * squared).sum() > 4  # most maps are better than none


def test_pairs_are_counted_by_hand():
    nan = np.nan
    found = xr.Dataset(
        {
            "true_squared": (("repeat", "calibrator"), [[1.0, 2.0, 3.0]]),
            "true_ece": (("repeat", "calibrator"), [[1.0, 3.0, 2.0]]),  # the last two the other way round
            "value": (("repeat", "n", "rule", "calibrator"), [[[[5.0, 4.0, 6.0], [1.0, 1.0, 2.0]]]]),
            # (better, worse): the first two are told apart wrongly, the first and the last rightly
            "pvalue": (
                ("repeat", "n", "calibrator", "other"),
                [[[[nan, nan, 0.01], [0.05, nan, 0.01], [nan, nan, nan]]]],
            ),
        },
        {"rule": ["one", "two"], "n": [100]},
    )
    counts = study.count(found)
    assert counts["left_out"].item() == 1
    assert counts["pairs"].values.ravel().tolist() == [2, 2, 2]
    assert counts["named"].values.ravel().tolist() == [2, 1, 2]  # the second rule ties the first two
    assert counts["wrong"].values.ravel().tolist() == [1, 0, 1]
    assert counts["decided"].values.ravel().tolist() == [2, 2, 2]
    assert counts["wrong_of_decided"].values.ravel().tolist() == [1, 0, 1]
    assert study.excess_of_the_first(found).values.ravel().tolist() == [1.0, 0.0]


def test_wrong_choices_are_told_of_the_pairs_that_the_test_decides():
    nan = np.nan
    found = xr.Dataset(
        {
            "true_squared": (("repeat", "calibrator"), [[1.0, 2.0, 3.0]]),
            "true_ece": (("repeat", "calibrator"), [[1.0, 2.0, 3.0]]),
            "value": (("repeat", "n", "rule", "calibrator"), [[[[3.0, 2.0, 1.0]]]]),  # every pair the wrong way round
            "pvalue": (
                ("repeat", "n", "calibrator", "other"),
                [[[[nan, 0.3, 0.01], [nan, nan, 0.06], [nan, nan, nan]]]],
            ),
        },
        {"rule": ["one"], "n": [100]},
    )
    own = study.count(found).isel(n=0)
    assert own["wrong"].values.tolist() == [3, 0]
    assert own["decided"].values.tolist() == [1, 1]
    assert own["wrong_of_decided"].values.tolist() == [1, 0]


def test_with_the_test_a_calibrator_is_kept_unless_a_better_one_is_shown():
    nan, kept = np.nan, "temperature"
    pvalue = np.full((2, 3, 3), nan)  # along n, (better, worse)
    pvalue[1, 2, 0], pvalue[1, 1, 0] = 0.04, 0.01
    found = xr.Dataset(
        {
            "true_squared": (("repeat", "calibrator"), [[5.0, 2.0, 1.0]]),
            "value": (("repeat", "n", "rule", "calibrator"), np.broadcast_to([3.0, 2.0, 1.0], (1, 2, 1, 3))),
            "pvalue": (("repeat", "n", "calibrator", "other"), pvalue[None]),
        },
        {"rule": ["debiased error"], "n": [100, 1000], "calibrator": [study.UNCALIBRATED, kept, "beta"]},
    )
    excess = study.excess_of_the_first(found.assign_coords(other=found["calibrator"].values)).isel(repeat=0)
    assert excess.sel(rule=f"test, else {study.UNCALIBRATED}").values.tolist() == [4.0, 0.0]
    assert excess.sel(rule=f"test, else {kept}").values.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("made", ["nothing", "words", "group"])
def test_a_file_that_cannot_be_read_is_refused_before_anything_runs(made, tmp_path, capsys):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "predictions.h5"
    if made == "words":
        path.write_text("a,b\n", encoding="utf-8")
    elif made == "group":
        with h5py.File(path, "w") as file:
            file["tabular/forest/probas_cal"] = [0.5]
    told = {"nothing": "is no file", "words": "is no HDF5 file", "group": "tabular/forest lacks labels_cal"}
    out = tmp_path / "out"
    assert main(["choosing_a_calibrator", "--quick", "--out", str(out), "--calarena", str(path)]) == 2
    assert told[made] in capsys.readouterr().err
    assert not out.exists()


def test_standard_errors_of_shares_are_those_between_repeats():
    """The truly better one has 1 for its error; a rule names the worse in the first repeat of three."""
    truth = np.tile([1.0, 2.0], (3, 1))
    value = np.array([[5.0, 4.0], [3.0, 4.0], [3.0, 4.0]])[:, None, None, :]
    found = xr.Dataset(
        {
            "true_squared": (("repeat", "calibrator"), truth),
            "true_ece": (("repeat", "calibrator"), truth),
            "value": (("repeat", "n", "rule", "calibrator"), value),
            "pvalue": (("repeat", "n", "calibrator", "other"), np.full((3, 1, 2, 2), np.nan)),
        },
        {"rule": ["one"], "n": [100]},
    )
    errors = study.standard_errors({"a": found})
    assert errors.sel(rule="one").item() == pytest.approx(100 * np.std([1, 0, 0], ddof=1) / np.sqrt(3))
    assert errors.sel(rule=study.TEST).item() == 0
    both = study.standard_errors({"a": found, "b": found})  # worlds differ from each other, which is no error
    assert both.sel(rule="one").item() == pytest.approx(errors.sel(rule="one").item() / np.sqrt(2))


def test_a_difference_that_is_seen_has_its_pvalue_at_the_better_one():
    test = WORLD.sample(3000, 1)
    p = test.predictions.event
    samples = {"wrong": test, "right": cs.Sample(test.outcomes, expit(0.6 * logit(p)))}
    found = study.judge(samples, np.random.default_rng(0))
    assert found["pvalue"].sel(calibrator="right", other="wrong") <= 0.01
    assert np.isnan(found["pvalue"].sel(calibrator="wrong", other="right"))
    assert (found["value"].idxmin("calibrator") == "right").all()


@pytest.mark.slow
def test_the_test_hardly_ever_names_the_worse_where_raw_ece_often_does():
    """By four standard errors of shares that come from 30 repeats of 28 dependent pairs."""
    once = study.FitAndJudge(WORLD, (1000,))
    streams = np.random.SeedSequence(1).spawn(30)
    found = xr.concat([once(np.random.default_rng(each)) for each in streams], "repeat")
    each = [study.count(found.isel(repeat=[r])) for r in range(30)]
    wrong = xr.concat([(one["wrong"] / one["pairs"]).isel(n=0) for one in each], "repeat")
    slack = 4 * wrong.std("repeat", ddof=1) / np.sqrt(30)
    tested = wrong.sel(rule=study.TEST)
    assert tested.mean() <= study.LEVEL / 2 + slack.sel(rule=study.TEST)
    gain = wrong.sel(rule="raw ECE, equal width") - tested
    assert gain.mean() > 4 * gain.std(ddof=1) / np.sqrt(30)


def test_a_file_of_real_predictions_is_judged_beside(tmp_path):
    h5py = pytest.importorskip("h5py")
    rng = np.random.default_rng(0)
    path = tmp_path / "predictions.h5"
    with h5py.File(path, "w") as file:
        for place, n_classes in (("tabular/forest", 2), ("images/net", 4)):
            for kind in ("cal", "test"):
                rows = rng.dirichlet(np.ones(n_classes), 250)
                sharp = rows**2 / (rows**2).sum(axis=1, keepdims=True)
                labels = (rng.random((250, 1)) > rows.cumsum(axis=1)).sum(axis=1).clip(0, n_classes - 1)
                file[f"{place}/probas_{kind}"], file[f"{place}/labels_{kind}"] = sharp, labels
    part = study.ChoosingACalibrator(calarena=str(path)).parts(Scale("quick"))["calarena"]
    found = part.run(None, tmp_path / "calarena.nc")
    assert list(found["model"].values) == ["images/net", "tabular/forest"]
    assert np.isnan(found["value"].sel(model="images/net", calibrator="Platt")).all()
    assert np.isfinite(found["value"].sel(model="tabular/forest", calibrator="Platt")).all()
    lines = study._of_a_file(found)
    assert lines[1].startswith("predictions.h5: 2 models, 64 pairs")
    assert isinstance(part, Repeats)
    counts = study.of_a_file(found)
    assert (counts["against"] <= counts["told"]).all()
    assert counts["told"].sel(model="tabular/forest") > 0
    figure, ax = plt.subplots()
    study._draw_a_file(ax, found)
    drawn = [[bar.get_width() for bar in bars] for bars in ax.containers]
    assert drawn == [counts[name].values.tolist() for name in ("pairs", "told", "against")]
    plt.close(figure)
