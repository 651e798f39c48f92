"""Consistency resampling: what it draws, what it says, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from registry import make_sample


def test_labels_of_certain_predictions_are_never_moved():
    sample = cs.Sample([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0])
    for null in (cs.Consistency(50), cs.Consistency(50, shortcuts=False), cs.Consistency(50, True)):
        drawn = null.draw(cs.ECE(cs.FixedEdges([0, 0.5, 1])), sample, cs.as_generator(0)).samples
        np.testing.assert_array_equal(drawn, 0)


@pytest.mark.parametrize("shortcuts", [True, False])
def test_the_mean_of_drawn_outcomes_is_the_prediction(shortcuts):
    """Without bias: the mean deviation of every cell is zero within 4 standard errors."""
    sample = make_sample(2, n=60)
    null = cs.Consistency(20_000, shortcuts=shortcuts)
    estimator = cs.HistogramRegression(cs.EqualMass(3))
    drawn = null.draw(estimator, sample, cs.as_generator(1)).samples
    assert drawn.shape == (20_000, 3, 2)
    error = drawn.std(axis=0) / np.sqrt(20_000)
    assert (abs(drawn.mean(axis=0)) < 4 * error).all()
    assert (abs(drawn.mean(axis=0) + 0.01) > 4 * error).all()  # the negative control


def test_weights_are_kept_when_labels_are_drawn():
    p = np.full(200, 0.3)
    weights = np.r_[np.full(10, 100.0), np.full(190, 1e-3)]
    sample = cs.Sample([0] * 200, p, labels=[0, 1], sample_weight=weights)
    drawn = cs.Consistency(2000).draw(cs.SquaredCE(cs.FixedEdges([0, 1])), sample, cs.as_generator(2)).samples
    effective = weights.sum() ** 2 / (weights**2).sum()
    error = drawn.std() / np.sqrt(2000)
    assert abs(drawn.mean() - 0.21 / effective) < 4 * error
    assert abs(drawn.mean() - 0.21 / 200) > 4 * error


def test_moved_predictions_carry_their_weights_and_variables():
    sample = make_sample(3, weighted=True)
    null = cs.Consistency(30, resample_predictions=True)
    estimator = cs.Given("age") | cs.ECE(cs.EqualWidth(3))
    drawn = null.draw(estimator, sample, cs.as_generator(3)).samples
    assert drawn.shape == (30,)
    assert len(set(drawn)) == 30


@pytest.mark.parametrize(
    ("null", "words"),
    [
        (cs.Consistency(), ("labels drawn from the predictions, which are kept", "exact")),
        (cs.Consistency(resample_predictions=True), ("predictions drawn with replacement", "not exact")),
    ],
    ids=["kept", "moved"],
)
def test_the_hypothesis_says_what_is_assumed(null, words):
    sentence = null.hypothesis(cs.TopLabel(), (...,))
    assert "TopLabel()" in sentence
    assert all(each in sentence for each in words)
    assert "strong null" not in sentence
    beside = null.hypothesis(cs.TopLabel() | cs.Given("age"), ("age",))
    assert "'age'" in beside
    assert "strong null" in beside


@pytest.mark.parametrize("n_resamples", [0, -1, 9.5, "99", True])
def test_the_number_of_resamples_is_checked(n_resamples):
    with pytest.raises((TypeError, ValueError), match="n_resamples is"):
        cs.Consistency(n_resamples)
    with pytest.raises((TypeError, ValueError), match="n_resamples is"):
        cs.Bootstrap(n_resamples)


def test_one_row_and_one_class_present():
    one = cs.Sample([1], [0.7])
    drawn = cs.Consistency(2000).draw(cs.ECE(cs.EqualWidth(2)), one, cs.as_generator(4)).samples
    assert set(drawn.round(12)) == {0.3, 0.7}
    assert abs((drawn < 0.5).mean() - 0.7) < 4 * np.sqrt(0.21 / 2000)
