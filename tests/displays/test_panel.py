"""P-values of several tests: what is drawn is what the result says."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibstat as cs
from displays.rendered import assert_readable


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def world(n, power=1.0, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    sex = rng.choice(["f", "m", "x"], n, p=[0.45, 0.45, 0.1])
    return cs.Sample((rng.random(n) < np.where(sex == "f", p**power, p)).astype(int), p, variables={"sex": sex})


@pytest.fixture(scope="module")
def several():
    return cs.multiple_test(world(1500, 1.6), cs.Within("sex", cs.Kuiper()), n_resamples=199, rng=0)


def test_points_are_the_pvalues_of_the_result(several):
    display = several.plot(name="By sex")
    assert isinstance(display, cs.PanelDisplay)
    found = dict(zip(display.names, zip(display.pvalues, display.pvalues_adjusted, strict=True), strict=True))
    expected = zip(map(str, several.names), zip(several.pvalues, several.pvalues_adjusted, strict=True), strict=True)
    assert found == dict(expected)
    assert list(display.pvalues_adjusted) == sorted(display.pvalues_adjusted)
    np.testing.assert_array_equal(
        display.beyond_.get_xdata(), display.pvalues_adjusted[display.pvalues_adjusted <= 0.05]
    )
    np.testing.assert_array_equal(
        display.adjusted_.get_xdata(), display.pvalues_adjusted[display.pvalues_adjusted > 0.05]
    )
    np.testing.assert_array_equal(display.single_.get_xdata(), display.pvalues)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == display.names
    assert display.ax_.texts[0].get_text().startswith("1 of 3 more than noise")


def test_a_panel_of_statistics_says_what_it_found():
    good = cs.omnibus_test(world(300), n_resamples=99, rng=0)
    display = good.plot()
    words = display.ax_.texts[0].get_text()
    assert words.startswith("no evidence of miscalibration")
    assert good.strongest in words
    assert len(display.beyond_.get_xdata()) == 0
    assert "evidence of miscalibration, p" in words


def test_names_without_a_value_are_left_out_and_long_lists_are_cut(several):
    display = cs.PanelDisplay.compute(several)
    assert len(display.plot(n_shown=2).single_.get_xdata()) == 2
    assert "1 not shown" in display.ax_.texts[0].get_text()


def test_other_results_are_refused():
    with pytest.raises(TypeError, match="omnibus_test or multiple_test is expected"):
        cs.PanelDisplay.from_result(cs.calibration_test(world(60), cs.Kuiper(), rng=0))


@pytest.mark.slow
@pytest.mark.parametrize("size", [(3.3, 2.6), (10, 5.6)])
def test_it_is_readable(several, size):
    for result in (several, cs.omnibus_test(world(60, 2.0), n_resamples=99, rng=0)):
        _, ax = plt.subplots(figsize=size, layout="constrained")
        assert_readable(cs.PanelDisplay.from_result(result, ax=ax, name="a model with a name").figure_)


def test_a_long_strongest_statistic_fits_beside_long_names_in_a_column(monkeypatch):
    rng = np.random.default_rng(0)
    p = rng.random(300)
    display = cs.PanelDisplay.compute(cs.omnibus_test(cs.Sample(rng.random(300) < p**2, p), n_resamples=39, rng=0))
    monkeypatch.setattr(cs.OmnibusTest, "strongest", property(lambda _: "multi-bandwidth kernel"))
    _, ax = plt.subplots(figsize=(3.3, 3.6), layout="constrained")
    assert_readable(display.plot(ax, name="A model of the test").figure_)
