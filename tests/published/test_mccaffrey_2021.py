"""McCaffrey (2021), "Calculating expected calibration error for binary classification" (a blog post): 0.241.

The post compares the accuracy of the thresholded prediction with P(class 1). On its ten rows accuracy equals the rate
of positives in every bin, so the calibration error of the event is 0.241 as well; on other data the two differ.
"""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs

SCORES = np.array([0.61, 0.39, 0.31, 0.76, 0.22, 0.59, 0.92, 0.83, 0.57, 0.41])
OUTCOMES = np.array([1, 1, 0, 1, 1, 1, 0, 1, 1, 0])
THIRDS = cs.FixedEdges([0, 1 / 3, 2 / 3, 1])
ONE = cs.FixedEdges([0, 1])


def accuracy_error(scores, outcomes, binning):
    """The post's rule: accuracy where the positive rate should be."""
    right = (scores > 0.5) == (outcomes == 1)
    sample = cs.Sample(right.astype(int), scores, labels=[0, 1])
    return cs.ECE(binning)(sample)


def confidence_error(scores, outcomes, binning):
    right = (scores > 0.5) == (outcomes == 1)
    return cs.ECE(binning)(cs.Sample.from_confidence(right, np.maximum(scores, 1 - scores)))


def test_mccaffrey_2021_ten_rows_have_an_error_of_0_241():
    sample = cs.Sample(OUTCOMES, SCORES)
    assert cs.ECE(THIRDS)(sample) == pytest.approx(0.241, abs=1e-12)
    assert cs.ECE(cs.EqualWidth(3))(sample) == pytest.approx(0.241, abs=1e-12)
    assert accuracy_error(SCORES, OUTCOMES, THIRDS) == pytest.approx(0.241, abs=1e-12)


def test_mccaffrey_2021_table_of_bins():
    cells = cs.HistogramRegression(THIRDS)(cs.Sample(OUTCOMES, SCORES)).sel(label=1)
    np.testing.assert_array_equal(cells["count"], [2, 5, 3])
    np.testing.assert_allclose(cells["mean_outcome"], [0.5, 0.8, 2 / 3])
    np.testing.assert_allclose(cells["mean_prediction"], [0.265, 0.514, 2.51 / 3])
    np.testing.assert_allclose(np.abs(cells["deviation"]), [0.235, 0.286, 0.17])


@pytest.mark.parametrize("binning", [THIRDS, cs.FixedEdges(np.linspace(0.5, 1, 4))], ids=repr)
def test_mccaffrey_2021_confidence_error_of_the_same_rows_is_0_201(binning):
    assert confidence_error(SCORES, OUTCOMES, binning) == pytest.approx(0.201, abs=1e-12)
    seen = cs.TopLabel() | cs.ECE(binning)
    assert seen(cs.Sample(OUTCOMES, SCORES)) == pytest.approx(0.201, abs=1e-12)


def test_mccaffrey_2021_one_bin():
    assert cs.ECE(ONE)(cs.Sample(OUTCOMES, SCORES)) == pytest.approx(0.139, abs=1e-12)
    assert accuracy_error(SCORES, OUTCOMES, ONE) == pytest.approx(0.139, abs=1e-12)
    assert confidence_error(SCORES, OUTCOMES, ONE) == pytest.approx(0.005, abs=1e-12)


def test_mccaffrey_2021_rule_punishes_a_perfect_model_of_low_risk():
    scores, outcomes = np.full(10, 0.1), np.array([1] + [0] * 9)
    assert accuracy_error(scores, outcomes, THIRDS) == pytest.approx(0.8)
    assert cs.ECE(THIRDS)(cs.Sample(outcomes, scores)) == pytest.approx(0, abs=1e-14)
    assert (cs.TopLabel() | cs.ECE(THIRDS))(cs.Sample(outcomes, scores)) == pytest.approx(0, abs=1e-14)
