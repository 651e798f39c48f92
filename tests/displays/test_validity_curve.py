"""Validity curves: what is drawn is the curve of the estimator, and the band is that of redraws."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibstat as cs
from displays.rendered import assert_readable
from suites import slow
from validity.worlds import draw_class


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def world(n, power=1.0, seed=0, **more):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return cs.Sample((rng.random(n) < p**power).astype(int), p, **more)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_line_is_the_curve_of_the_estimator(weighted):
    weights = np.random.default_rng(1).uniform(0.5, 2, 400) if weighted else None
    sample = world(400, 1.5, sample_weight=weights)
    display = cs.ValidityCurveDisplay.from_sample(sample, cs.EqualMass(8), rng=0)
    curve = cs.AUCV(cs.EqualMass(8)).curve(sample)
    x, y = display.line_.get_data()
    np.testing.assert_allclose(y[1:-1], curve(x[1:-1]))
    test = cs.calibration_test(sample, cs.AUCV(cs.EqualMass(8)), null=cs.Consistency(999), rng=0)
    assert display.pvalue == pytest.approx(test.pvalue, abs=0.02)
    assert 1 - display.null_mean == pytest.approx(test.null_mean, abs=0.003)
    assert display.curve.area == pytest.approx(test.statistic)


def test_the_band_is_made_of_order_statistics_of_naive_curves():
    sample, binning = world(200), cs.EqualMass(5)
    display = cs.ValidityCurveDisplay.compute(sample, binning, n_resamples=99, coverage=0.8, rng=3)
    null = cs.Consistency(99).draw(cs.HistogramRegression(binning), sample, cs.as_generator(3))
    at = 60
    shares = sorted(float((np.abs(draw[:, 1]) <= display.tolerance[at]).mean()) for draw in null.samples)
    assert (display.low[at], display.high[at]) == pytest.approx((shares[9], shares[-10]))


def test_three_classes_have_total_variation():
    rng = np.random.default_rng(3)
    rows = rng.dirichlet(np.ones(3), 400)
    sample = cs.Sample(draw_class(rows, rng), rows, labels=range(3))
    display = cs.ValidityCurveDisplay.compute(sample, cs.VarianceTree(100), rng=0)
    curve = cs.AUCV(cs.VarianceTree(100)).curve(sample)
    np.testing.assert_array_equal(display.curve.deviation, curve.deviation)
    mean = cs.calibration_test(sample, cs.AUCV(cs.VarianceTree(100)), null=cs.Consistency(999), rng=0).null_mean
    assert 1 - display.null_mean == pytest.approx(mean, abs=0.003)


def test_it_is_strong_where_the_error_is_more_than_noise():
    off = cs.ValidityCurveDisplay.from_sample(world(2000, 1.6), rng=0, name="off")
    good = cs.ValidityCurveDisplay.compute(world(2000), rng=0)
    assert off.beyond
    assert not good.beyond
    assert "is no more than noise explains" in good.caption
    share = off.curve(off.most)
    assert share >= 0.9 > off.curve(off.most - 1e-6)


def test_a_curve_alone_has_no_band():
    curve = cs.AUCV(cs.EqualMass(5)).curve(world(100))
    display = curve.plot(name="alone")
    assert isinstance(display, cs.ValidityCurveDisplay)
    assert display.band_ is None
    assert not display.beyond
    with pytest.raises(TypeError, match="result is a float, but the ValidityCurve"):
        cs.ValidityCurveDisplay.from_result(0.5)


@pytest.mark.parametrize("n", [slow(60), slow(3000)])
@pytest.mark.parametrize("size", [(3.3, 2.8), (10, 5.6)])
def test_it_is_readable(n, size):
    _, ax = plt.subplots(figsize=size, layout="constrained")
    display = cs.ValidityCurveDisplay.from_sample(world(n, 1.3), cs.EqualMass(6), ax=ax, rng=0, name="with a name")
    assert_readable(display.figure_)
