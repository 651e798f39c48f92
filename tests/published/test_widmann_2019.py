"""Widmann, Lindsten & Zachariah (2019): the squared kernel calibration error of six rows of three classes and of ten
rows of two, its exact law under calibration, and the authors' estimators."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.kernel import SKCE
from published.enumeration import law_of_labels

SIX = cs.Sample(
    [0, 1, 0, 2, 0, 1],
    [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]],
)
TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)


@pytest.mark.parametrize(
    ("kind", "six", "ten"),
    [
        ("unbiased", -0.0143202, -0.0175075),
        ("biased", 0.0809832, 0.0187433),
        ("block", -0.0513735, -0.0465745),
    ],
)
def test_widmann_2019_estimators(kind, six, ten):
    assert SKCE(0.5, kind)(SIX) == pytest.approx(six, abs=5e-8)
    assert SKCE(0.3, kind)(TEN) == pytest.approx(ten, abs=5e-8)


def test_widmann_2019_asymptotic_statistic():
    """n / (n - 1) times the unbiased estimate minus the biased one."""
    assert 10 / 9 * SKCE(0.3)(TEN) - SKCE(0.3, "biased")(TEN) == pytest.approx(-0.0381960, abs=5e-8)


def test_widmann_2019_exact_null_variance_of_six_rows():
    law = law_of_labels(SKCE(0.5), SIX)
    evaluator = SKCE(0.5).prepare(SIX.predictions)
    assert law.mean == pytest.approx(0, abs=1e-16)
    assert evaluator.capabilities.scale**2 == pytest.approx(0.0017639, abs=5e-8)
    assert evaluator.capabilities.scale**2 == pytest.approx(law.values**2 @ law.masses, rel=1e-12)
    assert SKCE(0.5)(SIX) / evaluator.capabilities.scale == pytest.approx(-0.34096, abs=5e-6)


def test_widmann_2019_exact_pvalue_of_six_rows():
    exact = law_of_labels(SKCE(0.5), SIX).pvalue(SKCE(0.5)(SIX))
    assert exact == pytest.approx(0.54593, abs=5e-6)
    result = cs.calibration_test(SIX, SKCE(0.5), null=cs.Consistency(9999), rng=0)
    assert result.pvalue == pytest.approx(exact, abs=0.02)
    assert result.standardized == pytest.approx(-0.34096, abs=5e-6)


def test_widmann_2021_two_classes_are_vectors_of_two():
    """A scalar kernel on the labels of two classes counts both of them: twice the products of event residuals."""
    r, p = TEN.outcomes - TEN.predictions.event, TEN.predictions.event
    products = np.outer(r, r) * np.exp(-np.abs(p[:, None] - p) / 0.3)
    assert SKCE(0.3, "biased")(TEN) == pytest.approx(2 * products.mean(), rel=1e-12)
    both = cs.Sample(TEN.outcomes, np.column_stack([1 - p, p]))
    assert SKCE(0.3)(both) == pytest.approx(SKCE(0.3)(TEN), rel=1e-12)


def test_kumar_2018_mmce_is_the_root_of_half_the_biased_error():
    """Kumar, Sarawagi & Jain (2018): a Laplace kernel on the confidence, and products of scalar residuals."""
    r, s = SIX.outcomes == SIX.y_prob.argmax(axis=1), SIX.y_prob.max(axis=1)
    products = np.outer(r - s, r - s) * np.exp(-np.abs(s[:, None] - s) / 0.4)
    found = (cs.TopLabel() | SKCE(0.4, "biased"))(SIX)
    assert np.sqrt(found / 2) == pytest.approx(np.sqrt(products.mean()), rel=1e-12)
