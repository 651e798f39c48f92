from __future__ import annotations

import io
import re
import sys
import time
import warnings
from zlib import crc32

import numpy as np
import pytest
import threadpoolctl

import calibstat as cs
from calibstat.cli.summarise import show_summary
from calibstat.generators import (
    BetaPredictions,
    ClippedTails,
    DirichletPredictions,
    FinitePredictions,
    GaussianMixture,
    PairSwap,
    TemperatureShift,
)
from calibstat.sweeps._draws import Cuts, RepeatData
from calibstat.sweeps._grid import shares_the_sort
from calibstat.sweeps._large_samples import value_and_error
from calibstat.sweeps.schedule import connected
from calibstat.sweeps.store import true_values
from calibstat.sweeps.sweep import Sweep
from sweeps.comparing import assert_same_bits
from sweeps.slow_study import make

CALIBRATED = GaussianMixture(0, -2)


@pytest.fixture(scope="module")
def found():
    return make().run(progress=False)


def test_dimensions_and_coordinates(found):
    sizes = {"model": 2, "estimator": 2, "n": 2, "n_bins": 2, "repeat": 12}
    assert dict(found["estimate"].sizes) == sizes
    assert found["pvalue"].dims == ("model", "test", "n", "n_bins", "repeat")
    assert found["model"].values.tolist() == ["calibrated", "off"]
    assert found["n"].values.tolist() == [40, 90]
    assert found["n_bins"].values.tolist() == [3, 6]
    assert all(found[name].attrs["long_name"] for name in found.variables)
    assert np.isfinite(found["estimate"]).all()
    assert ((found["pvalue"] >= 1 / 20) & (found["pvalue"] <= 1)).all()


def test_provenance(found):
    assert {"title", "method", "design", "seed", "created", "versions"} <= set(found.attrs)
    assert f"calibstat {cs.__version__}" in found.attrs["versions"]


def test_values_are_those_of_the_estimators_on_the_same_samples(found):
    study = make().study
    for n in (40, 90):
        sample = study.draw("off", n, 3).sample
        for n_bins in (3, 6):
            at = {"model": "off", "n": n, "n_bins": n_bins, "repeat": 3}
            value = found["estimate"].sel(at | {"estimator": "ECE"}).item()
            assert value == pytest.approx(cs.ECE(cs.EqualMass(n_bins))(sample), rel=1e-12)
            assert found["estimate"].sel(at | {"estimator": "mean"}).item() == sample.outcomes.mean()


def test_truths_and_limits(found):
    model = GaussianMixture(1, 1)
    assert found["truth"].sel(model="off", estimator="ECE", n_bins=3).item() == float(model.truth(cs.ECE()))
    limit = Sweep(model, n=[10], estimators={"ECE": cs.ECE(cs.EqualWidth(2))}, n_repeats=1, rng=0)
    limit = limit.run(progress=False, block=1)
    assert limit["limit"].item() == pytest.approx(0.50034612)
    assert found["miscalibration"].sel(model="calibrated").max() < 1e-12
    assert found["miscalibration"].sel(model="off").min() > 0.5
    assert np.isnan(found["truth"].sel(estimator="mean")).all()
    assert "not known" in found["truth"].attrs["unknown"]


@pytest.mark.parametrize("block", [1, 5, 12])
def test_blocks_change_nothing(found, block):
    assert_same_bits(found, make().run(progress=False, block=block))


def test_another_seed_changes_everything(found):
    other = make(seed=6).run(progress=False, block=6)
    assert (other["estimate"].sel(estimator="ECE") != found["estimate"].sel(estimator="ECE")).all()


def test_generators_work_as_seeds(found):
    assert_same_bits(found, make(seed=cs.as_generator(5)).run(progress=False, block=6))


def test_a_larger_grid_keeps_the_numbers_of_a_smaller(found):
    larger = make(n=[20, 40, 90], n_bins=[3, 4, 6], n_repeats=15).run(progress=False, block=5)
    part = larger.sel(n=[40, 90], n_bins=[3, 6], repeat=range(12))
    assert_same_bits(found[["estimate", "pvalue"]], part[["estimate", "pvalue"]])


