"""The picture of a plan for narrow intervals: curves reach the wanted widths at their markers."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibstat as cs
from displays.rendered import assert_readable

RISKS = np.random.default_rng(0).beta(2, 5, 4000)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_curves_reach_the_widths_at_the_markers():
    plan = cs.precision_n(RISKS, oe_width=0.3, slope_width=0.4)
    display = plan.plot(name="A plan")
    assert isinstance(display, cs.PrecisionDisplay)
    assert display.answer_.get_xdata()[0] == plan.n
    for goal, curve, marker in zip(plan.goals, display.curves_, display.goals_, strict=True):
        assert marker.get_xydata().tolist() == [[goal.n, goal.width]]
        assert np.interp(goal.n, *curve.get_data()) == pytest.approx(goal.width, rel=0.05)
        assert (marker.get_markerfacecolor() != "none") == (goal.name == plan.decisive)
    assert plan.decisive in display.caption
    assert_readable(display.figure_)


def test_what_does_not_matter_is_left_out():
    display = cs.precision_n(RISKS, slope_width=np.inf).plot()
    assert list(display.widths) == ["observed / expected (O/E)", "C-index (AUC)"]
    assert_readable(display.figure_)


def test_other_results_are_refused():
    with pytest.raises(TypeError, match="that of precision_n is expected"):
        cs.PrecisionDisplay.from_result(RISKS)
