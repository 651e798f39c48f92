"""The walk of cumulated errors: what is drawn is what was computed, and the strip says what the test says."""

from __future__ import annotations

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibstat as cs
from displays.rendered import assert_readable
from suites import slow_but


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def world(n, power=1.0, seed=0, top=1.0):
    rng = np.random.default_rng(seed)
    p = rng.random(n) * top
    return cs.Sample((rng.random(n) < p**power).astype(int), p, variables={"age": rng.integers(20, 60, n)})


def test_the_walk_is_the_naive_one():
    sample = world(50)
    display = cs.CumulativeDisplay.from_sample(sample, rng=0)
    rows = sorted(zip(sample.predictions.event, sample.outcomes, strict=True))
    x, y = display.walk_.get_data()
    np.testing.assert_allclose(y, np.cumsum([0, *(outcome - p for p, outcome in rows)]) / 50, atol=1e-15)
    np.testing.assert_allclose(x, np.arange(51) / 50)
    assert np.ptp(display.worst_.get_ydata()) == pytest.approx(np.ptp(y)) == pytest.approx(display.test.statistic)


def test_weights_and_ties_walk_as_kuiper_does():
    rng = np.random.default_rng(1)
    sample = cs.Sample(rng.integers(0, 2, 60), rng.integers(1, 10, 60) / 10, sample_weight=rng.uniform(0.5, 2, 60))
    display = cs.CumulativeDisplay.compute(sample, rng=0)
    assert len(display.walk) == 10
    assert np.ptp(display.walk) == pytest.approx(cs.Kuiper()(sample))
    at = sample.predictions.event <= 0.45
    assert display.share[4] == pytest.approx(sample.predictions.weights[at].sum() / sample.predictions.weights.sum())
    inside = (sample.predictions.event >= display.worst.low) & (sample.predictions.event <= display.worst.high)
    weights = sample.predictions.weights * inside
    means = [np.average(each, weights=weights) for each in (sample.predictions.event, sample.outcomes)]
    assert display.means == pytest.approx(means)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("power", [1.0, 1.25])
def test_the_walk_leaves_the_strip_exactly_where_the_test_rejects(power, seed):
    display = cs.CumulativeDisplay.compute(world(150, power, seed), n_resamples=99, coverage=0.8, rng=seed)
    low, high = display.strip
    outside = display.walk.min() < low - 1e-12 or display.walk.max() > high + 1e-12
    assert outside == display.beyond == (display.test.pvalue <= 0.2)
    assert low <= 1e-12
    assert high >= -1e-12


def test_the_answer_says_where_it_is_worst():
    display = cs.CumulativeDisplay.from_sample(world(3000, 1.6), rng=0, name="a model")
    assert display.beyond
    words = [text.get_text() for text in display.ax_.texts]
    assert any("claims" in each and "happens" in each and "n = 3,000" in each for each in words)
    assert display.worst_.get_color() != display.walk_.get_color()
    assert "this walk leaves it" in display.caption


def test_words_do_not_accept_the_null():
    display = cs.CumulativeDisplay.from_sample(world(200), rng=0)
    assert "no evidence of miscalibration" in display.ax_.texts[0].get_text()
    assert display.worst_.get_color() == display.walk_.get_color()


def test_given_a_variable_the_rows_are_in_its_order():
    sample = world(300)
    display = cs.CumulativeDisplay.from_sample(sample, lens=cs.Given("age"), null="weak", rng=0)
    assert display.ax_.get_xlabel().startswith("age")
    assert np.all(np.diff(display.value) > 0)
    assert display.value[0] == sample.predictions.variables["age"].values.min()


def test_other_doors():
    sample = world(80)
    y, p = sample.outcomes, sample.predictions.event

    class Model:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return np.column_stack([1 - X, X])

    one = cs.CumulativeDisplay.from_predictions(y, p, rng=0)
    other = cs.CumulativeDisplay.from_estimator(Model(), p, y, rng=0)
    np.testing.assert_array_equal(one.walk, other.walk)
    assert other.ax_.get_title(loc="left") == "Model"


# Few rows, a model that is off, rare events; a column of a paper, and a slide.
PICTURES = list(product([(60,), (2000, 1.5), (2000, 0.8, 0, 0.02)], [(3.3, 3.0), (10, 5.6)]))


@pytest.mark.parametrize(("sample", "size"), slow_but([PICTURES[2]], PICTURES))
def test_it_is_readable(sample, size):
    _, ax = plt.subplots(figsize=size, layout="constrained")
    display = cs.CumulativeDisplay.from_sample(world(*sample), ax=ax, rng=0, name="a model with a name", n_resamples=99)
    assert_readable(display.figure_)


def test_more_outcomes_need_a_lens():
    with pytest.raises(ValueError, match="2 classes"):
        cs.CumulativeDisplay.from_sample(cs.Sample([0, 1, 2], np.eye(3)), rng=0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"coverage": 1.0}, "coverage is 1.0"),
        ({"null": cs.Consistency(9)}, "n_resamples is 9, too few for a strip of coverage 0.95: take 19 or more"),
    ],
)
def test_a_strip_that_cannot_be_had_is_refused_before_it_is_drawn(options, words):
    with pytest.raises(ValueError, match=words):
        cs.CumulativeDisplay.compute(world(60), rng=0, **options)
