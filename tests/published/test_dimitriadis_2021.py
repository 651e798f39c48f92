"""Dimitriadis, Gneiting & Jordan (2021), "Stable reliability diagrams": CORP."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.base import Headline
from calibstat.estimators.isotonic import CORP, IsotonicCurve
from calibstat.estimators.scores import BrierScore, LogScore
from published.enumeration import law_of_labels

TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)


@pytest.mark.parametrize(
    ("score", "parts"),
    [(BrierScore(), [0.055833, 0.123333, 0.24]), (LogScore(), [0.168271, 0.343428, 0.673012])],
    ids=repr,
)
def test_dimitriadis_2021_parts_of_ten_rows(score, parts):
    found = CORP(score)(TEN)
    assert [found.miscalibration, found.discrimination, found.uncertainty] == pytest.approx(parts, abs=5e-7)
    whole = found.miscalibration - found.discrimination + found.uncertainty
    assert found.score == pytest.approx(whole, abs=1e-12) == score(TEN)


def test_dimitriadis_2021_recalibrated_probabilities_of_ten_rows():
    third = 2 / 3
    np.testing.assert_allclose(
        IsotonicCurve()(TEN).recalibrated, [0, 0, 0.5, 0.5, third, third, third, 1, 1, 1], atol=1e-12
    )


def test_dimitriadis_2021_miscalibration_is_biased_upward():
    """A calibrated model with these predictions is expected to show more than these rows do."""
    law = law_of_labels(Headline(CORP()), TEN)
    assert law.mean == pytest.approx(0.0857, abs=5e-5)
    assert law.pvalue(CORP()(TEN).miscalibration) == pytest.approx(0.909, abs=5e-4)