def test_repeats_are_different_samples(found):
    values = found["estimate"].sel(model="off", estimator="ECE", n=90, n_bins=6).values
    assert len(np.unique(values)) == len(values)


def test_functions_of_labels_and_probabilities():
    def brier(y_true, y_prob):
        assert y_prob.shape == (50,)
        return ((y_true - y_prob) ** 2).mean()

    def chance(y_true, y_prob):
        return 0.25

    sweep = Sweep(
        CALIBRATED,
        n=[50],
        estimators={"Brier": lambda n_bins: brier},
        tests={"constant": lambda n_bins: chance},
        n_repeats=3,
        rng=0,
    )
    found = sweep.run(progress=False)
    sample = sweep.study.draw(repr(CALIBRATED), 50, 2).sample
    assert found["estimate"].values[0, 0, 0, 0, 2] == brier(sample.outcomes, sample.predictions.event)
    assert (found["pvalue"] == 0.25).all()


def test_intervals():
    def interval(sample, estimator, rng):
        value = estimator(sample)
        return value - rng.random(), value + 1

    found = Sweep(
        CALIBRATED, n=[50], estimators={"ECE": cs.ECE(cs.EqualMass(5))}, interval=interval, n_repeats=4, rng=0
    ).run(progress=False, block=3)
    assert (found["interval_low"] <= found["estimate"]).all()
    assert np.allclose(found["interval_high"] - found["estimate"], 1)
    assert len(np.unique(found["estimate"] - found["interval_low"])) == 4


def fails_sometimes(y_true, y_prob):
    if y_prob[0] < 0.3:
        raise ZeroDivisionError("on purpose")
    return y_prob[0]


def test_what_raises_is_recorded_and_the_rest_goes_on():
    sweep = Sweep(CALIBRATED, n=[30], estimators={"e": lambda n_bins: fails_sometimes}, n_repeats=12, rng=0)
    found = sweep.run(progress=False, block=3)
    values, status = found["estimate"].values[0, 0, 0, 0], found["status"].values[0, 0]
    failed = np.array([sweep.study.draw(repr(CALIBRATED), 30, r).sample.predictions.event[0] < 0.3 for r in range(12)])
    assert 0 < failed.sum() < 12
    assert (np.isnan(values) == failed).all()
    assert (status == np.where(failed.reshape(4, 3).any(axis=1), 2, 1)).all()
    errors = found["error"].values[0, 0]
    assert errors[status == 2][0].endswith("ZeroDivisionError: on purpose")
    assert (errors[status == 1] == "").all()
    assert_same_bits(found, sweep.run(progress=False, block=12))


