"""The picture of a plan: its curve reaches the wanted power at the answer, and its points are what was simulated."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibstat as cs
from displays.rendered import assert_readable

WORLD = cs.generators.BetaPredictions(1, 1, cs.generators.Slope(0.5))


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.mark.parametrize(
    "plan",
    [
        lambda: cs.required_n(WORLD, cs.Spiegelhalter(), null="asymptotic", n_repeats=400, rng=0),
        pytest.param(
            lambda: cs.minimum_detectable(cs.ErrorFamily(), 200, cs.Spiegelhalter(), null="asymptotic", rng=0),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["labels", "error"],
)
def test_the_curve_reaches_the_power_at_the_answer(plan):
    plan = plan()
    display = plan.plot(name="A plan")
    assert isinstance(display, cs.PowerDisplay)
    curve = display.curve
    assert np.interp(plan.crossing.place, curve.places, curve.power) == pytest.approx(plan.power, abs=0.01)
    # Where the band reaches the power is the interval of the answer, about: both are of the same fit.
    ends = [np.interp(plan.power, each, curve.places) for each in (curve.high, curve.low)]
    assert ends == pytest.approx(plan.interval, rel=0.15)
    assert display.answer_.get_xydata()[1].tolist() == [plan.crossing.place, plan.power]
    assert display.runs.sum() == plan.crossing.points.runs.sum()
    assert display.shares * display.runs == pytest.approx(
        [plan.crossing.points.rejections[plan.crossing.points.places == place].sum() for place in display.places]
    )
    assert display.points_.get_offsets().tolist() == np.column_stack([display.places, display.shares]).tolist()
    assert_readable(display.figure_)


def test_other_results_are_refused():
    with pytest.raises(TypeError, match="that of required_n or minimum_detectable is expected"):
        cs.PowerDisplay.from_result(WORLD)
