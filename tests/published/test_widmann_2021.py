"""Widmann, Lindsten & Zachariah (2021), "Calibration tests beyond classification": mean embeddings at two test
locations of six rows of three classes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import calibstat as cs
from calibstat.estimators.kernel_locations import CME, UCME
from published.enumeration import law_of_labels

SIX = cs.Sample(
    [0, 1, 0, 2, 0, 1],
    [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]],
)
PLACES, CLASSES = [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], [0, 2]


def test_widmann_2021_unnormalized_mean_embedding_of_six_rows():
    assert UCME(PLACES, CLASSES, 0.5)(SIX) == pytest.approx(0.0137537, abs=5e-8)


def test_widmann_2021_statistic_of_the_cme_test_of_six_rows():
    statistic = CME(PLACES, CLASSES, 0.5, covariance="sample")(SIX)
    assert statistic == pytest.approx(2.16385, abs=5e-6)
    assert chi2.sf(statistic, 2) == pytest.approx(0.33894, abs=5e-6)


def test_widmann_2021_by_hand():
    """Total variation distances, and residuals of class 0 at the first location, of class 2 at the other."""
    near = np.exp(-np.array([[0.2, 0.5, 0.2, 0.3, 0.2, 0.6], [0.5, 0.6, 0.2, 0.3, 0.4, 0.2]]) / 0.5)
    gaps = np.array([[0.3, -0.1, 0.7, -0.2, 0.4, -0.05], [-0.1, -0.1, -0.4, 0.7, -0.3, -0.8]])
    means = (near * gaps).mean(axis=1)
    assert UCME(PLACES, CLASSES, 0.5)(SIX) == pytest.approx((means**2).mean(), rel=1e-12)


@pytest.mark.parametrize("kind", ["exact", "sample"])
def test_widmann_2021_pvalues_are_those_of_all_label_vectors(kind):
    for estimator in (UCME(PLACES, CLASSES, 0.5), CME(PLACES, CLASSES, 0.5, covariance=kind)):
        exact = law_of_labels(estimator, SIX).pvalue(estimator(SIX))
        drawn = cs.calibration_test(SIX, estimator, null=cs.Consistency(9999), rng=0).pvalue
        assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9999))


def test_widmann_2021_mean_of_the_statistic_with_the_exact_covariance_is_its_rank():
    assert law_of_labels(CME(PLACES, CLASSES, 0.5), SIX).mean == pytest.approx(2, rel=1e-12)
    everywhere = CME([[0.5, 0.3, 0.2]] * 3, [0, 1, 2], 0.5)  # residuals of all classes add up to zero
    assert law_of_labels(everywhere, SIX).mean == pytest.approx(2, rel=1e-10)