def test_no_warnings_of_small_cells():
    sweep = Sweep(CALIBRATED, n=[20], estimators={"ECE": lambda b: cs.ECE(cs.EqualMass(b))}, n_bins=[10, 20], rng=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sweep.run(progress=False)
    assert [warning for warning in caught if warning.category is cs.SmallCellsWarning] == []


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal_of(monkeypatch):
    """A terminal on which bars are drawn at once."""
    monkeypatch.setattr("calibstat.sweeps.sweep._PATIENCE", 0.0)
    monkeypatch.setattr("calibstat._progress.REDRAW", 0.01)
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def test_progress_is_one_line_that_stays(monkeypatch):
    monkeypatch.setenv("SWEEP_SECONDS", "0.01")
    terminal = terminal_of(monkeypatch)
    make().run(block=3)
    *drawn, last = terminal.getvalue().rstrip("\n").split("\r")
    assert terminal.getvalue().count("\n") == 1
    assert last.startswith("sweep: 100%|")
    assert re.search(r"\| 16/16 blocks, \d\d:\d\d", last)
    assert any(re.match(r"sweep: +\d{1,2}%\|", line) for line in drawn)


def test_an_interrupted_sweep_leaves_no_line(monkeypatch):
    terminal = terminal_of(monkeypatch)

    def interrupt(labels, probabilities):
        time.sleep(0.1)
        raise KeyboardInterrupt

    sweep = Sweep(CALIBRATED, n=[30], estimators={"e": lambda n_bins: interrupt}, n_repeats=2, rng=0)
    with pytest.raises(KeyboardInterrupt):
        sweep.run(block=1)
    assert "sweep: " in terminal.getvalue()
    assert terminal.getvalue().split("\r")[-2].strip() == ""


def test_there_is_no_bar_where_it_is_not_wanted(monkeypatch):
    terminal = terminal_of(monkeypatch)
    make().run(block=3, progress=False)
    assert terminal.getvalue() == ""


def test_there_is_no_bar_in_a_file(capsys):
    make().run(block=3)
    assert capsys.readouterr().err == ""


def test_progress_counts_failures(capsys):
    sweep = Sweep(CALIBRATED, n=[30], estimators={"e": lambda n_bins: fails_sometimes}, n_repeats=12, rng=0)
    sweep.run(block=12)
    assert "1 of 1 block failed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"estimators": {}, "tests": {}}, "nothing to sweep"),
        ({"estimators": {"ECE": "ECE"}}, r"estimators\['ECE'\] is 'ECE'"),
        ({"estimators": {"ECE": lambda n_bins: 3}}, r"estimators\['ECE'\] is 3"),
        ({"tests": {"ECE": (cs.ECE(), 99)}}, r"tests\['ECE'\]"),
        ({"n": []}, "at least one"),
        ({"n": [10, 10]}, "different"),
        ({"n": [0]}, "at least 1"),
        ({"n_repeats": 0}, "at least 1"),
        ({"n": 100}, "n is 100, a number; it must be a list of values, each an integer of at least 1"),
        ({"n_bins": None}, "n_bins is None; it must be a list of values, each an integer of at least 1"),
        ({"tests": None}, "tests is None; it must be a dict of names"),
        ({"estimators": None}, "estimators is None; it must be a dict of names"),
        (
            {"estimators": {"b": lambda y, p: 0.0}},
            r"estimators\['b'\] is a function of \(y, p\), but one of the number",
        ),
    ],
)
def test_mistakes_are_explained(changes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(**changes)


def test_models_need_different_names():
    with pytest.raises(ValueError, match="same repr"):
        Sweep([CALIBRATED, CALIBRATED], n=[10], estimators={"ECE": cs.ECE()})
    with pytest.raises(TypeError, match="synthetic model"):
        Sweep({"a": 3}, n=[10], estimators={"ECE": cs.ECE()})


# One sort for all cells

TIES = FinitePredictions(np.linspace(0.1, 0.9, 9), np.linspace(0.1, 0.9, 9))
EXTREME = BetaPredictions(0.05, 0.05)
MODELS = {"continuous": CALIBRATED, "ties": TIES, "extreme": EXTREME}


def sums_of(sample, binnings):
    cuts = Cuts(binnings, len(sample))
    return cuts, *RepeatData(lambda: sample).sums(cs.Canonical(), cuts)


@pytest.mark.parametrize("n", [1, 2, 7, 50, 501])
@pytest.mark.parametrize("name", MODELS)
def test_nested_sums_are_those_of_the_cells(name, n):
    sample = MODELS[name].sample(n, rng=n)
    binnings = [kind(n_bins) for kind in (cs.EqualMass, cs.EqualWidth) for n_bins in (1, 2, 3, 10, 64)]
    cuts, sums, apart = sums_of(sample, binnings)
    for binning in binnings:
        if not cuts.serves(binning, apart):
            assert name != "continuous"
            continue
        tally = cuts.tally(binning, sums)
        cells = binning.cut(sample.predictions)
        weight = np.bincount(cells.index, minlength=cells.size)
        event = sample.predictions.event
        assert tally.weight.tolist() == weight.tolist()
        assert tally.outcome[:, 0].tolist() == np.bincount(cells.index, sample.outcomes, cells.size).tolist()
        assert np.allclose(tally.prediction[:, 0], np.bincount(cells.index, event, cells.size), rtol=0, atol=1e-12)
        squares = np.bincount(cells.index, (sample.outcomes - event) ** 2, cells.size)
        assert np.allclose(tally.square, squares, rtol=0, atol=1e-12)


def test_nested_sums_are_refused_where_they_do_not_serve():
    cuts = Cuts([cs.EqualMass(3)], 3)
    three = DirichletPredictions([1, 1, 1]).sample(3, rng=0)
    weighted = cs.Sample([0, 1, 1], [0.2, 0.5, 0.9], sample_weight=[1, 2, 3])
    two = cs.Sample([0, 1, 1], [0.2, 0.5, 0.9])
    assert RepeatData(lambda: three).sums(cs.Canonical(), cuts) is None
    assert RepeatData(lambda: weighted).sums(cs.Canonical(), cuts) is None
    assert RepeatData(lambda: two).sums(cs.Region(lambda rows: rows.event > 0.3), cuts) is None
    assert RepeatData(lambda: two).sums(cs.Canonical(), cuts) is not None
    assert RepeatData(lambda: three).sums(cs.TopLabel(), cuts) is not None
    assert shares_the_sort(cs.TopLabel() | cs.ECE(cs.EqualMass(3)))
    assert not shares_the_sort(cs.ECE(cs.FixedEdges([0, 0.5, 1])))
    assert not shares_the_sort(cs.PDE(cs.EqualMass(3)))
    tied = cs.Sample([0, 1, 1, 0], [0.2, 0.5, 0.5, 0.9])
    cuts, _, apart = sums_of(tied, [cs.EqualMass(2), cs.EqualMass(4), cs.EqualWidth(2)])
    assert not cuts.serves(cs.EqualMass(2), apart)
    assert cuts.serves(cs.EqualWidth(2), apart)


@pytest.mark.parametrize("name", MODELS)
def test_swept_values_are_those_of_the_estimators(name):
    kinds = (cs.ECE, cs.DebiasedCE, cs.DebiasedL2, cs.RMSCE, cs.MaximumMiscalibration)
    binnings = (cs.EqualMass, cs.EqualWidth)
    estimators = {
        f"{kind.__name__} {cut.__name__}": lambda b, kind=kind, cut=cut: kind(cut(b))
        for kind in kinds
        for cut in binnings
    }
    estimators["top"] = lambda b: cs.TopLabel() | cs.ECE(cs.EqualMass(b))
    sweep = Sweep({name: MODELS[name]}, n=[60], n_bins=[2, 5], estimators=estimators, n_repeats=3, rng=1)
    found = sweep.run(progress=False)
    assert (found["error"] == "").all()
    for repeat in range(3):
        sample = sweep.study.draw(name, 60, repeat).sample
        for key, make_one in estimators.items():
            for n_bins in (2, 5):
                value = found["estimate"].sel(estimator=key, n_bins=n_bins, repeat=repeat).item()
                assert value == pytest.approx(make_one(n_bins)(sample), rel=1e-10, abs=1e-12), key


def test_limits_are_those_of_the_model():
    model = BetaPredictions(2, 1, lambda p: p**2)
    kinds = {"ECE": cs.ECE, "DebiasedCE": cs.DebiasedCE}
    estimators = {name: lambda b, kind=kind: kind(cs.EqualMass(b)) for name, kind in kinds.items()}
    found = Sweep({"m": model}, n=[20], n_bins=[2, 7], estimators=estimators, n_repeats=1, rng=0).run(progress=False)
    for name, kind in kinds.items():
        for n_bins in (2, 7):
            at = {"model": "m", "estimator": name, "n_bins": n_bins}
            estimator = kind(cs.EqualMass(n_bins))
            assert found["limit"].sel(at).item() == pytest.approx(model.limit(estimator).value, rel=1e-12)
            assert found["truth"].sel(at).item() == model.truth(estimator).value


def test_one_quadrature_gives_the_limits_of_all_cells():
    """Each as the model gives it alone, with unequal and with equal predictions; of pairs, through a lens, and zero."""
    kinds = (cs.ECE, cs.DebiasedL2, cs.PDE)
    estimators = {
        f"{kind.__name__} {cut.__name__}": lambda b, kind=kind, cut=cut: kind(cut(b))
        for kind in kinds
        for cut in (cs.EqualMass, cs.EqualWidth)
    }
    estimators["top"] = lambda b: cs.TopLabel() | cs.ECE(cs.EqualWidth(b))
    models = {
        "off": GaussianMixture(1, 1),
        "calibrated": GaussianMixture(0, -2),
        "kinks": BetaPredictions(0.3, 0.2, ClippedTails(0.1)),
        "constant": GaussianMixture(1, 0),
    }
    study = Sweep(models, n=[20], n_bins=[1, 15], estimators=estimators, n_repeats=1, rng=0).study
    found, _ = true_values(study)
    for model, of_model in zip(models.values(), found["limit"], strict=True):
        for make_one, values in zip(estimators.values(), of_model, strict=True):
            for n_bins, value in zip(study.n_bins, values, strict=True):
                assert value == pytest.approx(float(model.limit(make_one(n_bins))), rel=1e-10, abs=1e-13)
    assert not found["limit"][1, 0].any()
    assert found["limit"][0].all()


def test_true_values_that_are_upper_bounds_say_so(capsys):
    """Two classes out of three are pooled by no model of continuous predictions; what is 0 is exact all the same."""
    models = {
        "right": DirichletPredictions([1, 1, 1]),
        "traded": DirichletPredictions([1, 1, 1], PairSwap(0.6)),
        "bold": DirichletPredictions([1, 1, 1], TemperatureShift(1.3)),
    }
    seen = {"two": cs.TopK(2) | cs.ECE(cs.SimplexGrid(3)), "top": cs.TopLabel() | cs.ECE(cs.EqualWidth(3))}
    found = Sweep(models, n=[50], estimators=seen, tests=seen, n_repeats=2, rng=0).run(progress=False)
    summary = cs.summarise(found)
    for told in (found, summary):
        assert told["truth"].attrs["upper_bound"] == told["miscalibration"].attrs["upper_bound"] == "bold, two"
    show_summary(summary, "table", verbose=True)
    out = capsys.readouterr().out
    assert "upper bounds, not known exactly: the truth of bold, two" in out
    assert "power if the null is false, which is not known: bold, two" in out


def brier(y_true, y_prob):
    return np.mean((y_prob - y_true) ** 2)


def test_what_needs_an_unknown_truth_is_left_out_of_a_summary():
    found = Sweep(CALIBRATED, n=[50], estimators={"Brier": lambda b: brier}, n_repeats=4, rng=0).run(progress=False)
    summary = cs.summarise(found)
    assert {"mean", "mean_se", "variance"} <= {*summary}
    assert not {"truth", "limit", "bias", "bias_se", "mse", "mse_se", "coverage"} & {*summary}
    assert summary.attrs["unknown"].startswith("no true value is known")
    with pytest.raises(ValueError, match="bias has no value anywhere: no true value is known"):
        cs.SweepDisplay.compute(summary, "bias")
    assert cs.SweepDisplay.compute(summary, "mean").truth is None


def test_the_truth_of_a_function_may_be_given(tmp_path):
    """For all models or each; bias is measured against it, and a store keeps it."""
    arguments = {"n": [50], "n_bins": [3, 5], "n_repeats": 4, "rng": 0}
    swept = {"Brier": lambda b: brier, "ECE": lambda b: cs.ECE(cs.EqualMass(b))}
    models = {"a": CALIBRATED, "b": GaussianMixture(1, 1)}
    sweep = Sweep(models, estimators=swept, truth={"Brier": {"a": 0.1}}, **arguments)
    found = sweep.run(store=tmp_path / "s", progress=False)
    truth = found["truth"].sel(estimator="Brier")
    assert (truth.sel(model="a") == 0.1).all()
    assert truth.sel(model="b").isnull().all()
    assert "b, Brier: the estimand of a plain function is not known" in found["truth"].attrs["unknown"]
    assert found["truth"].sel(estimator="ECE", model="b").notnull().all()
    bias = cs.summarise(found)["bias"].sel(estimator="Brier", model="a")
    assert bias.values == pytest.approx(found["estimate"].sel(estimator="Brier", model="a").mean("repeat") - 0.1)
    everywhere = Sweep(models, estimators=swept, truth={"Brier": 0.2}, **arguments)
    assert (everywhere.run(progress=False)["truth"].sel(estimator="Brier") == 0.2).all()
    with pytest.raises(ValueError, match="another study: truth was"):
        everywhere.run(store=tmp_path / "s", progress=False)
    for wrong, message in (
        ({"Bier": 0.1}, "estimator 'Bier'"),
        ({"Brier": {"c": 0.1}}, "model 'c'"),
        ({"Brier": np.nan}, "must be a mapping of names, each a number"),
        ({"Brier": {"a": "0.1"}}, "must be a mapping of names, each a number"),
        ("large", "must be a mapping of names.* or 'large sample'"),
        (999, "truth is 999, but a large sample has at least 10000 rows"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            Sweep(models, estimators=swept, truth=wrong, **arguments)


def test_the_truth_of_a_function_may_come_from_a_large_sample(tmp_path):
    """That of the Brier score is known too: the error holds the difference; a store keeps both."""
    swept = {"mine": lambda b: brier, "known": cs.BrierScore()}
    arguments = {"estimators": swept, "n": [50], "n_repeats": 4, "rng": 0}
    sweep = Sweep({"a": CALIBRATED, "b": GaussianMixture(1, 1)}, truth=40_000, **arguments)
    found = sweep.run(store=tmp_path / "s", progress=False)
    truth, error = found["truth"].squeeze(), found["truth_error"].squeeze()
    assert (error.sel(estimator="known") == 0).all()
    own = error.sel(estimator="mine")
    assert ((own > 0) & (own < 0.003)).all()
    assert (abs(truth.sel(estimator="mine") - truth.sel(estimator="known")) < 4 * own).all()
    assert "unknown" not in found["truth"].attrs or not found["truth"].attrs["unknown"]
    summary = cs.summarise(found)
    spread = summary["mean_se"].squeeze() ** 2 + error**2
    np.testing.assert_allclose(summary["bias_se"].squeeze() ** 2, spread.transpose(*summary["bias_se"].squeeze().dims))
    assert summary["truth_error"].equals(found["truth_error"].compute())
    with pytest.raises(ValueError, match="another study: truth was 'large sample of 40000 rows'"):
        Sweep(sweep.models, truth=50_000, **arguments).run(store=tmp_path / "s", progress=False)


def test_the_error_of_a_large_sample_holds_the_bias_that_is_left():
    """A plug-in error of a calibrated model falls with the root of the rows; its spread alone would say too little."""
    p = np.random.default_rng(0).random(20_000)
    sample = cs.Sample((np.random.default_rng(1).random(20_000) < p).astype(int), p)
    value, error = value_and_error(lambda y, p: cs.ECE(cs.EqualMass(50))(cs.Sample(y, p)), sample)
    assert 0 < value < 4 * error


def test_a_picture_of_what_has_no_truth_says_how_to_get_one():
    sweep = Sweep(CALIBRATED, n=[50, 80], estimators={"Brier": lambda b: brier}, n_repeats=4, rng=0)
    summary = cs.summarise(sweep.run(progress=False))
    with pytest.raises(ValueError, match=r"bias has no value anywhere: no true value is known; Sweep.*'large sample'"):
        cs.SweepDisplay.compute(summary, "bias")
    assert cs.SweepDisplay.compute(summary, "mean").truth is None


@pytest.mark.parametrize("client", ["nonsense", "tcp://", "tcp://host"])
def test_an_address_that_is_none_is_refused_in_our_words(client):
    sweep = Sweep(CALIBRATED, n=[50], estimators={"Brier": lambda b: brier}, n_repeats=4, rng=0)
    with pytest.raises(ValueError, match=f"client is '{client}', but the address of a scheduler is expected"):
        sweep.run(client, progress=False)


def test_a_number_of_processes_may_be_written_as_text(monkeypatch):
    asked = []

    def local(n_workers, **_):
        asked.append(n_workers)
        raise ZeroDivisionError

    monkeypatch.setattr("calibstat.sweeps.schedule._distributed.LocalCluster", local)
    for client in (2, "2"):
        with pytest.raises(ZeroDivisionError), connected(client):
            pass
    assert asked == [2, 2]


@pytest.mark.parametrize("n", [1000, 2**32 + 5])
def test_streams_are_those_of_spawn_keys(n):
    study = Sweep(GaussianMixture(0, -2), n=[n], estimators={"ECE": cs.ECE()}, n_repeats=1, rng=0).study
    seeds = np.random.SeedSequence(study.entropy, spawn_key=(crc32(b"m"), n, 0, 3, 7))
    expected = np.random.Generator(np.random.PCG64(seeds)).random(3)
    assert np.array_equal(study.stream("m", n, 0, 3, 7).random(3), expected)


def test_a_calibrated_world_has_limits_of_zero_where_its_population_is_not_known():
    model, estimator = DirichletPredictions([1, 1, 1]), cs.ECE(cs.SimplexGrid(3))
    found = Sweep({"m": model}, n=[40], estimators={"e": estimator}, n_repeats=1, rng=0).run(progress=False)
    assert found["limit"].item() == model.limit(estimator).value == 0


def test_nothing_of_another_unit_is_subtracted_from_a_test_statistic():
    model = BetaPredictions(2, 1, lambda p: p**2)
    measures = {
        "z": cs.StandardizedL2(cs.EqualMass(3)),
        "top": cs.TopLabel() | cs.Spiegelhalter(),
        "family": cs.Family({"z": cs.LogLossZ(), "ece": cs.ECE(cs.EqualMass(3))}),
        "squared": cs.DebiasedL2(cs.EqualMass(3)),
    }
    found = Sweep({"m": model}, n=[40], estimators=measures, n_repeats=2, rng=0).run(progress=False)
    for name in ("truth", "limit"):
        known = found[name].notnull().squeeze()
        assert known.estimator.values[known.values].tolist() == ["squared"]
    assert "test statistic" in str(found["truth"].attrs)
    assert float(model.truth(measures["z"])) == float(model.truth(measures["squared"]))


@pytest.mark.parametrize("models", ["GaussianMixture(1, 1)", None, 3])
def test_something_else_than_models_is_refused(models):
    with pytest.raises(TypeError, match="it must be a synthetic model"):
        Sweep(models, n=[10], estimators={"ECE": cs.ECE()})


def test_something_else_than_a_client_is_refused():
    with pytest.raises(TypeError, match=r"client is of type dict, but a Client, .*distributed.Client\(cluster\)"):
        make().run({}, progress=False, block=6)


def test_threads_of_the_linear_algebra_change_no_bit():
    """Workers on processes have one BLAS thread each, this process may have many: products would round differently."""
    sweep = Sweep(GaussianMixture(1, 1), n=[100_000], estimators={"score": cs.LogitScore(3)}, n_repeats=8, rng=11)
    found = []
    for threads in (1, 4):
        with threadpoolctl.threadpool_limits(threads, user_api="blas"):
            found.append(sweep.run(progress=False, block=8))
    assert_same_bits(*found)
