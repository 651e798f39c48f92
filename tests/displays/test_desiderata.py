"""The picture of five measures: each with its interval, its noise, and where better values lie."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

import calibstat as cs
from calibstat.displays._style import BEYOND, INK
from displays.rendered import assert_readable


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_five_measures_stand_beside_their_noise():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    found = cs.desiderata(cs.Sample(rng.random(400) < p**1.7, p), n_resamples=199, rng=0)
    display = found.plot(name="A model")
    assert isinstance(display, cs.DesiderataDisplay)
    assert [point.get_xdata()[0] for point in display.points_] == [each.value for each in found.measures]
    drawn = [tuple(line.get_xdata()) for line in display.intervals_]
    assert drawn == [each.confidence_interval for each in found.measures if each.confidence_interval]
    assert [tuple(bar.get_xdata()) for bar in display.noise_] == [each.noise[:2] for each in found.measures[:4]]
    beyond = [each.noise is not None and each.noise.beyond for each in found.measures]
    assert [to_rgba(point.get_color()) for point in display.points_] == [
        to_rgba(BEYOND if each else INK) for each in beyond
    ]
    assert beyond[0]
    assert not beyond[-1]
    arrows = ["".join(text.get_text() for text in strip.texts) for strip in display.strips_]
    better = ["better \N{RIGHTWARDS ARROW}" in each for each in arrows]
    assert better == [False, False, False, True, False]
    assert_readable(display.figure_)


def test_values_of_a_world_stand_beside_the_best():
    found = cs.desiderata(cs.generators.FinitePredictions([0.2, 0.6, 0.7], [0.4, 0.5, 0.6]))
    display = found.plot()
    assert [mark.get_xdata()[0] for mark in display.noise_] == [each.expected for each in found.measures]
    assert not display.intervals_
    assert_readable(display.figure_)


def test_other_results_are_refused():
    with pytest.raises(TypeError, match="but that of desiderata is expected"):
        cs.DesiderataDisplay.from_result(None)
