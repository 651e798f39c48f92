"""The law under the null: its bars are the law, and the darker ones hold the p-value."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from scipy import stats

import calibstat as cs
from calibstat.displays._style import INK
from displays.rendered import assert_readable


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def world(n, power=1.0, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return cs.Sample((rng.random(n) < p**power).astype(int), p)


def test_bars_of_a_computed_law_are_the_binomial():
    sample = cs.Sample([1, 1, 1, 0, 0, 1], np.full(6, 0.3))
    display = cs.NullDisplay.from_sample(sample, cs.ECE(cs.FixedEdges([0, 1])))
    counts = np.arange(7)
    law = {}
    for count, mass in zip(counts, stats.binom.pmf(counts, 6, 0.3), strict=True):
        place = round(abs(count / 6 - 0.3), 9)
        law[place] = law.get(place, 0) + mass
    np.testing.assert_allclose(display.place, sorted(law), atol=1e-9)
    np.testing.assert_allclose([bar.get_height() for bar in display.bars_], [law[each] for each in sorted(law)])
    assert display.share[display.extreme].sum() == pytest.approx(display.test.pvalue)


@pytest.mark.parametrize(
    ("estimator", "null", "off"),
    [
        (cs.ECE(cs.EqualMass(8)), None, 0.01),
        (cs.ECE(cs.EqualMass(8)), cs.Consistency(999), 0.01),
        (cs.Spiegelhalter(), cs.Asymptotic(), 0.03),
        (cs.AUCV(cs.EqualMass(8)), cs.Consistency(999), 0.01),
        (cs.Kuiper(), cs.Consistency(999), 0.01),
        (cs.SKCE(), cs.Consistency(99), 0.02),
    ],
    ids=lambda each: type(each).__name__,
)
def test_darker_bars_hold_the_p_value(estimator, null, off):
    """Bars end at the observed value, so that only draws tied with it and the cut of a two-sided law differ."""
    result = cs.calibration_test(world(200, 1.15), estimator, null=null, rng=0)
    display = cs.NullDisplay.compute(result)
    assert display.share.sum() == pytest.approx(1, abs=1e-3)
    assert abs(display.share[display.extreme].sum() - result.pvalue) < off


def test_an_observed_value_far_out_is_seen():
    display = cs.NullDisplay.from_sample(world(2000, 2), cs.ECE(cs.EqualMass(10)), name="off")
    low, high = display.ax_.get_xlim()
    assert low < display.test.statistic < high
    assert display.beyond
    assert not display.extreme.any()


@pytest.mark.parametrize("null", [cs.Consistency(99), "weak", "sequential"])
def test_every_null_has_a_picture(null):
    plain = world(300)
    sample = cs.Sample(plain.outcomes, plain.predictions.event, variables={"age": np.arange(300) % 50})
    result = cs.calibration_test(sample, cs.Given("age") | cs.ECE(cs.EqualMass(5)), null=null, rng=0)
    assert cs.NullDisplay.compute(result).share.sum() == pytest.approx(1)


def test_the_default_test_has_a_picture_of_its_size():
    display = cs.calibration_test(world(300, 1.5), rng=0).plot()
    assert isinstance(display, cs.NullDisplay)
    assert display.observed_.get_xdata()[0] == display.test.statistic
    assert "that of a panel" in display.caption


def test_the_p_value_of_a_panel_is_not_said_to_be_that_of_the_size_that_is_drawn():
    rng = np.random.default_rng(0)
    p = np.full(400, 0.5) + rng.uniform(-0.4, 0.4, 400)
    sample = cs.Sample((rng.random(400) < 0.5 + 0.7 * (p - 0.5)).astype(int), p)
    test = cs.calibration_test(sample, rng=0)
    assert test.pvalue <= 0.05 < test.null_distribution.pvalue(test.statistic)
    display = test.plot()
    assert display.beyond
    assert not display.far_out
    assert to_rgba(display.observed_.get_color()) == to_rgba(INK)
    words = display.ax_.texts[0].get_text()
    assert words.startswith("evidence, p ")
    assert f"by the strongest of {len(test.panel.names)} statistics\nits size: " in words
    assert f"strongest statistic is {test.panel.strongest}" in display.caption


@pytest.mark.slow
@pytest.mark.parametrize("power", [1.0, 1.5])
@pytest.mark.parametrize("size", [(3.3, 2.6), (10, 5.6)])
def test_it_is_readable(power, size):
    _, ax = plt.subplots(figsize=size, layout="constrained")
    estimator = cs.ECE(cs.EqualMass(5))
    display = cs.NullDisplay.from_sample(world(60, power), estimator, ax=ax, rng=0, name="a model with a name")
    assert_readable(display.figure_)


def test_other_results_are_refused():
    estimated = cs.estimate(world(100), cs.ECE(cs.EqualMass(5)), rng=0)
    with pytest.raises(TypeError, match="result is of type Estimate, but that of calibration_test"):
        cs.NullDisplay.from_result(estimated)
