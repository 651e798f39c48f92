"""A value beside its noise: the pale bar is the law of `calibration_test`, and the margin is where it was asked for."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

import calibstat as cs
from calibstat.displays._style import BEYOND, INK
from displays.rendered import assert_readable

ECE = cs.ECE(cs.EqualMass(10))


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def world(n, power=1.0, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return cs.Sample((rng.random(n) < p**power).astype(int), p)


@pytest.mark.parametrize("power", [1.0, 1.5])
@pytest.mark.parametrize("estimator", [ECE, cs.BrierScore(), cs.KendallTau(), cs.Spiegelhalter()], ids=repr)
def test_a_value_is_beyond_noise_where_the_test_rejects(estimator, power):
    sample = world(500, power)
    found = cs.estimate(sample, estimator, n_resamples=199, rng=0)
    test = cs.calibration_test(sample, estimator, null=None if power > 1 else cs.Consistency(999), rng=0)
    assert found.noise.beyond == (test.pvalue <= 0.05)
    display = found.plot()
    assert isinstance(display, cs.EstimateDisplay)
    (point,), (bar,) = display.points_, display.noise_
    assert point.get_xdata()[0] == found.headline
    assert to_rgba(point.get_color()) == to_rgba(BEYOND if found.noise.beyond else INK)
    assert tuple(bar.get_xdata()) == found.noise[:2] == tuple(found.to_dict()["null_interval"])
    drawn = [line.get_xdata().tolist() for line in display.intervals_]
    assert drawn == ([] if found.confidence_interval is None else [list(found.confidence_interval)])


def test_the_pale_bar_holds_the_values_of_calibrated_models():
    sample, inside, runs = world(300), 0, 200
    rng = np.random.default_rng(1)
    noise = cs.estimate(sample, ECE, rng=0).noise
    for _ in range(runs):
        again = ECE(cs.Sample((rng.random(300) < sample.predictions.event).astype(int), sample.predictions.event))
        inside += noise.low <= again <= noise.high
    assert abs(inside / runs - 0.95) < 4 * np.sqrt(0.95 * 0.05 / runs)


def test_an_equivalence_test_has_its_margin_and_its_bound():
    found = cs.equivalence_test(world(2000, 1.2), ECE, 0.1, n_resamples=199, rng=0)
    display = found.plot(name="A model")
    assert tuple(display.intervals_[0].get_xdata()) == (found.estimate, found.upper_bound)
    assert display.forest.reference == found.margin
    assert display.forest.answer[0] == ("at most 0.1" if found.within else "cannot be said to be at most 0.1")
    assert {text.get_text() for text in display.ax_.get_legend().get_texts()} >= {"margin", "95 % if calibrated"}
    assert_readable(display.figure_)


def test_noise_is_wider_where_rows_of_a_cluster_are_alike():
    p = np.repeat(np.random.default_rng(0).random(30), 10)
    happened = np.repeat(np.random.default_rng(1).random(30) < p[::10], 10)  # a calibrated world of 30 patients
    alone, grouped = (
        cs.equivalence_test(cs.Sample(happened, p, groups=patient), ECE, 0.3, n_resamples=199, rng=0).noise
        for patient in (None, np.arange(300) // 10)
    )
    assert grouped.high > 1.5 * alone.high
    assert alone.beyond
    assert not grouped.beyond


def test_several_numbers_are_refused_with_what_to_draw():
    found = cs.estimate(world(200), cs.HistogramRegression(cs.EqualMass(4)), n_resamples=19, rng=0)
    with pytest.raises(ValueError, match="gives several numbers, and this picture is of one; ReliabilityDisplay"):
        found.plot()


def test_a_row_has_words_and_a_line_where_calibrated_models_are():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    sample = cs.Sample((rng.random(300) < p).astype(int), p)
    forests = [cs.estimate(sample, each, rng=0).forest() for each in (cs.MeanCalibration(), cs.ObservedToExpected())]
    assert [(forest.rows[0].name, forest.reference) for forest in forests] == [
        ("Mean Calibration", 0.0),
        ("Observed To Expected", 1.0),
    ]
