"""Trajectories: the numbers are those of scores and tests, and the picture shows them."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibstat as cs
from displays.rendered import assert_readable

ESTIMATORS = {"ECE": cs.ECE(cs.EqualMass(6)), "Kuiper": cs.Kuiper()}


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def samples():
    found = {}
    for run in ("a", "b"):
        rng = np.random.default_rng(len(found))
        p = rng.random(200)
        y = rng.random(200) < p
        found[run] = {step: cs.Sample(y, p**power) for step, power in {1: 0.4, 2: 1.0, 5: 2.0}.items()}
    del found["b"][5]
    return found


@pytest.fixture(scope="module")
def numbers(samples):
    return cs.trajectory(samples, ESTIMATORS, rng=0, null=cs.Consistency(99))


def test_the_numbers_are_those_of_scores_and_tests(samples, numbers):
    assert dict(numbers.sizes) == {"run": 2, "step": 3, "estimator": 2}
    sample = samples["b"][1]
    there = numbers.sel(run="b", step=1)
    assert float(there["log_loss"]) == cs.LogScore()(sample)
    assert float(there["accuracy"]) == np.mean((sample.predictions.event >= 0.5) == sample.outcomes)
    assert float(there["n"]) == 200
    for name, estimator in ESTIMATORS.items():
        test = cs.calibration_test(sample, estimator, rng=0, null=cs.Consistency(99))
        found = there.sel(estimator=name)
        assert [float(found[each]) for each in ("value", "null_mean", "pvalue")] == [
            test.statistic,
            test.null_mean,
            test.pvalue,
        ]
        assert float(found["noise"]) == test.null_distribution.quantile(0.95)
    assert np.isnan(numbers["value"].sel(run="b", step=5)).all()


def test_one_run_needs_no_name(samples, numbers):
    alone = cs.trajectory(samples["a"], ESTIMATORS, rng=0, null=cs.Consistency(99))
    np.testing.assert_array_equal(alone["pvalue"].sel(run="run"), numbers["pvalue"].sel(run="a"))


def test_steps_are_in_order_whatever_that_of_the_samples(samples, numbers):
    turned = dict(reversed(samples["a"].items()))
    found = cs.trajectory({"a": turned, "b": samples["b"]}, ESTIMATORS, rng=0, null=cs.Consistency(99))
    assert found.identical(numbers)


def test_points_with_small_pvalues_are_strong_and_the_star_is_at_the_lowest_loss(numbers):
    display = cs.TrajectoryDisplay.from_result(numbers, name="two runs")
    assert display.best == {"a": 2.0, "b": 2.0}
    panel = display.panels_["ECE"]
    strong = [line for line in panel.get_lines() if line.get_marker() == "o" and line.get_linestyle() == "None"]
    ece = numbers.sel(estimator="ECE")
    expected = sorted(
        float(v) for v, p in zip(ece["value"].values.ravel(), ece["pvalue"].values.ravel(), strict=True) if p <= 0.05
    )
    assert sorted(strong[0].get_ydata()) == expected
    assert len(expected) >= 3
    stars = [line.get_data() for line in panel.get_lines() if line.get_marker() == "*"]
    assert [float(y[0]) for _, y in stars] == [float(ece["value"].sel(run=run, step=2)) for run in "ab"]
    assert "evidence of miscalibration" in display.ax_.texts[0].get_text()
    assert "not adjusted" in display.caption


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "size"), [(["ECE"], (3.3, 4.8)), (["ECE", "Kuiper"], (3.3, 6.6)), (["ECE", "Kuiper"], (10, 5.6))]
)
def test_it_is_readable(numbers, names, size):
    _, ax = plt.subplots(figsize=size, layout="constrained")
    display = cs.TrajectoryDisplay.from_result(numbers.sel(estimator=names), ax=ax, name="a name")
    assert len(display.panels_) == 2 + 2 * len(names)
    assert_readable(display.figure_)


@pytest.mark.parametrize(
    ("samples", "estimators", "words"),
    [
        ({}, ESTIMATORS, "samples is empty"),
        ({"a": {}}, ESTIMATORS, "run 'a' has no step"),
        ({"first": cs.Sample([0, 1], [0.2, 0.8])}, ESTIMATORS, "a step of 'run' is 'first'"),
        ({1: [0.2, 0.8]}, ESTIMATORS, "sample is of type list"),
        ({1: cs.Sample([0, 1], [0.2, 0.8])}, {}, "estimators is {}"),
        ({1: cs.Sample([0, 1], [0.2, 0.8])}, {"ECE": 3}, "estimator"),
    ],
)
def test_what_is_no_trajectory_is_refused(samples, estimators, words):
    with pytest.raises((TypeError, ValueError), match=words):
        cs.trajectory(samples, estimators, rng=0)


def test_another_dataset_is_refused(numbers):
    with pytest.raises(TypeError, match="pvalue are missing"):
        cs.TrajectoryDisplay.from_result(numbers.drop_vars("pvalue"))


def test_the_strip_of_a_statistic_with_two_sides_has_two_ends():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = rng.random(400) < p
    samples = {step: cs.Sample(y, each) for step, each in enumerate((0.5 + 0.6 * (p - 0.5), p, p**2))}
    display = cs.TrajectoryDisplay.from_samples(samples, {"z": cs.Spiegelhalter()}, rng=0)
    found = display.numbers.sel(run="run", estimator="z")
    assert (found["pvalue"] <= 0.05).values.tolist() == [True, False, True]
    beyond = (found["value"] < found["noise_low"]) | (found["value"] > found["noise"])
    assert (beyond == (found["pvalue"] <= 0.05)).all()
    assert float(found["value"].min()) < -3 < float(found["noise_low"].min()) < float(found["noise_low"].max()) < -1.5
    low, high = display.panels_["z"].get_ylim()
    assert low < float(found["value"].min()) < float(found["value"].max()) < high


@pytest.mark.slow
def test_panels_stand_side_by_side_where_they_would_be_low(numbers):
    one = cs.TrajectoryDisplay(numbers.sel(estimator=["ECE"]))
    _, ax = plt.subplots(figsize=(3.3, 3.3), layout="constrained")
    assert_readable(one.plot(ax, name="A network").figure_)
    assert one.panels_["accuracy"].get_window_extent().x0 > one.panels_["log loss"].get_window_extent().x1


def test_runs_have_names_and_colours_of_their_own():
    world = cs.generators.BetaPredictions(1, 1)
    runs = {name: {k: world.sample(60, rng=k + seed) for k in range(2)} for seed, name in enumerate(["first", "other"])}
    display = cs.TrajectoryDisplay.compute(cs.trajectory(runs, {"ECE": cs.ECE(cs.EqualMass(3))}, rng=0)).plot()
    lines = [line for line in display.panels_["log loss"].get_lines() if len(line.get_xdata()) == 2]
    assert len({line.get_color() for line in lines}) == 2
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[:2] == ["first", "other"]
    plt.close(display.figure_)
